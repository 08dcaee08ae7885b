"""The few calls that most scripts need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from wifair.comparison import COMPARED, Differences, paired
from wifair.components import nearest
from wifair.errors import InputError
from wifair.papers import Reproduction, find
from wifair.python_scheme import named
from wifair.results import Results
from wifair.scenario import Scenario
from wifair.scheme import Scheme
from wifair.store import Store, opened
from wifair.study import Cell, Study
from wifair.sweep import label
from wifair.traces import Traces

SchemeLike: TypeAlias = str | Mapping[str, Any] | type[Scheme] | Scheme


def load(path: str | Path) -> Scenario:
    """The scenario in a TOML file."""
    return Scenario.from_toml(path)


def run(
    scenario: Scenario,
    seeds: int | Iterable[int] = 10,
    threads: int | None = None,
    store: Store | str | Path | None = None,
    traces: Traces | None = None,
) -> Results:
    """Replications of one scenario. What a store has is not run again, unless there is something to trace."""
    return scenario.run(seeds, threads, store, traces)


def compare(
    scenario: Scenario,
    schemes: Sequence[SchemeLike],
    seeds: int | Iterable[int] = 10,
    threads: int | None = None,
    store: Store | str | Path | None = None,
) -> Results:
    """The scenario under each of the schemes, with common random numbers: the same seeds for all.

    A scheme is a name, a table of a name and parameters, or a class (or an instance) of one written in Python.
    """
    return comparison(scenario, schemes, seeds).run(threads, store=store)


def differences(results: Results, metrics: Sequence[str] = COMPARED, against: str | None = None) -> Differences:
    """Every scenario against the first one (or the one named), seed by seed: paired, with Holm's correction over all rows."""
    names = [cell.name for cell in results.cells]
    reference = against or names[0]
    if reference not in names:
        hint = nearest(reference, names)
        asked = f" Did you mean {hint}?" if hint else ""
        raise InputError(
            f"there is no scenario {reference!r} in these results.{asked} Allowed here: {', '.join(names)}."
        )
    return paired(results, [(name, reference) for name in names if name != reference], metrics)


def paper(
    paper_id: str,
    form: Literal["quick", "full"] = "quick",
    figure: str | None = None,
    seeds: int | None = None,
    threads: int | None = None,
    store: Store | str | Path | None = None,
    reading: str | None = None,
) -> Reproduction:
    """A paper's study, run (or one figure's part of it, or one reading against the baseline): verdicts, figures, results."""
    title = f"{paper_id}, {form}"
    return find(paper_id).reproduce(form, figure, seeds, threads, None, opened(store), title, reading)


def comparison(scenario: Scenario, schemes: Sequence[SchemeLike], seeds: int | Iterable[int], title: str = "") -> Study:
    """The study behind `compare`: one cell a scheme, named after it."""
    chosen = {label(value): value for value in map(named, schemes)}
    if len(chosen) < max(len(schemes), 1):
        listed = ",".join(label(named(value)) for value in schemes)
        raise InputError(f"schemes: {listed!r} must name at least one scheme, and none twice.")
    # The scenario's own scheme keeps its parameters; the others run with their defaults.
    cells = [Cell(name, scenario.override({"ap.scheme": value}), {"scheme": name}) for name, value in chosen.items()]
    return Study(cells, seeds, title)
