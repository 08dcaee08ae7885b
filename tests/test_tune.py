"""`wifair tune`: ranges and goals, the race, and a search that ends with the same answer however often it was killed."""

from __future__ import annotations

import json
import random
import signal
import socket
import subprocess
import sys
from contextlib import closing, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from wifair import Metric, Scenario, Tuned, Tuning, tune
from wifair.cli import execute
from wifair.errors import InputError, ScenarioError
from wifair.study.store import Store
from wifair.tuning import START, TuningInterrupted
from wifair.tuning.asked import Asker
from wifair.tuning.goals import parsed
from wifair.tuning.race import beaten, front, rungs, survivors
from wifair.tuning.ranges import Choices, Numbers, ranges

BASE: dict[str, Any] = {
    "run": {"warmup_s": 0.2, "duration_s": 1},
    "flows": [{"count": 2, "direction": "up"}, {"direction": "down"}, {"direction": "up", "application": "ping"}],
}
OVER = {"ap.limit_packets": "5..200:log", "ap.scheme": ["droptail", "las", "codel"]}
FEW: dict[str, Any] = {"seeds": 4, "runs": 90, "batch": 4}


def search(goals: Any = "total_mbps", over: Any = OVER, **changed: Any) -> Tuning:
    return Tuning(Scenario(**BASE), over, goals, **{**FEW, **changed})


def same(one: Tuned, other: Tuned) -> bool:
    assert one.verified is not None
    assert other.verified is not None
    return json.dumps(one.to_dict()) == json.dumps(other.to_dict())


# Ranges and goals


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("20..2000", Numbers(20, 2000)),
        ("1.0..20", Numbers(1.0, 20)),
        ("1e-3..1:log", Numbers(1e-3, 1, log=True)),
        ("20..110:20", Numbers(20, 100, 20)),
        ("0..1:0.25", Numbers(0, 1.0, 0.25)),
        ("droptail,las", Choices(("droptail", "las"))),
        ("8, 2, 4.5", Choices((2, 4.5, 8))),
        ("true,false", Choices((True, False))),
        ("[[1, 2], [3]]", Choices(([1, 2], [3]))),
    ],
)
def test_ranges(text: str, found: Any) -> None:
    assert ranges({"key": text}) == {"key": found}


@given(st.integers(-1000, 1000), st.integers(1, 1000), st.integers(1, 1000))
def test_a_range_with_a_step_ends_at_its_last_step(low: int, length: int, step: int) -> None:
    text = f"{low}..{low + length}:{step}"
    if step > length:
        with pytest.raises(ScenarioError, match="is no step"):
            ranges({"key": text})
        return
    found = ranges({"key": text})["key"]
    assert isinstance(found, Numbers)
    assert found.whole
    assert found.high == [*range(low, low + length + 1, step)][-1]
    assert ranges({"key": str(found)})["key"] == found
    assert all(value in range(low, low + length + 1, step) for value in found.values())


@pytest.mark.parametrize(
    ("over", "told"),
    [
        ({}, "KEY=RANGE"),
        ({"ap.limit_packets": "20"}, "over.ap.limit_packets: 20 is no range; allowed here: LOW..HIGH"),
        ({"ap.limit_packets": "200..20"}, "the first number must be below the second"),
        ({"ap.limit_packets": "20..200:lgo"}, "'lgo' is neither a step nor log; did you mean log?"),
        ({"ap.limit_packets": "0..200:log"}, "'0..200:log' has no logarithm at 0"),
        ({"ap.limit_packets": "20..200:500"}, "500 is no step of 20..200; allowed here: above 0, to 180"),
        ({"ap.limit_packets": "5,5"}, "has a value twice"),
        ({"ap.limit_packets": "2.5..20"}, "ap.limit_packets: "),
        ({"ap.limit_packts": "2..20"}, "did you mean limit_packets?"),
        ({"ap.scheme": "droptail,cdel"}, "did you mean codel?"),
        ({"ap.scheme": "droptail,las", "ap.scheme.target_ms": "1..20"}, "it belongs to codel"),
    ],
)
def test_a_wrong_range_is_refused_before_any_run(over: Any, told: str) -> None:
    with pytest.raises(ScenarioError) as refusal:
        search(over=over)
    assert told in str(refusal.value)


@pytest.mark.parametrize(
    ("goals", "told"),
    [
        ([], "a search needs a goal"),
        ("jian", "unknown metric 'jian'; did you mean jain?"),
        ("up_mbps", "allowed here: up_mbps=highest, up_mbps=lowest"),
        ("up_mbps=higest", "unknown direction 'higest'; did you mean highest?"),
        ("", "goals: a goal is missing; allowed here: fair shares"),
        ("jain, up_mbps=highest", "has several goals; allowed here: a list with a text for each"),
        (["jain", "jain=lowest"], "jain is named twice"),
        (Metric("mine", lambda run: 1.0), "Metric 'mine' has no better direction"),
    ],
)
def test_a_wrong_goal_is_refused(goals: Any, told: str) -> None:
    with pytest.raises(InputError) as refusal:
        search(goals)
    assert told in str(refusal.value)


