"""The report of a study: a grid of scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wifair.report import charts, measured
from wifair.report.parts import Chart, Code, Part, Report, Section, Table
from wifair.report.provenance import again, made_by
from wifair.results.results import HEADINGS, UNITS

if TYPE_CHECKING:
    from wifair.results.results import ResultCell, Results

# Of a grid with more cells than this, single flows and courses are left out.
MOST_CELLS = 12


def of_study(
    title: str,
    results: Results,
    metrics: Sequence[str],
    arguments: Sequence[str],
    compared: Sequence[dict[str, Any]] = (),
    source: str = "",
) -> Report:
    """The results of a grid; `compared` are paired differences, `source` the study file's text if there is one."""
    there = set(measured.names(results))
    cells = [cell for cell in results.cells if cell.name in there]
    axes = coordinates(cells)
    spans = "; ".join(f"`{path}`: {len(values)} values" for path, values in axes.items())
    lead = f"{len(cells)} scenarios, {len(results.seeds)} replications of each{'; ' + spans if spans else ''}."
    found = {section.title: section for section in measured.sections(results, compared)}
    over = [part for metric in metrics for part in over_grid(results, cells, axes, metric)]
    parts: list[tuple[str, Sequence[Part]]] = [
        ("In short", [*measured.cautions(results), *measured.findings(results), *over]),
        ("The grid", [grid(results, cells, axes, metrics)]),
        ("Differences", found["Differences"].parts if "Differences" in found else []),
    ]
    if len(cells) <= MOST_CELLS:
        parts += [(name, section.parts) for name, section in found.items() if name not in ("In short", "Differences")]
    else:
        parts += [("The access point's buffer", measured.losses(results))]
    if source:
        parts.append(("Study", [Code(source, "The study file, as it was read:")]))
    sections = [Section(name, list(told)) for name, told in parts if told]
    return Report(title, lead, [*sections, again(arguments, results)], made_by(results))


def coordinates(cells: Sequence[ResultCell]) -> dict[str, list[str | int | float]]:
    """What is varied, with its values."""
    found: dict[str, list[str | int | float]] = {}
    for cell in cells:
        for path, value in cell.keys.items():
            if value not in found.setdefault(path, []):
                found[path].append(value)
    return {path: values for path, values in found.items() if len(values) > 1}


def over_grid(
    results: Results, cells: Sequence[ResultCell], axes: Mapping[str, Sequence[object]], metric: str
) -> list[Part]:
    """A metric over the grid: lines along the coordinate with most numbers, or a row a scenario where there is none."""
    in_numbers = {path: values for path, values in axes.items() if not any(isinstance(v, str) for v in values)}
    if not in_numbers:
        return measured.quantities(results, [metric])
    along = max(in_numbers, key=lambda path: len(in_numbers[path]))
    rows = []
    for cell in cells:
        found = results.interval(cell.name, metric)
        if along in cell.keys and found.n:
            others = ", ".join(f"{cell.keys[path]}" for path in axes if path != along and path in cell.keys)
            x = float(cell.keys[along])
            rows.append({"series": others or "all", "x": x, **charts.interval_row(found)})
    names = list(dict.fromkeys(row["series"] for row in rows))
    heading = HEADINGS.get(metric, metric)
    told: dict[str, Any] = {
        "title": heading,
        "x_title": along,
        "y_title": f"{heading} [{UNITS[metric]}]",
        "series": names,
    }
    xs = [row["x"] for row in rows]
    wide = min(xs) > 0 and max(xs) / min(xs) >= 10
    domain = (0.0, 1.05) if metric.startswith("jain") else None
    panel = charts.lines(rows, **told, y_domain=domain, x_log=wide, x_values=sorted(set(xs)) if wide else ())
    return [Chart([panel], "Means with 95 % intervals; a click on a name in the legend lifts it out.", width=480)]


def grid(
    results: Results, cells: Sequence[ResultCell], axes: Mapping[str, Sequence[object]], metrics: Sequence[str]
) -> Table:
    """A row a scenario: its coordinates, then the metrics."""
    headings = [*(axes or ["scenario"]), *(f"{HEADINGS.get(metric, metric)}\n{UNITS[metric]}" for metric in metrics)]
    rows = [
        [
            *([cell.keys.get(path) for path in axes] if axes else [cell.name]),
            *(results.interval(cell.name, metric) for metric in metrics),
        ]
        for cell in cells
    ]
    return Table.of(headings, rows, "Means ± half-widths of their 95 % intervals.")
