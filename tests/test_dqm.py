"""The study of `dqm`: its grid, its claims, and that claims detect what they state."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from wifair.papers import Asked, find, paper_ids
from wifair.papers.dqm import reproduce
from wifair.papers.dqm.claims import CLAIMS
from wifair.papers.dqm.measured import AFTER, BEFORE, Measured
from wifair.papers.dqm.readings import READINGS
from wifair.papers.dqm.study import (
    AFTER_CHANGE,
    BASE,
    DQM,
    FIGURES,
    FORMS,
    HARD_TO_KNOW,
    LATE_UPLINKS,
    MIXES,
    OTHER_BASE,
    OTHER_FLOWS_IN_TIME,
    OTHER_INDEX,
    RATE_CHANGE,
    SCHEMES,
    TURNS,
    UNIFORM,
    UPLINKS_FIRST,
    VARIOUS_RATES,
    Mix,
    cells,
    scenario,
)
from wifair.papers.readings import Reading
from wifair.papers.reproduction import Form, variant_cells
from wifair.papers.runs import CellRuns, Runs
from wifair.study import Cell

# Long enough for a change at 100 s, short enough for a test.
SMALL = Form(seeds=2, first_look=1, warmup_s=0.0, duration_s=200.0)


@cache
def grid() -> list[Cell]:
    return cells(SMALL, None)


def test_the_grid_is_the_papers() -> None:
    assert [(mix.up, mix.down) for mix in MIXES if mix.case == 1] == [(n, n) for n in range(1, 11)]
    assert [(mix.up, mix.down) for mix in MIXES if mix.case == 2] == [(1, n) for n in range(1, 20, 2)]
    # Figs. 2 and 3; 4(a) with the blind scheme, 4(b), various rates; downlinks that begin late.
    assert len(grid()) == 20 * len(SCHEMES) + 2 * (4 + 1 + 3 + 2) + 1 + 2 * len(OTHER_BASE) + len(HARD_TO_KNOW) + len(
        TURNS
    )
    assert FORMS["full"].seeds >= 10
    assert FORMS["full"].first_look > 0
    assert FORMS["quick"].first_look == 0


def test_the_scenario_is_that_of_section_iv() -> None:
    plan = scenario(RATE_CHANGE, Mix(1, 4), DQM, FORMS["full"]).plan()
    flow, tx_queue = plan["flows"][0], plan["bss"]["ap"]["tx_queue"]
    assert tx_queue["limit_packets"] == 100
    scheme = tx_queue["scheme"]
    assert (scheme["a"], scheme["b"], scheme["frequency_hz"]) == (1.822e-5, 1.816e-5, 160.0)
    assert (scheme["delay_ref_ms"], scheme["fair_share_ms"]) == (50.0, 5.0)
    assert flow["tcp"]["mss_bytes"] + flow["tcp"]["header_bytes"] == 1000
    assert flow["tcp"]["receiver_window_segments"] == 43
    assert flow["tcp"]["ecn"] is True
    assert (plan["wire"]["rate_mbps"], plan["wire"]["one_way_delay_ms"]) == (100.0, 25.0)
    assert {station["rate_mbps"] for station in plan["bss"]["stations"]} == {11.0}
    assert [(e["at_s"], e["station"]["label"], e["station"]["rate_mbps"]) for e in plan["events"]] == [
        (100.0, "up-1", 2.0),
        (100.0, "up-2", 2.0),
    ]
    late = scenario(LATE_UPLINKS, Mix(1, 4), DQM, FORMS["full"]).plan()
    assert [flow["start_s"] for flow in late["flows"]] == [100.0, 100.0, 0.0, 0.0]
    early = scenario(UPLINKS_FIRST, Mix(1, 4), BASE, FORMS["full"]).plan()
    assert [flow["start_s"] for flow in early["flows"]] == [0.0, 0.0, 5.0, 5.0]


@pytest.mark.parametrize("mix", [mix for mix in MIXES if mix.case == 1], ids=str)
def test_various_rates_slow_as_many_stations_as_the_rate_change(mix: Mix) -> None:
    plan = scenario(VARIOUS_RATES, mix, DQM, FORMS["full"]).plan()
    slow = [event["station"]["label"] for event in plan["events"]]
    assert len(slow) == mix.up
    assert {event["station"]["rate_mbps"] for event in plan["events"]} == {2.0}
    assert [flow["direction"] for flow in plan["flows"]].count("up") == mix.up
    assert sum(label.startswith("up") for label in slow) in (mix.n // 4, (mix.n + 2) // 4)


@pytest.mark.parametrize("reading", READINGS, ids=[reading.id for reading in READINGS])
def test_every_reading_is_another_simulation_or_another_view(reading: Reading[Measured]) -> None:
    baseline = {(*cell.keys.values(),): cell.scenario.plan_json for cell in grid()}
    others = variant_cells(grid(), reading)
    if not others:
        view = reading.viewed(Measured(Runs({})))
        assert view.flows in OTHER_FLOWS_IN_TIME or view.base in OTHER_BASE
    for cell in others:
        assert cell.scenario.plan_json != baseline[(*list(cell.keys.values())[1:],)]


def test_joint_readings_are_both_of_their_parts() -> None:
    joint = next(reading for reading in READINGS if reading.id == "window-clock+equal-rates")
    (cell, *_) = variant_cells([cell for cell in grid() if cell.keys["scheme"] == DQM], joint)
    scheme = cell.scenario.plan()["bss"]["ap"]["tx_queue"]["scheme"]
    assert (scheme["window"], scheme["equal_rates"], scheme["opportunistic"]) == ("clock", "less-time", True)


def test_claims_have_names_of_their_own_and_say_how_they_are_tested() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.statement.endswith(".")
        assert claim.reading
        assert claim.figure in (None, *FIGURES)
    assert {claim.id: claim.published for claim in CLAIMS if claim.published is not None} == {"3-base-index": 0.203}
    assert {claim.figure for claim in CLAIMS} == {None, *FIGURES} - {"empty-turn", "channel-time"}
    assert "dqm" in paper_ids()
    assert set(FIGURES) == set(find("dqm").FIGURES)


def fake(up: list[float], down: list[float]) -> CellRuns:
    """A cell of one run with given throughputs."""
    flows = [
        {"seed": 1, "direction": way, "goodput_mbps": value, "label": f"{way}-{i}"}
        for way, values in (("up", up), ("down", down))
        for i, value in enumerate(values, 1)
    ]
    return CellRuns({"flows": pl.DataFrame(flows), "runs": pl.DataFrame([{"seed": 1, "duration_s": 200.0}])})


def measured(found: dict[tuple[str, Mix], CellRuns]) -> Measured:
    """Made-up cells of DQM as the claims look at them."""
    return Measured(
        Runs(
            {
                frozenset({"part": part, "scheme": DQM, "case": mix.case, "n": mix.n}.items()): cell
                for (part, mix), cell in found.items()
            }
        ),
        flows=4,
    )


def test_measured_quantities_of_uniform_rates() -> None:
    even, odd, late = Mix(1, 4), Mix(2, 4), Mix(1, 20)
    m = measured(
        {
            (UNIFORM, even): fake([3.0, 1.0], [4.0, 0.0]),
            (UNIFORM, odd): fake([2.0], [0.0, 0.0, 0.0]),
            (UPLINKS_FIRST, late): fake([0.0] * 10, [0.0] * 7 + [0.1] * 3),
        }
    )
    assert m.never_started(DQM) == pytest.approx(7.0)
    assert m.gamma(even, DQM) == pytest.approx(1.0)
    assert m.index(even, DQM) == pytest.approx(64 / (4 * 26))
    assert m.total(even, DQM) == pytest.approx(8.0)
    assert m.gamma(odd, DQM) == pytest.approx(2.0 / (1000 * 8e-6 / 200 / 3))


def test_a_second_without_a_value_does_not_count() -> None:
    mix = Mix(1, 4)
    rows = [
        {"seed": seed, "time_s": float(t), "metric": metric, "entity": "ap", "value": 10.0 * seed + t}
        for seed in (1, 2)
        for t in range(1, 5)
        for metric in ("queue_packets", "sojourn_ms")
        if not (metric == "sojourn_ms" and ((seed, t) == (1, 4) or t == 2))
    ]
    runs = pl.DataFrame([{"seed": seed} for seed in (1, 2)])
    cell = CellRuns({"runs": runs, "series": pl.DataFrame(rows)})
    assert cell.times("sojourn_ms").tolist() == [1.0, 3.0, 4.0]
    assert cell.series("queue_packets").tolist() == [[11.0, 12.0, 13.0, 14.0], [21.0, 22.0, 23.0, 24.0]]
    np.testing.assert_equal(cell.series("sojourn_ms"), [[11.0, 13.0, np.nan], [21.0, 23.0, 24.0]])
    m = measured({(LATE_UPLINKS, mix): cell})
    assert m.mean(LATE_UPLINKS, DQM, "sojourn_ms", (0.5, 1.0)).tolist() == [13.0, 23.5]


def test_former_rules_are_judged_on_the_present_runs() -> None:
    assert all(claim.formerly.evidence for claim in CLAIMS if claim.formerly)


def test_the_index_of_base_is_of_the_view() -> None:
    one, other = fake([1.0], [1.0]), fake([1.0], [0.0])
    places = [(UNIFORM, BASE, one), (OTHER_INDEX, "buffer-50", other)]
    m = Measured(Runs({frozenset({"part": p, "scheme": s, "case": 2, "n": 20}.items()): cell for p, s, cell in places}))
    assert m.base_index(2) == pytest.approx(1.0)
    assert m.with_base("buffer-50").base_index(2) == pytest.approx(0.5)
    plan = scenario(OTHER_INDEX, Mix(2, 20), "buffer-50", FORMS["full"]).plan()
    assert plan["bss"]["ap"]["tx_queue"]["limit_packets"] == 50


def test_lines_are_straight_and_smooth() -> None:
    lines = {(UNIFORM, mix): fake([2.0 * mix.down] * mix.up, [1.0] * mix.down) for mix in MIXES}
    m = measured(lines)
    assert m.gamma_line_fit(2, DQM) == pytest.approx(1.0)
    assert m.gamma_steps(2, DQM) == pytest.approx(np.log(19) / 9)
    assert m.gamma_steps(1, DQM) == pytest.approx(np.log(10) / 9)
    falling = {(UNIFORM, mix): fake([20.0 - mix.down] * mix.up, [1.0] * mix.down) for mix in MIXES}
    assert measured(falling).gamma_line_fit(2, DQM) == pytest.approx(-1.0)
    bent = measured(lines | {(UNIFORM, Mix(2, 10)): fake([90.0], [1.0] * 9)})
    assert bent.gamma_line_fit(2, DQM) < 0.6
    assert bent.roughness("gamma", 2, DQM) > 2 * m.roughness("gamma", 2, DQM)


def test_measured_quantities_in_time() -> None:
    mix = Mix(1, 4)
    rows = [
        {"seed": 1, "time_s": float(t), "metric": metric, "entity": entity, "value": value if t <= 100 else 10 * value}
        for t in range(1, 201)
        for metric, entity, value in (
            ("queue_packets", "ap", 7.0),
            ("goodput_mbps", "up-1", 1.0),
            ("goodput_mbps", "up-2", 3.0),
            ("goodput_mbps", "down-1", 2.0),
            ("goodput_mbps", "down-2", 2.0),
        )
    ]
    cell = CellRuns(
        {**{n: fake([1.0] * 2, [1.0] * 2).table(n) for n in ("flows", "runs")}, "series": pl.DataFrame(rows)}
    )
    sums = pl.DataFrame([{"seed": 1, "channel_time_up_s": 24.0, "channel_time_down_s": 20.0}])
    m = measured({(RATE_CHANGE, mix): cell, (AFTER_CHANGE, mix): CellRuns({"runs": sums})})
    assert m.channel_time_ratio() == pytest.approx(1.2)
    assert m.mean(RATE_CHANGE, DQM, "queue_packets", BEFORE) == pytest.approx(7.0)
    assert m.mean(RATE_CHANGE, DQM, "queue_packets", AFTER) == pytest.approx(70.0)
    assert m.throughput(RATE_CHANGE, DQM, "up", BEFORE) == pytest.approx(2.0)
    assert m.total_in(RATE_CHANGE, DQM, AFTER) == pytest.approx(80.0)
    assert m.index_among(RATE_CHANGE, DQM, "up", BEFORE) == pytest.approx(16 / (2 * 10))
    assert m.index_among(RATE_CHANGE, DQM, "down", AFTER) == pytest.approx(1.0)


@pytest.mark.parametrize("figure", ["4a", "5b"])
def test_a_figure_alone_runs_its_own_cells_and_claims(
    figure: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(FORMS, "quick", SMALL)
    found = reproduce(Asked("quick", figure))
    assert {str(cell.keys["part"]) for cell in found.results.cells} == set(FIGURES[figure])
    assert {cell.keys["n"] for cell in found.results.cells} == {10, *OTHER_FLOWS_IN_TIME}
    assert {judgement.figure for judgement in found.judgements} == {figure}
    for judgement in found.judgements:
        assert judgement.measured is not None
        assert np.isfinite(judgement.measured)
    (path,) = found.draw(tmp_path)[figure]
    assert path.stat().st_size > 5_000
