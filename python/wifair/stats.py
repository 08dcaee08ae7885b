"""Statistics over replications: intervals, paired differences, Jain's index, warm-up, number of replications.

Values have one entry per replication. Intervals are two-sided. Replications are independent, so the mean of run means
has a t interval. Runs that do not differ at all are reported as identical, not as infinitely precise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

LEVEL = 0.95
# What follows an estimate that has no interval, in a table cell.
NO_INTERVAL = " (n/a)"

Values: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval.

    `low` and `high` are `None` where fewer than two values allow no interval. `identical` says that all values are the
    same number: the interval has no width because nothing varies, not because much was measured. An interval that was
    cut at a bound (`t_interval`) is not symmetric.
    """

    estimate: float
    low: float | None
    high: float | None
    n: int
    identical: bool = False

    def __str__(self) -> str:
        if self.n == 0:
            return "no value"
        if self.low is None or self.high is None:
            return f"{self.estimate:.4g} (one value: no interval)"
        if self.identical:
            return f"{self.estimate:.4g} (all {self.n} runs identical)"
        return f"{self.estimate:.4g} [{self.low:.4g}, {self.high:.4g}]"

    def within(self, least: float, most: float) -> Interval:
        """The interval cut at the least and the greatest value that its quantity can have."""
        if self.low is None or self.high is None:
            return self
        return replace(self, low=max(self.low, least), high=min(self.high, most))

    def short(self) -> str:
        """The text of a table cell: mean ± half-width with as many decimals as needed, or why there is none.

        An interval that is not symmetric has its ends in brackets.
        """
        if self.n == 0:
            return "–"
        if self.low is None or self.high is None:
            return f"{_plain(self.estimate)}{NO_INTERVAL}"
        half = (self.high - self.low) / 2
        if self.identical or not half > 0:
            return f"{_plain(self.estimate)} (identical)"
        half = float(f"{half:.2g}")  # a half-width has no more than two significant digits
        decimals = min(max(1 - math.floor(math.log10(half)), 0), 9)
        if not math.isclose(self.high - self.estimate, self.estimate - self.low, rel_tol=1e-6, abs_tol=1e-12):
            low, high = (f"{end:g}" if end.is_integer() else f"{end:.{decimals}f}" for end in (self.low, self.high))
            return f"{self.estimate:.{decimals}f} [{low}, {high}]"
        return f"{self.estimate:.{decimals}f} ± {half:.{decimals}f}"


def _plain(value: float) -> str:
    """Four digits, and large numbers without an exponent."""
    return f"{value:.0f}" if abs(value) >= 1e4 else f"{value:.4g}"


@dataclass(frozen=True)
class Paired:
    """The difference of two measurements with the same seeds, and the correlation that shows how much pairing helped."""

    difference: Interval
    correlation: float | None


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64).ravel()
    return array[np.isfinite(array)]


def _t_quantile(level: float, values: int) -> float:
    """Half the width of a two-sided interval of that level, in standard errors of the mean."""
    from scipy.special import stdtrit

    return float(stdtrit(values - 1, 0.5 + level / 2))


