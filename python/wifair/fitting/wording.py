"""The fit in sentences, the answer first, and as the content of one JSON document."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from wifair.everything.criteria import number
from wifair.fitting.estimates import Alike, Estimate
from wifair.fitting.fitting import Fitted
from wifair.prediction import as_it_is_wording
from wifair.prediction.as_it_is import Judged
from wifair.tuning.ranges import Choices

HEADINGS = ("what may vary", "value", "fits as well", "excluded", "why it may vary")
# After an end of an interval that is an end of the range.
END = "end of the range"
# Misses that are named as the largest.
LARGEST = 3
QUANTITIES = ("quantity", "measured", "fitted", "of what chance and what matters allow")


def headline(fitted: Fitted) -> str:
    """The answer in one sentence."""
    before, after = fitted.objectives
    objective = f"the mean square of the residuals is {number(after)}, and {number(before)} as it is"
    if fitted.is_fit:
        return f"A fit: with these values, runs show all {len(fitted.held)} held-out quantities ({fitted.split.about}); {objective}."
    if not fitted.held:
        return f"No fit: no run shows what was held out ({fitted.split.about}); {objective}."
    out = [each for each in fitted.held if not each.is_within]
    return (
        f"No fit: with the best values found, {len(out)} of {len(fitted.held)} held-out quantities ({fitted.split.about}) differ by more than chance and by "
        f"more than matters. Most of all {missed(fitted)}; {objective}."
    )


def missed(fitted: Fitted) -> str:
    """The held-out quantity that the runs miss most."""
    if not fitted.held:
        return "no run shows what was held out"
    return as_it_is_wording.missed(fitted.held[0])


def so_far(fitted: Fitted) -> str:
    """The best point yet."""
    values = zip(fitted.freedoms, fitted.searched.best.values(), strict=True)
    changed = [f"{freedom.family} {freedom.words(value)}" for freedom, value in values if value != freedom.kept]
    return f"nearest with {', '.join(changed)}" if changed else "nearest as it is"


def remarks(fitted: Fitted) -> Iterator[str]:
    """On what the values rest, what the measurement does not determine, and what was not varied; what to do next if it is no fit."""
    if fitted.estimates and not fitted.is_fit:
        yield "What fits as well, and what is excluded, holds only if the rest of the model is right, which a fit would have to show first"
    if not fitted.freedoms:
        yield "Nothing was varied: the file marks only which flows are bulk, and none of these has more in runs than was measured"
    unknown = [each.parameter.name for each in fitted.estimates if not each.is_known]
    if unknown:
        yield f"The measurement determines nothing of {', '.join(unknown)}: no other value in the range is excluded"
    for freedom, each in zip(fitted.freedoms, fitted.estimates, strict=True):
        values = each.parameter.values
        if each.open_range and not isinstance(values, Choices):
            ends = " to ".join(freedom.words(end) for end in (values.low, values.high))
            yield f"{freedom.family}: what fits as well reaches an end of what was searched ({ends}), and the true value may lie beyond it"
    for pair in fitted.alike:
        yield (
            f"{pair.one.name} and {pair.two.name} cannot be told apart (cosine {pair.cosine:.2f}): they move the same quantities in the same "
            "proportion, so their values hold only together"
        )
    if fitted.short:
        yield fitted.short
    if fitted.unvaried:
        listed = dict.fromkeys(f"{each.family} ({each.why})" for each in fitted.unvaried)
        yield f"Not varied: {'; '.join(listed)}"
    if fitted.held and not fitted.is_fit:
        worst = "; ".join(f"{each.quantity}" for each in fitted.held[:LARGEST])
        yield (
            f"Next: the largest misses are {worst}. `wifair explain SCENARIO --measured FILES` shows everything that was measured next to runs. Values without a "
            "mark, and those that were not varied, were taken as they are in the file: correct what you know to be different"
        )


def row(fitted: Fitted, estimate: Estimate) -> tuple[str, ...]:
    """A row of the table with `HEADINGS`."""
    freedom = fitted.freedoms[fitted.estimates.index(estimate)]

    def told(value: Any) -> str:
        is_end = any(math.isclose(value, end) for end in estimate.open_range)
        return f"{freedom.words(value)}{f' ({END})' if is_end else ''}"

    is_choice = isinstance(estimate.parameter.values, Choices)
    each_side = (estimate.possible, estimate.excluded)
    words = [[told(value) for value in (values if is_choice else sorted(values))] for values in each_side]
    if estimate.is_known and estimate.between:
        low, high = map(told, estimate.between)
        sides = (("below", estimate.between[0], low), ("above", estimate.between[1], high))
        words = [[f"{low} to {high}"], [f"{side} {end}" for side, value, end in sides if value in estimate.excluded]]
    kept = " (as it was)" if estimate.value == freedom.kept else ""
    return (
        freedom.family,
        f"{told(estimate.value)}{kept}",
        *(", ".join(each) or "–" for each in words),
        freedom.why,
    )


def quantity(each: Judged) -> tuple[str, ...]:
    """A row of the table with `QUANTITIES`."""
    return str(each.quantity), number(each.measured), number(each.simulated), number(each.missed)


def document(fitted: Fitted) -> dict[str, Any]:
    """All of the fit."""
    before, after = fitted.objectives
    return {
        "answer": headline(fitted),
        "is_fit": fitted.is_fit,
        "held_out": fitted.split.about,
        "objective": {"as_it_is": before, "fitted": after},
        "parameters": [_estimate(fitted, each) for each in fitted.estimates],
        "alike": [_alike(each) for each in fitted.alike],
        "quantities": [
            {**_judged(each), "held_out": held}
            for held in (True, False)
            for each in (fitted.held if held else fitted.seen)
        ],
        "short_runs": fitted.short,
        "not_varied": [{"key": each.family, "why": each.why} for each in fitted.unvaried],
        "replications": fitted.searched.runs,
    }


def _estimate(fitted: Fitted, each: Estimate) -> dict[str, Any]:
    freedom = fitted.freedoms[fitted.estimates.index(each)]
    return {
        "key": freedom.family,
        "why": freedom.why,
        "value": each.value,
        "means": freedom.words(each.value),
        "is_known": each.is_known,
        "ends_of_range": [freedom.words(value) for value in each.open_range],
        "between": [freedom.words(value) for value in each.between] if each.is_known and each.between else None,
        "possible": [freedom.words(value) for value in each.possible],
        "excluded": [freedom.words(value) for value in each.excluded],
    }


def _alike(each: Alike) -> dict[str, Any]:
    return {"one": each.one.name, "two": each.two.name, "cosine": each.cosine}


def _judged(each: Judged) -> dict[str, Any]:
    what = each.quantity
    return {
        "quantity": what.kind,
        "station": what.station,
        "direction": what.direction,
        "measured": each.measured,
        "fitted": each.simulated if math.isfinite(each.simulated) else None,
        "missed": each.missed,
        "is_within": each.is_within,
    }
