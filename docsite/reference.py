"""The reference of a scenario's keys, from the model's sections and the engine's schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

from wifair.scenario import SECTIONS, BssTable, FlowGroup, Scenario, StationGroup
from wifair.scenario.building.keys import DEFAULTS, RULES
from wifair.scenario.components import Node, plan_node, properties, variants
from wifair.scenario.dialects import DIALECTS
from wifair.scenario.limits import with_default_limits
from wifair.scenario.profiles import PROFILES

from docsite.keys import Key, component_keys, keys, table

ABOUT = {
    "run": "How long, and what is recorded.",
    "phy": "The physical layer of the cell.",
    "mac": "The MAC, common to all nodes.",
    "channel": "Errors and positions; without the table, every frame that does not collide is received.",
    "wire": "The wired network behind the access point.",
}

_SPREAD = """Two groups of flows at one group of stations begin at the same station unless `first_station` says otherwise:

```toml
[[stations]]
name = "table"
count = 12

[[flows]]
name = "reading"
station = "table"             # table-1 to table-10
count = 10
direction = "down"
application = "web"

[[flows]]
name = "photographs"
station = "table"
first_station = "next"        # table-11 and table-12
count = 2
direction = "up"

[[flows]]
name = "call"
station = "table-3"           # this one station
direction = "up"
application = "voip"
```"""


def page() -> str:
    """The page as Markdown."""
    parts = [
        "# Scenario reference",
        "Every key of a scenario file, from the model and the engine's own schema. A key that is not here is an error, which names "
        "the nearest one. Units stand in the names. What has a default may be left out; `–` as a default means that the key is "
        "not set.",
        "Any key can be set from the command line: `--set ap.limit_packets=50`, `--set flows[0].count=3`.",
        "## The file itself",
        table(_own()),
    ]
    for section, place in SECTIONS.items():
        parts += [f"## `[{section}]`", ABOUT[section], table(list(_section(plan_node(*place))))]
    parts += [
        "## `[field]`",
        "Which nodes receive which others, with which power ([the medium, section 16](medium.md#16-the-field)); without the table, all nodes "
        "hear each other. In `hidden` and `gains` the name of a group stands for each of its stations.",
        table(list(keys(plan_node("bss", "field")))),
    ]
    parts += [
        "## `[[bss]]`",
        "Several BSSs ([Neighbours](neighbours.md)), which need the table `[field]`. All have `[phy]`, `[mac]` and `[channel]`. The first "
        "is the one that commands change and that stations belong to unless they name another. In `[field]` the name of a BSS is that of its access point.",
        table(_bss()),
        "## `[building]`",
        "Draws `[[bss]]`, `[[stations]]`, `[[flows]]` and walls ([Neighbours](neighbours.md#buildings)). Defaults that depend on the model are listed there.",
        table(_building()),
    ]
    ap = plan_node("bss", "ap")
    tx_queue = properties(properties(ap)["tx_queue"])
    other = {key: node for key, node in properties(ap).items() if key != "tx_queue"}
    station = {key: node for key, node in properties(plan_node("bss", "stations", "[]")).items() if key != "label"}
    flow = properties(plan_node("flows", "[]"))
    flow = {key: node for key, node in flow.items() if key not in ("label", "group", "station", "direction")}
    parts += [
        "## `[ap]`",
        "The access point: its buffer and what goes with it.",
        table(list(keys({"properties": with_default_limits({**tx_queue, **other})}))),
        "## `[station]` and `[[stations]]`",
        "`[station]` holds defaults for all stations; `[[stations]]` are groups of named ones, which flows refer to by `station`. "
        "A station without a rate has its PHY's highest.",
        table([*_group(StationGroup), *keys({"properties": station})]),
        "## `[[flows]]`",
        "Groups of flows. Each flow has a station of its own unless `station` names a group of stations or one of them; `station` may also be a "
        "table of the keys above. `tcp` overrides `[tcp]`.",
        _SPREAD,
        table([*_group(FlowGroup), *(key for key in keys({"properties": flow}) if not key.path.startswith("tcp."))]),
        "## `[tcp]`",
        "Both ends of every connection; also `tcp` in a group of flows. [What goes together](tcp.md).",
        table([_profile(), *keys(flow["tcp"])]),
        "## `[[events]]`",
        "Changes while it runs. `station.name` is a station's name, a group's, or a flow's own station.",
        table([_renamed(key) for key in keys(plan_node("events", "[]"))]),
        "## Dialects",
        "`dialect` sets defaults for what other simulators do differently; what the file says itself comes first.",
        *_dialects(),
    ]
    return "\n\n".join(parts) + "\n"


def _section(node: Node) -> Iterator[Key]:
    """The keys of a section, which may be a component itself, as `[phy]`."""
    return component_keys(node) if variants(node) else keys(node)


def _renamed(key: Key) -> Key:
    return Key(key.path.replace("station.label", "station.name"), key.default, key.allowed, key.about)


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
        Key(
            name,
            "needed" if name == "model" else _shown(DEFAULTS.get(name)),
            RULES[name][1],
            told[name],
        )
        for name in RULES
    ]


def _profile() -> Key:
    words = ", ".join(f"`{name}`" for name in PROFILES)
    return Key(
        "profile", "–", words, "A kind of host, whose settings are laid under the keys that stand beside this one."
    )


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
    words = [f"`{word}`" for word in get_args(field.annotation) if isinstance(word, str)]
    default = "needed" if field.is_required() else _shown(field.default)
    plain = "a whole number, 1 or more" if field.annotation is int else "a text"
    return Key(name, default, allowed or ", ".join(words) or plain, about)


def _shown(default: object) -> str:
    return "–" if default in (None, "", {}) else f"`{json.dumps(default)}`"


def _dialects() -> list[str]:
    parts = []
    for name, tables in DIALECTS.items():
        rows = [f"| `{section}.{key}` | `{value}` |" for section, told in tables.items() for key, value in told.items()]
        if rows:
            parts += [f"### `{name}`", "| key | value |\n| --- | --- |\n" + "\n".join(rows)]
    return parts
