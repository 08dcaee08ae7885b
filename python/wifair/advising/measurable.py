"""Which flows a goal is about, and goals that nothing in a plan can be measured by, whatever a run does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wifair.errors import InputError
from wifair.results.fairness import comparable
from wifair.scenario.components import transport
from wifair.tuning.goals import Goal
from wifair.tuning.words import WORDS, calls

Plan = Mapping[str, Any]
Flows = Sequence[Mapping[str, Any]]
# Applications whose transfers are timed.
TIMED = ("web", "transfers")


@dataclass(frozen=True)
class Need:
    """What a metric needs: the flows that it is about, whether they are enough, and what a plan lacks that does not have enough."""

    lacking: str
    flows: Callable[[Flows], Flows]
    are_enough: Callable[[Flows], bool] = bool


def _of_tcp(flows: Flows, *ways: str) -> Flows:
    return [flow for flow in flows if transport(_name(flow)) == "tcp" and flow["direction"] in (ways or ("up", "down"))]


def _compared(flows: Flows, *ways: str) -> Flows:
    of_tcp = _of_tcp(flows)
    found = [of_tcp[i] for i in comparable([_name(flow) for flow in of_tcp])]
    return [flow for flow in found if not ways or flow["direction"] in ways]


def _named(*names: str) -> Callable[[Flows], Flows]:
    return lambda flows: [flow for flow in flows if _name(flow) in names]


def _name(flow: Mapping[str, Any]) -> str:
    return str(flow["application"]["name"])


def _several(flows: Flows) -> bool:
    return len(flows) > 1


_ALIKE = "TCP flows are comparable: bulk ones, or all if they have one application"
_PINGS = Need("no flow pings", _named("ping"))
_COMPARED = Need(f"fewer than two {_ALIKE}", _compared, _several)
_CALLS = Need("no flow is a call", _named("voip"))
_DATAGRAMS = Need("no flow has datagrams", lambda flows: [flow for flow in flows if transport(_name(flow)) != "tcp"])
NEEDS: Mapping[str, Need] = {
    "total_mbps": Need("no flow has TCP", _of_tcp),
    "up_mbps": Need("no TCP flow goes up", lambda flows: _of_tcp(flows, "up")),
    "down_mbps": Need("no TCP flow goes down", lambda flows: _of_tcp(flows, "down")),
    "down_up_ratio": Need(
        "TCP flows do not go both ways", _of_tcp, lambda flows: len({flow["direction"] for flow in flows}) > 1
    ),
    "jain": _COMPARED,
    "jain_link_rate": _COMPARED,
    "jain_up": Need(f"fewer than two uplink {_ALIKE}", lambda flows: _compared(flows, "up"), _several),
    "jain_down": Need(f"fewer than two downlink {_ALIKE}", lambda flows: _compared(flows, "down"), _several),
    "jain_airtime": Need(
        f"at fewer than two stations {_ALIKE}", _compared, lambda flows: len({flow["station"] for flow in flows}) > 1
    ),
    "ping_p50_ms": _PINGS,
    "ping_p95_ms": _PINGS,
    **dict.fromkeys(("delay_mean_ms", "delay_p95_ms", "jitter_ms", "datagram_loss_ratio"), _DATAGRAMS),
    **dict.fromkeys(("mos", "mos_least"), _CALLS),
    "transfer_mean_s": Need("no flow has pages or files", _named(*TIMED)),
}
# The flows of what decides without a goal, by criterion: `wifair.everything.criteria`.
_OF_CRITERIA: Mapping[str, Callable[[Flows], Flows]] = {
    **dict.fromkeys(("flows", "directions", "airtime", "rtt"), _named("bulk")),
    "total": lambda flows: flows,
    "ping": _named("ping"),
    "call": _named("voip"),
    "game": _named("game"),
    **dict.fromkeys(("stream", "stream-loss"), _named("udp")),
}


def check(plan: Plan, goals: Sequence[Goal]) -> None:
    """Raises `InputError` for a goal that has no value in any run of the plan."""
    for goal in goals:
        need = NEEDS.get(goal.metric)
        if need and not need.are_enough(need.flows(plan["flows"])):
            allowed = "other goals (--want), or a scenario with such flows"
            raise InputError(f"goals: {goal} cannot have a value: {need.lacking}; allowed here: {allowed}.")


def flows_of(plan: Plan, metric: str) -> Flows:
    """The flows that a metric, or what decides without a goal, is about; none of a metric of the user's."""
    flows: Flows = plan["flows"]
    if metric in NEEDS:
        return NEEDS[metric].flows(flows)
    if metric in _OF_CRITERIA:
        return _OF_CRITERIA[metric](flows)
    word = next((word for word in WORDS.values() if word.metric == metric), None)
    if word is None:
        return []
    plain = calls(plan)
    for name in word.needs:  # calls without a codec count where no flow has one
        if there := [flow for flow in _named(name)(flows) if name != "udp" or flow["label"] in plain]:
            return there
    return []
