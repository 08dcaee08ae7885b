"""The objective of a fit: the mean square of the normalised residuals.

A residual is the measured value less the mean of the runs, on the scale of `wifair.prediction.comparison`, divided by √(s² d/T + m²). s is the standard
deviation of runs of d seconds of the scenario as it is, T the time of the measurement, m the difference that matters. So a right scenario has an objective of
about 1 at most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from wifair.observed.shown import Quantity
from wifair.prediction.comparison import SCALES
from wifair.prediction.measurement import Measured
from wifair.stats import Values

# What runs show: by quantity one value per seed.
Runs = Mapping[Quantity, Values]
# The residual of a quantity that no run shows.
MISSING = 10.0


@dataclass(frozen=True)
class Objective:
    """How far runs are from what was measured. `own` are runs of `duration_s` of the scenario as it is."""

    measured: Mapping[Quantity, Measured]
    own: Runs
    duration_s: float

    @cached_property
    def quantities(self) -> list[Quantity]:
        """The quantities that count: those that both the measurement and two runs or more of the scenario have."""
        return [what for what in self.own if what in self.measured and np.isfinite(self.own[what]).sum() > 1]

    @cached_property
    def values(self) -> Values:
        """The measured values on their scales."""
        return np.array([float(SCALES[what.kind].of(self.measured[what].values).mean()) for what in self.quantities])

    @cached_property
    def errors(self) -> Values:
        """The denominators of the residuals."""
        found = []
        for what in self.quantities:
            scale, elapsed_s = SCALES[what.kind], self.measured[what].elapsed_s or self.duration_s
            variance = float(np.nanvar(scale.of(self.own[what]), ddof=1)) * self.duration_s / elapsed_s
            found.append(np.sqrt(variance + scale.margin**2))
        return np.array(found)

    @property
    def weights(self) -> Values:
        """The weight of each squared difference."""
        weights: Values = 1 / self.errors**2
        return weights

    def matrix(self, runs: Runs, seeds: int | None = None) -> Values:
        """The values of runs on their scales: a row per seed, of the first `seeds`."""
        columns = [
            SCALES[what.kind].of(runs[what]) if what in runs else np.full(len(next(iter(runs.values()))), np.nan)
            for what in self.quantities
        ]
        return np.stack(columns, axis=1)[:seeds]

    def residuals(self, runs: Runs, seeds: int | None = None) -> Values:
        """The normalised residuals."""
        matrix = self.matrix(runs, seeds)
        there: NDArray[np.bool_] = np.asarray(np.isfinite(matrix).any(axis=0))
        means = np.array([float(np.nanmean(column)) if np.isfinite(column).any() else 0.0 for column in matrix.T])
        found: Values = np.where(there, (self.values - means) / self.errors, MISSING)
        return found

    def __call__(self, runs: Runs, seeds: int | None = None) -> float:
        """The objective."""
        return float(np.mean(self.residuals(runs, seeds) ** 2))
