"""Tables of docs/spm-af-las.md that no single claim prints: `python docs/figures/spm_af_las.py`.

The cells are those of `wifair paper spm-af-las --full`, with its first five seeds. `--store DIR` takes its finished replications.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from wifair.cli.output import progress
from wifair.markdown import Marks, table
from wifair.papers.readings import named
from wifair.papers.reproduction import variant_cells
from wifair.papers.runs import Runs
from wifair.papers.spm_af_las import STUDY
from wifair.papers.spm_af_las.measured import Measured
from wifair.papers.spm_af_las.study import SPM_AF, T_LAS, TAIL_DROP
from wifair.stats import t_interval
from wifair.study import Study, run_studies

PAGE = Path(__file__).resolve().parents[1] / "spm-af-las.md"
COMMAND = "docs/figures/spm_af_las.py"
FORM = STUDY.forms["full"]
SEEDS = FORM.first_look
# The readings of a table ("" is the baseline), and the coordinates of its cells.
ENDS = ("", "syn-late", "nine-segments", "eleven-segments", "hundred-files")
FILES: Mapping[str, Sequence[object]] = {"part": ("files",), "mix": ("mixed",), "scheme": (TAIL_DROP, T_LAS)}
GROWTH = ("", "spm-beyond-ssthresh", "spm-limit-2", "spm-by-acks", "spm-retransmissions")
SPM: Mapping[str, Sequence[object]] = {"part": ("up-down",), "scheme": (SPM_AF,)}


def studies(readings: Sequence[str], only: Mapping[str, Sequence[object]]) -> dict[str, Study]:
    """A study per reading, of the cells with these coordinates that it changes."""
    grid = [cell for cell in STUDY.cells(FORM, None) if all(cell.keys.get(name) in some for name, some in only.items())]
    others = {name: named(name, STUDY.readings) if name else None for name in readings}
    return {name: Study(variant_cells(grid, other), range(1, SEEDS + 1)) for name, other in others.items()}


def headings(first: str, readings: Sequence[str]) -> list[str]:
    """The first column's heading and the readings."""
    return [first, *(f"`{name}`" if name else "baseline" for name in readings)]


def ends(measured: Mapping[str, Measured]) -> str:
    """A row per number of hosts: whether large files end under T-LAS, and their pace."""

    def shown(m: Measured, hosts: int) -> str:
        if hosts not in m.hosts:
            return "–"
        ended = (m.unfinished(hosts, T_LAS) == 0.0).sum()
        return f"{ended} of {SEEDS}; {t_interval(1.0 / m.large_slowdown(hosts, T_LAS)).short()}"

    rows = [[f"{hosts}", *(shown(measured[name], hosts) for name in ENDS)] for hosts in measured[""].hosts]
    return table(headings("hosts", ENDS), rows)


def growth(measured: Mapping[str, Measured]) -> str:
    """A row per buffer: the fairness index of SPM-AF."""
    rows = [
        [f"{buffer}", *(t_interval(measured[name].index(buffer, SPM_AF)).short() for name in GROWTH)]
        for buffer in measured[""].buffers
    ]
    return table(headings("buffer", GROWTH), rows)


def main() -> None:
    """Runs the cells and writes the tables."""
    store = sys.argv[sys.argv.index("--store") + 1] if "--store" in sys.argv else None
    parts = {"growth": (studies(GROWTH, SPM), growth), "ends": (studies(ENDS, FILES), ends)}
    with progress("simulating") as report:
        found = iter(
            run_studies([one for of, _ in parts.values() for one in of.values()], progress=report, store=store)
        )
    for what, (of, text) in parts.items():
        Marks(what, COMMAND).write(PAGE, f"{text({name: Measured(Runs.of(next(found))) for name in of})}\n")


if __name__ == "__main__":
    main()
