"""A paper's figures as interactive panels, with the data read back from matplotlib's axes.

Figures are written once (`plots` and the papers' modules), for PNG and PDF; this module gives the page the same data.
It supports means with intervals, time series, bars with intervals, stacks and straight lines across. For a figure with
anything else, or with an empty panel, it returns `None`, and the report embeds a picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.ticker import FixedLocator

from wifair.report import charts
from wifair.stats import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# A time series with more samples than this is thinned.
MOST_SAMPLES = 600


def panels(made: Figure) -> list[charts.Panel] | None:
    """The figure's panels, or None if one of them cannot be read back."""
    made.draw_without_rendering()  # computes limits that depend on the data
    found = []
    for axes in made.axes:
        panel = _panel(axes)
        if panel is None:
            return None
        found.append(panel)
    return found or None


def _panel(axes: Axes) -> charts.Panel | None:
    areas = [each for each in axes.collections if isinstance(each, PolyCollection)]
    if any(not _unnamed(area.get_label()) for area in areas):
        return None  # stacks stay pictures
    told: dict[str, Any] = {"title": axes.get_title(), "x_title": axes.get_xlabel(), "y_title": axes.get_ylabel()}
    bars = [each for each in axes.containers if isinstance(each, BarContainer)]
    if bars:
        rows = [row for container in bars for row in _bars(container)]
        return charts.bars(rows, series=_names(rows), y_domain=_ends(axes.get_ylim()), **told)
    if axes.patches or _rows_are_named(axes):
        return None
    errorbars = [each for each in axes.containers if isinstance(each, ErrorbarContainer)]
    rows = [row for container in errorbars for row in _means(container)]
    owned = {id(line) for container in errorbars for line in (container.lines[0], *container.lines[1])}
    rules, courses = [], []
    for line in axes.get_lines():
        across = _across(line, axes)
        if across:
            rules.append(across)
        elif id(line) not in owned:
            courses.append(line)
    if len(areas) not in (0, len(courses)):
        return None
    rows += [row for i, line in enumerate(courses) for row in _course(line, areas[i] if areas else None, i)]
    if not rows:
        return None
    x_log, y_log = axes.get_xscale() == "log", axes.get_yscale() == "log"
    return charts.lines(
        rows,
        series=_names(rows),
        x_domain=_ends(axes.get_xlim()),
        y_domain=_ends(axes.get_ylim()),
        x_log=x_log,
        y_log=y_log,
        points=bool(errorbars),
        rules=rules,
        x_values=[float(at) for at in axes.get_xticks() if x_log],
        **told,
    )


def _rows_are_named(axes: Axes) -> bool:
    fixed = isinstance(axes.yaxis.get_major_locator(), FixedLocator)
    return fixed and any(letter.isalpha() for label in axes.get_yticklabels() for letter in label.get_text())


def _unnamed(label: object) -> bool:
    return str(label).startswith("_") or not str(label)


def _names(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["series"] for row in rows))


def _ends(limits: tuple[float, float]) -> tuple[float, float]:
    return float(limits[0]), float(limits[1])


def _interval(mean: float, low: float, high: float) -> dict[str, Any]:
    none = low == high == mean
    return charts.interval_row(Interval(float(mean), None if none else float(low), None if none else float(high), 2))


def _means(container: ErrorbarContainer) -> Iterator[dict[str, Any]]:
    """Rows from a line of means and the segments of their intervals."""
    line, _, segments = container.lines
    reach = _segments(segments)
    for x, y in zip(*_points(line), strict=True):
        if np.isfinite(y):
            low, high = reach.get(float(x), (y, y))
            yield {"series": str(container.get_label()), "x": float(x), **_interval(y, low, high)}


def _segments(collections: Sequence[LineCollection]) -> dict[float, tuple[float, float]]:
    found = {}
    for collection in collections:
        for segment in collection.get_segments():
            if len(segment):
                found[float(segment[0][0])] = (float(np.min(segment[:, 1])), float(np.max(segment[:, 1])))
    return found


def _bars(container: BarContainer) -> Iterator[dict[str, Any]]:
    reach = _segments(container.errorbar.lines[2]) if container.errorbar else {}
    for bar in container.patches:
        middle = bar.get_x() + bar.get_width() / 2
        low, high = next((ends for at, ends in reach.items() if abs(at - middle) < 1e-6), (bar.get_height(),) * 2)
        yield {
            "series": str(container.get_label()),
            "x": round(middle),
            **_interval(bar.get_height(), low, high),
        }


def _course(line: Line2D, band: PolyCollection | None, index: int) -> Iterator[dict[str, Any]]:
    label = str(line.get_label())
    x, y = _points(line)
    step = max(1, -(-x.size // MOST_SAMPLES))
    ends: dict[float, tuple[float, float]] = {}
    if band is not None:
        for at, value in np.asarray(band.get_paths()[0].vertices):
            low, high = ends.get(float(at), (value, value))
            ends[float(at)] = (min(low, value), max(high, value))
    for at, value in zip(x[::step], y[::step], strict=True):
        if np.isfinite(value):
            low, high = ends.get(float(at), (value, value))
            name = f"flow {index + 1}" if _unnamed(label) else label
            yield {"series": name, "x": float(at), **_interval(value, low, high)}


def _across(line: Line2D, axes: Axes) -> tuple[str, float] | None:
    """Axis and value of a straight line across the whole panel (`axvline`, `axhline`), or None."""
    if line.get_transform() == axes.get_xaxis_transform(which="grid"):
        return "x", float(np.asarray(line.get_xdata())[0])
    if line.get_transform() == axes.get_yaxis_transform(which="grid"):
        return "y", float(np.asarray(line.get_ydata())[0])
    return None


def _points(line: Line2D) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    return np.asarray(line.get_xdata(), dtype=np.float64), np.asarray(line.get_ydata(), dtype=np.float64)
