"""Where flows are: which station of a named group each flow of a group has."""

from __future__ import annotations

from wifair.errors import ScenarioError
from wifair.keys import nearest

NEXT = "next"


class Places:
    """The groups of stations, and how many stations of each the groups of flows have taken, from the first one on."""

    def __init__(self) -> None:
        self.members: dict[str, list[str]] = {}
        self.taken: dict[str, int] = {}

    def of_flows(self, station: str, count: int, reserve: int, first: object, origin: str) -> list[str]:
        """The stations of a group of `count` flows and `reserve` further ones at `station`, one per flow.

        `station` is a group of stations, or one station of a group: then all flows are there.

        Flows begin at the group's first station and share stations if there are more flows than stations. With `first`,
        the number of a station or "next" (after the stations of earlier groups of flows), each of the `count` has another
        station. Reserve flows take no place: they go round the stations after the others, so a scenario has the same
        places with and without them.
        """
        if station not in self.members:
            return [self.one(station, first, origin)] * (count + reserve)
        at, flows = self.members[station], count + reserve
        taken = self.taken.get(station, 0)
        if first is None:
            self.taken[station] = max(taken, min(count, len(at)))
            return [at[i % len(at)] for i in range(flows)]
        start = taken if first == NEXT else self.index(first, station, origin)
        if start + count > len(at):
            left = len(at) - start
            problem = f"{count} flows do not fit: {left} of the {len(at)} stations of {station!r} are left"
            allowed = f"{left} at most, or no first_station, so that flows share stations"
            raise ScenarioError(f"{origin}.count", problem, value=count, allowed=allowed)
        self.taken[station] = max(taken, start + count)
        return [at[(start + i) % len(at)] for i in range(flows)]

    def one(self, station: str, first: object, origin: str) -> str:
        """A station by its own name."""
        group = next((name for name, labels in self.members.items() if station in labels), None)
        if group is None:
            problem = f"no stations are called {station!r}"
            names = [name for group, labels in self.members.items() for name in (group, *labels)]
            hint = nearest(station, names)
            raise ScenarioError(f"{origin}.station", problem, value=station, allowed=self.known(), hint=hint)
        if first is not None:
            problem = f"{station!r} is one station, so it has no first one"
            allowed = f"station = {group!r} with first_station, or {station!r} without first_station"
            raise ScenarioError(f"{origin}.first_station", problem, value=first, allowed=allowed)
        self.taken[group] = max(self.taken.get(group, 0), self.members[group].index(station) + 1)
        return station

    def known(self) -> str:
        """The names that flows may use."""
        named = [f"{name} ({at[0]} to {at[-1]})" if len(at) > 1 else name for name, at in self.members.items()]
        return ", ".join(named) or "nothing: the scenario names no [[stations]]"

    def index(self, first: object, station: str, origin: str) -> int:
        """The index of the station of that number."""
        most = len(self.members[station])
        if not isinstance(first, int) or isinstance(first, bool) or not 1 <= first <= most:
            allowed = f'a number from 1 to {most}, or "{NEXT}"'
            problem = f"{first!r} is no station of {station!r}"
            raise ScenarioError(f"{origin}.first_station", problem, value=first, allowed=allowed)
        return first - 1
