"""Six generations of 802.11, each with one configuration, and the two ways to carry a paper's cell to them.

Each link has the highest rate of its generation with the channel and the number of antennas that most devices of it have, as the
papers have 11 and 54 Mbps: 20 MHz at 2.4 GHz for 802.11n, which is where it is still found; 80 MHz at 5 GHz for later ones, so
that these differ in modulation and in the limits of an A-MPDU alone; two streams, as telephones and laptops have. The guard
interval is the shortest. 802.11b and g have DCF, as the papers do. Later ones have EDCA, without which nothing is aggregated, all in
best effort with the standard's default parameters. What an A-MPDU may contain is what the generation allows.

Below the AP's scheme lies what Linux's access points have: the driver ath9k on 802.11n, mt76's firmware with the airtime queue limits from
802.11ac on.

A slow station has the mode whose rate is nearest to a tenth of that (on a logarithmic scale), which is near the papers' 1 of 11 Mbps: so
generations differ in the air, not in how slow the slow station is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Generation:
    """A generation's configuration: the BSS's PHY and MAC, the mode of a link and of a slow one, and their data rates."""

    name: str
    about: str
    phy: Mapping[str, Any] = field(hash=False)
    link: Mapping[str, Any] = field(hash=False)
    rate_mbps: float
    slow: Mapping[str, Any] = field(hash=False)
    slow_rate_mbps: float
    ampdu: str = "none: one MPDU per exchange"
    # What lies below the scheme in Linux's access points of this generation (`ap.hardware`); without A-MPDUs nothing does.
    hardware: str = "ideal"
    # Whether the standard lets an access point trigger uplink PPDUs, which the engine does not have.
    triggers: bool = False

    @property
    def aggregates(self) -> bool:
        """Whether its frames are A-MPDUs."""
        return "mcs" in self.link

    @property
    def heading(self) -> str:
        """Its name in a table, with what the engine lacks of it."""
        return f"{self.name}, no triggered uplink" if self.triggers else self.name

    @property
    def mac(self) -> Mapping[str, Any]:
        """The keys of the MAC: EDCA with the standard's defaults where frames are aggregated."""
        return {"edca": {}} if self.aggregates else {}

    def __str__(self) -> str:
        return self.name


B = Generation(
    "802.11b",
    "2.4 GHz, long preamble, DCF",
    {"name": "802.11b", "preamble": "long"},
    {"rate_mbps": 11.0},
    11.0,
    {"rate_mbps": 1.0},
    1.0,
)
G = Generation(
    "802.11g",
    "2.4 GHz, DCF, no 802.11b station",
    {"name": "802.11g"},
    {"rate_mbps": 54.0},
    54.0,
    {"rate_mbps": 6.0},
    6.0,
)
N = Generation(
    "802.11n",
    "2.4 GHz, 20 MHz, 2 streams, GI 0.4 µs, EDCA",
    {"name": "802.11n", "band_ghz": 2.4, "width_mhz": 20, "streams": 2, "guard_interval_ns": 400},
    {"mcs": 15},
    144.444,
    {"mcs": 8},
    14.444,
    "64 MPDUs, 65,535 bytes",
    "ath9k",
)
AC = Generation(
    "802.11ac",
    "5 GHz, 80 MHz, 2 streams, GI 0.4 µs, EDCA",
    {"name": "802.11ac", "width_mhz": 80, "streams": 2, "guard_interval_ns": 400},
    {"mcs": 9},
    866.667,
    {"mcs": 0},
    65.0,
    "64 MPDUs, 1,048,575 bytes",
    "firmware",
)
AX = Generation(
    "802.11ax",
    "5 GHz, 80 MHz, 2 streams, GI 0.8 µs, EDCA",
    {"name": "802.11ax", "width_mhz": 80, "streams": 2},
    {"mcs": 11},
    1200.98,
    {"mcs": 1},
    144.118,
    "256 MPDUs, 6,500,631 bytes",
    "firmware",
    triggers=True,
)
BE = Generation(
    "802.11be",
    "5 GHz, 80 MHz, 2 streams, GI 0.8 µs, EDCA",
    {"name": "802.11be", "width_mhz": 80, "streams": 2},
    {"mcs": 13},
    1441.176,
    {"mcs": 1},
    144.118,
    "1,024 MPDUs, 15,523,200 bytes",
    "firmware",
    triggers=True,
)
GENERATIONS = (B, G, N, AC, AX, BE)
AGGREGATING = tuple(generation for generation in GENERATIONS if generation.aggregates)
NAMED = {generation.name: generation for generation in GENERATIONS}

# Every number as the paper prints it; or buffers, windows and what else counts packets, so that they last as long as the
# printed ones last at the paper's link rate.
PACKETS, TIME = "packets", "time"
SCALINGS = (PACKETS, TIME)


def factor(scaling: str, generation: Generation, home: Generation) -> float:
    """The factor on numbers of packets: the ratio of the link rates if the scaling is in time, else 1."""
    return generation.rate_mbps / home.rate_mbps if scaling == TIME else 1.0
