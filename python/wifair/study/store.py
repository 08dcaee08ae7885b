"""The store of finished replications: none is computed twice, and a kill loses only the running batch.

The key of a replication is its engine, canonical plan and seed; these determine every bit of it. The engine's identity
is a hash of its sources (`_native.engine`). Each engine has its own folder, so results of different engines are never
mixed.

    STORE/store.json               the format of the store
    STORE/<engine>/engine.json     its version of wifair
    STORE/<engine>/segments/*.zip  finished replications, one file per batch (`wifair.results.segment`)
    STORE/<engine>/studies/*.json  names, coordinates, plans and seeds of a study

Batches are only added, each under a new name, so several processes may share a store. Merging small segments and
pruning take a lock. A replication in two segments is read once.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from wifair import _native
from wifair.errors import InputError, WifairError
from wifair.files import read_text
from wifair.keys import nearest
from wifair.results import segment
from wifair.results.results import ResultCell, Results, writable_folder
from wifair.results.segment import PLANS, REPLICATIONS, Damaged, Tables, atomic, plan_hash

if TYPE_CHECKING:
    from wifair.study.job import Job

FORMAT = 1
# Segments below this size are merged, once there are this many, into segments of about this size.
LARGE_BYTES = 32 * 2**20
MANY = 16
# Number of batches between two checks for segments to merge.
COMPACT_EVERY = 64


@dataclass(frozen=True)
class StoredPlan:
    """A canonical plan from the store, in place of a scenario."""

    plan_json: str

    def plan(self) -> dict[str, Any]:
        """The plan as tables."""
        plan: dict[str, Any] = json.loads(self.plan_json)
        return plan

    @cached_property
    def _run(self) -> dict[str, float]:
        run: dict[str, float] = self.plan()["run"]
        return run

    def simulated_s(self) -> float:
        """Simulated seconds of one replication, warm-up included."""
        return float(self._run["warmup_s"] + self._run["duration_s"])


@dataclass(frozen=True)
class StoredCell:
    """A store's record of a study's cell."""

    name: str
    scenario: StoredPlan
    keys: Mapping[str, str | int | float]


# A cell's name, its coordinates and its plan's hash.
Keyed = tuple[str, Mapping[str, str | int | float], str]


@dataclass(frozen=True)
class StoredStudy:
    """A store's record of a study, and how many of its replications are stored."""

    title: str
    cells: tuple[Keyed, ...]
    seeds: tuple[int, ...]
    finished: int
    last: float
    path: Path

    @property
    def replications(self) -> int:
        """The number of requested replications; a plan in two cells counts twice."""
        return len(self.cells) * len(self.seeds)