def test_more_than_a_bound_is_worth_nothing() -> None:
    """With a bound that every point meets, none is better than the scenario as it is."""
    tuned = search("pings below 60 s").run()
    assert tuned.settings == {}
    assert str(tuned.goals[0]) == "pings below 60000 ms"
    assert search(["round trips", "total above 1 kbps"]).run().goals[1].bound == 0.001


def test_other_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="seeds: 1 is not allowed; allowed here: 2 to"):
        search(seeds=1)
    with pytest.raises(
        InputError,
        match="runs: 31 is not allowed; allowed here: 32 or more, for 4 of the scenario as it is, 12 of a first batch, 16 of the v",
    ):
        search(runs=31)  # 4 as it is, 4 × 3 of a batch, 4 × 4 of the verification
    with pytest.raises(InputError, match="batch: True is not allowed"):
        search(batch=True)
    with pytest.raises(InputError, match="transfer_mean_s has no value in some replications of the scenario as it is"):
        search("transfer_mean_s").run()


def test_a_goal_without_a_value_is_refused_after_one_replication(tmp_path: Path) -> None:
    """The error lists the metrics that have one."""
    with pytest.raises(
        InputError, match=r"transfer_mean_s has no value .* allowed here: metrics that have one: jain, "
    ) as refused:
        search("transfer_mean_s").run(store=tmp_path)
    assert "ping_p95_ms" in str(refused.value)
    assert "transfer_mean_s," not in str(refused.value)
    assert Store(tmp_path).mine.replications().height == 1


@pytest.mark.parametrize("goal", ["ping_p95_ms", "pings below 100 ms"])
def test_a_goal_that_nothing_measures_gets_a_probe(goal: str) -> None:
    """As in `wifair advise`, whether the goal is a word or its metric."""
    flows = [{"station": "near", "direction": "down"}, {"station": "far", "direction": "up"}]
    scenario = Scenario(**{**BASE, "stations": [{"name": "near"}, {"name": "far", "rate_mbps": 2}], "flows": flows})
    tuned = Tuning(scenario, {"ap.limit_packets": [5, 200]}, goal, seeds=2, runs=28).run()
    assert tuned.remarks == ["pings: the scenario has none, so one of ping was added at far, whose link is the slowest"]
    assert tuned.to_dict()["remarks"] == tuned.remarks
    assert np.isfinite(tuned.points[0].values).all()
    with pytest.raises(InputError, match="goals: pages: no flow of the scenario has the application web"):
        Tuning(scenario, {"ap.limit_packets": [5, 200]}, "pages")


def test_without_optuna_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(InputError, match=r"tuning needs Optuna, .* pip install 'wifair\[tune\]'"):
        search()


# The race

MERITS = st.integers(1, 3).flatmap(
    lambda goals: st.lists(arrays(float, (4, goals), elements=st.integers(-5, 5).map(float)), min_size=1, max_size=8)
)


@settings(deadline=None)
@given(MERITS)
def test_the_front_is_what_nothing_dominates(merits: list[Any]) -> None:
    means = [tuple(merit.mean(axis=0)) for merit in merits]
    found = front(merits)
    dominated = {
        i
        for i, mine in enumerate(means)
        if any(other != mine and all(o >= m for o, m in zip(other, mine, strict=True)) for other in means)
    }
    assert {means[i] for i in found} == {mean for i, mean in enumerate(means) if i not in dominated}
    assert len({means[i] for i in found}) == len(found)


def test_points_with_equal_means_all_lead() -> None:
    """Only one of the two good points beats the first: the other one varies more."""
    zero, steady, varied = (np.array([values], float).T for values in ([0, 0, 0, 0], [0, 2, 4, 5], [0, 1, 5, 5]))
    assert set(survivors([zero, varied, steady], [])) == set(survivors([zero, steady, varied], [])) == {1, 2}


@settings(deadline=None)
@given(MERITS, st.data())
def test_the_race_keeps_the_front_and_does_not_depend_on_the_order(merits: list[Any], data: Any) -> None:
    racing = data.draw(st.integers(1, len(merits)))
    going = survivors(merits[:racing], merits[racing:])
    assert {i for i in front(merits) if i < racing} <= set(going)
    order = data.draw(st.permutations(range(racing)))
    assert {order[i] for i in survivors([merits[i] for i in order], merits[racing:])} == set(going)


