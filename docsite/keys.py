"""Tables of keys in Markdown: name, unit, default, allowed values, description."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from wifair.scenario import keys
from wifair.scenario.keys import Key

# The kinds of components: their title, and where their files lie.
KINDS = {
    kind: (keys.KINDS[kind], files)
    for kind, files in {
        "schemes": "crates/wifair-queue/src/schemes",
        "limit_controllers": "crates/wifair-queue/src/limits",
        "congestion_controls": "crates/wifair-tcp/src/congestion",
        "rate_adaptations": "crates/wifair-wlan/src/rate",
        "applications": "crates/wifair-sim/src/application",
        "phys": "crates/wifair-wlan/src/phy",
    }.items()
}


def folder(kind: str) -> str:
    """The folder of the pages of a kind."""
    return kind.replace("_", "-")


def table(found: Iterable[Key], heading: str = "key", up: str = "") -> str:
    """A Markdown table of keys. `up` leads from the page to the site's root."""
    lines = [f"| {heading} | unit | default | allowed | what it is |", "| --- | --- | --- | --- | --- |"]
    for key in found:
        about = " ".join(key.about.split()).replace("|", "\\|")
        lines.append(f"| `{key.path}` | {key.unit or '–'} | {_default(key)} | {_allowed(key, up)} | {about} |")
    return "\n".join(lines)


def _default(key: Key) -> str:
    value = key.default
    if value is None:
        return "needed" if key.needed else "–"
    if isinstance(value, Mapping):
        if "name" not in value:
            return "see its keys"
        value = value["name"]
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def _allowed(key: Key, up: str) -> str:
    if key.kind:
        return f"one of the [{KINDS[key.kind][0].lower()}]({up}{folder(key.kind)}/index.md)"
    return key.allowed or ", ".join(f"`{word}`" for word in key.choices)
