"""The houses, what a resident can change, and who adopts it.

A house is that of the residential scenario of TGax, with the positions of all access points and stations and the channels drawn from its
number. Its traffic is drawn from a seed, which is the number of the house unless one house is run with several seeds. Every flat has the
traffic `evening`, and below the scheme the hardware that access points of 802.11ax have.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from wifair.floor_plan import of_scenario
from wifair.scenario.scenario import Scenario

Table = dict[str, Any]

# The flat whose resident changes something.
MINE = "mine"
# Who is on which channel: the resident's BSS without any other; each BSS on a channel drawn from three; all on one; and all on
# one with powers by channel of 20 MHz, as they have to be if widths differ.
ALONE, THREE, ONE, BY_20_MHZ = "alone", "three", "one", "by-20-mhz"
CHANNELS = (42, 106, 155)
WIDTH_MHZ = 80
HARDWARE = "firmware"
PLANS: Mapping[str, str] = {
    ALONE: "no neighbour on the channel",
    THREE: "three channels, drawn",
    ONE: "all on one channel",
    BY_20_MHZ: "all on one channel, judged by channels of 20 MHz",
}
# Those with neighbours on the channel.
AMONG = (ONE, THREE)


@dataclass(frozen=True)
class Size:
    """A form of the study: houses, of which the first is also run with as many seeds, and their size. Figures are written in these formats."""

    houses: int
    floors: int
    rooms: tuple[int, int]
    stations: int
    warmup_s: float
    duration_s: float
    figure_formats: tuple[str, ...] = ("png",)

    @property
    def flats(self) -> int:
        """Flats of a house."""
        return self.floors * self.rooms[0] * self.rooms[1]

    @property
    def building(self) -> Table:
        """The keys of the table `building`, without what differs between houses."""
        return {
            "model": "tgax-residential",
            "floors": self.floors,
            "rooms": list(self.rooms),
            "stations": self.stations,
            "traffic": "evening",
        }


FORMS = {
    "quick": Size(5, 2, (3, 2), 5, 5.0, 10.0),
    "full": Size(10, 3, (5, 2), 10, 10.0, 20.0, ("png", "pdf")),
}


@dataclass(frozen=True)
class Change:
    """What a resident changes: keys of the BSS, or of all BSSs."""

    id: str
    title: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    everywhere: Mapping[str, Any] = field(default_factory=dict)

    def applied(self, scenario: Scenario, bsss: Sequence[str] = (MINE,)) -> Scenario:
        """The scenario after the change at these BSSs."""
        at = {f"bss[{bss}].{key}": value for bss in bsss for key, value in self.keys.items()}
        return scenario.override({**at, **self.everywhere})


AS_IT_IS = Change("as-it-is", "tail drop, 1,000 packets")
# What the access point does with its buffer.
BUFFERS = (
    Change("fq-codel", "`fq-codel`", {"ap.scheme": "fq-codel"}),
    Change("mac80211", "`mac80211`", {"ap.scheme": "mac80211"}),
    Change("air-share", "`air-share`", {"ap.scheme": "air-share"}),
    Change("short", "tail drop, 100 packets", {"ap.limit_packets": 100}),
)
CHANNEL, STRONG, WEAK, RTS, OBSS_PD, IDEAL = "channel", "strong", "weak", "rts", "obss-pd", "ideal"
# TGax has access points of 20 dBm.
OTHERS = (
    Change(STRONG, "23 dBm at the access point, not 20", {"ap.tx_power_dbm": 23.0}),
    Change(WEAK, "17 dBm at the access point, not 20", {"ap.tx_power_dbm": 17.0}),
    Change(RTS, "RTS from 500 bytes, in the whole house", everywhere={"mac.rts_threshold_bytes": 500}),
    Change(OBSS_PD, "OBSS PD at −72 dBm in the flat", {"ap.obss_pd_dbm": -72.0}),
    Change(IDEAL, "no hardware queue below the scheme (`ideal`)", {"ap.hardware": "ideal"}),
)
# The part of the channel that the resident keeps, with its primary channel, by width in MHz.
PARTS = {40: 38, 20: 36}
WIDTHS = tuple(
    Change(f"{mhz}-mhz", f"{mhz} MHz in the flat, not {WIDTH_MHZ}", {"width_mhz": mhz, "channel": channel})
    for mhz, channel in PARTS.items()
)
# Ids and titles in the order of tables.
TITLES: Mapping[str, str] = {
    AS_IT_IS.id: AS_IT_IS.title,
    **{change.id: change.title for change in BUFFERS},
    CHANNEL: "the channel with the fewest other access points",
    **{change.id: change.title for change in (*OTHERS, *WIDTHS)},
}
BUFFER_IDS = tuple(change.id for change in BUFFERS)
WIDTH_IDS = tuple(change.id for change in WIDTHS)
CHANGE_IDS = tuple(name for name in TITLES if name != AS_IT_IS.id)


def house(number: int, plan: str, size: Size, **more: Any) -> Scenario:
    """A house before any change; alone, the resident's BSS of it. `more` are further tables of the scenario."""
    channels = list(CHANNELS) if plan == THREE else [CHANNELS[0]]
    made = Scenario(
        building={**size.building, "seed": number, "channels": channels},
        phy={"width_mhz": WIDTH_MHZ},
        ap={"hardware": HARDWARE},
        field={"subchannels": plan == BY_20_MHZ},
        run={"warmup_s": size.warmup_s, "duration_s": size.duration_s, "record_transfers": False},
        **more,
    )
    return alone(made) if plan == ALONE else made


