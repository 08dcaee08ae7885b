"""Whether runs of the scenario as it is show what was measured, and which goals rest on what they do not show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from wifair.advising import wording
from wifair.advising.advice import Advice
from wifair.advising.measurable import flows_of
from wifair.advising.yardsticks import Yardstick
from wifair.observed.shown import Kind, Quantity
from wifair.prediction import as_it_is_wording
from wifair.prediction.as_it_is import AsItIs, Judged
from wifair.prediction.checked import SHOWN_BY
from wifair.tuning.probes import PROBE

# Quantities that are named of those that differ.
NAMED = 3


@dataclass(frozen=True)
class OfGoal:
    """A goal next to a measurement: whether that shows it, and the quantities that differ of its flows and stations.

    `own` is the goal's own value if it is one of these. A sum or an index that has other flows than the goal is not its own value.
    """

    yardstick: Yardstick
    is_shown: bool
    different: tuple[Judged, ...]
    own: Judged | None


def goals(advice: Advice) -> list[OfGoal]:
    """Each goal; none without a measurement."""
    found = advice.as_it_is
    return [_of_goal(advice, found, each) for each in advice.yardsticks] if found else []


def _of_goal(advice: Advice, found: AsItIs, each: Yardstick) -> OfGoal:
    metric, compared = each.criterion.id, {one.quantity for one in found.judged}
    shown = tuple(kind for kind in SHOWN_BY.get(metric, ()) if any(what.kind == kind for what in compared))
    flows = [_way(flow) for flow in flows_of(advice.plan, metric)]
    stations = {station for station, _ in flows}
    whole = [kind for kind in shown if _is_whole(advice, found, kind, flows)]

    def is_of(what: Quantity) -> bool:
        if what.kind == "goodput":
            return (what.station, what.direction) in flows
        return what.station in stations if what.station else what.kind in whole

    different = tuple(one for one in found.missed if is_of(one.quantity))
    own = None
    if len(shown) == 1 and all(direction in _ways(shown[0]) for _, direction in flows):
        own = next((one for one in different if one.quantity == Quantity(shown[0])), None)
    return OfGoal(each, bool(shown), different, own)


def _is_whole(advice: Advice, found: AsItIs, kind: Kind, flows: list[tuple[str, str]]) -> bool:
    """Whether a sum or an index has all of these flows in its directions, and no others."""
    every = [
        _way(flow)
        for flow in advice.plan["flows"]
        if flow["station"] in found.stations
        and not flow["label"].startswith(PROBE)
        and flow["direction"] in _ways(kind)
    ]
    mine = [flow for flow in flows if flow[1] in _ways(kind)]
    compared = {each.quantity for each in found.judged}
    is_each_alone = kind != "fairness" or len(set(every)) == len(every)
    return (
        sorted(mine) == sorted(every) and is_each_alone and {Quantity("goodput", *flow) for flow in every} <= compared
    )


def _ways(kind: Kind) -> tuple[str, ...]:
    """The directions of the flows in a sum or an index."""
    return (kind,) if kind in ("down", "up") else ("down", "up")


def _way(flow: Mapping[str, Any]) -> tuple[str, str]:
    return flow["station"], flow["direction"]


def headline(advice: Advice) -> str:
    """The advice in one sentence, and whether it is for a network that differs from the measured one."""
    found = advice.as_it_is
    told = wording.headline(advice)
    if not found or not found.missed:
        return told
    return f"For a network that differs from what was measured in {len(found.missed)} of {len(found.judged)} quantities: {told}"


def sentences(advice: Advice) -> Iterator[str]:
    """Whether runs show what was measured, and what to do if not; nothing without a measurement."""
    found = advice.as_it_is
    if found is None:
        return
    yield as_it_is_wording.listed(found, NAMED)
    if found.missed:
        yield f"Advice that rests on these is doubtful. {''.join(_touched(advice))}{_next(advice)}"
        yield from [f"{found.short}."] if found.short else []
    unseen = [each.yardstick.title for each in goals(advice) if not each.is_shown]
    if unseen:
        yield f"No file has a value of these goals, so they are not compared: {', '.join(unseen)}."
    yield from (f"{remark}." for remark in found.read)


def _touched(advice: Advice) -> Iterator[str]:
    """Which goals the quantities that differ concern."""
    concerned = [each for each in goals(advice) if each.different]
    own = [each.yardstick.title for each in concerned if each.own]
    if own:
        yield f"The value{'s' if len(own) > 1 else ''} of {' and of '.join(own)} {'are' if len(own) > 1 else 'is'} among them. "
    some = [(len(each.different), each.yardstick.title) for each in concerned if not each.own]
    if some:
        (count, title), *rest = some
        more = "".join(f", {count} of those of {title}" for count, title in rest)
        yield f"They include {count} of flows or stations of {title}{more}. "


def _next(advice: Advice) -> str:
    lists = "`wifair explain SCENARIO --measured FILES` lists all quantities"
    if all(mark.origin == "fitted" for mark in advice.marks):
        return f"{lists}."
    return f"{lists}, and `wifair fit SCENARIO MEASURED` searches values of what is assumed with which runs show them."


def not_compared(advice: Advice) -> list[str]:
    """That an imported scenario was not compared with a measurement, and what does that. A fitted one was compared."""
    if advice.as_it_is or not advice.marks or any(mark.origin == "fitted" for mark in advice.marks):
        return []
    return [
        "Values of the scenario are marked as assumed or unknown, as `wifair import` does, and it was not compared with the measurement here: "
        "`--measured FILES` does that."
    ]


def document(advice: Advice) -> dict[str, Any] | None:
    """All of the comparison, as the content of a JSON document; None without a measurement."""
    if advice.as_it_is is None:
        return None
    return {
        **as_it_is_wording.document(advice.as_it_is),
        "goals": [
            {
                "goal": each.yardstick.title,
                "is_shown": each.is_shown,
                "is_missed": each.own is not None,
                "different": [str(one.quantity) for one in each.different],
            }
            for each in goals(advice)
        ],
    }
