"""The search for the values of parameters with which runs are nearest to a measurement.

1. The scenario as it is has run with seeds 1 to 12.
2. Optuna proposes batches of points, as in `wifair tune`, until the replications are used up. Each point runs with seeds 1 to 3.
3. The four best points and the scenario as it is run with seeds 1 to 12.
4. Around the best one, each parameter takes other values alone, with seeds 1 to 3: all choices, and numbers near its value. Those that are better there also
   run with seeds 4 to 6. The best of these points, and the one with the best value of every parameter that has a better one, run with seeds 1 to 12. If one of
   the two is better there as well, it is the best one, and step 4 repeats. Otherwise it repeats with half the distance of near values, a sixteenth of the range at
   first, a 64th at last.
5. The profiles: each parameter takes values over its whole range as well, with seeds 1 to 6. If one of these is better, steps 4 and 5 repeat from there.

All points have the same seeds (common random numbers). What is asked next depends on the values alone, so a search that continues with its store asks the
same points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from wifair.analysis.sweep import label
from wifair.fitting.objective import Objective, Runs
from wifair.observed.shown import Quantity
from wifair.prediction.measurement import Measured
from wifair.tuning.asked import Asker
from wifair.tuning.ranges import Choices, Numbers, Range

FIRST, MIDDLE, ALL = 3, 6, 12
BATCH = 8
FINALISTS = 4
# Rounds of steps 4 and 5 at most.
ROUNDS = 12
# Values of a parameter over its range, and the first and the last distance of near ones as a part of it.
SPREAD, NEAR, NEAREST = 5, 1 / 16, 1 / 64

# Values of the parameters by name.
Point = Mapping[str, Any]
# Runs points with these seeds.
Measure = Callable[[Sequence[Point], range], Sequence[Runs]]


@dataclass(frozen=True)
class Parameter:
    """What may vary: its name, its range, and the value with which the scenario is as it is."""

    name: str
    values: Range
    kept: Any

    def spread(self) -> list[Any]:
        """Values over the whole range."""
        if isinstance(self.values, Choices):
            return self.values.values()
        if self.values.whole:
            return list(range(int(self.values.low), int(self.values.high) + 1))
        return [self.at(share) for share in np.linspace(0, 1, SPREAD)]

    def near(self, value: Any, step: float) -> list[Any]:
        """Values on both sides of a value, at this part of the range from it."""
        if isinstance(self.values, Choices) or self.values.whole:
            return []
        share = self.share(value)
        return [self.at(share + by) for by in (-step, step) if 0 <= share + by <= 1]

    def share(self, value: float) -> float:
        """Where a number lies in its range, from 0 to 1."""
        assert isinstance(self.values, Numbers)
        low, high = self.values.low, self.values.high
        if self.values.log:
            return math.log(value / low) / math.log(high / low)
        return (value - low) / (high - low)

    def at(self, share: float) -> float:
        """The number at this part of the range."""
        assert isinstance(self.values, Numbers)
        low, high = self.values.low, self.values.high
        return float(low * (high / low) ** share if self.values.log else low + (high - low) * share)


@dataclass
class Searched:
    """What is known: the best point, its runs, and the profiles around it, each with its parameter's name. `runs` counts replications."""

    parameters: Sequence[Parameter]
    start: Point
    best: Point
    objective: Objective | None = None
    shown: dict[str, Runs] = field(default_factory=dict)
    profiles: list[tuple[str, Point]] = field(default_factory=list)
    runs: int = 0

    def of(self, point: Point) -> Runs:
        """What runs of a point show."""
        return self.shown[key(point)]


def key(point: Point) -> str:
    """What identifies a point."""
    return ", ".join(f"{name}={label(value)}" for name, value in point.items())


