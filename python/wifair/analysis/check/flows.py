"""Rules on flows and their stations: who takes part, and what names say."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wifair.analysis.check.finding import Finding, listed
from wifair.analysis.check.plan import Plan

# Words in a group's name that say which way its data goes, or what it carries.
WAYS = {word: way for way in ("up", "down") for word in (way, f"{way}load", f"{way}loads", f"{way}link")}
CARRIED = {
    "ping": ("ping",),
    "game": ("game", "udp"),
    "voip": ("voip", "udp"),
    "call": ("voip", "udp"),
    "web": ("web", "transfers"),
    "pages": ("web", "transfers"),
    "reading": ("web", "transfers"),
    **dict.fromkeys(("upload", "uploads", "download", "downloads"), ("bulk", "transfers", "web", "udp")),
}


def stations_without_flows(plan: Plan) -> Iterator[Finding]:
    """Stations that no flow uses take no part."""
    labels = [station["label"] for station in plan.plan["bss"]["stations"]]
    used = {flow["station"] for flow in plan.flows}
    if idle := [label for label in labels if label not in used]:
        yield Finding(
            "flows.station",
            f"no flow uses {listed(idle)}; first_station places a group's flows at other stations than the first ones",
            f"{len(used)} of {len(labels)} stations have flows",
            {"stations": len(labels), "idle_stations": len(idle)},
        )


def pings_of_stations_that_upload(plan: Plan) -> Iterator[Finding]:
    """A ping from a station that uploads waits in that station's own buffer, not only where all wait."""
    for flow in plan.of("ping"):
        if uploads := [other["label"] for other in plan.uploads if other["station"] == flow["station"]]:
            yield Finding(
                f"{flow['label']}.station",
                f"{flow['label']} is sent by a station that uploads: it waits behind the upload in the station's own buffer",
                f"{flow['station']} has {listed(uploads)} too",
                {"uploads": len(uploads)},
            )


def names_that_contradict(plan: Plan) -> Iterator[Finding]:
    """A group of flows is called after a direction or an application that it does not have."""
    for flow in {flow["group"]: flow for flow in plan.flows}.values():
        group, way, carried = flow["group"], flow["direction"], flow["application"]["name"]
        for word in re.findall("[a-z]+", group.lower()):
            if WAYS.get(word, way) != way:
                yield Finding(
                    f"{group}.direction",
                    f"{group} goes {way}",
                    f'its name says "{word}"',
                    {"flows": plan.size_of(group)},
                )
            if carried not in CARRIED.get(word, (carried,)):
                text = f"{group} carries {carried}"
                values = {"flows": plan.size_of(group)}
                yield Finding(f"{group}.application", text, f'its name says "{word}"', values)
