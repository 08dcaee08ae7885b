"""The commands' page, from the command line itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer
from wifair.cli.app import app

MARK = "Example: "


def page() -> str:
    """Every command with its help, options and examples."""
    parts = [
        "# Commands",
        "Results go to standard output, progress and warnings to standard error. Exit status: 0, 1 (failed), 2 (bad input), 130 "
        "(interrupted). `--json` gives one JSON document.",
    ]
    for path, command in _commands(typer.main.get_command(app), ("wifair",)):
        if len(path) > 1 and not getattr(command, "commands", {}):
            parts += _told(" ".join(path), command)
    return "\n\n".join(parts) + "\n"


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, (*path, name))


def _told(name: str, command: Any) -> list[str]:
    examples = [line.strip() for line in (command.epilog or "").split("\n") if line.strip()]
    parts = [f"## {name}", command.help or "", "```sh\n" + "\n".join(e.removeprefix(MARK) for e in examples) + "\n```"]
    rows = []
    for parameter in command.params:
        names = ", ".join(f"`{option}`" for option in (*parameter.opts, *parameter.secondary_opts))
        if parameter.param_type_name == "argument":
            names = f"`{parameter.metavar or parameter.name}`"
        shown = parameter.default not in (None, [], False, ()) and not callable(parameter.default)
        default = f"`{parameter.default}`" if shown else "–"
        rows.append(f"| {names} | {default} | {getattr(parameter, 'help', '') or ''} |")
    if rows:
        parts.append("| option | default | what it does |\n| --- | --- | --- |\n" + "\n".join(rows))
    return parts
