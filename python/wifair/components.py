"""What the engine says about its own parameters, and the check of a user's settings against it.

The engine owns every component's parameters and exports them as JSON Schema; nothing is defined twice. The check here
walks that schema so that an error can name the key as the user wrote it, and the nearest right spelling. Ranges and
impossible combinations are the engine's to judge.
"""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from wifair.errors import InputError, ScenarioError

Node = Mapping[str, Any]

UNITS = {
    "_ns": "nanoseconds",
    "_us": "microseconds",
    "_ms": "milliseconds",
    "_s": "seconds",
    "_bytes": "bytes",
    "_mbps": "Mbps",
    "_mhz": "MHz",
    "_ghz": "GHz",
    "_packets": "packets",
    "_segments": "segments",
    "_db": "dB",
    "_m": "metres",
    "_packets_per_s": "packets a second",
    "_m_per_s": "metres a second",
}


# What exists and is not modelled, by the words that a scenario may ask for it with: a similar name would be no help.
_MILLIMETRE = "60 GHz, with directional beams and a MAC for them"
NOT_MODELLED = {
    "802.11": "the original PHYs of 1997",
    "802.11ad": _MILLIMETRE,
    "802.11ay": _MILLIMETRE,
    "802.11aj": _MILLIMETRE,
    "802.11ah": "below 1 GHz",
    "802.11af": "television bands",
    "802.11p": "vehicles, outside of a BSS",
    "802.11bd": "vehicles, outside of a BSS",
    "802.11bn": "several APs that coordinate",
    "802.11bb": "light",
    "multi_link": "multi-link operation: a station has one link",
    "mlo": "multi-link operation: a station has one link",
    "links": "multi-link operation: a station has one link",
    "ofdma": "OFDMA: a PPDU has one user",
    "mu_mimo": "MU-MIMO: a PPDU has one user",
    "beamforming": "beamforming",
    "hidden_stations": "hidden stations: every node hears every other",
    "hidden": "hidden stations: every node hears every other",
    "carrier_sense_range_m": "hidden stations: every node hears every other",
    "bss": "a second BSS: there is one",
    "neighbours": "a second BSS: there is one",
    "interferers": "interference from outside of the BSS",
    "roaming": "roaming: there is one AP",
    "mesh": "mesh: stations talk to the AP alone",
    "power_save": "power saving",
    "twt": "target wake time",
    "beacons": "beacons and association",
    "pacing": "pacing of segments",
    "bbr": "BBR: congestion control here reacts to losses and marks",
    "quic": "QUIC: transports are TCP and UDP",
    "timestamps": "TCP timestamps",
}


def missing(name: object) -> str:
    """What of the real world a name stands for that is not modelled; empty where it is none of these."""
    told = name.lower().replace("-", "_") if isinstance(name, str) else ""
    return NOT_MODELLED.get(told.replace("_", "-") if told.startswith("802") else told, "")


def unknown(kind: str, name: str, known: Iterable[str], where: str = "") -> InputError:
    """The error for a name that does not exist."""
    known = list(known)
    hint = nearest(name, known)
    asked = f" Did you mean {hint}?" if hint else ""
    return InputError(f"{where}there is no {kind} {name!r}.{asked} Allowed here: {', '.join(known)}.")


# A key that TOML takes without quotes, or several by dots; a path of ours may have places in a list behind each.
BARE_KEY = re.compile(r"([A-Za-z0-9_-]+(\[\d+\])*)(\.[A-Za-z0-9_-]+(\[\d+\])*)*")


@cache
def engine_schema() -> dict[str, Any]:
    """The engine's own description: `plan` (a JSON Schema), the lists of components, `limits`."""
    from wifair import _native

    described: dict[str, Any] = json.loads(_native.schema())
    return described


def components(kind: str) -> list[dict[str, Any]]:
    """The registered components of a kind (`schemes`, `congestion_controls`, …), each with source, idea, parameters."""
    listed: list[dict[str, Any]] = engine_schema()[kind]
    return listed


def transport(application: str) -> str:
    """What carries an application's packets: `tcp`, `udp` or `icmp`."""
    found: str = next(listed for listed in components("applications") if listed["name"] == application)["transport"]
    return found


def has_mcs(phy: str) -> bool:
    """Whether stations of a PHY have an MCS instead of a rate: from 802.11n on."""
    return any(listed["name"] == phy and not listed["rates_mbps"] for listed in components("phys"))


