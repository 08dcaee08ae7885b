"""What an access point would show before and after a change, by runs of a scenario, and with other values of what is assumed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from wifair.errors import InputError
from wifair.files import read_text
from wifair.keys import nearest
from wifair.observed.shown import KINDS, Flows, Quantity
from wifair.stats import Values

# What a file of advice must have, as errors name it.
ALLOWED = "what `wifair advise SCENARIO --out FILE.json` of this version writes for a change that it has confirmed"
DIGITS = 6


@dataclass(frozen=True)
class Pair:
    """What an access point shows in runs without the change and with it, by seed; the seeds are the same in both."""

    own: Mapping[Quantity, Values]
    changed: Mapping[Quantity, Values]


@dataclass(frozen=True)
class Other:
    """An assumption with another value: its key, why it is assumed, the other value in words, and the runs."""

    key: str
    why: str
    other: str
    pair: Pair


@dataclass(frozen=True)
class Prediction:
    """The prediction for a change. `settings` are the keys that it sets.

    `stations` are those of the network, in the order of the scenario; `flows` the directions of these that carry data. A run measures `duration_s`.
    """

    change: str
    settings: Mapping[str, Any]
    duration_s: float
    stations: tuple[str, ...]
    flows: Flows
    pair: Pair
    others: tuple[Other, ...] = ()
    # The goals of the advice, each with its metric.
    goals: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The content of a JSON document."""
        return {
            "change": self.change,
            "settings": dict(self.settings),
            "duration_s": self.duration_s,
            "stations": list(self.stations),
            "flows": [list(flow) for flow in sorted(self.flows)],
            "shown": _rows(self.pair),
            "assumptions": [
                {"key": each.key, "why": each.why, "other": each.other, "shown": _rows(each.pair)}
                for each in self.others
            ],
        }


def _rows(pair: Pair) -> list[dict[str, Any]]:
    return [
        {
            "quantity": what.kind,
            "station": what.station,
            "direction": what.direction,
            "own": _numbers(own),
            "changed": _numbers(pair.changed[what]),
        }
        for what, own in pair.own.items()
        if what in pair.changed
    ]


def _numbers(values: Values) -> list[float | None]:
    return [float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None for value in values]


def read(path: Path) -> Prediction:
    """The prediction in a file of advice. Raises `InputError`, which names file, key, value and what is allowed."""
    text = read_text(path)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is no JSON: {str(error)[:100]}; allowed here: {ALLOWED}.") from None
    found = _Node(str(path), "", document)
    if found.table().get("prediction") is None:
        advised = document.get("advice")
        about = f" (its advice: {advised[:200]})" if isinstance(advised, str) else ""
        raise InputError(f"{path}: prediction: is missing{about}; allowed here: {ALLOWED}.")
    goals = found.at("goals").items() if "goals" in found.table() else []
    return replace(
        _prediction(found.at("prediction")),
        goals={each.at("goal").text(): each.at("metric").text() for each in goals},
    )


def _prediction(node: _Node) -> Prediction:
    flows = [(flow.item(0).text(), flow.item(1).text()) for flow in node.at("flows").items()]
    others = [
        Other(each.at("key").text(), each.at("why").text(), each.at("other").text(), _pair(each.at("shown")))
        for each in node.at("assumptions").items()
    ]
    return Prediction(
        node.at("change").text(),
        node.at("settings").table(),
        node.at("duration_s").positive(),
        tuple(each.text() for each in node.at("stations").items()),
        frozenset(flows),
        _pair(node.at("shown")),
        tuple(others),
    )


def _pair(node: _Node) -> Pair:
    own: dict[Quantity, Values] = {}
    changed: dict[Quantity, Values] = {}
    for row in node.items():
        kind = row.at("quantity").text()
        if kind not in KINDS:
            raise row.at("quantity").error(", ".join(KINDS), nearest(kind, KINDS))
        what = Quantity(kind, row.at("station").text(), row.at("direction").text())
        own[what], changed[what] = row.at("own").values(), row.at("changed").values()
        if len(own[what]) != len(changed[what]) or len(own[what]) < 2:
            raise row.at("own").error("two numbers or more, as many as in `changed`")
    return Pair(own, changed)


@dataclass(frozen=True)
class _Node:
    """A value of a JSON document with its path, for errors."""

    file: str
    path: str
    value: Any

    def error(self, allowed: str, hint: str | None = None) -> InputError:
        shown = json.dumps(self.value)
        shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
        asked = f"did you mean {hint}? Allowed" if hint else "allowed"
        return InputError(f"{self.file}: {self.path}: {shown} is not allowed; {asked} here: {allowed}.")

    def table(self) -> Mapping[str, Any]:
        if not isinstance(self.value, dict):
            raise InputError(f"{self.file}: {self.path or 'the document'}: is no table; allowed here: {ALLOWED}.")
        return self.value

    def at(self, key: str) -> _Node:
        table, path = self.table(), f"{self.path}.{key}".lstrip(".")
        if key not in table:
            raise InputError(f"{self.file}: {path}: is missing; allowed here: {ALLOWED}.")
        return _Node(self.file, path, table[key])

    def items(self) -> list[_Node]:
        if not isinstance(self.value, list):
            raise self.error("a list")
        return [_Node(self.file, f"{self.path}[{i}]", each) for i, each in enumerate(self.value)]

    def item(self, index: int) -> _Node:
        listed = self.items()
        if len(listed) != 2:
            raise self.error("a list of two texts")
        return listed[index]

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.error("a text")
        return self.value

    def positive(self) -> float:
        if not _is_number(self.value) or not self.value > 0:
            raise self.error("a number above 0")
        return float(self.value)

    def values(self) -> Values:
        if not isinstance(self.value, list) or not all(each is None or _is_number(each) for each in self.value):
            raise self.error("a list of numbers")
        return np.array([np.nan if each is None else each for each in self.value], dtype=np.float64)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
