"""Which setting gives the NewReno columns of Tables 1 to 5: what the paper leaves open, fitted to what it prints.

Every combination of direction, RTS, packet size, preamble and delayed ACK is run with NewReno alone, once for each table,
for 200 s; what a shorter run would have given is read from the same runs. The indexes of Tables 1 and 4 fix these
tables' run length: only 100 s give the printed ones. The others print nothing that fixes it. Table 2's throughputs hardly
depend on it. Table 5's are within 10 % at any length from 80 s on in the calibrated setting, so 100 s are taken; its
two indexes would need 76 s (ARF-aware) and 82 s (NewReno), so no single length. Table 3 fits no run of 100 s in any
setting and gets the length that fits best.

A setting's residual is the greatest relative difference over the printed throughputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wifair.papers.arf_aware_tcp.published import NEWRENO, NEWRENO_COLUMNS
from wifair.papers.arf_aware_tcp.study import (
    ANOMALY,
    FAIR,
    LOW,
    MULTI,
    RATES,
    RATES_OF_FOUR,
    SETTINGS,
    Case,
    Setting,
    scenario,
)
from wifair.papers.runs import Runs
from wifair.stats import Values
from wifair.study import Cell

INTERVAL_S = 20.0
LONGEST_S = 200.0
LENGTHS_S = tuple(INTERVAL_S * n for n in range(3, 11))
# By table: its case, and its run length where something in the paper says it.
TABLES: dict[int, tuple[Case, float | None]] = {
    1: (ANOMALY, 100.0),
    2: (FAIR, 100.0),
    3: (LOW, None),
    4: (MULTI, 100.0),
    5: (RATES, 100.0),
}


class Fit(NamedTuple):
    """How a setting comes out in one table, at one run length: measured throughputs, and their relative differences."""

    length_s: float
    measured_kbps: Values
    residuals: Values

    @property
    def greatest(self) -> float:
        """The greatest difference."""
        return float(np.abs(self.residuals).max())


class SettingFit(NamedTuple):
    """A setting in all tables."""

    setting: Setting
    tables: dict[int, Fit]
    four: Fit

    @property
    def greatest(self) -> float:
        """The greatest difference over Tables 1 to 5."""
        return max(fit.greatest for fit in self.tables.values())


def calibration_cells() -> list[Cell]:
    """NewReno in every setting and table, Table 5 with five and with four sessions."""
    cases = [*(case for case, _ in TABLES.values()), RATES_OF_FOUR]
    return [
        Cell(
            f"calibration/{setting.id}/{case.id}",
            scenario(case, NEWRENO, setting, LONGEST_S, INTERVAL_S),
            {"setting": setting.id, "case": case.id},
        )
        for setting in SETTINGS
        for case in cases
    ]


def fits(runs: Runs) -> list[SettingFit]:
    """Every setting, the best first."""
    found = [
        SettingFit(
            setting,
            {table: best_fit(runs, setting, case, table, length) for table, (case, length) in TABLES.items()},
            best_fit(runs, setting, RATES_OF_FOUR, 5, 100.0),
        )
        for setting in SETTINGS
    ]
    return sorted(found, key=lambda fit: fit.greatest)


def best_fit(runs: Runs, setting: Setting, case: Case, table: int, length_s: float | None) -> Fit:
    """A table at its length, or at the one that fits best."""
    lengths = LENGTHS_S if length_s is None else (length_s,)
    return min((fit(runs, setting, case, table, length) for length in lengths), key=lambda found: found.greatest)


def fit(runs: Runs, setting: Setting, case: Case, table: int, length_s: float) -> Fit:
    """A table as a run of that length gives it."""
    cell = runs.cell(setting=setting.id, case=case.id)
    printed = np.array(NEWRENO_COLUMNS[table].sessions_kbps)
    samples = round(length_s / INTERVAL_S)
    measured = np.array(
        [cell.series("goodput_mbps", name)[:, :samples].mean() * 1e3 for name in case.sessions[: printed.size]]
    )
    return Fit(length_s, measured, measured / printed - 1.0)
