"""Which assumptions the measured change speaks against.

Each other value of an assumption predicts other changes. Let d be the difference of its prediction from that with the assumed value, and
r the difference of the measured changes from the latter, one number per quantity, weighted by w. Then

    x = Σ w d r / Σ w d²

says how far the measured changes lie on the way from the assumed to the other value: 0 if they are as predicted, 1 if they are as with the
other value. Under the assumed value, x differs from 0 by chance. It is a weighted sum of the measured quantities, so its variance follows
from the runs of the prediction seed by seed, whatever the correlation of the quantities; that of the measurements is taken as in
`comparison`. The measured change speaks against the assumed value if the interval of x is above 0, at 95 % for all other values together
(Bonferroni), and if the other value brings the prediction nearer to both measurements. Another value whose d is not beyond its own chance
cannot be distinguished from the assumed one.

With the other value that explains most, the prediction is nearest to both measurements: to the levels before the change, and to the
changes. A step of x, at least 0 and at most 1, explains 1 − Σ w (r − x d)² / Σ w r² of the miss, over both.

The weight of a quantity is 1/(v + m²) with the variance v of r and the change m that matters, so that no quantity counts because it hardly
varies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from wifair.observed.shown import Quantity
from wifair.prediction.comparison import SCALES, Compared, is_known
from wifair.prediction.measurement import Measured
from wifair.prediction.prediction import Other, Prediction
from wifair.prediction.way import along, mean, of_mean, over_times
from wifair.stats import LEVEL, Interval, Values

# Sums and indexes repeat what the stations show.
REPEATED = ("down", "up", "fairness", "airtime fairness")


@dataclass(frozen=True)
class Spoken:
    """Another value of an assumption: how far the measured changes lie on the way to it, and which part of the miss of both measurements it explains.

    `before` is the same for what was measured before the change. None where the other value has no clear effect.
    """

    other: Other
    way: Interval | None
    explained: float = 0.0
    before: Interval | None = None

    @property
    def is_against(self) -> bool:
        """Whether the measured change speaks against the assumed value, and what was measured before does not contradict the other one."""
        return self.way is not None and self.way.low is not None and self.way.low > 0 and self.explained > 0


def spoken(
    prediction: Prediction,
    found: Sequence[Compared],
    before: Mapping[Quantity, Measured],
    after: Mapping[Quantity, Measured],
) -> list[Spoken]:
    """Every other value of an assumption; first those that the change speaks for, by the part of the miss that they explain."""
    used = [each for each in found if each.quantity.kind not in REPEATED]
    if not used or not prediction.others:
        return []
    level = 1 - (1 - LEVEL) / len(prediction.others)
    made = [_Space(prediction, used, before, after, level).of(other) for other in prediction.others]
    return sorted(made, key=lambda each: (not each.is_against, -each.explained))


@dataclass(frozen=True)
class _Space:
    """The quantities as vectors. Rows of a matrix are seeds."""

    prediction: Prediction
    used: Sequence[Compared]
    before: Mapping[Quantity, Measured]
    after: Mapping[Quantity, Measured]
    level: float

    def of(self, other: Other) -> Spoken:
        pair = self.prediction.pair
        there = [each for each in self.used if is_known(other.pair, each.quantity)]
        if not there:
            return Spoken(other, None)
        weights = np.array([1 / (each.error**2 + each.scale.margin**2) for each in there])
        own, changed = self._matrix(pair.own, there), self._matrix(pair.changed, there)
        other_own, other_changed = self._matrix(other.pair.own, there), self._matrix(other.pair.changed, there)
        seeds = min(len(own), len(other_own))
        towards = (other_changed - other_own)[:seeds] - (changed - own)[:seeds]
        missed = np.array([each.measured.estimate - each.predicted.estimate for each in there])
        noise = (self._noise(own, self.before, there), self._noise(changed, self.after, there))
        way = self._along(towards, missed, weights, [*noise, of_mean(changed - own)])
        if way is None:
            return Spoken(other, None)
        step = min(max(way.estimate, 0.0), 1.0)
        level_before = np.array([float(each.scale.of(self.before[each.quantity].values).mean()) for each in there])
        level_noise = [noise[0], of_mean(own)]
        level_weights = self._level_weights(level_noise, there)
        level_missed, level_towards = level_before - mean(own), (other_own - own[: len(other_own)])[:seeds]
        earlier = self._along(level_towards, level_missed, level_weights, level_noise)
        missed_all = np.concatenate([missed, level_missed])
        step_all = step * np.concatenate([mean(towards), mean(level_towards)])
        explained = _explained(missed_all, step_all, np.concatenate([weights, level_weights]))
        return Spoken(other, way, explained, earlier)

    def _level_weights(self, noise: Sequence[Values], there: Sequence[Compared]) -> Values:
        """The weights of what was measured before the change."""
        variance = sum(np.nanvar(each, axis=0, ddof=1) for each in noise)
        margins = np.array([each.scale.margin for each in there])
        weights: Values = 1 / (variance + margins**2)
        return weights

    def _matrix(self, values: Mapping[Quantity, Values], there: Sequence[Compared]) -> Values:
        return np.stack([SCALES[each.quantity.kind].of(values[each.quantity]) for each in there], axis=1)

    def _along(self, towards: Values, missed: Values, weights: Values, noise: Sequence[Values]) -> Interval | None:
        return along(towards, missed, weights, noise, self.level)

    def _noise(self, runs: Values, measured: Mapping[Quantity, Measured], there: Sequence[Compared]) -> Values:
        """The deviations of runs as they would be over the time of the measurement."""
        return over_times(runs, [measured[each.quantity].elapsed_s for each in there], self.prediction.duration_s)


def _explained(missed: Values, step: Values, weights: Values) -> float:
    """Which part of a weighted miss a step takes away."""
    whole = float(weights @ missed**2)
    return 1 - float(weights @ (missed - step) ** 2) / whole if whole else 0.0
