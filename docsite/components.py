"""A page for every registered component, from the head comment of its file, its `INFO` and its parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from wifair.scenario.components import engine_schema
from wifair.scenario.keys import parameters

from docsite.keys import KINDS, folder, table
from docsite.pictures import PICTURES

ROOT = Path(__file__).parent.parent
# The key that selects a component of each kind.
CHOSEN = {
    "schemes": '[ap]\nscheme = "{name}"',
    "limit_controllers": '[ap]\nlimit_controller = "{name}"',
    "congestion_controls": '[tcp]\n{needed}congestion_control = "{name}"',
    "rate_adaptations": '[mac]\nrate_adaptation = "{name}"',
    "applications": '[[flows]]\ndirection = "down"\napplication = "{name}"',
    "phys": '[phy]\nname = "{name}"',
}
ABOUT = {
    "schemes": "A scheme decides at the access point's buffer: on arrival, on departure, at ticks, when a frame exchange ends.",
    "limit_controllers": "A limit controller moves the limit of the access point's buffer; it goes with any scheme that has one.",
    "congestion_controls": "What a TCP sender runs.",
    "rate_adaptations": "Which rate a node uses for its next attempt; one state for each peer.",
    "applications": "What a flow carries.",
    "phys": "The physical layer: the modes of a link, how long their PPDUs last, and the timing of the BSS.",
}


def pages() -> Iterator[tuple[str, str]]:
    """Path and Markdown of every page, a kind's overview first."""
    for kind, (title, _) in KINDS.items():
        listed = engine_schema()[kind]
        rows = [
            f"| [`{c['name']}`]({c['name']}.md) | {' '.join(c['idea'].split())} | {c['source']} |".replace("\n", " ")
            for c in listed
        ]
        heads = "| name | what it does | source |\n| --- | --- | --- |"
        yield f"{folder(kind)}/index.md", f"# {title}\n\n{ABOUT[kind]}\n\n{heads}\n" + "\n".join(rows) + "\n"
        for component in listed:
            yield f"{folder(kind)}/{component['name']}.md", page(kind, component["name"])


def page(kind: str, name: str) -> str:
    """The page of one component."""
    component = next(found for found in engine_schema()[kind] if found["name"] == name)
    parts = [f"# `{name}`", component["idea"], f"Source: {component['source']}."]
    if kind in PICTURES:
        parts += [f"![{name} in the standard cell](../images/{kind}/{name}.png)", f"*{PICTURES[kind].caption}*"]
    needed = 'profile = "today"\n' if component.get("needs_rack") else ""
    parts += ["## In a scenario", f"```toml\n{CHOSEN[kind].format(name=name, needed=needed)}\n```"]
    found = parameters(kind, name)
    parts += ["## Parameters", table(found, "parameter", up="../") if found else "None."]
    parts += ["## In its author's words", head_comment(kind, name)]
    parts.append(f"*From `{source(kind, name).relative_to(ROOT)}`.*")
    return "\n\n".join(parts) + "\n"


def source(kind: str, name: str) -> Path:
    """The component's file: the one whose `INFO` has its name."""
    files = (ROOT / KINDS[kind][1]).glob("*.rs")
    return next(file for file in files if f'name: "{name}",' in file.read_text(encoding="utf-8"))


def head_comment(kind: str, name: str) -> str:
    """The comment that opens the component's file, as Markdown."""
    lines = []
    for line in source(kind, name).read_text(encoding="utf-8").splitlines():
        if not line.startswith("//!"):
            break
        lines.append(line.removeprefix("//!").removeprefix(" "))
    text = "\n".join(lines)
    # Links to other items of the code become plain text; an index in brackets is not a link.
    return re.sub(r"\[(`[^`\]]+`)\](?!\()", r"\1", text)
