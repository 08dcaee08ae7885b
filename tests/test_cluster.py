"""Sweeps on a Dask cluster: a real scheduler, real worker processes, one of them killed in the middle."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from wifair import InputError, Scenario, Sweep, WifairError
from wifair.results.segment import REPLICATIONS
from wifair.scheme import Scheme
from wifair.study import Cell, Study, cluster
from wifair.study.store import Store, engines

STUDY = """
title = "on a cluster"
replications = 30
compare = "ap.scheme"
[scenario]
run = { warmup_s = 20, duration_s = 80 }
flows = [{ count = 3, direction = "up" }, { count = 3, direction = "down" }]
[product]
ap.scheme = ["droptail", "adaptive-pushout"]
ap.limit_packets = [20, 50]
"""

# Two BSSs on each of two channels: a network of two parts.
OF_NEIGHBOURS = """
title = "neighbours on a cluster"
replications = 15
[scenario]
run = { warmup_s = 0.5, duration_s = 2 }
building = { model = "flats-in-a-row", rooms = [4, 1], stations = 3, channels = [42, 106], assign = "in-turn" }
[product]
building.seed = [1, 2, 3, 4]
"ap.scheme" = ["droptail", "mac80211"]
"""

# Kills a worker as soon as a fifth is done, and says when that was.
DRIVER = """
import json, os, signal, sys
from wifair import Sweep
from wifair.study import cluster

study, store, address, victim = sys.argv[1:]
cluster.TASK_S = 0.2
killed = []

def progress(share):
    if share > 0.2 and not killed:
        os.kill(int(victim), signal.SIGKILL)
        killed.append(share)

results = Sweep.from_toml(study).run(progress=progress, store=store, dask=address)
print(json.dumps({"killed": killed, "missing": results.missing}))
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study of one BSS."""
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    return path


class Cluster:
    """A scheduler and workers in processes of their own."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "scheduler.json"
        self.processes: list[subprocess.Popen[bytes]] = []
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show")
        self._wait(self.file.exists)
        self.address = json.loads(self.file.read_text())["address"]

    def worker(self, *options: str) -> int:
        """Starts a worker; its process."""
        return self._start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", *options)

    def _start(self, part: str, *options: str) -> int:
        command = [sys.executable, "-m", f"distributed.cli.dask_{part}", "--scheduler-file", str(self.file), *options]
        environment = {**os.environ, "POLARS_MAX_THREADS": "1"}
        quiet = subprocess.DEVNULL
        self.processes.append(
            subprocess.Popen(command, env=environment, cwd=self.file.parent, stdout=quiet, stderr=quiet)
        )
        return self.processes[-1].pid

    def _wait(self, there: Callable[[], bool]) -> None:
        until = time.monotonic() + 120
        while not there() and time.monotonic() < until:
            assert self.processes[0].poll() is None
            time.sleep(0.05)

    def close(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            process.wait()


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    yield made
    made.close()


@pytest.mark.parametrize("text", [STUDY, OF_NEIGHBOURS], ids=["one BSS", "neighbours"])
def test_a_killed_worker_changes_nothing(processes: Cluster, text: str, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(text)
    victim = processes.worker()
    processes.worker()
    store = tmp_path / "store"
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, study, store, processes.address, str(victim)],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["missing"] == 0
    assert told["killed"][0] < 0.8
    # Nothing is there twice: segments are not looked at together.
    parts = [tables[REPLICATIONS].height for _, tables in engines(store)[0].read([REPLICATIONS])]
    assert sum(parts) == 120
    # Every table is that of a run on this machine, bit for bit.
    here = Sweep.from_toml(study).run(threads=1)
    kept = Store(store)
    there = Sweep.from_toml(study).run(store=kept)
    assert kept.taken == 120
    assert set(there.frames) == set(here.frames)
    for name, frame in here.frames.items():
        assert there.frames[name].equals(frame), name


def test_a_worker_with_another_engine_is_refused(processes: Cluster, study: Path, tmp_path: Path, cli: Cli) -> None:
    other = tmp_path / "other_engine.py"
    other.write_text("from wifair import _native\n_native.engine = lambda: '0' * 16\n")
    processes.worker("--preload", str(other))
    done = cli("sweep", study, "--store", tmp_path / "store", "--dask", processes.address)
    assert done.returncode == 2, done.stderr
    assert "has the engine 0000000000000000, this is" in done.stderr
    assert done.stdout == ""
    assert not list((tmp_path / "store").rglob("*.zip"))


@pytest.mark.parametrize("address", ["nowhere://x", "tcp://127.0.0.1:1", "tcp://", "7"])
def test_no_scheduler(study: Path, address: str) -> None:
    with pytest.raises(InputError, match="no scheduler answers"):
        Sweep.from_toml(study).run(dask=address)


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, study: Path) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install wifair\[dask\]"):
        Sweep.from_toml(study).run(dask="local")


