"""A BSS as a scan shows it: its channel, and with which power its beacons were received where."""

from __future__ import annotations

from dataclasses import dataclass, field

# Centre frequencies: the number of a channel is in steps of 5 MHz from these (802.11-2020, 27.3.23).
STARTS_MHZ = {2.4: 2407, 5.0: 5000, 6.0: 5950}
STEP_MHZ = 5
SUBCHANNEL_MHZ = 20


@dataclass(frozen=True)
class Channel:
    """A channel: its band in GHz, the number of its centre frequency, and its width in MHz."""

    band_ghz: float
    number: int
    width_mhz: int

    @property
    def edges_mhz(self) -> tuple[float, float]:
        """Its lowest and highest frequency."""
        centre = STARTS_MHZ[self.band_ghz] + STEP_MHZ * self.number
        return centre - self.width_mhz / 2, centre + self.width_mhz / 2

    def overlaps(self, other: Channel) -> bool:
        """Whether the two have a frequency in common."""
        (low, high), (other_low, other_high) = self.edges_mhz, other.edges_mhz
        return low < other_high and other_low < high

    def fits(self, other: Channel) -> bool:
        """Whether the two have whole channels of 20 MHz in common, or no frequency."""
        return not self.overlaps(other) or (self.edges_mhz[0] - other.edges_mhz[0]) % SUBCHANNEL_MHZ == 0

    def __str__(self) -> str:
        return f"channel {self.number} ({self.width_mhz} MHz at {self.band_ghz:g} GHz)"


@dataclass
class Heard:
    """A BSS that was heard."""

    address: str
    # File and line.
    place: str
    channel: Channel
    # Whether the file says its width; otherwise it has 20 MHz here.
    has_width: bool = True
    # The number of its primary channel of 20 MHz, if the file says it.
    primary: int | None = None
    # Whether the device that scanned is associated with it.
    is_own: bool = False
    # By place of measurement: the greatest power in dBm, and the file and line.
    signals_dbm: dict[str, tuple[float, str]] = field(default_factory=dict)

    def add(self, at: str, dbm: float, place: str) -> None:
        """Adds a measurement; of several at one place the strongest counts."""
        before = self.signals_dbm.get(at)
        if before is None or dbm > before[0]:
            self.signals_dbm[at] = dbm, place

    @property
    def strongest_dbm(self) -> float:
        """The greatest power at any place."""
        return max(dbm for dbm, _ in self.signals_dbm.values())


def band_of(mhz: float) -> float | None:
    """The band of a frequency, in GHz."""
    bands = {2.4: (2400, 2500), 5.0: (5000, 5900), 6.0: (5925, 7130)}
    return next((ghz for ghz, (low, high) in bands.items() if low <= mhz <= high), None)


def containing(band_ghz: float, primary: int, width_mhz: int) -> int:
    """The number of the channel of a width that contains the channel of 20 MHz with this number, at 5 and 6 GHz."""
    first = 1 if band_ghz == 6.0 else 149 if primary >= 149 else 100 if primary >= 100 else 36
    span = width_mhz // STEP_MHZ
    return first - 2 + (primary - first + 2) // span * span + span // 2
