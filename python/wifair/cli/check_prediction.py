"""`wifair check-prediction`: whether a change did what advice predicted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wifair.cli.options import Json

if TYPE_CHECKING:
    from wifair.prediction import Checked

EXAMPLE = "Example: wifair check-prediction results/ap/seed-1 results/after/seed-1 --advice results/advice.json"

# Rows of the table, and differences, without --verbose.
SHOWN = 6

Before = Annotated[
    Path,
    typer.Argument(
        metavar="BEFORE",
        help="The measurement before the change: a file that `wifair import` reads, a folder with such files, or a folder with such folders, one per "
        "measurement.",
        show_default=False,
    ),
]
After = Annotated[Path, typer.Argument(metavar="AFTER", help="The measurement after it.", show_default=False)]
File = Annotated[
    Path, typer.Option("--advice", metavar="FILE.json", help="What `wifair advise SCENARIO --out FILE.json` wrote.")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print every quantity and difference.")]


def check_prediction(
    before: Before,
    after: After,
    advice: File = Path("advice.json"),
    json: Json = False,
    verbose: Verbose = False,
) -> None:
    """Say whether a change did what `advise` predicted.

    Compares two measurements with the prediction, and names what else changed and which assumptions the difference speaks against.
    """
    from wifair.cli.output import print_json, progress, say_each
    from wifair.prediction import check
    from wifair.prediction.wording import document

    checked = check(before, after, advice, progress)
    if json:
        print_json(document(checked))
    else:
        print_checked(checked, verbose)
    say_each(checked.remarks)


def print_checked(checked: Checked, verbose: bool) -> None:
    """Prints the answer, what else changed, the assumptions and the quantities."""
    from wifair.cli.output import print_lines, print_table, print_text
    from wifair.cli.tables import columns
    from wifair.prediction import wording

    print_text(wording.headline(checked))
    print_lines([""])
    differences = [each.text for each in checked.besides]
    for told in _shown(differences, verbose):
        print_text(f"Besides: {told}.", indent="  ", first="- ")
    for told in wording.unseen(checked):
        print_text(f"{told}.", indent="  ", first="- ")
    for told in _shown(list(wording.against(checked)), verbose):
        print_text(f"{told}.", indent="  ", first="- ")
    print_lines([""])
    cell = [each for each in checked.quantities if not each.quantity.station]
    stations = sorted((each for each in checked.quantities if each.quantity.station), key=lambda each: -each.missed)
    shown = stations if verbose else stations[:SHOWN]
    rest = (
        f"; {len(stations) - len(shown)} quantities of stations more with --verbose"
        if len(stations) > len(shown)
        else ""
    )
    about = "Changes with 95 % intervals, those of stations that are most missed first"
    rows = [wording.row(each) for each in (*cell, *shown)]
    print_table(f"{about}{rest}", columns(wording.HEADINGS, rows, prose=(0, 6)))


def _shown(texts: list[str], verbose: bool) -> list[str]:
    if verbose or len(texts) <= SHOWN:
        return texts
    return [*texts[:SHOWN], f"{len(texts) - SHOWN} more with --verbose"]
