"""How far a measurement lies on the way from one prediction to another: the coordinate x of `wifair.prediction.assumptions`.

Quantities are vectors. Rows of a matrix are seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from wifair.stats import Interval, Values, half_width

# Σ w d² must exceed that which chance gives by this factor.
CLEAR = 4.0


def along(towards: Values, missed: Values, weights: Values, noise: Sequence[Values], level: float) -> Interval | None:
    """How far `missed` lies in the mean direction of `towards`, with the interval that the rows of each `noise` give.

    None if the direction is not clear: if chance alone may give a fourth of its square. A quantity without a value, NaN, counts as one that does not differ.
    """
    direction = np.nan_to_num(mean(towards))
    length = float(weights @ direction**2)
    twice = np.isfinite(towards).sum(axis=0) > 1
    by_chance = float(weights[twice] @ np.nanvar(towards[:, twice], axis=0, ddof=1)) / len(towards)
    if not length > CLEAR * by_chance:
        return None
    unit = weights * direction / length
    half = math.hypot(*(half_width(np.nan_to_num(each) @ unit, level) for each in noise))
    estimate = float(unit @ np.nan_to_num(missed))
    return Interval(estimate, estimate - half, estimate + half, len(towards))


def over_times(runs: Values, elapsed_s: Sequence[float | None], duration_s: float) -> Values:
    """The deviations of runs of `duration_s` as they would be over other times; a time that is unknown is that of a run."""
    times = np.array([each or duration_s for each in elapsed_s])
    found: Values = (runs - mean(runs)) * np.sqrt(duration_s / times)
    return found


def of_mean(runs: Values) -> Values:
    """The deviations of runs as those of their mean."""
    found: Values = (runs - mean(runs)) / math.sqrt(len(runs))
    return found


def mean(runs: Values) -> Values:
    """The mean of each quantity; NaN where no run has a value."""
    there = np.isfinite(runs).any(axis=0)
    found: Values = np.full(runs.shape[1], np.nan)
    found[there] = np.nanmean(runs[:, there], axis=0)
    return found
