"""The BSSs of a scenario: their names, and the stations of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wifair.errors import ScenarioError
from wifair.keys import nearest
from wifair.scenario.pairs import AP

Table = dict[str, Any]


class Bsss:
    """The BSSs by number, 0 for the first; a scenario without names has one."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.stations: list[list[Table]] = [[] for _ in names or [AP]]
        self.station_origins: list[list[str]] = [[] for _ in names or [AP]]
        # The access points by the names that pairs in the field may use.
        self.access_points = {name: [AP if i == 0 else name] for i, name in enumerate(names)}

    def add(self, bss: object, labels: Sequence[str], settings: Table, origin: str) -> None:
        """Adds stations to the BSS of that name, or to the first."""
        number = 0 if bss is None else self.number(bss, f"{origin}.bss")
        self.stations[number] += [{"label": label, **settings} for label in labels]
        self.station_origins[number] += [origin] * len(labels)

    def number(self, name: object, key: str) -> int:
        """The number of the BSS of that name."""
        if not isinstance(name, str) or name not in self.names:
            hint = nearest(name, self.names) if isinstance(name, str) else ""
            allowed = ", ".join(self.names) or "no such key: the scenario has no [[bss]]"
            raise ScenarioError(key, f"no BSS is called {name!r}", value=name, allowed=allowed, hint=hint)
        return self.names.index(name)

    def check_names(self, called: Mapping[str, Sequence[str]]) -> None:
        """Rejects the name of a BSS that stations have, or another BSS, and a BSS without stations. `called` has the stations by name."""
        for i, name in enumerate(self.names):
            if name in called or name in self.names[:i]:
                whose = "stations" if name in called else "another BSS"
                raise ScenarioError(f"bss[{i}].name", f"{name!r} is taken by {whose}", value=name)
            if not self.stations[i]:
                problem = f"no station is in the BSS {name!r}, so it would have no effect"
                raise ScenarioError(f"bss[{i}].name", problem, value=name)
