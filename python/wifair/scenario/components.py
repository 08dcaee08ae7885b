"""The engine's JSON Schema of its parameters, and the check of settings against it.

The engine defines every component's parameters and exports them as JSON Schema. The check walks that schema, so an
error names the key as the user wrote it and the nearest right spelling. The engine checks ranges and combinations.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cache, cached_property
from typing import Any

from wifair.errors import ScenarioError
from wifair.keys import join, missing, nearest, shown, unit_of, unknown_key

Node = Mapping[str, Any]
# Keys of a node that leads to others.
_LEADING = frozenset({"$ref", "anyOf", "oneOf"})


@cache
def engine_schema() -> dict[str, Any]:
    """The engine's description of itself: `plan` (a JSON Schema), the lists of components, `limits`."""
    from wifair import _native

    described: dict[str, Any] = json.loads(_native.schema())
    return described


def components(kind: str) -> list[dict[str, Any]]:
    """The registered components of a kind (`schemes`, `congestion_controls`, …), each with source, idea, parameters."""
    listed: list[dict[str, Any]] = engine_schema()[kind]
    return listed


def transport(application: str) -> str:
    """The transport of an application: `tcp`, `udp` or `icmp`."""
    found: str = next(listed for listed in components("applications") if listed["name"] == application)["transport"]
    return found


def has_mcs(phy: str) -> bool:
    """Whether stations of a PHY have an MCS instead of a rate (802.11n and later)."""
    return any(listed["name"] == phy and not listed["rates_mbps"] for listed in components("phys"))


def highest_rate_mbps(phy: str | None) -> float | None:
    """The highest rate of a PHY (default: the plan's) in Mbps. None for an unknown PHY, or one with MCS."""
    phy = phy or default_name(plan_node("bss", "phy"))
    return max(
        (rate for listed in components("phys") if listed["name"] == phy for rate in listed["rates_mbps"]), default=None
    )


def default_name(node: Node) -> str | None:
    """The default component of a key."""
    default = node.get("default")
    return default.get("name") if isinstance(default, Mapping) else None


@cache
def plan_node(*keys: str) -> Node:
    """The schema of the plan's key at the given path; `"[]"` steps into the entries of a list."""
    if not keys:
        return resolved(engine_schema()["plan"])
    above = plan_node(*keys[:-1])
    return resolved(above["items"] if keys[-1] == "[]" else above["properties"][keys[-1]])


def resolved(node: Node, root: Node | None = None) -> Node:
    """`node` with references followed, and the null alternative removed."""
    if _LEADING.isdisjoint(node):
        return node
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
    """The schemas of a table's keys."""
    found: dict[str, Node] = dict(resolved(node).get("properties", {}))
    return found


def variants(node: Node, root: Node | None = None) -> dict[str, Node]:
    """The components that a key can name, with their schemas; empty if it does not name a component."""
    found: dict[str, Node] = {}
    for option in resolved(node, root).get("oneOf", []):
        option = resolved(option, root)
        name = option.get("properties", {}).get("name", {})
        if "const" not in name and len(name.get("enum", [])) != 1:
            return {}
        found[name.get("const", name.get("enum", [None])[0])] = option
    return found


def words(node: Node) -> list[str]:
    """The texts that a key allows; empty if it allows any text or another type."""
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


class Rule:
    """What a node of the schema allows. A scenario has the same keys many times, so a rule reads its node once."""

    def __init__(self, node: Node) -> None:
        node = resolved(node)
        self._node = node
        self.types = _types(node)
        self.kinds = [kind for kind in self.types if kind in _HOLDS]
        self.optional = bool(node.get("nullable")) or "null" in self.types
        self.components = {name: Rule(option) for name, option in variants(node).items()}
        self.words = words(node)
        self.is_table = "properties" in node and "object" in self.types
        self.is_list = "array" in self.types and "items" in node
        bits = re.fullmatch(r"uint(\d*)", str(node.get("format", "")))
        # The end of a range of whole numbers from 0, exclusive; None for another type.
        self.end = 2 ** int(bits[1] or 64) if bits else None

    @cached_property
    def keys(self) -> dict[str, Rule]:
        """The rules of a table's keys."""
        return {key: Rule(node) for key, node in properties(self._node).items()}

    @cached_property
    def entry(self) -> Rule:
        """The rule of a list's entries."""
        return Rule(self._node["items"])

    @cached_property
    def parameters(self) -> Rule:
        """The rule of a component's keys other than its name."""
        return table_of({key: node for key, node in properties(self._node).items() if key != "name"})

    @property
    def range_words(self) -> str:
        """The range of whole numbers: the one that the description has, else the one of the type."""
        described = re.search(r"\b\d+ to \d+\b", str(self._node.get("description", "")))
        most = f"to {self.end - 1}" if self.end and self.end < 2**64 else "on"
        return described[0] if described else f"whole numbers from 0 {most}"


def table_of(keys: Mapping[str, Node]) -> Rule:
    """The rule of a table with these keys."""
    return Rule({"type": "object", "properties": keys})


@cache
def plan_rule(*keys: str) -> Rule:
    """The rule of the plan's key at the given path, as in `plan_node`."""
    return Rule(plan_node(*keys))


