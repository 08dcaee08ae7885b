"""`wifair advise`: goals in words, the sequential rule, what a reader asks, and a network whose best change is known."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from advising import BLOATED, PAGES
from conftest import Cli
from hypothesis import given, settings
from hypothesis import strategies as st
from wifair import Metric, Results, Scenario, toml_text
from wifair.advising import OWN, Advice, AdviceInterrupted, Advising, measurable, rule, wording
from wifair.advising.advice import Doubted
from wifair.advising.changes import HAS, Change, settable, unsettable
from wifair.advising.document import document
from wifair.advising.doubts import Doubt
from wifair.advising.yardsticks import judging, yardsticks
from wifair.advising.yardsticks import of_flows as of_flows_in
from wifair.cli import execute
from wifair.cli.advise import print_advice
from wifair.errors import InputError
from wifair.everything.criteria import Criterion
from wifair.everything.verdict import Standing
from wifair.observed.origins import marks
from wifair.report.advice import of_advice
from wifair.report.parts import Code, Details, Findings, Table
from wifair.stats import Values
from wifair.study.store import Store
from wifair.study.study import Study, StudyInterrupted, run_studies
from wifair.tuning.goals import parsed
from wifair.tuning.probes import with_probes

# Goals


@pytest.mark.parametrize(
    ("told", "metric", "bound", "shown"),
    [
        ("calls below 100 ms", "call_delay_p95_ms", 100, "calls below 100 ms"),
        ("calls under 0.1 s", "call_delay_p95_ms", 100, "calls below 100 ms"),
        ("fair shares", "jain", None, "fair shares"),
        ("  fair   shares above 0.9", "jain", 0.9, "fair shares above 0.9"),
        ("total at least 2e1 Mbps", "total_mbps", 20, "total above 20 Mbps"),
        ("pages at most 800ms", "page_s", 0.8, "pages below 0.8 s"),
        ("ping_p95_ms below 30 ms", "ping_p95_ms", 30, "ping_p95_ms below 30 ms"),
        ("up_mbps=highest above 3 Mbps", "up_mbps", 3, "up_mbps above 3 Mbps"),
        ("call rating above 4", "mos_least", 4, "call rating above 4"),
    ],
)
def test_goals_in_words(told: str, metric: str, bound: float | None, shown: str) -> None:
    [goal] = parsed(told)
    assert (goal.metric, goal.bound, str(goal)) == (metric, bound, shown)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--want", "cals below 100 ms"], "--want: unknown metric 'cals'; did you mean calls? Allowed here: fair shares"),
        (["--want", "pages=highest"], "--want: pages=highest: pages has a direction already, lowest; allowed here: pages alone or with a bound."),
        (["--want", "Pages"], "--want: unknown metric 'Pages'; did you mean pages? Allowed here: fair shares"),
        (["--want", " "], "--want: a goal is missing; allowed here: fair shares"),
        (["--want", "games below 50 ms, pages"], "--want: 'games below 50 ms, pages' has several goals; allowed here: --want repeated for each."),
        (["--want", "pages below 0,5 s"], "unknown unit ',5 s'. Allowed here: s, ms"),
        (["--want", "calls below"], "--want: calls below: '' is no number; allowed here: a number with its unit, as 'calls below 100 ms'"),
        (["--want", "calls below soon"], "'soon' is no number"),
        (["--want", "calls below 100"], "a unit is missing. Allowed here: ms, s, as 'calls below 100 ms'"),
        (["--want", "calls below 100 mss"], "unknown unit 'mss'; did you mean ms? Allowed here: ms, s"),
        (["--want", "calls above 100 ms"], "'above' bounds what should be high, and here more is worse; allowed here: below, under"),
        (["--want", "total below 3 Mbps"], "'below' bounds what should be low, and here more is better; allowed here: above, over"),
        (["--want", "calls below -1 ms"], "-1 is not allowed; allowed here: 0 or more"),
        (["--want", "total", "--want", "total above 3 Mbps"], "--want: total_mbps is named twice; allowed here: each once."),
        (["--want", "files"], "files: no flow of the scenario has the application transfers; allowed here: other goals"),
        (["--has", "OpenWRT"], "--has: unknown equipment 'OpenWRT'; did you mean openwrt? Allowed here: openwrt, linux, any."),
        (["--has", "openwtr"], "--has: unknown equipment 'openwtr'; did you mean openwrt? Allowed here: openwrt, linux, any."),
    ],
)  # fmt: skip
def test_bad_input_is_refused_before_any_run(here: Cli, tmp_path: Path, arguments: list[str], told: str) -> None:
    done = here("advise", "cafe", "--store", tmp_path / "store", *arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "store").exists()


def test_more_than_a_bound_is_worth_nothing() -> None:
    [goal] = parsed("calls below 100 ms")
    assert goal.merit(np.array([50.0, 100.0, 130.0])).tolist() == [-100.0, -100.0, -130.0]
    [goal] = parsed("total above 20 Mbps")
    assert goal.merit(np.array([10.0, 30.0])).tolist() == [10.0, 20.0]


def test_a_goal_that_nothing_measures_gets_a_probe_at_the_slowest_link() -> None:
    base = {**BLOATED, "stations": [{"name": "near"}, {"name": "far", "rate_mbps": 6}]}
    base["flows"] = [{"station": "near", "direction": "down"}, {"station": "far", "direction": "down"}]
    scenario, remarks = with_probes(Scenario(**base), parsed(["calls", "pings", "total"]))
    assert [(flow["application"]["name"], flow["station"]) for flow in scenario.plan()["flows"][2:]] == [
        ("voip", "far"),
        ("ping", "far"),
    ]
    assert len(remarks) == 2
    # Small datagrams in both directions of a station are a call, as `wifair import` has them.
    call = {"name": "udp", "rate_mbps": 0.1, "payload_bytes": 160}
    base["flows"] = [{"station": "far", "direction": way, "application": call} for way in ("up", "down")]
    base |= {"stations": [{"name": "far"}], "tcp": {}}
    spoken = Scenario(**base)
    assert with_probes(spoken, parsed("calls")) == (spoken, [])
    [own] = [goal.own for goal in parsed("calls") if goal.own]
    results = spoken.run(seeds=1).with_metrics(own)
    assert results.metrics["call_delay_p95_ms"][0] == pytest.approx(results.datagrams["delay_p95_ms"].max())


# The rule


def criterion(id: str) -> Criterion:
    return Criterion(id, "throughput", id, "", "more", "difference", 0.5, lambda runs: np.empty(0))


CRITERIA = [criterion("one"), criterion("two")]


class Drawn:
    """Runs without an engine: normal values with the means of each change, common random numbers, and a record of what was asked."""

    def __init__(self, means: Mapping[str, Sequence[float]], seed: int = 1, noise: float = 1.0) -> None:
        self.means, self.seed, self.noise = means, seed, noise
        self.asked: list[tuple[str, int]] = []

    def __call__(self, names: Sequence[str], seeds: range) -> dict[str, dict[str, Values]]:
        self.asked += [(name, seed) for name in names for seed in seeds]
        return {
            name: {each.id: np.array([self.value(name, i, seed) for seed in seeds]) for i, each in enumerate(CRITERIA)}
            for name in names
        }

    def value(self, name: str, i: int, seed: int) -> float:
        own = np.random.default_rng([self.seed, *name.encode(), i, seed]).normal()
        common = np.random.default_rng([self.seed, i, seed]).normal()
        return float(self.means[name][i] + self.noise * (own + common))


def raced(drawn: Drawn, order: Sequence[str] = ()) -> tuple[rule.Race, str | None]:
    race = rule.Race(OWN, [name for name in (order or drawn.means) if name != OWN], CRITERIA)
    verdicts = list(race.run(drawn))
    return race, rule.best(verdicts[-1], OWN)


@pytest.mark.whole
def test_a_change_without_a_gain_is_seldom_called_better() -> None:
    """At most 5 of 100 races: of 200 at most 18 (99.9 %, binomial)."""
    means = {OWN: (0.0, 0.0), **{f"change-{i}": (0.0, 0.0) for i in range(6)}}
    wrong = 0
    for seed in range(200):
        race, _ = raced(Drawn(means, seed))
        wrong += any(race.verdict().standing(name, OWN) is Standing.BETTER for name in means if name != OWN)
    assert wrong <= 18


def test_a_large_gain_is_found_by_the_first_seeds() -> None:
    means = {OWN: (0.0, 0.0), "good": (8.0, 0.0), "bad": (-8.0, 0.0), "same": (0.0, 0.0)}
    for seed in range(20):
        drawn = Drawn(means, seed, noise=0.1)
        _, best = raced(drawn)
        assert best == "good"
        assert max(asked for _, asked in drawn.asked) == rule.STAGES[0]


def test_a_trade_off_is_the_best_only_if_nothing_is_better() -> None:
    means = {OWN: (0.0, 0.0), "trade": (9.0, -3.0), "worse trade": (5.0, -9.0)}
    assert raced(Drawn(means, noise=0.1))[1] == "trade"
    assert raced(Drawn({**means, "better": (2.0, 0.0)}, noise=0.1))[1] == "better"
    assert raced(Drawn({OWN: (0.0, 0.0), "worse": (-3.0, 0.0)}, noise=0.1))[1] is None


MEANS = st.lists(st.tuples(st.floats(-2, 2), st.floats(-2, 2)), min_size=1, max_size=5)


@settings(deadline=None, max_examples=40)
@given(MEANS, st.integers(0, 1000), st.randoms(use_true_random=False))
def test_the_race_is_fair(means: list[tuple[float, float]], seed: int, random: Any) -> None:
    """Each replication is asked once and in order, all changes have the first stage, none more than the last, and the order is of no effect."""
    named = {OWN: (0.0, 0.0), **{f"change-{i}": pair for i, pair in enumerate(means)}}
    drawn = Drawn(named, seed)
    race, best = raced(drawn)
    asked = {name: [seed for whose, seed in drawn.asked if whose == name] for name in named}
    for name, seeds in asked.items():
        assert seeds == list(range(1, len(seeds) + 1))
        assert len(seeds) in rule.STAGES
        assert {len(values) for values in race.values[name].values()} == {len(seeds)}
    assert len(asked[OWN]) == max(map(len, asked.values()))
    order = [name for name in named if name != OWN]
    random.shuffle(order)
    other = Drawn(named, seed)
    assert raced(other, order)[1] == best
    assert Counter(other.asked) == Counter(drawn.asked)
    if best is not None:
        assert race.verdict().standing(best, OWN) in (Standing.BETTER, Standing.TRADE)


@pytest.mark.whole
def test_the_gain_on_fresh_seeds_is_not_inflated_by_the_choice() -> None:
    """Twelve changes with the same true gain: the best of the search looks better than it is, on fresh seeds it does not."""
    means = {OWN: (0.0, 0.0), **{f"change-{i}": (2.0, 1.0) for i in range(12)}}
    searched, fresh = [], []
    for seed in range(60):
        drawn = Drawn(means, seed)
        race, best = raced(drawn)
        if best is None:
            continue
        own = race.values[OWN]["one"][: len(race.values[best]["one"])]
        searched.append(float(np.mean(race.values[best]["one"] - own)))
        later = drawn([OWN, best], range(1001, 1001 + rule.FRESH))
        fresh.append(float(np.mean(later[best]["one"] - later[OWN]["one"])))
    error = 3.3 / np.sqrt(rule.FRESH * len(fresh))  # 99.9 %; the difference of two draws has a variance of 2 here
    assert len(fresh) >= 20
    assert np.mean(fresh) == pytest.approx(2.0, abs=error * np.sqrt(2))
    assert np.mean(searched) > 2.0 + error * np.sqrt(2)


# A network whose best change is known


@pytest.fixture(scope="module")
def known() -> Advice:
    goals = parsed(["pings below 10 ms", "total"])
    return Advising(Scenario(**BLOATED), goals, "linux").run()


def test_every_run_is_on_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str | None] = []

    def run(*_: object, dask: str | None = None) -> None:
        given.append(dask)
        raise KeyboardInterrupt

    monkeypatch.setattr(Study, "run", run)
    with pytest.raises(AdviceInterrupted):
        Advising(Scenario(**BLOATED), parsed(["total"]), "linux").run(dask="tcp://here")
    assert given == ["tcp://here"]


def test_the_known_best_change_is_advised(known: Advice) -> None:
    """A ping behind a FIFO of 1,000 packets waits for all of them; with a queue per flow it waits for at most a packet of each other flow."""
    assert known.best is not None
    assert known.best.name == "fq_codel, 10240 packets"
    assert known.standing(known.best) is Standing.BETTER
    ping, total = (each.criterion for each in known.yardsticks)
    assert (known.effect(known.best, ping).high or 1) < 0.2
    assert known.effect(known.best, total).estimate > 0.95
    assert wording.headline(known).startswith("Set fq_codel, 10240 packets: pings ")
    assert [told.partition(" (")[0] for told in wording.bounds(known, OWN)] == ["pings below 10 ms, as it is: not met"]
    assert not wording.losers(known, known.best)
    assert known.best.commands is not None
    assert known.best.commands.undo == ("tc qdisc replace dev wlan0 root pfifo limit 1000",)
    assert wording.doubted(known) == ["The file marks no value as assumed or unknown, so none was varied."]


@pytest.mark.whole
def test_the_page_shows_figure_commands_and_flows(known: Advice) -> None:
    from wifair.report.advice import of_advice
    from wifair.report.page import page

    html = page(of_advice(known, "mine", ["advise", "mine.toml"]))
    assert all(f"Flows that {word}: " in html for word in ("gain", "lose"))
    for told in (
        "Set fq_codel",
        "tc qdisc replace dev wlan0 root pfifo limit 1000",
        "wifair advise mine.toml",
        "RTS threshold",
    ):
        assert told in html
    assert html.count('"$schema"') >= 1


def test_the_page_says_what_open_means_if_something_is() -> None:
    from wifair.report.advice import _on_open
    from wifair.report.parts import Cell

    rows = [
        [Cell("station-1"), Cell(wording.STANDINGS[standing])] for standing in Standing if standing is not Standing.OPEN
    ]
    assert _on_open(rows) == ""
    assert _on_open([*rows, [Cell("station-2"), Cell("open")]]).startswith(" Open: the rule has wider intervals")


def test_the_change_is_tried_in_the_nearest_networks_of_a_population() -> None:
    """In one the change makes the same difference. One has a queue per flow already; one has no flow that a ping could be added to."""
    alike = {**BLOATED, "wire": {"one_way_delay_ms": 11}}
    fair = {**BLOATED, "ap": {"scheme": "fq-codel"}, "wire": {"rate_mbps": 90}}
    nameless = {**BLOATED, "stations": [], "flows": [{"direction": "up", "count": 9}]}
    population = {name: Scenario(**each) for name, each in (("alike", alike), ("fair", fair), ("nameless", nameless))}
    told = Advising(Scenario(**BLOATED), parsed("pings"), "linux", population=population).run()
    assert told.best is not None
    assert told.place is not None
    found = {each.name: each.verdict.standing(told.best.name, OWN) if each.verdict else None for each in told.tried}
    assert found == {"alike": Standing.BETTER, "fair": Standing.EQUAL, "nameless": None}
    assert next(iter(found)) == "alike"
    place, tried, refused = wording.placed(told)
    assert place.startswith("Of 3 drawn networks, alike, ")
    assert (
        tried == "fq_codel, 10240 packets in the nearest networks: better in alike; no difference that matters in fair."
    )
    assert refused.startswith("nameless: not tried there: goals: ")
    assert [each["standing"] for each in document(told)["population"]["tried"]] == [
        each.value if each else None for each in found.values()
    ]


def test_a_goal_that_is_never_measured_is_an_error() -> None:
    late = {**BLOATED, "flows": [BLOATED["flows"][0], {**BLOATED["flows"][1], "start_s": 100.0}]}
    with pytest.raises(InputError, match=r"goals: pings has no value in any replication .* run\.duration_s in which"):
        Advising(Scenario(**late), parsed("pings"), "linux").run()


def test_such_a_goal_is_refused_before_a_change_runs(tmp_path: Path) -> None:
    late = {**BLOATED, "flows": [BLOATED["flows"][0], {**BLOATED["flows"][1], "start_s": 100.0}]}
    with pytest.raises(InputError, match="goals: pings has no value"):
        Advising(Scenario(**late), parsed("pings"), "linux").run(store=Store(tmp_path))
    ran = Store(tmp_path).mine.replications()
    assert ran["plan"].n_unique() == 1, "the scenario as it is"
    assert sorted(ran["seed"]) == [1, 2, 3, 4, 5, 6]


@pytest.mark.whole
def test_a_goal_without_a_value_in_the_first_replication_alone_is_one() -> None:
    def of(run: Results) -> float | None:
        return None if run.seeds[0] == 1 else float(run.metrics["ping_p95_ms"][0])

    [goal] = parsed(Metric("late", of, unit="ms", better="lowest"))
    told = Advising(Scenario(**BLOATED), [goal], "linux").run()
    assert told.search is not None


FLOWS_OF: dict[str, list[tuple[str, Any]]] = {
    "nothing but a call": [("up", "voip")],
    "datagrams": [("down", {"name": "udp", "rate_mbps": 1.0}), ("up", {"name": "udp", "rate_mbps": 0.5})],
    "pings": [("up", "ping"), ("up", "ping")],
    "downloads": [("down", "bulk"), ("down", "bulk")],
    "an upload": [("up", "bulk"), ("up", "game")],
    "both ways": [("up", "bulk"), ("down", "bulk"), ("up", "ping")],
    "pages": [("down", {"name": "web", "think_mean_s": 0.1}), ("down", {"name": "web", "think_mean_s": 0.1})],
    "pages and a download": [("down", {"name": "web", "think_mean_s": 0.1}), ("down", "bulk")],
    "a file": [("down", {"name": "bulk", "transfer_bytes": 2_000_000}), ("up", "voip")],
    "files": [("up", {"name": "transfers", "transfer_bytes": 10_000, "count": 1_000}), ("up", "voip")],
}


@pytest.mark.parametrize("kind", FLOWS_OF)
def test_what_cannot_be_measured_is_known_from_the_plan(kind: str) -> None:
    """By every metric, a plan is refused if and only if its run has no value."""
    flows = [{"direction": way, "application": application} for way, application in FLOWS_OF[kind]]
    scenario = Scenario(run={"warmup_s": 1, "duration_s": 4}, flows=flows)
    results = scenario.run(seeds=1)
    for metric in measurable.NEEDS:
        [goal] = parsed(f"{metric}=highest")
        if results.metrics[metric].count():
            measurable.check(scenario.plan(), [goal])
        else:
            with pytest.raises(
                InputError, match=f"goals: highest {metric} cannot have a value: .*; allowed here: other"
            ):
                measurable.check(scenario.plan(), [goal])


def test_a_goal_without_such_flows_is_refused_before_any_run(here: Cli, tmp_path: Path) -> None:
    file = tmp_path / "down.toml"
    file.write_text(toml_text.document({"flows": [{"direction": "down", "count": 2}]}), encoding="utf-8")
    done = here("advise", file, "--want", "uploads", "--store", tmp_path / "store")
    assert done.returncode == 2
    assert (
        "goals: uploads cannot have a value: no TCP flow goes up; allowed here: other goals (--want), or" in done.stderr
    )
    assert not (tmp_path / "store").exists()


def test_ctrl_c_keeps_what_is_known() -> None:
    begun = []

    def bars(title: str) -> Any:
        begun.append(title)
        if len(begun) == 3:  # after the goals, and the first stage
            raise KeyboardInterrupt
        from contextlib import nullcontext

        return nullcontext()

    advising = Advising(Scenario(**BLOATED), parsed(["pings", "total"]), "any")
    with pytest.raises(AdviceInterrupted, match="interrupted: 30 replications were finished") as stopped:
        advising.run(bars=bars)
    told = stopped.value.advice
    assert told.search is not None
    assert wording.ranking(told)
    assert wording.headline(told)


def test_ctrl_c_among_assumptions_keeps_those_that_have_finished(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C comes when all runs of the first other value, and some of the second one, have finished."""

    def stopped(studies: Sequence[Study], *words: Any, **named: Any) -> Any:
        whole = run_studies(studies[:1], *words, **named)
        cut = Study(studies[1].cells, studies[1].seeds[:2]).run(*words, **named)
        raise StudyInterrupted([*whole, replace(cut, seeds=studies[1].seeds, missing=8)])

    monkeypatch.setattr("wifair.advising.advice.run_studies", stopped)
    content = "[wire]\nrate_mbps = 60  # unknown: the line\n"
    scenario = Scenario(**{**BLOATED, "wire": {"rate_mbps": 60}})
    with pytest.raises(AdviceInterrupted) as interruption:
        Advising(scenario, parsed(["pings"]), "linux", marks(content)).run()
    told = interruption.value.advice
    assert [each.doubt.other for each in told.doubted] == ["15"]
    assert told.undoubted == 1
    assert wording.doubted(told)[0].startswith(
        "With 0 of 1 other values of what is assumed (1 more did not run to the end), "
    )
    assert document(told)["assumptions_not_finished"] == 1
    print_advice(told, "mine", verbose=False)
    assert "wire.rate_mbps: 15: no difference that matters." in capsys.readouterr().out


