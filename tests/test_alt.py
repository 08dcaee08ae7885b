"""The study of `alt`: its grid, its claims, and that claims detect what they state."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from wifair.papers import Asked, find, paper_ids
from wifair.papers.alt import reproduce
from wifair.papers.alt.claims import BOUND, CLAIMS, STATIC
from wifair.papers.alt.measured import DATA_PORT, Measured
from wifair.papers.alt.readings import READINGS
from wifair.papers.alt.study import (
    ALT,
    BUFFERS,
    BUSY,
    EBDP,
    FIG_5,
    FIGURES,
    FORMS,
    ONE,
    PREMISE,
    STEP,
    Buffer,
    Mix,
    cells,
    coordinates,
    scenario,
)
from wifair.papers.claims import Claim, Relation
from wifair.papers.readings import Reading, View, named
from wifair.papers.reproduction import Form, variant_cells
from wifair.papers.runs import CellRuns, Runs

SMALL = Form(seeds=2, first_look=1, warmup_s=2.0, duration_s=8.0)


def test_the_scenario_is_that_of_section_iii() -> None:
    plan = scenario(BUSY, ALT, FORMS["full"]).plan()
    cell, flow = plan["bss"], plan["flows"][-1]
    assert flow["direction"] == "down"
    assert (flow["tcp"]["mss_bytes"], flow["tcp"]["initial_ssthresh_segments"]) == (1000, 64)
    assert flow["tcp"]["receiver_window_segments"] == 4096
    assert flow["tcp"]["congestion_control"]["name"] == "reno"
    assert flow["tcp"]["sack"] is not None
    edca = cell["mac"]["edca"]
    for category, expected in (("voice", (3, 7, 2)), ("best_effort", (31, 1023, 6))):
        assert (edca[category]["cw_min"], edca[category]["cw_max"], edca[category]["aifsn"]) == expected
    assert edca["tcp_acks"] == "voice"
    assert cell["mac"]["retry_limit_short"] == 11
    assert {station["rate_mbps"] for station in cell["stations"]} == {54.0}
    assert (plan["wire"]["rate_mbps"], plan["wire"]["one_way_delay_ms"]) == (100.0, 100.0)
    controller = cell["ap"]["categories"]["best_effort"]["limit_controller"]
    assert (controller["increase_packets_per_s"], controller["decrease_packets_per_s"]) == (10.0, 1.0)
    assert (controller["interval_s"], controller["min_packets"], controller["max_packets"]) == (1.0, 30, 400)
    step = scenario(STEP, EBDP, Form(1, 0, 60.0, 80.0)).plan()
    assert {(flow["start_s"], flow["stop_s"]) for flow in step["flows"] if flow["direction"] == "up"} == {(100, 200)}
    fixed = scenario(Mix(1, 0, 50), 70, FORMS["full"]).plan()
    assert fixed["bss"]["ap"]["categories"]["best_effort"]["limit_packets"] == 70
    assert fixed["wire"]["one_way_delay_ms"] == 25.0
    assert FORMS["full"].seeds >= 10


@pytest.mark.parametrize("reading", READINGS, ids=[reading.id for reading in READINGS])
def test_every_reading_is_another_simulation_or_view(reading: Reading[Measured]) -> None:
    grid = cells(SMALL, None)
    baseline = {(*cell.keys.values(),): cell.scenario.plan_json for cell in grid}
    others = variant_cells(grid, reading)
    assert bool(others) != isinstance(reading, View)
    for cell in others:
        assert cell.scenario.plan_json != baseline[(*list(cell.keys.values())[1:],)]


def applied(name: str, mix: Mix, buffer: Buffer) -> dict[str, Any]:
    """The plan of a cell under a reading."""
    cell = next(cell for cell in cells(SMALL, None) if cell.keys == coordinates(mix, buffer))
    reading = named(name, READINGS)
    assert reading.concerns(cell)
    return reading.applied(cell).scenario.plan()


def test_joint_readings_delay_acks_and_change_the_other_thing() -> None:
    tcp = applied("delayed-ack+min-rto", Mix(1, 2), 30)["flows"][-1]["tcp"]
    assert (tcp["delayed_ack"]["segments"], tcp["rto"]["min_ms"]) == (2, 200)
    tcp = applied("delayed-ack+byte-counting", BUSY, ALT)["flows"][-1]["tcp"]
    assert (tcp["delayed_ack"]["segments"], tcp["byte_counting"] is None) == (2, False)
    assert scenario(BUSY, ALT, SMALL).plan()["flows"][-1]["tcp"]["byte_counting"] is None


def test_steady_service_leaves_one_download_alone() -> None:
    plan = applied("steady-service", BUSY, ALT)
    assert [flow["direction"] for flow in plan["flows"]] == ["down"]
    assert {station["rate_mbps"] for station in plan["bss"]["stations"]} == {2.0}
    controller = plan["bss"]["ap"]["categories"]["best_effort"]["limit_controller"]
    assert controller["name"] == "alt"


def test_claims_have_names_of_their_own_and_say_how_they_are_tested() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.statement.endswith(".")
        assert claim.reading
        assert claim.figure in (None, *FIGURES)
    assert {claim.figure for claim in CLAIMS} == {None, *FIGURES} - {"step"}
    assert pytest.approx(90.909, abs=1e-3) == BOUND
    assert "alt" in paper_ids()
    assert set(FIGURES) == set(find("alt").FIGURES)


def claim(name: str) -> Claim[Measured]:
    """A claim by its id."""
    return next(claim for claim in CLAIMS if claim.id == name)


def fake(throughputs: list[float], delay_ms: float = 300.0, timeouts: int = 2) -> CellRuns:
    """A cell of one download and one upload; a throughput for each run."""
    flows = [
        {"seed": seed, "direction": way, "goodput_mbps": mbps, "srtt_max_ms": delay_ms, "timeouts": timeouts}
        for seed, throughput in enumerate(throughputs, 1)
        for way, mbps in (("up", 7.0), ("down", throughput))
    ]
    runs = [{"seed": seed, "duration_s": 100.0} for seed in range(1, len(throughputs) + 1)]
    series = [
        {"seed": seed, "metric": "limit_packets", "entity": DATA_PORT, "time_s": time_s, "value": value}
        for seed in range(1, len(throughputs) + 1)
        for time_s, value in ((50.0, 30.0), (100.0, 30.0), (150.0, 60.0), (200.0, 60.0))
    ]
    return CellRuns({"flows": pl.DataFrame(flows), "runs": pl.DataFrame(runs), "series": pl.DataFrame(series)})


def measured(found: dict[tuple[Mix, Buffer], CellRuns]) -> Measured:
    """Made-up cells as the claims' `Measured`."""
    return Measured(Runs({frozenset(coordinates(mix, buffer).items()): cell for (mix, buffer), cell in found.items()}))


