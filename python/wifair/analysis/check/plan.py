"""A scenario's plan with the quantities that several rules use."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from wifair.scenario.components import transport

if TYPE_CHECKING:
    from wifair.scenario.scenario import Scenario


class Plan:
    """A scenario's plan with the quantities that the rules use."""

    def __init__(self, scenario: Scenario) -> None:
        self.plan = scenario.plan()
        self.scenario = scenario
        self._airtimes: dict[int, dict[tuple[str, str], float]] = {}
        self.run = self.plan["run"]
        self.port = self.plan["cell"]["ap"]["port"]
        self.scheme: str = self.port["scheme"]["name"]
        self.limit: int = self.port["limit_packets"]
        self.edca: dict[str, Any] | None = self.plan["cell"]["mac"]["edca"]
        self.flows: list[dict[str, Any]] = self.plan["flows"]
        self.tcp = [flow for flow in self.flows if transport(flow["application"]["name"]) == "tcp"]
        self.end_s: float = self.run["warmup_s"] + self.run["duration_s"]

    def of(self, application: str) -> list[dict[str, Any]]:
        """The flows that carry an application."""
        return [flow for flow in self.flows if flow["application"]["name"] == application]

    def rate_mbps(self, ip_bytes: int, station: str, direction: str) -> float:
        """IP throughput of one sender to or from a station that is alone on the air, in Mbit/s."""
        return ip_bytes * 8 / self.airtimes(ip_bytes)[station, direction]

    def airtimes(self, ip_bytes: int) -> dict[tuple[str, str], float]:
        """The airtime of a frame without contention by station and direction, in microseconds."""
        if ip_bytes not in self._airtimes:
            self._airtimes[ip_bytes] = self.scenario.airtimes_us(ip_bytes)
        return self._airtimes[ip_bytes]

    def segment_bytes(self, flow: dict[str, Any]) -> int:
        """IP bytes of a full segment."""
        return int(flow["tcp"]["mss_bytes"] + flow["tcp"]["header_bytes"])

    def size_of(self, group: str) -> int:
        """The number of flows of a group."""
        return sum(flow["group"] == group for flow in self.flows)

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
