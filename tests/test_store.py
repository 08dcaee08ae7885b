"""The store of finished replications: no replication is run twice, engines are not mixed, a kill loses only the running batch."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from wifair import InputError, Results, Scenario, Store, WifairError, _native
from wifair.results import segment
from wifair.study import Cell, Study, StudyInterrupted, run_studies
from wifair.study import store as store_module
from wifair.study import study as study_module
from wifair.study.prune import prune
from wifair.study.store import engines

RUN = {"warmup_s": 0.5, "duration_s": 2.0}
FLOWS: list[dict[str, Any]] = [{"count": 3, "direction": "up"}, {"count": 2, "direction": "down"}]


def scenario(limit: int = 100, **settings: Any) -> Scenario:
    return Scenario(**{"run": RUN, "flows": FLOWS, "ap": {"limit_packets": limit}, **settings})


def study(*limits: int, seeds: int = 3, title: str = "limits") -> Study:
    return Study([Cell(f"limit {limit}", scenario(limit), {"limit": limit}) for limit in limits], seeds, title)


def same(one: Results, other: Results) -> bool:
    return set(one.frames) == set(other.frames) and all(
        one.frames[name].equals(other.frames[name]) for name in one.frames
    )


def test_what_a_store_has_is_not_run_again(tmp_path: Path) -> None:
    fresh = study(10, 50).run(store=tmp_path)
    store = Store(tmp_path)
    again = study(10, 50).run(store=store)
    assert store.taken == 6
    assert same(fresh, again)
    assert same(fresh, study(10, 50).run())
    assert len(store.mine.segments()) == 1  # the second run had nothing to add


def test_a_changed_study_uses_what_still_holds(tmp_path: Path) -> None:
    study(10, 50).run(store=tmp_path)
    store = Store(tmp_path)
    changed = study(50, 20, seeds=4).run(store=store)
    assert store.taken == 3
    assert same(changed, study(50, 20, seeds=4).run())


def test_tables_that_only_some_replications_have(tmp_path: Path) -> None:
    cells = [
        Cell("plain", scenario()),
        Cell("series", scenario(run={**RUN, "sample_interval_s": 0.5})),
        Cell("transfers", scenario(flows=[{"direction": "down", "application": {"name": "web"}}])),
    ]
    for cell in cells:
        Study([cell], 2).run(store=tmp_path)
    whole = Study(cells, 2)
    assert same(whole.run(store=tmp_path), whole.run())


def test_results_of_another_engine_are_listed_and_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    present = _native.engine()
    with monkeypatch.context() as before:
        before.setattr(_native, "engine", lambda: "0123456789abcdef")
        study(10).run(store=tmp_path)
    store = Store(tmp_path)
    study(10).run(store=store)
    assert store.taken == 0
    assert any("3 replications of another engine (0123456789abcdef)" in remark for remark in store.remarks())
    mine, other = engines(tmp_path)
    assert (mine.engine, other.engine) == (present, "0123456789abcdef")
    (theirs,) = other.studies()
    assert (theirs.title, theirs.finished) == ("limits", 3)
    assert other.results(theirs).made_by["engine"] == "0123456789abcdef"
    assert prune(tmp_path, other_engines=True, dry=True).replications == 3
    assert len(engines(tmp_path)) == 2
    assert prune(tmp_path, other_engines=True).replications == 3
    assert [engine.engine for engine in engines(tmp_path)] == [present]
    assert not store.remarks()


def test_a_store_remembers_studies(tmp_path: Path) -> None:
    whole = study(10, 50).run(store=tmp_path)
    study(10, seeds=2, title="few").run(store=tmp_path)
    (engine,) = engines(tmp_path)
    few, limits = engine.studies()
    assert [(few.title, few.finished, few.replications), (limits.title, limits.finished, limits.replications)] == [
        ("few", 2, 2),
        ("limits", 6, 6),
    ]
    found = engine.results(limits)
    assert same(found, whole)
    assert [(cell.name, dict(cell.keys)) for cell in found.cells] == [
        ("limit 10", {"limit": 10}),
        ("limit 50", {"limit": 50}),
    ]
    assert found.cells[0].scenario.plan() == scenario(10).plan()
    assert found.grid().equals(whole.grid())
    folder = found.save(tmp_path / "csv", csv=True)
    assert pl.read_csv(folder / "grid.csv")["limit"].to_list() == [10, 50]


@pytest.mark.whole
def test_pruning_a_study_keeps_what_others_share(tmp_path: Path) -> None:
    study(10, 50).run(store=tmp_path)
    study(10, seeds=2, title="few").run(store=tmp_path)
    scenario(7).run(seeds=1, store=tmp_path)  # it has no title, so no study lists it
    assert prune(tmp_path, study="limits").replications == 4
    (engine,) = engines(tmp_path)
    assert [known.title for known in engine.studies()] == ["few"]
    assert engine.replications().height == 3
    assert prune(tmp_path, unlisted=True).replications == 1
    store = Store(tmp_path)
    few = study(10, seeds=2, title="few")
    assert same(few.run(store=store), few.run())
    assert store.taken == 2
    assert prune(tmp_path).files == 0
    with pytest.raises(InputError, match=r"no study 'lots'.*allowed here: few"):
        prune(tmp_path, study="lots")


@pytest.mark.whole
def test_small_segments_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "MANY", 4)
    for limit in (10, 20, 30, 40):
        study(limit, 15, title="").run(store=tmp_path)
    (engine,) = engines(tmp_path)
    twin = engine.segments()[0].rename(engine.segments_folder / f"zz{segment.ENDING}")
    (engine.segments_folder / f"aa{segment.ENDING}").write_bytes(twin.read_bytes())  # as of a kill while joining
    assert len(engine.segments()) == 5
    store = Store(tmp_path)
    assert len(store.mine.segments()) == 1
    assert store.mine.replications().height == 15
    whole = study(10, 15, 20, 30, 40)
    assert same(whole.run(store=store), whole.run())
    assert store.taken == 15


@pytest.mark.parametrize("damage", ["torn", "flipped", "foreign"])
def test_damage_is_told_and_computed_again(tmp_path: Path, damage: str) -> None:
    study(10).run(store=tmp_path)
    study(50).run(store=tmp_path)
    path = Store(tmp_path).mine.segments()[0]
    content = bytearray(path.read_bytes())
    if damage == "torn":
        content = content[: len(content) // 2]
    elif damage == "flipped":
        content[len(content) // 3] ^= 0xFF
    else:
        content = bytearray(b"not a segment")
    path.write_bytes(content)
    store = Store(tmp_path)
    whole = study(10, 50)
    assert same(whole.run(store=store), whole.run())
    assert store.taken == 3
    assert any(str(path) in remark and "damaged" in remark for remark in store.remarks())
    assert prune(tmp_path).files == 1
    assert not path.exists()
    assert not Store(tmp_path).remarks()


def test_files_that_were_never_finished(tmp_path: Path) -> None:
    study(10).run(store=tmp_path)
    folder = Store(tmp_path).mine.segments_folder
    young, old = folder / f".young{segment.UNFINISHED}", folder / f".old{segment.UNFINISHED}"
    for path in (young, old):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    store = Store(tmp_path)
    study(10).run(store=store)
    assert store.taken == 3
    assert prune(tmp_path).files == 1
    assert young.exists()
    assert not old.exists()


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    def fail() -> None:
        with segment.atomic(tmp_path / "file") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_saves_what_is_finished(tmp_path: Path) -> None:
    endless = Cell("long", scenario(run={"warmup_s": 0.0, "duration_s": 100_000.0}))
    cells = [Cell("short", scenario()), endless]

    def press(share: float) -> None:
        if share > 1e-4:  # the short one is done
            raise KeyboardInterrupt

    with pytest.raises(StudyInterrupted):
        run_studies([Study(cells, 1)], threads=1, progress=press, store=tmp_path)
    assert Store(tmp_path).mine.replications().height == 1


class OneByOne:
    """A batch of the engine that hands over one replication at every second call, and nothing in between."""

    def __init__(self, jobs: list[tuple[str, int]]) -> None:
        batch = _native.Batch(jobs, 1)
        while batch.wait(1_000) < len(jobs):
            pass
        tables = {name: pl.DataFrame(table) for name, table in batch.take().items()}
        self.is_empty = True
        self.left = [{name: table.filter(job=job) for name, table in tables.items()} for job in range(len(jobs))]

    def take(self) -> dict[str, pl.DataFrame]:
        """The tables of the next replication, or empty ones."""
        self.is_empty = not self.is_empty
        return {"runs": pl.DataFrame({"job": []})} if self.is_empty else self.left.pop(0)


def test_what_takes_long_to_store_is_not_put_off_for_hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Merging segments may take a minute on a busy machine."""
    now, written = [0.0], list[float]()
    monkeypatch.setattr(study_module, "monotonic", lambda: now[0])
    write = segment.write

    def slow(*arguments: Any) -> None:
        write(*arguments)
        now[0] += 60.0
        written.append(now[0])

    monkeypatch.setattr(segment, "write", slow)
    jobs = [(scenario().plan_json, seed) for seed in range(1, 5)]
    finished = study_module._Finished(jobs, Store(tmp_path), frozenset(), anew=False)
    batch = OneByOne(jobs)
    while batch.left:
        now[0] += 100.0
        finished.collect(batch, range(len(jobs)), last=False)  # type: ignore[arg-type]
    assert len(written) > 1
    assert all(after - before < 200 for before, after in pairwise(written))


