"""The paper's study: what it prints agrees with its own formula, the setting is the best of the grid, claims are judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from wifair.papers import Asked, find, paper_ids
from wifair.papers.arf_aware_tcp import STUDY, report, reproduce
from wifair.papers.arf_aware_tcp.calibration import Fit, SettingFit, calibration_cells, fits, undecided
from wifair.papers.arf_aware_tcp.claims import CLAIMS
from wifair.papers.arf_aware_tcp.claims.margins import FAIRNESS, MUCH, implied_kept
from wifair.papers.arf_aware_tcp.grid import cells
from wifair.papers.arf_aware_tcp.measured import Measured
from wifair.papers.arf_aware_tcp.published import ARF_AWARE, COLUMNS, NEWRENO, NEWRENO_COLUMNS, Column
from wifair.papers.arf_aware_tcp.readings import READINGS
from wifair.papers.arf_aware_tcp.study import (
    ANOMALY,
    CALIBRATED,
    CASES,
    CHANGE_S,
    CONTROLS,
    DOWNLINK,
    FAIR,
    FORMS,
    MOVED_BY_ARF,
    RATES,
    RECOVERY,
    SETTINGS,
    UPLINK,
    WIRED,
    Case,
    Setting,
    scenario,
)
from wifair.papers.readings import named
from wifair.papers.reproduction import Form, variant_cells
from wifair.papers.runs import Runs
from wifair.stats import jain, jain_rows
from wifair.study import Cell, Study

TINY = Form(2, 2, 0.0, 100.0)
# Claims on NewReno alone that follow from the columns to which the setting was fitted.
FOLLOWING = {"1-throughputs-equal", "2-newreno-suffers", "4-newreno-fair", "7-drops-seriously", "9-anomaly"}


def printed_index(column: Column, duration_s: float) -> float:
    """Equations 1 to 3 on a column's printed throughputs, in a run of that length."""
    case = next(case for case in CASES if case.id == column.case)
    rates = case.rates_mbps[: len(column.sessions_kbps)]
    link_rates = [(CHANGE_S * 11.0 + (duration_s - CHANGE_S) * rate) / duration_s for rate in rates]
    return jain(np.array(column.sessions_kbps) / np.array(link_rates))


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.id)
def test_the_printed_numbers_agree_with_each_other(column: Column) -> None:
    assert sum(column.sessions_kbps) == pytest.approx(column.aggregate_kbps, abs=2)
    if column.table in (1, 4):  # 100 s and no other length
        assert printed_index(column, 100.0) == pytest.approx(column.fairness, abs=1e-3)
        assert abs(printed_index(column, 120.0) - column.fairness) > 1e-3
    elif column.table in (2, 3):  # equal rates: any length
        assert printed_index(column, 100.0) == pytest.approx(column.fairness, abs=1e-3)
    else:  # Table 5: no length gives both columns
        other = {ARF_AWARE: 76.5, NEWRENO: 82.5}[column.control]
        assert printed_index(column, other) == pytest.approx(column.fairness, abs=1e-3)


def test_a_setting_is_likelier_the_nearer_its_runs_are_to_the_printed_column() -> None:
    settings = (DOWNLINK, UPLINK, DOWNLINK._replace(packet_bytes=1460))
    found = fits(Runs.of(Study(calibration_cells(settings), 3).run()))
    assert found[-1].setting.packet_bytes == 1460
    for table, fit in found[0].tables.items():
        printed = np.array(NEWRENO_COLUMNS[table].sessions_kbps)
        assert np.sign(fit.deviations[:-1]) == pytest.approx(np.sign(fit.measured_kbps - printed))
        assert np.all(np.abs(fit.deviations[:-1]) <= np.abs(fit.measured_kbps / printed - 1.0) / 0.025)
        link_rates = 11.0 * CHANGE_S + np.array(fit.case.rates_mbps) * (fit.length_s - CHANGE_S)
        assert fit.fairness == pytest.approx(jain(fit.measured_kbps / link_rates[: printed.size]), abs=0.02)


