"""Studies: scenarios × seeds, run as one batch.

A replication depends on its canonical plan and its seed alone. So a plan in several cells runs once, and replications
in a store (`wifair.study.store`) are not run again.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import polars as pl

from wifair import _native
from wifair.errors import InputError, Interrupted, WifairError
from wifair.results.results import Results
from wifair.results.segment import Tables, renumbered, together
from wifair.study.ctrl_c import noted_ctrl_c
from wifair.study.job import Batch, Cell, Job, Progress, horizon_s
from wifair.study.size import check_size
from wifair.study.store import Store, opened

if TYPE_CHECKING:
    from wifair.scheme.python import PythonScheme
    from wifair.study.traces import Traces

# The largest number of replications per scenario: more would only take memory.
MOST_SEEDS = 100_000

# Polling interval for Ctrl-C and the progress bar.
POLL_MS = 100

# The longest time for which finished replications are taken while others run, which may finish faster than they are taken.
TAKING_S = 0.5

# Interval at which finished replications are stored, the largest share of time that storing may take, and the longest interval.
BATCH_S = 2.0
STORE_SHARE = 0.01
MOST_UNSAVED_S = 60.0


class StudyInterrupted(Interrupted):
    """Ctrl-C during a run; `results` holds the finished replications, one entry per study."""

    def __init__(self, results: list[Results]) -> None:
        self.results = results
        missing = sum(part.missing for part in results)
        total = sum(len(part.cells) * len(part.seeds) for part in results)
        super().__init__(f"interrupted: {total - missing} of {total} replications were finished")


class Study:
    """Scenarios and the seeds of each. A store records a study that has a title."""

    def __init__(self, cells: Sequence[Cell], seeds: int | Iterable[int], title: str = "") -> None:
        self.cells = tuple(cells)
        self.seeds = seed_list(seeds)
        self.title = title
        names = [cell.name for cell in self.cells]
        if len(set(names)) < len(names):
            raise InputError("two scenarios of a study have the same name.")

    def jobs(self) -> list[Job]:
        """The jobs: every plan once with every seed, all plans with one seed before the next seed."""
        plans = dict.fromkeys(cell.scenario.plan_json for cell in self.cells)
        return [(plan, seed) for seed in self.seeds for plan in plans]

    def run(
        self,
        threads: int | None = None,
        progress: Progress | None = None,
        store: Store | str | Path | None = None,
        traces: Traces | None = None,
        dask: str | None = None,
    ) -> Results:
        """Runs the study. Ctrl-C raises `StudyInterrupted` with the finished part.

        `dask` is a scheduler's address or "local", to run on that cluster (`wifair.study.cluster`).
        """
        return run_studies([self], threads, progress, store, traces, dask)[0]

    def python_schemes(self) -> dict[str, Mapping[str, PythonScheme]]:
        """The schemes written in Python, by plan."""
        found = {cell.scenario.plan_json: cell.scenario.python_schemes for cell in self.cells}
        return {plan: schemes for plan, schemes in found.items() if schemes}

    def results(self, tables: Mapping[str, pl.DataFrame], jobs: Mapping[Job, int]) -> Results:
        """Results by cell from the engine's tables, which are by job."""
        plans = {cell.name: cell.scenario.plan_json for cell in self.cells}
        return Results.by_cell(self.cells, self.seeds, tables, lambda name, seed: jobs[plans[name], seed])


