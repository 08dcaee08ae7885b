"""Runs the houses, then the best scheme's adoption in them and the papers' findings, and judges the claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from wifair.analysis.comparison import Differences
from wifair.everything.side_effects import side_effects
from wifair.neighbours import figures, findings
from wifair.neighbours.claims import ADOPTERS, BUSY_EVENING, CLAIMS, NEIGHBOURS, PAPERS, RANKING, StudyClaim
from wifair.neighbours.grid import adoption_cells, busy_cells, cells, keys, names, paper_cells, share
from wifair.neighbours.houses import (
    ALONE,
    AMONG,
    AS_IT_IS,
    BUFFERS,
    BY_20_MHZ,
    FORMS,
    HARDWARE,
    MINE,
    ONE,
    SHARES,
    WIDTH_MHZ,
    Size,
    adopters,
)
from wifair.neighbours.measured import ADOPTION, BUSY, CRITERIA, HOUSES, ONE_HOUSE, Measured, Place, Which, best_of
from wifair.papers import Asked, Reproduction
from wifair.papers.batches import Batches, Part
from wifair.papers.claims import judge
from wifair.papers.runs import CellRuns, Runs
from wifair.results.results import Results, merged
from wifair.scenario.building.expand import loads_mbps
from wifair.shipping.counts import CountClaim
from wifair.stats import Values

# The plans of channels that each figure needs.
PLANS: Mapping[str | None, Sequence[str]] = {
    None: (ALONE, *AMONG, BY_20_MHZ),
    RANKING: (ALONE, *AMONG, BY_20_MHZ),
    NEIGHBOURS: (*AMONG, BY_20_MHZ),
    ADOPTERS: (ONE,),
    BUSY_EVENING: (),
    PAPERS: (),
}
WITH_BUSY = (None, BUSY_EVENING)
WITH_SEEDS = (None, RANKING, NEIGHBOURS)
WITH_ADOPTION = (None, ADOPTERS)
WITH_PAPERS = (None, PAPERS)
# The share of the progress that drawing the houses takes.
SHARE_OF_DRAWING = 0.05
# The share of the progress with the houses, where adoption follows.
SHARE_OF_HOUSES = 0.85


def reproduce(asked: Asked) -> Reproduction:
    """Runs what the figure needs, or all, and judges its claims. It has no readings.

    `seeds` is the number of houses, and of seeds of the first.
    """
    asked.check(figures.FIGURES, in_place_of_readings="plans of channels")
    figure, form = asked.figure, FORMS[asked.form]
    size = form if asked.seeds is None else replace(form, houses=asked.seeds)
    batches = Batches(asked)
    found = measured(batches, size, figure)
    load = loads_mbps(size.building)[size.building["traffic"]]
    return Reproduction(
        results=merged(batches.finished),
        judgements=[
            claim.judge(found) if isinstance(claim, CountClaim) else judge(claim, found)
            for claim in CLAIMS
            if figure in (None, _figure(claim))
        ],
        sensitivities=[],
        figures=lambda: figures.drawn(found, figure),
        texts=lambda: figures.texts(found, figure),
        figure_formats=size.figure_formats,
        conditions={
            "form": asked.form,
            "replications": size.houses,
            "house": f"{size.flats} flats on {size.floors} floors, {size.stations} stations each",
            "load_of_a_flat": f"at most {load['down']:.1f} Mbps down and {load['up']:.1f} Mbps up",
            "warmup_s": size.warmup_s,
            "duration_s": size.duration_s,
            **({"best_scheme": found.best} if found.best else {}),
            "hardware": HARDWARE,
            "air": f"{WIDTH_MHZ} MHz, fixed rates, a single user per PPDU; no OFDMA",
        },
    )


def _figure(claim: StudyClaim) -> str | None:
    return claim.part if isinstance(claim, CountClaim) else claim.figure


def measured(batches: Batches, size: Size, figure: str | None) -> Measured:
    """Runs what the figure needs: the houses, their busy evenings and the papers' findings, then the adoption of the scheme that is best in the houses."""
    plans = PLANS[figure]
    numbers = range(1, size.houses + 1)
    among = BUFFERS if figure == ADOPTERS else ()
    of_papers = findings.PLANS if figure in WITH_PAPERS else ()
    of_busy = (ALONE, ONE) if figure in WITH_BUSY else ()
    parts: dict[tuple[str, str, int], Part] = {}
    for number in numbers:
        batches.report(SHARE_OF_DRAWING * number / size.houses)
        for plan in plans:
            seeds = _seeds(number, plan, size, figure)
            parts[HOUSES, plan, number] = f"house {number}, {plan}", cells(number, plan, size, among), seeds
        for plan in of_busy:
            parts[BUSY, plan, number] = f"busy, house {number}, {plan}", busy_cells(number, plan, size), [number]
        for plan in of_papers:
            parts[PAPERS, plan, number] = f"papers, house {number}, {plan}", paper_cells(number, plan, size), [number]
    results = dict(
        zip(
            parts,
            batches.run([*parts.values()], until=SHARE_OF_HOUSES if figure in WITH_ADOPTION else 1.0),
            strict=True,
        )
    )
    values: dict[tuple[Place, str], Values] = {}
    for part, wanted in ((HOUSES, plans), (BUSY, of_busy)):
        for plan in wanted:
            values |= _values([results[part, plan, number] for number in numbers], part, plan, size)
    differences = Differences()
    if figure in WITH_SEEDS:
        values |= _of_one_house(results[HOUSES, ONE, 1], size)
        differences = _differences(results[HOUSES, ONE, 1])
    best, adopting = "", dict[int, Which]()
    if figure in WITH_ADOPTION:
        best = best_of(values, ONE)
        values |= _adopted(batches, values, best, size)
        adopting = {percent: _adopting(percent, size) for percent in SHARES}
    papers: dict[tuple[str, str], list[CellRuns]] = {}
    for plan in of_papers:
        papers |= _papers([results[PAPERS, plan, number] for number in numbers], plan)
    return Measured(values, adopting, best, differences, papers)


