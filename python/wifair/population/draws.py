"""The random numbers of a scenario: each has a name, and is the hash of that.

A number depends on the version of the population, the seed, the kind and number of the scenario, and its name within it, such as
`station 3 activity`; so neither on how many scenarios are drawn, nor on the order, nor on the machine. A quantity that a
later version adds leaves the others as they are.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

from wifair.population.quantities import quantities, version

# The generator's name, part of what is hashed.
GENERATOR = "wifair population, SHA-256"
# Bits of a number: as many as a double has.
BITS = 53


@dataclass(frozen=True)
class Draws:
    """The random numbers of scenario number `index` (from 1) of a kind."""

    seed: int
    kind: str
    index: int

    def uniform(self, name: str) -> float:
        """The uniform random number in [0, 1) with this name."""
        told = f"{GENERATOR}\n{version()}\n{self.seed}\n{self.kind}\n{self.index}\n{name}"
        digest = hashlib.sha256(told.encode()).digest()
        return math.ldexp(int.from_bytes(digest[:8], "big") >> (64 - BITS), -BITS)

    def draw(self, quantity: str, where: str = "", u: float | None = None) -> Any:
        """A value of a quantity; `where` tells several in a scenario apart. `u` replaces the random number."""
        name = f"{where} {quantity}".strip()
        found = quantities()[quantity].by_kind[self.kind].at(self.uniform(name) if u is None else u)
        return rounded(found) if isinstance(found, float) else found


def rounded(value: float, digits: int = 3) -> float:
    """A value with three significant digits: what a file shows, and no machine's last bit."""
    return float(f"{value:.{digits}g}")