def test_a_gain_does_not_hide_its_price(capsys: pytest.CaptureFixture[str]) -> None:
    """Shares become equal, and the total falls to a half; nobody has asked for the total."""
    advising = Advising(Scenario(**BLOATED), parsed("fair shares"), "linux")
    cheap = next(change for change in advising.settable if change.name == "pfifo, 100 packets")
    noise = np.linspace(-0.01, 0.01, 12)
    values: dict[str, Mapping[str, Values]] = {
        OWN: {"jain": 0.4 + noise, "total_mbps": 24 * (1 + noise)},
        cheap.name: {"jain": 0.9 + noise[::-1], "total_mbps": 12 * (1 + noise)},
    }
    told = Advice(advising.scenario, advising.yardsticks, {cheap.name: cheap}, total=advising.total, best=cheap)
    told.values, told.searched = values, dict(values)
    told.search = told.confirmed = rule.verdict(values, told.criteria)
    assert told.total is not None
    assert told.standing_by(cheap, told.total) is Standing.WORSE
    headline = wording.headline(told)
    assert headline.startswith("Set pfifo, 100 packets: fair shares 0.4000 ± 0.0042 → 0.9000 ± 0.0042 index (+0.500 [")
    assert "Total goodput falls: 24.00 ± 0.10 → 12.000 ± 0.050 Mbps (× 0.5 [0.5, 0.5])." in headline
    [found] = document(told)["confirmed"]
    assert (found["total"]["before"], found["total"]["after"]) == pytest.approx((24, 12))
    assert (found["total"]["standing"], found["total"]["unit"]) == ("worse", "Mbps of payload")
    assert (found["effects"][0]["before"], found["effects"][0]["after"]) == pytest.approx((0.4, 0.9))
    print_advice(told, "mine", verbose=False)
    out = capsys.readouterr().out
    assert "- fair shares: Jain's index of the goodput of comparable flows.\n" in out
    assert re.search(r"^ +search +fair shares, +total,\nchange +says +seeds +index +Mbps$", out, re.MULTILINE)
    assert re.search(r"^as it is +12 +0\.4 +24$", out, re.MULTILINE)
    assert re.search(r"^pfifo, 100 packets +better +12 +0\.9 \(\+0\.500\) +12 \(× 0\.5\)$", out, re.MULTILINE)


