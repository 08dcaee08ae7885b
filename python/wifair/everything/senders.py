"""The kinds of hosts, and of air. An access point cannot choose them, so schemes are judged with each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from wifair.papers.generations.air import AX
from wifair.scenario.scenario import Scenario, Table

# Keys of packet sizes, which stay the scenario's with every kind of hosts.
_OF_THE_SCENARIO = ("mss_bytes", "header_bytes")


@dataclass(frozen=True)
class Senders:
    """A kind of hosts. `tcp` is None where the scenario's own are left as they are."""

    id: str
    title: str
    tcp: Mapping[str, Any] | None = None
    # The ACKs that a scheme may remove: its paper's choice, or only those without further information.
    ack_filter: str = "paper"

    def applied(self, scenario: Scenario) -> Scenario:
        """The scenario with these hosts. Today's hosts follow the standards, so the scenario's dialect is dropped."""
        if self.tcp is None:
            return scenario
        settings = scenario.settings()
        own: Table = settings.get("tcp", {})
        kept = {key: own[key] for key in _OF_THE_SCENARIO if key in own}
        return Scenario.from_settings({**settings, "dialect": "standard", "tcp": {**self.tcp, **kept}})


# Data rates of 802.11ax by MCS, with the width and streams of the study `generations`, in Mbps (802.11ax-2021, 27.5).
RATES_MBPS = (72.1, 144.1, 216.2, 288.2, 432.4, 576.5, 648.5, 720.6, 864.7, 960.8, 1080.9, 1201.0)
# Linux's default length of an interface's queue (`txqueuelen`), for AP and stations.
_BUFFER_PACKETS = 1000
# A wire that is no bottleneck, as the papers' is at 11 Mbps.
_WIRE_MBPS = 10_000.0
# A run is so many times as short as the paper's and has at most so many simulated seconds, warm-up included; over a path of 100
# ms or more each way, which needs longer to settle.
_NEAR, _FAR = (12.0, 10.0), (6.0, 30.0)


@dataclass(frozen=True)
class OnAx(Senders):
    """Today's hosts, and a paper's cell on 802.11ax: what an access point that is bought today meets.

    Links have the mode of the study `generations`, 1201 Mbps, for the highest rate of the paper's cell; a slower link has the mode
    whose rate is nearest to the same share of that. The MAC is EDCA, all in best effort unless the cell has categories. Below the
    scheme lies that study's hardware. Buffers
    that the paper prints have 1,000 packets; the wire is no bottleneck. Flows, delays, sizes of documents and the order of events
    are the paper's. Runs are shorter, since a second has a hundred times as many packets; times of events shrink with them.
    """

    def applied(self, scenario: Scenario) -> Scenario:
        """The scenario with these hosts, on this air."""
        settings = super().applied(scenario).settings()
        highest = _highest(settings)
        run: Table = settings["run"]
        total = run["warmup_s"] + run["duration_s"]
        divisor, most_s = _FAR if settings["wire"]["one_way_delay_ms"] >= 100 else _NEAR
        shrunk = min(1 / divisor, most_s / total)
        ap: Table = {**settings["ap"], "limit_packets": _BUFFER_PACKETS, "hardware": AX.hardware}
        if "categories" in ap:
            ap["categories"] = {
                name: {**tx_queue, "limit_packets": _BUFFER_PACKETS} for name, tx_queue in ap["categories"].items()
            }
        moved = {
            **settings,
            "title": f"{settings['title']}, carried to 802.11ax",
            "run": {**run, "warmup_s": run["warmup_s"] * shrunk, "duration_s": run["duration_s"] * shrunk},
            "phy": dict(AX.phy),
            "mac": {"edca": settings.get("mac", {}).get("edca", {})},
            "ap": ap,
            "wire": {**settings["wire"], "rate_mbps": _WIRE_MBPS},
            "station": {**_linked(settings["station"], highest), "tx_queue": {"limit_packets": _BUFFER_PACKETS}},
            "flows": [_shrunk(flow, shrunk) for flow in settings["flows"]],
        }
        if "events" in settings:
            moved["events"] = [
                {**event, "at_s": event["at_s"] * shrunk, "station": _linked(event["station"], highest)}
                for event in settings["events"]
            ]
        return Scenario.from_settings(moved)


def _highest(settings: Table) -> float:
    """The highest link rate of a paper's cell, in Mbps."""
    return max(float(station["rate_mbps"]) for station in (settings["station"], *_of_events(settings)))


def _shrunk(flow: Table, by: float) -> Table:
    """A group of flows that starts by that much sooner, within a second at most."""
    start = {"start_s": flow["start_s"] * by} if "start_s" in flow else {}
    return {**flow, **start, "start_spread_s": min(1.0, flow.get("start_spread_s", 1.0))}


def _of_events(settings: Table) -> list[Table]:
    return [event["station"] for event in settings.get("events", [])]


def _linked(station: Table, highest_mbps: float) -> Table:
    """A station with a mode of 802.11ax in place of its rate."""
    wanted = station["rate_mbps"] / highest_mbps * AX.rate_mbps
    mcs = min(range(len(RATES_MBPS)), key=lambda index: abs(math.log(RATES_MBPS[index] / wanted)))
    return {key: value for key, value in station.items() if key != "rate_mbps"} | {"mcs": mcs}


PAPERS = Senders("paper", "the paper's senders")
TODAYS = Senders("today", "today's senders: CUBIC, SACK, ECN", {"profile": "today"}, "safe")
TODAYS_ON_AX = OnAx("ax", "today's senders on 802.11ax", TODAYS.tcp, "safe")
# The gallery's scenarios have them already.
# Those of a user's scenario.
OWN = Senders("own", "the scenario's own senders", ack_filter="safe")
GALLERYS = replace(TODAYS, tcp=None)
