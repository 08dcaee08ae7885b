"""The sequential rule: which of many changes is best, with as many replications as that needs, and what it is worth.

1. The scenario as it is and every change run with the same seeds, stage by stage: 6, 12, 24 in all. After each stage every change is compared with
   the scenario as it is by the verdict of `wifair compare --judge`, whose intervals hold for all comparisons of all stages together: a change that
   gains nothing is called better with a probability of at most 5 %. A change gets further seeds only while it is open whether it is
   better, or which of the better ones is best.
2. The best is the one of the better changes that is least behind the best of them in what it is worst at. If none is better, it is the
   trade-off that is least behind in this sense, if there is one.
3. The best and the scenario as it is run with fresh seeds, in a number that is fixed before. What it is worth is measured with these alone. The
   means of the search are too good for the best of many, since it was chosen by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from wifair.everything.contest import filled, unfinished
from wifair.everything.criteria import Criterion
from wifair.everything.verdict import Standing, Verdict
from wifair.stats import Values

# Seeds of the search, in all, and the number of fresh seeds of the confirmation.
STAGES = (6, 12, 24)
FRESH = 12

# Runs scenarios by name with these seeds: by name and criterion one value per seed.
Measure = Callable[[Sequence[str], range], Mapping[str, Mapping[str, Values]]]


class Race:
    """The search among changes. `own` names the scenario as it is.

    `judged` gives the values by which a criterion decides (those beyond a bound count as the bound).
    """

    def __init__(
        self,
        own: str,
        changes: Sequence[str],
        criteria: Sequence[Criterion],
        judged: Callable[[str, Values], Values] = lambda _, values: values,
        stages: Sequence[int] = STAGES,
    ) -> None:
        self.own = own
        self.names = (own, *changes)
        self.criteria = tuple(criteria)
        self.stages = tuple(stages)
        self.judged = judged
        self.values: dict[str, dict[str, Values]] = {name: {} for name in self.names}

    def run(self, measure: Measure) -> Iterator[Verdict]:
        """Runs it; yields the verdict after each stage. The last one is final."""
        wanted, done = list(self.names), 0
        for stage in self.stages:
            self.add(measure(wanted, range(done + 1, stage + 1)))
            done = stage
            verdict = self.verdict()
            yield verdict
            wanted = going(verdict, self.own)
            if not wanted:
                return

    def add(self, more: Mapping[str, Mapping[str, Values]]) -> None:
        """Adds what further seeds have shown."""
        for name, by_criterion in more.items():
            mine = self.values[name]
            for key, values in by_criterion.items():
                mine[key] = np.concatenate([mine[key], values]) if key in mine else np.asarray(values)

    def verdict(self) -> Verdict:
        """The verdict on what is known."""
        return verdict(self.values, self.criteria, self.judged, len(self.stages))


def verdict(
    values: Mapping[str, Mapping[str, Values]],
    criteria: Sequence[Criterion],
    judged: Callable[[str, Values], Values] = lambda _, values: values,
    stages: int = 1,
) -> Verdict:
    """The verdict on scenarios by their values; some may have fewer seeds than others."""
    runs = tuple(len(mine[criteria[0].id]) for mine in values.values())
    table = {
        each.id: np.stack([filled(judged(each.id, mine[each.id]), max(runs)) for mine in values.values()])
        for each in criteria
    }
    out = frozenset(name for name, mine in values.items() if unfinished(mine))
    return Verdict(tuple(values), tuple(criteria), table, runs, out, stages)


def going(found: Verdict, own: str) -> list[str]:
    """Those that need further replications, with whom they are compared; none if nothing is open."""
    better = [name for name in found.contenders if found.standing(name, own) is Standing.BETTER]
    first = best(found, own)
    lead = first if first in better else None
    still = [
        name
        for name in found.contenders
        if name != own
        and found.standing(name, own) is Standing.OPEN
        and (lead is None or found.standing(name, lead) in (Standing.OPEN, Standing.BETTER, Standing.TRADE))
    ]
    rivals = [name for name in better if name != lead and lead and found.standing(name, lead) is Standing.OPEN]
    if not still and not rivals:
        return []
    return [own, *([lead] if lead else []), *rivals, *still]


def best(found: Verdict, own: str) -> str | None:
    """The best change: of those that are better, else of the trade-offs, the one least behind the best in what it is worst at.

    None if no change is better by anything.
    """
    for standing in (Standing.BETTER, Standing.TRADE):
        names = [name for name in found.contenders if name != own and found.standing(name, own) is standing]
        if names:
            return min(names, key=among(found, [own, *names]).shortfall)
    return None


def among(found: Verdict, names: Sequence[str]) -> Verdict:
    """The verdict on some contenders alone, in the replications that they have in common."""
    at = [found.contenders.index(name) for name in names]
    runs = tuple(found.replications(name) for name in names)
    return replace(
        found,
        contenders=tuple(names),
        values={key: values[at][:, : max(runs)] for key, values in found.values.items()},
        runs=runs,
        out=found.out & frozenset(names),
    )
