"""Margins that several claims share. Positive means that the statement holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from wifair.claims import Point, Relation
from wifair.papers.adaptive_pushout.measured import Measured, Values
from wifair.papers.adaptive_pushout.study import Mix

Quantity = Callable[[Mix, str], Values]


def above(quantity: Quantity, mixes: Iterable[Mix], higher: str, lower: Iterable[str]) -> list[Point]:
    """One scheme above each of others, at each mix."""
    others = [scheme for scheme in lower if scheme != higher]
    return [
        Point(f"{higher} over {scheme} at {mix}", quantity(mix, higher) - quantity(mix, scheme))
        for mix in mixes
        for scheme in others
    ]


def mean_above(quantity: Quantity, mixes: Sequence[Mix], higher: str, lower: Iterable[str]) -> list[Point]:
    """One scheme above each of others in the mean over the mixes."""
    points = []
    for scheme in lower:
        margins = [quantity(mix, higher) - quantity(mix, scheme) for mix in mixes]
        points.append(Point(f"{higher} over {scheme}", np.mean(margins, axis=0)))
    return points


def steps(quantity: Quantity, mixes: Sequence[Mix], scheme: str, sign: int) -> list[Point]:
    """From each mix to the next: the rise (`sign` 1) or the fall (−1) of a quantity."""
    pairs = pairwise(mixes)
    return [
        Point(f"{scheme}, n_down {a.down} to {b.down}", sign * (quantity(b, scheme) - quantity(a, scheme)))
        for a, b in pairs
    ]


def peak(quantity: Quantity, mixes: Sequence[Mix], scheme: str, at: Mix) -> Relation:
    """The quantity is greater at one mix than at every other."""
    others = [mix for mix in mixes if mix != at]
    return Relation([Point(f"{at} over {mix}", quantity(at, scheme) - quantity(mix, scheme)) for mix in others])


def turning_point(m: Measured, mixes: Sequence[Mix], scheme: str) -> Values:
    """The n_down at which downlink flows stop obtaining more than uplink flows, for each run.

    The first fall through zero of the difference of mean throughputs, interpolated between the mixes; at the edge of
    the range where there is no such fall within it.
    """
    x = np.array([mix.down for mix in mixes], dtype=np.float64)
    curves = np.stack([m.down_minus_up(mix, scheme) for mix in mixes], axis=1)
    found = np.empty(len(curves))
    for run, y in enumerate(curves):
        below = np.flatnonzero(y <= 0)
        if below.size == 0:
            found[run] = x[-1]
        elif below[0] == 0:
            found[run] = x[0]
        else:
            i = below[0]
            found[run] = x[i - 1] + (x[i] - x[i - 1]) * y[i - 1] / (y[i - 1] - y[i])
    return found
