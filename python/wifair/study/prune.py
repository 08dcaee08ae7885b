"""Pruning a store: removes damaged and unfinished files, and what the user names."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from wifair import _native
from wifair.errors import InputError
from wifair.results import segment
from wifair.results.segment import REPLICATIONS
from wifair.study.store import EngineStore, StoredStudy, engines

# An unfinished file is removed once it is too old to be still written.
ABANDONED_S = 3600.0

# A plan's hash and a seed.
Replication = tuple[str, int]


@dataclass
class Pruned:
    """What pruning removed, or would remove."""

    replications: int = 0
    files: int = 0
    bytes: int = 0

    def count(self, paths: Sequence[Path]) -> None:
        """Counts files to remove."""
        self.files += len(paths)
        self.bytes += sum(path.stat().st_size for path in paths)


def prune(
    folder: str | Path,
    *,
    other_engines: bool = False,
    study: str | None = None,
    unlisted: bool = False,
    dry: bool = False,
) -> Pruned:
    """Removes damaged segments, abandoned files, and what the arguments name; with `dry` only counts.

    `other_engines`: the results of all other engines. `study`: the study of that title, and every replication that only
    it has. `unlisted`: every replication that is in no study.
    """
    pruned = Pruned()
    found = engines(folder)
    titles = {known.title for engine in found for known in engine.studies()}
    if study is not None and study not in titles:
        listed = ", ".join(sorted(titles)) or "no study at all"
        raise InputError(f"there is no study {study!r} in {folder}; allowed here: {listed}.")
    for engine in found:
        with engine.lock(wait=True):
            if other_engines and engine.engine != _native.engine():
                _whole_engine(engine, pruned, dry)
            else:
                _within(engine, study, unlisted, pruned, dry)
    return pruned


def _whole_engine(engine: EngineStore, pruned: Pruned, dry: bool) -> None:
    pruned.replications += engine.replications().height
    pruned.count([path for path in engine.folder.rglob("*") if path.is_file()])
    if not dry:
        shutil.rmtree(engine.folder)


def _within(engine: EngineStore, study: str | None, unlisted: bool, pruned: Pruned, dry: bool) -> None:
    forgotten = [known for known in engine.studies() if known.title == study]
    kept = _members(known for known in engine.studies() if known.title != study)
    there: set[Replication] = set()
    for path in engine.segments():
        if tables := engine.whole(path):  # all tables, to find every damage
            there.update(tables[REPLICATIONS].select("plan", "seed").iter_rows())
    doomed = (there if unlisted else _members(forgotten) & there) - kept
    files = [known.path for known in forgotten]
    if doomed:
        pruned.replications += len(doomed)
        files += _written_anew(engine, doomed, dry)
    before = time.time() - ABANDONED_S
    unfinished = engine.folder.rglob(f".*{segment.UNFINISHED}")
    damaged = [path for path, reason in engine.damaged.items() if not isinstance(reason, segment.TooLarge)]
    files += [*damaged, *(path for path in unfinished if path.stat().st_mtime < before)]
    pruned.count(files)
    if not dry:
        for path in files:
            path.unlink(missing_ok=True)


def _members(studies: Iterable[StoredStudy]) -> set[Replication]:
    return {(plan, seed) for study in studies for _, _, plan in study.cells for seed in study.seeds}


def _written_anew(engine: EngineStore, doomed: set[Replication], dry: bool) -> list[Path]:
    """Rewrites the segments that contain replications to remove, without these. Returns the old segments."""
    replaced = []
    for path in engine.segments():
        tables = engine.whole(path)
        rows = tables[REPLICATIONS] if tables else pl.DataFrame()
        stays = [row not in doomed for row in rows.select("plan", "seed").iter_rows()] if tables else []
        if tables is None or all(stays):
            continue
        replaced.append(path)
        if any(stays) and not dry:
            rest = {**tables, REPLICATIONS: rows.filter(pl.Series(stays))}
            segment.write(engine.segments_folder, segment.joined([rest]))
    return replaced
