"""Replications with schemes written in Python, in separate processes because of the global interpreter lock.

With one thread they run in a thread of this process, where a debugger and `print` work.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import struct
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from functools import cache, partial
from multiprocessing import resource_tracker
from pathlib import Path
from queue import SimpleQueue
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

from wifair import _native
from wifair.errors import SchemeError, WifairError
from wifair.scheme.python import PythonScheme, failed, makers, own_files

if TYPE_CHECKING:
    import polars as pl

# Set to "1", it keeps the current directory off an interpreter's `sys.path`, which `-m` and `-c` would put first.
SAFE_PATH = "PYTHONSAFEPATH"
# A plan in its canonical form, and a seed.
Job = tuple[str, int]


# After a stop, how long replications may take to notice it, and then their thread to leave the scheme's code.
GRACE_S = 2.0
# How often a worker looks whether its study is still there.
ORPHAN_S = 1.0


class Cancelled(BaseException):
    """The study was stopped. A scheme's `except Exception` does not catch it."""


class Board:
    """State shared by a study and its workers: a memory-mapped file of 8-byte integers.

    The first is the stop flag, the others are the simulated milliseconds of each job.
    """

    def __init__(self, path: str | Path) -> None:
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)

    @classmethod
    def make(cls, jobs: int) -> tuple[Path, Board]:
        """Creates the file; returns its path and the board."""
        descriptor, path = tempfile.mkstemp(prefix="wifair-")
        with open(descriptor, "wb") as file:
            file.write(bytes(8 * (jobs + 1)))
        return Path(path), cls(path)

    def stop(self) -> None:
        """Sets the stop flag; workers stop within a simulated second."""
        self._map[0] = 1

    def passed(self, job: int, ms: int) -> None:
        """Adds to a job's simulated milliseconds. Raises `Cancelled` if the stop flag is set."""
        if self._map[0]:
            raise Cancelled
        at = 8 * (job + 1)
        (before,) = struct.unpack_from("<Q", self._map, at)
        struct.pack_into("<Q", self._map, at, before + ms)

    def simulated_s(self) -> float:
        """Simulated seconds of all jobs so far."""
        import numpy as np

        return float(np.frombuffer(bytes(self._map), "<u8")[1:].sum()) * 1e-3


class PythonBatch:
    """Replications of plans with schemes written in Python, with the interface of `_native.Batch`.

    After a failure no further replication starts. Running ones finish, so that the first failure in job order is
    reported on any number of processes.
    """

    def __init__(self, jobs: Sequence[Job], schemes: Mapping[str, PythonScheme], processes: int) -> None:
        processes = min(processes, len(jobs))
        self._executor: Executor
        self._shipped: bytes | Mapping[str, PythonScheme] = schemes
        if processes > 1:
            import loky  # type: ignore[import-untyped]

            self._shipped = shipped(schemes)
            environment = {"POLARS_MAX_THREADS": "1", SAFE_PATH: "1"}
            with safe_path():
                resource_tracker.ensure_running()  # now, because starting it unblocks Ctrl-C
                self._executor = loky.ProcessPoolExecutor(
                    processes, initializer=_begin, initargs=(os.getpid(),), env=environment
                )
        else:
            self._executor = _OneThread()
        self._total = len(jobs)
        self._waiting: Sequence[Job] = jobs
        self._path, self._board = Board.make(len(jobs))
        weakref.finalize(self, self._path.unlink, missing_ok=True)
        self._jobs: dict[Future[Any], int] = {}
        self._running: set[Future[Any]] = set()
        self._finished: list[tuple[int, dict[str, pl.DataFrame]]] = []
        self._failure: tuple[int, BaseException] | None = None

    def _start(self) -> None:
        with _ctrl_c_later(), safe_path():
            for job, (plan, seed) in enumerate(self._waiting):
                future = self._executor.submit(replicate, plan, seed, job, self._shipped, str(self._path))
                self._jobs[future] = job
                self._running.add(future)
            self._waiting = ()

    def wait(self, timeout_ms: int) -> int:
        """Waits at most `timeout_ms` for another job to finish. Returns how many are finished or cancelled.

        The first call starts the work, when the caller handles Ctrl-C.
        """
        if self._waiting:
            self._start()
        done, self._running = wait(self._running, timeout_ms * 1e-3, FIRST_COMPLETED)
        for future in done:
            if future.cancelled():
                continue
            job, error = self._jobs[future], future.exception()
            if error is None:
                self._finished.append((job, future.result()))
            elif not isinstance(error, Cancelled):
                if self._failure is None or job < self._failure[0]:
                    self._failure = job, error
                for other in self._running:
                    other.cancel()
        if not self._running:
            self.close()
        return self._total - len(self._running)

    def simulated_s(self) -> float:
        """Simulated seconds done so far."""
        return self._board.simulated_s()

    def cancel(self) -> None:
        """Stops the work. Results of finished jobs stay available. A scheme that does not return is ended."""
        for future in self._running:
            future.cancel()
        self._board.stop()
        self._waiting = ()
        self._wait_for(GRACE_S)
        if self._running and isinstance(self._executor, _OneThread):
            self._executor.interrupt(Cancelled)
            self._wait_for(GRACE_S)  # what waits in C cannot be interrupted: the thread ends with the process
        elif self._running:
            self._executor.shutdown(kill_workers=True)  # type: ignore[call-arg]
        self._running = set()

    def _wait_for(self, seconds: float) -> None:
        end_s = monotonic() + seconds
        while self._running and monotonic() < end_s:
            self.wait(100)

    def take(self) -> dict[str, pl.DataFrame]:
        """The results of the jobs that have finished since this was last called."""
        import polars as pl

        from wifair.results.segment import together

        finished, self._finished = self._finished, []
        if not finished:
            return {name: pl.DataFrame(table) for name, table in _native.Batch([], 1).take().items()}
        return together(tables for _, tables in sorted(finished, key=lambda entry: entry[0]))

    def failure(self) -> WifairError | None:
        """Why a job failed, if one did."""
        if self._failure is None:
            return None
        _, error = self._failure
        if isinstance(error, WifairError):
            return error
        return WifairError(f"a process that ran replications failed: {type(error).__name__}: {error}")

    def close(self) -> None:
        """Ends the processes. Called when no job is running."""
        self._executor.shutdown()


