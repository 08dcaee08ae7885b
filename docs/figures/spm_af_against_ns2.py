"""Jain's index of SPM-AF next to that of ns-2.35 with the same rule, into docs/spm-af-las.md.

    .venv/bin/python docs/figures/spm_af_against_ns2.py

The runs of ns-2 are those of tests/data/ns2-spm-af.csv; its head says how they were made.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wifair.markdown import Marks, table
from wifair.papers.spm_af_las.study import FORMS, SPM_AF, TAIL_DROP, up_down
from wifair.stats import Interval, Values, jain, jain_rows, t_interval
from wifair.study import Cell, Study, run_studies

PAGE = Path(__file__).resolve().parents[1] / "spm-af-las.md"
DATA = PAGE.parents[1] / "tests" / "data" / "ns2-spm-af.csv"
MARKS = Marks("ns-2", "docs/figures/spm_af_against_ns2.py")
SEEDS = 20
# The growth of the window by the name that the data have for it: heading, scheme, settings.
GROWTH: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "none": ("tail drop", TAIL_DROP, {}),
    "segments": ("SPM-AF", SPM_AF, {}),
    "acks": ("SPM-AF, growth by ACKs", SPM_AF, {"tcp.byte_counting": None}),
}


def of_ns2() -> dict[tuple[str, int], Interval]:
    """Jain's index by growth and buffer."""
    found = defaultdict(list)
    with DATA.open(newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            found[row["growth"], int(row["buffer"])].append(jain([float(row[f"kbps_{i}"]) for i in range(10)]))
    return {case: t_interval(values) for case, values in found.items()}


def of_wifair(cases: list[tuple[str, int]]) -> dict[tuple[str, int], Interval]:
    """The same of the study's scenarios."""
    grid = {(cell.keys["scheme"], cell.keys["buffer"]): cell.scenario for cell in up_down(FORMS["full"])}
    cells = []
    for growth, buffer in cases:
        _, scheme, settings = GROWTH[growth]
        cells.append(Cell(f"{growth}/{buffer}", grid[scheme, buffer].override(settings), {}))
    [results] = run_studies([Study(cells, SEEDS)])
    flows = results.flows.partition_by("scenario", as_dict=True)

    def index(name: str) -> Values:
        return jain_rows(flows[(name,)].sort("seed", "flow")["goodput_mbps"].to_numpy().reshape(SEEDS, -1))

    return {(growth, buffer): t_interval(index(f"{growth}/{buffer}")) for growth, buffer in cases}


def shown(found: Interval) -> str:
    """An index with its interval."""
    return f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def main() -> None:
    """Writes the table."""
    theirs = of_ns2()
    ours = of_wifair(list(theirs))
    headings = ["buffer", *(f"{heading}: {whose}" for heading, _, _ in GROWTH.values() for whose in ("ns-2", "wifair"))]
    rows = [
        [f"{buffer}", *(shown(of[growth, buffer]) for growth in GROWTH for of in (theirs, ours))]
        for buffer in sorted({buffer for _, buffer in theirs})
    ]
    MARKS.write(
        PAGE,
        f"Jain's index, means with 95 % intervals over 4 runs of ns-2 and {SEEDS} of wifair.\n\n{table(headings, rows)}\n",
    )


if __name__ == "__main__":
    main()
