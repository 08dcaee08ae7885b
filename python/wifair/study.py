"""Studies: scenarios × seeds, run as one batch on native threads.

A replication depends on its canonical plan and its seed alone, so a plan that stands in several cells runs once. A
store of finished replications would be asked in `run_studies`, between the list of jobs and the batch.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from wifair import _native
from wifair.errors import InputError, Interrupted, WifairError
from wifair.results import Results

if TYPE_CHECKING:
    from wifair.scenario import Scenario

# How often a waiting study looks for Ctrl-C and moves its progress bar.
POLL_MS = 100

# A plan in its canonical form, and a seed.
Job = tuple[str, int]

# Called with the share of the simulated time that is done, 0 to 1.
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Cell:
    """One scenario of a grid, with a unique name and its coordinates there."""

    name: str
    scenario: Scenario
    keys: Mapping[str, str | int | float] = field(default_factory=dict)


class StudyInterrupted(Interrupted):
    """Ctrl-C in the middle of the work; `results` holds what was finished, one entry a study."""

    def __init__(self, results: list[Results]) -> None:
        self.results = results
        missing = sum(part.missing for part in results)
        total = sum(len(part.cells) * len(part.seeds) for part in results)
        super().__init__(f"interrupted: {total - missing} of {total} replications were finished")


class Study:
    """Scenarios and the seeds that each is run with."""

    def __init__(self, cells: Sequence[Cell], seeds: int | Iterable[int]) -> None:
        self.cells = tuple(cells)
        self.seeds = seed_list(seeds)
        names = [cell.name for cell in self.cells]
        if len(set(names)) < len(names):
            raise InputError("two scenarios of a study have the same name.")

    def jobs(self) -> list[Job]:
        """What is to be run: every plan once with every seed, all plans with one seed before the next seed."""
        plans = dict.fromkeys(cell.scenario.plan_json for cell in self.cells)
        return [(plan, seed) for seed in self.seeds for plan in plans]

    def run(self, threads: int | None = None, progress: Progress | None = None) -> Results:
        """Runs what is to be run. Ctrl-C raises `StudyInterrupted`, which carries the finished part."""
        return run_studies([self], threads, progress)[0]

    def results(self, tables: Mapping[str, pl.DataFrame], jobs: Mapping[Job, int]) -> Results:
        """The engine's tables, by job, as this study's tables, by cell."""
        mine = [(cell.name, jobs[cell.scenario.plan_json, seed]) for cell in self.cells for seed in self.seeds]
        names = pl.DataFrame(mine, schema={"scenario": pl.String, "job": pl.UInt64}, orient="row")
        frames = {}
        for name, table in tables.items():
            by_job = table.with_columns(pl.col("job").cast(pl.UInt64))
            frames[name] = names.join(by_job, on="job", how="inner", maintain_order="left_right").drop("job")
        missing = len(mine) - frames["runs"].height
        return Results(self.cells, self.seeds, frames, missing)


def run_studies(
    studies: Sequence[Study], threads: int | None = None, progress: Progress | None = None
) -> list[Results]:
    """Runs several studies as one batch, so that no thread waits at the end of one for the next."""
    jobs = list(dict.fromkeys(job for study in studies for job in study.jobs()))
    batch = _native.Batch(jobs, thread_count(threads))
    interrupted = False
    try:
        while batch.wait(POLL_MS) < len(jobs):
            if progress:
                progress(batch.simulated_s() / batch.total_s)
    except KeyboardInterrupt:
        interrupted = True
        batch.cancel()
    try:
        tables = {name: pl.DataFrame(table) for name, table in batch.tables().items()}
    except RuntimeError as error:
        raise WifairError(f"a replication failed: {error}.") from None
    index = {job: i for i, job in enumerate(jobs)}
    results = [study.results(tables, index) for study in studies]
    if interrupted:
        raise StudyInterrupted(results)
    return results


def seed_list(seeds: int | Iterable[int]) -> tuple[int, ...]:
    """Seeds 1, 2, … `seeds`, or those given."""
    listed = tuple(range(1, seeds + 1)) if isinstance(seeds, int) else tuple(seeds)
    if not listed:
        raise InputError(f"seeds: {seeds!r} is no number of replications; allowed here: 1 or more (10 by default).")
    if len(set(listed)) < len(listed):
        raise InputError("seeds: a seed that is given twice would be the same run twice.")
    return listed


def thread_count(threads: int | None) -> int:
    """The number of native threads: as many as this process may use, unless said otherwise."""
    if threads is None:
        available = os.sched_getaffinity(0) if sys.platform == "linux" else range(os.cpu_count() or 1)
        return len(available)
    if threads < 1:
        raise InputError(f"threads: {threads} is not allowed; allowed here: 1 or more.")
    return threads
