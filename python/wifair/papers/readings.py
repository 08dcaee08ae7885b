"""Readings of a paper, compared with the baseline: what its text leaves open, causes switched off, explorations.

A reading changes the settings of some cells (`Alternative`), looks at the same runs differently (`View`), or takes several
together (`Joint`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce
from typing import Any, Generic, Protocol, TypeVar

from wifair.errors import InputError
from wifair.keys import nearest
from wifair.study.job import Cell

Data = TypeVar("Data")


class Kind(StrEnum):
    """What a reading is for. The value is the heading of its table."""

    READING = "What the paper leaves open"
    ABLATION = "Causes switched off"
    EXPLORATION = "Explorations beyond the paper"


class Reading(Protocol[Data]):
    """Another reading: which cells it changes and how, and how it looks at what was measured."""

    @property
    def id(self) -> str:
        """A name for the command line."""
        ...

    @property
    def question(self) -> str:
        """What is open, or what is switched off."""
        ...

    @property
    def choice(self) -> str:
        """What this reading takes for it."""
        ...

    @property
    def kind(self) -> Kind:
        """What it is for."""
        ...

    def concerns(self, cell: Cell) -> bool:
        """Whether this reading changes the cell."""
        ...

    def applied(self, cell: Cell) -> Cell:
        """The cell under this reading."""
        ...

    def viewed(self, data: Data) -> Data:
        """What was measured, as this reading looks at it."""
        ...


@dataclass(frozen=True)
class Alternative:
    """Settings by path, for the cells that they concern.

    `only` names these by their coordinates, as `{"scheme": ("red", "pi")}`; all cells where it is empty.
    """

    id: str
    question: str
    choice: str
    settings: Mapping[str, Any]
    only: Mapping[str, Sequence[object]] = field(default_factory=dict)
    kind: Kind = Kind.READING

    def concerns(self, cell: Cell) -> bool:
        """Whether this reading changes the cell."""
        return all(cell.keys.get(name) in values for name, values in self.only.items())

    def applied(self, cell: Cell) -> Cell:
        """The cell under this reading."""
        return Cell(cell.name, cell.scenario.override(self.settings), cell.keys)

    def viewed(self, data: Data) -> Data:
        """What was measured, as it is."""
        return data


@dataclass(frozen=True)
class View(Generic[Data]):
    """A reading that needs no other simulation: the same runs, looked at differently."""

    id: str
    question: str
    choice: str
    view: Callable[[Data], Data]
    kind: Kind = Kind.READING

    def concerns(self, cell: Cell) -> bool:
        """No cell is changed."""
        return False

    def applied(self, cell: Cell) -> Cell:
        """The cell as it is."""
        return cell

    def viewed(self, data: Data) -> Data:
        """What was measured, as this reading looks at it."""
        return self.view(data)


@dataclass(frozen=True)
class Joint(Generic[Data]):
    """Several readings together, each applied to the cells that it concerns, in order."""

    id: str
    parts: Sequence[Reading[Data]]

    @property
    def question(self) -> str:
        """The parts' questions."""
        return " ".join(part.question for part in self.parts)

    @property
    def choice(self) -> str:
        """The parts' choices."""
        return "; and ".join(part.choice for part in self.parts)

    @property
    def kind(self) -> Kind:
        """An exploration if some part is one, else an ablation if some part is one."""
        kinds = {part.kind for part in self.parts}
        return next((kind for kind in (Kind.EXPLORATION, Kind.ABLATION) if kind in kinds), Kind.READING)

    def concerns(self, cell: Cell) -> bool:
        """Whether some part changes the cell."""
        return any(part.concerns(cell) for part in self.parts)

    def applied(self, cell: Cell) -> Cell:
        """The cell under the parts that concern it."""
        return reduce(lambda made, part: part.applied(made) if part.concerns(made) else made, self.parts, cell)

    def viewed(self, data: Data) -> Data:
        """What was measured, as the parts look at it, one after the other."""
        return reduce(lambda seen, part: part.viewed(seen), self.parts, data)


def named(text: str, readings: Sequence[Reading[Data]]) -> Reading[Data]:
    """The reading of that id, a part of a joint one, or several of these joined by `+`."""
    known = {reading.id: reading for reading in readings}
    parts = [part for reading in readings if isinstance(reading, Joint) for part in reading.parts]
    known = {part.id: part for part in parts} | known
    if text in known:
        return known[text]
    ids = text.split("+")
    for one in ids:
        if one not in known:
            hint = nearest(one, list(known))
            asked = f" Did you mean {hint}?" if hint else ""
            allowed = ", ".join(known) or "none"
            raise InputError(f"there is no reading {one!r}.{asked} Allowed here, also joined by '+': {allowed}.")
    if len(set(ids)) < len(ids):
        raise InputError(f"reading {text!r}: names one reading twice; allowed here: each once.")
    return Joint(text, tuple(known[one] for one in ids))
