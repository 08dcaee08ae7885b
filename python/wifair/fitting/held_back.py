"""Flows that their application may hold back: those that `import` takes for bulk, and that carry more in runs than was measured.

An excess may have other reasons, such as errors. So how many of these flows are held back is a parameter of the search: with n of them, the n with the largest
excess become documents at the rate that was measured, with think times by the rate that they have in the runs as bulk flows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from wifair.advising.doubts import Freedom, index, value_at, why
from wifair.observed import loads
from wifair.observed.network import BULK
from wifair.observed.origins import Mark
from wifair.prediction.as_it_is import Judged
from wifair.scenario.scenario import Scenario
from wifair.tuning.ranges import Choices

# Numbers of flows that are tried.
MOST = 8
Flow = tuple[str, str]


def may_be_held_back(scenario: Scenario, marks: Sequence[Mark]) -> bool:
    """Whether runs can tell of any flow whether its application holds it back."""
    return bool(_bulk(scenario, marks))


def held_back(scenario: Scenario, marks: Sequence[Mark], compared: Sequence[Judged]) -> Freedom | None:
    """How many flows may be held back; None if none has more in runs than was measured. `compared` are the quantities of both, the most missed first."""
    bulk = _bulk(scenario, marks)
    rtt_s = 2 * scenario.plan()["wire"]["one_way_delay_ms"] / 1000
    documents: dict[Mark, dict[str, Any]] = {}
    for each in compared:
        mark = bulk.get((each.quantity.station, each.quantity.direction))
        more = each.simulated > each.measured >= loads.LEAST_MBPS
        if mark and more and each.quantity.kind == "goodput" and not each.is_within:
            cycle_s = loads.STEADY_S if mark.what == loads.NO_PAUSES else loads.DOCUMENT_S
            documents[mark] = loads.web(each.measured, each.simulated, rtt_s, cycle_s)
    order = [mark for mark, found in documents.items() if found]
    if not order:
        return None

    def change(mark: Mark, value: Any, count: int) -> Any:
        return documents[mark] if order.index(mark) < count else value

    def words(count: int) -> str:
        if len(order) == 1:
            return "held back" if count else "not held back"
        return f"{count or 'none'} of {len(order)} held back"

    steps = min(len(order), MOST)
    counts = Choices(tuple(round(len(order) * step / steps) for step in range(steps + 1)))
    reason = f"{why(order[0])}; {len(order)} of {len(bulk)} have more in runs than was measured, so their applications may hold them back"
    return Freedom(order[0].family, reason, order, counts, 0, change, words)


def flow_of(scenario: Scenario, mark: Mark) -> Flow:
    """Station and direction of the flow that a mark belongs to."""
    flow = scenario.settings()["flows"][index(mark)]
    return flow["station"], flow["direction"]


def _bulk(scenario: Scenario, marks: Sequence[Mark]) -> dict[Flow, Mark]:
    """The marks of flows that are assumed to be bulk and that are alone at their station in their direction: what is measured is the sum of several."""
    settings = scenario.settings()
    every = Counter((flow.get("station"), flow.get("direction")) for flow in settings["flows"])
    assumed = [mark for mark in marks if mark.origin == "assumed" and value_at(settings, mark) == BULK]
    return {flow: mark for mark in assumed if every[flow := flow_of(scenario, mark)] == 1}
