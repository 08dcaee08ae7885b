"""A distribution as its quantile function: the value at a probability. One uniform number is one draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Any, Protocol

_NORMAL = NormalDist()


class Distribution(Protocol):
    """What a quantity is drawn from."""

    def at(self, u: float) -> Any:
        """The value at the probability `u`, from 0 up to but not including 1."""
        ...

    def bounds(self) -> tuple[Any, Any]:
        """The least and the greatest value; for values that are no numbers the first and the last."""
        ...

    def told(self, unit: str = "") -> str:
        """In words, for tables."""
        ...


@dataclass(frozen=True)
class Weights:
    """Some values, each with a weight; weights need not add up to 1."""

    pairs: tuple[tuple[Any, float], ...]

    def __post_init__(self) -> None:
        if not self.pairs or any(not weight > 0 for _, weight in self.pairs):
            raise ValueError("weights must be above 0")

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return sum(weight for _, weight in self.pairs)

    def at(self, u: float) -> Any:
        """The value at the probability `u`."""
        left = u * self.total
        for value, weight in self.pairs[:-1]:
            left -= weight
            if left < 0:
                return value
        return self.pairs[-1][0]

    def bounds(self) -> tuple[Any, Any]:
        """The first and the last value."""
        return self.pairs[0][0], self.pairs[-1][0]

    def only(self, allowed: Callable[[Any], bool]) -> Weights:
        """The same weights among some of the values."""
        return Weights(tuple(pair for pair in self.pairs if allowed(pair[0])))

    def told(self, unit: str = "") -> str:
        """Values with their shares."""
        values = [_word(value) for value, _ in self.pairs]
        if len(values) == 1:
            return _with(values[0], unit)
        shares = [f"{100 * weight / self.total:.3g} %" for _, weight in self.pairs]
        return ", ".join(f"{value}: {share}" for value, share in zip(values, shares, strict=True))


@dataclass(frozen=True)
class Uniform:
    """Equally likely everywhere between two numbers."""

    low: float
    high: float

    def at(self, u: float) -> float:
        """The value at the probability `u`."""
        return self.low + u * (self.high - self.low)

    def bounds(self) -> tuple[float, float]:
        """Both ends."""
        return self.low, self.high

    def told(self, unit: str = "") -> str:
        """Both ends."""
        return f"uniform, {_with(f'{self.low:g} to {self.high:g}', unit)}"


@dataclass(frozen=True)
class Pieces:
    """Whole numbers: each piece has a probability, and its numbers are equally likely."""

    pieces: tuple[tuple[float, int, int], ...]

    def __post_init__(self) -> None:
        if not math.isclose(sum(share for share, *_ in self.pieces), 1.0, abs_tol=1e-9):
            raise ValueError("the probabilities of pieces must add up to 1")

    def at(self, u: float) -> int:
        """The value at the probability `u`."""
        for share, low, high in self.pieces:
            if u < share:
                return low + min(int(u / share * (high - low + 1)), high - low)
            u -= share
        return self.pieces[-1][2]

    def bounds(self) -> tuple[int, int]:
        """The least and the greatest number."""
        return self.pieces[0][1], self.pieces[-1][2]

    def told(self, unit: str = "") -> str:
        """The pieces with their probabilities."""
        if len(self.pieces) == 1:
            return f"{_with(f'{self.pieces[0][1]} to {self.pieces[0][2]}', unit)}, equally likely"
        return ", ".join(f"{low} to {high}: {100 * share:.3g} %" for share, low, high in self.pieces)


@dataclass(frozen=True)
class Quantiles:
    """Points of the distribution function; the logarithm of the value is linear between them."""

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        shares = [share for share, _ in self.points]
        values = [value for _, value in self.points]
        if shares[0] != 0 or shares[-1] != 1 or sorted(shares) != shares or sorted(values) != values or values[0] <= 0:
            raise ValueError("quantiles must rise from the probability 0 to 1, with values above 0")

    def at(self, u: float) -> float:
        """The value at the probability `u`."""
        for (begin, low), (end, high) in pairwise(self.points):
            if u <= end:
                return low * math.exp(math.log(high / low) * (u - begin) / (end - begin))
        return self.points[-1][1]

    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value."""
        return self.points[0][1], self.points[-1][1]

    def told(self, unit: str = "") -> str:
        """The quantiles."""
        told = ", ".join(f"{100 * share:g} %: {value:g}" for share, value in self.points)
        return f"quantiles {_with(told, unit)}"


@dataclass(frozen=True)
class Within:
    """A distribution cut at two values: its part between them."""

    name: str
    quantile: Callable[[float], float]
    below: Callable[[float], float]
    low: float
    high: float

    def at(self, u: float) -> float:
        """The value at the probability `u`."""
        begin, end = self.below(self.low), self.below(self.high)
        return min(max(self.quantile(begin + u * (end - begin)), self.low), self.high)

    def bounds(self) -> tuple[float, float]:
        """Both cuts."""
        return self.low, self.high

    def told(self, unit: str = "") -> str:
        """The name, and the cuts."""
        return f"{self.name}, {_with(f'{self.low:g} to {self.high:g}', unit)}"


def lognormal(median: float, sigma: float, low: float, high: float) -> Within:
    """A log-normal distribution, cut."""
    return Within(
        f"log-normal, median {median:g}, σ of ln {sigma:g}",
        lambda u: median * math.exp(sigma * _NORMAL.inv_cdf(u)),
        lambda value: _NORMAL.cdf(math.log(value / median) / sigma),
        low,
        high,
    )


def normal(mean: float, deviation: float, low: float, high: float) -> Within:
    """A normal distribution, cut."""
    return Within(
        f"normal, mean {mean:g}, standard deviation {deviation:g}",
        lambda u: mean + deviation * _NORMAL.inv_cdf(u),
        lambda value: _NORMAL.cdf((value - mean) / deviation),
        low,
        high,
    )


@dataclass(frozen=True)
class Poisson:
    """A Poisson distribution, cut at two numbers."""

    mean: float
    low: int
    high: int

    def at(self, u: float) -> int:
        """The value at the probability `u`."""
        return int(Weights(tuple((n, self._share(n)) for n in range(self.low, self.high + 1))).at(u))

    def _share(self, n: int) -> float:
        return math.exp(n * math.log(self.mean) - self.mean - math.lgamma(n + 1))

    def bounds(self) -> tuple[int, int]:
        """Both cuts."""
        return self.low, self.high

    def told(self, unit: str = "") -> str:
        """The mean, and the cuts."""
        return f"Poisson, mean {self.mean:g}, {_with(f'{self.low} to {self.high}', unit)}"


def parsed(given: Mapping[str, Any]) -> Distribution:
    """The distribution that a table of `distributions.toml` describes."""
    [(name, values)] = given.items()
    return _KINDS[name](values)


def _weights(values: Sequence[Sequence[Any]]) -> Weights:
    return Weights(tuple((tuple(v) if isinstance(v, list) else v, float(weight)) for v, weight in values))


_KINDS: Mapping[str, Callable[[Any], Distribution]] = {
    "weights": _weights,
    "uniform": lambda values: Uniform(*values),
    "integers": lambda values: Pieces(((1.0, *values),)),
    "pieces": lambda values: Pieces(tuple(tuple(piece) for piece in values)),
    "quantiles": lambda values: Quantiles(tuple(tuple(point) for point in values)),
    "lognormal": lambda values: lognormal(*values),
    "normal": lambda values: normal(*values),
    "poisson": lambda values: Poisson(*values),
}


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return " to ".join(map(_word, value))
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def _with(text: str, unit: str) -> str:
    return f"{text} {unit}".strip()
