"""`wifair compare --all`: the rule, the criteria, the schemes, and the sentences."""

from __future__ import annotations

import json
import math
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from wifair import Scenario
from wifair.errors import InputError
from wifair.everything import values
from wifair.everything.contenders import REFERENCE, contenders, with_defaults
from wifair.everything.contest import Contest, Judged, Setting
from wifair.everything.criteria import Criterion, criteria
from wifair.everything.findings import Overview, conclusion
from wifair.everything.page import COMPARISON, FINDINGS, texts
from wifair.everything.scenarios import FULL, OF_PAPERS, QUICK, PaperCell, every, staged
from wifair.everything.senders import PAPERS, RATES_MBPS, TODAYS, TODAYS_ON_AX
from wifair.everything.summary import findings
from wifair.everything.verdict import Place, Standing, Verdict, orders
from wifair.papers.generations.air import AX
from wifair.papers.runs import Runs
from wifair.study import Cell, Study


def criterion(id: str, **other: Any) -> Criterion:
    told: dict[str, Any] = {"kind": "fairness", "title": id, "unit": "index", "better": "more", "scale": "difference"}
    return Criterion(id, **{**told, "matters": 1.0, "values": lambda runs: runs.run("seed"), **other})


def verdict(**values: dict[str, list[float]]) -> Verdict:
    """A verdict on schemes by criteria; each value is the centre of four replications that vary a little."""
    names = list(next(iter(values.values())))
    spread = np.array([-0.01, 0.0, 0.0, 0.01])
    rows = {
        id: np.array([[*told] if len(told) > 1 else told[0] + spread * (i + 1) for i, told in enumerate(mine.values())])
        for id, mine in values.items()
    }
    return Verdict(tuple(names), tuple(criterion(id) for id in values), rows)


@given(st.integers(2, 5), st.integers(2, 6), st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.001]))
@settings(max_examples=40, deadline=None)
def test_orders_are_paired_t_tests_of_a_shifted_mean(schemes: int, seeds: int, seed: int, error: float) -> None:
    rng = np.random.default_rng(seed)
    merits = rng.normal(rng.normal(0, 2, (schemes, 1)), rng.uniform(0.1, 1), (schemes, seeds))
    found = orders(merits, 0.5, error)
    for i in range(schemes):
        for j in range(schemes):
            if i == j:
                assert found.no_worse[i, j]
                assert not found.better[i, j]
                continue
            for shift, said in ((0.5, found.better[i, j]), (-0.5, found.no_worse[i, j])):
                p = scipy_stats.ttest_rel(merits[i], merits[j] + shift, alternative="greater").pvalue
                assert said == (p < error) or math.isclose(p, error, rel_tol=1e-6)


