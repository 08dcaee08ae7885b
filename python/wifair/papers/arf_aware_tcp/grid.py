"""The grid: every case under both controls, and the calibration."""

from __future__ import annotations

from wifair.papers.arf_aware_tcp.calibration import calibration_cells
from wifair.papers.arf_aware_tcp.published import ARF_AWARE
from wifair.papers.arf_aware_tcp.study import (
    CALIBRATED,
    CANDIDATES,
    CASES,
    CASES_OF_FIGURE,
    CONTROLS,
    FAIR,
    SAMPLE_S,
    SETTINGS,
    scenario,
)
from wifair.papers.reproduction import Form
from wifair.study.job import Cell


def cells(form: Form, figure: str | None) -> list[Cell]:
    """The whole grid, or the cells of one figure. The calibration has two candidates, or with its figure the whole search.

    Every form runs the paper's lengths.
    """
    cases = CASES if figure is None else CASES_OF_FIGURE[figure]
    grid = [
        Cell(
            f"{case.id}/{control}",
            scenario(case, control, CALIBRATED, case.duration_s, SAMPLE_S),
            {"case": case.id, "control": control},
        )
        for case in cases
        for control in CONTROLS
        if not (case is FAIR and control == ARF_AWARE)  # no rate changes: the same as NewReno
    ]
    settings = {"calibration": SETTINGS, None: CANDIDATES}.get(figure, ())
    return grid + calibration_cells(settings)
