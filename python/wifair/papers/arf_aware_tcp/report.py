"""Tables 1 to 5 with what the paper does not print, and the calibration, as Markdown."""

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
    throughputs,
    tried,
    undecided,
)
from wifair.papers.arf_aware_tcp.measured import FIRST, LAST, Measured
from wifair.papers.arf_aware_tcp.published import ARF_AWARE, COLUMNS, NEWRENO, NEWRENO_COLUMNS, Column
from wifair.papers.arf_aware_tcp.study import (
    ANOMALY,
    CALIBRATED,
    CANDIDATES,
    CASES,
    CHANGE_S,
    MOVED_BY_ARF,
    UPLINK,
    WIRED,
)
from wifair.stats import Values, t_interval

ONE = "session-1"
CASE_OF = {case.id: case for case in CASES}
# Multiples of the difference between engine and ns-2 for which the calibration is repeated.
ERRORS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
# The replications of the search that chose the baseline.
SEARCHED = 12
# Settings in the list and in the figure of the calibration.
SHOWN = 40


def tables(m: Measured) -> str:
    """The printed and measured values side by side."""
    parts = []
    for column in COLUMNS:
        parts += [
            f"Table {column.table}, {column.control}",
            table(("", "printed", "measured", "difference"), _rows(m, column)),
        ]
    return "\n\n".join([*parts, _not_printed(m)]) + "\n"


def _rows(m: Measured, column: Column) -> list[Sequence[str]]:
    case, printed = CASE_OF[column.case], len(column.sessions_kbps)
    sessions = m.sessions(case, column.control)
    rows = [_row(f"Session {i + 1} [kbps]", kbps, sessions[:, i], ".0f") for i, kbps in enumerate(column.sessions_kbps)]
    rows.append(_row("Fairness index", column.fairness, m.index(case, column.control, printed), ".4f"))
    rows.append(_row("Aggregate [kbps]", column.aggregate_kbps, m.aggregate(case, column.control, printed), ".0f"))
    return rows


def _row(name: str, printed: float, values: Values, form: str) -> Sequence[str]:
    return name, f"{printed:g}", _measured(values, form), f"{100 * (np.mean(values) / printed - 1):+.1f} %"


def _measured(values: Values, form: str) -> str:
    found = t_interval(values)
    return f"{found.estimate:{form}}" + ("" if found.low is None else f" [{found.low:{form}}, {found.high:{form}}]")


def _not_printed(m: Measured) -> str:
    """What the runs show that the paper prints no number for."""
    controls = (ARF_AWARE, NEWRENO)
    rows = [
        ("ARF moves the rates: index", *(_measured(m.index(MOVED_BY_ARF, control), ".4f") for control in controls)),
        (
            "ARF moves the rates: aggregate [kbps]",
            *(_measured(m.aggregate(MOVED_BY_ARF, control), ".0f") for control in controls),
        ),
    ]
    for name, span in (("first 5 s after the change", FIRST), ("last 20 s", LAST)):
        kept = (_measured(m.kept(WIRED, control, ONE, span), ".3f") for control in controls)
        rows.append((f"Bottleneck on the wire: Session 1's rate in the {name}, as a share of before", *kept))
    for name, at in (("before", CHANGE_S), ("after", CHANGE_S + 1.0)):
        windows = (_measured(m.window(ANOMALY, control, ONE, at), ".1f") for control in controls)
        rows.append((f"Table 1: window of Session 1 in the second {name} the change [packets]", *windows))
    return f"Not in the paper\n\n{table(('', *controls), rows)}"


