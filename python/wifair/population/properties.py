"""What a scenario is like, in numbers that any scenario has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair.scenario.components import transport

if TYPE_CHECKING:
    from wifair.scenario.scenario import Scenario

# Wi-Fi Alliance's numbers of the amendments from 802.11n on, and ours for older ones.
GENERATIONS = {
    "802.11b": 1,
    "802.11a": 2,
    "802.11g": 3,
    "802.11n": 4,
    "802.11ac": 5,
    "802.11ax": 6,
    "802.11be": 7,
}
# Bytes of an IP packet whose airtime is a link's.
PACKET_BYTES = 1500


@dataclass(frozen=True)
class Facts:
    """A scenario's plan, and what the properties share."""

    scenario: Scenario

    @cached_property
    def plan(self) -> Mapping[str, Any]:
        """The plan."""
        return self.scenario.plan()

    @property
    def bss(self) -> Mapping[str, Any]:
        """The BSS."""
        found: Mapping[str, Any] = self.plan["bss"]
        return found

    @cached_property
    def tcp(self) -> list[Mapping[str, Any]]:
        """The flows over TCP."""
        return [flow for flow in self.plan["flows"] if transport(flow["application"]["name"]) == "tcp"]

    @cached_property
    def links_mbps(self) -> list[float]:
        """What the air carries to each station with flows if it is alone there, in full PPDUs."""
        used = {flow["station"] for flow in self.plan["flows"]}
        access = self.scenario.channel_access(PACKET_BYTES)
        full = [row["full"] for (station, way), row in access.items() if way == "down" and station in used]
        return [PACKET_BYTES * 8 * each["packets"] / each["airtime_us"] for each in full]

    @cached_property
    def round_trips_ms(self) -> list[float]:
        """The flows' round-trip times on the wire."""
        shared = self.plan["wire"]["one_way_delay_ms"]
        delays = [flow["one_way_delay_ms"] for flow in self.plan["flows"]]
        return [2 * float(shared if delay is None else delay) for delay in delays]

    def count(self, *names: str, way: str = "", endless: bool | None = None) -> int:
        """The number of flows with one of these applications, in a direction, with or without end."""
        return sum(
            flow["application"]["name"] in names
            and way in ("", flow["direction"])
            and endless in (None, self._endless(flow["application"]))
            for flow in self.plan["flows"]
        )

    def share(self, holds: Callable[[Mapping[str, Any]], bool]) -> float:
        """The share of the flows over TCP for which it holds, in %."""
        return 100 * sum(map(holds, self.tcp)) / max(len(self.tcp), 1)

    @staticmethod
    def _endless(application: Mapping[str, Any]) -> bool:
        return bool(application["name"] == "bulk" and application.get("transfer_bytes") is None)


@dataclass(frozen=True)
class Property:
    """A number that a scenario has."""

    name: str
    unit: str
    of: Callable[[Facts], float]
    # Whether ratios of it are of interest, so that figures have a logarithmic axis.
    wide: bool = False

    @property
    def heading(self) -> str:
        """The name with its unit."""
        return f"{self.name}, {self.unit}" if self.unit else self.name


def _mean_error(facts: Facts) -> float:
    rates = [station["frame_error_rate"] for station in facts.bss["stations"]]
    return 100 * float(np.mean([rate[way] for rate in rates for way in ("data_up", "data_down")]))


PROPERTIES = (
    Property("stations with flows", "", lambda f: len(f.links_mbps)),
    Property("downloads without end", "", lambda f: f.count("bulk", way="down", endless=True)),
    Property("uploads without end", "", lambda f: f.count("bulk", way="up", endless=True)),
    Property("uploads of files", "", lambda f: f.count("transfers", "web", "bulk", way="up", endless=False)),
    Property("pages, videos, files down", "", lambda f: f.count("transfers", "web", "bulk", way="down", endless=False)),
    Property("calls", "", lambda f: f.count("voip")),
    Property("UDP streams and games", "", lambda f: f.count("udp", "game")),
    Property("Wi-Fi generation of the BSS", "", lambda f: GENERATIONS.get(f.bss["phy"]["name"], 0)),
    Property("channel width", "MHz", lambda f: float(f.bss["phy"].get("width_mhz") or 20)),
    Property("slowest link", "Mbps", lambda f: min(f.links_mbps), wide=True),
    Property("fastest link over slowest", "", lambda f: max(f.links_mbps) / min(f.links_mbps), wide=True),
    Property("MPDU error rate, mean", "%", _mean_error),
    Property("wire", "Mbps", lambda f: float(f.plan["wire"]["rate_mbps"]), wide=True),
    Property("wire over fastest link", "", lambda f: float(f.plan["wire"]["rate_mbps"]) / max(f.links_mbps), wide=True),
    Property("RTT on the wire, median", "ms", lambda f: float(np.median(f.round_trips_ms)), wide=True),
    Property("TCP flows with BBR", "%", lambda f: f.share(lambda x: x["tcp"]["congestion_control"]["name"] == "bbr")),
    Property("TCP flows with ECN", "%", lambda f: f.share(lambda x: bool(x["tcp"]["ecn"]))),
)


def properties(scenario: Scenario) -> dict[str, float]:
    """The value of each property by its name."""
    facts = Facts(scenario)
    return {each.name: float(each.of(facts)) for each in PROPERTIES}


def kind_of(name: str) -> str:
    """What a scenario is one of, by its name without a number at the end: `home` of `home-007`."""
    return re.sub(r"[-_ ]?\d+$", "", name) or name


def kinds_of(names: Iterable[str]) -> dict[str, list[str]]:
    """The scenarios of each kind."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(kind_of(name), []).append(name)
    return found
