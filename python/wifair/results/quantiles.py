"""Quantiles in results come from histograms with 32 buckets per octave, interpolated: their resolution is 1/32 of the value.

Equal values are therefore known to be equal only within that resolution.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import ArrayLike

from wifair.stats import Interval, t_interval

RESOLUTION = 1 / 32
_NAME = re.compile(r"(^|_)p(50|95|99)_")


def is_quantile(metric: str) -> bool:
    """Whether a metric or column is a quantile from a histogram."""
    return _NAME.search(metric) is not None


def resolution_of(metric: str, *values: ArrayLike) -> float:
    """The largest difference of two means of this metric that the histogram may hide; 0 if it is not a quantile."""
    return (
        max(abs(float(np.nanmean(np.asarray(value, dtype=np.float64)))) for value in values) * RESOLUTION
        if is_quantile(metric)
        else 0.0
    )


def interval_of(metric: str, values: ArrayLike, bounds: tuple[float, float] | None = None) -> Interval:
    """The mean of a metric over the replications with its 95 % interval, at least as wide as a quantile's resolution.

    `bounds` are those of `t_interval`.
    """
    array = np.asarray(values, dtype=np.float64)
    return t_interval(array, resolution=resolution_of(metric, array) if array.size else 0.0, bounds=bounds)
