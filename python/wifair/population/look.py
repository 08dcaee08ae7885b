"""What scenarios are like: a table of their properties, and the distribution of each as a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from wifair.markdown import table
from wifair.population.properties import PROPERTIES, kind_of, kinds_of, properties

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wifair.scenario.scenario import Scenario

# The quantiles that a summary shows.
SHOWN = (0.1, 0.5, 0.9)
# The properties of the figure, and its columns.
DRAWN = (
    "stations with flows",
    "downloads without end",
    "pages, videos, files down",
    "channel width",
    "slowest link",
    "fastest link over slowest",
    "wire",
    "wire over fastest link",
    "RTT on the wire, median",
)
COLUMNS = 3


def frame(scenarios: Mapping[str, Scenario]) -> pl.DataFrame:
    """A row per scenario: its name, its kind, and its properties."""
    return pl.DataFrame(
        [{"scenario": name, "kind": kind_of(name), **properties(each)} for name, each in scenarios.items()]
    )


def summary(found: pl.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: by property and kind the median, and the 10 and 90 % quantiles."""
    kinds = list(kinds_of(found["scenario"]))
    rows = [
        [each.heading, *(_spread(found.filter(pl.col("kind") == kind)[each.name].to_list()) for kind in kinds)]
        for each in PROPERTIES
    ]
    return ["property", *kinds], rows


def as_markdown(found: pl.DataFrame) -> str:
    """The summary as a Markdown table."""
    headings, rows = summary(found)
    return table(headings, rows)


def figure_of(scenarios: Mapping[str, Scenario]) -> Figure:
    """The distribution function of some properties, a line per kind."""
    return figure(frame(scenarios))


def figure(found: pl.DataFrame) -> Figure:
    """The distribution function of some properties, a line per kind. Readable in greyscale."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from wifair.plots import STYLES
    from wifair.plots import figure as panels

    shown = [each for each in PROPERTIES if each.name in DRAWN]
    made, places = panels(len(shown), 3.0, 2.3, COLUMNS)
    for axes, each in zip(places, shown, strict=True):
        for i, kind in enumerate(kinds_of(found["scenario"])):
            values = np.sort(found.filter(pl.col("kind") == kind)[each.name].to_numpy())
            style = {**STYLES[i % len(STYLES)], "marker": None}
            at = np.concatenate([values[:1], values])
            axes.step(at, np.linspace(0, 1, len(at)), where="post", label=kind, linewidth=1.3, **style)
        if each.wide:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=9))
            axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.10g}"))
            axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(each.heading, fontsize="small")
        axes.set_ylabel("share of scenarios", fontsize="small")
        axes.set_ylim(0, 1.02)
        axes.tick_params(labelsize="x-small", labelrotation=0)
        axes.grid(alpha=0.25)
        axes.legend(fontsize="x-small")
    return made


def _spread(values: Sequence[float]) -> str:
    low, median, high = (f"{_short(value)}" for value in np.quantile(values, SHOWN))
    return median if low == high else f"{median} ({low} to {high})"


def _short(value: float) -> str:
    """Three digits, without an exponent."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:g}"
