"""Figures for a paper: the charts of results, drawn at the width of a column or a page.

Lines and bars are told apart without colour, by markers, dashes and hatches. Means have 95 % intervals.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from wifair import plots
from wifair.errors import InputError
from wifair.report import measured
from wifair.report.layout import Labels, Layout, arranged, batched, check_labels, named
from wifair.results.fairness import UNIT
from wifair.results.results import least
from wifair.stats import Interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wifair.results.results import ResultCell, Results

# A figure at a width in inches.
Draw = Callable[[float], "Figure"]
# A panel is not narrower than this, in inches, and a figure does not have more panels.
LEAST_WIDTH_IN = 2.3
MOST_PANELS = 24
# A taller figure does not fit on a page.
MOST_HEIGHT_IN = 9
# A row's name is broken into lines of so many letters.
MOST_LETTERS = 24
# A narrower figure is not legible.
LEAST_FIGURE_IN = 1.5
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++")


def metrics(
    results: Results, names: Sequence[str], labels: Labels, x: str | None = None, lines: str | None = None
) -> Draw:
    """Metrics over the grid: a panel per metric and value of the remaining coordinates. Without a grid, a row per scenario."""
    check_labels(labels)
    there = set(measured.names(results))
    cells = [cell for cell in results.cells if cell.name in there]
    layout = arranged(cells, labels, x, lines)
    names = [name for name in names or measured.told_metrics(results) if results.metrics[name].count()]
    if layout is None:
        return partial(_by_name, results, names, labels)
    if len(names) * len(layout.panels) > MOST_PANELS:
        raise InputError(
            f"{len(names)} metrics in {len(layout.panels)} panels each are too many for a figure. Allowed: {MOST_PANELS} "
            "panels in all. Draw fewer metrics, or vary fewer keys."
        )
    return partial(_over_grid, results, names, labels, layout)


def _over_grid(results: Results, names: Sequence[str], labels: Labels, layout: Layout, width_in: float) -> Figure:
    count = len(layout.panels)
    columns = _columns(count if count > 1 else len(names), width_in)
    rowed = -(-count // columns) * columns if count > 1 else 1  # each metric has its rows
    made, places = plots.figure_in(width_in, len(names) * rowed, columns)
    panels: list[Axes] = []
    for i, metric in enumerate(names):
        mine, unused = places[i * rowed :][:count], places[i * rowed :][count:rowed]
        panels += mine
        for axes in unused:
            axes.remove()
        for axes, panel in zip(mine, layout.panels, strict=True):
            nothing = Interval(float("nan"), None, None, 0)
            series = {
                name: [results.interval(at[x], metric) if x in at else nothing for x in layout.xs]
                for name, at in panel.lines.items()
            }
            y_label = _labelled(results, metric, labels)
            plots.lines(axes, layout.xs, series, x_label=layout.x_label, y_label=y_label, apart=0.012)
            plots.spread(axes, layout.xs)
            axes.set_title(panel.title)
        if least(metric) is None and any(axes.dataLim.y0 < 0 for axes in mine):
            for axes in mine:
                axes.autoscale(axis="y")
        low, top = min(axes.get_ylim()[0] for axes in mine), max(axes.get_ylim()[1] for axes in mine)
        for axes in mine:
            axes.set_ylim(low, 1.05 if results.units[metric] == UNIT else top)
    plots.shared(made, panels, columns, legend_each=layout.is_split)
    return made


def _by_name(results: Results, names: Sequence[str], labels: Labels, width_in: float) -> Figure:
    columns = _columns(len(names), width_in)
    rows = [cell for cell in results.cells if results.runs["scenario"].is_in([cell.name]).any()]
    shared = (
        {path for path in rows[0].keys if len({cell.keys.get(path) for cell in rows}) == 1} if len(rows) > 1 else set()
    )
    titles = [textwrap.fill(_row(cell, labels, shared), MOST_LETTERS) for cell in rows]
    lines = len(rows) * max(title.count("\n") + 1 for title in titles)
    made, panels = plots.figure_in(width_in, len(names), columns, height_in=0.65 + 0.17 * lines)
    for i, (axes, metric) in enumerate(zip(panels, names, strict=True)):
        found = [results.interval(cell.name, metric) for cell in rows]
        rows_here = titles if i % columns == 0 else [""] * len(titles)
        plots.dots(axes, rows_here, found, _labelled(results, metric, labels), least(metric))
        if results.units[metric] == UNIT:
            axes.set_xlim(0, 1.05)
    return made


def _row(cell: ResultCell, labels: Labels, shared: Collection[str]) -> str:
    """The name of a scenario: its label, or its coordinates other than those that all share."""
    told = ", ".join(named(value, path, labels) for path, value in cell.keys.items() if path not in shared)
    return labels.get(cell.name) or told or cell.name


def differences(rows: Sequence[Mapping[str, Any]], labels: Labels) -> Draw:
    """A panel per metric, a row per pair: the difference with its interval, and a line at zero."""
    check_labels(labels)

    def draw(width_in: float) -> Figure:
        names = list(dict.fromkeys(row["metric"] for row in rows))
        columns = _columns(len(names), width_in)
        pairs = len({(row["scenario"], row["against"]) for row in rows})
        made, panels = plots.figure_in(width_in, len(names), columns, height_in=0.85 + 0.17 * pairs)
        for i, (axes, metric) in enumerate(zip(panels, names, strict=True)):
            mine = [row for row in rows if row["metric"] == metric]
            of = [[labels.get(row[key], row[key]) for key in ("scenario", "against")] for row in mine]
            titles = [f"{one} − {other}" if i % columns == 0 else "" for one, other in of]
            unit = mine[0]["unit"].removesuffix(" of payload")
            label = "Difference" if unit in ("", UNIT) else f"Difference [{unit}]"
            plots.dots(axes, titles, [measured.interval_of_row(row) for row in mine], label)
            axes.axvline(0, color="#000000", linewidth=0.8, linestyle="--")
            axes.set_title(labels.get(metric) or _capital(measured.heading(metric)))
        return made

    return draw


def flows(results: Results) -> Draw:
    """Goodput of each flow by its name: a panel per scenario, a bar per flow, a dot per replication."""

    def draw(width_in: float) -> Figure:
        names = measured.names(results)[: measured.MOST_PANELS]
        columns = _columns(len(names), width_in)
        made, panels = plots.figure_in(width_in, len(names), columns)
        for axes, name in zip(panels, names, strict=True):
            part = results.flows.filter(pl.col("scenario") == name)
            order = [part.filter(pl.col("direction") == way) for way in ("up", "down")]
            found = [flow for way in order for flow in way.partition_by("label", maintain_order=True)]
            plots.flow_shares(
                axes,
                [flow["goodput_mbps"].to_list() for flow in found],
                order[0]["label"].n_unique(),
                title=name,
                x_label="Flow",
                y_label="Goodput [Mbps]",
                flows=[(flow["label"][0], flow["group"][0]) for flow in found],
            )
        made.set_figheight(made.get_figheight() + -(-len(names) // columns) * plots.upright_in(panels))
        top = max(axes.get_ylim()[1] for axes in panels)
        for axes in panels:
            axes.set_ylim(0, top)
        plots.shared(made, panels, columns)
        return made

    return draw


def air(results: Results) -> Draw:
    """Shares of airtime: a bar per scenario."""

    def draw(width_in: float) -> Figure:
        names = measured.names(results)
        made, [axes] = plots.figure_in(width_in, 1, 1, height_in=0.9 + 0.22 * len(names))
        left = [0.0] * len(names)
        shares = measured.air_shares(results)
        for i, part in enumerate(dict.fromkeys(part for _, part, _ in shares)):
            wide = [share for name, of, share in shares if of == part]
            face = plots.GREYS[i % len(plots.GREYS)]
            axes.barh(
                names, wide, left=left, label=part, color=face, edgecolor="#000000", linewidth=0.6, hatch=HATCHES[i]
            )
            left = [a + b for a, b in zip(left, wide, strict=True)]
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.set_xlabel("Share of time")
        axes.legend()
        plots.shared(made, [axes], 1)
        return made

    return draw


def series(results: Results) -> Draw:
    """Time series: a panel per scenario and quantity, or several, with at most `MOST_LINES` lines in each."""

    def draw(width_in: float) -> Figure:
        told = []
        for name in measured.names(results):
            for title, unit, part in measured.courses(results, name):
                lines = part.partition_by("entity", as_dict=True, maintain_order=True)
                values = {
                    f"{entity}": of.pivot(on="time_s", index="seed", values="value") for (entity,), of in lines.items()
                }
                for group in batched(list(values)):
                    told.append(
                        (name, title, unit.removesuffix(" of payload"), {entity: values[entity] for entity in group})
                    )
        if len(told) > MOST_PANELS:
            raise InputError(f"{len(told)} panels of time series are too many for a figure. Allowed: {MOST_PANELS}.")
        columns = _columns(len(told), width_in)
        made, panels = plots.figure_in(width_in, len(told), columns)
        for axes, (name, title, unit, runs) in zip(panels, told, strict=True):
            times = [float(at) for at in next(iter(runs.values())).columns[1:]]
            plots.courses(
                axes,
                times,
                {entity: frame.drop("seed").to_numpy() for entity, frame in runs.items()},
                x_label="Time [s]",
                y_label=unit,
            )
            axes.set_title(f"{name}:\n{title}" if len(results.cells) > 1 else title)
        plots.shared(made, panels, columns, legend_each=True)
        return made

    return draw


def check(path: Path, width_in: float) -> str:
    """The format of a figure's file. Raises `InputError` for an unknown one, or a width that is not legible."""
    ending = path.suffix.removeprefix(".").lower()
    if ending not in plots.FORMATS:
        raise InputError(
            f"{path}: unknown format of a figure: {ending or 'none'!r}. Allowed here: {', '.join(plots.FORMATS)}."
        )
    if not width_in >= LEAST_FIGURE_IN:
        raise InputError(
            f"width_in: {width_in!r} is not allowed. Allowed: {LEAST_FIGURE_IN} inches or more; a column has 3.5."
        )
    return ending