def test_folders_that_are_no_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no store of results"):
        engines(tmp_path)
    (tmp_path / "store.json").write_text('{"wifair-store": 99}')
    with pytest.raises(InputError, match="form 99"):
        Store(tmp_path)


def test_a_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.mine.segments_folder.rmdir()
    with pytest.raises(WifairError, match="cannot be written"):
        study(10).run(store=store)


# A sweep in small batches. It says how much the store had when it began, then "written" after each batch, then how much
# it took from the store. One that is "held" waits for a line after each.
SWEEPER = """
import sys
import wifair.study.store, wifair.study.study
from wifair import Store, Sweep
from wifair.results import segment
wifair.study.study.BATCH_S, wifair.study.study.STORE_SHARE = 0.02, 1.0
wifair.study.store.MANY, wifair.study.store.COMPACT_EVERY = 4, 5
write = segment.write
held = False
def told(*arguments):
    write(*arguments)
    print("written", flush=True)
    if held:
        sys.stdin.readline()
segment.write = told
flows = [{"count": 4, "direction": "up"}, {"count": 4, "direction": "down"}]
sweep = Sweep(
    {"run": {"warmup_s": 1, "duration_s": 40}, "flows": flows},
    title="killed", product={"ap.limit_packets": [10, 20, 30, 40]}, replications=int(sys.argv[2]),
)
store = Store(sys.argv[1])
print(store.mine.replications().height, flush=True)
held = "held" in sys.argv
sweep.run(threads=1, store=store)
print(store.taken, *store.remarks(), flush=True)
"""


