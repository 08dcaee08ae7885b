"""The BSSs, stations and flows that the table `[building]` draws."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

from wifair.errors import ScenarioError
from wifair.scenario.building.keys import checked
from wifair.scenario.building.layout import MODELS, Layout, Room
from wifair.scenario.building.traffic import load_mbps, of_stations
from wifair.scenario.components import transport
from wifair.scenario.overrides import assign, layered

Table = dict[str, Any]

# What a building has below the settings of the scenario, whatever its model.
BELOW: Table = {
    "phy": {"name": "802.11ax"},
    "mac": {"edca": {}},
    "station": {"tx_power_dbm": 15.0},
    "ap": {"scheme": "droptail", "default_limit_packets": 1000},
    "wire": {"rate_mbps": 500, "one_way_delay_ms": 10},
    "tcp": {"profile": "today"},
}
# The name of the first BSS, unless its room has one.
MINE = "mine"
# Distance of nodes from the walls of their room, in metres.
CLEAR_M = 0.5
# SINR in dB from which an MCS is decoded (docs/medium.md, section 16), and what links have above it.
THRESHOLDS_DB = (4, 7, 9, 12, 16, 20, 21, 22, 27, 29, 32, 34, 37, 40)
MARGIN_DB = 6.0
# How often the place of a station is drawn until its access point reaches it.
MOST_DRAWS = 1000
HIGHEST_MCS = {"802.11ac": 9, "802.11ax": 11, "802.11be": 13}
# Noise of `channel.noise_dbm` is that of 22 MHz.
NOISE_WIDTH_MHZ = 22.0
WIDTH_MHZ = 80


def expanded(settings: Mapping[str, Any]) -> Table:
    """Settings with the table `building`, as those of the scenario that it draws, without the table."""
    if settings.get("bss"):
        raise ScenarioError("bss", "the table building draws the BSSs", allowed="one of both tables")
    keys = checked(settings["building"])
    own = {key: value for key, value in settings.items() if key != "building"}
    model = MODELS[keys["model"]]
    tree = layered(layered(BELOW, model.below), own)
    layout = model.lay_out(keys)
    _check_keys(tree, keys, layout)
    field = tree.get("field") or {}
    tree["field"] = {**field, "walls": [*layout.walls, *field.get("walls", [])]}
    order = _order(layout.rooms, keys)
    channels = _channels(tree, keys, layout.rooms)
    drawn = [_bss(layout.rooms[i], i + 1, place == 0, channels[i], keys, tree) for place, i in enumerate(order)]
    tree["bss"] = [bss for bss, _, _ in drawn]
    for key, place in (("stations", 1), ("flows", 2)):
        tree[key] = [entry for part in drawn for entry in part[place]] + list(tree.get(key, []))
    if "tcp" not in own and not any(_is_over_tcp(flow) for flow in tree["flows"]):
        del tree["tcp"]
    for path, value in keys["set"].items():
        assign(tree, path, value)
    return tree


def _is_over_tcp(flow: Table) -> bool:
    application = flow.get("application", "bulk")
    name = application.get("name", "bulk") if isinstance(application, dict) else application
    return transport(name) == "tcp"


def _check_keys(tree: Table, keys: Table, layout: Layout) -> None:
    """Rejects what the drawing does not take."""
    phy = tree["phy"].get("name")
    if phy not in HIGHEST_MCS:
        allowed = ", ".join(HIGHEST_MCS)
        raise ScenarioError(
            "phy.name", f"stations of a building have an MCS, not those of {phy}", value=phy, allowed=allowed
        )
    stations = sum(_stations(room, keys) for room in layout.rooms)
    if stations > 1000:
        problem = f"{len(layout.rooms)} BSSs have {stations} stations in all"
        key = "stations" if "stations" in keys else "guests"
        raise ScenarioError(f"building.{key}", problem, value=keys[key], allowed="1000 stations in all")
    own = keys["own"]
    if own is not None and own > len(layout.rooms):
        allowed = f"1 to {len(layout.rooms)}"
        raise ScenarioError("building.own", f"there is no BSS number {own}", value=own, allowed=allowed)


def _stations(room: Room, keys: Table) -> int:
    return int(keys["stations"] if room.stations is None else room.stations)


def _order(rooms: Sequence[Room], keys: Table) -> list[int]:
    """The numbers of the rooms, from 0, the resident's first: by `own`, or the one with a name, or the one in the middle."""
    named = [i for i, room in enumerate(rooms) if room.name]
    centre = [sum(room.middle_m[axis] for room in rooms) / len(rooms) for axis in (0, 1)]
    floor = sum(room.floor for room in rooms) / len(rooms)
    by_distance = sorted(
        range(len(rooms)), key=lambda i: (abs(rooms[i].floor - floor), math.dist(rooms[i].middle_m, centre), i)
    )
    first = keys["own"] - 1 if keys["own"] is not None else (named or by_distance)[0]
    return [first, *(i for i in range(len(rooms)) if i != first)]


def _channels(tree: Table, keys: Table, rooms: Sequence[Room]) -> list[int | None]:
    """The channel of each room; a BSS without neighbours has none."""
    channels = keys["channels"]
    if channels is None:
        if tree["phy"].get("width_mhz", WIDTH_MHZ) != WIDTH_MHZ or tree["phy"].get("band_ghz", 5) != 5:
            allowed = 'the numbers of channels of phy.width_mhz, or "one" for one channel without a number'
            raise ScenarioError(
                "building.channels", "this key is needed: its default has 80 MHz at 5 GHz", allowed=allowed
            )
        channels = [42, 106, 155]
    if channels == "one" or len(rooms) == 1:
        return [None] * len(rooms)
    if keys["assign"] == "in-turn":
        return [channels[i % len(channels)] for i in range(len(rooms))]
    return [random.Random(f"{keys['seed']} {i + 1} channel").choice(channels) for i in range(len(rooms))]


