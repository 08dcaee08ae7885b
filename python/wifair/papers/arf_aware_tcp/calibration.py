"""Which setting gives the NewReno columns of Tables 1 to 5: what the paper leaves open, fitted to what it prints.

Every combination of direction, RTS, packet size, preamble, delayed ACK, buffer and window is run with NewReno alone.

The criterion was fixed before the search was run:

- A setting's *misfit* is the greatest deviation over the 20 printed NewReno numbers: 15 throughputs in units of 10 %, five
  fairness indexes in units of 0.02, which are the tolerances of the claims. A printed sum follows from its throughputs.
- Alike stations are exchangeable here, so the measured throughput of a session is the mean over the sessions of its rate.
- The indexes of Tables 1 and 4 fix the length of these runs: 100 s (`tests/test_arf_aware_tcp.py`); Table 2 compares with
  Table 1. The lengths of Tables 3 and 5, and whether Table 5 has five sessions, as the text says, or the four that it
  prints, are free: each setting takes what fits it best.
- Settings whose misfit exceeds the smallest by less than 0.25 (2.5 % of a throughput, 0.005 of an index) are not told
  apart: engine and ns-2 differ by as much (`docs/peers.md`). If there are several, the data do not decide. The
  baseline is then the one nearest to the text: first the one of which more of these two sentences are true, "Node0 and Node1
  use FTP applications" (the stations send) and "with Delayed ACK option" (an ACK for every second segment); then the one
  with more of ns-2's defaults; then the one with the smaller misfit.

The ARF-aware columns are not looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wifair.papers.arf_aware_tcp.published import NEWRENO, NEWRENO_COLUMNS
from wifair.papers.arf_aware_tcp.study import (
    ANOMALY,
    CHANGE_S,
    DOWNLINK,
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
from wifair.stats import Values, jain
from wifair.study import Cell

INTERVAL_S = 20.0
LENGTHS_S = tuple(INTERVAL_S * n for n in range(3, 11))
FIXED_S = (100.0,)
THROUGHPUT_TOLERANCE = 0.10
INDEX_TOLERANCE = 0.02
INDIFFERENCE = 0.25


class Table(NamedTuple):
    """A table's NewReno column: which cases it may have been, and how long their runs."""

    number: int
    cases: tuple[Case, ...]
    lengths_s: tuple[float, ...]


TABLES = (
    Table(1, (ANOMALY,), FIXED_S),
    Table(2, (FAIR,), FIXED_S),
    Table(3, (LOW,), LENGTHS_S),
    Table(4, (MULTI,), FIXED_S),
    Table(5, (RATES, RATES_OF_FOUR), LENGTHS_S),
)


class Fit(NamedTuple):
    """A setting in one table: throughputs in kbps and index as measured, their deviations in units of the tolerance."""

    case: Case
    length_s: float
    measured_kbps: Values
    fairness: float
    deviations: Values

    @property
    def misfit(self) -> float:
        """The greatest deviation."""
        return float(np.abs(self.deviations).max())


class SettingFit(NamedTuple):
    """A setting in all tables."""

    setting: Setting
    tables: dict[int, Fit]

    @property
    def misfit(self) -> float:
        """The greatest deviation over Tables 1 to 5."""
        return max(fit.misfit for fit in self.tables.values())


def calibration_cells(settings: Sequence[Setting]) -> list[Cell]:
    """NewReno in each setting and table, Table 5 with five and with four sessions."""
    return [
        Cell(
            f"calibration/{setting.id}/{case.id}",
            scenario(case, NEWRENO, setting, table.lengths_s[-1], INTERVAL_S),
            {"setting": setting.id, "case": case.id},
        )
        for setting in settings
        for table in TABLES
        for case in table.cases
    ]


def fits(runs: Runs) -> list[SettingFit]:
    """Every setting that was run, the best first."""
    there = set(runs.places("setting"))
    found = [
        SettingFit(setting, {table.number: best_fit(runs, setting, table) for table in TABLES})
        for setting in SETTINGS
        if setting.id in there
    ]
    return sorted(found, key=lambda fit: fit.misfit)


def undecided(found: Sequence[SettingFit]) -> list[SettingFit]:
    """The settings that the data do not tell from the best, the nearest to the text first."""
    bound = found[0].misfit + INDIFFERENCE
    return sorted(
        (fit for fit in found if fit.misfit < bound), key=lambda fit: (*far_from_text(fit.setting), fit.misfit)
    )


def far_from_text(setting: Setting) -> tuple[int, int]:
    """How many of the text's two sentences are not true of a setting, and how many of its values are not ns-2's."""
    sentences = (setting.direction == "up", setting.ack_every == 2)
    habits = ("rts", "packet_bytes", "preamble", "buffer_packets", "window_packets")
    others = sum(getattr(setting, name) != getattr(DOWNLINK, name) for name in habits)
    return len(sentences) - sum(sentences), others


def best_fit(runs: Runs, setting: Setting, table: Table) -> Fit:
    """A table at the case and length that fit best."""
    tried = [fit(runs, setting, table.number, case, length) for case in table.cases for length in table.lengths_s]
    return min(tried, key=lambda found: found.misfit)


def fit(runs: Runs, setting: Setting, number: int, case: Case, length_s: float) -> Fit:
    """A table's column as runs of that case and length give it."""
    cell = runs.cell(setting=setting.id, case=case.id)
    column = NEWRENO_COLUMNS[number]
    printed = np.array(column.sessions_kbps)
    samples = round(length_s / INTERVAL_S)
    each = np.array([cell.series("goodput_mbps", name)[:, :samples].mean() * 1e3 for name in case.sessions])
    rates = np.array(case.rates_mbps)
    alike = np.array([each[rates == rate].mean() for rate in rates])[: printed.size]
    link_rates = (CHANGE_S * 11.0 + (length_s - CHANGE_S) * rates[: printed.size]) / length_s
    fairness = jain(alike / link_rates)
    throughputs = (alike / printed - 1.0) / THROUGHPUT_TOLERANCE
    deviations = np.append(throughputs, (fairness - column.fairness) / INDEX_TOLERANCE)
    return Fit(case, length_s, alike, fairness, deviations)
