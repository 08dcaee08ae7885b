"""Figs. 2 and 4 to 9, Tables 1 to 5 next to what the paper prints, and the calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from wifair import plots
from wifair.papers.arf_aware_tcp import report
from wifair.papers.arf_aware_tcp.calibration import fits, undecided
from wifair.papers.arf_aware_tcp.measured import Measured
from wifair.papers.arf_aware_tcp.published import ARF_AWARE, COLUMNS, NEWRENO
from wifair.papers.arf_aware_tcp.study import ANOMALY, CHANGE_S, RATES, RECOVERY, Case
from wifair.stats import t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {ARF_AWARE: "ARF-aware TCP", NEWRENO: "TCP NewReno"}
PACKETS = "Throughput [packets/s]"
TIME = "Time [s]"


def _legend_of(case: Case) -> dict[str, str]:
    """The legend's name of each session."""
    return {
        name: f"Session {i + 1} ({rate:g} Mbps)"
        for i, (name, rate) in enumerate(zip(case.sessions, case.rates_mbps, strict=True))
    }


def _instants(case: Case) -> dict[str, float]:
    instants = {"rates fall": CHANGE_S}
    return instants if case.back_at_s is None else {**instants, "back": case.back_at_s}


def _seconds(m: Measured, case: Case, control: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return m.cell(case, control).times("goodput_mbps", case.sessions[0])


def _sessions(axes: Axes, m: Measured, case: Case, control: str) -> None:
    legend = _legend_of(case)
    series = {legend[name]: m.course(case, control, name) for name in m.names(case, control)}
    plots.courses(axes, _seconds(m, case, control), series, x_label=TIME, y_label=PACKETS, events=_instants(case))
    axes.set_title(TITLES[control], fontsize="medium", pad=14)
    axes.set_ylim(0, 1.25 * axes.get_ylim()[1])
    axes.legend(fontsize="x-small", loc="upper right", ncols=3)


def _one(case: Case, control: str) -> Callable[[Measured], Figure]:
    def draw_one(m: Measured) -> Figure:
        made, (axes,) = plots.figure(width=6.0)
        _sessions(axes, m, case, control)
        return made

    return draw_one


def _stack(control: str) -> Callable[[Measured], Figure]:
    """Sessions stacked: the upper edge is the total."""

    def draw_stack(m: Measured) -> Figure:
        made, (axes,) = plots.figure(width=6.0)
        legend, seconds = _legend_of(RATES), _seconds(m, RATES, control)
        names = m.names(RATES, control)
        layers = [m.course(RATES, control, name).mean(axis=0) for name in names]
        greys = [str(level) for level in np.linspace(0.35, 0.95, len(names))]
        axes.stackplot(
            seconds, layers, labels=[legend[name] for name in names], colors=greys, edgecolor="#000000", lw=0.3
        )
        total = {"all sessions": m.total_course(RATES, control)}
        plots.courses(axes, seconds, total, x_label=TIME, y_label=PACKETS, events=_instants(RATES))
        axes.set_title(TITLES[control], fontsize="medium", pad=14)
        axes.set_ylim(0, 1.3 * axes.get_ylim()[1])
        axes.legend(fontsize="x-small", loc="upper right", ncols=3)
        return made

    return draw_stack


def _fig_2(m: Measured) -> Figure:
    made, panels = plots.figure(2, width=5.0)
    for axes, control in zip(panels, (ARF_AWARE, NEWRENO), strict=True):
        _sessions(axes, m, ANOMALY, control)
    top = max(axes.get_ylim()[1] for axes in panels)
    for axes in panels:
        axes.set_ylim(0, top)
    return made


def _tables(m: Measured) -> Figure:
    """A panel per column of a table, two bars per session: as printed and as measured."""
    made, panels = plots.figure(len(COLUMNS), width=3.1, height=2.7, columns=3)
    for axes, column in zip(panels, COLUMNS, strict=True):
        case = report.CASE_OF[column.case]
        printed = column.sessions_kbps
        places = np.arange(1, len(printed) + 1)
        found = [t_interval(values) for values in m.sessions(case, column.control).T[: len(printed)]]
        reach = [[0.0 if f.low is None else f.estimate - f.low for f in found]]
        reach += [[0.0 if f.high is None else f.high - f.estimate for f in found]]
        axes.bar(places - 0.2, printed, 0.38, color="#ffffff", edgecolor="#000000", hatch="///", label="printed")
        axes.bar(
            places + 0.2,
            [f.estimate for f in found],
            0.38,
            yerr=reach,
            capsize=2,
            color="#bbbbbb",
            edgecolor="#000000",
            label="measured",
        )
        axes.set_title(f"Table {column.table}, {TITLES[column.control]}", fontsize="small")
        axes.set_xlabel("Session")
        axes.set_ylabel("Throughput [kbps]")
        axes.set_xticks(places)
        axes.tick_params(labelsize="small")
    panels[0].legend(fontsize="x-small")
    return made


def _calibration(m: Measured) -> Figure:
    """A row per setting, the likeliest on top; a dot per table. The settings above the line are not distinguishable."""
    found = fits(m.runs)[: report.SHOWN]
    made, (axes,) = plots.figure(width=8.5, height=1.5 + 0.19 * len(found))
    rows = np.arange(len(found))
    for i, number in enumerate(found[0].tables):
        style = {**plots.STYLES[i], "linestyle": "none"}
        axes.plot([fit.tables[number].rms for fit in found], rows, label=f"Table {number}", markersize=5, **style)
    axes.axhline(len(undecided(found)) - 0.5, color="#777777", linewidth=0.8, linestyle=":")
    axes.set_yticks(rows, [fit.setting.id for fit in found], fontsize="x-small")
    axes.set_ylim(len(found) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.set_xlabel("RMS deviation from the printed column [standard deviations]")
    axes.grid(alpha=0.25)
    axes.legend(fontsize="small", loc="upper right")
    return made


FIGURES: Mapping[str, Callable[[Measured], Figure]] = {
    "2": _fig_2,
    "4": _one(RATES, ARF_AWARE),
    "5": _one(RATES, NEWRENO),
    "6": _stack(ARF_AWARE),
    "7": _stack(NEWRENO),
    "8": _one(RECOVERY, ARF_AWARE),
    "9": _one(RECOVERY, NEWRENO),
    "tables": _tables,
    "calibration": _calibration,
}
TEXTS: Mapping[str, Callable[[Measured], str]] = {"tables": report.tables, "calibration": report.calibration}