def _place(room: Room, draw: random.Random) -> list[float]:
    """A random place in a room."""
    along = zip(room.corner_m, room.size_m, strict=True)
    return [round(draw.uniform(corner + CLEAR_M, corner + size - CLEAR_M), 2) for corner, size in along]


def _bss(
    room: Room, number: int, is_own: bool, channel: int | None, keys: Table, tree: Table
) -> tuple[Table, list[Table], list[Table]]:
    """A BSS, its stations and its flows."""
    draw = random.Random(f"{keys['seed']} {number} places")
    name = room.name or (MINE if is_own else f"{MODELS[keys['model']].noun}-{number}")
    place = list(room.middle_m) if room.is_ap_in_the_middle else _place(room.part((room.parts - 1) // 2), draw)
    floor = {"floor": room.floor} if room.floor else {}
    bss: Table = {
        "name": name,
        **({} if channel is None else {"channel": channel}),
        "ap": {"position_m": place, **floor},
    }
    if not is_own:
        bss["wire"] = {}
    stations, flows = [], []
    traffic = room.traffic or keys["traffic"]
    for i, (kind, uses) in enumerate(of_stations(traffic, _stations(room, keys), room.parts)):
        label = kind if is_own else f"{name}-{kind}"
        at = _place_in_reach(room.part(i % room.parts), place, tree, draw)
        link = _mcs(_gain_db(at, place, tree), tree)
        station = {"name": label, "bss": name, "position_m": at, **floor, **link}
        stations.append(station)
        for use in uses:
            flow_name = f"{label}-{use.name}"
            application = use.at_load(keys["load"])
            flows.append(
                {
                    "name": flow_name,
                    "station": label,
                    "direction": use.direction,
                    "start_spread_s": 5,
                    "application": application,
                }
            )
    return bss, stations, flows


def _place_in_reach(room: Room, ap_at: Sequence[float], tree: Table, draw: random.Random) -> list[float]:
    """A random place in a room from which a station and the access point decode each other's slowest frames."""
    detected_dbm = tree["field"].get("preamble_detection_dbm", -82.0)
    needed_dbm = max(detected_dbm, _noise_dbm(tree) + THRESHOLDS_DB[0])
    for _ in range(MOST_DRAWS):
        at = _place(room, draw)
        if min(_powers_dbm(tree).values()) + _gain_db(at, ap_at, tree) >= needed_dbm:
            break
    return at  # if there is no such place, the engine refuses this one


def _mcs(gain_db: float, tree: Table) -> Table:
    """The highest MCSs to and from the access point of which the SNR exceeds the threshold by the margin."""
    most = HIGHEST_MCS[tree["phy"]["name"]]
    found = {}
    for key, power_dbm in _powers_dbm(tree).items():
        snr_db = power_dbm + gain_db - _noise_dbm(tree) - MARGIN_DB
        found[key] = max((mcs for mcs in range(most + 1) if THRESHOLDS_DB[mcs] <= snr_db), default=0)
    return found


def _powers_dbm(tree: Table) -> dict[str, float]:
    """The powers of a station and of its access point, by the key of the MCS with which each sends."""
    usual = tree["channel"]["tx_power_dbm"]
    return {"mcs": tree["station"].get("tx_power_dbm", usual), "mcs_down": tree["ap"].get("tx_power_dbm", usual)}


def _noise_dbm(tree: Table) -> float:
    width_mhz = tree["phy"].get("width_mhz", WIDTH_MHZ)
    return float(tree["channel"].get("noise_dbm", -93.6) + 10 * math.log10(width_mhz / NOISE_WIDTH_MHZ))


def _gain_db(a: Sequence[float], b: Sequence[float], tree: Table) -> float:
    """The gain between two places on one floor (docs/medium.md, section 16)."""
    channel, field = tree["channel"], tree["field"]
    breakpoint_m = field.get("breakpoint_m", 1.0)
    far_m = max(math.dist(a, b), 1.0)
    loss_db = channel["reference_loss_db"] + 20 * math.log10(min(far_m, breakpoint_m))
    loss_db += 10 * channel["path_loss_exponent"] * max(math.log10(far_m / breakpoint_m), 0.0)
    return -float(loss_db + sum(wall["loss_db"] for wall in field["walls"] if _is_between(wall, a, b)))


def _is_between(wall: Table, a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether the straight line between two places crosses a wall."""
    ends = wall["from_m"], wall["to_m"]
    across = _side(a, *ends) * _side(b, *ends)
    along = _side(ends[0], a, b) * _side(ends[1], a, b)
    return across < 0 and along <= 0


def _side(point: Sequence[float], start: Sequence[float], end: Sequence[float]) -> float:
    """On which side of the line from `start` to `end` a point is, by the sign."""
    return (end[0] - start[0]) * (point[1] - start[1]) - (end[1] - start[1]) * (point[0] - start[0])


def loads_mbps(given: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    """The load of a BSS at most by direction, in Mbps, by the name of its traffic, for the keys of a building."""
    keys = checked(given)
    rooms = MODELS[keys["model"]].lay_out(keys).rooms
    return {
        traffic: load_mbps(traffic, _stations(room, keys), keys["load"], room.parts)
        for traffic, room in ((room.traffic or keys["traffic"], room) for room in rooms)
    }
