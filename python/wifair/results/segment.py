"""A segment: the tables of some finished replications in one file, written atomically.

A segment is a ZIP archive of Parquet tables: `replications` (job, plan, seed), `plans` (plan, json), and the engine's
tables with `job` as first column. Job numbers are local to the segment; `plan` is the hash of a canonical plan.
Checksums are verified on reading.
"""

from __future__ import annotations

import hashlib
import io
import os
import uuid
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import BinaryIO

import polars as pl

from wifair import _native
from wifair.files import unreadable
from wifair.memory import most_bytes

Tables = Mapping[str, pl.DataFrame]

ENDING = ".zip"
# Suffix of files not yet renamed. Their writer may have been killed.
UNFINISHED = ".part"
REPLICATIONS = "replications"
PLANS = "plans"
# The columns of a segment's own tables, and the tables that the results of every engine have.
_OWN = {
    REPLICATIONS: pl.Schema({"job": pl.UInt64, "plan": pl.String, "seed": pl.UInt64}),
    PLANS: pl.Schema({"plan": pl.String, "json": pl.String}),
}
_ALWAYS = ("runs", "flows", "queues", "stations")
# The largest segment that is read, in bytes.
LARGEST_BYTES = 4 * 2**30


class Damaged(Exception):
    """The file is not a complete segment: truncated by a power failure, altered, or from another program."""


class TooLarge(Damaged):
    """The segment does not fit into this machine's memory."""


def plan_hash(plan_json: str) -> str:
    """The hash of a canonical plan: BLAKE2b of its text, 128 bits."""
    return hashlib.blake2b(plan_json.encode(), digest_size=16).hexdigest()


