"""Where a scenario lies in a population, and which of its scenarios are nearest.

By each property, a scenario has a rank among those of the population, from 0 to 1: the share of them with less, and half of the share with as much. The
distance of two scenarios is the mean difference of their ranks over all properties. So it depends neither on units nor on outliers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from wifair.population.properties import PROPERTIES, Property, properties
from wifair.scenario.scenario import Scenario
from wifair.stats import Values

# A rank below the first or above the second is unusual: as few scenarios of the population have one.
USUAL = (0.1, 0.9)


@dataclass(frozen=True)
class Place:
    """The place of a scenario in a population. `own` are its properties; `others` are those of the population, a row per scenario in the order of `names`."""

    names: tuple[str, ...]
    own: Values
    others: Values

    @cached_property
    def ranks(self) -> Values:
        """The rank of the scenario by each property."""
        found: Values = _ranks(self.own[None], self.others)[0]
        return found

    @cached_property
    def distances(self) -> Values:
        """How far each scenario of the population is."""
        found: Values = np.abs(_ranks(self.others, self.others) - self.ranks).mean(axis=1)
        return found

    def nearest(self, count: int) -> list[str]:
        """The names of the nearest scenarios, the nearest first; of equal distances, the first of the population."""
        return [self.names[i] for i in np.argsort(self.distances, kind="stable")[:count]]

    @property
    def unusual(self) -> list[tuple[Property, float, float]]:
        """The properties with an unusual rank, with the value and the rank."""
        listed = zip(PROPERTIES, self.own, self.ranks, strict=True)
        return [(each, float(value), float(rank)) for each, value, rank in listed if not USUAL[0] <= rank <= USUAL[1]]


def place(scenario: Scenario, population: Mapping[str, Scenario]) -> Place:
    """The place of a scenario."""
    rows = [list(properties(each).values()) for each in (scenario, *population.values())]
    return Place(tuple(population), np.array(rows[0]), np.array(rows[1:]))


def _ranks(values: Values, among: Values) -> Values:
    less = (among[None] < values[:, None]).mean(axis=1)
    equal = (among[None] == values[:, None]).mean(axis=1)
    found: Values = less + equal / 2
    return found
