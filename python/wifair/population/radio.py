"""Path loss, received power and MCS of a station's link.

Source of the path loss: IEEE 802.11-14/0980 (TGax simulation scenarios), scenario 1, residential, and 2, enterprise. Of the minimum
sensitivity: 802.11ax-2021, table 27-51, and 802.11be for MCS 12 and 13; from MCS 0 to 9 those of 802.11n and ac are the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

# Minimum sensitivity by MCS at 20 MHz and one stream, in dBm.
SENSITIVITY_DBM = (-82, -79, -77, -74, -70, -66, -65, -64, -59, -57, -54, -52, -49, -46)
# What a double width, and a double number of streams, adds to it, in dB.
DOUBLE_DB = 3
# The number of MCSs per stream.
MCS_COUNT = {"802.11n": 8, "802.11ac": 10, "802.11ax": 12, "802.11be": 14}
# The carrier by band, in GHz.
CARRIER_GHZ = {2.4: 2.437, 5: 5.5}
# The widest channel of 802.11n, in MHz.
HT_WIDTH_MHZ = 40


@dataclass(frozen=True)
class Path:
    """What lies between a station and the access point."""

    distance_m: float
    walls: int
    floors: int
    breakpoint_m: float
    wall_loss_db: float

    def loss_db(self, band_ghz: float) -> float:
        """The loss without shadowing."""
        d, near, f = max(self.distance_m, 1.0), self.breakpoint_m, self.floors
        loss = 40.05 + 20 * math.log10(CARRIER_GHZ[band_ghz] / 2.4) + 20 * math.log10(min(d, near))
        if d > near:
            loss += 35 * math.log10(d / near)
        return loss + (18.3 * f ** ((f + 2) / (f + 1) - 0.46) if f else 0.0) + self.wall_loss_db * self.walls


def mcs(power_dbm: float, generation: str, width_mhz: int, streams: int) -> int:
    """The fastest MCS whose minimum sensitivity a received power exceeds, from 0 per stream; at least 0."""
    more = DOUBLE_DB * math.log2(width_mhz / 20 * streams)
    # 802.11ac has no MCS 9 with one or two streams at 20 MHz (802.11-2020, 21.5).
    missing = 1 if generation == "802.11ac" and width_mhz == 20 else 0
    usable = SENSITIVITY_DBM[: MCS_COUNT[generation] - missing]
    return max((index for index, least in enumerate(usable) if power_dbm >= least + more), default=0)


def key_of(index: int, generation: str, streams: int) -> int:
    """The value of the key `mcs`: that of 802.11n includes the streams."""
    return index + 8 * (streams - 1) if generation == "802.11n" else index


def width_of(generation: str, band_ghz: float, width_mhz: int) -> int:
    """The channel width that a PHY has in a band, of those drawn for later ones."""
    if band_ghz == min(CARRIER_GHZ):
        return 20
    return min(width_mhz, HT_WIDTH_MHZ) if generation == "802.11n" else width_mhz