def test_a_column_of_the_search_has_means_of_the_same_seeds_only(capsys: pytest.CaptureFixture[str]) -> None:
    """A change that was stopped has fewer seeds than the scenario as it is, so only its effect is shown."""
    advising = Advising(Scenario(**BLOATED), parsed("total"), "linux")
    good, stopped = advising.settable[:2]
    noise = np.linspace(-0.1, 0.1, 12)
    own = 24 * (1 + noise)
    values: dict[str, Mapping[str, Values]] = {
        OWN: {"total_mbps": own},
        good.name: {"total_mbps": 2 * own},
        stopped.name: {"total_mbps": own[:6]},
    }
    told = Advice(advising.scenario, advising.yardsticks, {each.name: each for each in (good, stopped)})
    told.searched, told.search = values, rule.verdict(values, told.criteria)
    print_advice(told, "mine", verbose=True)
    out = capsys.readouterr().out
    assert re.search(rf"^{re.escape(good.name)} +better +12 +48 \(× 2\)$", out, re.MULTILINE)
    assert re.search(r" 6 +\(× 1\)$", out, re.MULTILINE)
    assert "A change with fewer seeds than the scenario as it is has no mean" in out.replace("\n", " ")


# What a reader asks of the advice


def made(goals: Sequence[str], scenario: dict[str, Any], best: str, **searched: Sequence[float]) -> Advice:
    """Advice with made-up means by goal: of the scenario as it is, and of changes by the first letter of their names, the best one confirmed with the same."""
    wanted = yardsticks(Scenario(**scenario).plan(), parsed(goals))
    noise = np.linspace(-0.01, 0.01, 12)
    values: dict[str, Mapping[str, Values]] = {
        OWN if name == "own" else f"change {name}": {
            each.criterion.id: mean * (1 + noise) for each, mean in zip(wanted, means, strict=True)
        }
        for name, means in searched.items()
    }
    changes = {name: Change(name, "") for name in values if name != OWN}
    told = Advice(Scenario(**scenario), wanted, changes, best=changes[f"change {best}"])
    judged = judging(wanted)
    told.searched, told.search = values, rule.verdict(values, told.criteria, judged)
    told.values = {name: values[name] for name in (OWN, f"change {best}")}
    told.confirmed = rule.verdict(told.values, told.criteria, judged)
    return told


