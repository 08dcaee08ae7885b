"""What `wifair check` finds."""

from __future__ import annotations

from collections.abc import Mapping
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