def run_studies(
    studies: Sequence[Study],
    threads: int | None = None,
    progress: Progress | None = None,
    store: Store | str | Path | None = None,
    traces: Traces | None = None,
    dask: str | None = None,
) -> list[Results]:
    """Runs several studies as one batch, so that threads do not idle between them.

    Replications in the store are not run; new ones are stored as they finish. With traces everything is run.
    """
    jobs = list(dict.fromkeys(job for study in studies for job in study.jobs()))
    schemes = {plan: found for study in studies for plan, found in study.python_schemes().items()}
    if traces and schemes:
        raise InputError("traces: a scheme written in Python is not traced; allowed here: the engine's own schemes.")
    if traces and dask:
        raise InputError("traces: not available on a cluster; leave out the cluster or the traces.")
    check_size(jobs, thread_count(threads))
    finished = _Finished(jobs, opened(store), _unkept(jobs, schemes, store is not None), anew=traces is not None)
    if finished.store:
        for study in studies:
            if study.title:
                finished.store.remember(study)
    with noted_ctrl_c() as pressed:
        ended = _run(finished, schemes, thread_count(threads), progress, traces, dask, pressed)
        index = {job: i for i, job in enumerate(jobs)}
        tables = together(finished.parts)
        results = [study.results(tables, index) for study in studies]
    if not ended:
        raise StudyInterrupted(results)
    return results


def _run(
    finished: _Finished,
    schemes: Mapping[str, Mapping[str, PythonScheme]],
    threads: int,
    progress: Progress | None,
    traces: Traces | None,
    dask: str | None,
    pressed: Callable[[], bool],
) -> bool:
    """Runs the missing jobs: on a cluster, or on native threads and then, for schemes written in Python, in processes.

    False after Ctrl-C.
    """
    jobs = finished.jobs
    horizons = {plan: horizon_s(plan) for plan in dict.fromkeys(jobs[i][0] for i in finished.missing)}
    total_s = sum(horizons[jobs[i][0]] for i in finished.missing)
    done_s = 0.0
    for in_python in (False, True):
        mine = [i for i in finished.missing if (jobs[i][0] in schemes) is in_python]
        if not mine:
            continue
        batch = _batch([jobs[i] for i in mine], schemes if in_python else {}, threads, traces, dask)
        try:
            while batch.wait(POLL_MS) < len(mine):
                if pressed():
                    raise KeyboardInterrupt
                if progress:
                    progress((done_s + batch.simulated_s()) / total_s)
                if finished.due():
                    finished.collect(batch, mine, last=False)
        except KeyboardInterrupt:
            batch.cancel()
            finished.collect(batch, mine)
            return False
        except BaseException:
            batch.cancel()
            raise
        done_s += batch.simulated_s()
        finished.collect(batch, mine)
        if failure := batch.failure():
            raise failure if isinstance(failure, WifairError) else WifairError(f"a replication failed: {failure}.")
    return True


def _batch(
    jobs: list[Job],
    schemes: Mapping[str, Mapping[str, PythonScheme]],
    threads: int,
    traces: Traces | None,
    dask: str | None,
) -> Batch:
    """Starts jobs: on a cluster, in processes if they have schemes written in Python, or on native threads."""
    known = {key: scheme for found in schemes.values() for key, scheme in found.items()}
    if dask:
        from wifair.study.cluster import DaskBatch

        return DaskBatch(jobs, known, dask, threads)
    if known:
        from wifair.study.workers import PythonBatch

        return PythonBatch(jobs, known, threads)
    return traces.batch(jobs, threads) if traces else _native.Batch(jobs, threads)


def _unkept(jobs: Sequence[Job], schemes: Mapping[str, Mapping[str, PythonScheme]], stored: bool) -> frozenset[int]:
    """The jobs that must not be stored: the source of their schemes is unknown."""
    nameless = {str(s): plan for plan, found in schemes.items() for s in found.values() if s.source is None}
    if nameless and stored:
        names = ", ".join(nameless)
        warnings.warn(
            f"{names}: there is no source by which its results could be known again, so they are not stored; "
            "a class that is defined in a file has one",
            stacklevel=4,
        )
    return frozenset(i for i, (plan, _) in enumerate(jobs) if plan in nameless.values())


