"""The cases that every simulator runs. One record per case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, product
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
    # Whether costs are measured too.
    timed: bool = True
    # Of ns-3's programs, without its suffix.
    program: str = "ns3_cell"

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


@dataclass(frozen=True)
class FieldCase(Case):
    """BSSs in a row on one channel. `size` is their number; `up` and `down` are the flows of each.

    All nodes that hear each other do so with one power, so that no threshold of either simulator decides. BSSs hear each
    other that are at most `reach` apart in the row, and stations of one BSS unless they are `hidden`.
    """

    up: int = 1
    down: int = 1
    reach: int = 1
    hidden: bool = False
    # BSSs whose throughput is averaged, by what they are called.
    groups: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def flows(self, size: int) -> tuple[int, int]:
        return size * self.up, size * self.down

    def options(self, size: int) -> dict[str, object]:
        udp = {"udp": 1, "offered_mbps": self.offered_mbps} if self.udp else {}
        shape: dict[str, object] = {"bss": size, "up": self.up, "down": self.down, "reach": self.reach}
        return {**shape, "hidden": int(self.hidden), "warmup_s": self.warmup_s, **udp, **self.native}

    def nodes(self, bss: int) -> list[str]:
        """The access point and the stations of a BSS; only the stations have this name if there is one BSS."""
        return [f"bss{bss}", *(f"bss{bss}-{number}" for number in range(self.up + self.down))]

    def settings(self, size: int) -> dict[str, object]:
        stations: list[dict[str, object]] = []
        flows: list[dict[str, object]] = []
        deaf: list[list[str]] = []
        for bss in range(size):
            of_bss = self.nodes(bss)
            for number, station in enumerate(of_bss[1:]):
                stations.append({"name": station, **({"bss": of_bss[0]} if bss else {})})
                flow: dict[str, object] = {"station": station, "direction": "up" if number < self.up else "down"}
                if self.offered_mbps is not None:
                    rate_mbps = self.offered_mbps * 1472 / 1500
                    flow["application"] = {"name": "udp", "rate_mbps": rate_mbps, "payload_bytes": 1472}
                flows.append({**flow, "start_spread_s": 1.0})
            if self.hidden:
                deaf += [list(pair) for pair in combinations(of_bss[1:], 2)]
            for other in range(bss - self.reach):
                deaf += [list(pair) for pair in product(self.nodes(other), of_bss)]
        # A wire for each.
        bsss = [{"name": f"bss{bss}", **({"wire": {}} if bss else {})} for bss in range(size)]
        several = {"bss": bsss} if size > 1 else {}
        field_keys = {"field.hidden": deaf} if deaf else {}
        return {
            "run.warmup_s": self.warmup_s,
            "stations": stations,
            "flows": flows,
            **several,
            **field_keys,
            **self.keys,
        }


RTS: dict[str, Any] = {"native": {"rts_bytes": 500}, "keys": {"mac.rts_threshold_bytes": 500}}


def in_field(name: str, title: str, size: int, **more: Any) -> tuple[FieldCase, FieldCase]:
    """With saturated UDP and with TCP. Each UDP flow offers more than the channel carries."""
    size_is = "BSSs" if size > 1 else "BSS"
    udp, tcp = (
        FieldCase(
            f"{name}-{kind}",
            f"{title}, {told}",
            size_is,
            (size,),
            ("wifair", "ns-3"),
            2.0,
            5.0,
            BOTH if more.get("down", 1) else ("up",),
            file=f"field-{kind}",
            offered_mbps=90.0 if kind == "udp" else None,
            aggregates=True,
            program="ns3_field",
            **more,
        )
        for kind, told in (("udp", "saturated UDP"), ("tcp", "bulk TCP"))
    )
    return udp, tcp


HIDDEN: dict[str, Any] = {"up": 2, "down": 0, "hidden": True, "groups": {"both stations": (0,)}, "timed": False}
FIELDS = (
    *in_field("two", "Two BSSs that hear each other", 2, up=2, down=2, groups={"each BSS": (0, 1)}, timed=False),
    *in_field("line", "A line of three BSSs", 3, groups={"outer BSS": (0, 2), "middle BSS": (1,)}),
    *in_field("hidden", "Uploads of two hidden stations", 1, **HIDDEN),
    *in_field("hidden-rts", "Uploads of two hidden stations with RTS", 1, **HIDDEN, **RTS),
    *in_field(
        "ten",
        "A line of ten BSSs",
        10,
        groups={"BSS at an end": (0, 9), "its neighbour": (1, 8), "other BSS": (2, 3, 4, 5, 6, 7)},
    ),
)
# ns-3 tells every listener of every frame.
CROWDED = in_field(
    "crowded",
    "A line of three BSSs with ten uploads and ten downloads each",
    3,
    up=10,
    down=10,
    groups={"outer BSS": (0, 2), "middle BSS": (1,)},
)[1:]
# What goes to one place of a page.
GROUPS: dict[str, tuple[Case, ...]] = {
    "single frames": (SYMMETRIC, SATURATED, ALT),
    "edca": (ALT_STEADY,),
    "a-mpdus": TODAY,
    "fields": FIELDS,
    "crowded field": CROWDED,
}
CASES = tuple(case for group in GROUPS.values() for case in group)