def write(folder: Path, tables: Tables) -> Path:
    """Writes a new segment atomically: to an unfinished file, synced to disk, then renamed."""
    name = uuid.uuid4().hex
    path = folder / f"{name}{ENDING}"
    with atomic(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for table, frame in tables.items():
            content = io.BytesIO()
            frame.write_parquet(content, compression="zstd")
            archive.writestr(f"{table}.parquet", content.getvalue())
    return path


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """A file for writing that appears under its name only when it is complete and on disk."""
    unfinished = path.with_name(f".{path.name}-{uuid.uuid4().hex[:8]}{UNFINISHED}")
    try:
        with unfinished.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def read(
    path: Path, names: Iterable[str] | None = None, columns: Mapping[str, pl.Schema] | None = None
) -> dict[str, pl.DataFrame]:
    """The tables of a segment, or those in `names`, which it must have. `columns` are those of every table that it may have.

    Raises `Damaged`, whatever is damaged, or `FileNotFoundError`.
    """
    try:
        if reason := unreadable(path, LARGEST_BYTES):
            raise Damaged(reason)
        with zipfile.ZipFile(path) as archive:
            entries = _entries(archive, path.stat().st_size)
            wanted = list(entries if names is None else names)
            contents = {name: archive.read(entries[name]) for name in wanted}
        _check_memory(contents)
        tables = {name: pl.read_parquet(io.BytesIO(content)) for name, content in contents.items()}
    except (FileNotFoundError, Damaged, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # polars' panics are no `Exception`
        raise Damaged(f"{type(error).__name__}: {error}") from None
    _check_columns(tables, columns)
    _check_rows(tables)
    return tables


def _entries(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The archive's entries by the name of their table: stored as they are, so that together they are no larger than the file."""
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        if entry.compress_type != zipfile.ZIP_STORED or entry.file_size != entry.compress_size or entry.flag_bits & 1:
            raise Damaged(f"{entry.filename} is compressed or encrypted")
        found[entry.filename.removesuffix(".parquet")] = entry
    if sum(entry.file_size for entry in archive.infolist()) > size:
        raise Damaged("its tables overlap")
    if missing := [name for name in (*_OWN, *_ALWAYS) if name not in found]:
        raise Damaged(f"it has no table {missing[0]}")
    return found


def _check_memory(contents: Mapping[str, bytes]) -> None:
    """Checks that the tables fit into memory, by what they say of themselves."""
    needed = 0
    for content in contents.values():
        rows = pl.scan_parquet(io.BytesIO(content)).select(pl.len()).collect().item()
        needed += rows * row_bytes(pl.Schema(pl.read_parquet_schema(io.BytesIO(content))))
    if needed > most_bytes():
        raise TooLarge(f"its tables take {needed / 1e6:.0f} MB of memory")


def _check_columns(tables: Tables, columns: Mapping[str, pl.Schema] | None) -> None:
    for name, table in tables.items():
        if columns is not None and name not in _OWN and name not in columns:
            raise Damaged(f"the table {name} does not belong there")
        wanted = _OWN.get(name) or (columns or {}).get(name)
        if wanted is not None and table.schema != wanted:
            raise Damaged(f"the table {name} has other columns")
        if name != PLANS and table.schema.get("job") != pl.UInt64:
            raise Damaged(f"the table {name} has no numbers of jobs")


def _check_rows(tables: Tables) -> None:
    """Checks that the tables are of the replications that the segment names, each once, and the plans of their hashes."""
    if any(table.null_count().sum_horizontal().item() for name, table in tables.items() if name in _OWN):
        raise Damaged("its replications have gaps")
    if REPLICATIONS in tables:
        jobs = tables[REPLICATIONS]["job"]
        others = {name: table["job"] for name, table in tables.items() if name not in _OWN}
        foreign = [name for name, found in others.items() if not found.is_in(jobs.implode()).all()]
        if foreign or jobs.n_unique() < jobs.len() or others.get("runs", jobs).n_unique() < jobs.len():
            raise Damaged("its tables are not those of its replications")
    if PLANS in tables and any(plan != plan_hash(text) for plan, text in tables[PLANS].iter_rows()):
        raise Damaged("a plan is not the one that its hash names")


@cache
def engine_columns() -> Mapping[str, pl.Schema]:
    """The columns of every table that results of the present engine can have."""
    return {name: pl.DataFrame(table).schema for name, table in _native.tables().items()}


def row_bytes(columns: pl.Schema) -> int:
    """The memory that a row takes, but for long texts."""
    return sum(16 if kind == pl.String else 8 for kind in columns.values())


def unlike(tables: Tables, parts: Sequence[Tables]) -> str:
    """The first table whose columns differ from those of a part that has it, too; empty if there is none."""
    firsts = {name: next((part[name] for part in parts if name in part), None) for name in tables}
    return next(
        (name for name, first in firsts.items() if first is not None and first.schema != tables[name].schema), ""
    )


def renumbered(tables: Tables, numbers: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The tables with jobs renumbered: `numbers` has the columns `job` and `new`. Other jobs are left out."""
    kept = numbers.select(pl.col("job").cast(pl.UInt64), pl.col("new").cast(pl.UInt64))
    return {name: _renumbered(table, kept) for name, table in tables.items() if name not in _OWN}


def _renumbered(table: pl.DataFrame, kept: pl.DataFrame) -> pl.DataFrame:
    there = table["job"].is_in(kept["job"].implode())
    mine = table if there.all() else table.filter(there)  # a copy of every column only if rows are left out
    return mine.with_columns(pl.col("job").replace_strict(kept["job"], kept["new"], return_dtype=pl.UInt64))


def together(parts: Iterable[Tables]) -> dict[str, pl.DataFrame]:
    """Concatenates the tables of several parts. A part may lack a table."""
    frames: dict[str, list[pl.DataFrame]] = {}
    for part in parts:
        for name, frame in part.items():
            frames.setdefault(name, []).append(frame)
    # Results of several BSSs have a column more than others.
    alike = {name: len({tuple(frame.columns) for frame in listed}) == 1 for name, listed in frames.items()}
    return {name: pl.concat(listed, how="vertical" if alike[name] else "diagonal") for name, listed in frames.items()}


def joined(parts: Iterable[Tables]) -> dict[str, pl.DataFrame]:
    """Merges segments' tables into one segment's: each replication and plan once, jobs renumbered."""
    kept: list[dict[str, pl.DataFrame]] = []
    seen = pl.DataFrame(schema={"plan": pl.String, "seed": pl.UInt64})
    for part in parts:
        new = part[REPLICATIONS].join(seen, on=["plan", "seed"], how="anti", maintain_order="left")
        numbers = new.with_row_index("new", offset=seen.height)
        replications = numbers.select(job=pl.col("new").cast(pl.UInt64), plan="plan", seed="seed")
        kept.append({REPLICATIONS: replications, PLANS: part[PLANS], **renumbered(part, numbers)})
        seen = pl.concat([seen, replications.select("plan", "seed")])
    tables = together(kept)
    if tables:
        plans = tables[PLANS].unique("plan", keep="first", maintain_order=True)
        tables[PLANS] = plans.join(seen, on="plan", how="semi", maintain_order="left")
    return tables
