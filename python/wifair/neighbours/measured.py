"""The quantities that rules and figures use.

A replication is a house with its own traffic, or a seed of the first house. The delay of a flat is the mean over its calls' streams of the 95 % quantile
of their one-way delay; its goodput is that of all its flows. Flats are compared by logarithms, flat by flat with the same seed, in units
of what matters: 10 % of a delay, 5 % of a goodput. A mean over flats is the mean of these logarithms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wifair.analysis.comparison import Differences
from wifair.everything.criteria import SHARE_MATTERS, THROUGHPUT_MATTERS, Criterion
from wifair.everything.verdict import Verdict
from wifair.neighbours.houses import AS_IT_IS, BUFFER_IDS
from wifair.papers.runs import CellRuns
from wifair.stats import Values

# What is run: houses; one house with several seeds; houses with endless flows at the resident's flat; shares of adopters.
HOUSES, ONE_HOUSE, BUSY, ADOPTION = "houses", "one-house", "busy", "adoption"


def _delay(runs: CellRuns) -> Values:
    seeds = runs.table("runs").select("seed")
    of_streams = runs.table("datagrams").group_by("seed").agg(pl.col("delay_p95_ms").cast(pl.Float64).mean())
    found = seeds.join(of_streams, on="seed", how="left", maintain_order="left")["delay_p95_ms"]
    return found.fill_null(float("nan")).to_numpy()


DELAY = Criterion(
    "delay", "delay", "delay of his calls", "ms one way, 95 % quantile", "less", "ratio", SHARE_MATTERS, _delay
)
GOODPUT = Criterion(
    "goodput",
    "throughput",
    "goodput of his flows",
    "Mbps of payload, datagrams included",
    "more",
    "ratio",
    THROUGHPUT_MATTERS,
    lambda runs: runs.flows("goodput_mbps").sum(axis=1),
)
CRITERIA = (DELAY, GOODPUT)


class Place(NamedTuple):
    """The coordinates of runs: the part of the study, the plan of channels, and what is changed, or the percentage of adopters."""

    part: str
    plan: str
    change: str | int


# Of the flats of a replication, which are meant: (replications, flats).
Which: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Measured:
    """All runs.

    `values` has the criteria by place: (replications, flats), the resident's flat first. `adopters` has by percentage who adopts `best`, the scheme
    that is chosen by the houses. `side_effects` are the differences of each neighbour in the first house. `papers` has the replications of the
    resident's BSS by plan and cell of the papers' findings.
    """

    values: Mapping[tuple[Place, str], Values]
    adopters: Mapping[int, Which]
    best: str
    side_effects: Differences
    papers: Mapping[tuple[str, str], Sequence[CellRuns]]

    def has(self, *places: Place) -> bool:
        """Whether these were run."""
        return all((place, DELAY.id) in self.values for place in places)

    def gains(self, place: Place, against: Place, criterion: Criterion) -> Values:
        """What flats gain, in units of what matters: (replications, flats)."""
        mine, theirs = self.values[place, criterion.id], self.values[against, criterion.id]
        flats = min(mine.shape[1], theirs.shape[1])
        gained: Values = (criterion.merit(mine[:, :flats]) - criterion.merit(theirs[:, :flats])) / criterion.margin
        return gained

    def mine(self, place: Place, against: Place, criterion: Criterion) -> Values:
        """What the resident gains."""
        gained: Values = self.gains(place, against, criterion)[:, 0]
        return gained

    def others(self, place: Place, against: Place, criterion: Criterion) -> Values:
        """What the neighbours gain in the mean."""
        return _mean(self.gains(place, against, criterion)[:, 1:])

    def among(self, place: Place, against: Place, criterion: Criterion, which: Which) -> Values:
        """What some of the flats gain in the mean."""
        return _mean(np.where(which, self.gains(place, against, criterion), np.nan))

    def house(self, place: Place, against: Place, criterion: Criterion) -> Values:
        """What all flats gain in the mean."""
        return _mean(self.gains(place, against, criterion))

    def reduction(self, part: str, plan: str, change: str) -> Values:
        """The share of the resident's delay that a change takes away."""
        mine, theirs = (self.values[Place(part, plan, name), DELAY.id][:, 0] for name in (change, AS_IT_IS.id))
        taken: Values = 1.0 - mine / theirs
        return taken

    def paper(self, plan: str, cell: str, quantity: Callable[[CellRuns], Values]) -> Values:
        """A quantity of the resident's BSS in a cell of the papers' findings, by house."""
        return np.concatenate([quantity(runs) for runs in self.papers[plan, cell]])


def _mean(gained: Values) -> Values:
    """The mean over the flats that have a value."""
    there = np.isfinite(gained)
    found: Values = np.where(there, gained, 0.0).sum(axis=1) / np.where(there.any(axis=1), there.sum(axis=1), np.nan)
    return found


def verdict(values: Mapping[tuple[Place, str], Values], part: str, plan: str, changes: Sequence[str]) -> Verdict:
    """The judge of `wifair compare --all` on the resident's delay and goodput, under these changes."""
    names = tuple(changes)
    found: dict[str, Any] = {
        criterion.id: np.stack([values[Place(part, plan, name), criterion.id][:, 0] for name in names])
        for criterion in CRITERIA
    }
    return Verdict(names, CRITERIA, found)


def best_of(values: Mapping[tuple[Place, str], Values], plan: str) -> str:
    """The buffer whose worst shortfall against the best of the buffers, by delay or goodput, is smallest in the mean of the houses."""
    return verdict(values, HOUSES, plan, BUFFER_IDS).nearest[0]
