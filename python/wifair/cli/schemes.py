"""`wifair schemes`: what there is to choose from at the access point's buffer."""

from __future__ import annotations

import json as json_format
from typing import Annotated, Any

import typer

from wifair.cli.options import Json

# Components of a buffer, as the engine calls their lists.
KINDS = ("schemes", "limit_controllers")

EXAMPLE = "Example: wifair schemes adaptive-pushout"

Name = Annotated[str | None, typer.Argument(help="Show this scheme or limit controller alone.", show_default=False)]


def schemes(name: Name = None, json: Json = False) -> None:
    """List the access point's schemes and limit controllers: source, idea, parameters with units and defaults."""
    from wifair.cli.output import print_json, stdout
    from wifair.components import components, nearest
    from wifair.errors import InputError

    listed = {kind: components(kind) for kind in KINDS}
    if name is not None:
        known = [component["name"] for kind in KINDS for component in listed[kind]]
        if name not in known:
            hint = nearest(name, known)
            asked = f" Did you mean {hint}?" if hint else ""
            raise InputError(f"there is no scheme {name!r}.{asked} Allowed here: {', '.join(known)}.")
        listed = {kind: [c for c in listed[kind] if c["name"] == name] for kind in KINDS}
    if json:
        print_json({kind: [{**c, "parameters": parameters(c)} for c in listed[kind]] for kind in KINDS})
        return
    console = stdout()
    for scheme in (component for kind in KINDS for component in listed[kind]):
        console.print(f"[bold]{scheme['name']}[/bold]")
        console.print(f"  {scheme['idea']}", markup=False)
        console.print(f"  Source: {scheme['source']}", markup=False)
        for parameter in parameters(scheme):
            default = json_format.dumps(parameter["default"])
            choices = f", one of {', '.join(parameter['choices'])}" if parameter["choices"] else ""
            unit = f" [{parameter['unit']}]" if parameter["unit"] else ""
            about = parameter["description"].partition("\n\n")[0].replace("\n", " ")
            console.print(f"    {parameter['name']}{unit} = {default}{choices}: {about}", markup=False)
        console.print()


def parameters(component: dict[str, Any]) -> list[dict[str, Any]]:
    """A component's parameters from its schema: name, unit, default, choices, description."""
    from wifair.components import resolved, unit_of, words

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