@settings(deadline=None)
@given(MERITS)
def test_a_point_without_a_value_goes_no_further(merits: list[Any]) -> None:
    merits[0][1, 0] = -np.inf
    assert 0 not in survivors(merits, [])
    assert not beaten(np.zeros_like(merits[0]), merits[0])


def test_an_equal_point_is_stopped_in_five_of_a_hundred_cases() -> None:
    rng = np.random.default_rng(1)
    for seeds in (3, 6):
        stopped = sum(beaten(*rng.normal(size=(2, seeds, 1))) for _ in range(4000))
        assert 0.04 < stopped / 4000 < 0.06


def test_pairing_takes_away_what_points_share() -> None:
    rng = np.random.default_rng(1)
    shared, noise = rng.normal(scale=100, size=(3, 1)), rng.normal(scale=0.01, size=(3, 1))
    assert beaten(shared + noise - 1, shared)
    assert not beaten(shared + noise + 1, shared)


@given(st.integers(2, 1000))
def test_rungs_end_with_all_seeds(seeds: int) -> None:
    found = rungs(seeds)
    assert found[-1] == seeds
    assert found[0] == min(3, seeds)
    assert all(one < other <= 2 * one for one, other in pairwise(found))


# The optimiser


@settings(max_examples=4, deadline=None)
@given(st.integers(1, 60), st.floats(0.5, 20))
def test_the_asker_comes_near_to_the_best_of_a_smooth_function(whole: int, real: float) -> None:
    over = ranges({"n": "1..60", "x": "0.5..20.0:log", "c": ["a", "b", "c"]})
    asker, seen = Asker(over, 1), {}
    for _ in range(12):
        batch = [asker.ask(lambda point: str(point) not in seen) for _ in range(8)]
        for asked in batch:
            assert asked is not None
            trial, point = asked
            assert 1 <= point["n"] <= 60
            assert 0.5 <= point["x"] <= 20
            seen[str(point)] = (
                -(((point["n"] - whole) / 60) ** 2) - np.log(point["x"] / real) ** 2 / 13 - (point["c"] != "b")
            )
            asker.tell(trial, [seen[str(point)]])
    assert max(seen.values()) > -0.02  # of 300 points at random, one in 16 is as good


# The search


def test_a_search_finds_verifies_and_counts() -> None:
    tuned = search().run()
    assert tuned.points[0].name == START
    assert len({point.scenario.plan_json for point in tuned.points}) == len(tuned.points)
    assert tuned.verified is not None
    assert tuned.verified.seeds == (5, 6, 7, 8)
    verified = len(tuned.verified.cells) * 4
    assert tuned.runs == sum(len(point.values) for point in tuned.points) + verified <= 90
    finished = [point for point in tuned.points if point.state == "finished"]
    assert all(len(point.values) == 4 for point in finished)
    assert all(len(point.values) < 4 for point in tuned.points if point.state == "no budget")
    [best] = tuned.best
    assert best.values.mean() == max(point.values.mean() for point in finished)
    # What the search counted is what a run of the same settings gives.
    again = Scenario(**BASE).override(best.settings).run(seeds=4)
    assert again.metrics["total_mbps"].to_list() == best.values[:, 0].tolist()
    assert {row["against"] for row in tuned.gains()} == {START}
    assert tuned.frame().height == len(tuned.points)


@pytest.mark.whole
def test_the_answer_depends_neither_on_threads_nor_on_the_store(tmp_path: Path) -> None:
    tuning = search(["up_mbps=highest", "down_mbps=highest"])
    alone = tuning.run(threads=1)
    assert same(alone, tuning.run(threads=2, store=tmp_path))
    assert same(alone, search(["up_mbps=highest", "down_mbps=highest"]).run(store=tmp_path))
    assert len(alone.best) > 1


class Stop:
    """Raises KeyboardInterrupt at a certain progress."""

    def __init__(self, at: float) -> None:
        self.at = at

    def __call__(self, share: float) -> None:
        if share >= self.at:
            raise KeyboardInterrupt


def interrupted(at: float, store: Path) -> Tuned | None:
    """What a search knows that is interrupted at that progress; None if it ended before."""
    try:
        search().run(progress=Stop(at), store=store)
    except TuningInterrupted as interruption:
        return interruption.tuned
    return None


@pytest.mark.whole
def test_ctrl_c_keeps_what_is_known(tmp_path: Path) -> None:
    whole = search().run()
    names = [point.name for point in whole.points]
    found = {at: known for at in (0.0, 0.2, 0.55, 0.9) if (known := interrupted(at, tmp_path))}
    assert found
    for at, known in found.items():
        assert known.verified is None
        assert known.gains() == []
        assert at < 0.5 or (known.best and known.runs > 20)
        assert [point.name for point in known.points] == names[: len(known.points)]
    assert same(whole, search().run(store=tmp_path))


