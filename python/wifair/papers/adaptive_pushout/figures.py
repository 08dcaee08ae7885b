"""Figures 3a, 3b, 4, 5a, 5b and 6 in the paper's arrangement, with tail drop in addition to the four schemes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from wifair import plots
from wifair.papers.adaptive_pushout.measured import Measured
from wifair.papers.adaptive_pushout.study import (
    ACK_PUSHOUT,
    ADAPTIVE,
    AF,
    FIG_6,
    FIG_6_AS_TEXT,
    SCHEMES,
    SPM_AF,
    SYMMETRIC,
    TABLE_II,
    TAIL_DROP,
    TWENTY,
    Mix,
)
from wifair.stats import Values

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {
    TAIL_DROP: "Tail drop",
    AF: "AF",
    SPM_AF: "SPM-AF",
    ACK_PUSHOUT: "ACK pushout",
    ADAPTIVE: "Adaptive pushout",
}
STYLES = {TITLES[scheme]: plots.STYLES[i] for i, scheme in enumerate(SCHEMES)}
THROUGHPUT = "Throughput [Mbps of payload]"
TOTAL_FLOWS = [float(mix.up + mix.down) for mix in SYMMETRIC]
DOWNLINK_FLOWS = [float(mix.down) for mix in TABLE_II]


def _index_figure(m: Measured, mixes: tuple[Mix, ...], x: list[float], x_label: str) -> Figure:
    made, (axes,) = plots.figure()
    series = {TITLES[scheme]: [m.index(mix, scheme) for mix in mixes] for scheme in SCHEMES}
    plots.lines(axes, x, series, x_label=x_label, y_label="Fairness index", styles=STYLES, bounds=(0, 1))
    axes.set_ylim(0, 1.05)
    return made


def _two_curves(
    mixes: tuple[Mix, ...],
    x: list[float],
    x_label: str,
    y_label: str,
    up: Callable[[Mix, str], Values],
    down: Callable[[Mix, str], Values],
) -> Figure:
    """A panel per scheme, an uplink and a downlink curve in each."""
    made, panels = plots.figure(len(SCHEMES), width=3.1, height=3.0)
    for axes, scheme in zip(panels, SCHEMES, strict=True):
        series = {"uplink": [up(mix, scheme) for mix in mixes], "downlink": [down(mix, scheme) for mix in mixes]}
        plots.lines(axes, x, series, x_label=x_label, y_label=y_label)
        axes.set_title(TITLES[scheme], fontsize="medium")
    _share_height(panels, len(SCHEMES))
    return made


def _flow_figure(m: Measured, mixes: tuple[Mix, ...]) -> Figure:
    """A row per mix, a panel per scheme, a bar per flow."""
    made, panels = plots.figure(len(SCHEMES) * len(mixes), width=3.1, height=2.9, columns=len(SCHEMES))
    for i, axes in enumerate(panels):
        mix, scheme = mixes[i // len(SCHEMES)], SCHEMES[i % len(SCHEMES)]
        title = TITLES[scheme] if len(mixes) == 1 else f"{TITLES[scheme]}, (n_down, n_up) = {mix}"
        flows = list(m.throughputs(mix, scheme).T)
        plots.flow_shares(axes, flows, mix.up, title=title, x_label="Flow", y_label=THROUGHPUT)
        if len(mixes) > 1:
            axes.title.set_fontsize("x-small")
    _share_height(panels, len(SCHEMES))
    return made


def _share_height(panels: list[Axes], columns: int) -> None:
    """Gives all panels one y scale, with its label at the left of each row and the legend in the first panel."""
    top = max(axes.get_ylim()[1] for axes in panels)
    for i, axes in enumerate(panels):
        axes.set_ylim(0, top)
        if i % columns:
            axes.set_ylabel("")
        legend = axes.get_legend()
        if i and legend:
            legend.remove()


def _fig_3a(m: Measured) -> Figure:
    return _index_figure(m, SYMMETRIC, TOTAL_FLOWS, "Total number of flows")


def _fig_3b(m: Measured) -> Figure:
    return _two_curves(
        SYMMETRIC,
        TOTAL_FLOWS,
        "Total number of flows",
        "Sum of throughputs [Mbps of payload]",
        lambda mix, scheme: m.up(mix, scheme).sum(axis=1),
        lambda mix, scheme: m.down(mix, scheme).sum(axis=1),
    )


def _fig_4(m: Measured) -> Figure:
    return _flow_figure(m, (TWENTY,))


def _fig_5a(m: Measured) -> Figure:
    return _index_figure(m, TABLE_II, DOWNLINK_FLOWS, "Number of downlink flows (of 20)")


def _fig_5b(m: Measured) -> Figure:
    return _two_curves(
        TABLE_II,
        DOWNLINK_FLOWS,
        "Number of downlink flows (of 20)",
        "Average throughput [Mbps of payload]",
        lambda mix, scheme: m.up(mix, scheme).mean(axis=1),
        lambda mix, scheme: m.down(mix, scheme).mean(axis=1),
    )


def _fig_6(m: Measured) -> Figure:
    return _flow_figure(m, (FIG_6, FIG_6_AS_TEXT))


FIGURES: Mapping[str, Callable[[Measured], Figure]] = {
    "3a": _fig_3a,
    "3b": _fig_3b,
    "4": _fig_4,
    "5a": _fig_5a,
    "5b": _fig_5b,
    "6": _fig_6,
}
