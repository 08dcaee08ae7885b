"""The claims of the study, with their rules. They were committed before the first run of what they are about.

- What a resident or the others gain is in units of what matters: 10 % of a delay, 5 % of a goodput, on a logarithmic scale. It is paired by
  house, with the same positions, channels and traffic.
- A relation (`wifair.papers.claims`) holds if every margin is clear of zero at 95 % after Holm's correction over the margins of the claim.
- A number holds if every 95 % interval is within ±1 unit, and fails if one is outside: all must hold, so no correction is needed.
- An effect is compared with that without neighbours on the channel: it survives, fades, is gone or is reversed. Of a scheme's effect on delay
  10 % counts as none, of a paper's finding 0.05. A scheme that takes nothing away without neighbours either has "nothing to cure".
- "Better" in the ranking is the standing of `wifair compare --all` by delay and goodput against tail drop: Bonferroni over changes × criteria.
- A count of neighbours: of the first house, with several seeds. One is shown to lose if a difference of total goodput, transfer times, delay
  or least opinion score matters and is significant at 5 % after Holm's correction over all neighbours, metrics and changes. It is shown not to
  lose if each of these differs by less than what matters, by intervals with Bonferroni's correction over the same. All others are open.
- The best scheme is chosen by the houses (`wifair.neighbours.measured.best_of`), and its adoption is run in the same houses; so what its
  first adopter gains is no claim.
- The claims of the busy evening were added after two houses of the quick form had been run, in which the buffer of the evening held packets
  for 3 ms in the mean, and before any run with the flows of the busy evening.
- The claims of OBSS PD were added when the results of all others were known, and before the first run of a house with it.
- The claims of hardware and widths were added when the results of all others, without a hardware queue below the scheme, were known, and
  before the first results of a house with either. From then on all flats have hardware; all else was run again.
- There is no correction over claims: of twenty that are decided at 95 %, one is wrong by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from wifair.everything.criteria import Criterion
from wifair.everything.side_effects import OTHERS
from wifair.neighbours.findings import FINDINGS, Finding
from wifair.neighbours.houses import (
    ALONE,
    AMONG,
    AS_IT_IS,
    BUFFER_IDS,
    BY_20_MHZ,
    CHANNEL,
    IDEAL,
    OBSS_PD,
    ONE,
    PLANS,
    RTS,
    STRONG,
    TITLES,
    WEAK,
    WIDTH_IDS,
    WIDTH_MHZ,
)
from wifair.neighbours.measured import ADOPTION, BUSY, CRITERIA, DELAY, GOODPUT, HOUSES, Measured, Place
from wifair.papers.claims import Claim, Effect, Number, Point, Relation
from wifair.results.results import BETTER
from wifair.shipping.counts import Count, CountClaim
from wifair.stats import LEVEL, Values

# Up to which share of a delay, and size of a paper's effect, an effect counts as none.
NEGLIGIBLE_DELAY, NEGLIGIBLE = 0.1, 0.05
UNITS = "units of what matters"
RANKING, NEIGHBOURS, BUSY_EVENING, ADOPTERS, PAPERS = "ranking", "neighbours", "busy", "adoption", "findings"

StudyClaim: TypeAlias = Claim[Measured] | CountClaim[Measured]


def _at(plan: str, change: str = AS_IT_IS.id, part: str = HOUSES) -> Place:
    return Place(part, plan, change)


def _adopted(percent: int) -> Place:
    """The houses at a share of adopters."""
    return Place(ADOPTION, ONE, percent) if percent else _at(ONE)


def _relation(
    id: str, figure: str, statement: str, reading: str, margins: Callable[[Measured], Mapping[str, Values]]
) -> Claim[Measured]:
    def evidence(m: Measured) -> Relation:
        return Relation([Point(label, values) for label, values in margins(m).items()])

    return Claim(id, figure, figure, statement, reading, UNITS, evidence)


def _same(
    id: str, figure: str, statement: str, reading: str, gains: Callable[[Measured], Mapping[str, Values]]
) -> Claim[Measured]:
    def evidence(m: Measured) -> Number:
        return Number([Point(label, values) for label, values in gains(m).items()], 0.0, 1.0)

    return Claim(id, figure, figure, statement, reading, UNITS, evidence)


def _of_schemes(plan: str) -> list[Claim[Measured]]:
    def goodput(scheme: str, m: Measured) -> dict[str, Values]:
        return {GOODPUT.id: m.mine(_at(plan, scheme), _at(plan), GOODPUT)}

    def effect(scheme: str, m: Measured) -> Effect:
        there = Point("without neighbours", m.reduction(HOUSES, ALONE, scheme))
        return Effect(Point(PLANS[plan], m.reduction(HOUSES, plan, scheme)), there, NEGLIGIBLE_DELAY, there)

    return [
        claim
        for scheme in BUFFER_IDS
        for claim in (
            Claim(
                f"delay/{plan}/{scheme}",
                RANKING,
                RANKING,
                f"{TITLES[scheme]} lowers the resident's delay among neighbours as it does without.",
                f"{PLANS[plan]}: the share of the delay that it takes away, compared with that without neighbours",
                "share of the delay",
                partial(effect, scheme),
            ),
            _same(
                f"goodput/{plan}/{scheme}",
                RANKING,
                f"{TITLES[scheme]} costs the resident no goodput.",
                f"{PLANS[plan]}: the gain in goodput within ±1 unit",
                partial(goodput, scheme),
            ),
        )
    ]


def _of_ranks(plan: str) -> list[Claim[Measured]]:
    def gain(m: Measured, change: str) -> Values:
        return m.mine(_at(plan, change), _at(plan), DELAY)

    return [
        _relation(
            f"channel-first/{plan}",
            RANKING,
            "Another channel lowers the resident's delay more than any scheme.",
            f"{PLANS[plan]}: the gain by the channel over that by each of the four buffers",
            lambda m: {f"over {s}": gain(m, CHANNEL) - gain(m, s) for s in BUFFER_IDS},
        ),
        _relation(
            f"strong/{plan}",
            RANKING,
            "A stronger access point lowers its resident's delay.",
            f"{PLANS[plan]}: 23 dBm against 20 dBm",
            lambda m: {STRONG: gain(m, STRONG)},
        ),
        _relation(
            f"weak/{plan}",
            RANKING,
            "A weaker access point raises its resident's delay.",
            f"{PLANS[plan]}: 20 dBm against 17 dBm",
            lambda m: {WEAK: -gain(m, WEAK)},
        ),
        _relation(
            f"rts/{plan}",
            RANKING,
            "RTS in the whole house lowers the resident's delay.",
            f"{PLANS[plan]}: RTS from 500 bytes at all nodes against none",
            lambda m: {RTS: gain(m, RTS)},
        ),
        _relation(
            f"obss-pd/{plan}",
            RANKING,
            "OBSS PD in his flat lowers the resident's delay.",
            f"{PLANS[plan]}: at −72 dBm against none",
            lambda m: {OBSS_PD: gain(m, OBSS_PD)},
        ),
        _same(
            f"hardware/{plan}",
            RANKING,
            "What lies below the scheme makes no difference to the resident.",
            f"{PLANS[plan]}: the gain in delay and in goodput without a hardware queue within ±1 unit",
            lambda m: {c.id: m.mine(_at(plan, IDEAL), _at(plan), c) for c in CRITERIA},
        ),
    ]


def _of_width(width: str) -> list[Claim[Measured]]:
    """Claims on a narrower channel at the resident's flat."""

    def gain(of: Callable[[Measured, Place, Place, Criterion], Values], m: Measured) -> Values:
        return of(m, _at(BY_20_MHZ, width), _at(BY_20_MHZ), DELAY)

    return [
        _relation(
            f"width/{width}",
            RANKING,
            f"A narrower channel in his flat raises the resident's delay: {TITLES[width]}.",
            f"{PLANS[BY_20_MHZ]}: the loss in delay against {WIDTH_MHZ} MHz",
            lambda m: {"delay": -gain(Measured.mine, m)},
        ),
        _relation(
            f"others-width/{width}",
            NEIGHBOURS,
            f"A narrower channel in one flat lowers the neighbours' delay: {TITLES[width]}.",
            f"{PLANS[BY_20_MHZ]}: the neighbours' mean gain in delay against {WIDTH_MHZ} MHz",
            lambda m: {"delay": gain(Measured.others, m)},
        ),
    ]