class EngineStore:
    """The part of a store with one engine's results. Read-only until results are added."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.engine = folder.name
        self.segments_folder = folder / "segments"
        self.studies_folder = folder / "studies"
        # Damaged segments and studies, with the reason.
        self.damaged: dict[Path, Damaged] = {}

    @property
    def version(self) -> str:
        """The engine's version of wifair."""
        told = _read_json(self.folder / "engine.json") or {}
        return str(told.get("wifair", "unknown"))

    def segments(self) -> list[Path]:
        """The segments, in the order of their names."""
        return sorted(self.segments_folder.glob(f"*{segment.ENDING}"))

    def whole(self, path: Path, names: Sequence[str] | None = None) -> dict[str, pl.DataFrame] | None:
        """A segment's tables, or those in `names`. None if it is missing, or damaged, which is recorded."""
        columns = segment.engine_columns() if self.engine == _native.engine() else None
        try:
            return segment.read(path, names, columns)
        except Damaged as reason:
            self.damaged[path] = reason
        except FileNotFoundError:
            pass
        return None

    def read(self, names: Sequence[str]) -> Iterator[tuple[Path, dict[str, pl.DataFrame]]]:
        """Each segment's path with its tables of those names."""
        done: set[Path] = set()
        # Another process may merge segments meanwhile; the next round reads the merged ones.
        while new := [path for path in self.segments() if path not in done]:
            for path in new:
                done.add(path)
                if tables := self.whole(path, names):
                    yield path, tables

    def replications(self) -> pl.DataFrame:
        """The stored replications: one row (plan, seed) each."""
        empty = pl.DataFrame(schema={"plan": pl.String, "seed": pl.UInt64})
        found = [tables[REPLICATIONS].select("plan", "seed") for _, tables in self.read([REPLICATIONS])]
        return pl.concat([empty, *found]).unique(maintain_order=True)

    def get(self, wanted: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """The tables of the stored replications of `wanted` (plan, seed, job); empty if there is none."""
        parts: list[Tables] = []
        for path, tables in self.read([REPLICATIONS]):
            hits = tables[REPLICATIONS].join(wanted.rename({"job": "new"}), on=["plan", "seed"], how="inner")
            if hits.height and (whole := self.whole(path)):
                if other := segment.unlike(whole, parts):
                    self.damaged[path] = Damaged(f"the table {other} has other columns than elsewhere")
                    continue
                parts.append(segment.renumbered(whole, hits))
                wanted = wanted.join(hits, on=["plan", "seed"], how="anti")
        return segment.together(parts)

    def studies(self) -> list[StoredStudy]:
        """The studies in this store, by title."""
        there = set(self.replications().iter_rows())
        found = []
        for path in sorted(self.studies_folder.glob("*.json")):
            try:
                title, cells, seeds = _study(_read_json(path))
            except (KeyError, TypeError, ValueError) as reason:
                self.damaged[path] = Damaged(f"it is no record of a study: {type(reason).__name__}: {reason}")
                continue
            finished = sum((plan, seed) in there for _, _, plan in cells for seed in seeds)
            found.append(StoredStudy(title, cells, seeds, finished, path.stat().st_mtime, path))
        return found

    def results(self, study: StoredStudy) -> Results:
        """The stored results of a study. Cells without any are left out."""
        rows = [(plan, seed) for _, _, plan in study.cells for seed in study.seeds]
        wanted = pl.DataFrame(rows, schema={"plan": pl.String, "seed": pl.UInt64}, orient="row").unique()
        tables = self.get(wanted.with_row_index("job"))
        if not tables:
            raise InputError(
                f"nothing of the study {study.title!r} is in {self.folder.parent} for engine {self.engine}."
            )
        # The numbers that `get` gave are those of `wanted`.
        jobs = {(plan, seed): job for job, (plan, seed) in enumerate(wanted.iter_rows())}
        plans: dict[str, str] = {}
        for _, found in self.read([PLANS]):
            plans.update(found[PLANS].iter_rows())
        cells = tuple(
            StoredCell(name, StoredPlan(plans[plan]), keys) for name, keys, plan in study.cells if plan in plans
        )
        keyed = {name: plan for name, _, plan in study.cells}
        results = Results.by_cell(cells, study.seeds, tables, lambda name, seed: jobs[keyed[name], seed])
        missing = study.replications - results.runs.height
        return replace(results, missing=missing, made_by={"wifair": self.version, "engine": self.engine})

    def bytes(self) -> int:
        """The size of the segments on disk."""
        return sum(path.stat().st_size for path in self.segments())

    def compact(self) -> None:
        """Merges small segments if there are many. If killed meanwhile, duplicates stay, which are harmless."""
        if len(self.segments()) < MANY:
            return
        with self.lock(wait=False) as mine:
            sizes = {path: path.stat().st_size for path in self.segments()} if mine else {}
            small = [path for path, size in sizes.items() if size < LARGE_BYTES]
            if len(small) < MANY:
                return
            group: list[Path] = []
            for path in small:
                group.append(path)
                if path is small[-1] or sum(sizes[member] for member in group) >= LARGE_BYTES:
                    self._join(group)
                    group = []

    def _join(self, group: Sequence[Path]) -> None:
        whole = [(path, tables) for path in group if (tables := self.whole(path))]
        if len(whole) > 1:
            segment.write(self.segments_folder, segment.joined(tables for _, tables in whole))
            for path, _ in whole:
                path.unlink()

    @contextmanager
    def lock(self, wait: bool) -> Iterator[bool]:
        """Locks out other processes that merge or prune. Yields false if another has the lock and `wait` is false.

        The operating system releases the lock when its holder ends. On systems without such locks there is none.
        """
        if sys.platform == "win32":
            yield True
            return
        import fcntl

        with (self.folder / "lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            yield True


class Asked(Protocol):
    """The part of a study that a store records."""

    @property
    def title(self) -> str:
        """The name of the study in the store."""
        ...

    @property
    def cells(self) -> Sequence[ResultCell]:
        """Its scenarios."""
        ...

    @property
    def seeds(self) -> Sequence[int]:
        """The seeds of each scenario."""
        ...


class Store:
    """A folder of finished replications, used by the present engine. Created if missing."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = writable_folder(folder)
        marker = self.folder / "store.json"
        if not marker.exists():
            with atomic(marker) as file:
                file.write(json.dumps({"wifair-store": FORMAT}).encode())
        _check_form(self.folder)
        self.mine = EngineStore(self.folder / _native.engine())
        for part in (self.mine.segments_folder, self.mine.studies_folder):
            part.mkdir(parents=True, exist_ok=True)
        about = self.mine.folder / "engine.json"
        if not about.exists():
            with atomic(about) as file:
                file.write(json.dumps({"wifair": _native.version()}).encode())
        self.mine.compact()
        self._batches = 0
        # Number of replications read from the store.
        self.taken = 0

    def get(self, jobs: Sequence[Job]) -> dict[str, pl.DataFrame]:
        """The tables of the stored jobs, with `job` as the index in `jobs`; empty if there is none."""
        hashes = {plan: plan_hash(plan) for plan in dict.fromkeys(plan for plan, _ in jobs)}
        columns = {"plan": [hashes[plan] for plan, _ in jobs], "seed": [seed for _, seed in jobs]}
        wanted = pl.DataFrame(columns, schema={"plan": pl.String, "seed": pl.UInt64}).with_row_index("job")
        found = self.mine.get(wanted)
        self.taken += found["runs"].height if found else 0
        return found

    def put(self, jobs: Sequence[Job], tables: Tables) -> None:
        """Adds a batch: the engine's tables, whose first column `job` is an index in `jobs`."""
        numbers = tables["runs"]["job"].to_list()
        if not numbers:
            return
        hashes = {plan: plan_hash(plan) for plan in dict.fromkeys(jobs[number][0] for number in numbers)}
        rows = [(number, hashes[jobs[number][0]], jobs[number][1]) for number in numbers]
        schema = {"job": pl.UInt64, "plan": pl.String, "seed": pl.UInt64}
        plans = {"plan": list(hashes.values()), "json": list(hashes)}
        own = {REPLICATIONS: pl.DataFrame(rows, schema=schema, orient="row"), PLANS: pl.DataFrame(plans)}
        try:
            segment.write(self.mine.segments_folder, {**own, **tables})
        except OSError as error:
            raise WifairError(
                f"{self.folder}: cannot be written: {error.strerror} (its contents are unchanged)."
            ) from None
        self._batches += 1
        if self._batches % COMPACT_EVERY == 0:
            self.mine.compact()

    def remember(self, study: Asked) -> None:
        """Records a study that has a title, so that its results can be found by title."""
        cells = [
            {"name": cell.name, "keys": dict(cell.keys), "plan": plan_hash(cell.scenario.plan_json)}
            for cell in study.cells
        ]
        about = {"title": study.title, "seeds": list(study.seeds), "cells": cells}
        with atomic(self.mine.studies_folder / f"{slug(study.title)}.json") as file:
            file.write(json.dumps(about, indent=1).encode())

    def remarks(self) -> list[str]:
        """Warnings for the user: damaged segments, results of other engines."""
        told = [
            f"{path} is damaged ({reason}): what it held is computed again"
            for path, reason in self.mine.damaged.items()
        ]
        for other in engines(self.folder):
            count = other.replications().height if other.engine != self.mine.engine else 0
            if count:
                told.append(
                    f"{self.folder} has {count} replications of another engine ({other.engine}): they are not used; "
                    "`wifair results list` shows them, `wifair results prune --other-engines` removes them"
                )
        return told


def opened(store: Store | str | Path | None) -> Store | None:
    """The store itself, the store in a folder, or None."""
    return store if store is None or isinstance(store, Store) else Store(store)


def engines(folder: str | Path) -> list[EngineStore]:
    """A store's parts by engine, the present engine first. The folder must be a store."""
    path = Path(folder)
    _check_form(path)
    found = [EngineStore(inner) for inner in sorted(path.iterdir()) if (inner / "segments").is_dir()]
    present = _native.engine()
    return sorted(found, key=lambda engine: engine.engine != present)


def stored_results(folder: str | Path, title: str, engine: str | None = None) -> Results:
    """The stored results of the study of that title, by the present engine unless another is named."""
    wanted = engine or _native.engine()
    found = {there.engine: there for there in engines(folder)}
    if wanted not in found:
        known = ", ".join(found) or "none, it is empty"
        raise InputError(f"{folder} has no results of engine {wanted}; allowed for --engine here: {known}.")
    studies = {there.title: there for there in found[wanted].studies()}
    if title not in studies:
        hint = nearest(title, studies)
        asked = f" Did you mean {hint}?" if hint else ""
        known = ", ".join(studies) or "none of this engine"
        raise InputError(f"there is no study {title!r} in {folder}.{asked} Allowed here: {known}.")
    return found[wanted].results(studies[title])


def _check_form(folder: Path) -> None:
    told = _read_json(folder / "store.json")
    if told is None:
        raise InputError(
            f"{folder}: is no store of results: it has no store.json. `wifair sweep --store DIR` makes one."
        )
    if told.get("wifair-store") != FORMAT:
        form = told.get("wifair-store")
        raise InputError(f"{folder}: is a store of form {form}; this version of wifair reads form {FORMAT}.")


def _read_json(path: Path) -> dict[str, Any] | None:
    try:
        told = json.loads(read_text(path))
    except (InputError, ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) else None


def _study(told: dict[str, Any] | None) -> tuple[str, tuple[Keyed, ...], tuple[int, ...]]:
    """A study's title, cells and seeds from what `Store.remember` has written. Raises if it is anything else."""
    if told is None:
        raise ValueError("it is no JSON")
    cells = tuple((_text(cell["name"]), dict(cell["keys"]), _text(cell["plan"])) for cell in told["cells"])
    plain = all(isinstance(value, (str, int, float)) for _, keys, _ in cells for value in keys.values())
    if not plain or len({name for name, _, _ in cells}) < len(cells):
        raise ValueError("its cells are none")
    seeds = tuple(told["seeds"])
    if not seeds or not all(isinstance(seed, int) and 0 <= seed < 2**64 for seed in seeds):
        raise ValueError("its seeds are none")
    return _text(told["title"]), cells, seeds


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def slug(title: str) -> str:
    """A file name for a title, distinct for distinct titles."""
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60]
    return words if words == title else f"{words}-{plan_hash(title)[:8]}"
