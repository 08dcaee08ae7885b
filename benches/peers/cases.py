"""The cases: what is run in every simulator. One record a case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
OFFERED_MBPS = 12.0  # by all UDP stations together, twice what the channel carries


@dataclass(frozen=True)
class Case:
    """One cell in several sizes.

    Outcomes are measured for `measured_s` after the warm-up, the same in all simulators. `native` are options of the ns-2 and ns-3
    programs, `udp` says that wifair's flows carry datagrams.
    """

    name: str
    title: str
    size_is: str
    sizes: tuple[int, ...]
    peers: tuple[str, ...]
    warmup_s: float
    measured_s: float
    downloads: int | None  # None: as many as uploads
    native: Mapping[str, object] = field(default_factory=dict)
    udp: bool = False

    @property
    def scenario(self) -> Path:
        """The same cell for wifair."""
        return HERE / f"{self.name}.toml"

    def flows(self, size: int) -> tuple[int, int]:
        """Uplink and downlink flows."""
        return size, size if self.downloads is None else self.downloads

    def options(self, size: int) -> dict[str, object]:
        """Of the ns-2 and ns-3 programs."""
        up, down = self.flows(size)
        return {"up": up, "down": down, "warmup_s": self.warmup_s, **self.native}

    def settings(self, size: int) -> dict[str, object]:
        """What the scenario's keys are set to."""
        counts = {f"flows[{i}].count": count for i, count in enumerate(self.flows(size)) if count}
        rate = {"flows[0].application.rate_mbps": OFFERED_MBPS / size * 1472 / 1500} if self.udp else {}
        return {"run.warmup_s": self.warmup_s, **counts, **rate}


SYMMETRIC = Case(
    "symmetric",
    "Bulk TCP both ways, 802.11b, tail drop",
    "flows each way",
    (2, 10, 20),
    ("wifair", "ns-2", "ns-3"),
    10.0,
    30.0,
    None,
)
SATURATED = Case(
    "saturated",
    "Saturated UDP uplink, 802.11b",
    "stations",
    (5, 10, 20, 50),
    ("wifair", "ns-2", "ns-3"),
    2.0,
    10.0,
    0,
    {"udp": 1, "offered_mbps": OFFERED_MBPS},
    udp=True,
)
ALT = Case(
    "alt",
    "A download beside uploads, 802.11g with EDCA as in `alt`",
    "uploads",
    (2, 10),
    ("wifair", "ns-3"),  # ns-2.35 has no 802.11e
    5.0,
    10.0,
    1,
    {"alt": 1, "window": 4096, "delay_ms": 100},
)
CASES = (SYMMETRIC, SATURATED, ALT)
