"""A fair contest: limits, transfers that do not end, stages, the threshold, and the advice on one's own scenario."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli
from python_schemes import TailDrop
from test_everything import criterion, judged, verdict
from wifair import Scenario, Scheme
from wifair.api import comparison
from wifair.errors import InputError, ScenarioError
from wifair.everything import advice, figures
from wifair.everything.contenders import PLAIN, REFERENCE, contenders, with_defaults
from wifair.everything.contest import MANY_UNFINISHED, UNDECIDED, Contest, Judged, undecided_share
from wifair.everything.criteria import criteria, number, transfers
from wifair.everything.findings import Overview, conclusion
from wifair.everything.scenarios import FULL, QUICK, Own, staged
from wifair.everything.summary import below, findings
from wifair.everything.verdict import Place, Standing, Verdict
from wifair.papers.runs import Runs
from wifair.stats import t_interval
from wifair.study import Cell, Store, Study


def limit_of(scenario: Scenario, category: str | None = None) -> int:
    ap = scenario.plan()["bss"]["ap"]
    own = ap["categories"][category]["limit_packets"] if category else None
    return int(own or ap["tx_queue"]["limit_packets"])


class LargeQueue(TailDrop):
    """A scheme in Python with a default limit of its own."""

    usual_limit_packets = 5_000


SCHEMES: list[Any] = [PLAIN, REFERENCE, {"name": REFERENCE, "signal": "drop"}, TailDrop, LargeQueue]


@pytest.mark.parametrize(("id", "given"), [("ten-and-ten", 100), ("cafe", 1000)])
def test_variants_and_schemes_of_files_have_their_own_default_limits_too(id: str, given: int) -> None:
    from wifair.scheme.python import named

    names = [named(scheme) for scheme in SCHEMES]
    [setting, *_] = Contest.of(QUICK, [id], names).settings
    limits = {name: limit_of(cell.scenario) for name, cell in setting.cells.items()}  # type: ignore[arg-type]
    own = {REFERENCE: 8_192, f"{REFERENCE}(signal=drop)": 8_192, "LargeQueue": 5_000}
    assert limits == {PLAIN: given, "TailDrop": given, **own}


def test_a_setting_of_the_command_changes_every_scenario() -> None:
    given = ["ap.hardware=firmware", "run.duration_s=7"]
    contest = Contest.of(QUICK, ["cafe", "video-call"], [PLAIN, REFERENCE], settings=given)
    for setting in contest.settings:
        for cell in setting.cells.values():
            plan = cell.scenario.plan()
            assert (plan["bss"]["ap"]["hardware"]["name"], plan["run"]["duration_s"]) == ("firmware", 7)
    assert "--all --quick --set ap.hardware=firmware --set run.duration_s=7 --scenarios" in contest.command
    told = verdict(fair={PLAIN: [1.0], REFERENCE: [9.0]})
    with_firmware = [Judged(setting, told, {}) for setting in contest.settings]
    assert below(Overview(with_firmware)).endswith("is `firmware`.")
    mixed = below(Overview([judged(told), *with_firmware]))
    assert "is `firmware` in 2 and `ideal` in 1 settings; with `ideal` nothing does" in mixed


def test_each_category_has_the_limit_of_its_scheme() -> None:
    [cell] = staged(["download-among-uploads"])
    base = with_defaults(cell.scenario(QUICK))
    plain, fair = (contender.applied(base) for contender in contenders([PLAIN, REFERENCE]))
    assert [limit_of(plain, name) for name in ("best_effort", "voice")] == [400, 400]
    assert [limit_of(fair, name) for name in ("best_effort", "voice")] == [8_192, 8_192]


def test_a_templates_buffer_does_not_bind_a_scheme_with_a_buffer_of_its_own() -> None:
    template = Scenario.from_toml("cafe")
    cells = comparison(template, [PLAIN, REFERENCE, "alt", {"name": "alt", "min_packets": 40}], 1).cells
    assert [limit_of(cell.scenario) for cell in cells] == [1_000, 8_192, 30, 40]  # type: ignore[arg-type]


def test_a_users_limit_holds_under_every_scheme() -> None:
    users = Scenario.from_toml("cafe", [("ap.limit_packets", 50)])
    for cells in (comparison(users, SCHEMES, 1).cells, Contest.on(Own("cafe", users)).settings[0].cells.values()):
        assert {limit_of(cell.scenario) for cell in cells} == {50}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ap", [{"default_limit_packets": 0}, {"categories": {"voice": {"default_limit_packets": 200_000}}}]
)
def test_a_default_limit_has_the_bounds_of_a_limit(ap: dict[str, Any]) -> None:
    with pytest.raises(ScenarioError, match=r"default_limit_packets.*1 to 100000"):
        Scenario(ap=ap, flows=[{"direction": "down"}])


def test_a_default_limit_is_spelled_out_if_it_is_misspelled() -> None:
    with pytest.raises(ScenarioError, match="default_limit_packets"):
        Scenario(ap={"default_limit_packet": 5}, flows=[{"direction": "down"}])


FILES = {"name": "transfers", "transfer_bytes": 200_000}
WAYS: dict[str, Any] = {
    "run": {"warmup_s": 0, "duration_s": 4},
    "flows": [
        {"name": "near", "direction": "down", "count": 2, "application": FILES},
        {"name": "far", "direction": "down", "station": {"rate_mbps": 2.0}, "application": FILES},
        {"name": "saved", "direction": "up", "application": FILES},
        {"name": "small", "direction": "down", "application": {**FILES, "transfer_bytes": 5_000}},
    ],
}


def test_flows_with_the_same_application_and_direction_are_one_criterion() -> None:
    scenario = Scenario(**WAYS)
    found = criteria(scenario.plan())
    assert [c.id for c in found] == ["time:near", "time:saved", "time:small"]
    assert found[0].title == "time of a transfer, near and far"
    results = Study([Cell("only", scenario, {"scheme": PLAIN})], 2).run(1)
    runs = Runs.of(results).cell(scheme=PLAIN)
    near, far = (runs.transfers("mean_with_unfinished_s", group) for group in ("near", "far"))
    assert found[0].values(runs) == pytest.approx((2 * near + far) / 3)


def test_one_file_per_flow_is_a_transfer_too() -> None:
    once = {"direction": "down", "application": {"name": "bulk", "transfer_bytes": 500_000}}
    assert [c.id for c in criteria(Scenario(flows=[{"name": "file", **once}]).plan())] == ["time:file"]


def test_the_end_of_the_run_alone_leaves_no_scheme_out() -> None:
    """One file after the other: the last one is cut off, which says nothing. Files of a gigabyte do not end."""
    scenario = Scenario(**WAYS)
    runs = Runs.of(Study([Cell("only", scenario, {"scheme": PLAIN})], 6).run(1)).cell(scheme=PLAIN)
    near, *_ = transfers(scenario.plan())
    assert near.title == "near and far"
    assert runs.transfers("unfinished", "near").sum() > 0
    for mine in transfers(scenario.plan()):
        assert (t_interval(mine.unfinished(runs)).low or 0.0) < MANY_UNFINISHED
    endless = scenario.override({"flows[2].application.transfer_bytes": 10**9})
    runs = Runs.of(Study([Cell("only", endless, {"scheme": PLAIN})], 2).run(1)).cell(scheme=PLAIN)
    saved = transfers(endless.plan())[1]
    assert (saved.title, saved.unfinished(runs).tolist()) == ("saved", [1.0, 1.0])


def test_a_scheme_under_which_transfers_do_not_end_is_not_recommended() -> None:
    told = verdict(
        delay={"droptail": [1.0], REFERENCE: [5.0], "red": [9.0]},
        fair={"droptail": [1.0], REFERENCE: [5.0], "red": [5.0]},
    )
    assert told.winners == ["red"] == told.nearest
    told = replace(told, out=frozenset({"red"}))
    assert told.winners == [REFERENCE] == told.nearest == told.shown == told.unbeaten == told.candidates
    assert told.best(told.criteria[0]) == [REFERENCE]
    assert told.place("red") is Place.UNFINISHED
    assert told.standing("red", REFERENCE) is Standing.UNFINISHED
    assert told.standing("red", REFERENCE, told.criteria[:1]) is Standing.BETTER
    overview = Overview([judged(told)])
    [named] = [finding for finding in findings(overview) if "`red`" in finding]
    assert named == "Not to be recommended, because transfers do not end: `red`."


def test_where_no_scheme_has_a_value_there_is_a_conclusion() -> None:
    nothing, some = [math.nan] * 4, [1.0, 2.0, 1.0, 2.0]
    none = verdict(time={"a": nothing, "b": nothing})
    assert none.winners == [] == none.nearest
    assert conclusion(judged(none)) == "No scheme has a value by any criterion."
    apart = verdict(time={"a": some, "b": nothing}, fair={"a": nothing, "b": some})
    assert conclusion(judged(apart)).endswith("None has a value by every criterion in all replications.")
    assert conclusion(judged(replace(none, out=frozenset("ab")))) == "Transfers end under no scheme."


@pytest.mark.parametrize(
    ("difference", "spread", "standing"),
    [
        (1.0, 0.02, Standing.THRESHOLD),  # the interval contains 1, which matters, and is narrow
        (-1.0, 0.02, Standing.THRESHOLD),
        (1.0, 0.3, Standing.OPEN),  # it is wider than half of what matters
        (1.4, 0.02, Standing.BETTER),
        (0.6, 0.02, Standing.EQUAL),
        (-1.4, 0.02, Standing.WORSE),
    ],
)
def test_a_narrow_interval_around_what_matters_is_on_the_threshold(
    difference: float, spread: float, standing: Standing
) -> None:
    values = np.array([[0.0] * 4, difference + spread * np.array([-1.0, 0.0, 0.0, 1.0])])
    told = Verdict(("a", "b"), (criterion("x"),), {"x": values})
    assert told.standing("b", "a") is standing


def test_a_gain_on_the_threshold_does_not_hide_a_loss_that_is_open() -> None:
    zero = [0.0] * 4
    narrow, wide = [0.98, 1.0, 1.0, 1.02], [-1.9, -1.0, -1.0, -0.1]
    told = Verdict(
        ("a", "b"), (criterion("x"), criterion("y")), {"x": np.array([zero, narrow]), "y": np.array([zero, wide])}
    )
    assert told.standing("b", "a") is Standing.OPEN
    # Once it gains for certain, whether it gains by another criterion is of no interest.
    told = Verdict(
        ("a", "b"), (criterion("x"), criterion("y")), {"x": np.array([zero, [5.0] * 4]), "y": -np.array([zero, wide])}
    )
    assert told.standing("b", "a") is Standing.BETTER


def test_looks_do_not_raise_the_error() -> None:
    """Equal schemes, looked at three times: how often a difference is claimed at any stage."""
    rng = np.random.default_rng(2)
    rounds, stages, claimed, once = 1500, (5, 10, 16), 0, 0
    for _ in range(rounds):
        values = rng.normal(0, 1, (2, stages[-1]))
        told = [
            Verdict(("a", "b"), (criterion("x", matters=1e-9),), {"x": values[:, :stage]}, stages=len(stages)).best(
                criterion("x")
            )
            for stage in stages
        ]
        claimed += any("a" not in best for best in told)
        undivided = [
            Verdict(("a", "b"), (criterion("x", matters=1e-9),), {"x": values[:, :stage]}).best(criterion("x"))
            for stage in stages
        ]
        once += any("a" not in best for best in undivided)
    assert claimed / rounds < 0.05
    assert once / rounds > 0.07  # what it would be without dividing the error


def test_schemes_with_more_replications_are_compared_in_those_that_both_have() -> None:
    rows = np.array([[1.0, 2.0, 3.0, 50.0, 60.0], [0.0, 1.0, 2.1, math.nan, math.nan]])
    told = Verdict(("a", "b"), (criterion("x"),), {"x": rows}, (5, 3))
    short = Verdict(("a", "b"), (criterion("x"),), {"x": rows[:, :3]})
    assert told.orders["x"].lowest == pytest.approx(short.orders["x"].lowest)
    assert told.shortfall("b") == pytest.approx(short.shortfall("b"))
    assert told.nearest == short.nearest
    assert (told.replications("a"), told.replications("b"), told.common) == (5, 3, 3)
    assert Overview([judged(told)]).replications == "3 to 5"


PAIR: dict[str, Any] = {
    "run": {"warmup_s": 1, "duration_s": 2},
    "flows": [{"name": "up", "direction": "up", "count": 2}, {"name": "down", "direction": "down", "count": 2}],
}


def test_only_undecided_schemes_get_more_replications(tmp_path: Path) -> None:
    names: list[Any] = [PLAIN, REFERENCE, "las", {"name": REFERENCE, "slow_station_rule": False}]
    contest = replace(Contest.on(Own("pair", Scenario(**PAIR)), names), stages=(3, 5, 8))
    first = contest.judge(Study([*contest.settings[0].cells.values()], 3).run(1))[0]
    outcome = contest.run(1, Store(tmp_path / "store"))
    [last] = outcome.settings
    counts = {name: last.verdict.replications(name) for name in last.verdict.contenders}
    assert first.undecided
    assert counts[REFERENCE] == max(counts.values()) > 3
    assert all((count > 3) == (name in first.undecided or name == REFERENCE) for name, count in counts.items())
    assert min(counts.values()) == 3  # the variant is the reference itself
    assert undecided_share(outcome.settings) <= UNDECIDED or counts[REFERENCE] == 8
    assert last.verdict.error == pytest.approx(0.05 / 3 / (3 * len(last.verdict.judged)))
    assert outcome.results.runs.height == sum(counts.values())


def test_given_seeds_fix_the_number_of_replications() -> None:
    assert Contest.of(FULL, ["five-rates"], [PLAIN]).stages == (20, 40, 64)
    assert Contest.of(FULL, ["five-rates"], [PLAIN], 7).stages == (7,)
    assert Contest.on(Own("pair", Scenario(**PAIR)), [PLAIN], 3).stages == (3,)


def test_the_advice() -> None:
    best = judged(verdict(fair={"droptail": [1.0], REFERENCE: [9.0]}))
    assert advice.told(best) == [f"Leave `{REFERENCE}`: no scheme is better by any criterion by more than matters."]
    worse = judged(verdict(fair={"droptail": [1.0], REFERENCE: [5.0], "las": [9.0], "pie": [7.0]}))
    change, others = advice.told(worse)
    assert change.startswith(f"Change from `{REFERENCE}` to `las`: fair +4.000 [")
    assert change.endswith("; it costs nothing that matters.")
    assert others == "No other scheme is shown to be better than `las` by any criterion."
    trade = judged(verdict(fair={REFERENCE: [5.0], "las": [9.0]}, fast={REFERENCE: [7.0], "las": [1.0]}))
    leave, why = advice.told(trade)
    assert leave.startswith(f"Leave `{REFERENCE}`, unless one thing counts most.")
    assert (
        why == f"`las` instead of `{REFERENCE}`: fair +4.000 [+3.987, +4.013]; it costs fast -6.000 [-6.013, -5.987]."
    )
    out = judged(replace(trade.verdict, out=frozenset({"las"})))
    assert advice.told(out)[0].startswith(f"Leave `{REFERENCE}`: no scheme is better")
    assert advice.told(out)[1] == "Not to be recommended, because transfers do not end: `las`."


@pytest.mark.whole
def test_judge_ones_own_file(here: Cli, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        '[run]\nwarmup_s = 1\nduration_s = 2\n[[flows]]\ndirection = "up"\ncount = 2\n[[flows]]\ndirection = "down"\ncount = 2\n'
    )
    words = ["compare", own, "--judge", "--schemes", "droptail,mac80211,las", "--seeds", "3"]
    done = here(*words, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "mac80211" in done.stdout.splitlines()[0]
    assert "3 replications" in done.stdout
    assert len(done.stdout.splitlines()) < 40
    assert "<h2>" in (tmp_path / "out" / "comparison.html").read_text()
    told = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert [setting["id"] for setting in told["settings"]] == ["own/own"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--judge"], "a scenario is missing"),
        (["cafe", "--judge", "--seeds", "1"], "one run has no interval"),
        (["cafe", "--judge", "--precision", "jain=0.1"], "leave out --precision"),
        (["--all", "--judge"], "leave out SCENARIO.toml"),
    ],
)
def test_judge_does_not_go_with(words: list[str], said: str, here: Cli) -> None:
    done = here("compare", *words)
    assert done.returncode == 2
    assert said in done.stderr


def test_unknown_schemes_are_told() -> None:
    with pytest.raises(InputError, match="Did you mean las"):
        Contest.on(Own("pair", Scenario(**PAIR)), ["lass"])


def test_a_default_limit_of_none_is_the_scenarios() -> None:
    assert Scheme.usual_limit_packets is None


def own_of(told: Verdict, own: str) -> Judged:
    """A setting whose own scheme is this one."""
    found = judged(told)
    return replace(found, setting=replace(found.setting, own=own))


# Tail drop is worse than the reference by two criteria and better by none; `las` is better by one of them and worse by two.
OF_A_CAFE: dict[str, dict[str, list[float]]] = {
    "pages": {"droptail": [1.0], REFERENCE: [5.0], "las": [9.0]},
    "calls": {"droptail": [1.0], REFERENCE: [5.0], "las": [1.0]},
    "ping": {"droptail": [5.0], REFERENCE: [5.0], "las": [2.0]},
}


def test_the_advice_starts_from_the_scenarios_own_scheme() -> None:
    change, *rest = advice.told(own_of(verdict(**OF_A_CAFE), "droptail"))
    assert change.startswith(f"Change from `droptail` to `{REFERENCE}`: pages +4.000 [")
    assert change.endswith("; it costs nothing that matters.")
    assert f"`las` instead of `{REFERENCE}`: pages +4.000" in " ".join(rest)
    assert advice.told(own_of(verdict(**OF_A_CAFE), REFERENCE))[0].startswith(f"Leave `{REFERENCE}`, unless")
    alike = verdict(fair={"droptail": [5.0], REFERENCE: [5.0]})
    assert advice.told(own_of(alike, "droptail"))[0].startswith("Leave `droptail`: no scheme is better")


def test_every_gain_and_cost_of_an_offered_scheme_is_told() -> None:
    values = {c: {REFERENCE: [5.0], "las": [1.0]} for c in ("first", "second", "third", "fourth")}
    told = " ".join(advice.told(judged(verdict(**values, fast={REFERENCE: [1.0], "las": [9.0]}))))
    assert all(f"{name} -4.000" in told for name in values)


def test_why_the_best_compromise_is_not_recommended() -> None:
    values = {"fair": {REFERENCE: [1.0], "las": [9.0]}, "fast": {REFERENCE: [5.0], "las": [2.0]}}
    found = judged(verdict(**values))
    assert found.verdict.nearest[0] == "las"
    why = advice.told(found)[1]
    assert why.startswith("`las`, the best compromise")
    assert why.endswith(f"because it is worse than `{REFERENCE}` by fast.")


def test_what_is_shown_of_an_undecided_scheme() -> None:
    wide = [2.0, 5.0, 8.0, 6.0]
    values = {
        "fair": {REFERENCE: [5.0], "las": [1.0]},
        "calls": {REFERENCE: [5.0], "las": [1.0]},
        "total": {REFERENCE: [5.0, 5.0, 5.0, 5.0], "las": wide},
    }
    told = advice.told(judged(verdict(**values)))
    assert f"`las` against `{REFERENCE}`: by 2 criteria it is worse, and whether it is better by total is open." in told


def test_a_scenarios_own_scheme_takes_part() -> None:
    own = Own("pair", Scenario(**PAIR).override({"ap.scheme": {"name": "fq-codel", "quantum_bytes": 300}}))
    [setting] = Contest.on(own, [REFERENCE], 2).settings
    assert setting.own == "fq-codel(quantum_bytes=300)"
    assert list(setting.cells) == [REFERENCE, setting.own]


def test_one_setting_is_told_as_one(here: Cli, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(
        '[run]\nwarmup_s = 1\nduration_s = 2\n[phy]\nname = "802.11ax"\n[mac.edca]\n[[flows]]\ndirection = "up"\n'
        '[[flows]]\ndirection = "down"\n[[flows]]\ndirection = "down"\napplication = "ping"\n'
    )
    words = ["compare", own, "--judge", "--schemes", "droptail,mac80211", "--seeds", "2", "--store", tmp_path / "store"]
    done = here(*words, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "droptail" in done.stdout.splitlines()[0]
    flat = " ".join(done.stdout.split())
    assert "The file does not set it; try: wifair compare" in flat
    assert flat.endswith("--set ap.hardware=firmware")
    assert "datagrams included" in " ".join((tmp_path / "out" / "comparison.md").read_text().split())
    firmware = " ".join(here(*words, "--set", "ap.hardware=firmware").stdout.split())
    assert 'ap.hardware = "firmware"' in firmware
    assert "try:" not in firmware
    for name in ("comparison.md", "comparison.html"):
        text = (tmp_path / "out" / name).read_text()
        for phrase in ("of 1 settings", "in 1 settings", "1 settings", "Everything against", "Why: ", "in 0"):
            assert phrase not in text, f"{name}: {phrase}"
        assert text.count("in brackets the 95") <= 1


def test_large_numbers_have_no_exponent() -> None:
    assert [number(value) for value in (1343.0, 999.9, 12.345, 0.00153)] == ["1,340", "1,000", "12.3", "0.00153"]


def test_the_legends_of_one_setting_are_within_their_pictures() -> None:
    overview = Overview([judged(verdict(**OF_A_CAFE))])
    for picture in (figures.conclusions(overview), figures.against(overview)):
        picture.canvas.draw()
        [legend] = picture.legends
        box = legend.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= picture.bbox.width
    [axes] = figures.against(overview).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["pages", "calls", "ping"]
