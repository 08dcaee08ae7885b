"""Trees of settings: layering, and `key.path=value` assignments."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from wifair.errors import InputError, ScenarioError
from wifair.keys import nearest

Tree = dict[str, Any]

_UNCHANGING = (str, int, float, bool, type(None))
# A part of a path: in brackets an index or a name, which may have dots, or a key.
_PART = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


def layered(below: Mapping[str, Any], above: Mapping[str, Any]) -> Tree:
    """Merges `above` over `below`, table by table.

    A different component above (`scheme = "las"` over the table of another scheme) replaces the one below with all its
    parameters; a table without a name over a component's name adds to that component.
    """
    copied: Tree = _copied(_layered(below, above))
    return copied


def _copied(tree: Any) -> Any:
    """A deep copy. Most of a tree is tables, lists and values that cannot change, for which `copy.deepcopy` takes over twice as long."""
    kind = type(tree)
    if kind is dict:
        return {key: _copied(value) for key, value in tree.items()}
    if kind is list:
        return [_copied(value) for value in tree]
    return tree if kind in _UNCHANGING else copy.deepcopy(tree)


def _layered(below: Mapping[str, Any], above: Mapping[str, Any]) -> Tree:
    """The same, with parts that belong to the two trees."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        if isinstance(under, dict) and isinstance(value, str) and under.get("name") == value:
            continue
        renamed = isinstance(value, Mapping) and isinstance(under, dict) and _differently_named(under, value)
        if isinstance(under, dict) and isinstance(value, Mapping) and not renamed:
            merged[key] = _layered(under, value)
        elif isinstance(under, str) and isinstance(value, Mapping) and "name" not in value:
            merged[key] = {"name": under, **value}
        else:
            merged[key] = value
    return merged


def with_names_of(table: Mapping[str, Any], below: Mapping[str, Any]) -> Tree:
    """The table in which parameters without a name are those of the component that `below` has there."""
    found = dict(table)
    for key, value in table.items():
        under = below.get(key)
        if isinstance(value, Mapping) and "name" not in value and isinstance(under, Mapping) and "name" in under:
            found[key] = {"name": under["name"], **value}
    return found


def _differently_named(below: Mapping[str, Any], above: Mapping[str, Any]) -> bool:
    return "name" in below and "name" in above and below["name"] != above["name"]


def parse_assignments(texts: Sequence[str]) -> list[tuple[str, Any]]:
    """`["run.duration_s=5"]` as pairs of path and value. Values are TOML; anything else is a string."""
    pairs: list[tuple[str, Any]] = []
    for text in texts:
        path, separator, value = text.partition("=")
        if not separator or not path.strip():
            raise InputError(f"--set {text}: expected key.path=value, as in --set run.duration_s=60.")
        try:
            parsed = tomllib.loads(f"value = {value.strip()}")["value"]
        except ValueError:  # also of a number with thousands of digits
            parsed = value.strip()
        pairs.append((path.strip(), parsed))
    return pairs


def assign(tree: Tree, path: str, value: object) -> None:
    """Sets the key at `path` (such as `ap.limit_packets`, `flows[0].count` or `bss[mine].channel`) in place, creating tables as needed.

    An entry of a list has its index or its name in brackets. Assigning a component its present name keeps its parameters, as in `layered`.
    """
    keys = [name or part for name, part in _PART.findall(path)]
    node: Any = tree
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        here = ".".join(keys[: depth + 1])
        if isinstance(node, list):
            index = _index(node, key, here, value)
            if last:
                node[index] = value
            else:
                node = node[index]
        elif last:
            there = node.get(key)
            if not (isinstance(value, str) and isinstance(there, dict) and there.get("name") == value):
                node[key] = value
        else:
            below = node.setdefault(key, {})
            if isinstance(below, str):  # a component given by its name alone
                below = node[key] = {"name": below}
            if not isinstance(below, (dict, list)):
                raise ScenarioError(here, f"{below!r} is a value, not a table with a key {keys[depth + 1]!r}")
            node = below


def _index(entries: list[Any], key: str, here: str, value: object) -> int:
    """The index of an entry of a list, given as such or by its name."""
    names = [entry["name"] for entry in entries if isinstance(entry, Mapping) and isinstance(entry.get("name"), str)]
    if key in names:
        return next(i for i, entry in enumerate(entries) if isinstance(entry, Mapping) and entry.get("name") == key)
    index = int(key) if key.isdecimal() else -1
    if not 0 <= index < len(entries):
        known = f"0 to {len(entries) - 1}" if entries else "nothing: the list is empty"
        named = f", or a name: {', '.join(names)}" if names else ""
        hint = nearest(key, names)
        raise ScenarioError(here, f"there is no entry {key!r}", value=value, allowed=f"{known}{named}", hint=hint)
    return index
