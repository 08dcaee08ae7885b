"""A population: so many scenarios of each kind, and their folder."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from wifair.errors import InputError
from wifair.keys import unknown
from wifair.population.drawn import Drawn
from wifair.population.quantities import KINDS
from wifair.population.written import text
from wifair.results.results import writable_folder
from wifair.scenario.scenario import Scenario

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

# The largest number of scenarios of a kind, and the largest seed.
MOST = 10_000
MOST_SEED = 2**64 - 1


@dataclass(frozen=True)
class Population:
    """Scenarios number 1 to `count` of each kind. The same seed and version give the same scenarios, bit for bit.

    A scenario depends on its kind, its number and the seed alone. Raises `InputError` for an unknown kind.
    """

    kinds: Sequence[str] = KINDS
    count: int = 25
    seed: int = 1

    def __post_init__(self) -> None:
        for kind in self.kinds:
            if kind not in KINDS:
                raise unknown("kind of scenario", kind, KINDS, "kinds: ")
        if not self.kinds or len(set(self.kinds)) < len(self.kinds):
            raise InputError(
                f"kinds: {','.join(self.kinds)!r} must name at least one kind, and none twice. Allowed here: {', '.join(KINDS)}."
            )
        for key, given, least, most in (("count", self.count, 1, MOST), ("seed", self.seed, 0, MOST_SEED)):
            if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
                raise InputError(
                    f"{key}: {given!r} is not allowed; allowed here: a whole number from {least:,} to {most:,}."
                )

    def __len__(self) -> int:
        return len(self.kinds) * self.count

    @cached_property
    def drawn(self) -> list[Drawn]:
        """All scenarios as drawn, kind by kind."""
        return [Drawn(kind, index, self.seed) for kind in self.kinds for index in range(1, self.count + 1)]

    @cached_property
    def scenarios(self) -> dict[str, Scenario]:
        """All scenarios by name, such as `home-007`."""
        return {each.name: Scenario.from_settings(tomllib.loads(text(each))) for each in self.drawn}

    def files(self) -> Iterator[tuple[str, str]]:
        """The name and the text of each file."""
        for each in self.drawn:
            yield f"{each.name}.toml", text(each)

    def write(self, folder: str | Path) -> list[Path]:
        """Writes a file per scenario. A file that is there with other content is not overwritten: `InputError`."""
        to = writable_folder(folder)
        made = [(to / name, content) for name, content in self.files()]
        for path, content in made:
            if path.exists() and path.read_bytes() != content.encode():
                raise InputError(f"{path}: exists with other content and is not overwritten; choose another folder.")
        for path, content in made:
            path.write_bytes(content.encode())
        return [path for path, _ in made]

    def table(self) -> pl.DataFrame:
        """What the scenarios are like: a row per scenario, a column per property (`wifair.population.properties`)."""
        from wifair.population.look import frame

        return frame(self.scenarios)

    def figure(self) -> Figure:
        """What the scenarios are like: the distribution function of each property, by kind."""
        from wifair.population.look import figure_of

        return figure_of(self.scenarios)
