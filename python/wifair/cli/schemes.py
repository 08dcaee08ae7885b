"""`wifair schemes`: the schemes of the access point's buffer."""

from __future__ import annotations

import json as json_format
from typing import Annotated, Any

import typer

from wifair.cli.options import Json

# The engine's names for the lists of buffer components.
KINDS = ("schemes", "limit_controllers")

EXAMPLE = "Example: wifair schemes adaptive-pushout"

Name = Annotated[str | None, typer.Argument(help="Show this scheme or limit controller.", show_default=False)]


def schemes(name: Name = None, json: Json = False) -> None:
    """List the schemes of the access point's buffer.

    With a name, show the source and the parameters of that scheme.
    """
    from wifair.cli.output import print_json, print_lines, print_text
    from wifair.keys import unknown
    from wifair.scenario.components import components

    listed = {kind: components(kind) for kind in KINDS}
    if name is not None:
        known = [component["name"] for kind in KINDS for component in listed[kind]]
        if name not in known and (others := _combined(name)):
            listed = {kind: [] for kind in KINDS}
            print_text(f"{name}: {others}", indent="  ", first="")
        elif name not in known:
            raise unknown("scheme", name, known)
        listed = {kind: [c for c in listed[kind] if c["name"] == name] for kind in KINDS}
    if json:
        print_json({kind: [{**c, "parameters": parameters(c)} for c in listed[kind]] for kind in KINDS})
        return
    if name is None:
        print_all(listed)
        return
    for scheme in (component for kind in KINDS for component in listed[kind]):
        print_text(f"{scheme['name']}: {scheme['idea']}", indent="  ", first="")
        print_text(f"Source: {scheme['source']}", indent="  ")
        for parameter in parameters(scheme):
            default = json_format.dumps(parameter["default"])
            choices = f", one of {', '.join(parameter['choices'])}" if parameter["choices"] else ""
            unit = f" [{parameter['unit']}]" if parameter["unit"] else ""
            about = parameter["description"].partition("\n\n")[0].replace("\n", " ")
            print_text(f"{parameter['name']}{unit} = {default}{choices}: {about}", indent="      ", first="    ")
        print_lines([""])


def print_all(listed: dict[str, list[dict[str, Any]]]) -> None:
    """Prints one line per scheme: its name and a description cut to fit."""
    from wifair.cli.output import print_lines, print_text, stdout
    from wifair.cli.tables import GAP, brief
    from wifair.everything.contenders import contenders

    titles = {"schemes": "Schemes", "limit_controllers": "Controllers of the buffer's limit, over tail drop"}
    rows = {titles[kind]: [(component["name"], component["idea"]) for component in listed[kind]] for kind in KINDS}
    known = {name for told in rows.values() for name, _ in told}
    rows["Combinations that `compare` also accepts"] = [
        (contender.name, contender.about) for contender in contenders() if contender.name not in known
    ]
    longest = max(len(name) for told in rows.values() for name, _ in told)
    width = stdout().width - longest - 2 * len(GAP)
    for title, told in rows.items():
        print_lines([title, *(f"{GAP}{name.ljust(longest)}{GAP}{brief(idea, width)}" for name, idea in told), ""])
    print_text(
        "`wifair schemes NAME` has the rest, with source and parameters; `compare --schemes 'NAME(key=value)'` sets them."
    )


def _combined(name: str) -> str:
    """The description of a combination of a scheme with another mechanism; empty if there is none of that name."""
    from wifair.everything.contenders import contenders

    return next((contender.about for contender in contenders() if contender.name == name), "")


def parameters(component: dict[str, Any]) -> list[dict[str, Any]]:
    """A component's parameters from its schema: name, unit, default, choices, description."""
    from wifair.keys import unit_of
    from wifair.scenario.components import resolved, words

    schema = component["parameters"]
    found = []
    for name, node in resolved(schema, schema).get("properties", {}).items():
        node = {**resolved(node, schema), **{key: value for key, value in node.items() if key != "$ref"}}
        found.append(
            {
                "name": name,
                "unit": unit_of(name),
                "default": node.get("default"),
                "choices": words(node),
                "description": node.get("description", ""),
            }
        )
    return found