@given(st.integers(2, 6), st.integers(1, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_somebody_is_always_left_and_winners_are_among_them(schemes: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = {
        f"c{c}": np.round(rng.normal(0, 3, (schemes, 1)) + rng.normal(0, 0.05, (schemes, 4)), 2) for c in range(count)
    }
    told = Verdict(tuple("abcdef"[:schemes]), tuple(criterion(id) for id in values), values)
    assert told.unbeaten
    assert set(told.winners) <= set(told.shown) <= set(told.unbeaten)
    assert set(told.winners) <= set(told.candidates)
    assert told.nearest
    for found in told.orders.values():
        assert not (found.better & found.better.T).any()
        assert not (found.better & ~found.no_worse).any()


def test_the_best_is_seldom_missed() -> None:
    """Equal schemes: each is as good as the best, so how often one is missed is the error of the rule."""
    rng = np.random.default_rng(1)
    missed = beaten = 0
    rounds, names = 600, tuple("abcdef")
    for _ in range(rounds):
        values = {id: rng.normal(0, 1, (6, 5)) for id in ("x", "y")}
        told = Verdict(names, tuple(criterion(id, matters=1e-9) for id in values), values)
        missed += any("a" not in told.best(c) for c in told.criteria)
        beaten += "a" not in told.unbeaten
    assert missed / rounds < 0.05 + 2 * math.sqrt(0.05 * 0.95 / rounds)
    assert beaten / rounds < 0.05
    assert missed > 0  # or the test tells nothing


def test_better_by_one_and_no_worse_by_another_is_to_beat() -> None:
    told = verdict(fair={"a": [5.0], "b": [2.0], "c": [9.0]}, fast={"a": [5.0], "b": [5.5], "c": [1.0]})
    assert told.standing("a", "b") is Standing.BETTER
    assert told.standing("b", "a") is Standing.WORSE
    assert told.standing("a", "c") is Standing.TRADE
    assert told.unbeaten == ["a", "c"] == told.shown
    assert told.winners == []
    assert [told.place(name) for name in "abc"] == [Place.UNBEATEN, Place.BEATEN, Place.UNBEATEN]
    assert told.best(told.criteria[0]) == ["c"]
    assert told.best(told.criteria[1]) == ["b", "a"]
    # b is 7 behind c in fairness, c 4.5 behind b in speed, a 4 behind c in fairness.
    assert told.nearest == ["a", "c"]
    assert told.weakest("a") == (told.criteria[0], "c")
    assert told.shortfall("a") == pytest.approx(4.0, abs=0.05)


def test_alike_by_what_matters() -> None:
    told = verdict(fair={"a": [5.0], "b": [5.2], "c": [1.0]})
    assert told.standing("a", "b") is Standing.EQUAL
    assert told.winners == ["a", "b"]
    assert told.with_margins(0.1).winners == ["b"]


def test_not_clear_is_neither_better_nor_equal() -> None:
    told = verdict(fair={"a": [0.0, 8.0, 1.0, 7.0], "b": [1.0, 2.0, 1.0, 2.0]})
    assert told.standing("a", "b") is Standing.OPEN
    assert told.unbeaten == ["a", "b"] == told.candidates
    assert told.shown == []
    assert told.place("a") is Place.OPEN
    assert told.winners == []


def test_a_circle_of_beating_leaves_all_of_it() -> None:
    """Each beats the next by 1.5 in one criterion and is 0.9 behind in another, which does not matter."""
    told = verdict(
        x={"a": [1.5], "b": [0.0], "c": [0.75]},
        y={"a": [0.75], "b": [1.5], "c": [0.0]},
        z={"a": [0.0], "b": [0.75], "c": [1.5]},
    )
    assert [told.standing(*pair) for pair in ("ab", "bc", "ca")] == [Standing.BETTER] * 3
    assert told.unbeaten == ["a", "b", "c"]


def test_who_has_no_value_is_worse_than_who_has_one() -> None:
    nothing = [math.nan] * 4
    told = verdict(time={"a": [3.0], "b": nothing, "c": nothing})
    assert told.unbeaten == ["a"] == told.nearest
    assert told.best(told.criteria[0]) == ["a"]
    assert told.standing("b", "c") is Standing.EQUAL
    assert told.mean("b", told.criteria[0]).n == 0


def test_what_is_not_judged_decides_nothing() -> None:
    values = {"x": np.array([[1.0, 1.1], [9.0, 9.1]]), "y": np.array([[5.0, 5.1], [2.0, 2.1]])}
    told = Verdict(("a", "b"), (criterion("x", judged=False), criterion("y")), values)
    assert told.unbeaten == ["a"]
    assert told.error == pytest.approx(0.05)


def test_a_ratio_is_compared_as_a_factor() -> None:
    delay = criterion("delay", scale="ratio", better="less", matters=0.1)
    mine, theirs = np.array([10.0, 20.0, 40.0]), np.array([20.0, 40.0, 80.0])
    found = delay.effect(mine, theirs)
    assert found.estimate == pytest.approx(0.5)
    assert delay.effect_text(found) == "× 0.5 [0.5, 0.5]"
    told = Verdict(("a", "b"), (delay,), {"delay": np.array([mine, theirs])})
    assert told.winners == ["a"]
    [effect] = told.against("b")
    assert effect.standing is Standing.BETTER
    assert effect.significant


def test_p_values_are_corrected_over_schemes_and_criteria() -> None:
    rng = np.random.default_rng(7)
    values = {id: rng.normal([[0.0], [0.5], [2.0]], 0.3, (3, 6)) for id in ("x", "y")}
    told = Verdict(("a", "b", "c"), (criterion("x"), criterion("y")), values)
    raw = [scipy_stats.ttest_rel(values[id][i], values[id][0]).pvalue for i in (1, 2) for id in ("x", "y")]
    found = [effect.p for effect in told.against("a")]
    assert min(found) == pytest.approx(4 * min(raw))
    assert all(corrected >= p for corrected, p in zip(found, raw, strict=True))


# What is judged in which scenario, with the hosts of the paper.
JUDGED = {
    "ten-and-ten": ["flows", "directions", "total", "rtt"],
    "small-and-large-files": ["time:large", "time:small"],
    "web-and-ftp": ["flows", "total", "rtt", "time:http"],
    "near-and-far": ["airtime", "total", "rtt"],
    "five-rates": ["airtime", "total", "rtt"],
    "uploads-slow-down": ["directions", "airtime", "total", "rtt"],
    "ten-downloads-far-away": ["flows", "total", "rtt"],
    "home": ["airtime", "total", "ping", "call", "stream", "stream-loss", "time:film", "time:pages"],
    "cafe": ["directions", "airtime", "total", "ping", "time:reading"],
    "video-call": ["flows", "total", "ping", "call", "stream", "stream-loss"],
    "update-night": ["flows", "total", "ping", "game", "time:pages"],
}


@pytest.mark.parametrize("id", JUDGED)
def test_what_is_judged(id: str) -> None:
    [found] = staged([id])
    assert [c.id for c in criteria(found.scenario(QUICK).plan()) if c.judged] == JUDGED[id]


@cache
def cells_of(paper: str) -> list[Cell]:
    study = import_module(f"wifair.papers.{paper.replace('-', '_')}").STUDY
    found: list[Cell] = study.cells(study.forms[FULL], None)
    return found


@pytest.mark.whole
@pytest.mark.parametrize("cell", OF_PAPERS, ids=lambda cell: cell.id)
def test_a_papers_cell_is_its_own_but_for_what_only_figures_need(cell: PaperCell) -> None:
    [own] = [other for other in cells_of(cell.paper) if cell.keys.items() <= other.keys.items()]
    mine, theirs = cell.scenario(FULL).plan(), own.scenario.plan()
    for plan in (mine, theirs):
        plan["run"] |= {"sample_interval_s": None, "record_transfers": False}
    assert mine == theirs
    quick = cell.scenario(QUICK)
    assert quick.simulated_s() <= cell.scenario(FULL).simulated_s()
    assert {**quick.plan(), "run": None, "flows": None} == {**theirs, "run": None, "flows": None}


def test_the_gallery_is_todays_and_says_why() -> None:
    ids = [scenario.id for scenario in every()]
    assert len(set(ids)) == len(ids)
    assert "plain" not in ids
    for scenario in staged(["home", "cafe", "video-call", "update-night"]):
        assert 3 < len(scenario.title) < 60
        assert len(scenario.why) > 40
        assert scenario.scenario(QUICK).simulated_s() < scenario.scenario(FULL).simulated_s()
        [senders] = scenario.senders
        plan = senders.applied(scenario.scenario(FULL)).plan()
        controls = [flow["tcp"]["congestion_control"]["name"] for flow in plan["flows"] if "tcp" in flow]
        assert "cubic" in controls


def test_todays_hosts_keep_the_packets() -> None:
    [cell] = staged(["five-and-five-ecn"])
    own = cell.scenario(QUICK)
    assert PAPERS.applied(own) is own
    flow = TODAYS.applied(own).plan()["flows"][0]["tcp"]
    assert (flow["mss_bytes"], flow["congestion_control"]["name"], flow["ecn"]) == (960, "cubic", True)
    assert flow["sack"] is not None
    assert flow["handshake"] == "real"


@pytest.mark.parametrize("form", [FULL, QUICK])
def test_a_papers_cell_goes_to_todays_air(form: str) -> None:
    [cell] = staged(["five-rates"])
    own = cell.scenario(form)
    plan = TODAYS_ON_AX.applied(own).plan()
    assert plan["bss"]["phy"]["name"] == "802.11ax"
    assert plan["wire"]["rate_mbps"] > 1201
    # 1, 2 and 5.5 of 11 Mbps, and 1201 Mbps at first: the modes nearest to these shares.
    assert [station["mcs"] for station in plan["bss"]["stations"]] == [11] * 5
    assert [event["station"]["mcs"] for event in plan["events"]] == [1, 2, 5]
    runs = [
        (of["events"][0]["at_s"], sum(of["run"][key] for key in ("warmup_s", "duration_s")))
        for of in (own.plan(), plan)
    ]
    (at_s, total_s), (moved_s, shorter_s) = runs
    assert shorter_s < total_s
    assert moved_s / shorter_s == pytest.approx(at_s / total_s)


def test_the_rates_of_todays_air_are_the_engines() -> None:
    modes = range(len(RATES_MBPS))
    scenario = Scenario(
        run={"warmup_s": 0, "duration_s": 0.01},
        phy=dict(AX.phy),
        mac={"edca": {}},
        stations=[{"name": f"mcs-{mcs}", "mcs": mcs} for mcs in modes],
        flows=[{"station": f"mcs-{mcs}", "direction": "down"} for mcs in modes],
    )
    stations = scenario.run(1).frames["stations"]
    rates = dict(stations.select("station", "link_rate_mbps").iter_rows())
    assert [rates[f"mcs-{mcs}"] for mcs in modes] == pytest.approx(RATES_MBPS, abs=0.1)


def test_everybody_takes_part_with_what_belongs_to_them() -> None:
    from wifair.scenario.components import components

    names = [contender.name for contender in contenders()]
    assert len(set(names)) == len(names)
    assert set(names) >= {told["name"] for kind in ("schemes", "limit_controllers") for told in components(kind)}
    [cell] = staged(["ten-and-ten"])
    base = with_defaults(cell.scenario(QUICK))
    for contender in contenders():
        if contender.name == "arf-aware":
            with pytest.raises(InputError, match="the same as droptail"):
                contender.applied(base)
            continue
        tx_queue = contender.applied(base).plan()["bss"]["ap"]["tx_queue"]
        own = {"alt": 30, "ebdp": 30, "fq-codel": 10_240, "mac80211": 8_192, "air-share": 8_192}
        name = contender.name.removesuffix("-ack-filter").removesuffix("-2016")
        assert tx_queue["limit_packets"] == own.get(name, 100)
        if "filter" in tx_queue["scheme"]:
            assert tx_queue["scheme"]["filter"] == "paper"
            assert contender.applied(base, "safe").plan()["bss"]["ap"]["tx_queue"]["scheme"]["filter"] == "safe"
    with pytest.raises(InputError, match="Did you mean droptail"):
        contenders(["droptial"])
    with pytest.raises(InputError, match="Did you mean ten-and-ten"):
        staged(["ten-an-ten"])


def test_a_controller_moves_the_buffer_that_the_scenario_is_about() -> None:
    [cell] = staged(["download-among-uploads"])
    [alt] = contenders(["alt"])
    categories = alt.applied(cell.scenario(QUICK)).plan()["bss"]["ap"]["categories"]
    assert categories["best_effort"]["limit_controller"]["name"] == "alt"
    assert categories["voice"]["limit_controller"] is None


def test_who_cannot_run_is_there_with_the_reason() -> None:
    contest = Contest.of(QUICK, ["ten-downloads-far-away"], ["droptail", "adaptive-pushout"])
    papers, todays, on_ax = contest.settings
    assert list(papers.cells) == ["droptail"]
    assert "never sees" in papers.refused["adaptive-pushout"] == todays.refused["adaptive-pushout"]
    assert on_ax.refused == todays.refused


MIXED: dict[str, Any] = {
    "run": {"warmup_s": 1, "duration_s": 6},
    "flows": [
        {"name": "up", "direction": "up", "count": 2},
        {"name": "down", "direction": "down", "station": {"rate_mbps": 2.0}},
        {"name": "pages", "direction": "down", "application": {"name": "transfers", "transfer_bytes": 20_000}},
    ],
}


def test_the_numbers_are_those_of_the_tables() -> None:
    scenario = Scenario(**MIXED)
    results = Study([Cell("only", scenario, {"scheme": "droptail"})], 2).run(1)
    runs = Runs.of(results).cell(scheme="droptail")
    found = {c.id: c for c in criteria(scenario.plan())}
    assert list(found) == ["flows", "directions", "airtime", "total", "rtt", "time:pages"]
    assert not found["flows"].judged
    for i, seed in enumerate((1, 2)):
        flows = {row["label"]: row for row in results.flows.to_dicts() if row["seed"] == seed}
        goodput = {label: row["goodput_mbps"] for label, row in flows.items()}
        endless = ["up-1", "up-2", "down"]

        def jain(*shares: float) -> float:
            return sum(shares) ** 2 / (len(shares) * sum(x * x for x in shares))

        air = {
            label: sum(
                row["airtime_s"]
                for row in results.stations.to_dicts()
                if (row["seed"], row["station"]) == (seed, label)
            )
            for label in endless
        }
        groups = results.transfer_groups.to_dicts()
        [mean_s] = [row["mean_with_unfinished_s"] for row in groups if row["seed"] == seed and row["bytes"] is None]
        wanted = {
            "flows": jain(*(goodput[label] for label in endless)),
            "directions": jain((goodput["up-1"] + goodput["up-2"]) / 2, goodput["down"]),
            "airtime": jain(*air.values()),
            "total": sum(goodput.values()),
            "rtt": sum(flows[label]["rtt_mean_ms"] for label in endless) / 3,
            "time:pages": mean_s,
        }
        assert {id: c.values(runs)[i] for id, c in found.items()} == pytest.approx(wanted)


def judged(told: Verdict, **refused: str) -> Judged:
    setting = Setting(OF_PAPERS[0], PAPERS, OF_PAPERS[0].scenario(QUICK).plan(), {}, refused)
    return Judged(setting, told, {})


def test_the_conclusion_is_computed() -> None:
    one = judged(verdict(fair={"droptail": [1.0], REFERENCE: [9.0], "las": [5.0]}))
    assert conclusion(one) == f"`{REFERENCE}` is the best by every criterion."
    two = judged(verdict(fair={"droptail": [1.0], REFERENCE: [5.0], "las": [5.1]}))
    assert conclusion(two) == f"`{REFERENCE}`, `las` are equally good, and the best by every criterion."
    trade = judged(
        verdict(
            fair={"droptail": [1.0], REFERENCE: [5.0], "las": [9.0]},
            fast={"droptail": [1.0], REFERENCE: [7.0], "las": [1.0]},
        )
    )
    assert conclusion(trade).startswith(
        "No scheme is shown to be the best by every criterion. The best compromise is "
        f"`{REFERENCE}`; the worst of `{REFERENCE}` is fair: -4.000"
    )
    overview = Overview([one, two, trade])
    leave, of_papers = findings(overview)
    assert leave.startswith(f"**Leave `{REFERENCE}` as it is, unless one thing counts most.**")
    assert "in 3 without being worse by anything; in 0 it is better by one criterion and worse by another" in leave
    assert "some scheme is better than `mac80211` and worse by nothing in 0 of 3 settings" in of_papers
    record = overview.record("las")
    assert (record.ran, record.unbeaten, record.winner, record.standings[Standing.TRADE]) == (3, 2, 1, 1)
    assert record.net == -2


def test_a_scheme_that_leads_is_named_with_what_it_costs() -> None:
    better = judged(verdict(fair={REFERENCE: [5.0], "las": [9.0], "red": [9.0]}))
    equal = judged(verdict(fair={REFERENCE: [5.0], "las": [5.0], "red": [2.0]}))
    trade = judged(
        verdict(
            fair={REFERENCE: [5.0], "las": [9.0], "red": [5.0]},
            fast={REFERENCE: [7.0], "las": [1.0], "red": [7.0]},
        )
    )
    leads = findings(Overview([better, better, trade, equal]))[0]
    assert leads.startswith(f"**`las` is better than `{REFERENCE}` in 2 of 4 settings**")
    assert (
        "In 1 no difference matters, in 1 it is better by one criterion and worse by another, in 0 only worse; 0 are"
        in leads
    )
    assert leads.endswith(f"by 0.0 times what matters in the median setting, `{REFERENCE}` by 4.0.")
    assert findings(Overview([trade, trade]))[0].startswith(f"**Leave `{REFERENCE}` as it is")


def test_without_what_ships_nothing_is_said_of_it() -> None:
    overview = Overview([judged(verdict(fair={"droptail": [1.0], "las": [5.0]}))])
    assert "not among the schemes" in findings(overview)[0]


@pytest.mark.whole
def test_compare_all(here: Cli, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{COMPARISON.begin}\n{COMPARISON.end}\nafter\n")
    front = tmp_path / "front.md"
    front.write_text(f"{FINDINGS.begin}\n{FINDINGS.end}\n")
    words = ["compare", "--all", "--scenarios", "five-rates", "--schemes", "droptail,red,arf-aware", "--seeds", "2"]
    out = tmp_path / "out"
    first = here(*words, "--out", out, "--page", page, "--page", front, "--json")
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert told == json.loads((out / "comparison.json").read_text())
    assert [setting["id"] for setting in told["settings"]] == ["five-rates/paper", "five-rates/today", "five-rates/ax"]
    assert len(told["settings"][0]["criteria"][0]["schemes"][0]["values"]) == 2
    assert "<h2>" in (out / "comparison.html").read_text()
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "### five-rates" in text
    assert (tmp_path / "images" / "comparison-conclusions.png").exists()
    command = "`wifair compare --all --quick --scenarios five-rates --schemes droptail,red,arf-aware --seeds 2` makes these numbers"
    assert command in text
    assert command in (FINDINGS.between(front) or "")
    contest = Contest.of(QUICK, ["five-rates"], ["droptail", "red", "arf-aware"], 2)
    again_written = texts(
        contest, Overview(values.read(tmp_path / "values" / "page.parquet", contest)), "values/page.parquet"
    )
    assert again_written[COMPARISON].strip() == COMPARISON.between(page)
    again = here(*words, "--out", out)
    assert again.returncode == 0
    assert "16 replications were taken from" in again.stderr
    assert "No scheme is shown to be the best" in " ".join(again.stdout.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--all", "--seeds", "1"], "one run has no interval"),
        (["--all", "--scenarios", "nowhere"], "there is no 'nowhere'"),
        (["--all", "scenarios/five-lines.toml"], "has fixed scenarios"),
        (["--all", "--page", "LICENSE-MIT"], "no place for a comparison"),
        (["--full", "scenarios/five-lines.toml"], "need --all"),
        ([], "a scenario is missing"),
    ],
)
def test_what_does_not_go_together(words: list[str], said: str, here: Cli) -> None:
    done = here("compare", *words)
    assert done.returncode == 2
    assert said in done.stderr
