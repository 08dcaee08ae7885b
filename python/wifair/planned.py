"""The BSSs of a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wifair.errors import ScenarioError

# The first BSS's access point in results, and the stations of a BSS together.
AP, STATIONS = "ap", "stations"
# What the JSON of a canonical plan with several BSSs contains.
SEVERAL = '"neighbours":'


def bsss_of(plan: Mapping[str, Any]) -> dict[str, list[str]]:
    """The BSSs of a plan, the first first: the names of their stations. One without a name is called `ap`."""
    found = {plan.get("bss_label", AP): plan["bss"]}
    found |= {neighbour["label"]: neighbour for neighbour in plan.get("neighbours", [])}
    return {name: [station["label"] for station in bss["stations"]] for name, bss in found.items()}


def channels_of(plan: Mapping[str, Any]) -> dict[str, int | None]:
    """The number of each BSS's channel by its name; None if all are on one, which has none."""
    channels = [plan.get("bss_channel"), *(neighbour.get("channel") for neighbour in plan.get("neighbours", []))]
    return dict(zip(bsss_of(plan), channels, strict=True))


def stations_of(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The stations of all BSSs."""
    of_neighbours = (station for neighbour in plan.get("neighbours", []) for station in neighbour["stations"])
    return [*plan["bss"]["stations"], *of_neighbours]


def wire_of(plan: Mapping[str, Any], station: str) -> dict[str, Any]:
    """The wire of a station's BSS: its own, or that of the first."""
    for neighbour in plan.get("neighbours", []):
        if any(own["label"] == station for own in neighbour["stations"]):
            return dict(neighbour["wire"] or plan["wire"])
    return dict(plan["wire"])


def of_first(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The flows of the first BSS."""
    own = {station["label"] for station in plan["bss"]["stations"]}
    return [flow for flow in plan["flows"] if flow["station"] in own]


def refuse_several(plan: Mapping[str, Any], what: str) -> None:
    """Raises `ScenarioError` for a plan of several BSSs, which `what` does not have."""
    if len(plan.get("neighbours", [])):
        allowed = "one BSS; `wifair run`, `compare`, `sweep`, `explain` and `check` take several"
        raise ScenarioError("bss", f"{what} has one BSS", allowed=allowed)
