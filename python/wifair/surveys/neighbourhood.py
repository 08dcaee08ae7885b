"""The scenario of a neighbourhood that was heard: one's own BSS, and a BSS for each other that its channel and its signal allow.

Read are channels, widths and powers; the gains from each access point to the places of measurement follow from these and the transmit
power. Where the others are follows from their power by the path loss of flats; their stations and their traffic are assumed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wifair.errors import InputError, ScenarioError
from wifair.observed.network import Station, Value, assumed, read
from wifair.observed.tables import Document, LeftOut, Names, Table
from wifair.scenario.building.layout import MODELS
from wifair.scenario.building.traffic import KINDS
from wifair.surveys.heard import SUBCHANNEL_MHZ, Channel, Heard, containing
from wifair.surveys.readers import AP

# Below it nothing is received (`field.floor_dbm`).
FLOOR_DBM = -100.0
AP_DBM, STATION_DBM = 20.0, 15.0
# Distance of stations from their access point, in metres, and the gain to one's own access point where nobody measured it.
STATION_M = 4.0
OWN_STATION_M = 4.0
# The angle between one neighbour's direction and the next one's: the golden angle spreads any number of them.
TURN = math.pi * (3 - math.sqrt(5))
MINE = "mine"
LOSSES = MODELS["flats-in-a-row"].below
PHYS = {2.4: "802.11n", 5.0: "802.11ax", 6.0: "802.11ax"}
# The widest channel of each band, in MHz, and from which width on only 802.11be has it.
WIDEST_MHZ = {2.4: 40, 5.0: 160, 6.0: 320}
OF_EHT_MHZ = 320


@dataclass(frozen=True)
class Options:
    """What no file says: one's own BSS, by its address or its channel; and whether addresses are written as they are."""

    mine: str = ""
    channel: int | None = None
    width_mhz: int | None = None
    band_ghz: float | None = None
    names: Names = field(default_factory=Names)


def neighbourhood(found: Mapping[str, Heard], title: str, options: Options | None = None) -> Document:
    """The scenario of the BSSs that were heard. Raises `InputError` if it is not known which is one's own."""
    options = options or Options()
    own, channel = _own(found, options)
    others, left_out = _chosen([heard for heard in found.values() if heard is not own], channel, options.names)
    tables = _tables(own, channel, others, options.names)
    files = tuple(dict.fromkeys(heard.place.rpartition(":")[0] for heard in found.values()))
    made = Document(title, files, tuple(tables), (), tuple(left_out))
    try:
        made.scenario()
    except ScenarioError as error:
        raise InputError(f"{', '.join(files)}: no scenario has what was read: {error}") from None
    return made


def _own(found: Mapping[str, Heard], options: Options) -> tuple[Heard | None, Channel]:
    """One's own BSS, if it was heard, and its channel."""
    if options.mine and options.mine.lower() not in found:
        raise InputError(
            f"--mine {options.mine}: no file has this BSS; allowed here: the address of a BSS that was heard."
        )
    marked = [heard for heard in found.values() if heard.is_own]
    own = found[options.mine.lower()] if options.mine else (marked[0] if len(marked) == 1 else None)
    if options.channel is not None:
        width_mhz = options.width_mhz or 20
        band_ghz = options.band_ghz or (2.4 if options.channel <= 13 else 5.0)
        number = options.channel if band_ghz == 2.4 else containing(band_ghz, options.channel, width_mhz)
        return own, Channel(band_ghz, number, width_mhz)
    if own is None:
        allowed = "--mine ADDRESS, or --channel and --width, or a scan by a device that is associated"
        raise InputError(f"import: it is not known which BSS is your own; allowed here: {allowed}.")
    channel = own.channel
    if options.width_mhz and not own.has_width:
        channel = _widened(own, options.width_mhz)
    return own, channel


def _widened(heard: Heard, width_mhz: int) -> Channel:
    """The channel of a BSS whose width no file says, of a width."""
    band_ghz, number = heard.channel.band_ghz, heard.channel.number
    return heard.channel if band_ghz == 2.4 else Channel(band_ghz, containing(band_ghz, number, width_mhz), width_mhz)