def highest_rate_mbps(phy: str | None) -> float | None:
    """The highest rate of a PHY, of the plan's own where none is named; nothing where there is no such PHY, or its stations have an MCS."""
    phy = phy or default_name(plan_node("cell", "phy"))
    return max(
        (rate for listed in components("phys") if listed["name"] == phy for rate in listed["rates_mbps"]), default=None
    )


def default_name(node: Node) -> str | None:
    """The component that a key chooses where the scenario does not say."""
    default = node.get("default")
    return default.get("name") if isinstance(default, Mapping) else None


def plan_node(*keys: str) -> Node:
    """The schema of the plan's key at the given path; `"[]"` steps into the entries of a list."""
    node = resolved(engine_schema()["plan"])
    for key in keys:
        node = resolved(node["items"] if key == "[]" else node["properties"][key])
    return node


def resolved(node: Node, root: Node | None = None) -> Node:
    """`node` with its reference followed and a choice "this or nothing" reduced to this."""
    root = root or engine_schema()["plan"]
    if "$ref" in node:
        target: Any = root
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        target = resolved(target, root)
        own = {key: value for key, value in node.items() if key != "$ref"}
        return {**target, **own, "properties": {**target.get("properties", {}), **own.get("properties", {})}}
    for choice in ("anyOf", "oneOf"):
        options = [option for option in node.get(choice, []) if option.get("type") != "null"]
        if len(options) == 1 and len(node[choice]) == 2:
            own = {key: value for key, value in node.items() if key != choice}
            return {**resolved(options[0], root), **own, "nullable": True}
    return node


def properties(node: Node) -> dict[str, Node]:
    """The keys of a table."""
    found: dict[str, Node] = dict(resolved(node).get("properties", {}))
    return found


def variants(node: Node, root: Node | None = None) -> dict[str, Node]:
    """The components that a key chooses from, by name; empty where the key is no such choice."""
    found: dict[str, Node] = {}
    for option in resolved(node, root).get("oneOf", []):
        option = resolved(option, root)
        name = option.get("properties", {}).get("name", {})
        if "const" not in name and len(name.get("enum", [])) != 1:
            return {}
        found[name.get("const", name.get("enum", [None])[0])] = option
    return found


def words(node: Node) -> list[str]:
    """The words that a key chooses from; empty where any text or another type is allowed."""
    node = resolved(node)
    if "enum" in node:
        return [word for word in node["enum"] if word is not None]
    options = node.get("oneOf", node.get("anyOf", []))
    listed: list[str] = []
    for option in options:
        if "const" in option:
            listed.append(option["const"])
        elif "enum" in option:
            listed.extend(option["enum"])
        elif option.get("type") != "null":
            return []
    return listed


def unit_of(key: str) -> str:
    """The unit in a key's name, in words; empty where it has none."""
    suffix = max((suffix for suffix in UNITS if key.endswith(suffix)), key=len, default="")
    return UNITS.get(suffix, "")


def nearest(key: str, known: Iterable[str]) -> str:
    """The known key that `key` was meant to be: the same quantity in another unit, or the closest spelling."""
    known = list(known)
    for name in known:
        if unit_of(name) and unit_of(key) and _stem(name) == _stem(key):
            return f"{name} (in {unit_of(name)})"
    matches = difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    if not matches:
        matches = [name for name in known if _stem(name) == key][:1]
    return matches[0] if matches else ""


def _stem(key: str) -> str:
    suffix = max((suffix for suffix in UNITS if key.endswith(suffix)), key=len, default="")
    return key.removesuffix(suffix)


def unknown_key(path: str, key: str, value: object, known: Iterable[str], where: str = "") -> ScenarioError:
    """The error for a key that does not exist."""
    known = sorted(known)
    problem, hint = f"unknown key (value {value!r}){where}", nearest(key, known)
    if lack := missing(key):
        problem, hint = f"not modelled ({lack}; docs/scope.md)", ""
    return ScenarioError(join(path, key), problem, value=value, allowed=", ".join(known), hint=hint)


def join(path: str, key: str) -> str:
    """The path of `key` below `path`. What TOML has in quotes is in quotes."""
    key = key if BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
    return f"{path}.{key}" if path else key


