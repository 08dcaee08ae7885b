"""A measurement next to runs of the scenario as it is, as parts of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wifair.prediction import as_it_is_wording as wording
from wifair.report.parts import Findings, Part, Table

if TYPE_CHECKING:
    from wifair.prediction.as_it_is import AsItIs


def parts(found: AsItIs) -> list[Part]:
    """The tables of the cell and of the stations, and what the files do not have."""
    made: list[Part] = []
    if rows := wording.of_cell(found):
        made.append(Table.of(wording.CELL_HEADINGS, rows, "Measured, and in the runs."))
    if rows := wording.of_stations(found):
        made.append(Table.of(wording.station_headings(found), rows, f"{wording.STATIONS}."))
    if told := [f"{each}." for each in wording.gaps(found)]:
        made.append(Findings(told))
    return made
