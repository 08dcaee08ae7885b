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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import polars as pl

Tables = Mapping[str, pl.DataFrame]

ENDING = ".zip"
# Suffix of files not yet renamed. Their writer may have been killed.
UNFINISHED = ".part"
REPLICATIONS = "replications"
PLANS = "plans"
_OWN = (REPLICATIONS, PLANS)


class Damaged(Exception):
    """The file is not a complete segment: truncated by a power failure, or from another program."""


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


def read(path: Path, names: Iterable[str] | None = None) -> dict[str, pl.DataFrame]:
    """The tables of a segment, or those in `names`, which it must have. Raises `Damaged` or `FileNotFoundError`."""
    try:
        with zipfile.ZipFile(path) as archive:
            found = [name.removesuffix(".parquet") for name in archive.namelist()]
            wanted = found if names is None else list(names)
            return {name: pl.read_parquet(io.BytesIO(archive.read(f"{name}.parquet"))) for name in wanted}
    except FileNotFoundError:
        raise
    except (zipfile.BadZipFile, KeyError, EOFError, OSError, ValueError, pl.exceptions.PolarsError) as error:
        raise Damaged(f"{type(error).__name__}: {error}") from None


def renumbered(tables: Tables, numbers: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The tables with jobs renumbered: `numbers` has the columns `job` and `new`. Other jobs are left out."""
    kept = numbers.select(pl.col("job").cast(pl.UInt64), pl.col("new").cast(pl.UInt64))
    return {
        name: table.join(kept, on="job", how="inner", maintain_order="left").with_columns(job="new").drop("new")
        for name, table in tables.items()
        if name not in _OWN
    }


def together(parts: Iterable[Tables]) -> dict[str, pl.DataFrame]:
    """Concatenates the tables of several parts. A part may lack a table."""
    frames: dict[str, list[pl.DataFrame]] = {}
    for part in parts:
        for name, frame in part.items():
            frames.setdefault(name, []).append(frame)
    return {name: pl.concat(listed) for name, listed in frames.items()}


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