class FakeFuture(Future[Any]):
    def release(self) -> None:
        """The cluster may forget the result."""


class FakeClient:
    """A cluster of four threads that does everything at once, in this process."""

    def __init__(self) -> None:
        self.tasks: list[int] = []

    def run(self, function: Callable[[], str], **_: object) -> dict[str, str]:
        return {"tcp://here": function()}

    def nthreads(self) -> dict[str, int]:
        return {"a": 2, "b": 2}

    def submit(self, function: Callable[..., Any], jobs: list[Any], *rest: object, **_: object) -> FakeFuture:
        self.tasks.append(len(jobs))
        future = FakeFuture()
        try:
            future.set_result(function(jobs, *rest))
        except Exception as error:
            future.set_exception(error)
        return future

    def cancel(self, futures: object) -> None:
        """Nothing runs any more."""

    def close(self) -> None:
        """There is nothing to close."""


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    client = FakeClient()
    monkeypatch.setattr(cluster, "_connect", lambda address, processes: (None, client))
    monkeypatch.setattr(cluster, "_name_of_worker", lambda: "tcp://here")
    return client


def test_a_task_is_as_long_as_it_should_be(fake: FakeClient, monkeypatch: pytest.MonkeyPatch, study: Path) -> None:
    monkeypatch.setattr(cluster, "perf_counter", iter(range(10_000)).__next__)  # every replication takes a second
    monkeypatch.setattr(cluster, "TASK_S", 7.5)
    results = Sweep.from_toml(study).run(dask="tcp://here")
    assert results.missing == 0
    # As long as nothing is known, one at a time, on every thread as many as wait there; then seven.
    assert fake.tasks == [1] * 12 + [7] * 15 + [3]


@pytest.mark.parametrize("error", [WifairError("it fell"), MemoryError("it fell")])
def test_a_failure_is_told_of_and_the_rest_is_kept(
    fake: FakeClient, monkeypatch: pytest.MonkeyPatch, study: Path, tmp_path: Path, error: Exception
) -> None:
    run_job = cluster._run_job

    def falls_at_seed_3(plan: str, seed: int, *rest: Any) -> Any:
        if seed == 3:
            raise error
        return run_job(plan, seed, *rest)

    monkeypatch.setattr(cluster, "_run_job", falls_at_seed_3)
    with pytest.raises(WifairError, match="it fell"):
        Sweep.from_toml(study).run(dask="tcp://here", store=tmp_path / "store")
    # Four cells: what came before the third seed.
    assert engines(tmp_path / "store")[0].replications().height == 8


class OwnTailDrop(Scheme):
    def enqueue(self, arrival: Any, buffer: Any, cx: Any) -> None:
        if buffer.is_full:
            buffer.refuse(arrival)
        else:
            buffer.append(arrival)


SCHEMES: dict[str, Any] = {"own": OwnTailDrop, "built in": "droptail"}


def test_a_scheme_written_in_python_is_sent_along(fake: FakeClient) -> None:
    settings: dict[str, Any] = {"flows": [{"direction": "up"}], "run": {"warmup_s": 0, "duration_s": 3}}
    cells = [Cell(name, Scenario(ap={"scheme": scheme}, **settings)) for name, scheme in SCHEMES.items()]
    study = Study(cells, 2)
    here, there = study.run(threads=1), study.run(dask="tcp://here")
    assert fake.tasks
    for name, frame in here.frames.items():
        assert there.frames[name].equals(frame), name
