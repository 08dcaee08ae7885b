"""The paper's study: what it prints agrees with its own formula, the setting is the best of the grid, claims are judged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from wifair.papers import find, paper_ids
from wifair.papers.arf_aware_tcp import STUDY, reproduce
from wifair.papers.arf_aware_tcp.calibration import Fit, SettingFit, calibration_cells, fits, undecided
from wifair.papers.arf_aware_tcp.claims import CLAIMS
from wifair.papers.arf_aware_tcp.grid import cells
from wifair.papers.arf_aware_tcp.measured import Measured
from wifair.papers.arf_aware_tcp.published import ARF_AWARE, COLUMNS, NEWRENO, NEWRENO_COLUMNS, Column
from wifair.papers.arf_aware_tcp.study import (
    ALTERNATIVES,
    ANOMALY,
    CALIBRATED,
    CASES,
    CHANGE_S,
    CONTROLS,
    DOWNLINK,
    FAIR,
    FORMS,
    RATES,
    SETTINGS,
    UPLINK,
    Setting,
    scenario,
)
from wifair.papers.reproduction import Form, variant_cells
from wifair.papers.runs import Runs
from wifair.stats import jain
from wifair.study import Study

TINY = Form(2, 2, 0.0, 100.0)


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


def test_what_the_data_do_not_decide_the_text_does() -> None:
    def found(setting: Setting, deviance: float) -> SettingFit:
        return SettingFit(setting, {1: Fit(ANOMALY, 100.0, np.ones(1), 1.0, np.ones(1), deviance)})

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


def test_without_a_change_of_rate_arf_aware_is_newreno() -> None:
    flows = [
        scenario(FAIR, control, CALIBRATED, 30.0, 1.0).run(1).flows.drop("scenario") for control in (ARF_AWARE, NEWRENO)
    ]
    assert flows[0].equals(flows[1])


def test_every_other_reading_changes_the_cells_that_it_concerns_and_no_calibration() -> None:
    grid = cells(FORMS["full"], None)
    assert len({cell.name for cell in grid}) == len(grid)
    for alternative in ALTERNATIVES:
        concerned = [cell for cell in grid if alternative.concerns(cell)]
        assert concerned, alternative.id
        assert all("setting" not in cell.keys for cell in concerned)
        changed = [alternative.applied(cell).scenario.plan_json != cell.scenario.plan_json for cell in concerned]
        assert any(changed), alternative.id


def test_the_whole_study_judges_every_claim(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(FORMS, "quick", TINY)
    found = reproduce("quick", None, None, None, None)
    assert [judgement.id for judgement in found.judgements] == [claim.id for claim in CLAIMS]
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    fitted = {judgement.id for judgement in found.judgements if judgement.verdict.value == "calibrated"}
    assert fitted == {claim.id for claim in CLAIMS if f"-{NEWRENO}" in claim.id and "-session-" in claim.id}
    assert {other.id for other in found.sensitivities} == {*(a.id for a in ALTERNATIVES), "ip-bytes"}
    drawn = found.draw(tmp_path)
    assert set(drawn) == set(find("arf-aware-tcp").FIGURES)
    assert all(path.stat().st_size > 1_000 for paths in drawn.values() for path in paths)
    text = (tmp_path / "calibration.md").read_text()
    assert text.startswith("Of 2 settings")


def test_a_figure_runs_its_cells_alone() -> None:
    assert {cell.keys["case"] for cell in cells(TINY, "4")} == {RATES.id}
    assert {cell.keys["control"] for cell in cells(TINY, "8")} == set(CONTROLS)
    assert len({cell.keys["setting"] for cell in cells(TINY, "calibration")}) == len(SETTINGS) == 432


def test_the_paper_is_found_and_its_full_form_is_large_enough() -> None:
    assert "arf-aware-tcp" in paper_ids()
    assert STUDY.forms["full"].seeds >= 10
    assert STUDY.forms["full"].first_look > 0