def in_text(told: Advice, capsys: pytest.CaptureFixture[str]) -> str:
    print_advice(told, "mine", verbose=False)
    return " ".join(capsys.readouterr().out.split())


def in_page(told: Advice) -> str:
    """What the section "In short" of the page says."""
    [findings] = [part for part in of_advice(told, "mine", ["advise"]).sections[0].parts if isinstance(part, Findings)]
    return " ".join(findings.sentences)


def test_the_page_has_the_changes_in_a_table_and_their_commands_below(known: Advice) -> None:
    """Commands cut off the table at the edge of the page; numbers took six lines per cell."""
    [table, folded] = next(each for each in of_advice(known, "mine", []).sections if each.title == "All changes").parts
    assert isinstance(table, Table)
    assert table.headings == ("change", "search says", "seeds", "pings below 10 ms", "total, Mbps")
    assert known.best is not None
    first = table.rows[0]
    assert (first[0].text, first[0].note) == (known.best.name, known.best.about)
    assert [re.search(r"[^\S\u00a0]", each.text + each.note) for each in first[3:]] == [None, None]
    assert re.fullmatch(r"[\d.]+ → [\d.]+", first[4].text.replace("\u00a0", " "))
    assert re.fullmatch(r"× [\d.]+ \[[\d.]+, [\d.]+\]", first[4].note.replace("\u00a0", " "))
    assert isinstance(folded, Details)
    told = [part.text for part in folded.parts if isinstance(part, Code)]
    for change in wording.ranking(known):
        assert change.commands
        assert "\n".join(change.commands.do) in told
        assert "\n".join(change.commands.undo) in told