class _Finished:
    """The finished replications of a list of jobs: from the store and from batches."""

    def __init__(self, jobs: Sequence[Job], store: Store | None, unkept: frozenset[int], anew: bool) -> None:
        self.jobs = jobs
        self.store = store
        # Jobs that must not be stored.
        self.unkept = unkept
        # Tables by index in `jobs`.
        self.parts: list[Tables] = []
        there: set[int] = set()
        if store and not anew and (found := store.get(jobs)):
            self.parts.append(found)
            there = set(found["runs"]["job"])
        self.missing = [i for i in range(len(jobs)) if i not in there]
        self.unsaved: list[Tables] = []
        self.taken_s = monotonic()
        self.next_save_s = monotonic() + BATCH_S

    def due(self) -> bool:
        """Whether it is time to take the finished replications: few at a time, since taking them takes memory."""
        return monotonic() >= self.taken_s + BATCH_S

    def collect(self, batch: Batch, jobs: Sequence[int], last: bool = True) -> None:
        """Takes finished replications of a batch of those jobs, all if it is the last time; stores them then or when due."""
        end = monotonic() + TAKING_S
        numbers = pl.DataFrame({"new": jobs}, schema={"new": pl.UInt64}).with_row_index("job")
        while True:
            taken = {name: pl.DataFrame(table) for name, table in batch.take().items()}
            if taken["runs"].is_empty():
                break
            self.unsaved.append(renumbered(taken, numbers))
            self.parts.append(self.unsaved[-1])
            if not last and monotonic() > end:
                break
        if not self.parts:
            self.parts.append(taken)  # the tables have their columns even if nothing has finished
        self.taken_s = began = monotonic()
        if not last and began < self.next_save_s:
            return
        if self.store and self.unsaved:
            # If Ctrl-C interrupts this, they stay unsaved until the last call.
            self.store.put(self.jobs, self._kept(together(self.unsaved)))
        self.unsaved = []
        now = monotonic()
        self.next_save_s = now + min(max(BATCH_S, (now - began) / STORE_SHARE), MOST_UNSAVED_S)

    def _kept(self, tables: Tables) -> Tables:
        if not self.unkept:
            return tables
        return {name: table.filter(~pl.col("job").is_in(list(self.unkept))) for name, table in tables.items()}


def seed_list(seeds: int | Iterable[int]) -> tuple[int, ...]:
    """Seeds 1 to `seeds`, or the given ones."""
    if isinstance(seeds, (str, bytes, bool)) or not isinstance(seeds, (int, Iterable)):
        raise InputError(f"seeds: {seeds!r} is no number; allowed here: a whole number from 1 on, or a list of seeds.")
    if isinstance(seeds, int) and seeds > MOST_SEEDS:
        raise InputError(f"seeds: {seeds} replications are too many; allowed here: 1 to {MOST_SEEDS}.")
    listed = tuple(range(1, seeds + 1)) if isinstance(seeds, int) else tuple(seeds)
    if wrong := [seed for seed in listed if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0]:
        raise InputError(f"seeds: {wrong[0]!r} is no seed; allowed here: whole numbers from 0 on.")
    if not listed:
        raise InputError(f"seeds: {seeds!r} is no number of replications; allowed here: 1 or more (10 by default).")
    if len(set(listed)) < len(listed):
        raise InputError("seeds: a seed is given twice; allowed here: each once.")
    return listed


def seeds_text(seeds: Sequence[int]) -> str:
    """The seeds as a short text."""
    consecutive = list(seeds) == list(range(seeds[0], seeds[0] + len(seeds)))
    return f"{seeds[0]} to {seeds[-1]}" if consecutive and len(seeds) > 1 else ", ".join(map(str, seeds))


def thread_count(threads: int | None) -> int:
    """The number of native threads: by default the number of processors available to this process."""
    if threads is None:
        available = os.sched_getaffinity(0) if sys.platform == "linux" else range(os.cpu_count() or 1)
        return len(available)
    if threads < 1:
        raise InputError(f"threads: {threads} is not allowed; allowed here: 1 or more.")
    return threads
