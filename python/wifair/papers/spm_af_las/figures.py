"""Figures 2 to 4 and 6 to 13 in the paper's arrangement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl

from wifair import plots
from wifair.papers.spm_af_las.measured import Measured
from wifair.papers.spm_af_las.study import FILE_SCHEMES, LAS, SPM_AF, T_LAS, TAIL_DROP, UP_DOWN_SCHEMES, WEB_PACKETS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wifair.stats import Values

TITLES = {TAIL_DROP: "Tail drop", SPM_AF: "SPM-AF", LAS: "LAS", T_LAS: "T-LAS"}
STYLES = {TITLES[scheme]: plots.STYLES[i] for i, scheme in enumerate(UP_DOWN_SCHEMES)}
ALONE = plots.STYLES[4]
BUFFER = "AP's buffer [packets]"
HOSTS = "Number of mobile hosts"
COV = "COV of transfer times"
GOODPUT = "Throughput [Mbps of payload]"


def _example(m: Measured, case: str, panels: Sequence[tuple[str, str, str]]) -> Figure:
    """Time series of the first replication, as an example like the paper's own figures. A panel is (title, flow, metric)."""
    made, axes = plots.figure(len(panels), width=3.6, height=2.6, columns=len(panels) // 2)
    series = m.measured(case).table("series")
    one_run = series.filter(pl.col("seed") == series["seed"].min())
    for panel, (title, flow, metric) in zip(axes, panels, strict=True):
        part = one_run.filter((pl.col("metric") == metric) & (pl.col("entity") == flow))
        panel.plot(part["time_s"], part["value"], color="#000000", linewidth=0.9)
        panel.set_title(title, fontsize="medium")
        panel.set_xlabel("Time [s], one run")
        panel.set_ylabel(GOODPUT if metric == "goodput_mbps" else "RTT [ms]")
        panel.set_xlim(0)
        panel.grid(alpha=0.25)
        panel.tick_params(labelsize="small")
    for metric in ("goodput_mbps", "rtt_ms"):
        same = [panel for panel, (_, _, of) in zip(axes, panels, strict=True) if of == metric]
        top = max(panel.get_ylim()[1] for panel in same)
        for panel in same:
            panel.set_ylim(0, top)
    return made


def _flows_and_metrics(flows: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """A row of throughputs and a row of round trips, a column per flow."""
    return [
        (f"{title}: {what}", flow, metric)
        for metric, what in (("goodput_mbps", "throughput"), ("rtt_ms", "RTT"))
        for flow, title in flows.items()
    ]


def _fig_2(m: Measured) -> Figure:
    return _example(m, "near and far", _flows_and_metrics({"flow-1": "Flow 1 (near)", "flow-2": "Flow 2 (far)"}))


def _fig_3(m: Measured) -> Figure:
    return _example(m, "1 up, 1 down", _flows_and_metrics({"up": "Upstream", "down": "Downstream"}))


def _fig_4(m: Measured) -> Figure:
    flows = {"up-1": "Upstream 1", "up-2": "Upstream 2", "down-1": "Downstream 1", "down-2": "Downstream 2"}
    return _example(m, "2 up, 2 down", _flows_and_metrics(flows))


def _fig_6(m: Measured) -> Figure:
    made, (axes,) = plots.figure()
    buffers = [float(b) for b in m.buffers]
    for direction, colour in (("up", "#999999"), ("down", "#bcd7ea")):
        flows = [m.throughput(b, TAIL_DROP, direction).mean(axis=0) for b in m.buffers]
        for flow in zip(*flows, strict=True):
            axes.plot(buffers, flow, color=colour, linewidth=0.6, zorder=1)
    series = {
        name: [m.mean(b, TAIL_DROP, direction) for b in m.buffers]
        for name, direction in (("upstream, mean", "up"), ("downstream, mean", "down"))
    }
    plots.lines(axes, buffers, series, x_label=BUFFER, y_label=GOODPUT)
    axes.set_title("Thin: each flow", fontsize="small")
    return made


def _by_buffer(
    m: Measured, quantity: Callable[[int, str], Values], y_label: str, bounds: tuple[float, float] | None = None
) -> Figure:
    made, (axes,) = plots.figure()
    series = {TITLES[scheme]: [quantity(b, scheme) for b in m.buffers] for scheme in UP_DOWN_SCHEMES}
    plots.lines(
        axes, [float(b) for b in m.buffers], series, x_label=BUFFER, y_label=y_label, styles=STYLES, bounds=bounds
    )
    return made


def _fig_9a(m: Measured) -> Figure:
    return _by_buffer(m, m.total, "Throughput of ten flows [Mbps of payload]", None)


def _fig_9b(m: Measured) -> Figure:
    made = _by_buffer(m, m.index, "Fairness index", (0, 1))
    made.axes[0].set_ylim(0, 1.05)
    return made


def _fig_10(m: Measured) -> Figure:
    return _by_buffer(m, m.removed, "Share of packets removed by the buffer")


def _by_hosts(
    m: Measured, axes: Axes, series: Mapping[str, list[Values]], title: str, y_label: str, log: bool = False
) -> None:
    styles = {name: STYLES.get(name, plots.STYLES[i]) for i, name in enumerate(series)}
    styles |= {name: ALONE for name in series if name.endswith("only")}
    plots.lines(axes, [float(n) for n in m.hosts], series, x_label=HOSTS, y_label=y_label, styles=styles)
    axes.set_title(title, fontsize="medium")
    if log:
        axes.set_ylim(auto=True)
        axes.set_yscale("log")


SIZES = (("small", "10 packets"), ("large", "1000 packets"))


def _fig_7(m: Measured) -> Figure:
    made, panels = plots.figure(2, width=4.4)
    for letter, axes, (group, size) in zip("ab", panels, SIZES, strict=True):
        series = {
            "mixed traffic": [m.cov(n, TAIL_DROP, group) for n in m.hosts],
            f"{group} only": [m.cov(n, TAIL_DROP, group, f"{group} only") for n in m.hosts],
        }
        _by_hosts(m, axes, series, f"({letter}) {size}", COV)
    return made


def _losses(m: Measured, axes: Axes, scheme: str, title: str) -> None:
    series = {
        "short-lived flows": [m.lost(n, scheme, "small") for n in m.hosts],
        "long-lived flows": [m.lost(n, scheme, "large") for n in m.hosts],
        "all": [m.lost(n, scheme) for n in m.hosts],
    }
    _by_hosts(m, axes, series, title, "Loss ratio at the AP")


def _fig_8(m: Measured) -> Figure:
    made, (axes,) = plots.figure()
    _losses(m, axes, TAIL_DROP, "Tail drop")
    return made


def _fig_11(m: Measured) -> Figure:
    made, panels = plots.figure(2, width=4.4)
    for letter, axes, (group, size) in zip("ab", panels, SIZES, strict=True):
        series = {TITLES[scheme]: [m.cov(n, scheme, group) for n in m.hosts] for scheme in FILE_SCHEMES}
        series[f"{size} only"] = [m.cov(n, TAIL_DROP, group, f"{group} only") for n in m.hosts]
        _by_hosts(m, axes, series, f"({letter}) {size}", COV, log=True)
    return made


def _fig_12(m: Measured) -> Figure:
    made, panels = plots.figure(2, width=4.4)
    for letter, axes, scheme in zip("ab", panels, (SPM_AF, T_LAS), strict=True):
        _losses(m, axes, scheme, f"({letter}) {TITLES[scheme]}")
    return made


def _fig_13(m: Measured) -> Figure:
    made, (axes,) = plots.figure(width=6.0)
    series = {TITLES[scheme]: list(m.web(scheme)) for scheme in FILE_SCHEMES}
    series["HTTP only"] = list(m.web(TAIL_DROP, "none"))
    styles = {**STYLES, "HTTP only": ALONE}
    sizes = [float(packets) for packets in WEB_PACKETS]
    plots.lines(axes, sizes, series, x_label="Size of the document [packets]", y_label=COV, styles=styles)
    return made


FIGURES: Mapping[str, Callable[[Measured], Figure]] = {
    "2": _fig_2,
    "3": _fig_3,
    "4": _fig_4,
    "6": _fig_6,
    "7": _fig_7,
    "8": _fig_8,
    "9a": _fig_9a,
    "9b": _fig_9b,
    "10": _fig_10,
    "11": _fig_11,
    "12": _fig_12,
    "13": _fig_13,
}
