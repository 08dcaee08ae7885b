"""Tables of a scenario: keys, each value with its origin."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from wifair.observed.links import Keys
from wifair.observed.network import Station, Value, assumed
from wifair.scenario.scenario import Scenario


@dataclass(frozen=True)
class Table:
    """A table of the scenario: its header with brackets, a remark, its keys."""

    header: str
    keys: Keys
    remark: str = ""


@dataclass(frozen=True)
class Names:
    """Names of stations in the scenario, and what comments show instead of addresses.

    Without `keep`, an address is replaced by a keyed hash (BLAKE2b) under a random key that is not stored: the same address has the
    same hash in all files of one import, and another one in the next.
    """

    keep: bool = False
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def shown(self, station: Station) -> str:
        """What a comment shows of the station's address or name."""
        if self.keep or station.name:
            return station.name or station.key
        return hmac.new(self.key, station.key.encode(), hashlib.blake2b).hexdigest()[:8]


@dataclass(frozen=True)
class LeftOut:
    """A BSS that was heard and that the scenario does not have.

    `is_missed` says that its frames take air of a BSS that the scenario has, so that the air there is freer than in reality.
    """

    bss: str
    channel: str
    dbm: float
    why: str
    is_missed: bool

    @property
    def effect(self) -> str:
        """What follows for the scenario."""
        return "the air here is freer than in reality" if self.is_missed else "none"

    def __str__(self) -> str:
        missed = f"; {self.effect}" if self.is_missed else ""
        return f"{self.bss} ({self.channel}, {self.dbm:g} dBm) is left out: {self.why}{missed}"


@dataclass(frozen=True)
class Document:
    """The tables, and remarks on what has no place in them. `left_out` are BSSs that have none."""

    title: str
    files: tuple[str, ...]
    tables: tuple[Table, ...]
    remarks: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def missed(self) -> list[LeftOut]:
        """The BSSs left out whose frames take air of a BSS that is there."""
        return [each for each in self.left_out if each.is_missed]

    def settings(self) -> dict[str, Any]:
        """The settings of the scenario."""
        return settings_of(self.title, self.tables)

    def scenario(self) -> Scenario:
        """The scenario."""
        return self._scenario

    @cached_property
    def _scenario(self) -> Scenario:
        return Scenario.from_settings(self.settings())


def numbered(name: str) -> Value[Any]:
    """A name that no file has."""
    return assumed(name, "a number by the order of the files")


def settings_of(title: str, tables: tuple[Table, ...] | list[Table]) -> dict[str, Any]:
    """The settings of a scenario with this title and these tables."""
    settings: dict[str, Any] = {"title": title}
    for table in tables:
        inside = settings
        keys: dict[str, Any] = {}
        for path, found in table.keys.items():
            into, (*above, key) = keys, path.split(".")
            for name in above:
                into = into.setdefault(name, {})
            into[key] = found.value
        *outer, name = table.header.strip("[]").split(".")
        for part in outer:
            inside = inside.setdefault(part, {})
        if table.header.startswith("[["):
            inside.setdefault(name, []).append(keys)
        else:
            inside[name] = keys
    return settings