def calibration(m: Measured) -> str:
    """The result of the criterion, what it depends on, the settings of interest by table, and the likeliest settings."""
    found = fits(m.runs)
    open_ones = undecided(found)
    shown = [*open_ones, *(fit for fit in found if fit not in open_ones and _of_interest(found, fit))]
    parts = [_decision(found, open_ones)]
    parts += [_doubts(m), *_between_sets(m), _first_criterion(m), _variation(m, shown), _lengths(m), _misfit(m, found)]
    for each in shown:
        rows = [_fit_row(number, fit) for number, fit in each.tables.items()]
        parts += [
            f"{each.setting.id}: likelihood {_share(found, each)} of the greatest.",
            table(("table", "sessions", "run length", "printed [kbps], index", "measured", "differences"), rows),
        ]
    parts += [
        f"The {len(found[:SHOWN])} likeliest settings: root mean square of the deviations by table, in standard deviations, and the "
        "likelihood.",
        table(
            ("setting", *(f"Table {each.number}" for each in TABLES), "likelihood"),
            (
                (fit.setting.id, *(f"{part.rms:.2f}" for part in fit.tables.values()), _share(found, fit))
                for fit in found[:SHOWN]
            ),
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _of_interest(found: Sequence[SettingFit], fit: SettingFit) -> bool:
    """Whether a setting is a candidate or the likeliest uplink."""
    return fit.setting in CANDIDATES or fit == next((one for one in found if one.setting.direction == "up"), None)


def _variation(m: Measured, shown: Sequence[SettingFit]) -> str:
    """How far Table 4's sessions are apart within a run, which separates the candidates."""
    rows = [("printed", f"{_apart(np.array([NEWRENO_COLUMNS[4].sessions_kbps]))[0]:.3f}")]
    for each in shown:
        fit = each.tables[4]
        rows.append(
            (each.setting.id, f"{_measured(_apart(throughputs(m.runs, each.setting, fit.case, fit.length_s)), '.3f')}")
        )
    told = "Coefficient of variation of Table 4's five sessions in a run: of the printed run, and the mean over the runs here."
    return f"{told}\n\n{table(('', 'coefficient'), rows)}"


def _apart(kbps: Values) -> Values:
    apart: Values = kbps.std(axis=1, ddof=1) / kbps.mean(axis=1)
    return apart


def _lengths(m: Measured) -> str:
    """Tables 3 and 5 at every possible length and number of sessions."""
    rows = []
    for each in (one for one in TABLES if len(one.lengths_s) > 1):
        fitted = tried(m.runs, CALIBRATED, each)
        least = min(fit.deviance for fit in fitted)
        rows += [(*_fit_row(each.number, fit), f"{np.exp((least - fit.deviance) / 2.0):.2g}") for fit in fitted]
    told = f"Run lengths of Tables 3 and 5 in the setting {CALIBRATED.id}; likelihoods are relative to the likeliest length of a table."
    heads = ("table", "sessions", "run length", "printed [kbps], index", "measured", "differences", "likelihood")
    return f"{told}\n\n{table(heads, rows)}"


def _misfit(m: Measured, found: Sequence[SettingFit]) -> str:
    """Session 1 over Session 2 in the columns of two sessions."""
    rows = []
    for number in (each.number for each in TABLES if len(NEWRENO_COLUMNS[each.number].sessions_kbps) == 2):
        of_settings = {}
        for each in found:
            fit = each.tables[number]
            kbps = throughputs(m.runs, each.setting, fit.case, fit.length_s)
            of_settings[each.setting] = kbps[:, 0] / kbps[:, 1]
        means = [float(ratios.mean()) for ratios in of_settings.values()]
        first, second = NEWRENO_COLUMNS[number].sessions_kbps
        rows.append(
            (
                f"{number}",
                f"{first / second:.3f}",
                _measured(of_settings[CALIBRATED], ".3f"),
                f"{min(means):.3f} to {max(means):.3f}",
            )
        )
    told = f"Session 1's throughput over Session 2's: as printed, in the setting {CALIBRATED.id}, and the range of the settings' means."
    return f"{told}\n\n{table(('table', 'printed', 'measured', 'all settings'), rows)}"


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
    heads = (
        "times",
        "settings not distinguished",
        "the nearest of them to the text",
        "likelihood of the uplink setting",
    )
    return f"{told}\n\n{table(heads, rows)}"


def _between_sets(m: Measured) -> list[str]:
    """How the decision depends on the seeds: disjoint sets of as many replications as the search had, if there are several."""
    sets = m.runs.sets(SEARCHED)
    if len(sets) < 2:
        return []
    rows = []
    for i, runs in enumerate(sets):
        found = fits(runs)
        open_ones = undecided(found)
        uplink = next(fit for fit in found if fit.setting == UPLINK)
        up = next((f"{error:g}" for error in ERRORS if undecided(fits(runs, error))[0].setting.direction == "up"), "–")
        likeliest = next(fit for fit in found if fit.setting.direction == "up")
        seeds = f"{i * SEARCHED + 1} to {(i + 1) * SEARCHED}"
        nearest, shares = open_ones[0].setting.id, (_share(found, uplink), _share(found, likeliest))
        rows.append((seeds, found[0].setting.id, f"{len(open_ones)}", nearest, *shares, up))
    told = (
        f"Between disjoint sets of {SEARCHED} seeds. The last column is the smallest of the multiples above at which the text "
        "decides for an uplink setting."
    )
    heads = (
        *("seeds", "likeliest", "settings not distinguished", "the nearest of them to the text"),
        *("likelihood of the uplink setting", "of the likeliest uplink setting", "times"),
    )
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
        f"throughput and 0.02 of an index. On these runs it does not distinguish {len(open_ones)}, of which the nearest to the "
        f"text is {nearest.id}. The last rows are the two candidates."
    )
    return f"{told}\n\n{table(('setting', 'misfit'), rows)}"


def _decision(found: Sequence[SettingFit], open_ones: Sequence[SettingFit]) -> str:
    told = f"Of {len(found)} settings the likeliest is {found[0].setting.id}."
    if len(open_ones) == 1:
        return f"{told} The data decide for it."
    return (
        f"{told} {len(open_ones)} are not distinguished; the nearest of them to the text is {open_ones[0].setting.id}."
    )


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