class _OneThread(Executor):
    """Runs what is submitted in one thread of this process, which can be interrupted and does not keep the process alive."""

    def __init__(self) -> None:
        self._submitted: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="wifair-scheme", daemon=True)
        self._thread.start()

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See `Executor`."""
        future: Future[Any] = Future()
        self._submitted.put((future, partial(call, *args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Ends the thread when it has done what is submitted."""
        self._submitted.put(None)

    def interrupt(self, reason: type[BaseException]) -> None:
        """Raises an exception in the thread, at the next step of Python code."""
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(reason))

    def _work(self) -> None:
        while (submitted := self._submitted.get()) is not None:
            future, call = submitted
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(call())
                except BaseException as error:
                    future.set_exception(error)


def replicate(
    plan_json: str, seed: int, job: int, schemes: Mapping[str, PythonScheme] | bytes, board: str
) -> dict[str, pl.DataFrame]:
    """Runs one replication in a worker. Returns its tables, with `job` as its number."""
    import polars as pl

    known = received(schemes) if isinstance(schemes, bytes) else schemes
    noted = _board(board)
    try:
        tables = _native.replicate(plan_json, seed, job, makers(known), lambda ms: noted.passed(job, ms))
    except _native.SchemeFailed as error:
        raise failed(error, known, seed) from error.__cause__
    return {name: pl.DataFrame(table) for name, table in tables.items()}


@cache
def _board(path: str) -> Board:
    return Board(path)


@cache
def received(sent: bytes) -> Mapping[str, PythonScheme]:
    """Unpickles what `shipped` sent."""
    import cloudpickle  # type: ignore[import-untyped]

    found = cloudpickle.loads(sent)
    return {key: PythonScheme(cls, text) for key, (cls, text) in found.items()}


def shipped(schemes: Mapping[str, PythonScheme]) -> bytes:
    """Pickles the classes as they are in this process: files may have changed since, and a notebook has none."""
    import cloudpickle

    names = {name for scheme in schemes.values() for name in own_files(scheme.cls)} - {"__main__"}
    known = cloudpickle.list_registry_pickle_by_value()
    added = [sys.modules[name] for name in names if name in sys.modules and name not in known]
    for module in added:
        cloudpickle.register_pickle_by_value(module)
    try:
        told = {key: (scheme.cls, str(scheme)) for key, scheme in schemes.items()}
        sent: bytes = cloudpickle.dumps(told)
        return sent
    except Exception as error:
        listed = ", ".join(map(str, schemes.values()))
        raise SchemeError(
            f"{listed}: cannot be sent to other processes: {type(error).__name__}: {error}. With threads=1 there are none."
        ) from error
    finally:
        for module in added:
            cloudpickle.unregister_pickle_by_value(module)


@contextmanager
def safe_path() -> Iterator[None]:
    """Interpreters that start meanwhile import nothing from the current directory."""
    before = os.environ.get(SAFE_PATH)
    os.environ[SAFE_PATH] = "1"
    try:
        yield
    finally:
        os.environ.pop(SAFE_PATH)
        if before is not None:
            os.environ[SAFE_PATH] = before


def _begin(parent: int) -> None:
    """Begins a worker: it ignores Ctrl-C, since the study stops its workers, and ends with the process of the study."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), name="wifair-parent", daemon=True).start()


def _end_with(parent: int) -> None:
    """Ends this process once the parent has ended, also in the middle of a scheme's code. Windows keeps a parent's number, so nothing ends there."""
    while os.getppid() == parent:
        sleep(ORPHAN_S)
    os._exit(1)


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Blocks Ctrl-C while processes start. They inherit the mask, so it cannot interrupt them before they ignore it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
