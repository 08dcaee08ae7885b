"""Where the BSSs of a building are: rooms with an access point each, and the walls and floors between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

Table = dict[str, Any]


@dataclass(frozen=True)
class Room:
    """The area of one BSS."""

    floor: int
    # Corner with the least coordinates, and size, in metres.
    corner_m: tuple[float, float]
    size_m: tuple[float, float]
    # The access point is in the middle, not at a random place.
    is_ap_in_the_middle: bool = False
    # How many equal parts the area has along x. The access point is in the middle one, and stations take turns.
    parts: int = 1
    # Instead of that of the other rooms: the name of the BSS, its stations, its traffic.
    name: str = ""
    stations: int | None = None
    traffic: str = ""

    @property
    def middle_m(self) -> tuple[float, float]:
        """The middle of the area."""
        return self.corner_m[0] + self.size_m[0] / 2, self.corner_m[1] + self.size_m[1] / 2

    def part(self, number: int) -> Room:
        """A part, from 0."""
        width = self.size_m[0] / self.parts
        corner = (self.corner_m[0] + number * width, self.corner_m[1])
        return replace(self, corner_m=corner, size_m=(width, self.size_m[1]), parts=1)


@dataclass(frozen=True)
class Layout:
    """The rooms of a building, floor by floor and row by row, and its walls, which go through all floors."""

    rooms: list[Room]
    walls: list[Table]


@dataclass(frozen=True)
class Model:
    """A kind of building: what it is, its losses, and its keys that differ from those of others."""

    about: str
    source: str
    # What the names of its BSSs begin with.
    noun: str
    # Settings below those of the scenario.
    below: Table
    # Defaults of its keys.
    defaults: Table
    # Its layout, from all keys.
    lay_out: Callable[[Mapping[str, Any]], Layout]


def _grid_walls(columns: int, rows: int, room_m: tuple[float, float], loss_db: float) -> list[Table]:
    """The walls between rooms, each through the whole building."""
    width, depth = room_m
    across = [([x * width, 0.0], [x * width, rows * depth]) for x in range(1, columns)]
    along = [([0.0, y * depth], [columns * width, y * depth]) for y in range(1, rows)]
    return [{"from_m": a, "to_m": b, "loss_db": loss_db} for a, b in (*across, *along)]


def _grid(keys: Mapping[str, Any], first_floor: int = 0) -> list[Room]:
    """One BSS per room."""
    columns, rows = keys["rooms"]
    width, depth = (float(side) for side in keys["room_m"])
    return [
        Room(first_floor + floor, (x * width, y * depth), (width, depth))
        for floor in range(keys["floors"])
        for y in range(rows)
        for x in range(columns)
    ]


def _flats(keys: Mapping[str, Any]) -> Layout:
    columns, rows = keys["rooms"]
    return Layout(_grid(keys), _grid_walls(columns, rows, keys["room_m"], keys["wall_loss_db"]))


def _cafe(keys: Mapping[str, Any]) -> Layout:
    columns, rows = keys["rooms"]
    width, depth = keys["room_m"]
    hall = Room(0, (0.0, 0.0), (columns * width, rows * depth), name="cafe", stations=keys["guests"], traffic="guests")
    return Layout([hall, *_grid(keys, 1)], _grid_walls(columns, rows, keys["room_m"], keys["wall_loss_db"]))


def _enterprise(keys: Mapping[str, Any]) -> Layout:
    """Offices with a grid of access points each; there are walls between offices alone."""
    columns, rows = keys["rooms"]
    across, along = keys["aps_per_room"]
    width, depth = keys["room_m"]
    small = {**keys, "rooms": [columns * across, rows * along], "room_m": [width / across, depth / along]}
    rooms = [Room(room.floor, room.corner_m, room.size_m, is_ap_in_the_middle=True) for room in _grid(small)]
    return Layout(rooms, _grid_walls(columns, rows, keys["room_m"], keys["wall_loss_db"]))


def _hotel(keys: Mapping[str, Any]) -> Layout:
    """Rows of rooms with a corridor between the first and the second, the third and the fourth, and so on."""
    columns, rows = keys["rooms"]
    width, depth = (float(side) for side in keys["room_m"])
    per_ap = keys["rooms_per_ap"]
    fronts = [row * depth + (row + 1) // 2 * keys["corridor_m"] for row in range(rows)]
    rooms = []
    for floor, front in product(range(keys["floors"]), fronts):
        for first in range(0, columns, per_ap):
            count = min(per_ap, columns - first)
            area = (first * width, front), (count * width, depth)
            rooms.append(Room(floor, *area, parts=count, stations=count * keys["guests"]))
    between = [([x * width, front], [x * width, front + depth]) for front in fronts for x in range(1, columns)]
    lines = sorted({y for front in fronts for y in (front, front + depth)})[1:-1]
    along = [([0.0, y], [columns * width, y]) for y in lines]
    return Layout(rooms, [{"from_m": a, "to_m": b, "loss_db": keys["wall_loss_db"]} for a, b in (*between, *along)])


_TGAX = "IEEE 802.11-14/0980r16, simulation scenarios of TGax"
# Free space at 1 m at 5.25 GHz: 40.05 + 20 log10(5.25 / 2.4).
_REFERENCE_LOSS_DB = 46.85
_RESIDENTIAL: Table = {
    "channel": {"tx_power_dbm": 20.0, "reference_loss_db": _REFERENCE_LOSS_DB, "path_loss_exponent": 3.5},
    "field": {"breakpoint_m": 5.0, "floors": {"height_m": 3.0, "loss_db": 18.3}},
}
_ENTERPRISE: Table = {**_RESIDENTIAL, "field": {**_RESIDENTIAL["field"], "breakpoint_m": 10.0}}
_OF_FLATS = {"room_m": [10.0, 10.0], "wall_loss_db": 5.0, "traffic": "evening"}

MODELS = {
    "tgax-residential": Model(
        "floors of flats in two rows, with an access point and stations at random places of each",
        f"{_TGAX}, scenario 1 (residential)",
        "flat",
        _RESIDENTIAL,
        {**_OF_FLATS, "floors": 5, "rooms": [10, 2], "stations": 10},
        _flats,
    ),
    "flats-in-a-row": Model(
        "flats in a row on one floor",
        f"losses of {_TGAX}, scenario 1",
        "flat",
        _RESIDENTIAL,
        {**_OF_FLATS, "floors": 1, "rooms": [3, 1], "stations": 4},
        _flats,
    ),
    "cafe-below-flats": Model(
        "a café, which has the ground floor, and floors of flats above it; the café's BSS is the first unless `own` says otherwise",
        f"losses of {_TGAX}, scenario 1",
        "flat",
        _RESIDENTIAL,
        {**_OF_FLATS, "floors": 2, "rooms": [3, 1], "stations": 4, "guests": 12},
        _cafe,
    ),
    "enterprise": Model(
        "offices without inner walls, each with a grid of access points",
        f"{_TGAX}, scenario 2 (enterprise): offices of 20 m by 20 m with four access points, walls of 7 dB, breakpoint 10 m",
        "ap",
        _ENTERPRISE,
        {
            "floors": 1,
            "rooms": [4, 2],
            "room_m": [20.0, 20.0],
            "aps_per_room": [2, 2],
            "wall_loss_db": 7.0,
            "stations": 8,
            "traffic": "office",
        },
        _enterprise,
    ),
    "hotel": Model(
        "rooms with two guests each on both sides of a corridor, and an access point in every second room",
        f"losses of {_TGAX}, scenario 1",
        "ap",
        _RESIDENTIAL,
        {
            "floors": 3,
            "rooms": [10, 2],
            "room_m": [4.0, 7.0],
            "corridor_m": 2.0,
            "rooms_per_ap": 2,
            "wall_loss_db": 5.0,
            "guests": 2,
            "traffic": "guests",
        },
        _hotel,
    ),
}
