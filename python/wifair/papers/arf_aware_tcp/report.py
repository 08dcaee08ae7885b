"""Tables 1 to 5 and the calibration as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wifair.markdown import table
from wifair.papers.arf_aware_tcp.calibration import (
    MISFIT_APART,
    TABLES,
    Fit,
    SettingFit,
    far_from_text,
    fits,
    misfits,
    undecided,
)
from wifair.papers.arf_aware_tcp.measured import Measured
from wifair.papers.arf_aware_tcp.published import COLUMNS, NEWRENO_COLUMNS, Column
from wifair.papers.arf_aware_tcp.study import CANDIDATES, CASES, UPLINK
from wifair.stats import Values, t_interval

CASE_OF = {case.id: case for case in CASES}
# Multiples of the difference between engine and ns-2 for which the calibration is repeated.
ERRORS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
# The replications of the search that chose the baseline.
SEARCHED = 12


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
    parts += [_doubts(m), *_between_sets(m), _first_criterion(m)]
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


def _doubts(m: Measured) -> str:
    """How the decision depends on the difference between engine and ns-2 that is allowed for."""
    rows = []
    for error in ERRORS:
        doubted = fits(m.runs, error)
        open_ones = undecided(doubted)
        uplink = next((fit for fit in doubted if fit.setting == UPLINK), None)
        rows.append(
            (
                f"{error:g}",
                f"{len(open_ones)}",
                open_ones[0].setting.id,
                "–" if uplink is None else _share(doubted, uplink),
            )
        )
    told = "If engine and ns-2 may differ by so many times as much as 2.5 % of a throughput and 0.005 of an index:"
    heads = ("times", "settings not told apart", "the nearest of them to the text", "likelihood of the uplink setting")
    return f"{told}\n\n{table(heads, rows)}"


def _between_sets(m: Measured) -> list[str]:
    """How the decision depends on the seeds: disjoint sets of as many replications as the search had, if there are several."""
    sets = m.runs.sets(SEARCHED)
    if len(sets) < 2:
        return []
    rows = []
    for i, runs in enumerate(sets):
        found = fits(runs)
        uplink = next(fit for fit in found if fit.setting == UPLINK)
        up = next((f"{error:g}" for error in ERRORS if undecided(fits(runs, error))[0].setting.direction == "up"), "–")
        likeliest = next(fit for fit in found if fit.setting.direction == "up")
        seeds = f"{i * SEARCHED + 1} to {(i + 1) * SEARCHED}"
        rows.append((seeds, _share(found, uplink), _share(found, likeliest), up))
    told = (
        f"Between disjoint sets of {SEARCHED} seeds. The last column is the smallest of the multiples above at which the text "
        "decides for an uplink setting."
    )
    heads = ("seeds", "likelihood of the uplink setting", "of the likeliest uplink setting", "times")
    return [told, table(heads, rows)]


def _first_criterion(m: Measured) -> str:
    """What the criterion before the present one says of these runs."""
    found = misfits(m.runs)
    open_ones = [(misfit, setting) for misfit, setting in found if misfit < found[0][0] + MISFIT_APART]
    nearest = min(open_ones, key=lambda one: (*far_from_text(one[1]), one[0]))[1]
    rows = [(setting.id, f"{misfit:.2f}") for misfit, setting in open_ones]
    rows += [(setting.id, f"{misfit:.2f}") for misfit, setting in found if setting in CANDIDATES]
    told = (
        "The first criterion, which was run and replaced: the greatest deviation from a printed number, in units of 10 % of a "
        f"throughput and 0.02 of an index. On these runs it does not tell {len(open_ones)} apart, of which the nearest to the "
        f"text is {nearest.id}. The last rows are the two candidates."
    )
    return f"{told}\n\n{table(('setting', 'misfit'), rows)}"


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