def test_thresholds_lie_where_the_curve_first_reaches_the_share() -> None:
    # Rises by 1 Mbps a buffer in the first run, and is level from the third buffer on in the second.
    curves = {packets: [float(i + 1), min(float(i + 1), 3.0)] for i, packets in enumerate(BUFFERS)}
    m = measured({(ONE, packets): fake(curve) for packets, curve in curves.items()})
    assert m.maximum(ONE).tolist() == [8.0, 3.0]
    # 7.6 Mbps lies 60 % of the way from 300 to 400 packets; 2.85 at 85 % of that from 30 to 50.
    assert m.threshold(ONE) == pytest.approx([360.0, 47.0])
    assert m.with_full(0.99).threshold(ONE) == pytest.approx([392.0, 49.4])
    assert m.relative_throughput(ONE, 40.0) == pytest.approx([2.5 / 8, 2.5 / 3])
    assert m.bdp_packets(ONE) == pytest.approx(5.5e6 * 0.2 / 8000)


def test_measured_quantities_against_400_packets_and_of_the_limit() -> None:
    m = measured({(ONE, ALT): fake([9.0, 12.0], 240.0), (ONE, 400): fake([10.0, 10.0], 480.0)})
    assert m.throughput_percentage(ONE) == pytest.approx([90.0, 120.0])
    assert m.delay_percentage(ONE) == pytest.approx([50.0, 50.0])
    assert m.timeouts(ONE, ALT) == pytest.approx([16.0, 16.0])  # 2 of each flow in 100 s, counted in 400 s
    assert m.limit(ONE) == pytest.approx([60.0, 60.0])  # of the measurement alone


def test_the_buffer_with_the_fewest_timeouts() -> None:
    """An RTO of each of the two flows in 100 s is eight in 400 s; from the buffer on that has two at most above the fewest."""
    counts = (3, 2, 1, 2, 1, 1, 1, 1)
    m = measured({(ONE, packets): fake([1.0], timeouts=n) for packets, n in zip(BUFFERS, counts, strict=True)})
    assert m.fewest_timeouts_from(ONE) == pytest.approx([100.0])
    m = measured({(ONE, packets): fake([1.0], timeouts=1) for packets in BUFFERS})
    assert m.fewest_timeouts_from(ONE) == pytest.approx([10.0])
    rising: dict[tuple[Mix, Buffer], CellRuns] = {
        (ONE, packets): fake([1.0], timeouts=9 if packets == 400 else 0) for packets in BUFFERS
    }
    assert measured(rising).fewest_timeouts_from(ONE) == pytest.approx([400.0])