def _chosen(found: list[Heard], own: Channel, names: Names) -> tuple[list[Heard], list[LeftOut]]:
    """The BSSs that the scenario has, the strongest first; and those that it does not have."""
    chosen: list[Heard] = []
    left_out = []
    for heard in sorted(found, key=lambda each: (-each.strongest_dbm, each.address)):
        channel = heard.channel if heard.has_width else _widened(heard, own.width_mhz)
        kept = [own, *(each.channel for each in chosen)]
        partly = next((each for each in kept if not each.fits(channel)), None)
        is_missed = partly is not None and channel.band_ghz == own.band_ghz and heard.strongest_dbm >= FLOOR_DBM
        if heard.strongest_dbm < FLOOR_DBM:
            why = "out of reach"
        elif channel.band_ghz != own.band_ghz:
            why = "in another band, so it neither hears nor disturbs"
        elif partly is not None:
            whose = "your" if partly == own else "a neighbour's"
            why = f"overlaps {whose} {partly} by a part of 20 MHz, which the medium does not have"
        elif channel.width_mhz > WIDEST_MHZ[channel.band_ghz]:
            why = f"wider than {WIDEST_MHZ[channel.band_ghz]} MHz, which its band does not have"
        else:
            chosen.append(replace(heard, channel=channel))
            continue
        left_out.append(LeftOut(_shown(heard, names), str(channel), heard.strongest_dbm, why, is_missed))
    return chosen, left_out


def _shown(heard: Heard, names: Names) -> str:
    """A BSS in a comment."""
    return f"BSS {names.shown(Station(heard.address, heard.place))}"


def _tables(own: Heard | None, channel: Channel, others: list[Heard], names: Names) -> list[Table]:
    stations = sorted({at for heard in (*others, *([own] if own else [])) for at in heard.signals_dbm} - {AP}) or [
        "laptop"
    ]
    places = {name: _around(OWN_STATION_M, number, len(stations)) for number, name in enumerate(stations)}
    if own:
        places |= {
            name: _around(_distance_m(AP_DBM - own.signals_dbm[name][0]), number, len(stations))
            for number, name in enumerate(stations)
            if name in own.signals_dbm
        }
    named = {f"bss-{number}": heard for number, heard in enumerate(others, 1)}
    own_number = read(channel.number, "channel", own.place) if own else assumed(channel.number, "as told")
    # One BSS alone has no use for a channel.
    mine: dict[str, Value[Any]] = {"name": read(MINE, "", ""), **({"channel": own_number} if named else {})}
    mine |= _primary(own, channel) if own and named else {}
    widest_mhz = max(each.width_mhz for each in (channel, *(heard.channel for heard in others)))
    tables = [*_common(channel, widest_mhz), *_gains(own, named), Table("[[bss]]", mine)]
    for number, (name, heard) in enumerate(named.items()):
        tables.append(_bss(name, heard, number, channel.width_mhz, names))
    for name, place in places.items():
        keys: dict[str, Value[Any]] = {
            "name": read(name, "", ""),
            "position_m": assumed(place, "by its signal, or 4 m away"),
        }
        tables.append(Table("[[stations]]", keys))
    for name, bss in ((name, MINE) for name in places):
        tables += _flows(name, bss)
    for number, name in enumerate(named):
        place = _place(named[name], number)
        for kind, turn in (("television", 0), ("laptop", 2)):
            keys = {
                "name": read(f"{name}-{kind}", "", ""),
                "bss": assumed(name, "each neighbour has a television and a laptop"),
                "position_m": assumed(_rounded(place, STATION_M, turn), "4 m from its access point"),
            }
            tables.append(Table("[[stations]]", keys))
        for kind in ("television", "laptop"):
            tables += _flows(f"{name}-{kind}", name, kind)
    return tables


def _primary(heard: Heard, channel: Channel) -> dict[str, Value[Any]]:
    """The primary channel of a BSS that has this channel, if the file says it and there are several of 20 MHz."""
    has_some = heard.primary is not None and channel.width_mhz > SUBCHANNEL_MHZ
    return {"primary": read(heard.primary, "primary channel", heard.place)} if has_some else {}


