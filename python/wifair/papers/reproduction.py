"""The common part of the papers' studies: runs a grid as baseline and under other readings, and judges claims.

A paper defines its cells, claims, readings and figures; `PaperStudy.reproduce` does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from wifair.papers import Asked, Reproduction
from wifair.papers.batches import Batches
from wifair.papers.claims import Claim, Dropped, judge
from wifair.papers.readings import Reading, named
from wifair.papers.runs import VARIANT, Runs, place_of
from wifair.papers.sensitivity import FIRST_LEVEL, Trial
from wifair.results.results import Results, merged
from wifair.study.job import Cell

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BASELINE = "baseline"
Data = TypeVar("Data")


@dataclass(frozen=True)
class Form:
    """The size of a study: replications of the baseline, and of each other reading at the first look.

    A claim that the first look leaves open is run with all `seeds` (`wifair.papers.sensitivity`). With `first_look` 0
    no other reading is run. Figures are written in each of `figure_formats`.
    """

    seeds: int
    first_look: int
    warmup_s: float
    duration_s: float
    figure_formats: tuple[str, ...] = ("png",)


@dataclass(frozen=True)
class PaperStudy(Generic[Data]):
    """A paper's study.

    `cells(form, figure)` is the baseline's grid, or the part for one figure; a cell's keys are its coordinates.
    `measured` computes the quantities that claims and figures use. `dropped` are claims that are no longer judged. The
    module of the figures, imported when they are drawn, has the functions `FIGURES` by name, `TEXTS` for those that
    also exist as Markdown, and `TABLES` for Markdown that compares readings. `shown` names the text that is printed instead
    of the claims.
    """

    claims: Sequence[Claim[Data]]
    figures: Sequence[str]
    forms: Mapping[str, Form]
    cells: Callable[[Form, str | None], list[Cell]]
    measured: Callable[[Runs], Data]
    figures_module: str
    readings: Sequence[Reading[Data]] = ()
    dropped: Sequence[Dropped] = ()
    conditions: Mapping[str, Any] = field(default_factory=dict)
    shown: str = ""

    def reproduce(self, asked: Asked) -> Reproduction:
        """Runs the study, judges the claims, and evaluates the other readings.

        With a figure, only its cells are run and only its claims are judged, in the baseline alone. With a reading,
        only that one is evaluated, in all replications at once.
        """
        asked.check(self.figures)
        figure, reading = asked.figure, asked.reading
        size = self.forms[asked.form]
        count = asked.seeds or size.seeds
        grid = self.cells(size, figure)
        claims = [claim for claim in self.claims if figure in (None, claim.figure)]
        readings: Sequence[Reading[Data]] = ()
        first = count
        if reading is not None:
            readings = (named(reading, self.readings),)
        elif figure is None and size.first_look:
            readings, first = self.readings, min(count, size.first_look)
        results, trials, baseline = self._weigh(Batches(asked), grid, readings, count, first, claims)
        data = self.measured(baseline)
        drawn = [figure] if figure else list(self.figures)
        looks = f"{first}, then {count} where {FIRST_LEVEL:.1%} leaves a verdict open" if first < count else f"{count}"
        return Reproduction(
            results=merged(results),
            judgements=[judge(claim, data) for claim in claims],
            sensitivities=[trial.sensitivity() for trial in trials],
            dropped=self.dropped if figure is None else (),
            figures=lambda: self.drawn(data, drawn),
            texts=lambda: {
                **self.texts(data, drawn),
                **self.tables({BASELINE: data, **{trial.reading.id: trial.data() for trial in trials}}),
            },
            figure_formats=size.figure_formats,
            shown=self.shown if self.shown in drawn else "",
            conditions={
                "form": asked.form,
                "replications": count,
                "replications_of_readings": looks if readings else 0,
                "warmup_s": size.warmup_s,
                "duration_s": size.duration_s,
                **self.conditions,
            },
        )

    def _weigh(
        self,
        batches: Batches,
        grid: Sequence[Cell],
        readings: Sequence[Reading[Data]],
        count: int,
        first: int,
        claims: Sequence[Claim[Data]],
    ) -> tuple[list[Results], list[Trial[Data]], Runs]:
        """Runs the baseline with `count` replications and the readings with `first`, then with `count` the cells that open verdicts need."""
        variants = {other.id: variant_cells(grid, other) for other in readings}
        rest = sum(len(cells) for cells in variants.values()) * (count - first)
        begun = len(grid) * count + sum(len(cells) for cells in variants.values()) * first
        results = batches.run(
            [
                (BASELINE, variant_cells(grid), range(1, count + 1)),
                *((name, cells, range(1, first + 1)) for name, cells in variants.items()),
            ],
            until=begun / (begun + rest),
        )
        baseline, *others = (Runs.of(part) for part in results)
        trials = [
            Trial(other, claims, self.measured, baseline, runs) for other, runs in zip(readings, others, strict=True)
        ]
        while wanting := [trial for trial in trials if trial.wanted]:
            more = batches.run(
                [
                    (
                        f"{trial.reading.id}, to the end",
                        [cell for cell in variants[trial.reading.id] if place_of(cell) in trial.wanted],
                        range(first + 1, count + 1),
                    )
                    for trial in wanting
                ],
                until=1.0,
            )
            for trial, part in zip(wanting, more, strict=True):
                trial.take(Runs.of(part))
            results += more
        return results, trials, baseline

    def drawn(self, data: Data, names: Sequence[str]) -> Iterator[tuple[str, Figure]]:
        """The figures of those names, one by one."""
        figures = import_module(self.figures_module).FIGURES
        return ((name, figures[name](data)) for name in names)

    def texts(self, data: Data, names: Sequence[str]) -> dict[str, str]:
        """The Markdown of those figures that have it, by name."""
        texts = getattr(import_module(self.figures_module), "TEXTS", {})
        return {name: texts[name](data) for name in names if name in texts}

    def tables(self, data: Mapping[str, Data]) -> dict[str, str]:
        """The Markdown that compares the baseline with readings, by name; none unless all readings were run."""
        if any(reading.id not in data for reading in self.readings):
            return {}
        tables = getattr(import_module(self.figures_module), "TABLES", {})
        return {name: made(data) for name, made in tables.items()}


def variant_cells(grid: Sequence[Cell], reading: Reading[Any] | None = None) -> list[Cell]:
    """The grid as baseline, or the cells that a reading changes, each with its variant in name and keys."""
    variant = reading.id if reading else BASELINE
    cells = [reading.applied(cell) for cell in grid if reading.concerns(cell)] if reading else grid
    return [Cell(f"{variant}/{cell.name}", cell.scenario, {VARIANT: variant, **cell.keys}) for cell in cells]
