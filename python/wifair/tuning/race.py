"""Which points of a search need no further replications, and which of several points are on the Pareto front.

Merits are arrays of one row per seed and one column per goal, where more is better. A goal without a value has −∞. All points
have the same seeds in the same rows, so differences are paired.

The rule is a race (O. Maron, A. W. Moore, Hoeffding races, NIPS 1993) with paired t intervals, as in J. Branke, J. Elomari, Racing
with a fixed budget and a self-adaptive significance level, LION 2013.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wifair.stats import Values, paired_difference

# Replications of a point before it can be stopped. Two would have intervals that hardly ever exclude anything.
FIRST_SEEDS = 3

# The level of the two-sided interval below zero that stops a point: one side of it has 5 %.
STOP_LEVEL = 0.90


def rungs(seeds: int) -> list[int]:
    """The numbers of seeds after which points may be stopped, up to `seeds`: 3, 6, 12 and so on."""
    found = [min(FIRST_SEEDS, seeds)]
    while found[-1] < seeds:
        found.append(min(2 * found[-1], seeds))
    return found


def beaten(mine: Values, other: Values) -> bool:
    """Whether a point is worse than another by every goal, with an error of 5 % at most.

    By each goal, the one-sided 95 % bound of the paired difference is below zero. Requiring this of all goals keeps the error
    of the whole at 5 % (intersection–union test: R. L. Berger, Technometrics 24, 1982).
    """
    return all(_worse(mine[:, goal], other[:, goal]) for goal in range(mine.shape[1]))


def _worse(mine: Values, other: Values) -> bool:
    if not np.isfinite(other).all():
        return False
    if not np.isfinite(mine).all():
        return True
    high = paired_difference(mine, other, level=STOP_LEVEL).difference.high
    return high is not None and high < 0


def front(merits: Sequence[Values]) -> list[int]:
    """The indexes of the points that no other is better than by every goal it differs in, by the means of their merits.

    With one goal it is the best point. Of points with equal means the first counts.
    """
    first = {tuple(merits[i].mean(axis=0)): i for i in reversed(_leaders(merits))}
    return sorted(first.values())


def _leaders(merits: Sequence[Values]) -> list[int]:
    """The front with all points of equal means, since these may differ by seed."""
    if not merits:
        return []
    means = np.array([merit.mean(axis=0) for merit in merits])
    return [i for i, mine in enumerate(means) if not any(_dominates(other, mine) for other in means)]


def _dominates(one: Values, other: Values) -> bool:
    return bool((one >= other).all() and (one > other).any())


def survivors(racing: Sequence[Values], finished: Sequence[Values]) -> list[int]:
    """The indexes of the racing points that continue: those not beaten by a leader.

    Leaders are the front of racing and finished points, both by the seeds that the racing ones have.
    """
    if not racing:
        return []
    seeds = len(racing[0])
    field = [*racing, *(merit[:seeds] for merit in finished)]
    leaders = [field[i] for i in _leaders(field)]
    return [
        i
        for i, mine in enumerate(racing)
        if np.isfinite(mine).all() and not any(beaten(mine, leader) for leader in leaders if leader is not mine)
    ]
