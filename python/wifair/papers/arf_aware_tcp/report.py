"""Tables 1 to 5 and the calibration as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wifair.markdown import table
from wifair.papers.arf_aware_tcp.calibration import (
    TABLES,
    Fit,
    SettingFit,
    fits,
    undecided,
)
from wifair.papers.arf_aware_tcp.measured import Measured
from wifair.papers.arf_aware_tcp.published import COLUMNS, NEWRENO_COLUMNS, Column
from wifair.papers.arf_aware_tcp.study import CANDIDATES, CASES
from wifair.stats import Values, t_interval

CASE_OF = {case.id: case for case in CASES}


def tables(m: Measured) -> str:
    """The printed and measured values side by side."""
    parts = []
    for column in COLUMNS:
        parts += [
            f"Table {column.table}, {column.control}",
            table(("", "printed", "measured", "difference"), _rows(m, column)),
        ]
    return "\n\n".join(parts) + "\n"


def _rows(m: Measured, column: Column) -> list[Sequence[str]]:
    case, printed = CASE_OF[column.case], len(column.sessions_kbps)
    sessions = m.sessions(case, column.control)
    rows = [_row(f"Session {i + 1} [kbps]", kbps, sessions[:, i], ".0f") for i, kbps in enumerate(column.sessions_kbps)]
    rows.append(_row("Fairness index", column.fairness, m.index(case, column.control, printed), ".4f"))
    rows.append(_row("Aggregate [kbps]", column.aggregate_kbps, m.aggregate(case, column.control, printed), ".0f"))
    return rows


def _row(name: str, printed: float, values: Values, form: str) -> Sequence[str]:
    found = t_interval(values)
    interval = "" if found.low is None else f" [{found.low:{form}}, {found.high:{form}}]"
    return name, f"{printed:g}", f"{found.estimate:{form}}{interval}", f"{100 * (found.estimate / printed - 1):+.1f} %"


def calibration(m: Measured) -> str:
    """The result of the criterion, the indistinguishable settings by table, and the deviations of every setting."""
    found = fits(m.runs)
    open_ones = undecided(found)
    parts = [_decision(found, open_ones)]
    for error in (2.0, 4.0):
        doubted = fits(m.runs, error)
        names = "; ".join(fit.setting.id for fit in undecided(doubted))
        parts.append(f"If engine and ns-2 may differ by {error:g} times as much, not told apart are: {names}.")
    for each in [*open_ones, *(fit for fit in found if fit.setting in CANDIDATES and fit not in open_ones)]:
        rows = [_fit_row(number, fit) for number, fit in each.tables.items()]
        parts += [
            f"{each.setting.id}: likelihood {_share(found, each)} of the greatest.",
            table(("table", "sessions", "run length", "printed [kbps], index", "measured", "differences"), rows),
        ]
    parts += [
        "Every setting: root mean square of the deviations by table, in standard deviations, and the likelihood.",
        table(
            ("setting", *(f"Table {each.number}" for each in TABLES), "likelihood"),
            (
                (fit.setting.id, *(f"{part.rms:.2f}" for part in fit.tables.values()), _share(found, fit))
                for fit in found
            ),
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _decision(found: Sequence[SettingFit], open_ones: Sequence[SettingFit]) -> str:
    told = f"Of {len(found)} settings the likeliest is {found[0].setting.id}."
    if len(open_ones) == 1:
        return f"{told} The data decide for it."
    return f"{told} {len(open_ones)} are not told apart; the nearest of them to the text is {open_ones[0].setting.id}."


def _share(found: Sequence[SettingFit], fit: SettingFit) -> str:
    return f"{np.exp((found[0].deviance - fit.deviance) / 2.0):.2g}"


def _fit_row(number: int, found: Fit) -> Sequence[str]:
    column = NEWRENO_COLUMNS[number]
    printed = [*(f"{kbps:g}" for kbps in column.sessions_kbps), f"{column.fairness:.3f}"]
    measured = [*(f"{kbps:.0f}" for kbps in found.measured_kbps), f"{found.fairness:.3f}"]
    differences = [
        f"{100 * (mean / kbps - 1.0):+.1f} %"
        for mean, kbps in zip(found.measured_kbps, column.sessions_kbps, strict=True)
    ]
    return (
        str(number),
        str(len(found.case.rates_mbps)),
        f"{found.length_s:g} s",
        ", ".join(printed),
        ", ".join(measured),
        ", ".join([*differences, f"{found.fairness - column.fairness:+.3f}"]),
    )
