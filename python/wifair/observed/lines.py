"""Lines of a text file with their place, for errors that name file, line, field and value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from wifair.errors import InputError

# Characters of a wrong value that a message shows.
SHOWN = 60
MOST_COUNT = 2**64 - 1
_ADDRESS = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}", re.IGNORECASE | re.ASCII)
_COUNT = re.compile(r"\d{1,20}", re.ASCII)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?", re.ASCII)


@dataclass(frozen=True)
class Line:
    """A line of a file, and its number from 1."""

    file: str
    number: int
    text: str

    @property
    def place(self) -> str:
        """Name of the file and line."""
        return f"{Path(self.file).name}:{self.number}"

    def error(self, field: str, value: str, allowed: str) -> InputError:
        """The error that names the value of a field."""
        shown = value if len(value) <= SHOWN else f"{value[:SHOWN]}…"
        return InputError(f"{self.file}:{self.number}: {field}: {shown!r} is not allowed; allowed here: {allowed}.")

    def count(self, field: str, value: str, unit: str = "") -> int:
        """A whole number that a counter of 64 bits can have, followed by its unit."""
        number = value.strip().removesuffix(unit).strip() if unit else value.strip()
        if not _COUNT.fullmatch(number) or int(number) > MOST_COUNT or (unit and not value.strip().endswith(unit)):
            raise self.error(field, value.strip(), f"a whole number{f' and {unit}' if unit else ''}")
        return int(number)

    def decimal(self, field: str, value: str, least: float, most: float, unit: str = "") -> float:
        """A decimal number within bounds."""
        number = value.strip()
        if not _NUMBER.fullmatch(number) or not least <= float(number) <= most:
            raise self.error(field, number, f"a number from {least:g} to {most:g}{f' {unit}' if unit else ''}")
        return float(number)

    def address(self, field: str, value: str) -> str:
        """A MAC address in lower case."""
        if not _ADDRESS.fullmatch(value):
            raise self.error(field, value, "a MAC address such as 02:00:00:00:01:00")
        return value.lower()


def lines(file: str, content: str) -> Iterator[Line]:
    """The lines of a text."""
    for number, text in enumerate(content.split("\n"), 1):
        yield Line(file, number, text.rstrip("\r"))
