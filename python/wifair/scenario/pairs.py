"""Pairs of nodes in a scenario's field: the name of a group of stations stands for each of its stations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product

from wifair.errors import ScenarioError
from wifair.keys import nearest

AP = "ap"


def pairs_of(names: object, called: Mapping[str, Sequence[str]], key: str) -> list[list[str]]:
    """All pairs of one node of the first name and another of the second; `called` has the stations by name."""
    if not isinstance(names, Sequence) or isinstance(names, str) or len(names) != 2:
        raise ScenarioError(key, f"{names!r} is no pair", value=names, allowed='two names, as ["left", "right"]')
    first, second = (_nodes_of(name, called, key) for name in names)
    if first == second and len(first) > 1:
        return [list(pair) for pair in combinations(first, 2)]
    found = [[a, b] for a, b in product(first, second) if a != b]
    return found or [[*names]]  # a node and itself: the engine refuses it


def _nodes_of(name: object, called: Mapping[str, Sequence[str]], key: str) -> list[str]:
    if name == AP:
        return [AP]
    if not isinstance(name, str) or name not in called:
        known = [AP, *called]
        hint = nearest(name, known) if isinstance(name, str) else ""
        allowed = ", ".join(known[:20])
        raise ScenarioError(key, f"no stations are called {name!r}", value=name, allowed=allowed, hint=hint)
    return list(called[name])