def _of_others(plan: str) -> list[Claim[Measured]]:
    def gains(change: str, m: Measured) -> dict[str, Values]:
        return {c.id: m.others(_at(plan, change), _at(plan), c) for c in CRITERIA}

    made = [
        _same(
            f"others/{plan}/{scheme}",
            NEIGHBOURS,
            f"{TITLES[scheme]} at one access point neither helps nor hurts the neighbours.",
            f"{PLANS[plan]}: the neighbours' mean gain in delay and in goodput within ±1 unit",
            partial(gains, scheme),
        )
        for scheme in BUFFER_IDS
    ]
    made.append(
        _same(
            f"others-hardware/{plan}",
            NEIGHBOURS,
            "What lies below the scheme of one access point makes no difference to the neighbours.",
            f"{PLANS[plan]}: the neighbours' mean gain in delay and in goodput without a hardware queue there within ±1 unit",
            partial(gains, IDEAL),
        )
    )
    made.append(
        _relation(
            f"others-strong/{plan}",
            NEIGHBOURS,
            "A stronger access point raises the neighbours' delay.",
            f"{PLANS[plan]}: the neighbours' mean delay with 23 dBm against 20 dBm",
            lambda m: {STRONG: -gains(STRONG, m)[DELAY.id]},
        )
    )
    made.append(
        _relation(
            f"others-obss-pd/{plan}",
            NEIGHBOURS,
            "OBSS PD in one flat raises the neighbours' delay.",
            f"{PLANS[plan]}: the neighbours' mean delay with OBSS PD at −72 dBm in the resident's flat against none",
            lambda m: {OBSS_PD: -gains(OBSS_PD, m)[DELAY.id]},
        )
    )
    if plan == ONE:
        made.append(
            _relation(
                f"others-channel/{plan}",
                NEIGHBOURS,
                "Who leaves a crowded channel lowers the delay of those who stay.",
                f"{PLANS[plan]}: the neighbours' mean delay before and after",
                lambda m: {CHANNEL: gains(CHANNEL, m)[DELAY.id]},
            )
        )
    return made


