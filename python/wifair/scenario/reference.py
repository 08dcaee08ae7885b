"""Every key of a scenario, by section, from the model and the engine's schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, get_args

from wifair.scenario.building.keys import DEFAULTS, RULES
from wifair.scenario.components import Node, plan_node, properties, variants
from wifair.scenario.keys import Key, component_keys, keys
from wifair.scenario.limits import with_default_limits
from wifair.scenario.profiles import PROFILES
from wifair.scenario.scenario import SECTIONS, BssTable, FlowGroup, Scenario, StationGroup

ABOUT = {
    "run": "How long, and what is recorded.",
    "phy": "The physical layer of the cell.",
    "mac": "The MAC, common to all nodes.",
    "channel": "Errors and positions; without the table, every frame that does not collide is received.",
    "wire": "The wired network behind the access point.",
}


@dataclass(frozen=True)
class Section:
    """A section of a scenario, or the file itself (without a name). `about` is Markdown, with links to other pages."""

    name: str
    heading: str
    about: str
    keys: tuple[Key, ...]


def sections() -> list[Section]:
    """The sections of a scenario, the file itself first."""
    own = Section("", "The file itself", "", tuple(_own()))
    plain = [_of_plan(name, *place) for name, place in SECTIONS.items()]
    return [own, *plain, *_of_places(), *_of_nodes(), *_of_traffic()]


def _of_plan(name: str, *place: str) -> Section:
    return Section(name, f"`[{name}]`", ABOUT[name], tuple(_section(plan_node(*place))))


def _of_places() -> list[Section]:
    return [
        Section(
            "field",
            "`[field]`",
            "Which nodes receive which others, with which power ([the medium, section 16](medium.md#16-the-field)); without the table, all nodes "
            "hear each other. In `hidden` and `gains` the name of a group stands for each of its stations.",
            tuple(keys(plan_node("bss", "field"))),
        ),
        Section(
            "bss",
            "`[[bss]]`",
            "Several BSSs ([Neighbours](neighbours.md)), which need the table `[field]`. All have `[phy]`, `[mac]` and `[channel]`. The first "
            "is the one that commands change and that stations belong to unless they name another. In `[field]` the name of a BSS is that of its access point.",
            tuple(_bss()),
        ),
        Section(
            "building",
            "`[building]`",
            "Draws `[[bss]]`, `[[stations]]`, `[[flows]]` and walls ([Neighbours](neighbours.md#buildings)). Defaults that depend on the model are listed there.",
            tuple(_building()),
        ),
    ]


def _of_nodes() -> list[Section]:
    ap = plan_node("bss", "ap")
    tx_queue = properties(properties(ap)["tx_queue"])
    other = {key: node for key, node in properties(ap).items() if key != "tx_queue"}
    of_ap = _table(ap, with_default_limits({**tx_queue, **other}))
    of_station = _but(plan_node("bss", "stations", "[]"), "label")
    return [
        Section("ap", "`[ap]`", "The access point: its buffer and what goes with it.", tuple(keys(of_ap))),
        Section(
            "station",
            "`[station]` and `[[stations]]`",
            "`[station]` holds defaults for all stations; `[[stations]]` are groups of named ones, which flows refer to by `station`. "
            "A station without a rate has its PHY's highest.",
            (*_group(StationGroup), *keys(of_station)),
        ),
    ]


def _of_traffic() -> list[Section]:
    flow = _but(plan_node("flows", "[]"), "label", "group", "station", "direction")
    return [
        Section(
            "flows",
            "`[[flows]]`",
            "Groups of flows. Each flow has a separate station unless `station` names a group of stations or one of them; `station` may also be a "
            "table of keys of `[station]`. `tcp` overrides `[tcp]`.",
            (*_group(FlowGroup), *(key for key in keys(flow) if not key.path.startswith("tcp."))),
        ),
        Section(
            "tcp",
            "`[tcp]`",
            "Both ends of every connection; also `tcp` in a group of flows. [What goes together](tcp.md).",
            (_profile(), *keys(properties(flow)["tcp"])),
        ),
        Section(
            "events",
            "`[[events]]`",
            "Changes while it runs. `station.name` is a station's name, a group's, or a flow's own station.",
            tuple(_renamed(key) for key in keys(plan_node("events", "[]"))),
        ),
    ]


def _but(node: Node, *left_out: str) -> Node:
    """A table without some of its keys."""
    return _table(node, {key: inner for key, inner in properties(node).items() if key not in left_out})


def _table(node: Node, its: dict[str, Node]) -> Node:
    return {**node, "properties": its}


def _section(node: Node) -> Iterator[Key]:
    """The keys of a section, which may be a component itself, as `[phy]`."""
    return component_keys(node) if variants(node) else keys(node)


def _renamed(key: Key) -> Key:
    return replace(key, path=key.path.replace("station.label", "station.name"))


def _own() -> list[Key]:
    """The top-level keys that are not tables."""
    told = {
        "title": "What it is called in tables and in a store.",
        "dialect": "Whose habits are the defaults: the standard's, or ns-2's.",
    }
    return [_field(Scenario, name, about) for name, about in told.items()]


def _bss() -> list[Key]:
    told = {
        "name": "The name of the BSS and of its access point.",
        "channel": "Number of its channel, of the band of `[phy]` and its width. Without the key in any BSS, all are on one channel.",
        "width_mhz": "Width of its channel in MHz. Without the key, that of `[phy]`.",
        "primary": "Number of its primary channel of 20 MHz. Without the key, the lowest in its channel.",
        "punctured": "Numbers of channels of 20 MHz in its channel that it never uses; from 802.11be on.",
        "ap": "Keys of `[ap]`, which hold over that table.",
        "wire": "A separate wire, with keys of `[wire]` that hold over that table; `{}` for one like that. Without the key, the BSS shares "
        "the wire of the first.",
    }
    numbers = {"channel": "a channel number", "width_mhz": "20, 40, 80, 160 or 320", "primary": "a channel number"}
    allowed = {**numbers, "punctured": "a list of channel numbers", "ap": "a table", "wire": "a table"}
    return [_field(BssTable, name, about, allowed.get(name, "")) for name, about in told.items()]


def _building() -> list[Key]:
    told = {
        "model": "The kind of building.",
        "floors": "Number of floors.",
        "rooms": "Rooms per floor along x and along y, each with a BSS; of `hotel` each row is on one side of a corridor.",
        "room_m": "Size of a room in metres.",
        "aps_per_room": "Access points per office along x and along y; of `enterprise`.",
        "rooms_per_ap": "Rooms side by side per access point, which is in the middle one; of `hotel`.",
        "corridor_m": "Width of a corridor in metres; of `hotel`.",
        "wall_loss_db": "Loss of each wall in dB.",
        "stations": "Stations per BSS.",
        "guests": "Stations of the café, of `cafe-below-flats`; stations per room, of `hotel`.",
        "seed": "Seed of the drawing: places and channels.",
        "channels": "The channels that BSSs have. Without the key, 42, 106 and 155.",
        "assign": "Whether each BSS draws a channel, or they take turns.",
        "own": "Which room is the first BSS, counted floor by floor and row by row. Without the key, the one in the middle, or the café.",
        "traffic": "What the stations do.",
        "load": "Factor of the traffic's load.",
        "set": "Keys that hold over what is drawn. `--set` of such a key is added to it.",
    }
    return [
        Key(name, told[name], _value(DEFAULTS.get(name)), needed=name == "model", allowed=allowed)
        for name, (_, allowed) in RULES.items()
    ]


def _profile() -> Key:
    about = "A kind of host, whose settings are laid under the keys next to this one."
    return Key("profile", about, choices=tuple(PROFILES))


def _group(model: type[Any]) -> list[Key]:
    told = {
        "count": "How many alike.",
        "reserve": "How many more may start by an event that raises the group's count.",
        "bss": "The name of the BSS of the stations; without the key, the first.",
        "name": "The group's name; its members are `name-1`, `name-2`, … (`name` alone for one).",
        "direction": "`up`: data from the station to the server; `down`: from the server to the station.",
        "station": "A group of stations, by name; one station of a group, by its own name (`table-3`), where all the flows then are; or a table of "
        "keys of the flows' own stations, with the name of their BSS as `bss`.",
        "first_station": "At a named group of stations: which of them has the group's first flow. The other flows follow, each on another "
        'station. `"next"` is the one after the stations of earlier groups of flows. Without this key flows begin at the first station, '
        "and share stations if there are more flows than stations.",
    }
    allowed = {"first_station": 'a whole number, 1 or more, or `"next"`'}
    return [_field(model, name, told[name], allowed.get(name, "")) for name in model.model_fields]


def _field(model: type[Any], name: str, about: str, allowed: str = "") -> Key:
    field = model.model_fields[name]
    needed = field.is_required()
    choices = () if allowed else tuple(word for word in get_args(field.annotation) if isinstance(word, str))
    plain = "a whole number, 1 or more" if field.annotation is int else "a text"
    return Key(
        name,
        about,
        None if needed else _value(field.default),
        needed,
        choices=choices,
        allowed=allowed or ("" if choices else plain),
    )


def _value(default: object) -> object:
    """A default that sets something, else None."""
    return None if default in ("", {}) else default
