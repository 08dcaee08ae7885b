"""What was measured next to runs: the files of `--measured`, and the comparison on standard output."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wifair.cli.output import print_lines, print_table, print_text, progress
from wifair.cli.tables import columns
from wifair.planned import refuse_several
from wifair.prediction import as_it_is_wording as wording
from wifair.prediction.as_it_is import check
from wifair.prediction.measurement import together

if TYPE_CHECKING:
    from wifair.prediction.as_it_is import AsItIs
    from wifair.prediction.measurement import Measurement
    from wifair.scenario.scenario import Scenario

# Stations without --verbose.
SHOWN = 8


def measurement_of(scenario: Scenario, files: Sequence[Path]) -> Measurement | None:
    """The measurement in these files; None without files. Raises `InputError` if it cannot be compared with runs of the scenario."""
    if not files:
        return None
    refuse_several(scenario.plan(), "--measured")  # whatever the files are
    found = together(files, progress)
    check(scenario, found)
    return found


def print_measured(found: AsItIs, verbose: bool) -> None:
    """Prints whether runs show what was measured, and both next to each other."""
    print_text(f"{wording.headline(found).rstrip('.')}.")
    for told in wording.remarks(found):
        print_text(f"{told}.", indent="  ", first="- ")
    print_lines([""])
    print_quantities(found, verbose)


def print_quantities(found: AsItIs, verbose: bool) -> None:
    """Prints the tables of the cell and of the stations."""
    if rows := wording.of_cell(found):
        print_table("Measured, and in the runs", columns(wording.CELL_HEADINGS, rows, prose=(4,)))
    stations = wording.of_stations(found)
    shown = stations if verbose else stations[:SHOWN]
    rest = f"; {len(stations) - len(shown)} more with --verbose" if len(stations) > len(shown) else ""
    if shown:
        print_table(f"{wording.STATIONS}{rest}", columns(wording.station_headings(found), shown))
