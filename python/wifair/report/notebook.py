"""HTML of results, differences and verdicts for notebooks, from the report's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, singledispatch

from wifair.analysis.comparison import Differences
from wifair.papers import Reproduction
from wifair.papers.claims import Judgement
from wifair.report import measured, on_paper
from wifair.report.parts import Chart, Facts, Text, Verdicts
from wifair.report.rendering import fragment
from wifair.results.results import Results
from wifair.study.study import seeds_text


@singledispatch
def html(of: object) -> str:
    """The HTML of a `wifair.drawn.Drawn` value."""
    raise TypeError(f"{type(of).__name__} has no picture")


@html.register
def results(of: Results) -> str:
    """A table with a row per scenario: means with their intervals."""
    told = {"seeds": seeds_text(of.seeds), "replications": f"{of.runs.height}", "engine": of.made_by.get("engine", "?")}
    return fragment(*measured.cautions(of), *measured.summary(of), Facts(told))


def plot(
    of: Results, metrics: Sequence[str], x: str | None, lines: str | None, labels: Mapping[str, str]
) -> list[Chart]:
    """The metrics as panels of one chart: over the grid, or a row per scenario if no coordinate is numeric."""
    return _for_print(_panels(of, metrics), on_paper.metrics(of, metrics, labels, x, lines))


def _panels(of: Results, metrics: Sequence[str]) -> list[Chart]:
    there = set(measured.names(of))
    cells = [cell for cell in of.cells if cell.name in there]
    axes = measured.coordinates(cells)
    if all(any(isinstance(value, str) for value in values) for values in axes.values()):
        return [part for part in measured.quantities(of, metrics) if isinstance(part, Chart)]
    charts = [
        part
        for metric in metrics or measured.told_metrics(of)
        for part in measured.over_grid(of, cells, axes, metric)
        if isinstance(part, Chart)
    ]
    return [replace(charts[0], panels=[panel for chart in charts for panel in chart.panels])] if charts else []


def flows(of: Results) -> list[Chart]:
    """Goodput of each flow."""
    return _for_print(measured.flows(of), on_paper.flows(of))


def air(of: Results) -> list[Chart]:
    """Shares of airtime."""
    return _for_print(measured.air(of), on_paper.air(of))


def series(of: Results) -> list[Chart]:
    """Time series: a chart per scenario; its figure has all."""
    return _for_print(measured.series(of), on_paper.series(of))


def differences_plot(of: Differences, labels: Mapping[str, str]) -> Chart:
    """Paired differences, by metric."""
    return _for_print(measured.differences(of), on_paper.differences(of, labels))[0]


def _for_print(parts: Sequence[object], draw: on_paper.Draw) -> list[Chart]:
    return [replace(part, writer=partial(on_paper.save, draw)) for part in parts if isinstance(part, Chart)]


@html.register
def differences(of: Differences) -> str:
    """A table with a row per pair and metric."""
    return fragment(measured.difference_table(of))


@html.register
def reproduction(of: Reproduction) -> str:
    """A paper's verdicts, and the conditions of the study."""
    conditions = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in of.conditions.items())
    return fragment(Verdicts([found.to_dict() for found in of.judgements]), Text([conditions]))


@html.register
def judgement(of: Judgement) -> str:
    """A claim with its verdict."""
    return fragment(Verdicts([of.to_dict()]).table)
