"""`wifair new`: a commented scenario to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = "Example: wifair new home"

Template = Annotated[
    str | None, typer.Argument(metavar="TEMPLATE", help="Without it, what there is is listed.", show_default=False)
]
File = Annotated[Path | None, typer.Argument(metavar="FILE.toml", help="TEMPLATE.toml by default.", show_default=False)]


def new(template: Template = None, file: File = None) -> None:
    """Write a commented scenario to start from, one of a small gallery. Its name alone also works wherever a scenario does."""
    from wifair import gallery
    from wifair.cli.output import say, stdout
    from wifair.components import nearest
    from wifair.errors import InputError

    if template is None:
        for name in gallery.names():
            stdout().print(f"[bold]{name}[/bold]: {gallery.about(name)}")
        return
    source = gallery.path_of(template)
    if source is None:
        hint = nearest(template, gallery.names())
        asked = f" Did you mean {hint}?" if hint else ""
        raise InputError(f"there is no template {template!r}.{asked} Allowed here: {', '.join(gallery.names())}.")
    path = file or Path(f"{template}.toml")
    try:
        with path.open("x", encoding="utf-8") as out:
            out.write(source.read_text(encoding="utf-8"))
    except FileExistsError:
        raise InputError(f"{path}: is there already, and is not overwritten.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}.") from None
    say(f"wrote {path}; now: wifair check {path}, wifair run {path}")
