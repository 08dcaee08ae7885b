"""A scheme written in Python that does not return, or takes nothing, is ended and named."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from conftest import ROOT
from wifair import Scenario, SchemeError
from wifair.scheme import Buffer, Context, Grant, Scheme

SCHEMES = """
import time
from pathlib import Path
from wifair.scheme import Scheme

class Returns(Scheme):
    def enqueue(self, arrival, buffer, cx):
        buffer.refuse(arrival) if buffer.is_full else buffer.append(arrival)

class Loops(Returns):
    # Whether this replication finishes: the first to reach 1 s, if the folder has the file `spare-one`.
    is_spared = False

    def dequeue(self, grant, buffer, cx):
        folder = Path(__file__).parent
        if cx.now_ns > 1e9 and (folder / "spare-one").exists():
            (folder / "spare-one").unlink()
            self.is_spared = True
        if cx.now_ns > 1e9 and not self.is_spared:
            (folder / "looping").touch()
            while True:
                try:
                    while True:
                        pass
                except Exception:
                    pass
        buffer.release_head()
"""


def ended(short: Path, threads: str, by: signal.Signals) -> tuple[int, str]:
    """Exit code and messages of a run whose scheme loops for ever and which gets a signal; all that hold the pipe have ended."""
    folder = short.parent
    (folder / "own.py").write_text(SCHEMES)
    words = ["run", str(short), "--scheme", f"{folder / 'own.py'}:Loops", "--threads", threads, "--seeds", "2"]
    code = "from wifair.cli import main; main()"
    command = [sys.executable, "-c", code, *words]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        while not (folder / "looping").exists():
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(by)
        _, told = process.communicate(timeout=60)
    finally:
        # A scheme that the signal did not end would run for ever.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode, told


@pytest.mark.parametrize("threads", ["1", "2"])
def test_ctrl_c_ends_a_scheme_that_does_not_return(threads: str, short: Path) -> None:
    told = "wifair: interrupted: 0 of 2 replications were finished; there is nothing to keep.\n"
    assert ended(short, threads, signal.SIGINT) == (130, told)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps the number of a parent that has ended")
def test_a_kill_leaves_no_process_behind(short: Path) -> None:
    code, _ = ended(short, "2", signal.SIGTERM)
    assert code == -signal.SIGTERM


FINISHED = """
import sys
from pathlib import Path
import wifair.study.study
from wifair import Scenario
from wifair.scheme.python import load
from wifair.study import Cell, Study, StudyInterrupted

folder = Path(sys.argv[1])
scenario = Scenario.from_toml(folder / "short.toml", [("ap.scheme", load(f"{folder / 'own.py'}:Loops"))])

def press(share):
    if (folder / "looping").exists():
        raise KeyboardInterrupt

try:
    Study([Cell("one", scenario)], 3).run(threads=1, progress=press, store=folder / "store")
except StudyInterrupted as interruption:
    print(interruption.results[0].runs.height)
"""


def test_what_was_computed_before_is_kept(short: Path) -> None:
    folder = short.parent
    (folder / "own.py").write_text(SCHEMES)
    (folder / "spare-one").touch()  # the first replication finishes, the second one loops
    done = subprocess.run(
        [sys.executable, "-c", FINISHED, str(folder)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    kept = int(done.stdout)
    assert kept >= 1
    (stored,) = (folder / "store").glob("*/segments/*.zip")
    from wifair.results import segment

    assert segment.read(stored)["runs"].height == kept


class Idle(Scheme):
    def enqueue(self, arrival: object, buffer: Buffer, cx: Context) -> None:
        buffer.refuse(arrival) if buffer.is_full else buffer.append(arrival)  # type: ignore[arg-type]

    def dequeue(self, grant: Grant, buffer: Buffer, cx: Context) -> None:
        pass


class Returned(Idle):
    def dequeue(self, grant: Grant, buffer: Buffer, cx: Context) -> None:
        return buffer.head  # type: ignore[return-value]


class Shaped(Idle):
    """One packet every 0.6 s: it sets a tick, so it is not idle for nothing."""

    first_tick_ns = 0

    def __init__(self) -> None:
        self.due = False

    def on_tick(self, buffer: Buffer, cx: Context) -> None:
        self.due = True
        cx.tick_at(cx.now_ns + 600_000_000)

    def dequeue(self, grant: Grant, buffer: Buffer, cx: Context) -> None:
        if self.due:
            buffer.release_head()
        self.due = False


def cell(scheme: type[Scheme]) -> Scenario:
    run = {"warmup_s": 0.0, "duration_s": 3.0}
    return Scenario(run=run, flows=[{"count": 2, "direction": "up"}], ap={"scheme": scheme})


@pytest.mark.parametrize(
    ("scheme", "message"),
    [(Idle, r"Idle failed in dequeue at .* released nothing for 0.5 s although \d+ packets wait"),
     (Returned, r"Returned failed in dequeue at .* has returned <.*> and released no packet")],
)  # fmt: skip
def test_a_scheme_that_takes_nothing_is_named(scheme: type[Scheme], message: str) -> None:
    with pytest.raises(SchemeError, match=f"(?s){message}"):
        cell(scheme).run(1, threads=1)


def test_a_scheme_that_waits_for_its_tick_is_not_idle() -> None:
    queues = cell(Shaped).run(1, threads=1).queues
    dequeued = queues.filter((pl.col("node") == "ap") & (pl.col("class") == "all"))["dequeued_packets"].item()
    assert 3 <= dequeued <= 6
