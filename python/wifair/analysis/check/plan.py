"""A scenario's plan with the quantities that several rules use."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Self

from wifair.analysis.check.access import Access
from wifair.planned import bsss_of, part, stations_of
from wifair.scenario.components import transport
from wifair.scenario.described import scheme_name
from wifair.scenario.limits import own_limit_packets
from wifair.scenario.scenario import labels

if TYPE_CHECKING:
    from wifair.floor_plan import FloorPlan
    from wifair.scenario.scenario import Scenario

# What a driver's queues hold unless the scenario says otherwise, as in ath9k.
DRIVER_QUEUE_PACKETS = 123


class Plan:
    """A scenario's plan with the quantities that the rules use: those of some of its BSSs, by default of the first."""

    def __init__(self, scenario: Scenario, *bsss: str) -> None:
        whole = scenario.plan()
        self.bsss = bsss or (next(iter(bsss_of(whole))),)
        self.plan = part(whole, self.bsss)
        self.scenario = scenario
        self._access: dict[tuple[int, int], dict[tuple[str, str], Any]] = {}
        self._floor_plan: list[FloorPlan] = []
        self.run = self.plan["run"]
        self.tx_queue = self.plan["bss"]["ap"]["tx_queue"]
        self.scheme = scheme_name(self.tx_queue["scheme"])
        self.limit: int = self.tx_queue["limit_packets"]
        self.edca: dict[str, Any] | None = self.plan["bss"]["mac"]["edca"]
        self.flows: list[dict[str, Any]] = self.plan["flows"]
        self.tcp = [flow for flow in self.flows if transport(flow["application"]["name"]) == "tcp"]
        self._given_stations = {own["label"]: own for own in stations_of(scenario.given_plan())}
        self.end_s: float = self.run["warmup_s"] + self.run["duration_s"]

    @classmethod
    def by_bss(cls, scenario: Scenario) -> dict[str, Self]:
        """One plan per BSS, by name. All know how packets contend, and who hears whom, as soon as one has asked."""
        plans = {name: cls(scenario, name) for name in bsss_of(scenario.plan())}
        first, *others = plans.values()
        for other in others:
            other._access, other._floor_plan = first._access, first._floor_plan
        return plans

    def of(self, application: str) -> list[dict[str, Any]]:
        """The flows that carry an application."""
        return [flow for flow in self.flows if flow["application"]["name"] == application]

    def access(self, flow: dict[str, Any], ip_bytes: int) -> Access:
        """How packets of a flow contend, and what an access carries of them."""
        key = (ip_bytes, flow["application"].get("dscp", flow["tcp"]["dscp"]))
        if key not in self._access:
            self._access[key] = self.scenario.channel_access(*key)
        return Access.of(self._access[key][flow["station"], flow["direction"]])

    def packet_us(self, flow: dict[str, Any], ip_bytes: int) -> float:
        """Time per packet if the sender of a TCP flow's data is alone on the air, with as many waiting as windows and queue allow."""
        access = self.access(flow, ip_bytes)
        waiting = self.queue_packets(flow, access.category)
        at_once = self.most_queued()[0] if flow["direction"] == "down" else self.window_segments(flow)
        return access.packet_us(min(waiting, at_once))

    def rate_mbps(self, flow: dict[str, Any]) -> float:
        """IP throughput of the full segments of such a flow."""
        segment = self.segment_bytes(flow)
        return segment * 8 / self.packet_us(flow, segment)

    def queue_packets(self, flow: dict[str, Any], category: str | None) -> int:
        """The most packets that wait where a flow's data does."""
        node = self.plan["bss"]["ap"] if flow["direction"] == "down" else self.station(flow)
        own = node["categories"][category.replace("-", "_")]["limit_packets"] if category else None
        waiting = int(own or node["tx_queue"]["limit_packets"])
        aggregation = self.plan["bss"]["mac"]["aggregation"] or {}
        if flow["direction"] == "down" and aggregation.get("fill") == "driver-queue":
            return min(waiting, int(aggregation["driver_queue_packets"] or DRIVER_QUEUE_PACKETS))
        return waiting

    def station(self, flow: dict[str, Any]) -> dict[str, Any]:
        """The station of a flow."""
        return self.station_called(flow["station"])

    def station_called(self, label: str) -> dict[str, Any]:
        """The station of that label."""
        return next(own for own in self.plan["bss"]["stations"] if own["label"] == label)

    def group_of(self, label: str) -> str:
        """The name of a station's group; for a flow's separate station, that of the group of flows."""
        for group in self.scenario.stations:
            if label in labels(group.name, group.count):
                return group.name
        return next(str(flow["group"]) for flow in self.flows if flow["station"] == label)

    def sets_tcp(self, key: str) -> bool:
        """Whether the scenario itself sets a key of TCP, not only a profile."""
        tables = [self.scenario.tcp, *(flow.engine_keys().get("tcp", {}) for flow in self.scenario.flows)]
        return any(key in table for table in tables)

    @property
    def has_limit_of_scheme(self) -> bool:
        """Whether the AP's limit is the one that its scheme brings, since the scenario sets none."""
        own = (table.ap for table in self.scenario.bss if table.name == self.bsss[0])
        if any("limit_packets" in table for table in (self.scenario.ap, *own)):
            return False
        return own_limit_packets(self.tx_queue["scheme"], self.scenario.python_schemes) is not None

    def default_station_limit(self, flow: dict[str, Any]) -> int | None:
        """The limit of the station's buffer that a flow's data waits in; None if the scenario sets it."""
        category = self.access(flow, self.segment_bytes(flow)).category
        given = self._given_stations[flow["station"]]
        own = given.get("categories", {}).get(category.replace("-", "_"), {}) if category else {}
        chosen = {"limit_packets", "limit_controller"} & {*own, *given.get("tx_queue", {})}
        return None if chosen else self.queue_packets(flow, category)

    def error_rate(self, flow: dict[str, Any]) -> float:
        """The share of a flow's frames that the channel loses."""
        return float(self.station(flow)["frame_error_rate"][f"data_{flow['direction']}"])

    def segment_bytes(self, flow: dict[str, Any]) -> int:
        """IP bytes of a full segment."""
        return int(flow["tcp"]["mss_bytes"] + flow["tcp"]["header_bytes"])

    def size_of(self, group: str) -> int:
        """The number of flows of a group."""
        return sum(flow["group"] == group for flow in self.flows)

    def heard(self) -> int:
        """The number of other BSSs whose access points that of this one hears."""
        from wifair.floor_plan import of_scenario

        if len(self.scenario.bss) < 2:
            return 0
        if not self._floor_plan:
            self._floor_plan.append(of_scenario(self.scenario))
        return len(self._floor_plan[0].heard(self.bsss[0]))

    def wire_mbps(self, way: str) -> float:
        """The rate of the shared wire, `down` to the access point or `up`, in Mbps."""
        wire = self.plan["wire"]
        return float(wire["rate_mbps"] if way == "down" or wire["rate_up_mbps"] is None else wire["rate_up_mbps"])

    def delay_ms(self, flow: dict[str, Any]) -> float:
        """One-way delay of a flow's wire, in milliseconds."""
        own = flow["one_way_delay_ms"]
        return float(self.plan["wire"]["one_way_delay_ms"] if own is None else own)

    @property
    def downloads(self) -> list[dict[str, Any]]:
        """Downlink TCP flows: their data is queued at the AP."""
        return [flow for flow in self.tcp if flow["direction"] == "down"]

    @property
    def uploads(self) -> list[dict[str, Any]]:
        """Uplink TCP flows: their ACKs are queued at the AP."""
        return [flow for flow in self.tcp if flow["direction"] == "up"]

    def most_queued(self) -> tuple[int, str]:
        """The most TCP packets that the flows' windows allow in the AP's buffer, and the calculation in words."""
        data = sum(self.window_segments(flow) for flow in self.downloads)
        acks = sum(
            math.ceil(self.window_segments(flow) / flow["tcp"]["delayed_ack"]["segments"]) for flow in self.uploads
        )
        return data + acks, (
            f"windows of {len(self.downloads)} downlink flows: {data} segments; ACKs of the windows of "
            f"{len(self.uploads)} uplink flows: {acks}; together {data + acks}"
        )

    @staticmethod
    def window_segments(flow: dict[str, Any]) -> int:
        """The receive window in segments, summed over parallel connections."""
        return int(flow["tcp"]["receiver_window_segments"] * flow["application"].get("connections", 1))