def sweeper(folder: Path, seeds: int, *held: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SWEEPER, str(folder), str(seeds), *held]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def table(folder: Path) -> Results:
    (engine,) = engines(folder)
    (killed,) = engine.studies()
    return engine.results(killed)


@pytest.mark.whole
def test_a_sweep_killed_ten_times_ends_with_the_same_table(tmp_path: Path) -> None:
    seeds = 25
    with sweeper(tmp_path / "calm", seeds) as process:
        process.communicate(timeout=300)
    moments = random.Random(1)
    had = []
    for _ in range(10):
        with sweeper(tmp_path / "killed", seeds, "held") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            lines = (line for line in process.stdout if line != "written\n")
            had.append(int(next(lines)))
            for _ in range(moments.randrange(3)):
                process.stdout.readline()  # it gets no further on a machine that is slow to kill it
                process.stdin.write("\n")
                process.stdin.flush()
            time.sleep(moments.uniform(0.0, 0.03))
            process.send_signal(signal.SIGKILL)
    with sweeper(tmp_path / "killed", seeds) as process:
        told = process.communicate(timeout=300)[0].splitlines()
    first, last = (line for line in told if line != "written")
    had.append(int(first))
    assert had == sorted(had)  # what was there stays there
    assert len(set(had)) > 3  # and it was killed at work, not only before and after it
    assert last == first  # all that was there was taken, and nothing was damaged
    calm, killed = table(tmp_path / "calm"), table(tmp_path / "killed")
    assert killed.missing == 0
    assert same(calm, killed)


@pytest.mark.whole
def test_two_processes_on_one_store(tmp_path: Path) -> None:
    with sweeper(tmp_path, 6) as one, sweeper(tmp_path, 8) as other:
        for process in (one, other):
            assert "damaged" not in process.communicate(timeout=300)[0]
            assert process.returncode == 0
    engine = engines(tmp_path)[0]
    assert engine.replications().height == 32
    assert not engine.damaged
