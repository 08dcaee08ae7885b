"""The cells of the study: houses as they are and after each change, with adopters, and with the flows of the papers' findings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from wifair.neighbours import findings
from wifair.neighbours.claims import PAPERS
from wifair.neighbours.houses import (
    AS_IT_IS,
    BUFFERS,
    BUSY_FLOWS,
    ONE,
    SHARES,
    Change,
    Size,
    adopters,
    busy_changes,
    changes,
    house,
)
from wifair.neighbours.measured import ADOPTION, BUSY, HOUSES
from wifair.scenario.scenario import Scenario
from wifair.study.job import Cell


@cache
def names(size: Size) -> tuple[str, ...]:
    """The BSSs of a house, the resident's first; they are called alike in all houses."""
    return tuple(bss["name"] for bss in house(1, ONE, size).drawn_settings()["bss"])


def keys(number: int, plan: str, change: str, part: str = HOUSES) -> dict[str, str | int | float]:
    """The coordinates of a cell."""
    return {"part": part, "house": number, "plan": plan, "change": change}


def _cell(number: int, plan: str, change: str, scenario: Scenario, part: str = HOUSES) -> Cell:
    return Cell(f"{part}/{number}/{plan}/{change}", scenario, keys(number, plan, change, part))


def cells(number: int, plan: str, size: Size, among: Sequence[Change] = ()) -> list[Cell]:
    """A house as it is, and after each change, or after those given."""
    base = house(number, plan, size)
    after = [_cell(number, plan, change.id, change.applied(base)) for change in among or changes(number, plan, size)]
    return [_cell(number, plan, AS_IT_IS.id, base), *after]


def busy_cells(number: int, plan: str, size: Size) -> list[Cell]:
    """The same on a busy evening of the resident."""
    base = house(number, plan, size, flows=[dict(flow) for flow in BUSY_FLOWS])
    after = [_cell(number, plan, change.id, change.applied(base), BUSY) for change in busy_changes(number, plan, size)]
    return [_cell(number, plan, AS_IT_IS.id, base, BUSY), *after]


def share(percent: int) -> str:
    """What a cell with that share of adopters is called."""
    return f"adopted by {percent} %"


def adoption_cells(number: int, best: str, size: Size) -> list[Cell]:
    """A house with the best scheme at more than one access point, on one channel."""
    [change] = [change for change in BUFFERS if change.id == best]
    base, every = house(number, ONE, size), names(size)
    found = []
    for percent in SHARES:
        flats = adopters(number, percent, every)
        if len(flats) > 1:
            found.append(_cell(number, ONE, share(percent), change.applied(base, flats), ADOPTION))
    return found


def paper_cells(number: int, plan: str, size: Size) -> list[Cell]:
    """A house with the flows of each of the papers' findings at the resident's flat."""
    made = findings.scenarios(number, plan, size)
    return [_cell(number, plan, name, scenario, PAPERS) for name, scenario in made.items()]
