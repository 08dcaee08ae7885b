"""The keys of tables and components: default, allowed values and description, from the engine's JSON Schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wifair.keys import join, unit_of
from wifair.scenario.components import Node, components, plan_node, resolved, variants, words

# The kinds of components: what the engine calls their list, and their title.
KINDS = {
    "schemes": "Schemes",
    "limit_controllers": "Limit controllers",
    "congestion_controls": "Congestion controls",
    "rate_adaptations": "Rate adaptations",
    "applications": "Applications",
    "phys": "PHYs",
}


@dataclass(frozen=True)
class Key:
    """A key: its path, and what its schema says.

    What it allows is a component of a `kind`, or one of `choices`, or what `allowed` says in words. The texts are Markdown.
    """

    path: str
    about: str
    default: Any = None
    needed: bool = False
    kind: str = ""
    choices: tuple[str, ...] = ()
    allowed: str = ""

    @property
    def unit(self) -> str:
        """The unit in the key's name."""
        return unit_of(self.path.rpartition(".")[2])


def kind_of(names: set[str]) -> str:
    """The kind of components with these names; empty if there is none."""
    of_kinds = ((kind, {component["name"] for component in components(kind)}) for kind in KINDS)
    return next((kind for kind, its in of_kinds if its == names), "")


def keys(node: Node, root: Node | None = None, path: str = "") -> Iterator[Key]:
    """Every key below a table, those of inner tables with their path."""
    table = resolved(node, root)
    for name, inner in table.get("properties", {}).items():
        here = join(path, name)
        told = resolved(inner, root)
        choice = variants(inner, root)
        found = _key(here, inner, told, choice, root)
        yield replace(found, needed=found.default is None and name in table.get("required", []))
        if choice and not found.kind:
            for word, variant in choice.items():
                for key in keys(_without_name(variant, root), root, here):
                    yield replace(key, about=f"{key.about} Only with `{word}`.")
        elif not choice and "properties" in told:
            yield from keys(told, root, here)
        elif "properties" in (items := resolved(told.get("items", {}), root)):
            yield from keys(items, root, f"{here}[]")


def component_keys(node: Node) -> Iterator[Key]:
    """The keys of a table that is a component: its name, then the parameters of all, with the components that have them."""
    choice = variants(node)
    yield replace(_key("name", node, node, choice, None), about="The component. The other keys are its parameters.")
    merged: dict[str, Node] = {}
    for variant in choice.values():
        merged = {**resolved(variant).get("properties", {}), **merged}
    for key in keys(_without_name({"properties": merged})):
        head = re.split(r"[.\[]", key.path)[0]
        owners = [name for name, variant in choice.items() if head in resolved(variant).get("properties", {})]
        only = "" if len(owners) == len(choice) else f" Only in {', '.join(owners)}."
        yield replace(key, about=key.about + only)


def parameters(kind: str, name: str) -> list[Key]:
    """The parameters of one component."""
    return [key for key in keys(*parameters_node(kind, name)) if key.path != "name"]


def parameters_node(kind: str, name: str) -> tuple[Node, Node | None]:
    """The schema of a component's parameters, and the root of its references (None: the plan)."""
    listed = components(kind)
    component = next(found for found in listed if found["name"] == name)
    if "parameters" in component:
        return component["parameters"], component["parameters"]
    names = {found["name"] for found in listed}
    for node in plan_node()["$defs"].values():
        choice = variants(node)
        if set(choice) == names:
            return choice[name], None
    raise LookupError(f"the plan offers no choice of {kind}")


def _without_name(node: Node, root: Node | None = None) -> Node:
    table = resolved(node, root)
    return {**table, "properties": {key: value for key, value in table.get("properties", {}).items() if key != "name"}}


def _key(path: str, inner: Node, told: Node, choice: Mapping[str, Node], root: Node | None) -> Key:
    kind = kind_of(set(choice))
    choices = () if kind else tuple(choice) or tuple(words(told) if root is None else _words(told))
    return Key(
        path,
        inner.get("description") or told.get("description", ""),
        inner.get("default", told.get("default")),
        kind=kind,
        choices=choices,
        allowed="" if kind or choices else _in_words(told),
    )


def _in_words(told: Node) -> str:
    types = [kind for kind in _listed(told.get("type", [])) if kind != "null"]
    names = {"number": "a number", "integer": "a whole number", "boolean": "`true` or `false`", "string": "a text"}
    names |= {"array": "a list", "object": "a table"}
    text = " or ".join(names.get(kind, kind) for kind in types) or "a table"
    low, high = told.get("minimum"), told.get("maximum")
    if low is not None and not (low == 0 and "integer" in types):
        text += f", {low} or more"
    if high is not None and high < 2**31:
        text += f", at most {high}"
    return text


def _words(told: Node) -> list[str]:
    options = told.get("oneOf", told.get("anyOf", []))
    return list(told.get("enum", [])) or [option["const"] for option in options if "const" in option]


def _listed(value: object) -> list[str]:
    return [value] if isinstance(value, str) else list(value)  # type: ignore[call-overload]
