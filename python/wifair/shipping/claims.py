"""The claims of the study, with their rules.

*Better*, *worse*, a *trade* and *undecided* are the standings of `wifair compare --all` (docs/comparison.md), at the 95 % level for each
setting. What matters is as there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from wifair.analysis.sweep import label
from wifair.everything.contenders import REFERENCE
from wifair.everything.contest import Judged
from wifair.everything.verdict import Standing
from wifair.shipping.access import ACCESSES, CONTROLLED, name
from wifair.shipping.counts import Count, CountClaim, Outcomes
from wifair.shipping.parts import (
    ACCESS,
    AS_THEY_ARE,
    FACTORS,
    HARDWARE,
    HOSTS,
    INGREDIENTS,
    PARAMETERS,
    SCHEME,
    scaled,
    without,
)

# The ids of the two populations.
LOOKED_AT, FINAL = "population", "final"
POPULATIONS = {LOOKED_AT: "a population that was looked at", FINAL: "a population that was run once, at the end"}
# Standings that cost something.
COSTS = (Standing.WORSE, Standing.TRADE, Standing.UNFINISHED)
# Criteria of which a median gain of more than what matters is claimed in at least three.
GAINS = ("airtime", "directions", "ping", "total", "time")
MOST_COSTLY, MOST_UNDECIDED, LEAST_GAINS = 3, 20, 3


def standings(part: str, scheme: str, outcomes: Outcomes, other: str = REFERENCE) -> list[Standing]:
    """The standing of the scheme, or of a variant, in each setting of a part in which both ran."""
    verdicts = [judged.verdict for judged in outcomes.get(part, {}).get(scheme, ())]
    return [v.standing(scheme, other) for v in verdicts if v.judged and {scheme, other} <= set(v.contenders)]


def _count(
    part: str,
    scheme: str,
    among: Sequence[Standing],
    outcomes: Outcomes,
    *,
    least: float | None = None,
    most: float | None = None,
) -> Count:
    found = standings(part, scheme, outcomes)
    return Count(sum(s in among for s in found), found.count(Standing.OPEN), len(found), least, most)


def _earns(part: str, variant: str, outcomes: Outcomes) -> Count:
    """The number of settings in which a variant is worse than the scheme, less those in which it is better."""
    found = standings(part, variant, outcomes, SCHEME)
    return Count(found.count(Standing.WORSE) - found.count(Standing.BETTER), 0, len(found), least=1)


def _adds(part: str, variant: str, outcomes: Outcomes) -> Count:
    """The number of settings in which a variant is better than the scheme, less those in which it is worse."""
    found = standings(part, variant, outcomes, SCHEME)
    return Count(found.count(Standing.BETTER) - found.count(Standing.WORSE), 0, len(found), least=1)


def _undecided(part: str, outcomes: Outcomes) -> Count:
    found = standings(part, SCHEME, outcomes)
    return Count(found.count(Standing.OPEN), 0, len(found), most=MOST_UNDECIDED)


def median_gains(settings: Sequence[Judged], scheme: str = SCHEME) -> dict[str, float]:
    """The median gain of the scheme, or of a variant, over `mac80211` by criterion, in units of what matters; of several kinds of transfers together."""
    gains: dict[str, list[float]] = {}
    for judged in settings:
        verdict = judged.verdict
        if {scheme, REFERENCE} <= set(verdict.contenders):
            for criterion in verdict.judged:
                gain = verdict.gap(scheme, REFERENCE, criterion)
                gains.setdefault(criterion.id.partition(":")[0], []).append(gain)
    return {id: float(np.median(each)) for id, each in gains.items()}


def _gains(part: str, outcomes: Outcomes) -> Count:
    settings = outcomes.get(part, {}).get(SCHEME, ())
    found = median_gains(settings)
    return Count(sum(found.get(id, 0.0) > 1.0 for id in GAINS), 0, len(settings) and len(GAINS), least=LEAST_GAINS)


def _claim(
    id: str, part: str, statement: str, reading: str, count: Callable[[Outcomes], Count]
) -> CountClaim[Outcomes]:
    return CountClaim(id, part, statement, reading, "criteria" if id.endswith("gains") else "settings", count)


def _of_settings() -> list[CountClaim[Outcomes]]:
    part = AS_THEY_ARE.id
    against = f"against `{REFERENCE}`"
    return [
        _claim(
            "better",
            part,
            f"In most settings in which anything can be gained, the scheme is better than `{REFERENCE}`.",
            f"better {against} in at least 15",
            partial(_count, part, SCHEME, (Standing.BETTER,), least=15),
        ),
        _claim(
            "worse",
            part,
            f"In no setting is it worse than `{REFERENCE}`.",
            f"worse {against} in none, and transfers end in all",
            partial(_count, part, SCHEME, (Standing.WORSE, Standing.UNFINISHED), most=0),
        ),
        _claim(
            "trade",
            part,
            "It seldom trades one thing for another.",
            f"a trade {against} in at most 2",
            partial(_count, part, SCHEME, (Standing.TRADE,), most=2),
        ),
    ]


def _of_ingredients() -> list[CountClaim[Outcomes]]:
    return [
        _claim(
            f"needs-{ingredient.removeprefix('the ').replace(' ', '-').lower()}",
            AS_THEY_ARE.id,
            f"The scheme needs {ingredient}.",
            "better than without it in more settings than worse",
            partial(_earns, AS_THEY_ARE.id, label(without(ingredient))),
        )
        for ingredient in INGREDIENTS
    ]


def _of_parameters() -> list[CountClaim[Outcomes]]:
    return [
        _claim(
            f"{factor}-{parameter.replace('_', '-')}",
            AS_THEY_ARE.id,
            f"With {factor} its `{parameter}` it is still worse than `{REFERENCE}` almost nowhere.",
            "worse in at most 1",
            partial(
                _count,
                AS_THEY_ARE.id,
                label(scaled(parameter, factor)),
                (Standing.WORSE, Standing.UNFINISHED),
                most=1,
            ),
        )
        for parameter in PARAMETERS
        for factor in FACTORS
    ]


def _of_conditions() -> list[CountClaim[Outcomes]]:
    return [
        _claim(
            f"worse-{condition.id}",
            condition.id,
            f"Nor is it worse with this: {condition.title}.",
            "worse in none",
            partial(_count, condition.id, SCHEME, (Standing.WORSE, Standing.UNFINISHED), most=0),
        )
        for condition in (*HARDWARE, *HOSTS)
    ]


def _of_accesses() -> list[CountClaim[Outcomes]]:
    adds = _claim(
        f"adds-{CONTROLLED.id}",
        ACCESS.id,
        f"{CONTROLLED.title.capitalize()} add to what the scheme does.",
        "the scheme is better with it than without in more settings than worse",
        partial(_adds, ACCESS.id, name(SCHEME, CONTROLLED)),
    )
    return [
        claim
        for access in ACCESSES
        for claim in (
            _claim(
                f"beyond-{access.id}",
                ACCESS.id,
                f"`{REFERENCE}` with {access.title} does not do what the scheme does.",
                "the scheme is better in more settings than worse",
                partial(_earns, ACCESS.id, name(REFERENCE, access)),
            ),
            _claim(
                f"worse-{access.id}",
                ACCESS.id,
                f"With {access.title} the scheme is not worse than `{REFERENCE}` without.",
                "worse in none",
                partial(_count, ACCESS.id, name(SCHEME, access), (Standing.WORSE, Standing.UNFINISHED), most=0),
            ),
        )
    ] + [adds]


def _of_populations() -> list[CountClaim[Outcomes]]:
    return [
        claim
        for part, what in POPULATIONS.items()
        for claim in (
            _claim(
                f"{part}-costs",
                part,
                f"In {what} of 100 networks it is almost never worse.",
                f"worse, a trade or transfers that do not end in at most {MOST_COSTLY}",
                partial(_count, part, SCHEME, COSTS, most=MOST_COSTLY),
            ),
            _claim(
                f"{part}-undecided",
                part,
                "Nearly all of them are decided.",
                f"at most {MOST_UNDECIDED} undecided",
                partial(_undecided, part),
            ),
            _claim(
                f"{part}-gains",
                part,
                "It gains by most of what users notice.",
                f"median gain above 1 unit of what matters in at least {LEAST_GAINS} of airtime, directions, ping, goodput and transfers",
                partial(_gains, part),
            ),
            _claim(
                f"{part}-beyond-{CONTROLLED.id}",
                part,
                f"In {what} `{REFERENCE}` with {CONTROLLED.title} does not do what the scheme does.",
                "the scheme is better in more networks than worse",
                partial(_earns, part, name(REFERENCE, CONTROLLED)),
            ),
            _claim(
                f"{part}-costs-{CONTROLLED.id}",
                part,
                f"In {what} the scheme with {CONTROLLED.title} is almost never worse than `{REFERENCE}` without.",
                f"worse, a trade or transfers that do not end in at most {MOST_COSTLY}",
                partial(_count, part, name(SCHEME, CONTROLLED), COSTS, most=MOST_COSTLY),
            ),
        )
    ]


CLAIMS: Sequence[CountClaim[Outcomes]] = (
    *_of_settings(),
    *_of_ingredients(),
    *_of_parameters(),
    *_of_conditions(),
    *_of_accesses(),
    *_of_populations(),
)
