"""`wifair schemes`: what there is to choose from."""

from __future__ import annotations

import json as json_format
from typing import Annotated, Any

import typer

from wifair.cli.options import Json

EXAMPLE = "Example: wifair schemes adaptive-pushout"

Name = Annotated[str | None, typer.Argument(help="Show this scheme alone.", show_default=False)]


def schemes(name: Name = None, json: Json = False) -> None:
    """List the access point's schemes: source, idea, parameters with units and defaults."""
    from wifair.cli.output import print_json, stdout
    from wifair.components import components, nearest
    from wifair.errors import InputError

    listed = components("schemes")
    if name is not None:
        known = [scheme["name"] for scheme in listed]
        if name not in known:
            hint = nearest(name, known)
            asked = f" Did you mean {hint}?" if hint else ""
            raise InputError(f"there is no scheme {name!r}.{asked} Allowed here: {', '.join(known)}.")
        listed = [scheme for scheme in listed if scheme["name"] == name]
    if json:
        print_json({"schemes": [{**scheme, "parameters": parameters(scheme)} for scheme in listed]})
        return
    console = stdout()
    for scheme in listed:
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


def parameters(scheme: dict[str, Any]) -> list[dict[str, Any]]:
    """A scheme's parameters from its schema: name, unit, default, choices, description."""
    from wifair.components import resolved, unit_of, words

    schema = scheme["parameters"]
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
