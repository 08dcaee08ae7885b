"""`wifair import`: a scenario from what an access point shows of its network."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from wifair.cli.options import Json, Set

EXAMPLE = "Example: wifair import results/ap/seed-1/station.txt results/ap/seed-1/survey.txt --out results/mine.toml"

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE",
        help="Files of one network in the order of their times, or a folder with such files, which are read in the order of their names: output of "
        "`iw dev DEVICE station dump`, `survey dump` and `info`, a list of stations (CSV), a data file of flent, a capture. Of two station dumps, the traffic between them counts.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml", help="Write the scenario to this file. Without it, print it.", show_default=False
    ),
]
Title = Annotated[
    str,
    typer.Option(
        metavar="TEXT",
        help="The title of the scenario; by default the name of FILE.toml, else of the first file.",
        show_default=False,
    ),
]
KeepAddresses = Annotated[
    bool,
    typer.Option(
        "--keep-addresses",
        help="Write the stations' addresses as they are; by default their hashes with a key that is not kept.",
    ),
]


def import_(
    files: Files,
    out: Out = None,
    title: Title = "",
    keep_addresses: KeepAddresses = False,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- typer copies the default
) -> None:
    """Make a scenario from what an access point shows.

    Each value has a comment: read, given, assumed or unknown. `--set` gives what you know and no file has.
    """
    from wifair.cli.document import report
    from wifair.cli.output import progress
    from wifair.files import check_folder
    from wifair.observed import Names, imported
    from wifair.scenario.overrides import parse_assignments

    if out:
        check_folder(out, f"--out {out}")
    title = title or (out.stem if out else "")
    made = imported(files, title, Names(keep_addresses), dict(parse_assignments(set)), progress)
    measured = "".join(f" --measured {shlex.quote(str(path))}" for path in files)
    report(made, out, json, "remarks", {"wifair explain": measured, "wifair advise": measured})
