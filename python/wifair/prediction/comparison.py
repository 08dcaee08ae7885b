"""The measured change of each quantity next to the predicted one.

1. A quantity's change is the mean after less the mean before: the difference of logarithms of a rate or a time, of shares and indexes their own.
2. With three measurements or more on both sides, the measured change has Welch's interval. With fewer, its variance is that of the runs of the
   prediction, in inverse proportion to the time: a run of d seconds with the variance s² gives s² d/T for a measurement of T seconds.
3. The predicted change is paired by seed. Both intervals together say by how much a right prediction and a measurement differ by chance, at 95 % for all
   quantities together (Bonferroni).
4. A change is as predicted if it differs by no more than that, or by less than matters. It is within the range if it is so between the least and the largest
   change over other values of what is assumed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

import numpy as np

from wifair.everything.criteria import INDEX_MATTERS, SHARE_MATTERS, THROUGHPUT_MATTERS, number
from wifair.observed.loads import LEAST_MBPS
from wifair.observed.shown import Kind, Quantity
from wifair.prediction.measurement import Measured
from wifair.prediction.prediction import Pair
from wifair.stats import LEVEL, Interval, Values, later_half_width, paired_difference, unpaired_difference

# From so many measurements on, their variance gives the interval.
LEAST_TIMES = 3


@dataclass(frozen=True)
class Scale:
    """How a quantity is compared: as a ratio or as a difference, and from which change on it matters. Values below `least` count as it."""

    kind: Literal["ratio", "difference"]
    matters: float
    least: float = -math.inf

    @property
    def margin(self) -> float:
        """The change that matters, on the scale of `of`."""
        return math.log1p(self.matters) if self.kind == "ratio" else self.matters

    def of(self, values: Values) -> Values:
        """The values on the scale on which changes are differences."""
        raised = np.maximum(values, self.least)
        return np.log(raised) if self.kind == "ratio" else raised

    def text(self, change: float) -> str:
        """A change in words."""
        return f"× {number(math.exp(change))}" if self.kind == "ratio" else f"{change:+.3f}"


_RATE = Scale("ratio", THROUGHPUT_MATTERS, LEAST_MBPS)
_SHARE = Scale("difference", INDEX_MATTERS)
SCALES: Mapping[Kind, Scale] = {
    "goodput": _RATE,
    "down": _RATE,
    "up": _RATE,
    "airtime": Scale("ratio", THROUGHPUT_MATTERS, 1e-4),
    "ping": Scale("ratio", SHARE_MATTERS, 0.01),
    "retries": _SHARE,
    "busy": _SHARE,
    "others": _SHARE,
    "fairness": _SHARE,
    "airtime fairness": _SHARE,
}


class Verdict(Enum):
    """Where the measured change lies."""

    AS_PREDICTED = "as predicted"
    IN_RANGE = "within the range over what is assumed"
    OUTSIDE = "outside"


@dataclass(frozen=True)
class Compared:
    """A quantity: its means before and after, and the measured and the predicted change on its scale, with 95 % intervals.

    `low` and `high` are the least and the largest predicted change over what is assumed. `chance` is by how much a right prediction may be missed.
    """

    quantity: Quantity
    before: float
    after: float
    measured: Interval
    predicted: Interval
    low: float
    high: float
    chance: float
    # Standard error of the difference between the measured and the predicted change.
    error: float = field(repr=False)

    @property
    def scale(self) -> Scale:
        """How it is compared."""
        return SCALES[self.quantity.kind]

    @property
    def missed(self) -> float:
        """By how much the prediction was missed, as a part of what chance and what matters allow."""
        return abs(self.measured.estimate - self.predicted.estimate) / self._allowed

    @property
    def _allowed(self) -> float:
        return max(self.chance, self.scale.margin)

    @property
    def verdict(self) -> Verdict:
        """Where the measured change lies."""
        if self.missed <= 1:
            return Verdict.AS_PREDICTED
        allowed = self._allowed
        in_range = self.low - allowed <= self.measured.estimate <= self.high + allowed
        return Verdict.IN_RANGE if in_range else Verdict.OUTSIDE


def changes(kind: Kind, own: Values, changed: Values) -> Values:
    """The changes by seed."""
    scale = SCALES[kind]
    return scale.of(changed) - scale.of(own)


def compared(
    before: Mapping[Quantity, Measured],
    after: Mapping[Quantity, Measured],
    pair: Pair,
    others: list[Pair],
    duration_s: float,
) -> list[Compared]:
    """All quantities that both measurements and the prediction have."""
    common = [what for what in pair.own if what in before and what in after and is_known(pair, what)]
    level = 1 - (1 - LEVEL) / max(len(common), 1)
    return [_compared(what, before[what], after[what], pair, others, duration_s, level) for what in common]


def is_known(pair: Pair, what: Quantity) -> bool:
    """Whether two runs or more have a quantity on both sides, so that its change has a variance."""
    return (
        what in pair.own
        and what in pair.changed
        and bool(np.count_nonzero(np.isfinite(pair.own[what] + pair.changed[what])) > 1)
    )


def _compared(
    what: Quantity,
    before: Measured,
    after: Measured,
    pair: Pair,
    others: list[Pair],
    duration_s: float,
    level: float,
) -> Compared:
    scale = SCALES[what.kind]
    own, changed = scale.of(pair.own[what]), scale.of(pair.changed[what])
    predicted = {each: paired_difference(changed, own, each).difference for each in (LEVEL, level)}
    measured = {each: _measured(scale, before, after, own, changed, duration_s, each) for each in (LEVEL, level)}
    found = [changes(what.kind, each.own[what], each.changed[what]) for each in others if is_known(each, what)]
    ends = [predicted[LEVEL].estimate, *(float(np.nanmean(each)) for each in found)]
    return Compared(
        what,
        before.mean,
        after.mean,
        measured[LEVEL],
        predicted[LEVEL],
        min(ends),
        max(ends),
        math.hypot(_half(predicted[level]), _half(measured[level])),
        math.hypot(_half(predicted[LEVEL]), _half(measured[LEVEL])) / 2,
    )


def _measured(
    scale: Scale, before: Measured, after: Measured, own: Values, changed: Values, duration_s: float, level: float
) -> Interval:
    first, second = scale.of(before.values), scale.of(after.values)
    if min(len(first), len(second)) >= LEAST_TIMES:
        return unpaired_difference(second, first, level)
    change = float(second.mean() - first.mean())
    halves = [
        later_half_width(values, (each.elapsed_s or duration_s) / duration_s, level)
        for values, each in ((own, before), (changed, after))
    ]
    return Interval(change, change - math.hypot(*halves), change + math.hypot(*halves), 1)


def _half(found: Interval) -> float:
    return (found.high - found.low) / 2 if found.high is not None and found.low is not None else 0.0
