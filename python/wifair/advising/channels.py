"""Channels of a band that a BSS could move to.

BSSs whose channels have no frequency in common do not receive each other, so channels of which nobody has a part are alike: one of them
is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wifair.planned import channels_of, overlap, widths_of

# The numbers of the channels by band in GHz and width in MHz (802.11-2020, Annex E).
NUMBERS: Mapping[tuple[float, int], tuple[int, ...]] = {
    (2.4, 20): tuple(range(1, 14)),
    (5.0, 20): (*range(36, 65, 4), *range(100, 145, 4), *range(149, 178, 4)),
    (5.0, 40): (*range(38, 63, 8), *range(102, 143, 8), *range(151, 176, 8)),
    (5.0, 80): (42, 58, 106, 122, 138, 155, 171),
    (5.0, 160): (50, 114, 163),
    (6.0, 20): tuple(range(1, 234, 4)),
    (6.0, 40): tuple(range(3, 228, 8)),
    (6.0, 80): tuple(range(7, 216, 16)),
    (6.0, 160): tuple(range(15, 208, 32)),
    (6.0, 320): tuple(range(31, 192, 32)),
}
# Channels of 20 MHz at 5 GHz on which an access point listens for radar before it sends.
RADAR = range(52, 145)


@dataclass(frozen=True)
class Channel:
    """A channel: its band, its width, the number of its centre frequency, and the other BSSs that have a part of it."""

    band_ghz: float
    width_mhz: int
    number: int
    others: tuple[str, ...] = ()

    @property
    def primary(self) -> int:
        """The lowest channel of 20 MHz in it, which is taken as the primary one."""
        return self.number - 2 * (self.width_mhz // 20 - 1)

    @property
    def is_rare(self) -> bool:
        """Whether few countries allow it: at 5 GHz above channel 165, at 2.4 GHz channels 12 and 13."""
        return self.number > 165 if self.band_ghz == 5.0 else self.band_ghz == 2.4 and self.number > 11

    @property
    def has_radar(self) -> bool:
        """Whether its access point has to listen for radar."""
        last = self.number + 2 * (self.width_mhz // 20 - 1)
        return self.band_ghz == 5.0 and any(number in RADAR for number in range(self.primary, last + 1, 4))


def candidates(plan: Mapping[str, Any], bss: str) -> list[Channel]:
    """The channels of which other BSSs have a part, then those of nobody: first those that most countries allow, of these first those without radar.

    They are as wide as that of the BSS. None if the BSSs have no numbers of channels.
    """
    given, widths = channels_of(plan), widths_of(plan)
    own = given.get(bss)
    found = _numbers(plan["bss"]["phy"].get("band_ghz"), widths[bss], own) if own is not None else None
    if found is None:
        return []
    band_ghz, width_mhz = found

    def others(number: int) -> tuple[str, ...]:
        there = {name: other for name, other in given.items() if name != bss and other is not None}
        return tuple(name for name, other in there.items() if overlap((number, width_mhz), (other, widths[name])))

    channels = [Channel(band_ghz, width_mhz, number, others(number)) for number in NUMBERS[found] if number != own]
    return sorted(channels, key=lambda each: (not each.others, each.is_rare, each.has_radar, each.number))


def _numbers(given_ghz: float | None, width_mhz: int, own: int) -> tuple[float, int] | None:
    """The band and the width of a channel with a number; a band that a PHY leaves to its default follows from that."""
    for (band_ghz, mhz), numbers in NUMBERS.items():
        is_band = given_ghz == band_ghz or (given_ghz is None and band_ghz != 6.0)
        if is_band and mhz == width_mhz and own in numbers:
            return band_ghz, width_mhz
    return None
