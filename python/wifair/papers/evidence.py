"""Margins used by the claims of several papers. Positive means that the statement holds.

A place is a position in the grid: a mix of flows, a number of hosts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from wifair.papers.claims import Point, Relation
from wifair.stats import Values

Place = TypeVar("Place")


def above(
    quantity: Callable[[Place, str], Values], places: Iterable[Place], higher: str, lower: Iterable[str]
) -> list[Point]:
    """The margin of one scheme above each of the others, at each place."""
    others = [scheme for scheme in lower if scheme != higher]
    return [
        Point(f"{higher} over {scheme} at {place}", quantity(place, higher) - quantity(place, scheme))
        for place in places
        for scheme in others
    ]


def mean_above(
    quantity: Callable[[Place, str], Values], places: Sequence[Place], higher: str, lower: Iterable[str]
) -> list[Point]:
    """The margin of one scheme above each of the others in the mean over the places."""
    points = []
    for scheme in lower:
        margins = [quantity(place, higher) - quantity(place, scheme) for place in places]
        points.append(Point(f"{higher} over {scheme}", np.mean(margins, axis=0)))
    return points


def peak(quantity: Callable[[Place, str], Values], places: Sequence[Place], scheme: str, at: Place) -> Relation:
    """The quantity is greater at one place than at every other."""
    others = [place for place in places if place != at]
    return Relation([Point(f"{at} over {place}", quantity(at, scheme) - quantity(place, scheme)) for place in others])
