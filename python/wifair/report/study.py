"""The report of a study: a grid of scenarios."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wifair.analysis.comparison import MOST_RANKED, along, decided, paired
from wifair.report import measured
from wifair.report.parts import Code, Part, Report, Section, Table
from wifair.report.provenance import again, made_by
from wifair.results.results import HEADINGS

if TYPE_CHECKING:
    from wifair.results.results import ResultCell, Results

# For grids with more cells than this, single flows and time series are left out.
MOST_CELLS = 12


def of_study(
    title: str,
    results: Results,
    metrics: Sequence[str],
    arguments: Sequence[str],
    compared: Sequence[str] = (),
    source: str = "",
) -> Report:
    """The report of a grid.

    Every value of the keys `compared`, which vary together, is compared with the first one; `source` is the study file's text if there is one.
    """
    there = set(measured.names(results))
    cells = [cell for cell in results.cells if cell.name in there]
    axes = measured.coordinates(cells)
    spans = "; ".join(f"`{path}`: {len(values)} values" for path, values in axes.items())
    lead = f"{len(cells)} scenarios, {len(results.seeds)} replications of each{'; ' + spans if spans else ''}."
    pairs = along(results.cells, *compared) if compared else []
    ranked = len(cells) <= MOST_RANKED
    tested = decided(results, metrics) if ranked else paired(results, pairs, metrics)
    found = {section.title: section for section in measured.sections(results, tested)}
    differences = measured.differences(tested.only(pairs, metrics))
    over = [part for metric in metrics for part in measured.over_grid(results, cells, axes, metric)]
    parts: list[tuple[str, Sequence[Part]]] = [
        ("In short", [*measured.cautions(results), *measured.findings(results, compared=tested), *over]),
        ("The grid", [grid(results, cells, axes, metrics)]),
        ("Differences", differences),
    ]
    if len(cells) <= MOST_CELLS:
        parts += [(name, section.parts) for name, section in found.items() if name != "In short"]
    else:
        parts += [("The access point's buffer", measured.losses(results))]
    if source:
        parts.append(("Study", [Code(source, "The study file, as it was read:")]))
    sections = [Section(name, list(told)) for name, told in parts if told]
    return Report(title, lead, [*sections, again(arguments, results)], made_by(results))


def grid(
    results: Results, cells: Sequence[ResultCell], axes: Mapping[str, Sequence[object]], metrics: Sequence[str]
) -> Table:
    """A table with a row per scenario: its coordinates, then the metrics."""
    headings = [
        *(axes or ["scenario"]),
        *(f"{HEADINGS.get(metric, metric)}\n{results.units[metric]}" for metric in metrics),
    ]
    rows = [
        [
            *([cell.keys.get(path) for path in axes] if axes else [cell.name]),
            *(results.interval(cell.name, metric) for metric in metrics),
        ]
        for cell in cells
    ]
    return Table.of(headings, rows, "Means ± half-widths of their 95 % intervals.")


def __getattr__(name: str) -> Any:
    if name not in ("coordinates", "over_grid"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(f"{name}: use results.plot(metric)", DeprecationWarning, stacklevel=2)
    return getattr(measured, name)
