"""The calibration: fits the settings that the paper leaves open to the NewReno columns of Tables 1 to 5.

Every combination of direction, RTS, packet size, preamble, delayed ACK, buffer and window is run with NewReno alone. With
the free lengths of Tables 3 and 5 and the number of Table 5's sessions these are 27,648 combinations for 20 printed
numbers. The wired delay is held at 5 ms.

The criterion is the second one. The first, `misfit`, was run with three replications of each setting; it told three
settings of 512 bytes without RTS not apart. It ignores how much a single run scatters, and Table 4's index, which decided
between them, scatters by as much as its tolerance. The second criterion was committed before its own search was run, but
with the result of the first known:

- A printed column is taken as one run. A setting is scored by the likelihood of the 20 printed NewReno numbers, 15
  throughputs and five fairness indexes. Each is normal about the mean of the setting's runs. Its variance is that of a
  single run plus that of the difference between engine and ns-2 (`docs/peers.md`): 2.5 % of a throughput, 0.005 of an
  index. A printed sum follows from its throughputs.
- Stations of equal rate are exchangeable, so a session's mean is that of all sessions of its rate, and one relative
  deviation holds for all sessions of a table.
- The indexes of Tables 1 and 4 fix the length of these runs: 100 s (`tests/test_arf_aware_tcp.py`); Table 2 compares
  with Table 1. The lengths of Tables 3 and 5, and whether Table 5 has five sessions, as the text says, or the four that
  it prints, are free: each setting uses the likeliest.
- Settings whose likelihood is more than a twentieth of the greatest are not distinguishable. If there are several, the
  data do not decide. The baseline is then the one nearest to the text: first the one of which more of these two
  sentences are true, "Node0 and Node1 use FTP applications" (the stations send) and "with Delayed ACK option" (an ACK
  for every second segment); then the one with more of ns-2's defaults; then the likeliest.

The ARF-aware columns are not used.
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
from wifair.stats import Values, jain_rows
from wifair.study.job import Cell

INTERVAL_S = 20.0
FIXED_S = (100.0,)
LENGTHS_S = tuple(INTERVAL_S * n for n in range(3, 11))
UP_TO_120_S = LENGTHS_S[:4]
# Standard deviation of the difference between engine and ns-2: relative for a throughput, absolute for an index.
THROUGHPUT_ERROR = 0.025
INDEX_ERROR = 0.005
# The difference of deviance that distinguishes two settings: 2 ln 20.
APART = 2.0 * np.log(20.0)


# The first criterion: tolerances of a throughput (relative) and of an index, and the difference of misfit that
# distinguishes two settings.
THROUGHPUT_TOLERANCE = 0.10
INDEX_TOLERANCE = 0.02
MISFIT_APART = 0.25


class Table(NamedTuple):
    """A table's NewReno column: the possible cases and run lengths."""

    number: int
    cases: tuple[Case, ...]
    lengths_s: tuple[float, ...]


TABLES = (
    Table(1, (ANOMALY,), FIXED_S),
    Table(2, (FAIR,), FIXED_S),
    Table(3, (LOW,), LENGTHS_S),
    Table(4, (MULTI,), FIXED_S),
    Table(5, (RATES, RATES_OF_FOUR), UP_TO_120_S),
)


class Fit(NamedTuple):
    """A setting's fit to one table: mean throughputs in kbps, mean index, and the printed column's deviations.

    `deviations` are those of the printed numbers in standard deviations, the index last. `deviance` is −2 ln(likelihood),
    with throughputs in units of the printed ones.
    """

    number: int
    case: Case
    length_s: float
    measured_kbps: Values
    fairness: float
    deviations: Values
    deviance: float

    @property
    def rms(self) -> float:
        """Root mean square of the deviations."""
        return float(np.sqrt(np.square(self.deviations).mean()))

    @property
    def misfit(self) -> float:
        """The first criterion: the greatest deviation of a mean from a printed number, in tolerances."""
        column = NEWRENO_COLUMNS[self.number]
        throughputs = self.measured_kbps / np.array(column.sessions_kbps) - 1.0
        of_index = (self.fairness - column.fairness) / INDEX_TOLERANCE
        return float(np.abs(np.append(throughputs / THROUGHPUT_TOLERANCE, of_index)).max())


