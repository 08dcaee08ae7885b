"""The number of replications that gives a confidence interval of a wanted half-width."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from wifair.errors import InputError
from wifair.keys import nearest
from wifair.results.results import UNITS
from wifair.stats import seeds_needed, t_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from wifair.results.results import Results


@dataclass(frozen=True)
class Precision:
    """A wanted half-width of a metric's 95 % interval, in the metric's unit or as a share of its mean."""

    metric: str
    half_width: float
    relative: bool = False

    @classmethod
    def parse(cls, text: str, known: Collection[str] = tuple(UNITS)) -> Precision:
        """Parses `jain=0.01` or `total_mbps=2%`. `known` are the names of the metrics."""
        metric, separator, amount = text.partition("=")
        metric, amount = metric.strip(), amount.strip()
        try:
            number = float(amount.removesuffix("%"))
        except ValueError:
            number = math.nan
        if not separator or not 0.0 < number < math.inf:
            raise InputError(f"precision {text!r}: expected METRIC=HALF-WIDTH, as jain=0.01 or total_mbps=2%.")
        if metric not in known:
            hint = nearest(metric, known)
            asked = f"; did you mean {hint}?" if hint else "."
            raise InputError(f"precision {text!r}: unknown metric {metric!r}{asked} Allowed here: {', '.join(known)}.")
        relative = amount.endswith("%")
        return cls(metric, number / 100 if relative else number, relative)

    def wanted(self, mean: float) -> float:
        """The wanted half-width in the metric's unit, given the metric's mean."""
        return self.half_width * abs(mean) if self.relative else self.half_width

    def seeds(self, values: ArrayLike, mean: float) -> int | None:
        """The number of replications needed, estimated from `values`. None if they do not allow an estimate."""
        wanted = self.wanted(mean)
        return seeds_needed(values, wanted) if wanted > 0 else None


def needed(results: Results, wishes: Sequence[Precision]) -> pl.DataFrame:
    """One row per scenario and wish: the present half-width, the wanted one, and the number of seeds for it."""
    types = {"scenario": pl.String, "metric": pl.String, "unit": pl.String, "runs": pl.Int64}
    types |= {"half_width": pl.Float64, "half_width_wanted": pl.Float64, "seeds_needed": pl.Int64}
    rows = []
    for cell in results.cells:
        for wish in wishes:
            values = results.values(cell.name, wish.metric).drop_nulls().to_numpy()
            found = t_interval(values)
            if found.n:
                half = None if found.high is None else found.high - found.estimate
                told = (wish.metric, results.units[wish.metric], found.n, half, wish.wanted(found.estimate))
                rows.append((cell.name, *told, wish.seeds(values, found.estimate)))
    return pl.DataFrame(rows, schema=types, orient="row")
