"""The BSSs of a plan, and keys of what is in it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from wifair.errors import InputError, ScenarioError
from wifair.keys import nearest

# The first BSS's access point in results, and the stations of a BSS together.
AP, STATIONS = "ap", "stations"
# What the JSON of a canonical plan with several BSSs contains.
SEVERAL = '"neighbours":'
# From one number of a channel to the next (802.11-2020, Annex E).
STEP_MHZ = 5
# Keys of a plan that one of a single BSS does not have.
OF_SEVERAL = ("neighbours", "bss_label", "bss_channel", "bss_primary", "bss_punctured")
# Keys of a station that are its rates, also in an event.
RATES = ("mcs", "mcs_down", "rate_mbps", "rate_down_mbps")


def bsss_of(plan: Mapping[str, Any]) -> dict[str, list[str]]:
    """The BSSs of a plan, the first first: the names of their stations. One without a name is called `ap`."""
    found = {plan.get("bss_label", AP): plan["bss"]}
    found |= {neighbour["label"]: neighbour for neighbour in plan.get("neighbours", [])}
    return {name: [station["label"] for station in bss["stations"]] for name, bss in found.items()}


def channels_of(plan: Mapping[str, Any]) -> dict[str, int | None]:
    """The number of each BSS's channel by its name; None if all are on one, which has none."""
    channels = [plan.get("bss_channel"), *(neighbour.get("channel") for neighbour in plan.get("neighbours", []))]
    return dict(zip(bsss_of(plan), channels, strict=True))


def widths_of(plan: Mapping[str, Any]) -> dict[str, int]:
    """The width of each BSS's channel in MHz by its name."""
    phy = plan["bss"]["phy"]
    is_wide = phy["name"] in ("802.11ac", "802.11ax", "802.11be") and phy.get("band_ghz") != 2.4
    own = phy.get("width_mhz") or (80 if is_wide else 20)
    widths = [own, *(neighbour.get("width_mhz") or own for neighbour in plan.get("neighbours", []))]
    return dict(zip(bsss_of(plan), widths, strict=True))


def primaries_of(plan: Mapping[str, Any]) -> dict[str, int | None]:
    """The number of each BSS's primary channel by its name; None if it is the lowest in the channel."""
    primaries = [plan.get("bss_primary"), *(neighbour.get("primary") for neighbour in plan.get("neighbours", []))]
    return dict(zip(bsss_of(plan), primaries, strict=True))


def punctured_of(plan: Mapping[str, Any]) -> dict[str, list[int]]:
    """The numbers of the channels of 20 MHz in its channel that each BSS never uses, by its name."""
    lists = [plan.get("bss_punctured"), *(neighbour.get("punctured") for neighbour in plan.get("neighbours", []))]
    return {name: list(found or []) for name, found in zip(bsss_of(plan), lists, strict=True)}


def overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Whether two channels of one band, each its number and its width in MHz, have a frequency in common."""
    return 2 * STEP_MHZ * abs(a[0] - b[0]) < a[1] + b[1]


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


def named(plan: Mapping[str, Any], name: str, key: str = "--bss") -> str:
    """The name of a BSS of a plan of several. Raises `InputError` for another name; `key` names the option or argument."""
    known = list(bsss_of(plan))
    if not plan.get("neighbours"):
        raise InputError(f"{key}: {name!r} is not allowed, since the scenario has one BSS; allowed here: leave it out.")
    if name not in known:
        hint = nearest(name, known)
        asked = f"; did you mean {hint}?" if hint else "."
        raise InputError(f"{key}: no BSS is called {name!r}{asked} Allowed here: {', '.join(known)}.")
    return name


def others_of(plan: Mapping[str, Any], name: str) -> list[str]:
    """The names of the other BSSs."""
    return [other for other in bsss_of(plan) if other != name]


def part(plan: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """A plan to be read, not run: that of some BSSs alone, as if they were one. The access point and the wire are those of the first of them."""
    if not plan.get("neighbours"):
        return dict(plan)
    own = {name: stations for name, stations in bsss_of(plan).items() if name in names}
    labels = {label for stations in own.values() for label in stations}
    first = next(iter(own))
    ap = next((each["ap"] for each in plan["neighbours"] if each["label"] == first), plan["bss"]["ap"])
    stations = [station for station in stations_of(plan) if station["label"] in labels]
    events = [event for event in plan.get("events") or [] if _is_of(event, own, labels, next(iter(bsss_of(plan))))]
    found = {key: value for key, value in plan.items() if key not in OF_SEVERAL}
    return {
        **found,
        "bss": {**plan["bss"], "ap": ap, "stations": stations},
        "wire": wire_of(plan, own[first][0]),
        "flows": [flow for flow in plan["flows"] if flow["station"] in labels],
        "events": events,
    }


def _is_of(event: Mapping[str, Any], own: Collection[str], labels: Collection[str], first: str) -> bool:
    """Whether an event changes what some BSSs have."""
    if event.get("station"):
        return event["station"]["label"] in labels
    return not event.get("ap") or (event.get("bss") or first) in own


def refuse_several(plan: Mapping[str, Any], what: str) -> None:
    """Raises `ScenarioError` for a plan of several BSSs, which `what` does not have."""
    if len(plan.get("neighbours", [])):
        allowed = "one BSS; `wifair run`, `compare`, `sweep`, `explain` and `check` take several"
        raise ScenarioError("bss", f"{what} has one BSS", allowed=allowed)
