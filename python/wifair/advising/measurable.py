"""Goals that nothing in a plan can be measured by, whatever a run does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wifair.errors import InputError
from wifair.results.fairness import comparable
from wifair.scenario.components import transport
from wifair.tuning.goals import Goal

Flows = Sequence[Mapping[str, Any]]
# Applications whose transfers are timed.
TIMED = ("web", "transfers")


def _of_tcp(flows: Flows, *ways: str) -> Flows:
    return [flow for flow in flows if transport(_name(flow)) == "tcp" and flow["direction"] in (ways or ("up", "down"))]


def _compared(flows: Flows, *ways: str) -> Flows:
    of_tcp = _of_tcp(flows)
    found = [of_tcp[i] for i in comparable([_name(flow) for flow in of_tcp])]
    return [flow for flow in found if not ways or flow["direction"] in ways]


def _name(flow: Mapping[str, Any]) -> str:
    return str(flow["application"]["name"])


_ALIKE = "TCP flows are comparable: bulk ones, or all if they have one application"
_DATAGRAMS = ("no flow has datagrams", lambda flows: len(_of_tcp(flows)) < len(flows))
# By metric: what a plan without a value of it lacks, and whether a plan's flows have it.
NEEDS: Mapping[str, tuple[str, Callable[[Flows], bool]]] = {
    "total_mbps": ("no flow has TCP", lambda flows: bool(_of_tcp(flows))),
    "up_mbps": ("no TCP flow goes up", lambda flows: bool(_of_tcp(flows, "up"))),
    "down_mbps": ("no TCP flow goes down", lambda flows: bool(_of_tcp(flows, "down"))),
    "down_up_ratio": (
        "TCP flows do not go both ways",
        lambda flows: bool(_of_tcp(flows, "up") and _of_tcp(flows, "down")),
    ),
    "jain": (f"fewer than two {_ALIKE}", lambda flows: len(_compared(flows)) > 1),
    "jain_link_rate": (f"fewer than two {_ALIKE}", lambda flows: len(_compared(flows)) > 1),
    "jain_up": (f"fewer than two uplink {_ALIKE}", lambda flows: len(_compared(flows, "up")) > 1),
    "jain_down": (f"fewer than two downlink {_ALIKE}", lambda flows: len(_compared(flows, "down")) > 1),
    "jain_airtime": (
        f"at fewer than two stations {_ALIKE}",
        lambda flows: len({flow["station"] for flow in _compared(flows)}) > 1,
    ),
    "ping_p50_ms": ("no flow pings", lambda flows: any(_name(flow) == "ping" for flow in flows)),
    "ping_p95_ms": ("no flow pings", lambda flows: any(_name(flow) == "ping" for flow in flows)),
    **dict.fromkeys(("delay_mean_ms", "delay_p95_ms", "jitter_ms", "datagram_loss_ratio"), _DATAGRAMS),
    **dict.fromkeys(("mos", "mos_least"), ("no flow is a call", lambda flows: any(_name(f) == "voip" for f in flows))),
    "transfer_mean_s": ("no flow has pages or files", lambda flows: any(_name(flow) in TIMED for flow in flows)),
}


def check(plan: Mapping[str, Any], goals: Sequence[Goal]) -> None:
    """Raises `InputError` for a goal that has no value in any run of the plan."""
    for goal in goals:
        lacking, has = NEEDS.get(goal.metric, ("", lambda _: True))
        if not has(plan["flows"]):
            allowed = "other goals (--want), or a scenario with such flows"
            raise InputError(f"goals: {goal} cannot have a value: {lacking}; allowed here: {allowed}.")
