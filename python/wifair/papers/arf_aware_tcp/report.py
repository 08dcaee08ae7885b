"""Tables 1 to 5 and the calibration as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from wifair.markdown import table
from wifair.papers.arf_aware_tcp.calibration import LENGTHS_S, TABLES, Fit, fit, fits
from wifair.papers.arf_aware_tcp.measured import Measured
from wifair.papers.arf_aware_tcp.published import COLUMNS, NEWRENO_COLUMNS, Column
from wifair.papers.arf_aware_tcp.study import CALIBRATED, CASES, RATES_OF_FOUR
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
    """Residuals of the best setting, of all settings, and of each run length."""
    found = fits(m.runs)
    best = found[0]
    chosen = "the calibrated one" if best.setting == CALIBRATED else f"not the calibrated one, {CALIBRATED.id}"
    return (
        "\n\n".join(
            (
                f"The best setting: {best.setting.id} ({chosen}).",
                table(
                    ("table", "run length", "printed [kbps]", "measured [kbps]", "differences"),
                    [
                        *(_fit_row(f"{number}", number, found_fit) for number, found_fit in best.tables.items()),
                        _fit_row("5, four sessions", 5, best.four),
                    ],
                ),
                "Greatest difference from a printed NewReno throughput, by setting.",
                table(
                    ("setting", *(f"Table {number}" for number in TABLES), "all", "Table 5, four sessions"),
                    (
                        (
                            each.setting.id,
                            *(f"{100 * each.tables[number].greatest:.1f} %" for number in TABLES),
                            f"{100 * each.greatest:.1f} %",
                            f"{100 * each.four.greatest:.1f} %",
                        )
                        for each in found
                    ),
                ),
                "The same for the calibrated setting, by run length.",
                table(
                    ("run length", *(f"Table {number}" for number in TABLES), "Table 5, four sessions"), _length_rows(m)
                ),
            )
        )
        + "\n"
    )


def _fit_row(name: str, number: int, found: Fit) -> Sequence[str]:
    return (
        name,
        f"{found.length_s:g} s",
        ", ".join(f"{kbps:g}" for kbps in NEWRENO_COLUMNS[number].sessions_kbps),
        ", ".join(f"{kbps:.0f}" for kbps in found.measured_kbps),
        ", ".join(f"{100 * difference:+.1f} %" for difference in found.residuals),
    )


def _length_rows(m: Measured) -> list[Sequence[str]]:
    return [
        (
            f"{length:g} s",
            *(
                f"{100 * fit(m.runs, CALIBRATED, case, number, length).greatest:.1f} %"
                for number, (case, _) in TABLES.items()
            ),
            f"{100 * fit(m.runs, CALIBRATED, RATES_OF_FOUR, 5, length).greatest:.1f} %",
        )
        for length in LENGTHS_S
    ]
