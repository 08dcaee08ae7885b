"""The grid: every paper's cell on every generation in both scalings, and the cells with a cause switched off."""

from __future__ import annotations

from wifair.papers.generations.causes import CAUSES
from wifair.papers.generations.study import GRID, TAIL_DROP, TEN_AND_TEN, Size, scenario
from wifair.papers.reproduction import Form
from wifair.study.job import Cell

# The figures: findings, causes, the cures' cost in goodput, each generation's goodput.
FIGURES = ("survival", "causes", "cost", "air")


def cells(form: Form, figure: str | None) -> list[Cell]:
    """The whole grid, or the cells of one figure."""
    assert isinstance(form, Size)
    grid = GRID
    if figure == "air":
        grid = tuple(s for s in GRID if (s.part, s.scheme) == (TEN_AND_TEN, TAIL_DROP))
    found = [Cell(s.name, scenario(s, form), s.keys) for s in grid]
    if figure in (None, "causes"):
        found += [
            Cell(f"{cause.id}/{s.name}", scenario(s, form).override(cause.settings(s)), {**s.keys, "cause": cause.id})
            for cause in CAUSES
            for s in cause.places()
        ]
    return found