SEARCH = """
import json, sys
from wifair import Scenario, Tuning
base, over, few, store = json.loads(sys.argv[1])
tuning = Tuning(Scenario(**base), over, ["total_mbps", "jain"], **few)
tuned = tuning.run(threads=1, store=store, progress=lambda share: print(share, flush=True))
print(json.dumps(tuned.to_dict()))
"""


@pytest.mark.whole
def test_a_search_killed_at_random_moments_continues_to_the_same_answer(tmp_path: Path) -> None:
    base = {**BASE, "run": {"warmup_s": 1, "duration_s": 20}}
    command = [sys.executable, "-c", SEARCH, json.dumps([base, OVER, FEW, str(tmp_path / "killed")])]
    rng = random.Random(1)
    for _ in range(6):
        last = rng.uniform(0.05, 0.5)  # of the replications allowed; nothing new is left to ask at two thirds of them
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            assert any(float(share) >= last for share in process.stdout)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1]
    undisturbed = Tuning(Scenario(**base), OVER, ["total_mbps", "jain"], **FEW).run()
    assert json.loads(found) == json.loads(json.dumps(undisturbed.to_dict()))


@pytest.mark.whole
def test_a_cluster_gives_the_same_answer() -> None:
    """Also if another cluster has the port of Dask's dashboard, which gives a warning and fails here."""
    with closing(socket.socket()) as other:
        with suppress(OSError):  # there is one
            other.bind(("", 8787))
            other.listen()
        assert same(search(runs=32).run(), search(runs=32).run(dask="local", threads=2))


def test_combinations_that_do_not_go_together_are_counted() -> None:
    over = {"ap.scheme": ["red"], "ap.scheme.min_packets": "1..30", "ap.scheme.max_packets": "20..60"}
    with pytest.raises(ScenarioError, match=r"over\.ap\.scheme: 'red' is no range"):
        search(over=over)
    over = {**over, "ap.scheme": ["red", "droptail"]}
    tuned = search(over=over).run()
    assert tuned.refused > 0
    assert all(point.settings["ap.scheme"] == "red" for point in tuned.points[1:])


def test_a_small_space_is_exhausted() -> None:
    tuned = search(over={"ap.limit_packets": "10,20", "ap.scheme": "droptail,las"}, runs=500).run()
    assert tuned.exhausted
    assert {point.name for point in tuned.points} == {
        START,
        *(f"limit_packets={limit}, scheme={scheme}" for limit in (10, 20) for scheme in ("droptail", "las")),
    }


def test_a_metric_of_ones_own_is_a_goal() -> None:
    slowest = Metric("slowest", lambda run: run.flows["goodput_mbps"].min(), unit="Mbps", better="highest")
    tuned = tune(Scenario(**BASE), {"ap.limit_packets": "5..200"}, slowest, seeds=2, runs=40)
    assert tuned.metrics == ["slowest"]
    assert tuned.frame()["slowest"].null_count() == 0


# The command line

SHORT = ["--set", "run.warmup_s=0.1", "--set", "run.duration_s=0.5", "--seeds", "2", "--runs", "40", "--store"]


def test_the_command_prints_the_answer_and_how_to_run_it(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["tune", "plain", "--over", "ap.limit_packets=5..200:log", "--over", "ap.scheme=las,red(max_packets=30)"]
    command += ["--goal", "total_mbps", "--set", "ap.limit_packets=2", *SHORT, str(tmp_path / "store")]
    assert execute([*command, "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr()
    first = printed.out.splitlines()[0]
    assert "plain: best by highest total_mbps: limit_packets=" in first
    assert "--set ap.limit_packets=" in printed.out.replace("\n   ", "")
    assert "On fresh seeds (3 to 4)" in printed.out
    assert (tmp_path / "out" / "points.parquet").exists()
    assert execute([*command, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert first.endswith(told["best"][0])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--over", "ap.limit_packets"], "over: 'ap.limit_packets' is not accepted; allowed here: KEY=RANGE"),
        (["--over", "ap.scheme=codl,las", "--goal", "jain"], "did you mean codel?"),
        (["--over", "ap.limit_packets=2..9", "--over", "ap.limit_packets=2..9"], "is given twice"),
        ([], "a search needs a key to vary"),
        (["--over", "ap.limit_packets=2..9"], "a search needs a goal"),
    ],
)
def test_the_command_refuses_bad_input(
    words: list[str], told: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert execute(["tune", "plain", *words, *SHORT, str(tmp_path)]) == 2
    assert told in capsys.readouterr().err


def test_goals_say_what_is_best() -> None:
    assert [str(goal) for goal in parsed(["jain", "up_mbps=lowest"])] == ["highest jain", "lowest up_mbps"]