def alone(scenario: Scenario) -> Scenario:
    """The first BSS without the others. Its trajectory is that which it has with the others on other channels."""
    drawn = scenario.drawn_settings()
    bss = {key: value for key, value in drawn["bss"][0].items() if key != "channel"}
    own = {station["name"] for station in drawn["stations"] if station["bss"] == bss["name"]}
    kept = {
        "bss": [bss],
        "stations": [station for station in drawn["stations"] if station["name"] in own],
        "flows": [flow for flow in drawn["flows"] if flow["station"] in own],
    }
    return Scenario.from_settings({**drawn, **kept})


@cache
def heard(number: int, size: Size) -> tuple[str, ...]:
    """The access points that the resident's access point detects if all are on one channel."""
    return tuple(name for name, _ in of_scenario(house(number, ONE, size)).heard(MINE))


def quietest(number: int, plan: str, size: Size) -> Change:
    """The move to that of the other channels on which the access point detects the fewest others; of equals to the lowest number."""
    tree = house(number, plan, size).drawn_settings()["bss"]
    of_bss = {bss["name"]: int(bss["channel"]) for bss in tree}
    others = [channel for channel in CHANNELS if channel != of_bss[MINE]]
    there = [of_bss[name] for name in heard(number, size)]
    return Change(CHANNEL, TITLES[CHANNEL], {"channel": min(others, key=there.count)})


def changes(number: int, plan: str, size: Size) -> Sequence[Change]:
    """What a resident can change under a plan of channels: alone, the buffer; with powers by channel of 20 MHz, the width."""
    if plan == BY_20_MHZ:
        return WIDTHS
    return BUFFERS if plan == ALONE else (*BUFFERS, quietest(number, plan, size), *OTHERS)


# In addition to his evening, the resident loads something that does not end, and a backup that does not end leaves his flat.
BUSY_FLOWS = (
    {"name": "laptop-update", "station": "laptop", "direction": "down", "start_spread_s": 1.0},
    {"name": "computer-upload", "station": "computer", "direction": "up", "start_spread_s": 1.0},
)


def busy_changes(number: int, plan: str, size: Size) -> Sequence[Change]:
    """What is changed on a busy evening: the buffer, and with neighbours also the channel."""
    return BUFFERS if plan == ALONE else (*BUFFERS, quietest(number, plan, size))


# Shares of flats that adopt a scheme, in percent, in addition to none. The resident is the first to adopt.
SHARES = (1, 10, 50, 100)


def adopters(number: int, percent: int, names: Sequence[str]) -> tuple[str, ...]:
    """The flats of a house that adopt a scheme, of all its flats with the resident's first: at least so many percent, drawn by the house."""
    others = list(names[1:])
    random.Random(f"{number} adopters").shuffle(others)
    return (names[0], *others)[: math.ceil(percent * len(names) / 100)]
