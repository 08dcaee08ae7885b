"""The version of the scheme to which the final population belongs.

The scheme, the generator of populations and the claims are committed first. The seed of the final population is the first eight hex
digits of that commit, so nobody can have looked at it before. A test fails if one of the files has changed since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Frozen:
    """A commit, and the SHA-256 of the files that the final population judges, by path."""

    commit: str
    files: Mapping[str, str]

    @property
    def seed(self) -> int:
        """The seed of the final population."""
        return int(self.commit[:8], 16)


# None as long as the scheme may still change: the final population is then not run.
FROZEN: Frozen | None = None
