"""Tables 1 to 5 and the calibration as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from wifair.markdown import table
from wifair.papers.arf_aware_tcp.calibration import (
    INDEX_TOLERANCE,
    TABLES,
    THROUGHPUT_TOLERANCE,
    Fit,
    SettingFit,
    fits,
    undecided,
)
from wifair.papers.arf_aware_tcp.measured import Measured
from wifair.papers.arf_aware_tcp.published import COLUMNS, NEWRENO_COLUMNS, Column
from wifair.papers.arf_aware_tcp.study import CASES
from wifair.stats import Values, t_interval

CASE_OF = {case.id: case for case in CASES}


def tables(m: Measured) -> str:
    """Printed and measured, side by side."""
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
    """What the criterion says, the settings that it does not tell apart table by table, and every setting's misfit."""
    found = fits(m.runs)
    open_ones = undecided(found)
    parts = [_decision(found, open_ones)]
    for each in open_ones:
        rows = [_fit_row(number, fit) for number, fit in each.tables.items()]
        parts += [
            f"{each.setting.id}: misfit {each.misfit:.2f}.",
            table(("table", "sessions", "run length", "printed [kbps], index", "measured", "deviations"), rows),
        ]
    parts += [
        "Misfit by table, every setting.",
        table(
            ("setting", *(f"Table {each.number}" for each in TABLES), "all"),
            (
                (fit.setting.id, *(f"{part.misfit:.2f}" for part in fit.tables.values()), f"{fit.misfit:.2f}")
                for fit in found
            ),
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _decision(found: Sequence[SettingFit], open_ones: Sequence[SettingFit]) -> str:
    best, nearest = found[0], open_ones[0]
    told = (
        f"Of {len(found)} settings, {sum(fit.misfit <= 1 for fit in found)} keep every printed NewReno number within its "
        f"tolerance. The smallest misfit: {best.setting.id}, {best.misfit:.2f}."
    )
    if len(open_ones) == 1:
        return f"{told} The data decide for it."
    return f"{told} {len(open_ones)} settings are not told apart; the nearest to the text is {nearest.setting.id}."


def _fit_row(number: int, found: Fit) -> Sequence[str]:
    column = NEWRENO_COLUMNS[number]
    printed = [*(f"{kbps:g}" for kbps in column.sessions_kbps), f"{column.fairness:.3f}"]
    measured = [*(f"{kbps:.0f}" for kbps in found.measured_kbps), f"{found.fairness:.3f}"]
    deviations = [f"{100 * THROUGHPUT_TOLERANCE * each:+.1f} %" for each in found.deviations[:-1]]
    return (
        str(number),
        str(len(found.case.rates_mbps)),
        f"{found.length_s:g} s",
        ", ".join(printed),
        ", ".join(measured),
        ", ".join([*deviations, f"{INDEX_TOLERANCE * found.deviations[-1]:+.3f}"]),
    )
