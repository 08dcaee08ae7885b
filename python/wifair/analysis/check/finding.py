"""What `wifair check` finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """A likely mistake in a scenario."""

    key: str
    finding: str
    arithmetic: str
    values: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """The finding for JSON."""
        return {**asdict(self), "values": dict(self.values)}


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
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more
