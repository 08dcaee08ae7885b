"""The check of a prediction in sentences, the answer first, and as the content of one JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wifair.everything.criteria import number
from wifair.prediction.assumptions import Spoken
from wifair.prediction.checked import Checked
from wifair.prediction.comparison import Compared, Verdict
from wifair.stats import Interval

HEADINGS = ("quantity", "before", "after", "change measured", "predicted", "over what is assumed", "lies")


def headline(checked: Checked) -> str:
    """The answer in one sentence, after one that says if both measurements are the same."""
    if not checked.is_same:
        return _answer(checked)
    return f"Both measurements have the same values of all {len(checked.quantities)} quantities: is AFTER a copy of BEFORE? {_answer(checked)}"


def unseen(checked: Checked) -> Iterator[str]:
    """Which goals of the advice the measurements say nothing of."""
    if checked.unseen:
        yield f"No file shows these goals of the advice, so the check says nothing of them: {', '.join(checked.unseen)}"


def _answer(checked: Checked) -> str:
    change, count = checked.prediction.change, len(checked.quantities)
    outside, in_range = (checked.with_verdict(each) for each in (Verdict.OUTSIDE, Verdict.IN_RANGE))
    if not outside and not in_range:
        return f"The prediction holds: with {change}, all {count} quantities changed as predicted."
    if outside:
        rest = f", and those of {len(in_range)} more within it, but not as predicted" if in_range else ""
        told = (
            f"The prediction does not hold: with {change}, the changes of {len(outside)} of {count} quantities lie outside the range over what was assumed{rest}. "
            f"{_most(outside[0])}."
        )
    else:
        told = (
            f"Not as predicted, but within the range over what was assumed: with {change}, the changes of {len(in_range)} of {count} quantities lie within it, "
            f"but not as predicted, and none outside. {_most(in_range[0])}."
        )
    return f"{told} Something else changed as well." if checked.besides else told


def _most(each: Compared) -> str:
    return f"Most of all {each.quantity}: {_interval(each, each.measured)} measured, {_interval(each, each.predicted)} predicted"


def _interval(each: Compared, found: Interval) -> str:
    scale = each.scale
    told = scale.text(found.estimate)
    if found.low is None or found.high is None or found.identical:
        return told
    low, high = (scale.text(end).removeprefix("× ") for end in (found.low, found.high))
    return f"{told} [{low}, {high}]"


def against(checked: Checked) -> Iterator[str]:
    """Which assumptions the measured change speaks against, each by the value that explains most, and that which explains most first."""
    found = list({(each.other.key, each.other.why): each for each in reversed(checked.against)}.values())[::-1]
    if not checked.assumptions:
        yield "The advice varied no assumption, so the measurements speak against none by name"
    elif not found:
        yield f"The measured change speaks against none of the {_assumptions(checked)} assumptions that the advice varied"
    for each in found:
        yield f"The measured change speaks against {each.other.key} ({each.other.why}): {_way(each)}"
    if hidden := sum(each.way is None for each in checked.assumptions):
        yield f"{hidden} of {len(checked.assumptions)} other values predict no clearly different change, so these measurements say nothing of them"


def _assumptions(checked: Checked) -> int:
    return len({(each.other.key, each.other.why) for each in checked.assumptions})


def _way(each: Spoken) -> str:
    assert each.way is not None
    told = f"it lies {_share(each.way)} of the way to what {each.other.other!r} predicts, which explains {max(100 * each.explained, 0):.0f} % of what both measurements miss"
    earlier = each.before
    if earlier is None or earlier.low is None or earlier.high is None:
        return told
    if earlier.low > 0:
        return f"{told}. The measurement before the change speaks for that value as well"
    if earlier.high < 0:
        return f"{told}. The measurement before the change speaks against that value"
    return told


def _share(way: Interval) -> str:
    if way.low is None or way.high is None:
        return number(way.estimate)
    return f"{number(way.estimate)} [{number(way.low)}, {number(way.high)}]"


def row(each: Compared) -> tuple[str, ...]:
    """A row of the table with `HEADINGS`."""
    scale = each.scale
    reach = f"{scale.text(each.low)} to {scale.text(each.high)}"
    values = number(each.before), number(each.after)
    return (
        str(each.quantity),
        *values,
        _interval(each, each.measured),
        _interval(each, each.predicted),
        reach,
        each.verdict.value,
    )


def document(checked: Checked) -> dict[str, Any]:
    """All of the check. Changes of a `ratio` are logarithms of it."""
    return {
        "answer": headline(checked),
        "change": checked.prediction.change,
        "is_same": checked.is_same,
        "goals_not_shown": checked.unseen,
        "quantities": [_quantity(each) for each in checked.quantities],
        "changed_besides": [
            {"kind": each.kind, "station": each.station, "about": each.text} for each in checked.besides
        ],
        "assumptions": [_spoken(each) for each in checked.assumptions],
        "remarks": list(checked.remarks),
    }


def _quantity(each: Compared) -> dict[str, Any]:
    what = each.quantity
    return {
        "quantity": what.kind,
        "station": what.station,
        "direction": what.direction,
        "before": each.before,
        "after": each.after,
        "scale": each.scale.kind,
        "measured": _ends(each.measured),
        "predicted": _ends(each.predicted),
        "range": [each.low, each.high],
        "verdict": each.verdict.value,
    }


def _ends(found: Interval | None) -> dict[str, float | None] | None:
    if found is None:
        return None
    return {"estimate": found.estimate, "ci_low": found.low, "ci_high": found.high}


def _spoken(each: Spoken) -> dict[str, Any]:
    return {
        "key": each.other.key,
        "why": each.other.why,
        "other": each.other.other,
        "against": each.is_against,
        "way": _ends(each.way),
        "explained": each.explained,
        "before": _ends(each.before),
    }
