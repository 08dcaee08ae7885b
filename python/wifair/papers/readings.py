"""Readings of a paper, which are compared with the baseline: points that its text leaves open, causes switched off, explorations.

A reading changes the settings of some cells (`Alternative`), evaluates the same runs differently (`View`), or combines
several readings (`Joint`).
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
    """The purpose of a reading. The value is the heading of its table."""

    READING = "What the paper leaves open"
    ABLATION = "Causes switched off"
    EXPLORATION = "Explorations beyond the paper"


class Reading(Protocol[Data]):
    """Another reading: the cells that it changes, the changes, and how it evaluates measurements."""

    @property
    def id(self) -> str:
        """A name for the command line."""
        ...

    @property
    def question(self) -> str:
        """The open question, or the cause that is switched off."""
        ...

    @property
    def choice(self) -> str:
        """The choice that this reading makes."""
        ...

    @property
    def kind(self) -> Kind:
        """Its purpose."""
        ...

    def concerns(self, cell: Cell) -> bool:
        """Whether this reading changes the cell."""
        ...

    def applied(self, cell: Cell) -> Cell:
        """The cell under this reading."""
        ...

    def viewed(self, data: Data) -> Data:
        """The measurements as this reading evaluates them."""
        ...


@dataclass(frozen=True)
class Alternative:
    """A reading that changes settings, given by path, in some cells.

    `only` selects the cells by coordinates, such as `{"scheme": ("red", "pi")}`; if empty, all cells.
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
        """The measurements unchanged."""
        return data


@dataclass(frozen=True)
class View(Generic[Data]):
    """A reading without other simulations: the same runs, evaluated differently."""

    id: str
    question: str
    choice: str
    view: Callable[[Data], Data]
    kind: Kind = Kind.READING

    def concerns(self, cell: Cell) -> bool:
        """False: no cell is changed."""
        return False

    def applied(self, cell: Cell) -> Cell:
        """The cell unchanged."""
        return cell

    def viewed(self, data: Data) -> Data:
        """The measurements as this reading evaluates them."""
        return self.view(data)


@dataclass(frozen=True)
class Joint(Generic[Data]):
    """Several readings together, each applied to the cells that it concerns, in order."""

    id: str
    parts: Sequence[Reading[Data]]

    @property
    def question(self) -> str:
        """The parts' questions, each once."""
        return " ".join(dict.fromkeys(part.question for part in self.parts))

    @property
    def choice(self) -> str:
        """The parts' choices, each once."""
        return "; and ".join(dict.fromkeys(part.choice for part in self.parts))

    @property
    def kind(self) -> Kind:
        """An exploration if any part is one, else an ablation if any part is one."""
        kinds = {part.kind for part in self.parts}
        return next((kind for kind in (Kind.EXPLORATION, Kind.ABLATION) if kind in kinds), Kind.READING)

    def concerns(self, cell: Cell) -> bool:
        """Whether any part changes the cell."""
        return any(part.concerns(cell) for part in self.parts)

    def applied(self, cell: Cell) -> Cell:
        """The cell under the parts that concern it."""
        return reduce(lambda made, part: part.applied(made) if part.concerns(made) else made, self.parts, cell)

    def viewed(self, data: Data) -> Data:
        """The measurements as the parts evaluate them, one after the other."""
        return reduce(lambda seen, part: part.viewed(seen), self.parts, data)


def named(text: str, readings: Sequence[Reading[Data]]) -> Reading[Data]:
    """The reading of that id, a part of a joint reading, or several of these joined by `+`."""
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