def losers(m: Measured, change: str) -> Count:
    """The neighbours in the first house that are shown to lose by a change, and those for whom the runs do not decide."""
    rows = [row for row in m.side_effects if row["scenario"] == change and row["bss"] != OTHERS]
    tests = sum(row["bss"] != OTHERS for row in m.side_effects)
    found = [_loss(row, tests) for row in rows]
    by_bss = {
        name: [loss for row, loss in zip(rows, found, strict=True) if row["bss"] == name]
        for name in {row["bss"] for row in rows}
    }
    shown = sum(True in losses for losses in by_bss.values())
    undecided = sum(True not in losses and None in losses for losses in by_bss.values())
    return Count(shown, undecided, len(by_bss), most=0)


def _loss(row: Mapping[str, Any], tests: int) -> bool | None:
    """Whether a neighbour is shown to lose by a metric, or not to lose; None if neither."""
    from scipy.special import stdtrit

    if row["ci_low"] is None:
        return None
    sign = 1.0 if BETTER[row["metric"]] == "highest" else -1.0
    gained = sign * row["difference"]
    if row["p_holm"] < 1 - LEVEL and gained <= -row["matters"]:
        return True
    half = (row["ci_high"] - row["ci_low"]) / 2 / stdtrit(row["runs"] - 1, 0.5 + LEVEL / 2)
    half *= stdtrit(row["runs"] - 1, 1 - (1 - LEVEL) / tests)
    return False if gained - half > -row["matters"] else None


def _of_each() -> list[CountClaim[Measured]]:
    def count(change: str, m: Measured) -> Count:
        return losers(m, change)

    return [
        CountClaim(
            f"each/{change}",
            NEIGHBOURS,
            f"No neighbour loses by this: {TITLES[change]}.",
            "in the first house, all on one channel: shown to lose: none, whatever the open ones are",
            "neighbours",
            partial(count, change),
        )
        for change in (*BUFFER_IDS, CHANNEL, STRONG, OBSS_PD, IDEAL)
    ]


def _of_adoption() -> list[Claim[Measured]]:
    def house(m: Measured, percent: int, against: int) -> Values:
        return m.house(_adopted(percent), _adopted(against), DELAY)

    def keepers(m: Measured) -> dict[str, Values]:
        return {c.id: m.among(_adopted(50), _adopted(0), c, ~m.adopters[50]) for c in CRITERIA}

    return [
        _relation(
            "house",
            ADOPTERS,
            "If all flats adopt the best scheme, the delay in the whole house is lower.",
            "all on one channel: the mean over all flats, 100 % against 0 %",
            lambda m: {"100 %": house(m, 100, 0)},
        ),
        _relation(
            "more",
            ADOPTERS,
            "The more flats adopt it, the lower is the delay in the whole house.",
            "all on one channel: 50 % against 10 %, and 100 % against 50 %",
            lambda m: {"50 % over 10 %": house(m, 50, 10), "100 % over 50 %": house(m, 100, 50)},
        ),
        _same(
            "keepers",
            ADOPTERS,
            "Those who keep tail drop neither gain nor lose by those who do not.",
            "all on one channel: the other half's mean gain in delay and in goodput at 50 % within ±1 unit",
            keepers,
        ),
        _same(
            "private",
            ADOPTERS,
            "What an adopter gains does not depend on whether others adopt.",
            "all on one channel: the resident's gain in delay and in goodput if all adopt over that if he alone does within ±1 unit",
            lambda m: {c.id: m.mine(_adopted(100), _adopted(1), c) for c in CRITERIA},
        ),
    ]