def save(draw: Draw, path: str | Path, width_in: float) -> Path:
    """Draws the figure at that width, and writes it in the format of the path's ending."""
    path = Path(path)
    ending = check(path, width_in)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with plots.on_paper():
            made = draw(width_in)
            if made.get_figheight() > MOST_HEIGHT_IN:
                warnings.warn(_too_tall(path, made.get_figheight()), stacklevel=3)
            return plots.save(made, path.parent, path.stem, (ending,))[0]
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}.") from None


def _too_tall(path: Path, height_in: float) -> str:
    return (
        f"{path} is {height_in:.1f} inches tall; a page has {MOST_HEIGHT_IN}. Make it wider (panels of {LEAST_WIDTH_IN} inches or more are "
        "side by side), or draw fewer panels: fewer metrics, varied keys or scenarios."
    )


def _columns(panels: int, width_in: float) -> int:
    """As many columns as the width allows, or fewer with the same number of rows."""
    rows = -(-panels // max(1, int(width_in / LEAST_WIDTH_IN)))
    return -(-panels // rows)


def _labelled(results: Results, metric: str, labels: Labels) -> str:
    unit = results.units[metric].removesuffix(" of payload")
    return labels.get(metric) or _capital(measured.titled(metric, "" if unit == "ratio" else unit))


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
