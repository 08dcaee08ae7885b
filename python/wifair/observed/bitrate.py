"""Bit rates as `iw` prints them, such as `866.7 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 2`.

The form is that of `parse_bitrate` in iw's station.c. The rate follows from the mode and is not checked against it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# By the prefix of iw: the PHY, its highest MCS in the model, and its widest channel in MHz. HT's MCS includes the streams.
PHYS = {"": ("802.11n", 31, 40), "VHT": ("802.11ac", 9, 160), "HE": ("802.11ax", 11, 160), "EHT": ("802.11be", 13, 320)}
# Oldest first.
GENERATIONS = ("802.11b", "802.11g", "802.11a", "802.11n", "802.11ac", "802.11ax", "802.11be")
# In place of the generation of a rate whose mode is unknown, as in a list of stations.
ANY = "any"
DSSS_MBPS = (1, 2, 5.5, 11)
OFDM_MBPS = (6, 9, 12, 18, 24, 36, 48, 54)
# Guard intervals in ns by iw's number after HE-GI and EHT-GI (nl80211_he_gi).
HE_GI_NS = (800, 1600, 3200)
MOST_STREAMS = {"802.11n": 4, "802.11ac": 4, "802.11ax": 8, "802.11be": 8}

# Data bits per subcarrier and stream by MCS from 0 per stream, and data subcarriers by width: HT and VHT (tables 19-6 and
# 21-5), HE and EHT (tables 27-14 and 36-18).
BITS = (0.5, 1, 1.5, 2, 3, 4, 4.5, 5, 6, 20 / 3, 7.5, 25 / 3, 9, 10)
SUBCARRIERS = {20: 52, 40: 108, 80: 234, 160: 468}
HE_SUBCARRIERS = {20: 234, 40: 468, 80: 980, 160: 1960, 320: 3920}

FORM = "such as 866.7 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 2"
_RATE = re.compile(r"(\d{1,6}\.\d) MBit/s(?: |$)", re.ASCII)
_FIELD = re.compile(r"(?:^| )((?:E?H[TE]-|VHT-)?)(MCS|NSS|GI) (\d{1,3})(?= |$)", re.ASCII)
_WIDTH = re.compile(r"(?:^| )(\d{1,3}|80P80)MHz(?= |$)", re.ASCII)


@dataclass(frozen=True)
class Bitrate:
    """A rate with its mode. Before 802.11n `mcs` is None, and `generation` is empty: it depends on the band.

    The generation of a rate whose mode is unknown is `ANY`.
    """

    mbps: float
    generation: str = ""
    mcs: int | None = None
    streams: int = 1
    width_mhz: int = 20
    guard_interval_ns: int | None = None

    @property
    def has_mcs(self) -> bool:
        """Whether it is a rate of 802.11n or later."""
        return self.mcs is not None


def parse(text: str) -> Bitrate | None:
    """The bit rate of a text; None if iw calls it unknown. Raises `ValueError` with what is allowed."""
    if text.startswith("(unknown)"):
        return None
    rate = _RATE.match(text)
    if not rate or float(rate[1]) <= 0:
        raise ValueError(FORM)
    found = {(prefix.rstrip("-"), name): int(number) for prefix, name, number in _FIELD.findall(text)}
    prefixes = [prefix for prefix, name in found if name == "MCS"]
    if not prefixes:
        if "MCS" in text or float(rate[1]) not in (*DSSS_MBPS, *OFDM_MBPS):
            raise ValueError(f"{FORM}, or a rate before 802.11n")
        return Bitrate(float(rate[1]))
    prefix = prefixes[-1]
    if prefix not in PHYS:
        raise ValueError(FORM)
    generation, most, widest = PHYS[prefix]
    mcs, streams = found[prefix, "MCS"], found.get((prefix, "NSS"), 1)
    if prefix == "":
        streams = mcs // 8 + 1
    if mcs > (most if prefix == "" else 15) or not 1 <= streams <= MOST_STREAMS[generation]:
        raise ValueError(f"MCS 0 to {most} and 1 to {MOST_STREAMS[generation]} streams of {generation}")
    width = _WIDTH.search(text)
    mhz = 160 if width and width[1] == "80P80" else int(width[1]) if width else 20
    if mhz not in (20, 40, 80, 160, 320) or mhz > widest:
        raise ValueError(f"20 to {widest} MHz of {generation}")
    if prefix in ("HE", "EHT"):
        gi = found.get((prefix, "GI"), 0)
        if gi >= len(HE_GI_NS):
            raise ValueError(f"{prefix}-GI 0 to {len(HE_GI_NS) - 1}")
        interval = HE_GI_NS[gi]
    else:
        interval = 400 if " short GI" in text else 800
    return Bitrate(float(rate[1]), generation, min(mcs, most), streams, mhz, interval)


def mbps(generation: str, mcs: int, streams: int, width_mhz: int, guard_interval_ns: int) -> float:
    """The rate of a mode; `mcs` is from 0 per stream."""
    he = generation in ("802.11ax", "802.11be")
    carriers = (HE_SUBCARRIERS if he else SUBCARRIERS)[width_mhz]
    return BITS[mcs] * carriers * streams * 1000 / ((12_800 if he else 3_200) + guard_interval_ns)


def text(rate: Bitrate) -> str:
    """A bit rate as iw prints it: in units of 100 kbit/s, rounded down, as cfg80211 computes it."""
    tenths = int(rate.mbps * 10 + 1e-6)
    parts = [f"{tenths // 10}.{tenths % 10} MBit/s"]
    if rate.mcs is not None:
        prefix = next(prefix for prefix, (generation, _, _) in PHYS.items() if generation == rate.generation)
        width = [f"{rate.width_mhz}MHz"] if rate.width_mhz > 20 else []
        short = ["short GI"] if rate.guard_interval_ns == 400 else []
        if prefix == "":
            parts += [f"MCS {rate.mcs}", *width, *short]
        elif prefix == "VHT":
            parts += [f"VHT-MCS {rate.mcs}", *width, *short, f"VHT-NSS {rate.streams}"]
        else:
            gi = HE_GI_NS.index(rate.guard_interval_ns or HE_GI_NS[0])
            parts += [*width, f"{prefix}-MCS {rate.mcs}", f"{prefix}-NSS {rate.streams}", f"{prefix}-GI {gi}"]
            parts += ["HE-DCM 0"] if prefix == "HE" else []
    return " ".join(parts)
