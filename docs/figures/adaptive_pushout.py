"""The index under each choice of the redundant ACK, into docs/adaptive-pushout.md: `python docs/figures/redundant_acks.py`.

The cells are those of `wifair paper adaptive-pushout --full`, with its seeds. `--store DIR` takes its finished replications.
"""

from __future__ import annotations

import sys
from pathlib import Path

from wifair.cli.output import progress
from wifair.markdown import Marks, table
from wifair.papers.adaptive_pushout import STUDY
from wifair.papers.adaptive_pushout.measured import Measured
from wifair.papers.adaptive_pushout.study import ACK_PUSHOUT, ADAPTIVE, AF, TABLE_II, Mix
from wifair.papers.readings import named
from wifair.papers.reproduction import variant_cells
from wifair.papers.runs import Runs
from wifair.stats import t_interval
from wifair.study import Study, run_studies

PAGE = Path(__file__).resolve().parents[1] / "adaptive-pushout.md"
MARKS = Marks("index by redundant ack", "docs/figures/redundant_acks.py")
MIXES = (*(mix for mix in TABLE_II if mix.down <= 6), Mix(10, 10), Mix(up=6, down=14))
# Columns: a reading ("" is the baseline, which removes the oldest), a scheme, a heading.
RTO = "rto-1s"
COLUMNS = (
    ("", AF, "AF"),
    ("", ACK_PUSHOUT, "ACK pushout, oldest"),
    ("redundant-random", ACK_PUSHOUT, "random"),
    ("redundant-newest", ACK_PUSHOUT, "newest"),
    ("", ADAPTIVE, "adaptive pushout, oldest"),
    ("redundant-random", ADAPTIVE, "random"),
    ("redundant-newest", ADAPTIVE, "newest"),
    ("redundant-newest+tie-random", ADAPTIVE, "newest, tie by a coin"),
    (RTO, AF, "AF, RTO 1 s"),
    (f"{RTO}+redundant-random", ACK_PUSHOUT, "ACK pushout, random, RTO 1 s"),
    (f"{RTO}+redundant-random", ADAPTIVE, "adaptive pushout, random, RTO 1 s"),
)


def main() -> None:
    """Runs the cells and writes the table."""
    form = STUDY.forms["full"]
    wanted = {(mix.up, mix.down) for mix in MIXES}
    grid = [cell for cell in STUDY.cells(form, None) if (cell.keys["n_up"], cell.keys["n_down"]) in wanted]
    studies = {}
    for reading, scheme, _ in COLUMNS:
        other = named(reading, STUDY.readings) if reading else None
        of_scheme = [cell for cell in grid if cell.keys["scheme"] == scheme]
        studies[reading, scheme] = Study(variant_cells(of_scheme, other), range(1, form.seeds + 1))
    store = sys.argv[sys.argv.index("--store") + 1] if "--store" in sys.argv else None
    with progress("simulating") as report:
        found = run_studies(list(studies.values()), progress=report, store=store)
    measured = {key: Measured(Runs.of(results)) for key, results in zip(studies, found, strict=True)}
    rows = [
        [
            str(mix),
            *(t_interval(measured[reading, scheme].index(mix, scheme)).short() for reading, scheme, _ in COLUMNS),
        ]
        for mix in MIXES
    ]
    MARKS.write(PAGE, table(["mix", *(heading for *_, heading in COLUMNS)], rows) + "\n")


if __name__ == "__main__":
    main()
