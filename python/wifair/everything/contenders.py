"""Which schemes: every one that there is, each as its source has it, and those that come with more than a scheme.

A scheme has the scenario's buffer, unless it has its own. One that removes ACKs takes those that its paper does
where the hosts are the paper's, and only those that carry nothing else (`filter = "safe"`) where they are today's, whose ACKs
carry selective blocks and echoes of marks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from wifair.analysis.sweep import label
from wifair.errors import InputError
from wifair.keys import unknown
from wifair.papers.alt.study import Q_MIN
from wifair.papers.spm_af_las.study import SPM_SENDER
from wifair.scenario.components import components
from wifair.scenario.scenario import Scenario, Table
from wifair.scheme.python import PythonScheme

# What ships today, and what shipped before.
REFERENCE = "mac80211"
PLAIN = "droptail"

# CAKE's filter as CAKE has it by default, where it is on.
_ACK_FILTER = {"ack_filter": "conservative"}


@dataclass(frozen=True)
class Contender:
    """A scheme, what else the access point's port has, and what the hosts need."""

    name: str
    about: str
    scheme: Mapping[str, Any]
    port: Mapping[str, Any] = field(default_factory=dict)
    tcp: Mapping[str, Any] = field(default_factory=dict)

    def applied(self, scenario: Scenario, ack_filter: str = "paper") -> Scenario:
        """The scenario under it; an `InputError` where it cannot be."""
        settings = scenario.settings()
        scheme = {**self.scheme, "filter": ack_filter} if _filters(self.scheme["name"]) else self.scheme
        ap: Table = {**settings.get("ap", {}), "scheme": dict(scheme)}
        # Where the scenario gives a category's buffer a separate size, that buffer is the one that it is about.
        categories: Mapping[str, Table] = ap.get("categories", {})
        sized = {name: {**port, **self.port} for name, port in categories.items() if "limit_packets" in port}
        ap = {**ap, "categories": {**categories, **sized}} if sized else {**ap, **self.port}
        tcp = {**settings.get("tcp", {}), **self.tcp}
        return Scenario.from_settings({**settings, "ap": ap, **({"tcp": tcp} if tcp else {})})


@dataclass(frozen=True)
class ArfAware(Contender):
    """The paper's senders, that know their link's rate, over whatever control they have otherwise; tail drop at the AP."""

    def applied(self, scenario: Scenario, ack_filter: str = "paper") -> Scenario:
        """The scenario with these senders, if one of them ever has a slow link."""
        plan = scenario.plan()
        rates = {station["label"]: station["rate_mbps"] for station in plan["cell"]["stations"]}
        changes = {
            event["station"]["label"] for event in plan["events"] if (event.get("station") or {}).get("rate_mbps")
        }
        if None in rates.values():
            raise InputError("arf-aware knows rates before 802.11n, and stations of this scenario have an MCS.")
        highest = max(rates.values())
        adapts = plan["cell"]["mac"]["rate_adaptation"]["name"] != "fixed"
        hears = [flow for flow in plan["flows"] if flow["direction"] == "up" or flow["server_hears_link_rate"]]
        if not any(adapts or rates[flow["station"]] < highest or flow["station"] in changes for flow in hears):
            raise InputError("no sender has a link below the highest rate: the same as droptail.")
        over = next(flow["tcp"]["congestion_control"] for flow in hears if "tcp" in flow)
        control = {"name": "arf-aware", "over": over, "max_rate_mbps": highest}
        return super().applied(scenario.override({"tcp.congestion_control": control}), ack_filter)


def contenders(names: Sequence[str | Mapping[str, Any]] = ()) -> list[Contender]:
    """All of them, or those named, in the order of the registries."""
    every = [_scheme(told) for told in components("schemes")]
    every += [_controlled(told) for told in components("limit_controllers")]
    every += [
        replace(
            _scheme(_component("fq-codel")),
            name="fq-codel-ack-filter",
            about="fq-codel with CAKE's ACK filter on its queues",
            scheme={"name": "fq-codel", **_ACK_FILTER},
        ),
        replace(
            _scheme(_component(REFERENCE)),
            name="mac80211-2016",
            about="mac80211 of 2016 to 2025, easier on slow stations",
            scheme={"name": REFERENCE, "slow_station_rule": True},
        ),
        Contender(
            "spm-af-marking",
            "spm-af, and senders mark data sent at a small window; they count segments",
            {"name": "spm-af", "variant": "sender-marking"},
            tcp=SPM_SENDER,
        ),
        ArfAware("arf-aware", "senders that divide their window on a slow link; tail drop", {"name": PLAIN}),
    ]
    every += [
        Contender(str(name), "written in Python", {"name": name}) for name in names if isinstance(name, PythonScheme)
    ]
    every += [Contender(label(name), "a variant", name) for name in names if isinstance(name, Mapping)]
    known = [contender.name for contender in every]
    wanted = [label(name) for name in names]
    for name in wanted:
        if name not in known:
            raise unknown("scheme", name, known, "schemes: ")
    return [contender for contender in every if not names or contender.name in wanted]


def _component(name: str) -> Mapping[str, Any]:
    return next(told for told in components("schemes") if told["name"] == name)


def _filters(name: str) -> bool:
    """Whether it is a registered scheme with a parameter for the ACKs to remove."""
    registered = (told for told in components("schemes") if told["name"] == name)
    return any("filter" in told["parameters"].get("properties", {}) for told in registered)


@cache
def usual_limit_packets(scheme: str) -> int:
    """The limit that a port has under this scheme where nobody names one."""
    plan = Scenario(ap={"scheme": scheme}, flows=[{"direction": "down"}]).plan()
    return int(plan["cell"]["ap"]["port"]["limit_packets"])


def _scheme(told: Mapping[str, Any]) -> Contender:
    """A scheme with its defaults; with its own buffer if that differs from any port's."""
    name = told["name"]
    limit = usual_limit_packets(name)
    own = limit != usual_limit_packets(PLAIN)
    return Contender(name, told["idea"], {"name": name}, {"limit_packets": limit} if own else {})


def _controlled(told: Mapping[str, Any]) -> Contender:
    port = {"limit_packets": Q_MIN, "limit_controller": {"name": told["name"]}}
    return Contender(told["name"], f"{told['idea']} Tail drop.", {"name": PLAIN}, port)
