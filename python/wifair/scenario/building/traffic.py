"""What the stations of a building do: kinds of station with their flows, and the load that they offer at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Table = dict[str, Any]


@dataclass(frozen=True)
class Use:
    """A flow of a kind of station, and its rate at most, in Mbps, in its direction."""

    name: str
    direction: str
    mbps: float
    # Its application at a load of 1. Documents have think times, which are divided by the load; datagrams have rates, which are
    # multiplied by it.
    application: Table

    def at_load(self, load: float) -> Table:
        """Its application at a load. A call is a call at every load."""
        own = dict(self.application)
        if "think_mean_s" in own:
            own["think_mean_s"] = round(own["think_mean_s"] / load, 3)
        if "rate_mbps" in own:
            own["rate_mbps"] = round(own["rate_mbps"] * load, 3)
        return own

    def mbps_at(self, load: float) -> float:
        """Its rate at most at a load."""
        return self.mbps if self.application["name"] == "voip" else self.mbps * load


def _documents(name: str, direction: str, least: int, most: int, think_s: float, connections: int = 1) -> Use:
    """Documents of uniformly distributed sizes with think times: at most one mean document per mean think time."""
    application: Table = {
        "name": "web",
        "min_bytes": least,
        "max_bytes": most,
        "step_bytes": (most - least) // 4,
        "think_mean_s": think_s,
    }
    if connections > 1:
        application["connections"] = connections
    return Use(name, direction, (least + most) / 2 * 8 / think_s / 1e6, application)


def _video(direction: str) -> Use:
    return Use(f"picture-{direction}", direction, 2.5, {"name": "udp", "rate_mbps": 2.5, "payload_bytes": 1200})


_FILM = _documents("film", "down", 4_000_000, 8_000_000, 6.0)
_PAGES = _documents("pages", "down", 500_000, 3_000_000, 10.0, connections=6)
_BACKUP = _documents("backup", "up", 4_000_000, 6_000_000, 20.0)
_GLANCES = _documents("glances", "down", 200_000, 1_000_000, 30.0)
_CALL = Use("call", "down", 0.16, {"name": "voip"})

# By name of the traffic: the kinds of station in their order; stations beyond the list are of the last kind.
KINDS: dict[str, list[tuple[str, list[Use]]]] = {
    "evening": [
        ("television", [_FILM]),
        ("laptop", [_PAGES]),
        ("phone", [_CALL, _video("up"), _video("down")]),
        ("computer", [_BACKUP]),
        ("gadget", [_GLANCES]),
    ],
    "office": [
        ("phone", [_CALL, _video("up"), _video("down")]),
        ("server", [_BACKUP]),
        ("desk", [_PAGES]),
    ],
    "guests": [("phone", [_CALL]), ("tablet", [_FILM]), ("guest", [_PAGES])],
}
NAMES = list(KINDS)


def of_stations(traffic: str, stations: int, rooms: int = 1) -> list[tuple[str, Sequence[Use]]]:
    """The kind of each station and its flows; kinds with several stations are numbered.

    Stations go round the rooms, each of which has all kinds in their order.
    """
    kinds = KINDS[traffic]
    chosen = [kinds[min(i // rooms, len(kinds) - 1)] for i in range(stations)]
    named: list[tuple[str, Sequence[Use]]] = []
    for i, (kind, uses) in enumerate(chosen):
        number = sum(1 for other, _ in chosen[: i + 1] if other == kind)
        several = sum(1 for other, _ in chosen if other == kind) > 1
        named.append((f"{kind}-{number}" if several else kind, uses))
    return named


def load_mbps(traffic: str, stations: int, load: float, rooms: int = 1) -> dict[str, float]:
    """The load of a BSS at most, in Mbps, by direction; a call counts half in each."""
    total = {"up": 0.0, "down": 0.0}
    for _, uses in of_stations(traffic, stations, rooms):
        for use in uses:
            if use.application["name"] == "voip":
                total = {direction: mbps + use.mbps / 2 for direction, mbps in total.items()}
            else:
                total[use.direction] += use.mbps_at(load)
    return total
