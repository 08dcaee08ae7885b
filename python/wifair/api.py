"""The few calls that most scripts need."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from wifair.errors import InputError
from wifair.results import Results
from wifair.scenario import Scenario
from wifair.store import Store
from wifair.study import Cell, Study


def load(path: str | Path) -> Scenario:
    """The scenario in a TOML file."""
    return Scenario.from_toml(path)


def run(
    scenario: Scenario,
    seeds: int | Iterable[int] = 10,
    threads: int | None = None,
    store: Store | str | Path | None = None,
) -> Results:
    """Replications of one scenario. What a store has is not run again."""
    return scenario.run(seeds, threads, store)


def compare(
    scenario: Scenario,
    schemes: Sequence[str],
    seeds: int | Iterable[int] = 10,
    threads: int | None = None,
    store: Store | str | Path | None = None,
) -> Results:
    """The scenario under each of the schemes, with common random numbers: the same seeds for all."""
    return comparison(scenario, schemes, seeds).run(threads, store=store)


def comparison(scenario: Scenario, schemes: Sequence[str], seeds: int | Iterable[int], title: str = "") -> Study:
    """The study behind `compare`: one cell a scheme, named after it."""
    if len(set(schemes)) < max(len(schemes), 1):
        raise InputError(f"schemes: {','.join(schemes)!r} must name at least one scheme, and none twice.")
    # The scenario's own scheme keeps its parameters; the others run with their defaults.
    cells = [Cell(name, scenario.override({"ap.scheme": name}), {"scheme": name}) for name in schemes]
    return Study(cells, seeds, title)
