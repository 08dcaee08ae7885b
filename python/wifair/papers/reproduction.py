"""What the papers' studies have in common: a grid run as baseline and under other readings, claims judged on it.

A paper says what its cells, claims and figures are; `PaperStudy.reproduce` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from wifair.claims import Claim, judge
from wifair.errors import InputError
from wifair.papers import Reproduction, Sensitivity
from wifair.papers.runs import VARIANT, Runs
from wifair.results import merged
from wifair.study import Cell, Study, run_studies

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wifair.store import Store
    from wifair.study import Progress

BASELINE = "baseline"
Data = TypeVar("Data")


@dataclass(frozen=True)
class Form:
    """How much is run: replications of the baseline and of each other reading (0: these are not run).

    The figures come in each of `figure_formats`.
    """

    seeds: int
    alternative_seeds: int
    warmup_s: float
    duration_s: float
    figure_formats: tuple[str, ...] = ("png",)


@dataclass(frozen=True)
class Alternative:
    """Another reading of what a paper leaves open: settings by path, for the cells that it concerns.

    `only` names these by their coordinates, as `{"scheme": ("red", "pi")}`; all cells where it is empty.
    """

    id: str
    question: str
    choice: str
    settings: Mapping[str, Any]
    only: Mapping[str, Sequence[object]] = field(default_factory=dict)

    def concerns(self, cell: Cell) -> bool:
        """Whether this reading changes the cell."""
        return all(cell.keys.get(name) in values for name, values in self.only.items())

    def applied(self, cell: Cell) -> Cell:
        """The cell under this reading."""
        return Cell(cell.name, cell.scenario.override(self.settings), cell.keys)


@dataclass(frozen=True)
class Look(Generic[Data]):
    """Another reading that needs no other simulation: the same runs, looked at differently."""

    id: str
    question: str
    choice: str
    looked_at: Callable[[Data], Data]


@dataclass(frozen=True)
class PaperStudy(Generic[Data]):
    """A paper's study.

    `cells(form, figure)` is the baseline's grid, or what one figure needs of it; a cell's keys are its coordinates.
    `measured` gives the claims and figures what they look at. The module of the figures, imported when they are drawn, has
    `FIGURES`, which draws each by its name, and `TEXTS` if some of them come as Markdown, too.
    """

    claims: Sequence[Claim[Data]]
    figures: Sequence[str]
    forms: Mapping[str, Form]
    cells: Callable[[Form, str | None], list[Cell]]
    measured: Callable[[Runs], Data]
    figures_module: str
    alternatives: Sequence[Alternative] = ()
    looks: Sequence[Look[Data]] = ()
    conditions: Mapping[str, Any] = field(default_factory=dict)

    def reproduce(
        self,
        form: str,
        figure: str | None,
        seeds: int | None,
        threads: int | None,
        progress: Progress | None,
        store: Store | None = None,
        title: str = "",
    ) -> Reproduction:
        """Runs the study, judges the claims, and weighs the other readings.

        With a figure, only its cells are run, and only its claims judged, in the baseline alone.
        """
        if figure is not None and figure not in self.figures:
            allowed = ", ".join(self.figures)
            raise InputError(f"figure {figure!r} is not in this paper's study; allowed here: {allowed}.")
        size = self.forms[form]
        count = seeds or size.seeds
        grid = self.cells(size, figure)
        alternatives = self.alternatives if figure is None and size.alternative_seeds else ()
        other_count = min(count, size.alternative_seeds)
        studies = [Study(variant_cells(grid), count, title and f"{title}: {BASELINE}")]
        studies += [
            Study(variant_cells(grid, alternative), other_count, title and f"{title}: {alternative.id}")
            for alternative in alternatives
        ]
        results = run_studies(studies, threads, progress, store)
        runs = [Runs.of(part) for part in results]
        baseline = self.measured(runs[0])
        others = dict(zip((a.id for a in alternatives), runs[1:], strict=True))
        drawn = [figure] if figure else list(self.figures)
        return Reproduction(
            results=merged(results),
            judgements=[judge(claim, baseline) for claim in self.claims if figure in (None, claim.figure)],
            sensitivities=self.sensitivities(runs[0], others, other_count),
            figures=lambda: self.drawn(baseline, drawn),
            texts=lambda: self.texts(baseline, drawn),
            figure_formats=size.figure_formats,
            conditions={
                "form": form,
                "replications": count,
                "replications_of_alternatives": other_count if alternatives else 0,
                "warmup_s": size.warmup_s,
                "duration_s": size.duration_s,
                **self.conditions,
            },
        )

    def drawn(self, data: Data, names: Sequence[str]) -> Iterator[tuple[str, Figure]]:
        """The figures of those names, one by one."""
        figures = import_module(self.figures_module).FIGURES
        return ((name, figures[name](data)) for name in names)

    def texts(self, data: Data, names: Sequence[str]) -> dict[str, str]:
        """Those of them that come as Markdown, too."""
        texts = getattr(import_module(self.figures_module), "TEXTS", {})
        return {name: texts[name](data) for name in names if name in texts}

    def sensitivities(self, baseline: Runs, others: Mapping[str, Runs], count: int) -> list[Sensitivity]:
        """The verdicts under each other reading that differ from the baseline's with the same `count` seeds."""
        if not others:
            return []
        reference = baseline.first(count)
        expected = self.measured(reference)
        verdicts = {claim.id: judge(claim, expected).verdict for claim in self.claims}

        def changed(reading: Data) -> dict[str, tuple[str, str]]:
            found = {claim.id: judge(claim, reading).verdict for claim in self.claims}
            return {name: (verdicts[name].value, new.value) for name, new in found.items() if new != verdicts[name]}

        told = [
            Sensitivity(a.id, a.question, a.choice, changed(self.measured(others[a.id].over(reference))), count)
            for a in self.alternatives
            if a.id in others
        ]
        told += [Sensitivity(x.id, x.question, x.choice, changed(x.looked_at(expected)), count) for x in self.looks]
        return told


def variant_cells(grid: Sequence[Cell], alternative: Alternative | None = None) -> list[Cell]:
    """The grid as baseline, or those cells that another reading changes, each with its variant in name and keys."""
    variant = alternative.id if alternative else BASELINE
    cells = [alternative.applied(cell) for cell in grid if alternative.concerns(cell)] if alternative else grid
    return [Cell(f"{variant}/{cell.name}", cell.scenario, {VARIANT: variant, **cell.keys}) for cell in cells]