def _seeds(number: int, plan: str, size: Size, figure: str | None) -> Sequence[int]:
    """The seed of a house is its number; the first has several on one channel, if the figure needs them."""
    several = number == 1 and plan == ONE and figure in WITH_SEEDS
    return range(1, size.houses + 1) if several else [number]


def _of_flats(results: Sequence[Results], size: Size) -> list[Runs]:
    """The runs of each flat; of a single BSS, its own."""
    together = merged(results)
    if not together.bss_names:
        return [Runs.of(together)]
    return [Runs.of(together.of_bss(name)) for name in names(size)]


def _columns(runs: Sequence[Runs], at: Sequence[Mapping[str, object]], seeds: int | None) -> dict[str, Values]:
    """By criterion: (replications, flats), of the first seeds, or all, of each of the cells."""
    found = {}
    for criterion in CRITERIA:
        of_flat = [np.concatenate([criterion.values(flat.cell(**place))[:seeds] for place in at]) for flat in runs]
        found[criterion.id] = np.stack(of_flat, axis=1)
    return found


def _values(results: Sequence[Results], part: str, plan: str, size: Size) -> dict[tuple[Place, str], Values]:
    """The houses of a part under one plan, each with its seed."""
    runs = _of_flats(results, size)
    ids = [str(cell.keys["change"]) for cell in results[0].cells]
    numbers = range(1, size.houses + 1)
    return {
        (Place(part, plan, change), id): values
        for change in ids
        for id, values in _columns(runs, [keys(number, plan, change, part) for number in numbers], 1).items()
    }


def _of_one_house(results: Results, size: Size) -> dict[tuple[Place, str], Values]:
    """The first house with all seeds."""
    runs = _of_flats([results], size)
    return {
        (Place(ONE_HOUSE, ONE, str(cell.keys["change"])), id): values
        for cell in results.cells
        for id, values in _columns(runs, [cell.keys], None).items()
    }


def _differences(results: Results) -> Differences:
    """What each change does to each neighbour in the first house, by the ids of the changes."""
    ids = {cell.name: str(cell.keys["change"]) for cell in results.cells}
    rows = side_effects(results, MINE)
    return Differences({**row, "scenario": ids[row["scenario"]], "against": AS_IT_IS.id} for row in rows)


def _adopted(
    batches: Batches, values: Mapping[tuple[Place, str], Values], best: str, size: Size
) -> dict[tuple[Place, str], Values]:
    """The houses by share of adopters. Where one flat adopts, it is the resident's, which has been run."""
    numbers = range(1, size.houses + 1)
    parts = [(f"adoption, house {number}", adoption_cells(number, best, size), [number]) for number in numbers]
    results = batches.run(parts, until=1.0)
    runs = _of_flats(results, size)
    there = {cell.keys["change"] for cell in results[0].cells}
    found: dict[tuple[Place, str], Values] = {}
    for percent in SHARES:
        place = Place(ADOPTION, ONE, percent)
        if share(percent) in there:
            at = [keys(number, ONE, share(percent), ADOPTION) for number in numbers]
            of_share = _columns(runs, at, 1)
        else:
            of_share = {criterion.id: values[Place(HOUSES, ONE, best), criterion.id] for criterion in CRITERIA}
        found |= {(place, id): each for id, each in of_share.items()}
    return found


def _adopting(percent: int, size: Size) -> Which:
    every = names(size)
    rows = [adopters(number, percent, every) for number in range(1, size.houses + 1)]
    return np.array([[name in row for name in every] for row in rows])


def _papers(results: Sequence[Results], plan: str) -> dict[tuple[str, str], list[CellRuns]]:
    """The resident's BSS in the cells of the papers' findings, house by house."""
    found: dict[tuple[str, str], list[CellRuns]] = {}
    for number, own in enumerate(results, 1):
        runs = Runs.of(own if plan == ALONE else own.of_bss(MINE))
        for name in findings.CELLS:
            found.setdefault((plan, name), []).append(runs.cell(**keys(number, plan, name, PAPERS)))
    return found
