"""Tables of keys from the engine's JSON schema: name, unit, default, allowed values, description."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wifair.keys import join, unit_of
from wifair.scenario.components import engine_schema, resolved, variants, words

Node = Mapping[str, Any]

# The kinds of components: what the engine calls their list, the folder of their pages, what the schema calls the choice
# of one, and where their files lie.
KINDS = {
    "schemes": ("Schemes", "crates/wifair-queue/src/schemes"),
    "limit_controllers": ("Limit controllers", "crates/wifair-queue/src/limits"),
    "congestion_controls": ("Congestion controls", "crates/wifair-tcp/src/congestion"),
    "rate_adaptations": ("Rate adaptations", "crates/wifair-wlan/src/rate"),
    "applications": ("Applications", "crates/wifair-sim/src/application"),
    "phys": ("PHYs", "crates/wifair-wlan/src/phy"),
}


@dataclass(frozen=True)
class Key:
    """A key: its path and its schema."""

    path: str
    default: str
    allowed: str
    about: str

    @property
    def unit(self) -> str:
        """The unit in the key's name."""
        return unit_of(self.path.rpartition(".")[2])


def folder(kind: str) -> str:
    """The folder of the pages of a kind."""
    return kind.replace("_", "-")


def kind_of(names: set[str]) -> str | None:
    """The kind of components with these names, or None."""
    for kind in KINDS:
        if names == {component["name"] for component in engine_schema()[kind]}:
            return kind
    return None


def keys(node: Node, root: Node | None = None, path: str = "", up: str = "") -> Iterator[Key]:
    """Every key below a table, those of inner tables with their path. `up` leads from the page to the site's root."""
    table_ = resolved(node, root)
    for name, inner in table_.get("properties", {}).items():
        here = join(path, name)
        told = resolved(inner, root)
        about = inner.get("description") or told.get("description", "")
        choice = variants(inner, root)
        kind = kind_of(set(choice))
        yield Key(
            here,
            _default(inner, told, name in table_.get("required", [])),
            _allowed(told, choice, kind, root, up),
            about,
        )
        if choice and kind is None:
            for word, variant in choice.items():
                rest = {
                    key: value for key, value in resolved(variant, root).get("properties", {}).items() if key != "name"
                }
                for key in keys({"properties": rest}, root, here, up):
                    yield replace(key, about=f"{key.about} Only with `{word}`.")
        elif not choice and "properties" in told:
            yield from keys(told, root, here, up)
        elif "properties" in (items := resolved(told.get("items", {}), root)):
            yield from keys(items, root, f"{here}[]", up)


def component_keys(node: Node) -> Iterator[Key]:
    """The keys of a table that is a component: its name, then the parameters of all, with the components that have them."""
    choice = variants(node)
    kind = kind_of(set(choice))
    yield Key(
        "name",
        _default(node, node, False),
        _allowed(node, choice, kind, None, ""),
        "The component. The other keys are its parameters.",
    )
    parameters: dict[str, Node] = {}
    for variant in choice.values():
        parameters = {**resolved(variant).get("properties", {}), **parameters}
    for key in keys({"properties": {name: inner for name, inner in parameters.items() if name != "name"}}):
        head = re.split(r"[.\[]", key.path)[0]
        owners = [name for name, variant in choice.items() if head in resolved(variant).get("properties", {})]
        only = "" if len(owners) == len(choice) else f" Only in {', '.join(owners)}."
        yield replace(key, about=key.about + only)


def _default(inner: Node, told: Node, needed: bool) -> str:
    value = inner.get("default", told.get("default"))
    if value is None:
        return "needed" if needed else "–"
    if isinstance(value, Mapping):
        if "name" not in value:
            return "see its keys"
        value = value["name"]
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def _allowed(told: Node, choice: Mapping[str, Node], kind: str | None, root: Node | None, up: str) -> str:
    if kind:
        return f"one of the [{KINDS[kind][0].lower()}]({up}{folder(kind)}/index.md)"
    if choice:
        return ", ".join(f"`{name}`" for name in choice)
    if listed := words(told) if root is None else _words(told):
        return ", ".join(f"`{word}`" for word in listed)
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


def table(found: list[Key], heading: str = "key") -> str:
    """A Markdown table of keys."""
    lines = [f"| {heading} | unit | default | allowed | what it is |", "| --- | --- | --- | --- | --- |"]
    for key in found:
        about = " ".join(key.about.split()).replace("|", "\\|")
        lines.append(f"| `{key.path}` | {key.unit or '–'} | {key.default} | {key.allowed} | {about} |")
    return "\n".join(lines)
