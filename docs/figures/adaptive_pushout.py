"""Tables of docs/adaptive-pushout.md that no single claim prints: `python docs/figures/adaptive_pushout.py`.

The cells are those of `wifair paper adaptive-pushout --full`, with its seeds. `--store DIR` takes its finished replications.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from wifair.cli.output import progress
from wifair.markdown import Marks, table
from wifair.papers.adaptive_pushout import STUDY
from wifair.papers.adaptive_pushout.measured import Growth, Measured
from wifair.papers.adaptive_pushout.study import (
    ACK_PUSHOUT,
    ADAPTIVE,
    AF,
    ALL_MIXES,
    SCHEMES,
    SPM_AF,
    TABLE_II,
    TAIL_DROP,
    TWENTY,
    Mix,
)
from wifair.papers.claims import judge
from wifair.papers.page import _with_interval
from wifair.papers.readings import named
from wifair.papers.reproduction import variant_cells
from wifair.papers.runs import Runs
from wifair.stats import LEVEL, Values, holm, p_value, t_interval
from wifair.study import Study, run_studies

PAGE = Path(__file__).resolve().parents[1] / "adaptive-pushout.md"
COMMAND = "docs/figures/adaptive_pushout.py"

# The schemes that a reading changes; the other schemes are as in the reading before the last "+", or in the baseline ("").
NEWEST, RANDOM, RTO, PLACE, TIE = "redundant-newest", "redundant-random", "rto-1s", "af-keeps-place", "tie-random"
RUN = {
    "": SCHEMES,
    NEWEST: (ACK_PUSHOUT, ADAPTIVE),
    RANDOM: (ACK_PUSHOUT, ADAPTIVE),
    RTO: (AF, ACK_PUSHOUT),
    f"{RTO}+{RANDOM}": (ACK_PUSHOUT, ADAPTIVE),
    PLACE: (AF,),
    TIE: (ADAPTIVE,),
    f"{NEWEST}+{TIE}": (ADAPTIVE,),
}
# Columns of the index: a reading, a scheme, a heading.
COLUMNS = (
    ("", AF, "AF"),
    ("", ACK_PUSHOUT, "ACK pushout, oldest"),
    (RANDOM, ACK_PUSHOUT, "random"),
    (NEWEST, ACK_PUSHOUT, "newest"),
    ("", ADAPTIVE, "adaptive pushout, oldest"),
    (RANDOM, ADAPTIVE, "random"),
    (NEWEST, ADAPTIVE, "newest"),
    (f"{NEWEST}+{TIE}", ADAPTIVE, "newest, tie by a coin"),
    (RTO, AF, "AF, RTO 1 s"),
    (f"{RTO}+{RANDOM}", ACK_PUSHOUT, "ACK pushout, random, RTO 1 s"),
    (f"{RTO}+{RANDOM}", ADAPTIVE, "adaptive pushout, random, RTO 1 s"),
)
FEW = (Mix(1, 1), Mix(2, 2), Mix(3, 3))
FEW_COLUMNS = (
    ("", AF, "AF"),
    (PLACE, AF, "AF, keeps the place"),
    (RTO, AF, "AF, RTO 1 s"),
    ("", ACK_PUSHOUT, "ACK pushout"),
    (RTO, ACK_PUSHOUT, "ACK pushout, RTO 1 s"),
)
# Pairs whose index is compared at every mix: a reading, and two schemes.
PAIRS = (
    ("", AF, ACK_PUSHOUT),
    (NEWEST, AF, ACK_PUSHOUT),
    (RANDOM, AF, ACK_PUSHOUT),
    (RTO, AF, ACK_PUSHOUT),
    (PLACE, AF, ACK_PUSHOUT),
    ("", ADAPTIVE, AF),
    (NEWEST, ADAPTIVE, AF),
    (RANDOM, ADAPTIVE, AF),
    (f"{NEWEST}+{TIE}", ADAPTIVE, AF),
    (TIE, ADAPTIVE, AF),
    (f"{RTO}+{RANDOM}", ADAPTIVE, AF),
    ("", ADAPTIVE, ACK_PUSHOUT),
    (f"{RTO}+{RANDOM}", ADAPTIVE, ACK_PUSHOUT),
)
ACK_MIXES = (*FEW, TWENTY, TABLE_II[0], TABLE_II[-1])
MEASURES = {
    Growth.PER_SEGMENT: "growth per round trip: ACKs per segment",
    Growth.PER_SECOND: "growth per second: segments per second",
    Growth.ACKS_PER_SECOND: "ACKs per second",
}
ON_GROWTH = ("II-spm-af-slows-growth", "II-ack-pushout-mitigates", "III-B-curbs-side-effect")


class Readings:
    """The runs of every reading."""

    def __init__(self, store: str | None) -> None:
        form = STUDY.forms["full"]
        grid = STUDY.cells(form, None)
        studies = {}
        for reading, schemes in RUN.items():
            other = named(reading, STUDY.readings) if reading else None
            cells = [cell for cell in grid if cell.keys["scheme"] in schemes]
            studies[reading] = Study(variant_cells(cells, other), range(1, form.seeds + 1))
        with progress("simulating") as report:
            found = run_studies(list(studies.values()), progress=report, store=store)
        self.seeds = form.seeds
        self._measured = {key: Measured(Runs.of(results)) for key, results in zip(studies, found, strict=True)}

    def of(self, reading: str, scheme: str) -> Measured:
        """The runs of a scheme under a reading, or under the part of it that concerns the scheme."""
        parts = reading.split("+")
        tried = (reading, *parts, "")
        return next(self._measured[one] for one in tried if one in RUN and scheme in RUN[one])

    def index(self, reading: str, scheme: str, mix: Mix) -> Values:
        """The fairness index."""
        return self.of(reading, scheme).index(mix, scheme)


def short(values: Values) -> str:
    """A mean with the half-width of its interval."""
    return t_interval(values).short()


def indexes(runs: Readings, mixes: tuple[Mix, ...], columns: tuple[tuple[str, str, str], ...]) -> str:
    """A row per mix."""
    rows = [[str(x), *(short(runs.index(reading, scheme, x)) for reading, scheme, _ in columns)] for x in mixes]
    return table(["mix", *(heading for *_, heading in columns)], rows)


def leads(runs: Readings) -> str:
    """A row per pair: the mixes at which each of the two has the clearly higher index."""
    rows = []
    for reading, first, second in PAIRS:
        margins = {x: runs.index(reading, first, x) - runs.index(reading, second, x) for x in ALL_MIXES}
        different = {x: values for x, values in margins.items() if np.any(values != 0.0)}
        adjusted = dict(zip(different, holm([p_value(values) for values in different.values()]), strict=True))
        ahead: dict[bool, list[str]] = {True: [], False: []}
        for x, p in adjusted.items():
            if p < 1.0 - LEVEL:
                mean = t_interval(different[x]).estimate
                ahead[mean > 0].append(f"{x} by {abs(mean):.2g}")
        rows.append(
            [reading and f"`{reading}`", first, second, *(", ".join(ahead[way]) or "–" for way in (True, False))]
        )
    headings = ["`--reading`", "first", "second", "first clearly ahead", "second clearly ahead"]
    return (
        f"The first scheme's index minus the second's, at the {len(ALL_MIXES)} mixes. Clearly: paired by seed, 95 %, after Holm's "
        f"correction over the mixes of the row.\n\n{table(headings, rows)}"
    )


def twenty_flows(runs: Readings) -> str:
    """A row per scheme at (10, 10)."""
    rows = []
    for scheme in SCHEMES:
        m = runs.of("", scheme)
        means = [way(TWENTY, scheme).mean(axis=1) for way in (m.up, m.down)]
        of = (m.index(TWENTY, scheme), m.index_up(TWENTY, scheme), m.balance(TWENTY, scheme), *means)
        rows.append([scheme, *map(short, of)])
    headings = ("scheme", "index", "among uplinks", "between directions", "Mbps per uplink", "Mbps per downlink")
    return table(headings, rows)


def acks(runs: Readings) -> str:
    """A row per mix and scheme: the fate of ACKs at the AP, and the growth that the others allow."""
    rows = []
    for x in ACK_MIXES:
        for scheme in (TAIL_DROP, SPM_AF, ACK_PUSHOUT, ADAPTIVE):
            m = runs.of("", scheme)
            shares = (m.acks_removed(x, scheme), m.lost(x, scheme, "ack"))
            rows.append(
                [
                    str(x),
                    scheme,
                    *(short(100.0 * share) for share in shares),
                    *(short(m.growth(x, scheme, by)) for by in MEASURES),
                ]
            )
    equal = {x: sum(np.array_equal(*both) for both in zip(*_both(runs, x), strict=True)) for x in FEW}
    same = ", ".join(f"{count} at {x}" for x, count in equal.items())
    removed = ("ACKs removed, %", "ACKs removed that no queued ACK repeats, %")
    headings = ["mix", "scheme", *removed, *MEASURES.values()]
    return f"{table(headings, rows)}\n\nReplications of {runs.seeds} in which AF and SPM-AF give every flow the same throughput: {same}."


def _both(runs: Readings, mix: Mix) -> list[Values]:
    return [runs.of("", scheme).throughputs(mix, scheme) for scheme in (AF, SPM_AF)]


def growth(runs: Readings) -> str:
    """A row per claim on the growth of windows: the verdict by each measure."""
    m = runs.of("", AF)
    claims = [claim for claim in STUDY.claims if claim.id in ON_GROWTH]
    rows = []
    for claim in claims:
        cells = []
        for by in MEASURES:
            found = judge(claim, m.with_notions(growth=by))
            assert found.measured is not None
            value = _with_interval(found.measured, found.ci_low, found.ci_high)
            cells.append(f"**{found.verdict.value}**: {value} {by.value}; {found.why}")
        rows.append([f"`{claim.id}`", *cells])
    return table(["claim", *MEASURES.values()], rows)


def main() -> None:
    """Runs the cells and writes the tables."""
    runs = Readings(sys.argv[sys.argv.index("--store") + 1] if "--store" in sys.argv else None)
    texts = {
        "index by redundant ack": indexes(runs, TABLE_II, COLUMNS),
        "few flows": indexes(runs, FEW, FEW_COLUMNS),
        "leads": leads(runs),
        "twenty flows": twenty_flows(runs),
        "acks": acks(runs),
        "growth": growth(runs),
    }
    for what, text in texts.items():
        Marks(what, COMMAND).write(PAGE, f"{text}\n")


if __name__ == "__main__":
    main()
