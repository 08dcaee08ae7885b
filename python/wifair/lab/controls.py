"""The page's controls as data: the scene (stations, flows, groups) and the controls' values, both from the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wifair.errors import InputError, ScenarioError
from wifair.keys import unknown
from wifair.live import Session
from wifair.planned import AP, bsss_of, channels_of, punctured_of, stations_of, widths_of
from wifair.scenario.components import Node, components, resolved, transport, words
from wifair.scenario.scenario import Scenario
from wifair.scheme.python import PythonScheme

Table = dict[str, Any]

# How many flows of a group can be opened beyond those of the scenario, and the bounds of the page's controls, which are within
# the engine's.
RESERVE = 32
# What cannot change during a run, and by a restart.
RTS, CHANNEL, WIDTH = "mac.rts_threshold_bytes", "bss[{}].channel", "bss[{}].width_mhz"
BOUNDS = {
    ("ap", "limit_packets"): (1, 10_000),
    ("wire", "one_way_delay_ms"): (0, 10_000),
    ("flows", "tcp", "receiver_window_segments"): (1, 10_000),
}


def parameters(name: str) -> list[Table]:
    """The parameters of a scheme for a form: key, kind (`number`, `integer`, `boolean`, `choice`), default, choices, description.

    A parameter of another type is `fixed`: only a scenario file can set it.
    """
    schema = next(listed["parameters"] for listed in components("schemes") if listed["name"] == name)
    return [
        {
            "key": key,
            **_kind(resolved(node, schema)),
            "default": node.get("default"),
            "description": node.get("description", ""),
        }
        for key, node in schema.get("properties", {}).items()
    ]


def _kind(node: Node) -> Table:
    choices = words(node)
    if choices:
        return {"kind": "choice", "choices": choices}
    types = node.get("type", [])
    types = [types] if isinstance(types, str) else list(types)
    nullable = bool(node.get("nullable")) or "null" in types
    for kind in ("boolean", "integer", "number"):
        if kind in types:
            return {"kind": kind, "nullable": nullable}
    return {"kind": "fixed"}


def schemes(named: Mapping[str, PythonScheme]) -> list[Table]:
    """Every scheme that the page offers: the registered ones, and those named on the command line."""
    listed = [
        {
            "name": scheme["name"],
            "idea": scheme["idea"],
            "source": scheme["source"],
            "parameters": parameters(scheme["name"]),
        }
        for scheme in components("schemes")
    ]
    own = [{"name": name, "idea": "Written in Python.", "source": name, "parameters": []} for name in named]
    return [*listed, *own]


def scene(session: Session, named: Mapping[str, PythonScheme]) -> Table:
    """The session's BSSs, stations, flows and groups, and the choices of the controls."""
    plan = session.scenario.plan()
    stations = [station["label"] for station in stations_of(plan)]
    place = {label: index for index, label in enumerate(stations)}
    groups: dict[str, Table] = {}
    for flow in plan["flows"]:
        carried_by = transport(flow["application"]["name"])
        group = groups.setdefault(
            flow["group"],
            {
                "name": flow["group"],
                "direction": flow["direction"],
                "application": flow["application"]["name"],
                "over_tcp": carried_by == "tcp",
                "most": 0,
            },
        )
        group["most"] += 1
    return {
        "title": session.scenario.title,
        "bsss": bsss(plan),
        "in_field": plan["bss"].get("field") is not None,
        "stations": stations,
        "flows": [
            {
                "label": flow["label"],
                "group": flow["group"],
                "direction": flow["direction"],
                "station": place[flow["station"]],
                "over_tcp": transport(flow["application"]["name"]) == "tcp",
                "mss_bytes": flow["tcp"]["mss_bytes"],
            }
            for flow in plan["flows"]
        ],
        "groups": list(groups.values()),
        "phy": plan["bss"]["phy"]["name"],
        "modes": session.modes(),
        "schemes": schemes(named),
        "congestion_controls": [listed["name"] for listed in components("congestion_controls")],
        "bounds": {".".join(path): bounds for path, bounds in BOUNDS.items()},
    }


def bsss(plan: Table) -> list[Table]:
    """The BSSs of a plan for the page: name, channel, width and unused channels, indexes of the stations, whether it has its own wire, the name of its limit controller."""
    neighbours = plan.get("neighbours", [])
    aps = [plan["bss"]["ap"], *(neighbour["ap"] for neighbour in neighbours)]
    wires = [True, *(neighbour["wire"] is not None for neighbour in neighbours)]
    channels, widths, punctured = channels_of(plan), widths_of(plan), punctured_of(plan)
    found, first = [], 0
    for (name, stations), ap, has_wire in zip(bsss_of(plan).items(), aps, wires, strict=True):
        found.append(
            {
                "name": name,
                "channel": channels[name],
                "width_mhz": widths[name],
                "punctured": punctured[name],
                "stations": [*range(first, first + len(stations))],
                "has_wire": has_wire,
                "limit_controller": (ap["tx_queue"].get("limit_controller") or {"name": None})["name"],
            }
        )
        first += len(stations)
    return found


