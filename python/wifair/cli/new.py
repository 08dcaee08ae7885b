"""`wifair new`: a commented scenario to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = "Example: wifair new paper:adaptive-pushout"

Template = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="The template or cell; without a NAME, all are listed.", show_default=False),
]
File = Annotated[
    Path | None,
    typer.Argument(metavar="FILE.toml", help="The file to write; by default NAME.toml.", show_default=False),
]


def new(template: Template = None, file: File = None) -> None:
    """Write a commented scenario: a template or a cell of a paper.

    Commands accept the name of a template or cell in place of a scenario file.
    """
    from wifair import gallery
    from wifair.cli.output import print_lines, print_table, print_text, say
    from wifair.cli.tables import columns
    from wifair.errors import InputError
    from wifair.files import check_folder
    from wifair.keys import unknown

    if template is None:
        templates = [(name, gallery.about(name)) for name in gallery.names()]
        print_table("Templates, all with hosts of today", columns(("name", "scenario"), templates, prose=(1,)))
        cells = [(name, *gallery.source_of(name)) for name in gallery.cells()]
        print_table("Cells of papers", columns(("name", "paper", "scenario"), cells, left=2, prose=(2,)), keys=2)
        mains = ", ".join(f"paper:{paper}" for paper in gallery.MAIN_CELLS)
        print_text(f"NAME/today has the hosts of today in a paper's cell. A paper's main cell: {mains}.")
        print_lines([""])
        return
    source = gallery.path_of(template)
    if source is None:
        raise unknown("scenario", template, gallery.known())
    path = file or Path(gallery.file_name(template))
    check_folder(path)
    try:
        with path.open("x", encoding="utf-8") as out:
            out.write(source.read_text(encoding="utf-8"))
    except FileExistsError:
        raise InputError(f"{path}: exists and is not overwritten; choose another file.") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}.") from None
    say(f"wrote {path}; now: wifair check {path}, wifair run {path}")
