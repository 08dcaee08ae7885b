"""What one access to the medium costs and carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Turn:
    """The exchanges of one access: a PPDU, or those of a TXOP."""

    packets: float
    airtime_us: float
    # Of what collides: the RTS, or the first PPDU.
    exposed_us: float


@dataclass(frozen=True)
class Access:
    """How packets of one size over one link contend, and what an access carries."""

    category: str | None
    ifs_us: float
    slot_us: float
    # Numbers of values that a backoff is drawn from, at CWmin and at CWmax.
    backoffs: tuple[int, int]
    # EIFS less DIFS.
    eifs_lead_us: float
    one: Turn
    full: Turn

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Access:
        """From a row of `Scenario.channel_access`."""
        own = {key: row[key] for key in ("category", "ifs_us", "slot_us", "eifs_lead_us")}
        low, high = row["backoffs"]
        return cls(**own, backoffs=(low, high), one=Turn(**row["one"]), full=Turn(**row["full"]))

    def turn(self, packets: float) -> Turn:
        """An access with so many packets, or as many as fit: durations grow linearly but for whole symbols."""
        packets = min(packets, self.full.packets)
        if packets <= 1:
            return self.one
        part = (packets - 1) / (self.full.packets - 1)
        airtime = self.one.airtime_us + part * (self.full.airtime_us - self.one.airtime_us)
        exposed = self.one.exposed_us + part * (self.full.exposed_us - self.one.exposed_us)
        return Turn(packets, airtime, exposed)

    def packet_us(self, packets: float) -> float:
        """Time per packet of a sender alone on the air that has so many waiting at each access: IFS and mean backoff included."""
        turn = self.turn(packets)
        wait_us = self.ifs_us + self.slot_us * max(self.backoffs[0] - 1, 0) / 2
        return (wait_us + turn.airtime_us) / turn.packets