def test_an_imported_scenario_that_was_not_compared_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    told = made(["pings"], BLOATED, "a", own=[100], a=[20])
    said = "was not compared with the measurement here: `--measured FILES` does that."
    content = "[wire]\nrate_mbps = 60  # {}\n"
    for comment, is_said in (
        ("unknown: the line", True),
        ("read: a file", False),
        ("fitted: fits as well: [40]; to measured; before that unknown, the line", False),
    ):
        told.marks = marks(content.format(comment))
        assert (said in in_text(told, capsys)) is is_said
        assert (said in in_page(told)) is is_said


def test_the_advice_says_by_what_rule_a_change_came_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Change a is behind the best by 1.3 in calls, the others by more in one goal."""
    told = made(["pages", "calls"], PAGES, "a", own=[8, 20], a=[4, 13], b=[2, 19], c=[7, 10])
    said = (
        "Of 3 better changes, change a is the one least behind the best of them in what it is worst at. By the seeds of the search this is pages, s: "
        "2 with change b and 4 with change a (× 2). If a value is enough, give it as a bound, beyond which more is worth nothing: "
        '`--want "pages below N s"`.'
    )
    assert said in in_text(told, capsys)
    assert said in in_page(told)
    # Bounds that a change meets are no matter of how far; nothing is said where only one change is better.
    told = made(["pages below 5 s", "calls below 100 ms"], PAGES, "a", own=[8, 20], a=[4, 13], b=[4.5, 19])
    assert "is behind no other by any goal." in in_page(told)
    assert wording.chosen(made(["pages", "calls"], PAGES, "a", own=[8, 20], a=[4, 13], c=[8, 20])) == []


def test_a_better_change_is_told_from_compromises() -> None:
    """Change b gains more by far, and costs calls little."""
    told = made(["pages", "calls"], PAGES, "a", own=[8, 15], a=[6, 15], b=[1, 18])
    assert wording.chosen(told) == [
        "No other change is better by a goal and worse by none. If a value is enough, give it as a bound, beyond which more is worth nothing: "
        '`--want "calls below N ms"`.'
    ]
    told = made(["pages", "calls below 16 ms"], PAGES, "a", own=[8, 15], a=[6, 15], b=[1, 18])
    assert wording.chosen(told) == ["No other change is better by a goal and worse by none."]


def test_flows_that_lose_within_a_bound_are_told_from_others(capsys: pytest.CaptureFixture[str]) -> None:
    def losing(goal: str, call: float = 23) -> Advice:
        told = made(["pages", goal], PAGES, "a", own=[8, 20], a=[4, call])
        noise = np.linspace(-0.01, 0.01, 12)
        of_flows = {
            f"flow:{name}": means for name, means in {"call": (20, call), "page": (8, 4), "ping": (9, 12)}.items()
        }
        flows = [each for each in of_flows_in(told.plan) if each.id in of_flows]
        names = {OWN: 0, "change a": 1}
        values = {name: {each.id: of_flows[each.id][i] * (1 + noise) for each in flows} for name, i in names.items()}
        told.flows = rule.verdict(values, flows)
        return told

    told = losing("calls below 100 ms")
    call, ping = wording.losers(told, told.changes["change a"])
    assert call.startswith("call 20.000 ± 0.083")
    assert call.endswith(", calls below 100 ms stays met")
    assert ping.startswith("ping 9.0")
    assert "stays met" not in ping
    assert "2 groups of flows lose, 1 of them by goals whose bounds stay met." in in_text(told, capsys)
    assert "calls below 100 ms stays met" in in_page(told)
    for other in (losing("calls"), losing("calls below 22 ms"), losing("pings below 100 ms")):
        assert "calls" not in wording.losers(other, other.changes["change a"])[0]


def test_an_interval_that_reaches_beyond_no_gain_is_in_short(capsys: pytest.CaptureFixture[str]) -> None:
    """With another line pages are slower with the change, and calls still gain."""
    told = made(["pages", "calls"], PAGES, "a", own=[8, 20], a=[6, 10])
    assert wording.no_gain(told) == []

    def doubted(pages: float) -> Doubted:
        values = {OWN: {"page_s": np.full(6, 8.0)}, "change a": {"page_s": np.full(6, pages)}}
        for mine, call in zip(values.values(), (20.0, 10.0), strict=True):
            mine["call_delay_p95_ms"] = np.full(6, call)
        verdict = rule.verdict(values, told.criteria)
        return Doubted(Doubt("wire.rate_mbps", "unknown: the line", "15", told.scenario), verdict, values=values)

    told.doubted = [doubted(7)]
    assert wording.no_gain(told) == []
    told.doubted = [doubted(9)]
    said = "With chance and all that is assumed together, there may be no gain: pages × 0.75 [0.7"
    assert said in in_text(told, capsys)
    assert said in in_page(told)
    assert "calls" not in wording.no_gain(told)[0]


def test_the_total_is_not_shown_twice() -> None:
    assert Advising(Scenario(**BLOATED), parsed(["pings", "total"]), "linux").total is None
    assert Advising(Scenario(**BLOATED), (), "linux").total is None
    nobody = {**BLOATED, "tcp": {}, "flows": [{**BLOATED["flows"][1], "name": "ping"}]}
    assert Advising(Scenario(**nobody), parsed("pings"), "linux").total is None


@pytest.mark.whole
def test_the_command_prints_advice_and_json(here: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        "[run]\nwarmup_s = 0.5\nduration_s = 1\n[phy]\nname = '802.11g'\n[ap]\nscheme = 'droptail'\nlimit_packets = 1000\n"
        "[wire]\none_way_delay_ms = 10  # unknown: half the round-trip time\n[tcp]\nprofile = 'today'\n"
        "[[flows]]\nname = 'download'\ndirection = 'down'\ncount = 2\n[[flows]]\ndirection = 'up'\napplication = 'ping'\n"
    )
    words = ["advise", path, "--want", "pings", "--has", "linux", "--store", tmp_path / "store"]
    page = tmp_path / "a" / "advice.html"
    done = here(*words, "--out", page)
    assert done.returncode == 0
    assert done.stdout.startswith("mine: Set fq_codel, 10240 packets: pings")
    assert page.exists()
    told = json.loads(here(*words, "--json").stdout)
    assert told["best"] == "fq_codel, 10240 packets"
    assert [each["other"] for each in told["assumptions"]] == ["2", "40"]
    # What `--set` gives is known.
    told = json.loads(here(*words, "--json", "--set", "wire.one_way_delay_ms=12").stdout)
    assert told["assumptions"] == []


def test_schemes_of_papers_are_tried_only_with_any_equipment() -> None:
    scenario = Scenario(**BLOATED)
    found = {has: settable(scenario, has) for has in HAS}
    assert {has: bool(unsettable(scenario, has, among)) for has, among in found.items()} == {
        "openwrt": False,
        "linux": False,
        "any": True,
    }
    names = {change.name for change in unsettable(scenario, "any", found["any"])}
    assert {"las", "mac80211"} <= names
    assert not names & {"droptail", "codel", "fq-codel", "pie"}


def test_a_missing_scenario_is_an_error_without_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(["advise", "cafee"]) == 2
    assert "Did you mean cafe?" in capsys.readouterr().err
