"""The paper's Tables 1 to 5 by column. Throughputs in kbps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

NEWRENO = "newreno"
ARF_AWARE = "arf-aware"


class Column(NamedTuple):
    """One column of a table: its case, the printed throughput of each session, index and sum."""

    table: int
    case: str
    control: str
    sessions_kbps: tuple[float, ...]
    fairness: float
    aggregate_kbps: float

    @property
    def id(self) -> str:
        """Its name in claims."""
        return f"t{self.table}-{self.control}" + ("-fair" if self.table == 2 else "")


# Table 2's second column repeats Table 1's.
COLUMNS = (
    Column(1, "anomaly", ARF_AWARE, (486, 998), 0.926377, 1484),
    Column(1, "anomaly", NEWRENO, (616, 595), 0.746335, 1211),
    Column(2, "fair-share", NEWRENO, (1070, 1031), 0.999656, 2101),
    Column(3, "low-rate", ARF_AWARE, (407, 392), 0.999648, 799),
    Column(3, "low-rate", NEWRENO, (411, 383), 0.998758, 794),
    Column(4, "multi-session", ARF_AWARE, (127, 444, 430, 485, 512), 0.996125, 1998),
    Column(4, "multi-session", NEWRENO, (341, 320, 305, 298, 286), 0.626977, 1550),
    Column(5, "multi-rate", ARF_AWARE, (127, 163, 277, 670), 0.94693, 1237),
    Column(5, "multi-rate", NEWRENO, (290, 262, 256, 260), 0.831825, 1068),
)

NEWRENO_COLUMNS: Mapping[int, Column] = {column.table: column for column in COLUMNS if column.control == NEWRENO}