def test_the_calibration_is_repeated_for_disjoint_sets_of_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = Runs.of(Study(calibration_cells((DOWNLINK, UPLINK)), 5).run())
    parts = runs.sets(2)
    places = {"setting": UPLINK.id, "case": ANOMALY.id}
    assert [part.cell(**places).seeds for part in parts] == [[1, 2], [3, 4]]
    whole = runs.cell(**places).flows("goodput_mbps")
    assert np.array_equal(np.concatenate([part.cell(**places).flows("goodput_mbps") for part in parts]), whole[:4])
    monkeypatch.setattr(report, "SEARCHED", 2)
    text = report.calibration(Measured(runs))
    assert [f"| {seeds} |" in text for seeds in ("1 to 2", "3 to 4", "5 to 6")] == [True, True, False]
    assert "| printed | 0.069 |" in text  # Table 4's sessions
    assert "| 3 | 2 | 200 s | 411, 383, 0.999 |" in text
    assert "| 1 | 1.035 |" in text
    monkeypatch.setattr(report, "SEARCHED", 5)
    assert "disjoint" not in report.calibration(Measured(runs))


def test_what_the_data_do_not_decide_the_text_does() -> None:
    def found(setting: Setting, deviance: float) -> SettingFit:
        return SettingFit(setting, {1: Fit(1, ANOMALY, 100.0, np.ones(1), 1.0, np.ones(1), deviance)})

    delayed = DOWNLINK._replace(ack_every=2)
    best, near, farther = found(DOWNLINK, 3.0), found(UPLINK, 8.9), found(delayed, 9.1)  # 2 ln 20 = 5.99
    assert [fit.setting for fit in undecided([best, near, farther])] == [UPLINK, DOWNLINK]
    assert [fit.setting for fit in undecided([best, farther])] == [DOWNLINK]
    alike = found(UPLINK._replace(preamble="long"), 4.0)  # one more of ns-2's defaults
    assert undecided([best, alike, near])[0] is alike


def test_the_index_takes_the_rates_as_recorded() -> None:
    runs = Study(variant_cells(cells(TINY, "2")), 2).run()
    m = Measured(Runs.of(runs))
    assert m.link_rates(ANOMALY, NEWRENO) == pytest.approx(np.array([[3.0, 11.0]] * 2))
    shares = m.sessions(ANOMALY, NEWRENO)[0] / np.array([3.0, 11.0])
    assert m.index(ANOMALY, NEWRENO)[0] == pytest.approx(jain(shares))
    whole = m.course(ANOMALY, NEWRENO, "session-1").mean(axis=1) * 8e-3 * CALIBRATED.packet_bytes
    assert whole == pytest.approx(m.sessions(ANOMALY, NEWRENO)[:, 0])