def _common(channel: Channel, widest_mhz: int) -> list[Table]:
    """The tables of all BSSs, the widest of which has that width."""
    losses = "path loss of flats (IEEE 802.11-14/0980, scenario 1), without walls"
    phy: dict[str, Value[Any]] = {
        "name": assumed("802.11be" if widest_mhz >= OF_EHT_MHZ else PHYS[channel.band_ghz], "of all BSSs"),
        "band_ghz": read(channel.band_ghz, "freq", ""),
        "width_mhz": read(channel.width_mhz, "channel width", ""),
    }
    above: dict[str, Value[Any]] = {
        key: assumed(number, losses) for key, number in LOSSES["channel"].items() if key != "tx_power_dbm"
    }
    return [
        Table("[run]", {"warmup_s": assumed(5, "default"), "duration_s": assumed(20, "default")}),
        Table("[phy]", phy),
        Table("[mac]", {"edca": assumed({}, "stations since 802.11n have it")}),
        Table("[channel]", {"tx_power_dbm": assumed(AP_DBM, "of all access points"), **above}),
        Table(
            "[field]",
            {
                "breakpoint_m": assumed(LOSSES["field"]["breakpoint_m"], losses),
                "floor_dbm": assumed(FLOOR_DBM, "default"),
            },
        ),
        Table(
            "[ap]",
            {"scheme": assumed("droptail", "of all access points"), "default_limit_packets": assumed(1000, "of all")},
        ),
        Table("[wire]", {"rate_mbps": assumed(500, "of each BSS"), "one_way_delay_ms": assumed(10, "of each BSS")}),
        Table("[tcp]", {"profile": assumed("today", "of all hosts")}),
        Table(
            "[station]", {"tx_power_dbm": assumed(STATION_DBM, "of all stations"), "mcs": assumed(3, "of all stations")}
        ),
    ]


def _gains(own: Heard | None, named: Mapping[str, Heard]) -> list[Table]:
    """The measured gains: of each access point to each place of measurement."""
    tables = []
    for name, heard in ((AP, own), *named.items()):
        for at, (dbm, place) in sorted((heard.signals_dbm if heard else {}).items()):
            if at == name or dbm < FLOOR_DBM:
                continue
            gain = read(round(min(dbm - AP_DBM, 0.0), 2), f"signal, less {AP_DBM:g} dBm", place)
            tables.append(Table("[[field.gains]]", {"between": read([name, at], "signal", place), "gain_db": gain}))
    return tables


def _bss(name: str, heard: Heard, number: int, width_mhz: int, names: Names) -> Table:
    """A neighbour of a BSS of that width."""
    own_width = read(heard.channel.width_mhz, "channel width", heard.place)
    keys: dict[str, Value[Any]] = {
        "name": read(name, "", ""),
        "channel": read(heard.channel.number, "channel", heard.place),
        **({"width_mhz": own_width} if heard.channel.width_mhz != width_mhz else {}),
        **_primary(heard, heard.channel),
        "ap.position_m": assumed(_place(heard, number), "by its power, in one direction of many"),
        "wire": assumed({}, "a separate wire"),
    }
    return Table("[[bss]]", keys, _shown(heard, names))


def _flows(station: str, bss: str, kind: str = "") -> list[Table]:
    """The traffic of a station: a film and pages, or what its kind does in the evening at a neighbour."""
    uses = [
        use for each, own in KINDS["evening"] for use in own if each in ((kind,) if kind else ("television", "laptop"))
    ]
    whose = "own traffic" if bss == MINE else "traffic of a neighbour"
    return [
        Table(
            "[[flows]]",
            {
                "name": read(f"{station}-{use.name}", "", ""),
                "station": read(station, "", ""),
                "direction": assumed(use.direction, whose),
                "start_spread_s": assumed(5, whose),
                "application": assumed(use.application, whose),
            },
        )
        for use in uses
    ]


def _distance_m(loss_db: float) -> float:
    """The distance of a path loss, from 1 m to 200 m."""
    channel, breakpoint_m = LOSSES["channel"], LOSSES["field"]["breakpoint_m"]
    over_db = loss_db - channel["reference_loss_db"]
    near_db = 20 * math.log10(breakpoint_m)
    if over_db <= near_db:
        return float(max(10 ** (over_db / 20), 1.0))
    far_m = breakpoint_m * 10 ** ((over_db - near_db) / (10 * channel["path_loss_exponent"]))
    return float(min(far_m, 200.0))


def _around(distance_m: float, number: int, count: int) -> list[float]:
    angle = 2 * math.pi * number / count
    return [round(distance_m * math.cos(angle), 2), round(distance_m * math.sin(angle), 2)]


def _place(heard: Heard, number: int) -> list[float]:
    """The place of a neighbour's access point: as far as its power says, in the next direction."""
    return _rounded([0.0, 0.0], _distance_m(AP_DBM - heard.strongest_dbm), number * TURN)


def _rounded(from_m: list[float], distance_m: float, angle: float) -> list[float]:
    return [round(from_m[0] + distance_m * math.cos(angle), 2), round(from_m[1] + distance_m * math.sin(angle), 2)]
