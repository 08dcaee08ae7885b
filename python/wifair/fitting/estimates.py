"""What a measurement tells of each parameter, and which pairs of parameters it cannot tell apart.

The profiles vary one parameter around the best point. A value is excluded if its runs differ clearly from those of the best point, and the measurement lies
nearer to the best point by more than chance: if the interval of x (`wifair.prediction.way`) is below 1, at 95 % for all values of the profiles together
(Bonferroni). Two parameters cannot be told apart if they move the same quantities in the same proportion: if the cosine of their directions, weighted as the
objective, is at least 0.9 in absolute value. What one of them changes, the other one undoes.

What fits as well as the best value of a number lies between the nearest excluded values on both sides, or reaches to the end of the range. The profiles have few
values, so `open_ends` names the values between an excluded one and the nearest one that is not, which narrow this interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wifair.fitting.objective import Objective
from wifair.fitting.search import MIDDLE, NEAR, Parameter, Point, Searched
from wifair.prediction.way import along, mean, of_mean, over_times
from wifair.stats import LEVEL, Values
from wifair.tuning.ranges import Choices

# From this cosine on, two directions are alike.
ALIKE = 0.9


@dataclass(frozen=True)
class Estimate:
    """The value of a parameter at the best point, and the values of its profile that the measurement does not exclude."""

    parameter: Parameter
    value: Any
    possible: tuple[Any, ...]
    excluded: tuple[Any, ...]

    @property
    def is_known(self) -> bool:
        """Whether the measurement excludes any other value."""
        return bool(self.excluded)

    @property
    def between(self) -> tuple[Any, Any] | None:
        """The interval of what fits as well: the nearest excluded values, or the ends of the range; None of whole numbers and of choices."""
        values = self.parameter.values
        if isinstance(values, Choices) or values.whole:
            return None
        low = max((each for each in self.excluded if each < self.value), default=values.low)
        high = min((each for each in self.excluded if each > self.value), default=values.high)
        return low, high

    @property
    def open_range(self) -> tuple[Any, ...]:
        """The ends of the range up to which no number is excluded, so that the value may lie beyond. A factor of zero has nothing beyond it."""
        values = self.parameter.values
        if isinstance(values, Choices) or not self.excluded:
            return ()
        is_open = (min(self.excluded) > self.value, max(self.excluded) < self.value)
        return tuple(end for end, yes in zip((values.low, values.high), is_open, strict=True) if yes and end != 0)

    @property
    def others(self) -> tuple[Any, ...]:
        """The values that differ most from the best one among those that fit as well: the ends of an interval, or all choices that are not excluded."""
        if self.between:
            return tuple(each for each in self.between if each != self.value)
        if isinstance(self.parameter.values, Choices):
            return self.possible
        low = max((each for each in self.excluded if each < self.value), default=-math.inf)
        high = min((each for each in self.excluded if each > self.value), default=math.inf)
        near = [each for each in self.possible if low < each < high]
        return tuple(dict.fromkeys([*near[:1], *near[-1:]]))

    @property
    def open_ends(self) -> list[Any]:
        """Values half way between the ends of the interval and what surely fits as well next to them."""
        if self.between is None or not self.excluded:
            return []
        low, high = self.between
        fits = [each for each in (*self.possible, self.value) if low <= each <= high]
        pairs = [(end, near) for end, near in ((low, min(fits)), (high, max(fits))) if end in self.excluded]
        shares = [[self.parameter.share(each) for each in pair] for pair in pairs]
        return [self.parameter.at((end + near) / 2) for end, near in shares if abs(end - near) > NEAR / 2]


@dataclass(frozen=True)
class Alike:
    """Two parameters that the measurement cannot tell apart."""

    one: Parameter
    two: Parameter
    cosine: float


@dataclass(frozen=True)
class _Profile:
    name: str
    value: Any
    # The mean direction from the best point; None if it does not differ clearly.
    direction: Values | None
    is_excluded: bool


def estimates(searched: Searched, duration_s: float) -> tuple[list[Estimate], list[Alike]]:
    """What is known of each parameter, and the pairs that are alike."""
    assert searched.objective is not None
    profiles = [_profile(searched, name, point, duration_s) for name, point in searched.profiles]
    found = []
    for each in searched.parameters:
        mine = [profile for profile in profiles if profile.name == each.name]
        possible = [profile.value for profile in mine if not profile.is_excluded]
        excluded = [profile.value for profile in mine if profile.is_excluded]
        found.append(Estimate(each, searched.best[each.name], tuple(possible), tuple(excluded)))
    return found, _alike(searched, profiles)


def _profile(searched: Searched, name: str, point: Point, duration_s: float) -> _Profile:
    best, other = searched.of(searched.best), searched.of(point)
    objective = _around_best(searched)
    own = objective.matrix(best)
    towards = objective.matrix(other, MIDDLE) - own[:MIDDLE]
    noise = [
        over_times(own, [objective.measured[what].elapsed_s for what in objective.quantities], duration_s),
        of_mean(own),
    ]
    level = 1 - (1 - LEVEL) / max(len(searched.profiles), 1)
    way = along(towards, objective.values - mean(own), objective.weights, noise, level)
    if way is None:
        return _Profile(name, point[name], None, is_excluded=False)
    return _Profile(name, point[name], mean(towards), is_excluded=way.high is not None and way.high < 1)


def _around_best(searched: Searched) -> Objective:
    """The objective with the variance of the best point, which may differ from that of the scenario as it is."""
    objective = searched.objective
    assert objective is not None
    runs = searched.of(searched.best)
    return Objective(
        objective.measured, {what: runs[what] for what in objective.quantities if what in runs}, objective.duration_s
    )


def _alike(searched: Searched, profiles: Sequence[_Profile]) -> list[Alike]:
    objective = _around_best(searched)
    directions = {}
    for each in searched.parameters:
        mine = [
            profile.direction for profile in profiles if profile.name == each.name and profile.direction is not None
        ]
        if mine:
            directions[each.name] = max(mine, key=lambda found: _length(objective, found))
    known = [each for each in searched.parameters if each.name in directions]
    found = []
    for i, one in enumerate(known):
        for two in known[i + 1 :]:
            cosine = abs(_cosine(objective, directions[one.name], directions[two.name]))
            if cosine >= ALIKE:
                found.append(Alike(one, two, cosine))
    return found


def _length(objective: Objective, direction: Values) -> float:
    return math.sqrt(float(objective.weights @ direction**2))


def _cosine(objective: Objective, one: Values, two: Values) -> float:
    return float(objective.weights @ (one * two)) / (_length(objective, one) * _length(objective, two))