def test_the_window_is_divided_when_the_rate_falls() -> None:
    m = Measured(Runs.of(Study(variant_cells(cells(TINY, "2")), 2).run()))
    before, after = (m.window(ANOMALY, ARF_AWARE, "session-1", at) for at in (CHANGE_S, CHANGE_S + 1.0))
    assert np.array_equal(after, before // 11)
    assert np.all(m.window(ANOMALY, NEWRENO, "session-1", CHANGE_S + 1.0) >= before)


def test_without_a_change_of_rate_arf_aware_is_newreno() -> None:
    flows = [
        scenario(FAIR, control, CALIBRATED, 30.0, 1.0).run(1).flows.drop("scenario") for control in (ARF_AWARE, NEWRENO)
    ]
    assert flows[0].equals(flows[1])


@pytest.mark.whole
def test_every_other_reading_changes_the_cells_that_it_concerns_and_no_calibration() -> None:
    grid = cells(FORMS["full"], None)
    assert len({cell.name for cell in grid}) == len(grid)
    for reading in READINGS:
        concerned = [cell for cell in grid if reading.concerns(cell)]
        assert all("setting" not in cell.keys for cell in concerned)
        changed = [reading.applied(cell).scenario.plan_json != cell.scenario.plan_json for cell in concerned]
        assert any(changed) or reading.id == "ip-bytes", reading.id


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_other_setting_as_a_reading_is_the_scenario_in_it(case: Case) -> None:
    reading = named("uplink-setting", READINGS)
    for control in CONTROLS:
        here = Cell("here", scenario(case, control, DOWNLINK, 100.0, 1.0), {"control": control})
        assert reading.concerns(here)
        assert reading.applied(here).scenario.plan_json == scenario(case, control, UPLINK, 100.0, 1.0).plan_json


def test_joint_readings_are_their_parts_together() -> None:
    joint = named("uplink-setting+wire-50ms", READINGS)
    here = Cell("here", scenario(ANOMALY, ARF_AWARE, DOWNLINK, 100.0, 1.0), {"control": ARF_AWARE})
    expected = scenario(ANOMALY, ARF_AWARE, UPLINK, 100.0, 1.0).override({"wire.one_way_delay_ms": 50.0})
    assert joint.applied(here).scenario.plan_json == expected.plan_json
    scaled = named("uplink-setting+arf-window-scaled", READINGS).applied(here).scenario.plan()
    assert {flow["tcp"]["congestion_control"]["window"]["name"] for flow in scaled["flows"]} == {"scaled"}


def test_arf_itself_moves_the_rate_and_its_sender_follows() -> None:
    cells = [
        Cell(
            control,
            scenario(MOVED_BY_ARF, control, CALIBRATED, 100.0, 1.0),
            {"case": MOVED_BY_ARF.id, "control": control},
        )
        for control in CONTROLS
    ]
    assert all(event["station"].get("rate_mbps") is None for cell in cells for event in cell.scenario.plan()["events"])
    m = Measured(Runs.of(Study(cells, 2).run()))
    rates = m.cell(MOVED_BY_ARF, ARF_AWARE).series("link_rate_down_mbps", "session-1")
    assert np.all(rates[:, :20] == 11.0)
    assert np.all((rates[:, 21:] >= 1.0) & (rates[:, 21:] < 1.5))  # mean of a second, with probes at 2 Mbps
    assert np.all(m.cell(MOVED_BY_ARF, ARF_AWARE).series("link_rate_down_mbps", "session-2") == 11.0)
    kept = {control: m.kept(MOVED_BY_ARF, control, "session-1", (25.0, 100.0)) for control in CONTROLS}
    assert np.all(kept[ARF_AWARE] < kept[NEWRENO])


def test_the_wire_is_the_bottleneck_at_either_rate() -> None:
    cell = Cell(NEWRENO, scenario(WIRED, NEWRENO, CALIBRATED, 100.0, 1.0), {"case": WIRED.id, "control": NEWRENO})
    m = Measured(Runs.of(Study([cell], 2).run()))
    full = 0.8e6 / (8 * 1040)  # packets/s with headers
    for span in ((5.0, 20.0), (25.0, 100.0)):
        assert m.total_rate(WIRED, NEWRENO, span) == pytest.approx(np.full(2, full), rel=0.02)


def test_the_index_of_a_span_takes_the_rates_of_that_span() -> None:
    cells = [
        Cell(NEWRENO, scenario(RECOVERY, NEWRENO, CALIBRATED, 100.0, 1.0), {"case": RECOVERY.id, "control": NEWRENO})
    ]
    m = Measured(Runs.of(Study(cells, 2).run()))
    anomaly = (25.0, 70.0)
    rates = np.stack([m.rate(RECOVERY, NEWRENO, name, anomaly) for name in RECOVERY.sessions], axis=1)
    assert m.index_in(RECOVERY, NEWRENO, anomaly) == pytest.approx(jain_rows(rates / np.array([1.0, 11.0])))
    recovered = m.index_in(RECOVERY, NEWRENO, (75.0, 100.0))
    assert np.all(recovered > 0.99)
    assert m.index_range(RECOVERY, NEWRENO) == pytest.approx(1.0 - m.index_in(RECOVERY, NEWRENO, anomaly), abs=0.01)


def test_what_the_tables_imply_of_the_figures() -> None:
    # Table 1: 99.8 Mbit in 100 s, of which 19 s at half of 2.101 Mbps x 100 / 99.
    before = 2101 / 2 * 100 / 99
    assert implied_kept(ANOMALY, ARF_AWARE, (1,)) == pytest.approx((99_800 - 19 * before) / 80 / before)
    # Table 5 prints four of five sessions: the fifth has the fourth's rate.
    before = 2101 * 100 / 99
    assert implied_kept(RATES, NEWRENO, tuple(range(5))) == pytest.approx(
        (80 * (1068 + 260) - 19 * before) / 60 / before
    )


def test_a_calibrated_relation_follows_from_the_printed_newreno_columns() -> None:
    fair, broken = NEWRENO_COLUMNS[2].fairness, NEWRENO_COLUMNS[1].fairness
    assert fair > FAIRNESS
    assert fair - broken > MUCH
    kept = [implied_kept(ANOMALY, NEWRENO, (i,)) for i in (0, 1)]
    assert kept[0] / kept[1] == pytest.approx(1.0, abs=0.1)
    assert 1.0 - kept[1] > MUCH
    assert implied_kept(RATES, NEWRENO, tuple(range(5))) < 0.75


def test_newreno_in_figs_8_and_9_is_table_1s_run_until_the_rate_returns() -> None:
    grid = [
        Cell(case.id, scenario(case, NEWRENO, CALIBRATED, 100.0, 1.0), {"case": case.id, "control": NEWRENO})
        for case in (ANOMALY, RECOVERY)
    ]
    m = Measured(Runs.of(Study(grid, 2).run()))
    once, back = (m.total_course(case, NEWRENO) for case in (ANOMALY, RECOVERY))
    assert np.array_equal(once[:, :70], back[:, :70])
    assert not np.array_equal(once, back)


@pytest.mark.whole
def test_the_whole_study_judges_every_claim(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(FORMS, "quick", TINY)
    found = reproduce(Asked("quick"))
    assert [judgement.id for judgement in found.judgements] == [claim.id for claim in CLAIMS]
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    fitted = {judgement.id for judgement in found.judgements if judgement.verdict.value == "calibrated"}
    tables = {claim.id for claim in CLAIMS if claim.id.startswith("t") and f"-{NEWRENO}" in claim.id}
    assert fitted == tables | FOLLOWING
    assert {other.id for other in found.sensitivities} == {reading.id for reading in READINGS}
    drawn = found.draw(tmp_path)
    assert set(drawn) == set(find("arf-aware-tcp").FIGURES)
    assert all(path.stat().st_size > 1_000 for paths in drawn.values() for path in paths)
    text = (tmp_path / "calibration.md").read_text()
    assert text.startswith("Of 2 settings")
    assert "| ARF moves the rates: index |" in (tmp_path / "tables.md").read_text()


@pytest.mark.whole
def test_a_figure_runs_its_cells_alone() -> None:
    assert {cell.keys["case"] for cell in cells(TINY, "4")} == {RATES.id}
    assert {cell.keys["control"] for cell in cells(TINY, "8")} == set(CONTROLS)
    assert len({cell.keys["setting"] for cell in cells(TINY, "calibration")}) == len(SETTINGS) == 432


def test_the_paper_is_found_and_its_full_form_is_large_enough() -> None:
    assert "arf-aware-tcp" in paper_ids()
    assert STUDY.forms["full"].seeds >= 10
    assert STUDY.forms["full"].first_look > 0
