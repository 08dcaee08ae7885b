"""The effect of another reading on the verdicts: a sequential test in at most two stages with fixed bounds.

At the first look a verdict counts only if each of its conditions is shown at 99.9 %. The other claims are run with all
replications, only in the cells that they use, and are judged at 95 %, as the baseline is. With so strict a first look
the probability of a wrong verdict is nearly that of a single look. Source: S. J. Haybittle, Repeated assessment of
results in clinical trials of cancer treatment, British Journal of Radiology 44, 1971; R. Peto et al., British Journal
of Cancer 34, 1976.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np

from wifair.papers import Outcome, Sensitivity
from wifair.papers.claims import Claim, Evidence, Number, Point, Weighed, weigh
from wifair.papers.readings import Reading
from wifair.papers.runs import Missing, Place, Runs
from wifair.stats import LEVEL, Values, t_interval

FIRST_LEVEL = 0.999
Data = TypeVar("Data")


class Trial(Generic[Data]):
    """The comparison of a reading with the baseline.

    `runs` has the cells that the reading changes, with at most as many replications as `baseline`. If it has fewer,
    `wanted` names the cells that need the others, and `take` adds these, until `wanted` is empty.
    """

    def __init__(
        self,
        reading: Reading[Data],
        claims: Sequence[Claim[Data]],
        measured: Callable[[Runs], Data],
        baseline: Runs,
        runs: Runs,
    ) -> None:
        self.reading = reading
        self.wanted: set[Place] = set()
        self._measured = measured
        self._baseline = baseline
        self._runs = runs
        self._claims = {claim.id: claim for claim in claims}
        self._open = list(self._claims)
        self._outcomes: dict[str, Outcome] = {}
        self._complete: set[Place] = set()
        count = runs.replications or baseline.replications
        if count < baseline.replications:
            self._look(baseline.first(count), FIRST_LEVEL)
        else:
            self._complete |= runs.every_place
            self._look(baseline, LEVEL)

    def take(self, more: Runs) -> None:
        """Adds the missing replications of the wanted cells, and judges the open claims again."""
        self._runs = self._runs.extended(more)
        self._complete |= more.every_place
        self.wanted = set()
        self._look(self._baseline, LEVEL)

    def data(self) -> Data:
        """The measurements under the reading, in the replications that every cell has."""
        count = self._runs.replications or self._baseline.replications
        return self.reading.viewed(self._measured(self._runs.first(count).over(self._baseline.first(count))))

    def sensitivity(self) -> Sensitivity:
        """The outcomes of the claims that depend on what the reading changes."""
        found = {name: self._outcomes[name] for name in self._claims if name in self._outcomes}
        return Sensitivity(self.reading.id, self.reading.kind.value, self.reading.question, self.reading.choice, found)

    def _look(self, baseline: Runs, level: float) -> None:
        """Judges the open claims. Those that stay open add their cells to `wanted`."""
        composed, expected = self._runs.over(baseline), self._measured(baseline)
        withheld = self._runs.every_place - self._complete if level == LEVEL else frozenset()
        for name in tuple(self._open):
            claim = self._claims[name]
            asked: set[Place] = set()
            try:
                here = claim.evidence(self.reading.viewed(self._measured(composed.watched(asked, withheld))))
            except Missing as missing:
                self.wanted.add(missing.place)
                continue
            before = claim.evidence(expected)
            if not _same(before, here):
                found = weigh(here, level)
                if level == FIRST_LEVEL and not found.settled:
                    self.wanted |= asked & self._runs.every_place
                    continue
                final = weigh(claim.evidence(self._measured(self._baseline)))
                self._outcomes[name] = _outcome(final, found, before)
            self._open.remove(name)


def _outcome(baseline: Weighed, found: Weighed, before: Evidence) -> Outcome:
    """A claim's outcome: the `baseline` verdict from all replications, and the deciding point under the reading with the same point `before`."""
    point = found.point
    if point is None:
        return Outcome(baseline.verdict.value, found.verdict.value, 0, None, None, None)
    values = _values(point)
    same = next((_values(other) for other in before.points if other.label == point.label), None)
    paired = same is not None and same.shape == values.shape
    return Outcome(
        baseline.verdict.value,
        found.verdict.value,
        values.size,
        t_interval(same) if same is not None else None,
        t_interval(values),
        t_interval(values - same) if paired and same is not None else None,
    )


def _same(before: Evidence, here: Evidence) -> bool:
    """Whether two pieces of evidence are equal bit for bit."""
    bands = [(found.target, found.tolerance) if isinstance(found, Number) else None for found in (before, here)]
    if bands[0] != bands[1] or len(before.points) != len(here.points):
        return False
    return all(
        one.label == other.label and np.array_equal(_values(one), _values(other), equal_nan=True)
        for one, other in zip(before.points, here.points, strict=True)
    )


def _values(point: Point) -> Values:
    return np.asarray(point.values, dtype=np.float64)