def checked(value: object, node: Node, path: str) -> Any:
    """`value` as the plan wants it (a component named by a string becomes its table), or the error that says why not."""
    node = resolved(node)
    if value is None and (node.get("nullable") or "null" in _types(node)):
        return None
    choice = variants(node)
    if choice:
        return _checked_component(value, choice, path)
    allowed = words(node)
    if allowed:
        if value not in allowed:
            hint = nearest(value, allowed) if isinstance(value, str) else ""
            raise ScenarioError(path, f"{value!r} is no choice", value=value, allowed=", ".join(allowed), hint=hint)
        return value
    if "properties" in node and "object" in _types(node):
        return checked_table(value, node, path)
    if "array" in _types(node) and "items" in node:
        if not isinstance(value, (list, tuple)):
            raise ScenarioError(path, f"{value!r} is not a list", value=value)
        return [checked(entry, node["items"], f"{path}[{i}]") for i, entry in enumerate(value)]
    _check_type(value, _types(node), path)
    if isinstance(value, int) and value < 0 and str(node.get("format", "")).startswith("uint"):
        described = re.search(r"\b\d+ to \d+\b", str(node.get("description", "")))
        range_ = described[0] if described else "whole numbers from 0 on"
        raise ScenarioError(path, f"{value} is not allowed", value=value, allowed=range_)
    return value


def checked_table(value: object, node: Node, path: str, component: str = "") -> dict[str, Any]:
    """A table whose keys are all known, each value checked in turn."""
    if not isinstance(value, Mapping):
        raise ScenarioError(path, f"{value!r} is not a table of keys", value=value, allowed=", ".join(properties(node)))
    known = properties(node)
    for key in value:
        if key not in known:
            raise unknown_key(path, key, value[key], known, f" of {component}" if component else "")
    return {key: checked(entry, known[key], join(path, key)) for key, entry in value.items()}


def _checked_component(value: object, choice: dict[str, Node], path: str) -> dict[str, Any]:
    from wifair.python_scheme import MARK, PythonScheme

    table: Mapping[str, Any] = {"name": value} if isinstance(value, str) else value  # type: ignore[assignment]
    if not isinstance(table, Mapping):
        raise ScenarioError(path, f"{value!r} is neither a name nor a table", value=value, allowed=", ".join(choice))
    name = table.get("name")
    if "droptail" in choice:  # schemes may be written in Python
        if isinstance(name, PythonScheme):
            return name.component({key: entry for key, entry in table.items() if key != "name"}, path)
        if isinstance(name, str) and MARK in name:
            problem = f"{name!r} is a scheme written in Python, and a scenario file never makes anything run its code"
            allowed = f"a name from `wifair schemes`; name the file on the command line (--set {path}={name}), or pass the class"
            raise ScenarioError(path, problem, value=name, allowed=allowed)
    if not isinstance(name, str) or name not in choice:
        problem = "the table needs a name" if name is None else f"unknown name {name!r}"
        hint = nearest(name, choice) if isinstance(name, str) else ""
        if lack := missing(name):
            problem, hint = f"{name} is not modelled ({lack}; docs/scope.md)", ""
        raise ScenarioError(path, problem, value=name, allowed=", ".join(sorted(choice)), hint=hint)
    own = properties(choice[name])
    for key in table:
        owners = [other for other, option in choice.items() if key in properties(option)]
        if key not in own and owners:
            problem = f"{name!r} has no such parameter (value {table[key]!r}), it belongs to {', '.join(owners)}"
            parameters = ", ".join(sorted(set(own) - {"name"})) or f"no parameters, {name!r} has none"
            raise ScenarioError(join(path, key), problem, value=table[key], allowed=parameters)
    settings = checked_table(
        {key: table[key] for key in table if key != "name"}, _without_name(choice[name]), path, repr(name)
    )
    return {"name": name, **settings}


def _without_name(node: Node) -> Node:
    known = {key: value for key, value in properties(node).items() if key != "name"}
    return {"type": "object", "properties": known}


def _types(node: Node) -> list[str]:
    types = node.get("type", [])
    if "properties" in node and not types:
        return ["object"]
    return [types] if isinstance(types, str) else list(types)


def _check_type(value: object, types: list[str], path: str) -> None:
    unit = unit_of(path.rpartition(".")[2])
    in_unit = f" in {unit}" if unit else ""
    whole = isinstance(value, int) and not isinstance(value, bool)  # of any length
    real = isinstance(value, float) and math.isfinite(value)
    wanted = {
        "number": ("a number" + in_unit, whole or real),
        "integer": ("a whole number" + in_unit, whole or (isinstance(value, float) and value.is_integer())),
        "boolean": ("true or false", isinstance(value, bool)),
        "string": ("a text", isinstance(value, str)),
        "object": ("a table", isinstance(value, Mapping)),
        "array": ("a list", isinstance(value, (list, tuple))),
    }
    kinds = [kind for kind in types if kind in wanted]
    if kinds and not any(wanted[kind][1] for kind in kinds):
        allowed = " or ".join(wanted[kind][0] for kind in kinds)
        raise ScenarioError(path, f"{value!r} is not {allowed}", value=value)