def checked(value: object, rule: Rule, path: str) -> Any:
    """`value` in the plan's form (a component's name becomes its table). Raises `ScenarioError` if it is invalid."""
    if value is None and rule.optional:
        return None
    if rule.components:
        return _checked_component(value, rule.components, path)
    if rule.words:
        if value not in rule.words:
            choices = [str(word) for word in rule.words]
            hint = nearest(value, choices) if isinstance(value, str) else ""
            raise ScenarioError(path, f"{value!r} is no choice", value=value, allowed=", ".join(choices), hint=hint)
        return value
    if rule.is_table:
        # TOML has no null: `false` takes away a table that a profile or a default has.
        return None if value is False and rule.optional else checked_table(value, rule, path)
    if rule.is_list:
        if not isinstance(value, (list, tuple)):
            raise ScenarioError(path, f"{value!r} is not a list", value=value)
        return [checked(entry, rule.entry, f"{path}[{i}]") for i, entry in enumerate(value)]
    _check_type(value, rule.kinds, path)
    if isinstance(value, float) and value.is_integer() and "integer" in rule.types and "number" not in rule.types:
        value = int(value)  # such as 1e3
    if rule.end is not None and isinstance(value, int) and not 0 <= value < rule.end:
        raise ScenarioError(path, f"{shown(str(value))} is not allowed", value=value, allowed=rule.range_words)
    return value


def checked_table(value: object, rule: Rule, path: str, component: str = "") -> dict[str, Any]:
    """Checks the keys and values of a table. Returns it in the plan's form."""
    known = rule.keys
    if not isinstance(value, Mapping):
        raise ScenarioError(path, f"{value!r} is not a table of keys", value=value, allowed=", ".join(known))
    for key in value:
        if key not in known:
            raise unknown_key(path, key, value[key], known, f" of {component}" if component else "")
    return {key: checked(entry, known[key], join(path, key)) for key, entry in value.items()}


def _checked_component(value: object, choice: dict[str, Rule], path: str) -> dict[str, Any]:
    from wifair.scheme.python import MARK, PythonScheme

    table: Mapping[str, Any] = {"name": value} if isinstance(value, str) else value  # type: ignore[assignment]
    if not isinstance(table, Mapping):
        raise ScenarioError(path, f"{value!r} is neither a name nor a table", value=value, allowed=", ".join(choice))
    name = table.get("name")
    if "droptail" in choice:  # schemes may be written in Python
        if isinstance(name, PythonScheme):
            given = {key: entry for key, entry in table.items() if key != "name"}
            name.check(given, path)
            rules = {key: Rule(name.schemas[key]) for key in given if key in name.schemas}
            return name.component(
                {key: checked(v, rules[key], join(path, key)) if key in rules else v for key, v in given.items()}, path
            )
        if isinstance(name, str) and MARK in name:
            problem = f"{name!r} is a scheme written in Python, and a scenario file never makes anything run its code"
            allowed = f"a name from `wifair schemes`; name the file on the command line (--set {path}={name}), or pass the class"
            raise ScenarioError(path, problem, value=name, allowed=allowed)
    if not isinstance(name, str) or name not in choice:
        problem = "the table needs a name" if name is None else f"unknown name {name!r}"
        hint = nearest(name, choice) if isinstance(name, str) else ""
        if lack := missing(name):
            problem, hint = f"{name} is not modelled ({lack})", ""
        in_python = ["or on the command line FILE.py:CLASS"] if "droptail" in choice else []
        raise ScenarioError(path, problem, value=name, allowed=", ".join([*sorted(choice), *in_python]), hint=hint)
    own = choice[name].keys
    for key in (key for key in table if key not in own):
        owners = [other for other, option in choice.items() if key in option.keys]
        if owners:
            problem = f"{name!r} has no such parameter (value {table[key]!r}), it belongs to {', '.join(owners)}"
            parameters = ", ".join(sorted(set(own) - {"name"})) or f"no parameters, {name!r} has none"
            raise ScenarioError(join(path, key), problem, value=table[key], allowed=parameters)
    given = {key: entry for key, entry in table.items() if key != "name"}
    return {"name": name, **checked_table(given, choice[name].parameters, path, repr(name))}


def _types(node: Node) -> list[str]:
    types = node.get("type", [])
    if "properties" in node and not types:
        return ["object"]
    return [types] if isinstance(types, str) else list(types)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)  # of any length


# By type of the schema, whether a value has it.
_HOLDS: dict[str, Callable[[object], bool]] = {
    "number": lambda value: _is_whole(value) or (isinstance(value, float) and math.isfinite(value)),
    "integer": lambda value: _is_whole(value) or (isinstance(value, float) and value.is_integer()),
    "boolean": lambda value: isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "object": lambda value: isinstance(value, Mapping),
    "array": lambda value: isinstance(value, (list, tuple)),
}


def _check_type(value: object, kinds: list[str], path: str) -> None:
    if kinds and not any(_HOLDS[kind](value) for kind in kinds):
        unit = unit_of(path.rpartition(".")[2])
        in_unit = f" in {unit}" if unit else ""
        wanted = {
            "number": "a number" + in_unit,
            "integer": "a whole number" + in_unit,
            "boolean": "true or false",
            "string": "a text",
            "object": "a table",
            "array": "a list",
        }
        allowed = " or ".join(wanted[kind] for kind in kinds)
        raise ScenarioError(path, f"{value!r} is not {allowed}", value=value)
