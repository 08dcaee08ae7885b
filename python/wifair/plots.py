"""Figures: lines and dots with 95 % intervals, time series, and goodput by flow. Readable in greyscale.

A figure of several panels has one legend if its panels share their series, and one y label per row if they share it.
Fonts are embedded in PDFs as TrueType, since publishers reject matplotlib's default, Type 3.

For a paper, draw within `on_paper()` on a figure of `figure_in(width_in)`: the text then has 7 to 8.4 points.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg  # figures go to files without a display, so without pyplot
from matplotlib.colors import to_hex
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D

from wifair.stats import Interval, t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

# Colour-blind safe (Okabe, Ito 2008), with distinct markers and dashes for greyscale print.
STYLES: Sequence[Mapping[str, Any]] = (
    {"color": "#000000", "marker": "o", "linestyle": "-"},
    {"color": "#0072B2", "marker": "s", "linestyle": "--"},
    {"color": "#D55E00", "marker": "^", "linestyle": "-."},
    {"color": "#009E73", "marker": "D", "linestyle": ":"},
    {"color": "#CC79A7", "marker": "v", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
    {"color": "#56B4E9", "marker": "P", "linestyle": (0, (1, 3))},
    {"color": "#E69F00", "marker": "X", "linestyle": (0, (7, 2))},
)


# Fills of bars, from light to dark.
GREYS = ("#FFFFFF", "#D9D9D9", "#BDBDBD", "#969696", "#737373", "#525252")
FORMATS = ("pdf", "svg", "png")
# TrueType fonts in PDFs.
FONTS: Any = {"pdf.fonttype": 42, "ps.fonttype": 42}
# The mean width of a letter, by the size of the text.
LETTER = 0.58
# Text of 7 points (ticks, legends) and 8.4 points (labels), and thin lines.
ON_PAPER: Any = {
    "font.size": 8.4,
    "axes.titlesize": 8.4,
    "legend.fontsize": 7,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "hatch.linewidth": 0.5,
    **FONTS,
}


@contextmanager
def on_paper() -> Iterator[None]:
    """Sizes of text and lines for a figure that is printed as wide as it is drawn."""
    with rc_context(ON_PAPER):
        yield


def figure_in(
    width_in: float, panels: int = 1, columns: int = 1, height_in: float | None = None
) -> tuple[Figure, list[Axes]]:
    """A figure of that width, whatever the number of columns; `height_in` is that of a panel."""
    wide = width_in / columns
    made, axes = figure(panels, wide, height_in or min(max(0.62 * wide, 1.9), 2.6), columns)
    made.set_dpi(300)
    return made, axes


def figure(
    panels: int = 1, width: float = 5.0, height: float = 3.6, columns: int | None = None
) -> tuple[Figure, list[Axes]]:
    """A figure with a row, or a grid, of panels."""
    columns = columns or panels
    rows = -(-panels // columns)
    made = Figure(figsize=(width * columns, height * rows), dpi=150, layout="constrained")
    axes = made.subplots(rows, columns, squeeze=False)
    places = [axis for row in axes for axis in row]
    for unused in places[panels:]:
        unused.remove()
    return made, places[:panels]


def lines(
    axes: Axes,
    x: Sequence[float],
    series: Mapping[str, Sequence[ArrayLike | Interval]],
    *,
    x_label: str,
    y_label: str,
    styles: Mapping[str, Mapping[str, Any]] | None = None,
    bounds: tuple[float, float] | None = None,
    apart: float = 0.0,
) -> None:
    """One line per name: at each x the mean over the replications with its 95 % interval.

    A point is the values of the replications, or an interval. `bounds` are those of `wifair.stats.t_interval`. `apart`
    moves the lines to the side so that intervals do not cover each other, by that share of the axis.
    """
    for i, (name, points) in enumerate(series.items()):
        found = [told if isinstance(told, Interval) else t_interval(told, bounds=bounds) for told in points]
        means = [interval.estimate for interval in found]
        below = [0.0 if f.low is None else f.estimate - f.low for f in found]
        above = [0.0 if f.high is None else f.high - f.estimate for f in found]
        style = (styles or {}).get(name) or STYLES[i % len(STYLES)]
        at = _aside(x, apart * (i - (len(series) - 1) / 2))
        axes.errorbar(at, means, yerr=[below, above], label=name, capsize=2.5, markersize=4.5, linewidth=1.3, **style)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_xticks(x)
    axes.tick_params(labelsize="small")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.legend(fontsize="small")


def _is_wide(xs: Sequence[float]) -> bool:
    """Whether values span a factor of ten or more."""
    return min(xs) > 0 and max(xs) / min(xs) >= 10


def _aside(xs: Sequence[float], share: float) -> list[float]:
    if _is_wide(xs):
        return [x * (max(xs) / min(xs)) ** share for x in xs]
    return [x + share * (max(xs) - min(xs)) for x in xs]


def spread(axes: Axes, xs: Sequence[float], most: int = 7) -> None:
    """Ticks at (some of) the values, and a logarithmic axis where they span a factor of ten or more."""
    if _is_wide(xs):
        axes.set_xscale("log")
    shown = xs[:: math.ceil(len(xs) / most)]
    axes.set_xticks(shown, [f"{x:,.10g}" for x in shown])
    axes.set_xticks([], minor=True)


def dots(axes: Axes, names: Sequence[str], found: Sequence[Interval], x_label: str, least: float | None = None) -> None:
    """A row per name: the mean with its interval. The axis does not reach below `least`, where no value can be."""
    rows = np.arange(len(names))
    means = np.array([f.estimate for f in found])
    below = [0.0 if f.low is None else f.estimate - f.low for f in found]
    above = [0.0 if f.high is None else f.high - f.estimate for f in found]
    axes.errorbar(means, rows, xerr=[below, above], fmt="o", color="#000000", capsize=2.5, markersize=4, linewidth=1.2)
    axes.set_yticks(rows, names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    if least is not None:
        axes.set_xlim(left=max(least, axes.get_xlim()[0]))
    axes.set_xlabel(x_label, loc="right")  # may be wider than the axis, below the names
    axes.tick_params(labelsize="small")
    axes.grid(alpha=0.25)


def courses(
    axes: Axes,
    times: ArrayLike,
    series: Mapping[str, ArrayLike],
    *,
    x_label: str,
    y_label: str,
    events: Mapping[str, float] | None = None,
) -> None:
    """One line per name over time: the mean over the replications, shaded by its 95 % interval.

    Each series has one row per replication; `events` maps labels to instants to mark.
    """
    at = np.asarray(times)
    for i, (name, values) in enumerate(series.items()):
        runs = np.asarray(values)
        style = {**STYLES[i % len(STYLES)], "marker": None}
        axes.plot(at, runs.mean(axis=0), label=name, linewidth=1.3, **style)
        found = [t_interval(sample) for sample in runs.T]
        if all(f.low is not None for f in found):
            low, high = [f.low for f in found], [f.high for f in found]
            axes.fill_between(at, low, high, color=style["color"], alpha=0.18, linewidth=0)  # type: ignore[arg-type]
    for told, instant in (events or {}).items():
        axes.axvline(instant, color="#777777", linewidth=0.8, linestyle=":")
        axes.annotate(
            told, (instant, 1.0), xycoords=("data", "axes fraction"), fontsize="x-small", ha="left", va="bottom"
        )
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.tick_params(labelsize="small")
    axes.set_xlim(float(at.min()), float(at.max()))
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.legend(fontsize="x-small")


def flow_shares(
    axes: Axes,
    values: Sequence[ArrayLike],
    uplinks: int,
    *,
    title: str,
    x_label: str,
    y_label: str,
    flows: Sequence[tuple[str, str]] | None = None,
) -> None:
    """One bar per flow: the mean over the replications with its interval, and a dot per replication.

    The dots show flows that are locked out in some runs only, which a mean hides. `flows` has the name of each flow and of its
    group: the axis has the names if there is room for them, else those of the groups. Without them flows have numbers.
    """
    found = [t_interval(replications) for replications in values]
    # One call for all bars of a kind and one for all dots: matplotlib's cost is per call.
    kinds = (
        ("uplink flows", slice(None, uplinks), "#56B4E9", None),
        ("downlink flows", slice(uplinks, None), "#F3CE85", "///"),
    )
    numbers = range(1, len(values) + 1)
    for label, members, colour, hatch in kinds:
        intervals = found[members]
        if intervals:
            axes.bar(
                numbers[members],
                [f.estimate for f in intervals],
                yerr=[
                    [0.0 if f.low is None else f.estimate - f.low for f in intervals],
                    [0.0 if f.high is None else f.high - f.estimate for f in intervals],
                ],
                capsize=2,
                color=colour,
                edgecolor="#000000",
                hatch=hatch,
                linewidth=0.7,
                label=label,
            )
    dots = [(number, value) for number, runs in zip(numbers, values, strict=True) for value in np.asarray(runs)]
    axes.plot(*zip(*dots, strict=True), ".", color="#7A2E00", markersize=3, alpha=0.7)
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_xticks([1, *range(5, len(values) + 1, 5)])
    if flows:
        _name_bars(axes, flows)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="x-small")


def _name_bars(axes: Axes, flows: Sequence[tuple[str, str]]) -> None:
    """Names the bars at 1, 2, …: each, or groups of neighbours, side by side or upright; leaves the ticks where nothing fits."""
    groups = [(group, len(list(members))) for group, members in itertools.groupby(group for _, group in flows)]
    ends = list(itertools.accumulate((count for _, count in groups), initial=0.5))
    middles = [(low + high) / 2 for low, high in itertools.pairwise(ends)]
    size = FontProperties(size="small").get_size_in_points()
    slot = axes.get_window_extent().width * 72 / axes.get_figure(root=True).dpi / (len(flows) + 1)  # type: ignore[union-attr]
    for places, names in (
        (range(1, len(flows) + 1), [name for name, _ in flows]),
        (middles, [group for group, _ in groups]),
    ):
        apart = [slot * (right - left) for left, right in itertools.pairwise(places)]
        widths = [LETTER * size * (len(one) + len(other)) / 2 for one, other in itertools.pairwise(names)]
        is_level = all(room >= width + size for room, width in zip(apart, widths, strict=True))
        if is_level or all(room >= 1.1 * size for room in apart):
            axes.set_xticks(places, names, rotation=0 if is_level else 90, fontsize="small")
            if places is middles:
                axes.tick_params("x", length=0, pad=6)
                axes.set_xticks(ends, minor=True)
                axes.tick_params("x", which="minor", length=5)
            return


def upright_in(panels: Sequence[Axes]) -> float:
    """The height of the longest upright name below the panels, in inches; 0 without any."""
    names = [text for axes in panels for text in axes.get_xticklabels() if text.get_rotation()]
    return max((LETTER * len(text.get_text()) * float(text.get_fontsize()) / 72 for text in names), default=0.0)


def shared(made: Figure, panels: Sequence[Axes], columns: int, legend_each: bool = False) -> None:
    """Moves legends out of the panels (one for all, unless `legend_each`), and x labels below the last of each column."""
    places = {_place(axes): axes for axes in panels}
    for axes in panels:
        handles, names = axes.get_legend_handles_labels()
        if legend := axes.get_legend():
            legend.remove()
        if legend_each and len(names) > 1:
            beneath = -0.30 if axes.get_xlabel() else -0.18
            axes.legend(loc="upper center", bbox_to_anchor=(0.5, beneath), **_legend(made, names, columns))
        elif not legend_each and len(names) > 1 and axes is panels[0]:
            made.legend(handles, names, loc="outside upper center", **_legend(made, names, 1))
        row, column = _place(axes)
        below = places.get((row + 1, column))
        if not legend_each and below and below.get_xlabel() == axes.get_xlabel():
            axes.set_xlabel("")


def _legend(made: Figure, names: Sequence[str], columns: int) -> dict[str, Any]:
    entry = 34 + 3.9 * max(map(len, names))  # in points, at 7 points per letter
    fitting = max(1, min(len(names), int(made.get_figwidth() / columns * 72 / entry)))
    rows = math.ceil(len(names) / fitting)
    return {"ncols": math.ceil(len(names) / rows), "frameon": False, "handlelength": 2.6, "columnspacing": 1.2}


def tidy(made: Figure) -> None:
    """Leaves one legend for panels that share series, unless two series have one style, and one y label per row."""
    panels = [axes for axes in made.axes if axes.get_subplotspec()]
    if len(panels) < 2:
        return
    _one_legend(made, [axes for axes in panels if axes.get_legend()])
    rows: dict[int, list[Axes]] = {}
    for axes in panels:
        rows.setdefault(_place(axes)[0], []).append(axes)
    for row in rows.values():
        if len({axes.get_ylabel() for axes in row}) == 1:
            for axes in row:
                if _place(axes)[1]:
                    axes.set_ylabel("")


def _place(axes: Axes) -> tuple[int, int]:
    spec = axes.get_subplotspec()
    assert spec
    return spec.rowspan.start, spec.colspan.start


def _one_legend(made: Figure, panels: Sequence[Axes]) -> None:
    handles: dict[str, Any] = {}
    looks: dict[str, object] = {}
    named: list[set[str]] = []
    for axes in panels:
        mine = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        legend = axes.get_legend()
        assert legend
        if [text.get_text() for text in legend.get_texts()] != list(mine) or legend.get_title().get_text():
            return  # a legend with its own handles
        named.append(set(mine))
        for label, handle in mine.items():
            handles.setdefault(label, handle)
            if looks.setdefault(label, _look(handle)) != _look(handle):
                return
    apart = any(not any(one & other for other in named if other is not one) for one in named)
    if apart or not handles or len(set(looks.values())) < len(looks):
        return
    for axes in panels:
        axes.get_legend().remove()  # type: ignore[union-attr]
    width = made.get_figwidth() * 72 / (7 * (6 + max(map(len, handles))))  # 7 points per letter
    columns = max(1, min(len(handles), int(width)))
    made.legend(handles.values(), handles, loc="outside lower center", ncols=columns, fontsize="small", frameon=False)


def _look(handle: Any) -> tuple[object, ...]:
    """A series' style: its colour, and its marker and line or its hatching."""
    if isinstance(handle, ErrorbarContainer):
        handle = handle.lines[0]
    if isinstance(handle, BarContainer):
        handle = handle.patches[0]
    if isinstance(handle, Line2D):
        return to_hex(handle.get_color()), handle.get_marker(), str(handle.get_linestyle())
    faces = np.atleast_2d(handle.get_facecolor())
    return to_hex(faces[0]), str(handle.get_hatch()), type(handle).__name__


# Without a date, drawing the same numbers twice gives the same file.
UNDATED = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}


def save(made: Figure, folder: Path, name: str, endings: Sequence[str] = ("png",)) -> list[Path]:
    """Writes the figure in each format: PNG to look at, SVG and PDF to print (PDF takes longer)."""
    tidy(made)
    with rc_context(FONTS):
        return _written(made, folder, name, endings)


def _written(made: Figure, folder: Path, name: str, endings: Sequence[str]) -> list[Path]:
    canvas = FigureCanvasAgg(made)
    made.draw_without_rendering()  # lays out the panels,
    made.set_layout_engine("none")  # once for all files
    paths = []
    for ending in endings:
        path = folder / f"{name}.{ending}"
        if ending == "png":
            canvas.print_png(path)  # type: ignore[no-untyped-call]  # draws once where savefig would draw twice
        else:
            made.savefig(path, metadata=UNDATED.get(ending))
        paths.append(path)
    return paths
