"""Runs the parts of the study, and judges its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from wifair.errors import InputError
from wifair.everything.contenders import REFERENCE
from wifair.everything.contest import Judged
from wifair.everything.scenarios import FULL
from wifair.papers import Asked, Reproduction
from wifair.results.results import Results, merged
from wifair.shipping import figures
from wifair.shipping.claims import CLAIMS, FINAL, LOOKED_AT, POPULATIONS
from wifair.shipping.counts import Outcomes
from wifair.shipping.frozen import FROZEN
from wifair.shipping.parts import (
    ACCESS,
    AS_THEY_ARE,
    HARDWARE,
    HOSTS,
    SCHEME,
    Part,
    access_part,
    condition_part,
    judged_part,
    population_part,
    settings_part,
)
from wifair.study.study import StudyInterrupted

if TYPE_CHECKING:
    from wifair.study.job import Progress

# The seed of the population that was looked at.
LOOKED_AT_SEED = 1


def reproduce(asked: Asked) -> Reproduction:
    """Runs every part that the figure needs, or all, and judges the claims of these. It has no readings."""
    asked.check(figures.FIGURES, in_place_of_readings="conditions")
    form, figure = asked.form, asked.figure
    if figure == FINAL and form != FULL:
        raise InputError(f"figure {FINAL!r} is not in the {form} form: the final population is run once; use --full.")
    parts = [made() for made in _parts(form, asked.seeds, figure)]
    outcomes, results = _run(parts, asked)
    claims = [claim for claim in CLAIMS if claim.part in outcomes]
    return Reproduction(
        results=merged(results),
        judgements=[claim.judge(outcomes) for claim in claims],
        sensitivities=[],
        figures=lambda: figures.drawn(outcomes, figure),
        texts=lambda: figures.texts(outcomes, figure),
        conditions={
            "form": form,
            "replications": max(part.contest.stages[-1] for part in parts),
            "air": "one BSS, a single user per PPDU, no OFDMA",
            "final_population": f"seed {FROZEN.seed:08x}",
        },
    )


def _parts(form: str, seeds: int | None, figure: str | None) -> list[Callable[[], Part]]:
    """What makes each part, in their order."""
    drawn = {LOOKED_AT: LOOKED_AT_SEED, **({FINAL: FROZEN.seed} if form == FULL else {})}
    makers: dict[str, Callable[[], Part]] = {
        AS_THEY_ARE.id: partial(settings_part, form, seeds),
        **{condition.id: partial(condition_part, condition, form, seeds) for condition in (*HARDWARE, *HOSTS)},
        ACCESS.id: partial(access_part, form, seeds),
        **{part: partial(population_part, part, POPULATIONS[part], seed, form, seeds) for part, seed in drawn.items()},
    }
    wanted = figures.PARTS[figure] if figure else makers.keys()
    return [make for id, make in makers.items() if id in wanted]


def _run(parts: list[Part], asked: Asked) -> tuple[Outcomes, list[Results]]:
    outcomes: dict[str, dict[str, list[Judged]]] = {}
    results: list[Results] = []
    steps = [len(part.contest.stages) for part in parts]
    for index, part in enumerate(parts):
        # A contest that ends before its last stage leaves the rest of its share.
        begun = [sum(steps[:index])]

        @contextmanager
        def bar(_: str, begun: list[int] = begun) -> Iterator[Progress | None]:
            def told(share: float) -> None:
                if asked.progress:
                    asked.progress((begun[0] + share) / sum(steps))

            yield told
            begun[0] += 1

        try:
            outcome = part.contest.run(asked.threads, asked.store, bar)
        except StudyInterrupted as interruption:
            raise StudyInterrupted([*results, *interruption.results]) from None
        outcomes[part.id] = _judged(part, outcome.results)
        results.append(outcome.results)
    return outcomes, results


def _judged(part: Part, results: Results) -> dict[str, list[Judged]]:
    """The verdicts by scheme. Each variant is judged alone next to the scheme and `mac80211`, so their number does not widen the intervals."""
    own = [REFERENCE, SCHEME]
    variants = [contender.name for contender in part.contest.contenders if contender.name not in own]
    found = {SCHEME: judged_part(part, own).contest.judge(results)}
    return found | {each: judged_part(part, [*own, each]).contest.judge(results) for each in variants}
