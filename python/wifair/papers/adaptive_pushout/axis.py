"""The reading of Fig. 3's x axis, whose values are missing, as 10 to 40 flows instead of 2 to 20."""

from __future__ import annotations

from wifair.papers.adaptive_pushout.measured import Measured
from wifair.papers.adaptive_pushout.study import TEN_TO_FORTY, Mix
from wifair.papers.readings import Kind
from wifair.study.job import Cell

# The mixes that the grid does not have, each made from the cells of one that it has.
_MADE_FROM = {Mix(8, 8): Mix(15, 15), Mix(9, 9): Mix(20, 20)}


class TenToForty:
    """The cells with 30 and 40 flows, and the claims on Fig. 3 at 10, 20, 30 and 40 flows."""

    id = "fig3-10-to-40"
    question = "Which numbers of flows does Fig. 3 plot?"
    choice = "10, 20, 30 and 40, not 2 to 20"
    kind = Kind.READING

    def concerns(self, cell: Cell) -> bool:
        """Whether a cell with 30 or 40 flows is made from this one."""
        return _mix(cell) in _MADE_FROM

    def applied(self, cell: Cell) -> Cell:
        """The cell with 30 or 40 flows under the same scheme."""
        mix = _MADE_FROM[_mix(cell)]
        scheme = cell.keys["scheme"]
        changed = {
            "title": f"{scheme}, (n_down, n_up) = {mix}",
            "flows.0.count": mix.up,
            "flows.1.count": mix.down,
        }
        keys = {**cell.keys, "n_up": mix.up, "n_down": mix.down}
        return Cell(f"{scheme}/{mix.up}+{mix.down}", cell.scenario.override(changed), keys)

    def viewed(self, data: Measured) -> Measured:
        """The measurements with these mixes in Fig. 3."""
        return data.with_notions(symmetric=TEN_TO_FORTY)


def _mix(cell: Cell) -> Mix:
    return Mix(int(str(cell.keys["n_up"])), int(str(cell.keys["n_down"])))