def test_the_table_of_parameters_has_each_readings_own_values() -> None:
    """Its limit, and its throughput in percent of the greatest of a fixed buffer; a table needs every reading."""
    from wifair.papers.alt import STUDY
    from wifair.papers.alt.figures import TABLES

    fixed: dict[tuple[Mix, Buffer], CellRuns] = {
        (mix, packets): fake([10.0, 10.0]) for mix in (ONE, BUSY) for packets in BUFFERS
    }

    def with_alt(mbps: float) -> Measured:
        return measured({**fixed, **{(mix, ALT): fake([mbps, mbps + 0.1]) for mix in (ONE, BUSY)}})

    data = {reading.id: with_alt(9.0) for reading in READINGS}
    text = TABLES["parameters"](data | {"baseline": with_alt(9.0), "b-half": with_alt(9.5)})
    assert text.splitlines()[2:4] == [
        "| `baseline`: a = 10, b = 1, t = 1 s | 60 (identical) | 90.5 ± 6.4 | 60 (identical) | 90.5 ± 6.4 |",
        "| `b-half`: b = 0.5 | 60 (identical) | 95.5 ± 6.4 | 60 (identical) | 95.5 ± 6.4 |",
    ]
    assert STUDY.tables({"baseline": with_alt(9.0)}) == {}


def test_the_dcf_has_one_buffer_of_the_same_length() -> None:
    for packets in (30, 400):
        cell = applied("dcf", PREMISE, packets)["bss"]
        assert cell["mac"]["edca"] is None
        assert cell["ap"]["tx_queue"]["limit_packets"] == packets


def test_the_premise_is_measured_over_all_attempts_and_uploads() -> None:
    flows = pl.DataFrame(
        {"seed": [1, 1], "direction": ["up", "up"], "goodput_mbps": [3.0, 1.0], "timeouts": [0, 0]},
    )
    stations = pl.DataFrame({"seed": [1] * 4, "direction": ["up", "down"] * 2, "attempts": [50, 10, 30, 10]})
    runs = pl.DataFrame({"seed": [1], "duration_s": [100.0]})
    m = measured({(PREMISE, 400): CellRuns({"flows": flows, "stations": stations, "runs": runs})})
    assert m.ap_share(PREMISE, 400) == pytest.approx([0.2])
    assert m.upload_throughput(PREMISE, 400) == pytest.approx([4.0])
    assert m.upload_fairness(PREMISE, 400) == pytest.approx([0.8])


def test_without_a_category_acks_wait_with_the_data() -> None:
    premise = scenario(PREMISE, 400, FORMS["full"]).plan()
    assert premise["bss"]["mac"]["edca"]["tcp_acks"] == "best-effort"
    assert {flow["direction"] for flow in premise["flows"]} == {"up"}


def test_a_fixed_buffer_fails_by_its_worst_mix() -> None:
    """90 % of the throughput is 0.9 points below the bound; 1.5 times ALT's delay is 40 points above 1.1 times."""
    cells_of = {(mix, buffer): fake([10.0, 10.0], 300.0) for mix in STATIC for buffer in (*BUFFERS, ALT)}
    cells_of[ONE, 30] = fake([9.0, 9.0], 300.0)
    cells_of[BUSY, 70] = fake([10.0, 10.0], 450.0)
    found = claim("VI-both").evidence(measured(cells_of))
    assert isinstance(found, Relation)
    margins = {point.label: point.values for point in found.points}
    assert margins["30 packets"] == pytest.approx([0.909, 0.909], abs=1e-3)
    assert margins["70 packets"] == pytest.approx([40.0, 40.0])
    assert margins["100 packets"] == pytest.approx([BOUND - 100.0] * 2)


def test_the_study_runs_and_draws(tmp_path: Path) -> None:
    from wifair.papers.alt import STUDY

    small = replace(STUDY, forms={"small": SMALL})
    done = small.reproduce(Asked("small", "5"))
    assert {judgement.id for judgement in done.judgements} == {claim.id for claim in CLAIMS if claim.figure == "5"}
    drawn = done.draw(tmp_path)
    assert [path.name for path in drawn["5"]] == ["figure-5.png"]
    assert reproduce == STUDY.reproduce
    course = Measured(Runs.of(done.results)).limit_course(FIG_5[0])
    assert course.shape == (2, 5)
    assert np.all((course >= 30) & (course <= 400))
