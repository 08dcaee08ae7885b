"""Figures 2 to 7 in the paper's arrangement, and one more that compares the companion scheme eBDP with ALT."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from wifair import plots
from wifair.markdown import table
from wifair.papers.alt.measured import Measured
from wifair.papers.alt.study import (
    ALT,
    BUFFERS,
    BUSY,
    EBDP,
    ENDS,
    FIG_2,
    FIG_4,
    FIG_5,
    FIG_6,
    FIG_7,
    ONE,
    PREMISE,
    Q_MAX,
    RTTS_MS,
    STEP,
    UPLOADS,
    Mix,
)
from wifair.stats import t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BUFFER_LABEL = "AP buffer [packets]"
THROUGHPUT_LABEL = "Throughput of the downloads [Mbps]"
DELAY_LABEL = "Max smoothed RTT [ms]"
LEAST_DELAY_MS = 150
DELAY_TICKS_MS = (200, 300, 400, 500, 700, 1000, 2000, 3000)
X = [float(packets) for packets in BUFFERS]
# What a, b and t are, by reading.
PARAMETERS = {
    "baseline": "a = 10, b = 1, t = 1 s",
    "b-half": "b = 0.5",
    "b-double": "b = 2",
    "a-below-growth": "a = 2.5, b = 0.25",
    "t-short": "t = 0.1 s",
    "t-long": "t = 10 s",
}
# The thresholds that V-B names, for the mixes of Fig. 5.
THRESHOLDS = (330, 100, 70)


def _by_buffer(m: Measured, mixes: Sequence[Mix]) -> Figure:
    """Throughput and delay over the buffer; the BDP of each mix as a vertical line."""
    made, (left, right) = plots.figure(2, width=4.8, height=3.5)
    throughput = {str(mix): [m.throughput(mix, packets) for packets in BUFFERS] for mix in mixes}
    plots.lines(left, X, throughput, x_label=BUFFER_LABEL, y_label=THROUGHPUT_LABEL)
    delay = {str(mix): [m.delay(mix, packets) for packets in BUFFERS] for mix in mixes}
    plots.lines(right, X, delay, x_label=BUFFER_LABEL, y_label=DELAY_LABEL)
    for axes in (left, right):
        _log_buffers(axes)
        for i, mix in enumerate(mixes):
            style = plots.STYLES[i]
            axes.axvline(
                m.bdp_packets(mix), color=style["color"], linestyle=style["linestyle"], linewidth=0.7, zorder=0
            )
    left.set_title("vertical: greatest throughput × wired RTT", fontsize="small")
    right.set_yscale("log")
    greatest = max(float(values.max()) for points in delay.values() for values in points)
    right.set_ylim(LEAST_DELAY_MS, 1.4 * greatest)
    ticks = [ms for ms in DELAY_TICKS_MS if ms < 1.4 * greatest]
    right.set_yticks(ticks, [f"{ms}" for ms in ticks])
    right.minorticks_off()
    right.legend(fontsize="x-small", loc="upper left")
    left.legend().set_visible(False)  # it is in the next panel
    return made


def _log_buffers(axes: Axes) -> None:
    """A logarithmic axis of buffer sizes."""
    axes.set_xscale("log")
    axes.set_xticks(X, [f"{packets}" for packets in BUFFERS], fontsize="x-small")
    axes.minorticks_off()


def _fig_3(m: Measured) -> Figure:
    made, (axes,) = plots.figure()
    counts = {str(mix): [m.timeouts(mix, packets) for packets in BUFFERS] for mix in FIG_2}
    plots.lines(axes, X, counts, x_label=BUFFER_LABEL, y_label="RTOs of all flows in 400 s")
    _log_buffers(axes)
    return made


def _fig_5(m: Measured) -> Figure:
    made, (axes,) = plots.figure(width=6.4)
    _courses(axes, m, {str(mix): (mix, ALT) for mix in FIG_5})
    for style, threshold in zip(plots.STYLES, THRESHOLDS, strict=False):
        axes.axhline(threshold, color=style["color"], linewidth=0.5, zorder=0)
    axes.set_title("thin: the thresholds that the paper names, 330, 100 and 70", fontsize="small")
    return made


def _fig_step(m: Measured) -> Figure:
    """Not in the paper: ten uploads come and go next to one download."""
    made, (axes,) = plots.figure(width=6.4)
    _courses(axes, m, {"ALT": (STEP, ALT), "eBDP": (STEP, EBDP)})
    end = m.limit_times(STEP)[-1]
    axes.axvspan(end / 3, 2 * end / 3, color="#eeeeee", zorder=0)
    axes.set_title("shaded: ten uploads next to the download", fontsize="small")
    return made


def _courses(axes: Axes, m: Measured, lines: Mapping[str, tuple[Mix, str]]) -> None:
    """Limits over time in the first run: a mean over runs would hide how much a limit varies."""
    for style, (name, (mix, buffer)) in zip(plots.STYLES, lines.items(), strict=False):
        axes.plot(
            m.limit_times(mix, buffer),
            m.limit_course(mix, buffer)[0],
            label=name,
            color=style["color"],
            linestyle=style["linestyle"],
            linewidth=1.2,
        )
    axes.set_xlabel("Time [s]")
    axes.set_ylabel("Buffer limit [packets]")
    axes.set_ylim(0, 420)
    axes.grid(alpha=0.25)
    axes.legend(fontsize="small")


Line = tuple[str, Iterable[Mix], str]


def _percentages(m: Measured, x: Sequence[int], x_label: str, lines: Sequence[Line]) -> Figure:
    """Throughput and delay as percentages of those with a 400-packet buffer."""
    made, panels = plots.figure(2, width=4.6, height=3.4)
    lines = [(name, tuple(mixes), buffer) for name, mixes, buffer in lines]
    quantities = (
        (m.throughput_percentage, "Throughput [%]"),
        (m.delay_percentage, "Max smoothed RTT [%]"),
    )
    for axes, (quantity, label) in zip(panels, quantities, strict=True):
        series = {name: [quantity(mix, buffer) for mix in mixes] for name, mixes, buffer in lines}
        plots.lines(axes, [float(value) for value in x], series, x_label=x_label, y_label=label)
        axes.set_ylim(0, 140)
        axes.legend(fontsize="small", loc="upper center")
        axes.axhline(100, color="#888888", linewidth=0.7, zorder=0)
        axes.set_title("100 %: a buffer of 400 packets", fontsize="small")
    return made


def _fig_6(m: Measured) -> Figure:
    return _percentages(m, UPLOADS, "Uploads", [(_downloads(down), mixes, ALT) for down, mixes in FIG_6.items()])


def _fig_7(m: Measured) -> Figure:
    lines: list[Line] = [
        (_downloads(down) + (f" + {up} uploads" if up else ""), mixes, ALT) for (down, up), mixes in FIG_7.items()
    ]
    return _percentages(m, RTTS_MS, "Wired RTT [ms]", lines)


def _downloads(down: int) -> str:
    return "1 download" if down == 1 else f"{down} downloads"


FIGURES: Mapping[str, Callable[[Measured], Figure]] = {
    "2": lambda m: _by_buffer(m, FIG_2),
    "3": _fig_3,
    "4": lambda m: _by_buffer(m, FIG_4),
    "5": _fig_5,
    "6": _fig_6,
    "7": _fig_7,
    "step": _fig_step,
}


def _parameters(data: Mapping[str, Measured]) -> str:
    """A table of ALT with other parameters: its limit, and the throughput in percent of the greatest of any fixed buffer."""
    rows = []
    for name, told in PARAMETERS.items():
        m = data[name]
        values = (quantity for mix in (ONE, BUSY) for quantity in (m.limit(mix), m.utilisation(mix, ALT)))
        rows.append((f"`{name}`: {told}", *(t_interval(one).short() for one in values)))
    headings = ("`--reading`", "limit alone", "throughput alone", "limit, 10 uploads", "throughput, 10 uploads")
    return table(headings, rows) + "\n"


# The readings that Section III's premise is run under.
PREMISES = ("baseline", "dcf", "delayed-ack", "reno-without-sack", "newreno-without-sack")


def _premise(data: Mapping[str, Measured]) -> str:
    """A table of ten uploads: their goodput and the AP's share of the attempts, by buffer and category of the ACKs."""
    places = (*((PREMISE, packets) for packets in ENDS), (PREMISE._replace(own_category=True), Q_MAX))
    rows = []
    for name in PREMISES:
        m = data[name]
        values = (quantity(*place) for quantity in (m.upload_throughput, m.ap_share) for place in places)
        rows.append((f"`{name}`", *(t_interval(one).short() for one in values)))
    buffers = (*(f"{packets} packets" for packets in ENDS), "own category")
    headings = [
        f"{what}, {buffer}" for what in ("all uploads, Mbps", "AP's share of the attempts") for buffer in buffers
    ]
    return table(("`--reading`", *headings), rows) + "\n"


TABLES: Mapping[str, Callable[[Mapping[str, Measured]], str]] = {"parameters": _parameters, "premise": _premise}
