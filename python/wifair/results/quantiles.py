"""Quantiles in results come from histograms with 32 buckets per octave, interpolated: their resolution is 1/32 of the value.

Values that do not differ are then equal within that resolution, and not known to be equal.
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
    """How far apart two means of this metric may be without the histogram showing it; 0 where it is no quantile."""
    return (
        max(abs(float(np.nanmean(np.asarray(value, dtype=np.float64)))) for value in values) * RESOLUTION
        if is_quantile(metric)
        else 0.0
    )


def interval_of(metric: str, values: ArrayLike) -> Interval:
    """The mean of a metric over the replications with its 95 % interval, which is no narrower than a quantile's resolution allows."""
    array = np.asarray(values, dtype=np.float64)
    return t_interval(array, resolution=resolution_of(metric, array) if array.size else 0.0)
