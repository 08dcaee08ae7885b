"""The rule: who is better than whom by a criterion, who is beaten, who is left.

All comparisons are paired: every scheme runs with the same seeds. Of two schemes one is *better* by a criterion where the
whole interval of their difference lies beyond what matters, and *no worse* where it lies above minus that. A scheme is
*beaten* where another is better by at least one criterion and no worse by every other: no weighing of criteria is needed
for that, and missing evidence never makes a scheme beaten.

A scheme under which transfers do not end is *out*: it cannot be best, nearest or unbeaten, and beats nobody, however short its
delays are.

The intervals are one-sided at 0.05 / ((schemes - 1) × criteria × stages). By Bonferroni's inequality, a scheme that truly belongs
among the best by its criteria is missed, by any of them or as beaten, with a probability of at most 5 %: its comparisons with each
other scheme by each criterion are the only ones that can go wrong. Choosing the leader after looking would need more; this
compares everybody with everybody (subset selection: B. L. Nelson, J. Swann, D. Goldsman, W. Song, Simple procedures for
selecting the best simulated system when the number of alternatives is large, Operations Research 49, 2001).

Replications are added in *stages*, whose number is planned before the runs, where a comparison is undecided. Each comparison is
made at most once per stage, and each stage has an equal share of the 5 %, so the bound holds whichever stage decides (a
group-sequential test with Bonferroni's inequality). Two schemes are compared in the replications that both have.

A comparison is *on the threshold* if its interval, one-sided at that error on both sides, is narrower than half of what matters and
still contains the difference that matters: the difference is known, and it is about as large as what matters.

Where nobody is best by everything, each scheme is rated by its largest shortfall against the best in any measure, in units of
what matters; the *nearest* has the smallest (minimax regret: L. J. Savage, The theory of statistical decision, Journal of the
American Statistical Association 46, 1951). It depends on who takes part, as being unbeaten does not: one more scheme that nobody
would choose can move the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from wifair.everything.criteria import Criterion
from wifair.stats import LEVEL, Interval, Values, holm, p_value, t_interval

Bools: TypeAlias = NDArray[np.bool_]


class Standing(Enum):
    """How a scheme compares with another, by all criteria."""

    BETTER = "better"
    WORSE = "worse"
    EQUAL = "equal"
    TRADE = "trade"
    THRESHOLD = "on the threshold"
    OPEN = "open"
    UNFINISHED = "transfers do not end"


class Place(Enum):
    """What becomes of a scheme in a setting."""

    BEST = "best"
    UNBEATEN = "unbeaten"
    OPEN = "open"
    BEATEN = "beaten"
    UNFINISHED = "transfers do not end"


@dataclass(frozen=True)
class Orders:
    """By one criterion: `lowest[i, j]` is the lower end of the interval of i's merit minus j's; its upper end is `-lowest[j, i]`."""

    lowest: Values
    margin: float

    @property
    def better(self) -> Bools:
        """[i, j]: i is better than j by more than matters."""
        return np.asarray(self.lowest > self.margin)

    @property
    def no_worse(self) -> Bools:
        """[i, j]: i is not worse than j by so much."""
        return np.asarray(self.lowest > -self.margin)

    def may_be_better(self, i: int, j: int) -> bool:
        """Whether it is left open that i is better than j: the interval contains the difference that matters."""
        return bool(not self.better[i, j] and not self.no_worse[j, i])

    def narrow(self, i: int, j: int) -> bool:
        """Whether the interval is narrower than half of what matters."""
        return bool(-self.lowest[j, i] - self.lowest[i, j] < self.margin / 2)


def orders(merits: Values, margin: float, error: float) -> Orders:
    """The orders of schemes by their merits (schemes, seeds), each comparison with one-sided error probability `error`.

    Who has no value at all (no file came to its end) is worse than who has one. Two are compared by the seeds that both have.
    """
    differences = merits[:, None, :] - merits[None, :, :]
    there = np.isfinite(differences)
    count = there.sum(axis=2)
    told = np.maximum(count, 1)
    filled = np.where(there, differences, 0.0)
    mean = filled.sum(axis=2) / told
    squares = np.where(there, np.square(filled - mean[:, :, None]), 0.0).sum(axis=2)
    freedom = np.maximum(count - 1, 1)
    width = stdtrit(freedom, 1.0 - error) * np.sqrt(squares / freedom / told)
    lowest = np.where(count > 1, mean - width, -np.inf)
    valued = np.asarray(np.isfinite(merits).any(axis=1))
    lowest[valued[:, None] & ~valued[None, :]] = np.inf
    lowest[~valued[:, None] & ~valued[None, :]] = 0.0
    np.fill_diagonal(lowest, 0.0)
    return Orders(lowest, margin)


@dataclass(frozen=True)
class Effect:
    """What a scheme has over the reference by one criterion.

    `p` is corrected by Holm over a setting's schemes and criteria, and by Bonferroni over the stages.
    """

    contender: str
    criterion: Criterion
    mean: Interval
    effect: Interval
    p: float
    standing: Standing

    @property
    def significant(self) -> bool:
        """Whether there is a difference at all, however small."""
        return self.p < 1 - LEVEL


@dataclass(frozen=True)
class Verdict:
    """Who is best by what in one setting. `values` has one row per contender for each criterion: (contenders, seeds).

    A row ends with NaN if its contender has fewer replications than another. `runs` are their numbers; without it all have all.
    """

    contenders: tuple[str, ...]
    criteria: tuple[Criterion, ...]
    values: Mapping[str, Values]
    runs: tuple[int, ...] = ()
    # Those under which transfers do not end.
    out: frozenset[str] = frozenset()
    # The planned number of stages.
    stages: int = 1

    @property
    def judged(self) -> tuple[Criterion, ...]:
        """The criteria that decide."""
        return tuple(criterion for criterion in self.criteria if criterion.judged)

    @cached_property
    def error(self) -> float:
        """One-sided error probability of each comparison."""
        return (1 - LEVEL) / self.stages / max((len(self.contenders) - 1) * len(self.judged), 1)

    @property
    def common(self) -> int:
        """The number of replications that all contenders have."""
        return min(self.runs) if self.runs else next(iter(self.values.values())).shape[1]

    def replications(self, name: str) -> int:
        """The number of replications of a contender."""
        return self.runs[self.contenders.index(name)] if self.runs else self.common

    @cached_property
    def _eligible(self) -> Bools:
        return np.array([name not in self.out for name in self.contenders])

    @cached_property
    def valued(self) -> bool:
        """Whether a scheme that may be recommended has a value by a criterion that decides."""
        return any(bool(np.isfinite(self.values[c.id][self._eligible, : self.common]).any()) for c in self.judged)

    @cached_property
    def orders(self) -> dict[str, Orders]:
        """By criterion."""
        return {c.id: orders(c.merit(self.values[c.id]), c.margin, self.error) for c in self.criteria}

    def best(self, criterion: Criterion) -> list[str]:
        """The best by a criterion: those that no other is better than. The highest mean comes first."""
        merit = criterion.merit(self.values[criterion.id])[:, : self.common]
        there = np.isfinite(merit)
        means = np.where(there, merit, 0.0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
        means[~there.any(axis=1)] = -np.inf
        return [
            self.contenders[i]
            for i in np.argsort(-means, kind="stable")
            if self._eligible[i] and there[i].any() and not self.orders[criterion.id].better[self._eligible, i].any()
        ]

    @cached_property
    def _beats(self) -> Bools:
        """[i, j]: i is better than j by something and no worse by anything, and transfers end under both."""
        mine = [self.orders[criterion.id] for criterion in self.judged]
        better = np.any([found.better for found in mine], axis=0)
        no_worse = np.all([found.no_worse for found in mine], axis=0)
        both = self._eligible[:, None] & self._eligible[None, :]
        return np.asarray(better & no_worse & both)

    @cached_property
    def unbeaten(self) -> list[str]:
        """Those whom nobody beats.

        What matters is not transitive: three may beat each other in a circle, each by one criterion. Then none of the circle
        is left out for it, so somebody is always left.
        """
        if not self.judged:
            return []
        reaches = self._beats.copy()
        for k in range(len(reaches)):
            reaches |= reaches[:, k, None] & reaches[None, k, :]
        lost = np.asarray((self._beats & ~reaches.T).any(axis=0) | ~self._eligible)
        return [name for name, beaten in zip(self.contenders, lost, strict=True) if not beaten]

    @cached_property
    def shown(self) -> list[str]:
        """Those of the unbeaten who are shown to be: better than each other by something, or no worse by everything."""
        mine = [self.orders[criterion.id] for criterion in self.judged]
        if not mine:
            return []
        better = np.any([found.better for found in mine], axis=0)
        no_worse = np.all([found.no_worse for found in mine], axis=0)
        safe = np.asarray((better | no_worse)[:, self._eligible].all(axis=1))
        return [name for name, each in zip(self.contenders, safe, strict=True) if each and name in self.unbeaten]

    @cached_property
    def winners(self) -> list[str]:
        """Those who are shown to be best by every criterion: no worse than anybody. Several are alike by all that matters."""
        rivals = self._eligible
        mine = [np.asarray(self.orders[c.id].no_worse[:, rivals].all(axis=1)) for c in self.judged]
        return [
            n for i, n in enumerate(self.contenders) if self.valued and rivals[i] and all(found[i] for found in mine)
        ]

    def place(self, name: str) -> Place:
        """Best by everything, shown to be unbeaten, neither shown to be nor beaten, beaten, or out."""
        if name in self.out:
            return Place.UNFINISHED
        if name in self.winners:
            return Place.BEST
        if name in self.shown:
            return Place.UNBEATEN
        return Place.OPEN if name in self.unbeaten else Place.BEATEN

    @cached_property
    def candidates(self) -> list[str]:
        """Those who may be best by every criterion: the winners, and who is not told apart from the best by any."""
        best = [set(self.best(criterion)) for criterion in self.judged]
        return [name for name in self.contenders if best and all(name in found for found in best)]

    @cached_property
    def shortfalls(self) -> Values:
        """How far each is behind the best in what it is worst at, in units of what matters: (contenders, replications of all)."""
        worst = np.zeros((len(self.contenders), self.common))
        for criterion in self.judged:
            merit = criterion.merit(self.values[criterion.id])[:, : self.common]
            there = np.isfinite(merit)
            best = np.where(there & self._eligible[:, None], merit, -np.inf).max(axis=0)
            behind = np.where(there, (best - merit) / criterion.margin, np.inf)
            worst = np.maximum(worst, np.where(np.isfinite(best), behind, 0.0))
        return worst

    def shortfall(self, name: str) -> float:
        """The mean of a scheme's worst shortfall."""
        return float(self.shortfalls[self.contenders.index(name)].mean())

    @cached_property
    def nearest(self) -> list[str]:
        """Those whose worst shortfall is least: whom to take if one must do for everything (minimax regret).

        Who is not told to be farther away than another by more than matters once is among them; the least comes first.
        """
        if not self.valued:
            return []
        with np.errstate(invalid="ignore"):
            found = orders(-self.shortfalls, 1.0, (1 - LEVEL) / self.stages / max(len(self.contenders) - 1, 1))
        means = self.shortfalls.mean(axis=1)
        least = self._eligible & np.isfinite(means) & ~found.better[self._eligible].any(axis=0)
        return [self.contenders[i] for i in np.argsort(means, kind="stable") if least[i]]

    def weakest(self, name: str) -> tuple[Criterion, str]:
        """What a scheme is worst at, and who is best at that."""
        leaders = {criterion: self.best(criterion)[:1] for criterion in self.judged}
        behind = {c: self.gap(leader[0], name, c) for c, leader in leaders.items() if leader}
        criterion = max(behind, key=lambda c: behind[c])
        return criterion, leaders[criterion][0]

    def standing(self, contender: str, other: str, criteria: Sequence[Criterion] | None = None) -> Standing:
        """How one scheme compares with another, by all criteria or by some.

        By all criteria, a scheme under which transfers do not end is not compared with one under which they do.
        """
        if criteria is None and contender in self.out and other not in self.out:
            return Standing.UNFINISHED
        i, j = self.contenders.index(contender), self.contenders.index(other)
        mine = [self.orders[criterion.id] for criterion in (self.judged if criteria is None else criteria)]
        gains = any(found.better[i, j] for found in mine)
        loses = any(found.better[j, i] for found in mine)
        no_worse = all(found.no_worse[i, j] for found in mine)
        no_better = all(found.no_worse[j, i] for found in mine)
        if gains and loses:
            return Standing.TRADE
        if gains and no_worse:
            return Standing.BETTER
        if loses and no_better:
            return Standing.WORSE
        if no_worse and no_better:
            return Standing.EQUAL
        # Whether it gains, or loses, by a criterion is of interest only as long as it does so by none.
        left = [
            found
            for found in mine
            if (not gains and found.may_be_better(i, j)) or (not loses and found.may_be_better(j, i))
        ]
        return Standing.THRESHOLD if all(found.narrow(i, j) for found in left) else Standing.OPEN

    def mean(self, contender: str, criterion: Criterion) -> Interval:
        """The mean over the replications."""
        bounds = (0.0, 1.0) if criterion.kind == "fairness" else None
        return t_interval(self.values[criterion.id][self.contenders.index(contender)], bounds=bounds)

    def gap(self, contender: str, other: str, criterion: Criterion) -> float:
        """By how much one scheme is better than another in the mean, in units of what matters."""
        rows = self.values[criterion.id][[self.contenders.index(contender), self.contenders.index(other)]]
        mine, theirs = criterion.merit(rows)
        found = t_interval(mine - theirs)
        return found.estimate / criterion.margin if found.n else 0.0

    def against(self, reference: str) -> list[Effect]:
        """Every other scheme against one, criterion by criterion."""
        if reference not in self.contenders:
            return []
        r = self.contenders.index(reference)
        pairs = [
            (name, criterion, self.values[criterion.id][i], self.values[criterion.id][r])
            for i, name in enumerate(self.contenders)
            for criterion in self.criteria
            if i != r
        ]
        found = holm([p_value(c.merit(mine) - c.merit(theirs)) for _, c, mine, theirs in pairs])
        corrected = [min(1.0, p * self.stages) for p in found]
        return [
            Effect(name, c, t_interval(mine), c.effect(mine, theirs), p, self.standing(name, reference, [c]))
            for (name, c, mine, theirs), p in zip(pairs, corrected, strict=True)
        ]

    def with_margins(self, factor: float) -> Verdict:
        """The same runs, if what matters were so many times as much."""
        scaled = tuple(replace(c, matters=c.matters * factor) for c in self.criteria)
        return replace(self, criteria=scaled)