def t_interval(
    values: ArrayLike,
    level: float = LEVEL,
    resolution: float = 0.0,
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """The mean with its t interval. NaN values are left out.

    Equal values that are known only to a `resolution` have an interval of mean ± `resolution`.

    `bounds` are the least and the greatest value that a replication can have, as 1/n and 1 for Jain's index of n
    shares. The interval is cut there. The true mean lies between the bounds, so cutting never excludes it: the coverage
    is exactly that of the t interval. A transformation (logit, arcsine) also stays within the bounds, but is undefined
    or has no width at a replication with index 1, is an interval of another quantity than the mean of the runs, and
    would not agree with the t test that compares two schemes.
    """
    array = _finite(values)
    n = int(array.size)
    if n == 0:
        return Interval(float("nan"), None, None, 0)
    if bool(np.all(array == array[0])):
        mean = float(array[0])
        if n == 1:
            return Interval(mean, None, None, n)
        return Interval(mean, mean - resolution, mean + resolution, n, identical=resolution == 0.0)
    mean = float(array.mean())
    half = _t_quantile(level, n) * float(array.std(ddof=1)) / n**0.5
    found = Interval(mean, mean - half, mean + half, n)
    return found if bounds is None else found.within(*bounds)


def plus_minus(values: ArrayLike, decimals: int) -> str:
    """The text of the mean and half its 95 % interval, each with so many decimals: 1.23 ± 0.05."""
    found = t_interval(values)
    half = (found.high or found.estimate) - found.estimate
    return f"{found.estimate:.{decimals}f} ± {half:.{decimals}f}"


def prediction_half_width(values: ArrayLike, runs: float, level: float = LEVEL, least_deviation: float = 0.0) -> float:
    """Half the width of the interval around the mean of the values in which the mean of further replications lies.

    There are `runs` of them, and at least two values. `runs` may be a fraction, as of a run of half the length: the variance of a mean is taken
    as inverse to its time. The standard deviation is taken as `least_deviation` at least.
    """
    array = _finite(values)
    n = int(array.size)
    return _t_quantile(level, n) * max(float(array.std(ddof=1)), least_deviation) * math.sqrt(1 / n + 1 / runs)


def half_width(values: ArrayLike, level: float = LEVEL) -> float:
    """Half the width of the interval around the mean of some replications in which a single further one lies, if their mean were known."""
    array = _finite(values)
    return _t_quantile(level, int(array.size)) * float(array.std(ddof=1))


def later_half_width(values: ArrayLike, runs: float, level: float = LEVEL) -> float:
    """Half the width of the interval around the mean of `runs` replications, whose variance is that of `values`, in which the true mean lies.

    `runs` may be a fraction, as in `prediction_half_width`.
    """
    return half_width(values, level) / math.sqrt(runs)


def unpaired_difference(first: ArrayLike, second: ArrayLike, level: float = LEVEL) -> Interval:
    """The mean of `first` less that of `second`, of independent samples of at least two values each.

    Source: B. L. Welch, The generalization of "Student's" problem when several different population variances are involved, Biometrika 34, 1947.
    """
    from scipy.special import stdtrit

    a, b = _finite(first), _finite(second)
    parts = [float(each.var(ddof=1)) / each.size for each in (a, b)]
    estimate, variance = float(a.mean() - b.mean()), sum(parts)
    n = int(min(a.size, b.size))
    if variance == 0.0:
        return Interval(estimate, estimate, estimate, n, identical=True)
    freedom = variance**2 / sum(part**2 / (each.size - 1) for part, each in zip(parts, (a, b), strict=True))
    half = float(stdtrit(freedom, 0.5 + level / 2)) * math.sqrt(variance)
    return Interval(estimate, estimate - half, estimate + half, n)


def paired_difference(first: ArrayLike, second: ArrayLike, level: float = LEVEL, resolution: float = 0.0) -> Paired:
    """`first` − `second`, seed by seed, with the correlation of the two (`None` where one of them does not vary).

    A correlation near zero means that common random numbers did not help here; the interval is still valid.
    """
    a = np.asarray(first, dtype=np.float64)
    b = np.asarray(second, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"paired values need the same seeds: {a.size} against {b.size} values")
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    varies = a.size > 1 and bool(np.ptp(a) > 0) and bool(np.ptp(b) > 0)
    return Paired(t_interval(a - b, level, resolution), float(np.corrcoef(a, b)[0, 1]) if varies else None)


def seeds_needed(values: ArrayLike, half_width: float, level: float = LEVEL) -> int | None:
    """The number of replications, including `values`, that gives the mean an interval of ± `half_width`; `None` below two values.

    Stein's two-stage rule: with that many, mean ± `half_width` covers the true mean with at least this `level`,
    whatever the variance, if run means are normal. It holds for a single use: repeating it until the interval is narrow
    enough is another procedure. Source: C. Stein, A two-sample test for a linear hypothesis whose power is independent
    of the variance, Ann. Math. Statist. 16, 1945.
    """
    if not half_width > 0.0:
        raise ValueError(f"a half-width is above 0, not {half_width}")
    array = _finite(values)
    n = int(array.size)
    if n < 2:
        return None
    ends = _t_quantile(level, n) * float(array.std(ddof=1))
    return max(n, math.ceil((ends / half_width) ** 2))


def running_mean(values: ArrayLike) -> Values:
    """The cumulative mean of each row: (replications, samples)."""
    x = np.atleast_2d(np.asarray(values, dtype=np.float64))
    return x.cumsum(axis=1) / np.arange(1, x.shape[1] + 1)


def mser(values: ArrayLike, batch: int = 5) -> int:
    """The number of values to leave out at the beginning of a series so that the transient does not bias its mean.

    MSER-5: among the series' means over batches of five values, leave out as many as minimise the rest's variance
    divided by its number of batches, at most half. If the result is half, the series is too short. Source: K. P. White,
    M. J. Cobb, S. C. Spratt, A comparison of five steady-state truncation heuristics for simulation, Winter Simulation
    Conference 2000.
    """
    x = np.asarray(values, dtype=np.float64)
    count = x.size // batch
    if count < 2:
        return 0
    means = x[: count * batch].reshape(count, batch).mean(axis=1)
    scores = [
        float(np.square(means[cut:] - means[cut:].mean()).sum()) / (count - cut) ** 2 for cut in range(count // 2 + 1)
    ]
    return int(np.argmin(scores)) * batch


def p_value(values: ArrayLike, null: float = 0.0, resolution: float = 0.0) -> float:
    """Two-sided p value of a one-sample t test of the mean against `null`; 1 for fewer than two values.

    Equal values that are known only to a `resolution` get the standard error that makes it the half-width of their 95 %
    interval.
    """
    array = _finite(values)
    if array.size < 2:
        return 1.0
    spread = float(array.std(ddof=1)) if np.ptp(array) > 0 else 0.0
    distance = float(array.mean()) - null
    error = spread / array.size**0.5
    if spread == 0.0:
        if resolution == 0.0:
            return 1.0 if distance == 0.0 else 0.0
        error = resolution / _t_quantile(LEVEL, array.size)
    from scipy.special import stdtr

    t = distance / error
    return float(2.0 * stdtr(array.size - 1, -abs(t)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjustment: rejecting those below α keeps the chance of any false rejection below α.

    Source: S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6, 1979.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def jain(values: ArrayLike) -> float:
    """Jain's fairness index of one run's shares: 1 for equal shares, 1/n if one of n has everything; NaN if all are 0.

    Source: R. Jain, D. Chiu, W. Hawe, A quantitative measure of fairness, DEC-TR-301, 1984.
    """
    x = np.asarray(values, dtype=np.float64)
    squares = float(np.square(x).sum())
    if x.size == 0 or squares == 0.0:
        return float("nan")
    return float(x.sum()) ** 2 / (x.size * squares)


def jain_rows(x: Values) -> Values:
    """Jain's index of each row."""
    return ratio(np.square(x.sum(axis=1)), x.shape[1] * np.square(x).sum(axis=1))


def ratio(part: Values, whole: Values) -> Values:
    """`part` / `whole`, NaN where `whole` is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, np.nan)


def share_interval(count: int, total: int, level: float = LEVEL) -> Interval:
    """The share of `count` among `total`, with the exact interval for a binomial share.

    Source: C. J. Clopper, E. S. Pearson, The use of confidence or fiducial limits, Biometrika 26, 1934.
    """
    from scipy.special import betaincinv

    if total == 0:
        return Interval(math.nan, None, None, 0)
    tail = (1 - level) / 2
    low = float(betaincinv(count, total - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, total - count, 1 - tail)) if count < total else 1.0
    return Interval(count / total, low, high, total)


def permutation_p(first: ArrayLike, second: ArrayLike, permutations: int = 9_999) -> float:
    """The p value of the difference between the mean ranks of two samples, two-sided, by random permutations with a fixed seed.

    Ties share their mean rank. Source: P. Good, Permutation, Parametric, and Bootstrap Tests of Hypotheses, 2005, section 3.
    """
    from scipy.stats import rankdata

    a, b = _finite(first), _finite(second)
    ranks = rankdata(np.concatenate([a, b]))
    found = abs(ranks[: a.size].mean() - ranks.mean())
    rng = np.random.default_rng(1)
    drawn = rng.permuted(np.tile(ranks, (permutations, 1)), axis=1)[:, : a.size].mean(axis=1)
    return float((1 + np.count_nonzero(np.abs(drawn - ranks.mean()) >= found - 1e-9)) / (permutations + 1))


def bootstrap_quantile(
    values: ArrayLike, quantile: float, level: float = LEVEL, resamples: int = 10_000, seed: int = 1
) -> Interval:
    """A quantile over replications with its percentile-bootstrap interval. The same seed gives the same interval."""
    array = _finite(values)
    if not 0.0 <= quantile <= 1.0:
        raise ValueError(f"a quantile lies in 0 to 1, not at {quantile}")
    if array.size == 0:
        return Interval(float("nan"), None, None, 0)
    estimate = float(np.quantile(array, quantile))
    if array.size == 1:
        return Interval(estimate, None, None, 1)
    if np.ptp(array) == 0:
        return Interval(estimate, estimate, estimate, int(array.size), identical=True)
    draws = np.random.default_rng(seed).choice(array, size=(resamples, array.size))
    low, high = np.quantile(np.quantile(draws, quantile, axis=1), [0.5 - level / 2, 0.5 + level / 2])
    return Interval(estimate, float(low), float(high), int(array.size))
