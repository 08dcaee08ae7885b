"""The cases that every simulator runs. One record per case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
BOTH = ("up", "down")


@dataclass(frozen=True)
class Case:
    """One cell in several sizes.

    Outcomes are measured for `measured_s` after the warm-up, the same in all simulators. `native` are options of the ns-2 and ns-3
    programs, `keys` of the scenario `file` for wifair; `offered_mbps` says that flows carry UDP, as much in all.
    """

    name: str
    title: str
    size_is: str
    sizes: tuple[int, ...]
    peers: tuple[str, ...]
    warmup_s: float
    measured_s: float
    # Flows for each station: `up`, `down` or both, each way its own stations.
    directions: tuple[str, ...]
    native: Mapping[str, object] = field(default_factory=dict)
    keys: Mapping[str, object] = field(default_factory=dict)
    offered_mbps: float | None = None
    file: str = ""
    # Downloads are fewer than uploads in `alt`.
    downloads: int | None = None
    # The last station's MCS.
    slow_mcs: int | None = None
    # Whether PPDUs have several MPDUs, which are counted.
    aggregates: bool = False

    @property
    def scenario(self) -> Path:
        """The same cell for wifair."""
        return HERE / f"{self.file or self.name}.toml"

    @property
    def udp(self) -> bool:
        return self.offered_mbps is not None

    def flows(self, size: int) -> tuple[int, int]:
        """Uplink and downlink flows."""
        down = size if self.downloads is None else self.downloads
        return size if "up" in self.directions else 0, down if "down" in self.directions else 0

    def options(self, size: int) -> dict[str, object]:
        """Of the ns-2 and ns-3 programs."""
        up, down = self.flows(size)
        udp = {"udp": 1, "offered_mbps": self.offered_mbps} if self.udp else {}
        slow = {} if self.slow_mcs is None else {"slow_mcs": self.slow_mcs}
        return {"up": up, "down": down, "warmup_s": self.warmup_s, **udp, **slow, **self.native}

    def settings(self, size: int) -> dict[str, object]:
        """What the scenario's keys are set to."""
        flows: list[dict[str, object]] = []
        count = sum(self.flows(size))
        for direction, flows_of_it in zip(("up", "down"), self.flows(size), strict=True):
            flow: dict[str, object] = {"direction": direction, "count": flows_of_it, "start_spread_s": 1.0}
            if self.offered_mbps is not None:
                rate_mbps = self.offered_mbps / count * 1472 / 1500
                flow["application"] = {"name": "udp", "rate_mbps": rate_mbps, "payload_bytes": 1472}
            flows += [flow] if flows_of_it else []
        settings: dict[str, object] = {"run.warmup_s": self.warmup_s, "flows": flows, **self.keys}
        if self.slow_mcs is not None:
            settings["stations"] = [{"name": "slow", "mcs": self.slow_mcs}]
            last = flows[-1]
            flows[-1:] = [{**last, "count": size - 1}, {**last, "count": 1, "station": "slow"}]
        return settings


SYMMETRIC = Case(
    "symmetric",
    "Bulk TCP both ways, 802.11b, tail drop",
    "flows each way",
    (2, 10, 20),
    ("wifair", "ns-2", "ns-3"),
    10.0,
    30.0,
    BOTH,
)
SATURATED = Case(
    "saturated",
    "Saturated UDP uplink, 802.11b",
    "stations",
    (5, 10, 20, 50),
    ("wifair", "ns-2", "ns-3"),
    2.0,
    10.0,
    ("up",),
    offered_mbps=12.0,  # twice what the channel carries
)
ALT = Case(
    "alt",
    "A download beside uploads, 802.11g with EDCA as in `alt`",
    "uploads",
    (2, 10),
    ("wifair", "ns-3"),  # ns-2.35 has no 802.11e
    5.0,
    10.0,
    BOTH,
    {"alt": 1, "window": 4096, "delay_ms": 100},
    downloads=1,
)


# Long enough, in steady state, for the download's share to be told apart.
ALT_STEADY = replace(
    ALT,
    name="alt-steady",
    title="A download beside ten uploads, 802.11g with EDCA as in `alt`, in steady state",
    sizes=(10,),
    warmup_s=25.0,
    measured_s=50.0,
    file="alt",
)


@dataclass(frozen=True)
class Air:
    """A generation with A-MPDUs and one stream, its rate at MCS 7 and a guard interval of 800 ns."""

    name: str
    standard: str
    width_mhz: int
    rate_mbps: float

    @property
    def title(self) -> str:
        return f"802.11{self.standard}, {self.width_mhz} MHz, MCS 7, one stream"


AIRS = (Air("ht20", "n", 20, 65.0), Air("vht80", "ac", 80, 292.5), Air("he80", "ax", 80, 360.3))


def today(kind: str, title: str, air: Air, sizes: tuple[int, ...], directions: tuple[str, ...], **more: Any) -> Case:
    """A cell with A-MPDUs, which ns-2 has not."""
    return Case(
        f"{kind}-{air.name}",
        f"{title}, {air.title}",
        "flows each way" if len(directions) > 1 else "stations",
        sizes,
        ("wifair", "ns-3"),
        2.0,
        5.0,
        directions,
        {"today": air.standard, "width_mhz": air.width_mhz, "ap_queue": 1000, "window": 400},
        {"phy.name": f"802.11{air.standard}", "phy.width_mhz": air.width_mhz},
        aggregates=True,
        **more,
    )


def udp(kind: str, title: str, air: Air, sizes: tuple[int, ...], directions: tuple[str, ...], **more: Any) -> Case:
    offered_mbps = 1.5 * air.rate_mbps * len(directions)
    return today(kind, title, air, sizes, directions, offered_mbps=offered_mbps, file="today-udp", **more)


TODAY = tuple(
    case
    for air in AIRS
    for case in (
        udp("udp-down", "Saturated UDP downlink", air, (1, 20), ("down",)),
        udp("udp-up", "Saturated UDP uplink", air, (1, 5, 20), ("up",)),
        udp("udp-both", "Saturated UDP both ways", air, (5,), BOTH),
        udp("udp-slow", "Saturated UDP downlink, the last station at MCS 0", air, (3,), ("down",), slow_mcs=0),
        today("tcp", "Bulk TCP both ways", air, (1, 10), BOTH, file="today-tcp"),
    )
)
# What goes to one place of a page.
GROUPS = {"single frames": (SYMMETRIC, SATURATED, ALT), "edca": (ALT_STEADY,), "a-mpdus": TODAY}
CASES = tuple(case for group in GROUPS.values() for case in group)
