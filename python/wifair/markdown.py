"""Markdown tables, and the generated parts of hand-written pages, which a command writes between two marks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from wifair.errors import InputError
from wifair.files import reason_of


@dataclass(frozen=True)
class Marks:
    """The two marks around the generated part `what` of a page, written by a command."""

    what: str
    command: str

    @property
    def begin(self) -> str:
        """The first mark."""
        return f"<!-- {self.what}: written by {self.command} -->"

    @property
    def end(self) -> str:
        """The second mark."""
        return f"<!-- end of {self.what} -->"

    @classmethod
    def listing(cls, word: str, command: str, page: Path) -> list[Marks]:
        """The marks on a page of parts named by a word and a list, such as "numbers a b"."""
        found = re.findall(rf"<!-- ({word} [^:\n]+): written by {re.escape(command)} -->", _text(page))
        return [cls(what, command) for what in dict.fromkeys(found)]

    def between(self, page: Path) -> str | None:
        """The text between the marks; `None` if the page does not have both."""
        parts = self._parts(page)
        return None if parts is None else parts[1].strip()

    def write(self, page: Path, text: str) -> None:
        """Replaces the text between the marks."""
        parts = self._parts(page)
        if parts is None:
            raise InputError(
                f"{page}: has no place for {self.what}; write {self.begin!r} and below it {self.end!r} there."
            )
        before, _, after = parts
        try:
            page.write_text(f"{before}{self.begin}\n\n{text}\n{self.end}{after}", encoding="utf-8")
        except OSError as error:
            raise _unusable(page, error) from None

    def _parts(self, page: Path) -> tuple[str, str, str] | None:
        before, begun, rest = _text(page).partition(self.begin)
        inner, ended, after = rest.partition(self.end)
        return (before, inner, after) if begun and ended else None


def _text(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except OSError as error:
        raise _unusable(page, error) from None


def _unusable(page: Path, error: OSError) -> InputError:
    return InputError(f"{page}: cannot be read and written: {reason_of(error)}.")


def sentence(text: str) -> str:
    """The text with a capital letter first; all else stays."""
    return text[:1].upper() + text[1:]


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
