"""Nodes of a field with their places, and the powers with which they receive each other."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from wifair.errors import InputError
from wifair.planned import bsss_of, channels_of, punctured_of, widths_of

if TYPE_CHECKING:
    from wifair.scenario.scenario import Scenario


@dataclass(frozen=True)
class Node:
    """A node of a field."""

    # Its name, that of its BSS for an access point.
    name: str
    bss: str
    is_ap: bool
    # In metres; None without a position.
    place_m: tuple[float, float] | None
    floor: int


@dataclass(frozen=True)
class FloorPlan:
    """The nodes of a field, and who receives whom."""

    # By BSS, the access point before its stations.
    nodes: list[Node]
    # By BSS.
    channels: dict[str, int | None]
    # By BSS, in MHz.
    widths: dict[str, int]
    # By BSS: channels of 20 MHz that it never uses.
    punctured: dict[str, list[int]]
    # Both ends in metres, and the loss in dB.
    walls: list[tuple[tuple[float, float], tuple[float, float], float]]
    preamble_detection_dbm: float
    # By transmitter and receiver: the power in dBm, if it is above `field.floor_dbm`.
    received_dbm: Mapping[tuple[str, str], float]
    # Pairs of stations of one channel of which at least one does not sense the other.
    hidden: list[tuple[str, str]]

    @property
    def own(self) -> str:
        """The first BSS."""
        return next(iter(self.channels))

    @property
    def access_points(self) -> list[Node]:
        """The access points, the first BSS's first."""
        return [node for node in self.nodes if node.is_ap]

    @property
    def has_places(self) -> bool:
        """Whether nodes have different places, so that there is something to draw."""
        return len({node.place_m for node in self.nodes if node.place_m}) > 1

    @cached_property
    def bss_of(self) -> dict[str, str]:
        """The BSS of each node by name."""
        return {node.name: node.bss for node in self.nodes}

    def heard(self, ap: str) -> list[tuple[str, float]]:
        """The access points of other BSSs whose preambles the access point of this name detects, the strongest first."""
        found = [
            (other.name, dbm)
            for other in self.access_points
            if (dbm := self.received_dbm.get((other.name, ap), -1e9)) >= self.preamble_detection_dbm
        ]
        return sorted(found, key=lambda each: (-each[1], each[0]))

    @cached_property
    def links(self) -> list[tuple[str, str, float]]:
        """Pairs of access points of which at least one detects the other's preambles, with the greater power."""
        names = [node.name for node in self.access_points]
        found = []
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                dbm = max(self.received_dbm.get((a, b), -1e9), self.received_dbm.get((b, a), -1e9))
                if dbm >= self.preamble_detection_dbm:
                    found.append((a, b, dbm))
        return found

    @cached_property
    def hidden_of(self) -> Counter[str]:
        """By BSS: its hidden pairs, those with stations of other BSSs included."""
        count: Counter[str] = Counter()
        for pair in self.hidden:
            count.update({self.bss_of[name] for name in pair})
        return count


def of_scenario(scenario: Scenario) -> FloorPlan:
    """The floor plan of a scenario.

    Raises `InputError` for one without the table `field`.
    """
    from wifair import _native
    from wifair.scheme.python import makers

    plan = scenario.plan()
    field = plan["bss"]["field"]
    if field is None:
        raise InputError("field: the scenario has no such table: all nodes receive each other equally well.")
    bsss = [plan["bss"], *plan.get("neighbours", [])]
    nodes: list[Node] = []
    for name, bss in zip(bsss_of(plan), bsss, strict=True):
        nodes.append(_node(name, name, bss["ap"], is_ap=True))
        nodes += [_node(station["label"], name, station, is_ap=False) for station in bss["stations"]]
    received = json.loads(_native.received_powers(scenario.plan_json, makers(scenario.python_schemes)))
    names = [node.name for node in nodes]
    powers = {(names[i], names[j]): dbm for i, row in enumerate(received["received_dbm"]) for j, dbm in row}
    walls = [(tuple(wall["from_m"]), tuple(wall["to_m"]), wall["loss_db"]) for wall in field.get("walls", [])]
    hidden = list(scenario.hidden_pairs())
    channels, widths, punctured = channels_of(plan), widths_of(plan), punctured_of(plan)
    return FloorPlan(nodes, channels, widths, punctured, walls, field["preamble_detection_dbm"], powers, hidden)


def _node(name: str, bss: str, spec: Mapping[str, Any], *, is_ap: bool) -> Node:
    place = spec.get("position_m")
    where = (float(place[0]), float(place[1])) if place is not None else None
    return Node(name, bss, is_ap, where, spec.get("floor", 0))
