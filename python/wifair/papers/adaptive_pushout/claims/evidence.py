"""Margins and thresholds of several claims of this paper. A positive margin means that the statement holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from wifair.papers.adaptive_pushout.measured import Measured
from wifair.papers.adaptive_pushout.study import Mix
from wifair.papers.claims import Point
from wifair.stats import Values

Quantity = Callable[[Mix, str], Values]

# The factor for "much" and "largely". Reasons: the package's docstring.
MUCH = 2.0

# The mix that IV-C excludes: "except when (n_down, n_up) = (2, 18)".
FEWEST_DOWN = Mix(up=18, down=2)


def steps(quantity: Quantity, mixes: Sequence[Mix], scheme: str, sign: int) -> list[Point]:
    """From each mix to the next: the rise (`sign` 1) or the fall (−1) of a quantity."""
    pairs = pairwise(mixes)
    return [
        Point(f"{scheme}, n_down {a.down} to {b.down}", sign * (quantity(b, scheme) - quantity(a, scheme)))
        for a, b in pairs
    ]


def turning_point(m: Measured, mixes: Sequence[Mix], scheme: str) -> Values:
    """The n_down at which downlink flows stop obtaining more than uplink flows, for each run.

    The first zero crossing from above of the difference of mean throughputs, interpolated between the mixes; the edge
    of the range if there is none.
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