def values(session: Session) -> Table:
    """The present values of the controls: the plan's, updated by the events so far. Limit, rates, MCSs and open flows are in each picture.

    Scheme and limit are those of the BSS that the session shows, the delay that of its wire.
    """
    plan = session.scenario.plan()
    first = next(iter(bsss_of(plan)))
    shown: Table = next((each for each in plan.get("neighbours", []) if each["label"] == session.shown), plan["bss"])
    owner = session.shown if shown.get("wire") else first
    scheme: Table = shown["ap"]["tx_queue"]["scheme"]
    delay_ms = (shown.get("wire") or plan["wire"])["one_way_delay_ms"]
    limit = shown["ap"]["tx_queue"]["limit_packets"]
    tcp = {
        flow["group"]: {key: flow["tcp"][key] for key in ("congestion_control", "receiver_window_segments", "ecn")}
        for flow in plan["flows"]
        if transport(flow["application"]["name"]) == "tcp"
    }
    counts: dict[str, int] = {}
    for flow in plan["flows"]:
        counts[flow["group"]] = counts.get(flow["group"], 0) + (not flow["waits"])
    for event in plan["events"]:
        if event["at_s"] > session.now_s:
            continue
        ap, flows, wire = event.get("ap") or {}, event.get("flows") or {}, event.get("wire") or {}
        of = first if event.get("bss") in (None, AP) else event["bss"]
        if of == session.shown:
            scheme = ap.get("scheme") or scheme
            limit = ap.get("limit_packets") or limit
        if of == owner:
            delay_ms = wire.get("one_way_delay_ms", delay_ms)
        if flows.get("count") is not None:
            counts[flows["group"]] = flows["count"]
        changed = {key: value for key, value in (flows.get("tcp") or {}).items() if value is not None}
        if changed:
            tcp[flows["group"]].update(changed)
    by_id = session.scenario.python_schemes
    if scheme["name"] == "external":
        scheme = {"name": str(by_id[scheme["id"]]), **scheme["parameters"]}
    for table in tcp.values():
        table["congestion_control"] = table["congestion_control"]["name"]
    return {
        "bss": session.shown,
        "fixed": fixed_values(plan),
        "scheme": scheme,
        "limit_packets": limit,
        "one_way_delay_ms": delay_ms,
        "tcp": tcp,
        "counts": counts,
    }


def fixed_values(plan: Table) -> Table:
    """The values of the keys that the page can set only by a restart (`fixed`)."""
    channels = {CHANNEL.format(name): number for name, number in channels_of(plan).items() if number is not None}
    has_widths = channels and plan["bss"]["phy"].get("width_mhz") is not None
    widths = {WIDTH.format(name): width_mhz for name, width_mhz in widths_of(plan).items()} if has_widths else {}
    return {RTS: plan["bss"]["mac"]["rts_threshold_bytes"], **channels, **widths}


def fixed(given: object, scenario: Scenario) -> Table:
    """The keys that a restart sets: the RTS threshold, and channel and width of each BSS. The scenario and the engine validate them."""
    known = [RTS, *(key.format(table.name) for key in (CHANNEL, WIDTH) for table in scenario.bss)]
    if not isinstance(given, Mapping):
        raise InputError(f"set: a table of keys is needed; allowed here: {', '.join(known)}.")
    for key, value in given.items():
        if key not in known:
            raise unknown("key of a restart", str(key)[:40], known)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise ScenarioError(
                key, f"{str(value)[:40]!r} is not accepted", value=value, allowed="a whole number, or none"
            )
    return dict(given)


def change(given: object, named: Mapping[str, PythonScheme]) -> Table:
    """A change requested by the page, in the form that `Session.apply` takes. The scenario's schema and the engine validate it."""
    if not isinstance(given, Mapping):
        raise InputError("change: a table of keys is needed.")
    for path, (low, high) in BOUNDS.items():
        value: Any = given
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None and not (
            isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
        ):
            raise ScenarioError(".".join(path), f"{value!r} is not accepted", value=value, allowed=f"{low} to {high}")
    ap = given.get("ap")
    scheme: Any = ap.get("scheme") if isinstance(ap, Mapping) else None
    name: Any = scheme.get("name") if isinstance(scheme, Mapping) else scheme
    if isinstance(name, str) and name in named:
        with_name = {**scheme, "name": named[name]} if isinstance(scheme, Mapping) else named[name]
        return {**given, "ap": {**ap, "scheme": with_name}}  # type: ignore[dict-item]
    return dict(given)
