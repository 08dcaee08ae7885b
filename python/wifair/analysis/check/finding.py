"""What `wifair check` finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from wifair.keys import some_of


@dataclass(frozen=True)
class Finding:
    """A likely mistake in a scenario.

    `bsss` has the BSSs that it is about, of several: the text and the arithmetic are those of the first of them. It is empty if there is one
    BSS, or the finding is about the whole scenario.
    """

    key: str
    finding: str
    arithmetic: str
    values: Mapping[str, float]
    bsss: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The finding for JSON."""
        found = {**asdict(self), "values": dict(self.values), "bsss": list(self.bsss)}
        return found if self.bsss else {key: value for key, value in found.items() if key != "bsss"}


@dataclass(frozen=True)
class Shared:
    """A finding in several scenarios of a study: that of one of them, its name, and their number."""

    finding: Finding
    example: str
    scenarios: int

    def to_dict(self) -> dict[str, Any]:
        """The finding for JSON."""
        return {**self.finding.to_dict(), "example": self.example, "scenarios": self.scenarios}


def listed(labels: Sequence[str], most: int = 6) -> str:
    """The first labels, and how many more there are."""
    return some_of(labels, most)