class Search:
    """A search. `own` are the runs of step 1, `is_possible` says whether a point can run, and `runs` is the number of replications of steps 1 to 3."""

    def __init__(
        self,
        parameters: Sequence[Parameter],
        measured: Mapping[Quantity, Measured],
        duration_s: float,
        own: Runs,
        measure: Measure,
        is_possible: Callable[[Point], bool] = lambda _: True,
        runs: int = 300,
    ) -> None:
        self.parameters = parameters
        self.measure, self.is_possible, self.budget = measure, is_possible, runs
        start = {each.name: each.kept for each in parameters}
        objective = Objective(measured, own, duration_s)
        self.found = Searched(parameters, start, start, objective, {key(start): own}, runs=ALL)
        self.asked: list[Point] = []

    def run(self) -> Searched:
        """Runs it; `found` is what is known meanwhile."""
        found = self.found
        self._ask()
        finalists = [found.start, *sorted(self.asked, key=lambda point: self.value(point, FIRST))[:FINALISTS]]
        self._more(finalists, ALL)
        found.best = min(finalists, key=lambda point: self.value(point, ALL))
        self._refine()
        return found

    def profile(self, values: Sequence[tuple[str, Any]]) -> None:
        """Adds values of parameters, by their names, to the profiles."""
        points = [(name, {**self.found.best, name: value}) for name, value in values]
        self.found.profiles += [(name, point) for name, point in points if self.is_possible(point)]
        self._more([point for _, point in self.found.profiles], MIDDLE)

    def _refine(self) -> None:
        """Steps 4 and 5. The last round gives the profiles."""
        step = NEAR
        for _ in range(1, ROUNDS):
            is_last = step < NEAREST
            if self._improve(max(step, NEAREST), over_all=is_last):
                step = NEAR if is_last else step
            elif is_last:
                return
            else:
                step /= 2
        self._look_around(NEAREST, over_all=True)

    def value(self, point: Point, seeds: int) -> float:
        """The objective of a point with its first seeds."""
        assert self.found.objective is not None
        return self.found.objective(self.found.of(point), seeds)

    def _ask(self) -> None:
        """Step 2: batches of the optimiser, if anything may vary."""
        if not self.parameters:
            return
        asker = Asker({each.name: each.values for each in self.parameters}, 1)
        seen = {key(self.found.start)}

        def is_new(settings: dict[str, Any]) -> bool | None:
            if key(settings) in seen:
                return False
            return True if self.is_possible(settings) else None

        exhausted = False
        while not exhausted and self.found.runs + BATCH * FIRST + FINALISTS * (ALL - FIRST) <= self.budget:
            batch: list[tuple[Any, Point]] = []
            while len(batch) < BATCH:
                asked = asker.ask(is_new)
                if asked is None:
                    exhausted = True
                    break
                seen.add(key(asked[1]))
                batch.append(asked)
            self._more([point for _, point in batch], FIRST)
            self.asked += [point for _, point in batch]
            for trial, point in batch:
                asker.tell(trial, [-self.value(point, FIRST)])

    def _improve(self, step: float, over_all: bool) -> bool:
        """A round; whether the best point is another one now."""
        found = self.found
        self._look_around(step, over_all)
        own = self.value(found.best, MIDDLE)
        by_name: dict[str, tuple[float, Any]] = {}
        for name, point in found.profiles:
            if self._seeds(point) < MIDDLE or (value := self.value(point, MIDDLE)) >= own:
                continue
            if name not in by_name or value < by_name[name][0]:
                by_name[name] = (value, point[name])
        if not by_name:
            return False
        first = min(by_name, key=lambda name: by_name[name][0])
        alone = {**found.best, first: by_name[first][1]}
        together = {**found.best, **{name: value for name, (_, value) in by_name.items()}}
        tried = [point for point in (alone, together) if self.is_possible(point)]
        self._more(tried, ALL)
        best = min(tried, key=lambda point: self.value(point, ALL))
        if self.value(best, ALL) >= self.value(found.best, ALL):
            return False
        found.best = best
        return True

    def _look_around(self, step: float, over_all: bool) -> None:
        """Runs the points around the best one: all of them with as many seeds over the whole range, else only those that are better with the first seeds."""
        self.found.profiles = list(self._around(self.found.best, step, over_all))
        points = [point for _, point in self.found.profiles]
        if not over_all:
            own = self.value(self.found.best, FIRST)
            self._more(points, FIRST)
            points = [point for point in points if self.value(point, FIRST) < own]
        self._more(points, MIDDLE)

    def _around(self, best: Point, step: float, over_all: bool) -> Iterator[tuple[str, Point]]:
        for each in self.parameters:
            own = best[each.name]
            near = each.near(own, step)
            values = {label(value): value for value in [*(each.spread() if over_all or not near else ()), *near]}
            for value in values.values():
                point = {**best, each.name: value}
                if value != own and self.is_possible(point):
                    yield each.name, point

    def _seeds(self, point: Point) -> int:
        runs = self.found.shown.get(key(point))
        return len(next(iter(runs.values()))) if runs else 0

    def _more(self, points: Sequence[Point], seeds: int) -> None:
        """Runs points with the seeds up to `seeds` that they do not have."""
        by_count: dict[int, list[Point]] = {}
        for point in {key(each): each for each in points}.values():
            have = self._seeds(point)
            if have < seeds:
                by_count.setdefault(have, []).append(point)
        for have, some in by_count.items():
            for point, runs in zip(some, self.measure(some, range(have + 1, seeds + 1)), strict=True):
                self.found.shown[key(point)] = _joined(self.found.shown.get(key(point)), runs)
            self.found.runs += len(some) * (seeds - have)


def _joined(first: Runs | None, second: Runs) -> Runs:
    """The values of both, NaN where one does not have a quantity."""
    if not first:
        return second
    counts = [len(next(iter(runs.values()))) for runs in (first, second)]
    return {
        what: np.concatenate(
            [runs.get(what, np.full(count, np.nan)) for runs, count in zip((first, second), counts, strict=True)]
        )
        for what in dict.fromkeys([*first, *second])
    }
