"""Replications on a Dask cluster: an existing one, or a local one of this machine's processes.

A task takes about a second, so that the scheduler's few milliseconds per task do not matter. The scheduler reruns the
tasks of a worker that died. Finished replications return here and go to the store as usual. A replication depends on
its plan and seed alone, so it is the same on every machine with the same engine; each task checks the engine.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping, Sequence
from multiprocessing import resource_tracker
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import TYPE_CHECKING, Any

from wifair import _native
from wifair.errors import InputError, WifairError
from wifair.results.segment import Tables, renumbered, together
from wifair.scheme.python import failed, makers
from wifair.study.job import horizon_s
from wifair.study.workers import SAFE_PATH, received, safe_path, shipped

if TYPE_CHECKING:
    import polars as pl

    from wifair.scheme.python import PythonScheme
    from wifair.study.job import Job

# Wanted duration of a task on a worker.
TASK_S = 1.0
# Tasks that are queued or running, per thread of the cluster.
AHEAD = 3
# Retries of a task that failed for a reason outside the simulation (memory, disk).
RETRIES = 2
CONNECT_S = 10
# In place of an address: a cluster of this machine's processes.
LOCAL = "local"


class WrongEngine(WifairError):
    """A worker has another engine."""

    exit_status = 2


class DaskBatch:
    """Jobs on a cluster, with the interface of `_native.Batch`. `threads` is the number of processes of a local cluster."""

    def __init__(self, jobs: Sequence[Job], schemes: Mapping[str, PythonScheme], address: str, threads: int) -> None:
        self._jobs = jobs
        self._schemes = shipped(schemes) if schemes else b""
        self._horizons = {plan: horizon_s(plan) for plan in dict.fromkeys(plan for plan, _ in jobs)}
        # By plan: wall-clock seconds so far, and the simulated seconds in them.
        self._measured: dict[str, tuple[float, float]] = {}
        self._next = 0
        self._done = 0
        self._simulated_s = 0.0
        self._finished: list[dict[str, pl.DataFrame]] = []
        self._failure: WifairError | None = None
        self._under_way: dict[Any, range] = {}
        self._arrived: SimpleQueue[Any] = SimpleQueue()
        self._cluster, self._client = _connect(address, min(threads, len(jobs)))
        try:
            self._refuse_other_engines()
            self._submit()
        except BaseException:
            self._close()
            raise

    def wait(self, timeout_ms: int) -> int:
        """Waits at most `timeout_ms` for another task to finish. Returns how many jobs are finished or cancelled."""
        with contextlib.suppress(Empty):
            self._receive(self._arrived.get(timeout=timeout_ms * 1e-3))
        self._receive_all()
        if self._failure:
            self._close()
            return len(self._jobs)
        if self._done == len(self._jobs):
            self._close()
        else:
            self._submit()
        return self._done

    def simulated_s(self) -> float:
        """Simulated seconds of finished tasks."""
        return self._simulated_s

    def cancel(self) -> None:
        """Cancels the unfinished tasks."""
        self._receive_all()
        self._close()

    def take(self) -> Tables:
        """The results of the jobs that have finished since the last call."""
        finished, self._finished = self._finished, []
        return together(finished) if finished else _tables(_native.Batch([], 1))

    def failure(self) -> WifairError | None:
        """Why a job failed, if one did."""
        return self._failure

    def _refuse_other_engines(self) -> None:
        found = self._client.run(_native.engine, on_error="return")
        for worker, engine in found.items():
            if isinstance(engine, Exception):
                raise InputError(f"dask: the worker {worker} cannot run wifair: {type(engine).__name__}: {engine}.")
            _check_engine(engine, _native.engine(), worker)

    def _submit(self) -> None:
        threads = sum(self._client.nthreads().values())
        while self._next < len(self._jobs) and len(self._under_way) < AHEAD * max(threads, 1):
            chunk = self._chunk()
            self._next = chunk.stop
            future = self._client.submit(
                run_jobs,
                [self._jobs[job] for job in chunk],
                self._schemes,
                _native.engine(),
                pure=False,
                retries=RETRIES,
            )
            self._under_way[future] = chunk
            future.add_done_callback(self._arrived.put)

    def _chunk(self) -> range:
        """The next jobs that together make a task of the wanted duration; one job while durations are unknown."""
        stop, expected_s = self._next + 1, self._expected_s(self._next)
        while stop < len(self._jobs) and expected_s + self._expected_s(stop) <= TASK_S:
            expected_s += self._expected_s(stop)
            stop += 1
        return range(self._next, stop)

    def _expected_s(self, job: int) -> float:
        plan, _ = self._jobs[job]
        known = [self._measured[plan]] if plan in self._measured else list(self._measured.values())
        if not known:
            return TASK_S
        took_s = sum(took for took, _ in known)
        return took_s / sum(simulated for _, simulated in known) * self._horizons[plan]

    def _receive_all(self) -> None:
        with contextlib.suppress(Empty):
            while True:
                self._receive(self._arrived.get_nowait())

    def _receive(self, future: Any) -> None:
        jobs = self._under_way.pop(future, None)
        if jobs is None or self._failure:
            return
        try:
            took, tables = future.result()
        except Exception as error:
            told = f"dask: a task of {len(jobs)} replications failed: {type(error).__name__}: {error}"
            self._failure = error if isinstance(error, WifairError) else WifairError(told)
            return
        finally:
            future.release()
        import polars as pl

        numbers = pl.DataFrame({"new": list(jobs)}, schema={"new": pl.UInt64}).with_row_index("job")
        self._finished.append(renumbered(tables, numbers))
        self._done += len(jobs)
        for job, seconds in zip(jobs, took, strict=True):
            plan, _ = self._jobs[job]
            before_s, simulated_s = self._measured.get(plan, (0.0, 0.0))
            self._measured[plan] = before_s + seconds, simulated_s + self._horizons[plan]
            self._simulated_s += self._horizons[plan]

    def _close(self) -> None:
        if self._client is not None:
            client, self._client = self._client, None
            with contextlib.suppress(Exception):  # a lost cluster needs no notification
                client.cancel(list(self._under_way))
            self._under_way.clear()
            client.close()
            if self._cluster is not None:
                self._cluster.close()


def run_jobs(jobs: Sequence[Job], schemes: bytes, engine: str) -> tuple[list[float], dict[str, pl.DataFrame]]:
    """The function of a task: runs the jobs. Returns the seconds per job, and their tables with jobs numbered from 0."""
    _check_engine(_native.engine(), engine, _name_of_worker())
    took, parts = [], []
    for number, (plan, seed) in enumerate(jobs):
        began = perf_counter()
        parts.append(_run_job(plan, seed, number, schemes))
        took.append(perf_counter() - began)
    return took, together(parts)


def _run_job(plan: str, seed: int, number: int, schemes: bytes) -> Tables:
    import polars as pl

    if schemes:
        known = received(schemes)
        try:
            tables = _native.replicate(plan, seed, number, makers(known), lambda _: None)
        except _native.SchemeFailed as error:
            raise failed(error, known, seed) from None
        return {name: pl.DataFrame(table) for name, table in tables.items()}
    batch = _native.Batch([(plan, seed)], 1)
    while batch.wait(1_000) < 1:
        pass
    if failure := batch.failure():
        raise WifairError(f"a replication failed, of seed {seed}: {failure}.")
    numbers = pl.DataFrame({"job": [0], "new": [number]}, schema={"job": pl.UInt64, "new": pl.UInt64})
    return renumbered(_tables(batch), numbers)


def _tables(batch: _native.Batch) -> dict[str, pl.DataFrame]:
    import polars as pl

    return {name: pl.DataFrame(table) for name, table in batch.take().items()}


def _check_engine(found: str, wanted: str, worker: str) -> None:
    if found != wanted:
        raise WrongEngine(
            f"dask: the worker {worker} has the engine {found}, this is {wanted}: their results must not be mixed; "
            "install the same version of wifair there."
        )


def _name_of_worker() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _connect(address: str, processes: int) -> tuple[Any, Any]:
    """The cluster, if it is a local one, and a client of it."""
    try:
        import distributed
    except ImportError:
        raise InputError("dask: distributed is not installed; `pip install wifair[dask]` brings it.") from None
    cluster = None
    if address == LOCAL:
        import dask

        # The configuration is for workers that replace one that died.
        with safe_path(), dask.config.set({f"distributed.nanny.pre-spawn-environ.{SAFE_PATH}": "1"}):
            resource_tracker.ensure_running()
            # Without an address the scheduler's HTTP server takes port 8787 of every interface, and warns if it is taken.
            cluster = distributed.LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=max(processes, 1), threads_per_worker=1, processes=True, dashboard_address="localhost:0"
            )
    else:
        _check_answers(address)
    client = distributed.Client(cluster or address, timeout=CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call]
    return cluster, client


def _check_answers(address: str) -> None:
    """Checks that a scheduler listens there: the client's own error is late and long."""
    from distributed.comm.addressing import parse_address, parse_host_port

    try:
        kind, place = parse_address(address)
        if kind not in ("tcp", "tls"):
            raise ValueError(f"{kind} is no kind of address")
        socket.create_connection(parse_host_port(place), CONNECT_S).close()
    except (OSError, ValueError) as error:
        allowed = "the address of a scheduler, as tcp://host:8786, or local"
        raise InputError(f"dask: {address}: no scheduler answers: {error}; allowed here: {allowed}.") from None
