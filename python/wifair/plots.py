"""Figures: lines with 95 % intervals over a grid, and the shares of single flows. Readable without colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg  # figures go to files; no display, and so no pyplot
from matplotlib.figure import Figure

from wifair.stats import t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

# Colour-blind safe (Okabe, Ito 2008), each with its own marker and line so that grey prints stay readable.
STYLES: Sequence[Mapping[str, Any]] = (
    {"color": "#000000", "marker": "o", "linestyle": "-"},
    {"color": "#0072B2", "marker": "s", "linestyle": "--"},
    {"color": "#D55E00", "marker": "^", "linestyle": "-."},
    {"color": "#009E73", "marker": "D", "linestyle": ":"},
    {"color": "#CC79A7", "marker": "v", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
    {"color": "#56B4E9", "marker": "P", "linestyle": (0, (1, 3))},
    {"color": "#E69F00", "marker": "X", "linestyle": (0, (7, 2))},
)


def figure(
    panels: int = 1, width: float = 5.0, height: float = 3.6, columns: int | None = None
) -> tuple[Figure, list[Axes]]:
    """A figure with a row (or grid) of panels."""
    columns = columns or panels
    rows = -(-panels // columns)
    made = Figure(figsize=(width * columns, height * rows), dpi=150, layout="constrained")
    axes = made.subplots(rows, columns, squeeze=False)
    return made, [axis for row in axes for axis in row][:panels]


def lines(
    axes: Axes,
    x: Sequence[float],
    series: Mapping[str, Sequence[ArrayLike]],
    *,
    x_label: str,
    y_label: str,
    styles: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """One line a name: at each x the mean over the replications with its 95 % interval."""
    for i, (name, points) in enumerate(series.items()):
        found = [t_interval(values) for values in points]
        means = [interval.estimate for interval in found]
        below = [0.0 if f.low is None else f.estimate - f.low for f in found]
        above = [0.0 if f.high is None else f.high - f.estimate for f in found]
        style = (styles or {}).get(name) or STYLES[i % len(STYLES)]
        axes.errorbar(x, means, yerr=[below, above], label=name, capsize=2.5, markersize=4.5, linewidth=1.3, **style)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_xticks(x)
    axes.tick_params(labelsize="small")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.legend(fontsize="small")


def courses(
    axes: Axes,
    times: ArrayLike,
    series: Mapping[str, ArrayLike],
    *,
    x_label: str,
    y_label: str,
    events: Mapping[str, float] | None = None,
) -> None:
    """One line a name over time: the mean over the replications, shaded by its 95 % interval.

    Each series has one row a replication; `events` are instants to mark, by what happens there.
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
    axes: Axes, values: Sequence[ArrayLike], uplinks: int, *, title: str, x_label: str, y_label: str
) -> None:
    """One bar a flow: the mean over the replications with its interval, and a dot for each replication.

    The dots show what a mean hides: flows that are locked out in some runs and not in others.
    """
    found = [t_interval(replications) for replications in values]
    # A kind's bars in one call, and all dots in another: matplotlib's cost is by the call.
    kinds = (
        ("uplink flows", slice(None, uplinks), "#bbbbbb", None),
        ("downlink flows", slice(uplinks, None), "#ffffff", "///"),
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
    axes.plot(*zip(*dots, strict=True), ".", color="#0072B2", markersize=2.5, alpha=0.6)
    axes.set_title(title, fontsize="medium")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.set_xticks([1, *range(5, len(values) + 1, 5)])
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="x-small")


def save(made: Figure, folder: Path, name: str, endings: Sequence[str] = ("png",)) -> list[Path]:
    """Writes the figure in each format: PNG to look at, PDF to print (which takes longer)."""
    canvas = FigureCanvasAgg(made)
    made.draw_without_rendering()  # arranges the panels,
    made.set_layout_engine("none")  # which need not be done again for each file
    paths = []
    for ending in endings:
        path = folder / f"{name}.{ending}"
        if ending == "png":
            canvas.print_png(path)  # type: ignore[no-untyped-call]  # draws once where savefig would draw twice
        else:
            made.savefig(path, metadata={"CreationDate": None})
        paths.append(path)
    return paths
