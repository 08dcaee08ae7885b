"""The quantities that a scenario is drawn from, as `distributions.toml` has them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from wifair.markdown import table
from wifair.population.distribution import Distribution, parsed

FILE = Path(__file__).with_name("distributions.toml")
# The kinds of scenario.
KINDS = ("home", "cafe", "office", "classroom")


@dataclass(frozen=True)
class Quantity:
    """A quantity: its meaning, unit, distribution by kind, source, and what is assumed where none was found."""

    name: str
    what: str
    unit: str
    by_kind: Mapping[str, Distribution]
    source: str
    assumed: str

    @property
    def same(self) -> bool:
        """Whether every kind has the same distribution."""
        return len({id(each) for each in self.by_kind.values()}) == 1

    def told(self) -> str:
        """Its distribution in words, by kind where kinds differ."""
        unit = self.unit if self.unit not in ("1", "yes or no") else ""
        if self.same:
            return self.by_kind[KINDS[0]].told(unit)
        alike: dict[str, list[str]] = {}
        for kind, each in self.by_kind.items():
            alike.setdefault(each.told(unit), []).append(kind)
        return "; ".join(f"{', '.join(kinds)}: {told}" for told, kinds in alike.items())


@cache
def quantities() -> Mapping[str, Quantity]:
    """All quantities by name, in the order of the file."""
    return {name: _quantity(name, given) for name, given in _file().items() if isinstance(given, dict)}


def version() -> int:
    """The version of the population: with another one, the same seed gives other scenarios."""
    return int(_file()["version"])


def as_table() -> str:
    """All quantities as a Markdown table, with their sources."""
    rows = [
        (f"`{each.name}`", each.what, each.told(), each.source or "–", each.assumed or "–")
        for each in quantities().values()
    ]
    return table(("quantity", "what", "distribution", "source", "assumed"), rows)


@cache
def _file() -> Mapping[str, Any]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def _quantity(name: str, given: Mapping[str, Any]) -> Quantity:
    if "all" in given:
        shared = parsed(given["all"])
        by_kind = dict.fromkeys(KINDS, shared)
    else:
        by_kind = {kind: parsed(given["kinds"][kind]) for kind in KINDS}
    return Quantity(name, given["what"], given["unit"], by_kind, given.get("source", ""), given.get("assumed", ""))
