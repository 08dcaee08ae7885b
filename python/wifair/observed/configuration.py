"""PHY, band and channel width from a configuration: their names in hostapd and OpenWrt."""

from __future__ import annotations

from wifair.observed.lines import Line
from wifair.observed.network import Observed, read

WIDTHS_MHZ = (20, 40, 80, 160, 320)
# Generations by the prefix of OpenWrt's htmode.
HT_MODES = {"HT": "802.11n", "VHT": "802.11ac", "HE": "802.11ax", "EHT": "802.11be"}
BANDS_GHZ = {"2g": 2.4, "5g": 5.0, "6g": 6.0}
# By band: the frequency of channel 0, and the highest channel (IEEE 802.11-2020, annex E; 6 GHz: 802.11ax-2021).
_CHANNELS = {2.4: (2407, 14), 5.0: (5000, 177), 6.0: (5950, 233)}


def set_channel(observed: Observed, line: Line, band_ghz: float, value: str) -> None:
    """Sets band and frequency. A channel that the access point chooses itself (0, auto, acs_survey) leaves the frequency open."""
    observed.band_ghz = read(band_ghz, "band", line.place)
    if value in ("0", "auto", "acs_survey"):
        return
    zero, most = _CHANNELS[band_ghz]
    channel = line.count("channel", value)
    if not 1 <= channel <= most:
        raise line.error("channel", value, f"1 to {most} at {band_ghz:g} GHz, 0 or auto")
    mhz = 2484 if band_ghz == 2.4 and channel == 14 else zero + 5 * channel
    observed.frequency_mhz = observed.frequency_mhz or read(mhz, "channel", line.place)