class SettingFit(NamedTuple):
    """A setting's fit to all tables."""

    setting: Setting
    tables: dict[int, Fit]

    @property
    def deviance(self) -> float:
        """The deviance of Tables 1 to 5 together."""
        return sum(fit.deviance for fit in self.tables.values())


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


def fits(runs: Runs, error: float = 1.0) -> list[SettingFit]:
    """The fits of all settings, the likeliest first; `error` scales the difference between engine and ns-2."""
    there = set(runs.places("setting"))
    found = [
        SettingFit(setting, {table.number: best_fit(runs, setting, table, error) for table in TABLES})
        for setting in SETTINGS
        if setting.id in there
    ]
    return sorted(found, key=lambda fit: fit.deviance)


def undecided(found: Sequence[SettingFit]) -> list[SettingFit]:
    """The settings that the data do not distinguish from the likeliest, the nearest to the text first."""
    bound = found[0].deviance + APART
    open_ones = [fit for fit in found if fit.deviance < bound]
    return sorted(open_ones, key=lambda fit: (*far_from_text(fit.setting), fit.deviance))


def far_from_text(setting: Setting) -> tuple[int, int]:
    """The number of the text's two sentences that are false for a setting, and the number of its values that differ from ns-2's."""
    sentences = (setting.direction == "up", setting.ack_every == 2)
    habits = ("rts", "packet_bytes", "preamble", "buffer_packets", "window_packets")
    others = sum(getattr(setting, name) != getattr(DOWNLINK, name) for name in habits)
    return len(sentences) - sum(sentences), others


def misfits(runs: Runs) -> list[tuple[float, Setting]]:
    """The settings with their misfit by the first criterion, the smallest first; each table at its best case and length."""
    there = set(runs.places("setting"))
    found = [
        (max(min(each.misfit for each in tried(runs, setting, table)) for table in TABLES), setting)
        for setting in SETTINGS
        if setting.id in there
    ]
    return sorted(found, key=lambda one: one[0])


def tried(runs: Runs, setting: Setting, table: Table, error: float = 1.0) -> list[Fit]:
    """The fits to a table with each case and length."""
    return [fit(runs, setting, table.number, case, length, error) for case in table.cases for length in table.lengths_s]


def best_fit(runs: Runs, setting: Setting, table: Table, error: float = 1.0) -> Fit:
    """The fit to a table with the likeliest case and length."""
    return min(tried(runs, setting, table, error), key=lambda found: found.deviance)


def fit(runs: Runs, setting: Setting, number: int, case: Case, length_s: float, error: float = 1.0) -> Fit:
    """The fit to a table with that case and length."""
    column = NEWRENO_COLUMNS[number]
    printed, kbps = np.array(column.sessions_kbps), throughputs(runs, setting, case, length_s)
    rates = np.array(case.rates_mbps)
    alike = np.array([kbps[:, rates == rate].mean() for rate in rates])
    free = kbps.size - np.unique(rates).size
    scatter = np.sqrt(np.square(kbps / alike - 1.0).sum() / free)
    means = alike[: printed.size]
    link_rates = (CHANGE_S * 11.0 + (length_s - CHANGE_S) * rates) / length_s
    indexes = jain_rows((kbps / link_rates)[:, : printed.size])
    of_throughput = np.hypot(scatter * means / printed, error * THROUGHPUT_ERROR)
    of_index = np.hypot(indexes.std(ddof=1), error * INDEX_ERROR)
    spread = np.append(of_throughput, of_index)
    deviations = np.append(means / printed - 1.0, indexes.mean() - column.fairness) / spread
    deviance = float(np.square(deviations).sum() + 2.0 * np.log(spread).sum())
    return Fit(number, case, length_s, means, float(indexes.mean()), deviations, deviance)


def throughputs(runs: Runs, setting: Setting, case: Case, length_s: float) -> Values:
    """Throughput of each session in the first `length_s`, in kbps: (seeds, sessions)."""
    cell, samples = runs.cell(setting=setting.id, case=case.id), round(length_s / INTERVAL_S)
    mbps = [cell.series("goodput_mbps", name)[:, :samples].mean(axis=1) for name in case.sessions]
    kbps: Values = np.stack(mbps, axis=1) * 1e3
    return kbps
