"""Tables that fit the width (`COLUMNS`, the terminal, or 80 for a pipe) without truncating cells.

A table that is too wide loses its minor columns (JSON has them). If it still does not fit, it is transposed if that
fits, else printed in blocks that repeat its first columns. Headings and columns of prose wrap between words. Only a
single word wider than the terminal exceeds the width.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

GAP = "  "
# Least width of a column of prose.
LEAST_PROSE = 24


@dataclass(frozen=True)
class Column:
    """A heading and its cells. `right` aligns numbers; prose may wrap between words; a minor column may be left out."""

    heading: str
    cells: tuple[str, ...]
    right: bool = False
    prose: bool = False
    minor: bool = False

    @property
    def width(self) -> int:
        """The width of the widest cell or of the heading's longest word."""
        longest = max((len(word) for word in self.heading.split()), default=0)
        return max(longest, *(len(line) for cell in self.cells for line in (cell.split("\n"))), 1)

    @property
    def least(self) -> int:
        """The least width."""
        words = (word for cell in (self.heading, *self.cells) for word in cell.split())
        return max(min(LEAST_PROSE, self.width), *(len(word) for word in words)) if self.prose else self.width


def columns(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    left: int = 1,
    prose: Sequence[int] = (),
    minor: Sequence[int] = (),
) -> list[Column]:
    """Columns from rows. The first `left` ones and those of prose are text, the others numbers."""
    return [
        Column(heading, tuple(row[i] for row in rows), i >= left and i not in prose, i in prose, i in minor)
        for i, heading in enumerate(headings)
    ]


def lines(table: Sequence[Column], width: int, keys: int = 1, turn: bool = False) -> Iterator[str]:
    """The table's lines. The first `keys` columns name a row; with `turn` the table may be transposed to fit."""
    while _least(table) > width and (left_out := [column for column in table if column.minor]):
        table = [column for column in table if column is not left_out[-1]]
    if _least(table) <= width:
        yield from _block(table, width)
        return
    if turn and keys == 1 and _least(turned := _turned(table)) <= width:
        yield from _block(turned, width)
        return
    rest = list(table[keys:])
    while rest:
        taken = [rest.pop(0)]
        while rest and _least([*table[:keys], *taken, rest[0]]) <= width:
            taken.append(rest.pop(0))
        yield from _block([*table[:keys], *taken], width)
        if rest:
            yield ""


def _least(table: Sequence[Column]) -> int:
    return sum(column.least for column in table) + len(GAP) * (len(table) - 1)


def _turned(table: Sequence[Column]) -> list[Column]:
    """The table transposed; the heading of the first column stays in the corner."""
    first, *others = table
    names = Column(first.heading, tuple(column.heading for column in others))
    return [names, *(Column(name, tuple(c.cells[i] for c in others), right=True) for i, name in enumerate(first.cells))]


def _block(table: Sequence[Column], width: int) -> Iterator[str]:
    prose = [column for column in table if column.prose]
    spare = width - _least(table)
    widths = []
    for column in table:
        more = 0
        if column.prose and spare > 0:
            more = min(spare // len(prose), column.width - column.least)
            spare, prose = spare - more, prose[1:]
        widths.append(column.least + max(more, 0))
    headings = [_wrapped(column.heading, wide) for column, wide in zip(table, widths, strict=True)]
    tall = max(map(len, headings))
    yield from _rows([[""] * (tall - len(told)) + told for told in headings], table, widths)
    yield GAP.join("-" * wide for wide in widths)
    for i in range(len(table[0].cells)):
        cells = [
            _wrapped(c.cells[i], wide) if c.prose else c.cells[i].split("\n")
            for c, wide in zip(table, widths, strict=True)
        ]
        yield from _rows(cells, table, widths)


def _rows(cells: Sequence[Sequence[str]], table: Sequence[Column], widths: Sequence[int]) -> Iterator[str]:
    for i in range(max(map(len, cells))):
        parts = [told[i] if i < len(told) else "" for told in cells]
        yield GAP.join(
            part.rjust(wide) if column.right else part.ljust(wide)
            for part, column, wide in zip(parts, table, widths, strict=True)
        ).rstrip()


def _wrapped(text: str, width: int) -> list[str]:
    return [
        line
        for part in text.split("\n")
        for line in textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False) or [""]
    ]


def paragraph(text: str, width: int, indent: str = "", first: str | None = None) -> list[str]:
    """Wraps prose, with `indent` before all lines after the first."""
    return textwrap.wrap(
        text,
        width,
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def brief(text: str, width: int) -> str:
    """As many clauses of a text as fit in one line. If the first does not fit, it is cut between words, with an ellipsis."""
    ends = [found.start() for found in re.finditer(r"[;:.](?=\s|$)", text)] or [len(text)]
    fitting = [end for end in ends if end <= width]
    return text[: fitting[-1]] if fitting else textwrap.shorten(text[: ends[0]], width, placeholder=" …")


def marked(column: Column, best: Sequence[bool]) -> Column:
    """The column with a star at the best cells, padded elsewhere."""
    return replace(
        column, cells=tuple(f"{cell}{'*' if star else ' '}" for cell, star in zip(column.cells, best, strict=True))
    )
