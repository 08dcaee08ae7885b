"""Pages of papers that quote measured values: claims that the commit draws are run again, and give the page's row.

A claim is run if it needs few cells. The short form draws one claim of one page, the long form (`make validate`) three of each. Not
covered are `docs/rates.md`, `docs/tcp.md`, `docs/scope.md` and `docs/modern-ap.md`, which are written by scripts.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from conftest import ROOT
from test_quoted_numbers import draw
from wifair.markdown import table
from wifair.papers import paper_ids
from wifair.papers.claims import judge
from wifair.papers.page import VERDICTS, _claim_row
from wifair.papers.reproduction import BASELINE, variant_cells
from wifair.papers.runs import CellRuns, Place, Runs, place_of
from wifair.study import Cell, Study

LONG = bool(os.environ.get("WIFAIR_VALIDATE"))
# The most cells of a claim, and of a cell the number of stations times the simulated seconds of all replications.
MOST_CELLS = 2
MOST_STATION_SECONDS = 150_000 if LONG else 50_000


class TooMuch(Exception):
    """A claim needs more runs than the test has time for."""


class OnDemand(Runs):
    """A study's cells, each run when a claim asks for it."""

    def __init__(self, grid: Iterable[Cell], seeds: int) -> None:
        super().__init__({})
        self.grid: dict[Place, Cell] = {place_of(cell): cell for cell in grid}
        self.seeds = seeds
        self.ran: dict[Place, CellRuns] = {}
        # The cells that the present claim has asked for.
        self.wanted: set[Place] = set()

    def cell(self, **keys: object) -> CellRuns:
        place = frozenset(keys.items())
        cell = self.grid[place]
        self.wanted.add(place)
        if len(self.wanted) > MOST_CELLS:
            raise TooMuch
        if place not in self.ran:
            stations = cell.scenario.plan()["bss"]["stations"]
            if len(stations) * cell.scenario.simulated_s() * self.seeds > MOST_STATION_SECONDS:
                raise TooMuch
            [found] = Runs.of(Study([cell], self.seeds).run())._cells.values()
            self.ran[place] = found
        return self.ran[place]

    @property
    def every_place(self) -> frozenset[Place]:
        return frozenset(self.grid)

    @property
    def replications(self) -> int:
        return self.seeds

    def places(self, key: str, **keys: object) -> list[Any]:
        wanted = set(keys.items())
        return sorted({dict(place)[key] for place in self.grid if wanted <= place and key in dict(place)})


def study_of(paper: str) -> Any:
    return import_module(f"wifair.papers.{paper.replace('-', '_')}").STUDY


def page_of(paper: str) -> str:
    return VERDICTS.between(ROOT / "docs" / f"{paper}-verdicts.md") or ""


PAPERS = [*paper_ids(), "generations"]
# Every claim of this paper needs cells with more stations than the short form has time for.
LONG_ONLY = {"adaptive-pushout"}


@pytest.mark.parametrize("paper", PAPERS)
def test_a_page_names_its_command_and_the_replications_of_this_checkout(paper: str) -> None:
    text = (ROOT / "docs" / f"{paper}-verdicts.md").read_text()
    assert f"`wifair paper {paper} --full --page`" in text
    told = re.search(r"^Conditions: form full; replications (\d+); replications of readings (\d+)", text, re.MULTILINE)
    form = study_of(paper).forms["full"]
    assert told
    assert (int(told[1]), int(told[2])) == (form.seeds, form.first_look or form.seeds)


def test_intervals_in_the_text_of_spm_af_las_are_those_of_its_tables() -> None:
    page = (ROOT / "docs" / "spm-af-las.md").read_text()
    written = re.compile(r"<!-- (.+?): written by .+?<!-- end of \1 -->", re.DOTALL)
    tables = page_of("spm-af-las") + "".join(found[0] for found in written.finditer(page))
    quoted = re.findall(r"-?[\d.]+ \[-?[\d.]+,\s-?[\d.]+\]", written.sub("", page))
    assert quoted
    for value in quoted:
        assert " ".join(value.split()) in tables, f"docs/spm-af-las.md: {value} is in no table that a command wrote"


def test_intervals_and_likelihoods_in_the_text_of_arf_aware_tcp_are_those_of_its_appendices() -> None:
    """A value may have fewer digits than the appendix."""
    page = (ROOT / "docs" / "arf-aware-tcp.md").read_text()
    appendices = [(ROOT / "docs" / f"arf-aware-tcp-{name}.md").read_text() for name in ("verdicts", "calibration")]
    interval = re.compile(r"(-?[\d.]+) \[(-?[\d.]+),\s(-?[\d.]+)\]")
    known = np.array([[float(end) for end in found] for found in interval.findall("".join(appendices))])
    quoted = interval.findall(page)
    assert len(quoted) > 10
    for value in quoted:
        units = np.array([10.0 ** -len(end.partition(".")[2]) for end in value])
        apart = np.abs(known - [float(end) for end in value])
        assert np.any(np.all(apart <= 0.5001 * units, axis=1)), f"docs/arf-aware-tcp.md: {value} is in no appendix"
    section = page.partition("## The calibration")[2].partition("\n## ")[0]
    likelihoods = re.findall(r"\| ([\d.]+(?:e-\d+)?) \|$", section, re.MULTILINE) + re.findall(r"[\d.]+e-\d+", section)
    listed = {float(found) for found in re.findall(r"(?<=\| )[\d.]+(?:e-\d+)?(?= \|)", appendices[1])}
    assert len(likelihoods) >= 5
    assert {float(found) for found in likelihoods} <= listed


@pytest.mark.whole
@pytest.mark.parametrize("paper", PAPERS if LONG else draw().sample(sorted({*PAPERS} - LONG_ONLY), 1))
def test_drawn_claims_give_the_rows_of_the_page_again(paper: str) -> None:
    study, text, rng = study_of(paper), page_of(paper), draw()
    size = study.forms["full"]
    grid = variant_cells(study.cells(size, None))
    assert grid[0].name.startswith(BASELINE)
    wanted, found = 3 if LONG else 1, 0
    runs = OnDemand(grid, size.seeds)
    for claim in rng.sample(study.claims, len(study.claims)):
        runs.wanted.clear()
        try:
            judged = judge(claim, study.measured(runs))
        except TooMuch:
            continue
        if not runs.wanted:
            continue
        row = table((), [_claim_row(judged.to_dict())]).splitlines()[-1]
        assert row in text, f"{paper}, {claim.id}: `wifair paper {paper} --full` gives another row than its page"
        found += 1
        if found == wanted:
            return
    assert found, f"{paper}: no claim needs so few cells"
