"""The keys of the table `[building]`, and what is allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from wifair.errors import ScenarioError
from wifair.keys import nearest, unknown_key
from wifair.scenario.building.layout import MODELS
from wifair.scenario.building.traffic import NAMES

Table = dict[str, Any]

# What a key may be: whether a value is, and how the allowed values are called.
Rule = tuple[Callable[[Any], bool], str]


def _whole(least: int, most: int) -> Rule:
    return lambda value: type(value) is int and least <= value <= most, f"a whole number from {least} to {most}"


def _number(least: float, most: float, unit: str = "") -> Rule:
    def is_allowed(value: Any) -> bool:
        return type(value) in (int, float) and least <= value <= most

    return is_allowed, f"{least:g} to {most:g}{unit}"


def _pair(of: Rule, example: str) -> Rule:
    def is_allowed(value: Any) -> bool:
        return isinstance(value, list) and len(value) == 2 and all(of[0](each) for each in value)

    return is_allowed, f"two of {of[1]}, as {example}"


def _one_of(names: list[str]) -> Rule:
    return lambda value: value in names, ", ".join(names)


def _channels(value: Any) -> bool:
    is_list = isinstance(value, list) and len(value) > 0 and all(type(each) is int for each in value)
    return value == "one" or (is_list and len(set(value)) == len(value))


RULES: dict[str, Rule] = {
    "model": _one_of(list(MODELS)),
    "floors": _whole(1, 200),
    "rooms": _pair(_whole(1, 1000), "[10, 2]"),
    "room_m": _pair(_number(2, 1000, " m"), "[10.0, 10.0]"),
    "aps_per_room": _pair(_whole(1, 10), "[2, 2]"),
    "rooms_per_ap": _whole(1, 100),
    "corridor_m": _number(0.5, 1000, " m"),
    "wall_loss_db": _number(0, 100, " dB"),
    "stations": _whole(1, 1000),
    "guests": _whole(1, 1000),
    "seed": _whole(0, 2**53),
    "channels": (
        _channels,
        'a list of different channel numbers, as [42, 106, 155], or "one" for one channel without a number',
    ),
    "assign": _one_of(["random", "in-turn"]),
    "own": _whole(1, 1000),
    "traffic": _one_of(NAMES),
    "load": _number(0.01, 100),
    "set": (
        lambda value: isinstance(value, Mapping),
        'a table of keys of what is drawn, as { "bss[mine].channel" = 155 }',
    ),
}
DEFAULTS: Table = {"seed": 1, "channels": None, "assign": "random", "own": None, "load": 1.0, "set": {}}


def checked(given: object) -> Table:
    """All keys of a building, with defaults.

    Raises `ScenarioError` for the first that is not allowed.
    """
    if not isinstance(given, Mapping):
        raise ScenarioError("building", f"{given!r} is not accepted", value=given, allowed="a table of keys")
    model = given.get("model")
    if model is None:
        raise ScenarioError("building.model", "this key is needed", allowed=RULES["model"][1])
    _check("model", model)
    known = {"model": None, **DEFAULTS, **MODELS[model].defaults}
    for key, value in given.items():
        if key not in known:
            raise unknown_key("building", key, value, known)
        _check(key, value)
    return {**known, **given}


def _check(key: str, value: object) -> None:
    is_allowed, allowed = RULES[key]
    if not is_allowed(value):
        hint = nearest(value, allowed.split(", ")) if isinstance(value, str) else ""
        raise ScenarioError(f"building.{key}", f"{value!r} is not allowed", value=value, allowed=allowed, hint=hint)
