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


# The commit that froze them.
FROZEN = Frozen(
    commit="3458f76b9dbe3077385b3aab4071790277f63caf",
    files={
        "crates/wifair-queue/src/schemes/air_share.rs": "89e769c5f10264e9115d8d5e863735de0551a27b69f7f8551018df1dd7be8261",
        "python/wifair/shipping/claims.py": "a61b654a7ec3aea43866c0170342d6522fc68e9af70dd42ac3d3a14ac64ea966",
        "python/wifair/population/distribution.py": "e8d607765031b96396da2b17f17ea1cf643be60b83648a948e067ca866a4b366",
        "python/wifair/population/distributions.toml": "86c70a5668ad65fb5b9c7e9455ad8eb3124e5fb0a4246bbef3b0c9fd4b3fa6ea",
        "python/wifair/population/draws.py": "233ba0172e668815a9aa71fcc24d5af50e54b2170f9bf5ffd654672cbc656729",
        "python/wifair/population/drawn.py": "29c236a974a1d0bbe71dad1f76d9ca4a3f51ff34743b3966e7c42e2775722813",
        "python/wifair/population/population.py": "709d0f8a7da41f17691635281f084be3ac97694148c36550face71b28a1b0bd5",
        "python/wifair/population/quantities.py": "04892380e437a2e896e34f4fbf6ba74e5413de5753437294d8fe6d3929e5dcf1",
        "python/wifair/population/radio.py": "32077ade21d03446f2def92edcd8e49a0753679f779137f30f0d17b0bca94638",
        "python/wifair/population/traffic.py": "a0f65162fd2cf88f2836322d067209b1a5b7a6144892dd700da6e791cbf8d5b9",
    },
)