def _of_busy() -> list[Claim[Measured]]:
    """Claims with an endless download and an endless upload at the resident's flat."""

    def gain(m: Measured, change: str, criterion: Criterion) -> Values:
        return m.mine(_at(ONE, change, BUSY), _at(ONE, part=BUSY), criterion)

    def reduced(scheme: str, m: Measured) -> Effect:
        there = Point("without neighbours", m.reduction(BUSY, ALONE, scheme))
        return Effect(Point(PLANS[ONE], m.reduction(BUSY, ONE, scheme)), there, NEGLIGIBLE_DELAY, there)

    def goodput(scheme: str, m: Measured) -> dict[str, Values]:
        return {GOODPUT.id: gain(m, scheme, GOODPUT)}

    def others(scheme: str, m: Measured) -> dict[str, Values]:
        return {c.id: m.others(_at(ONE, scheme, BUSY), _at(ONE, part=BUSY), c) for c in CRITERIA}

    first = _relation(
        "busy/channel-first",
        BUSY_EVENING,
        "Another channel lowers the resident's delay more than any scheme, if he also loads and sends without end.",
        f"{PLANS[ONE]}: the gain by the channel over that by each of the four buffers",
        lambda m: {f"over {s}": gain(m, CHANNEL, DELAY) - gain(m, s, DELAY) for s in BUFFER_IDS},
    )
    return [first] + [
        claim
        for scheme in BUFFER_IDS
        for claim in (
            Claim(
                f"busy/delay/{scheme}",
                BUSY_EVENING,
                BUSY_EVENING,
                f"{TITLES[scheme]} lowers the resident's delay among neighbours as it does without, if he also loads and sends without end.",
                f"{PLANS[ONE]}: the share of the delay that it takes away, compared with that without neighbours",
                "share of the delay",
                partial(reduced, scheme),
            ),
            _same(
                f"busy/goodput/{scheme}",
                BUSY_EVENING,
                f"{TITLES[scheme]} costs the resident no goodput, if he also loads and sends without end.",
                f"{PLANS[ONE]}: the gain in goodput within ±1 unit",
                partial(goodput, scheme),
            ),
            _same(
                f"busy/others/{scheme}",
                BUSY_EVENING,
                f"{TITLES[scheme]} at an access point that is always busy neither helps nor hurts the neighbours.",
                f"{PLANS[ONE]}: the neighbours' mean gain in delay and in goodput within ±1 unit",
                partial(others, scheme),
            ),
        )
    ]


def effect(finding: Finding, m: Measured) -> Effect:
    """A paper's finding among neighbours on one channel, and without."""
    return Effect(
        Point(PLANS[ONE], finding.effect(m, ONE)),
        Point("without neighbours", finding.effect(m, ALONE)),
        NEGLIGIBLE,
        Point("to cure", finding.to_cure(m, ONE)) if finding.to_cure else None,
    )


def _of_papers() -> list[Claim[Measured]]:
    directions = FINDINGS[0]
    found = [
        Claim(
            f"paper/{finding.id}",
            finding.source,
            PAPERS,
            finding.statement,
            f"{finding.title}; all on one channel against no neighbour: {finding.unit}.",
            finding.unit,
            partial(effect, finding),
        )
        for finding in FINDINGS
    ]
    more: Claim[Measured] = Claim(
        "paper/directions-more",
        "ours",
        PAPERS,
        "Neighbours on the channel make uploads starve downloads more.",
        "the bias under tail drop, all on one channel, over that without neighbours",
        directions.unit,
        lambda m: Relation([Point("bias", np.subtract(directions.effect(m, ONE), directions.effect(m, ALONE)))]),
    )
    return [*found, more]


def _every() -> Sequence[StudyClaim]:
    found: list[StudyClaim] = []
    for plan in AMONG:
        found += [*_of_schemes(plan), *_of_ranks(plan), *_of_others(plan)]
    for width in WIDTH_IDS:
        found += _of_width(width)
    return (*found, *_of_each(), *_of_busy(), *_of_adoption(), *_of_papers())


CLAIMS = _every()
