"""What the advice rests on: values that a scenario file marks as assumed or unknown, and other values that they might have.

Values of one key with one reason follow from one assumption, and vary together. Each assumption varies alone.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from wifair.errors import InputError
from wifair.everything.contenders import REFERENCE
from wifair.observed.origins import Mark
from wifair.scenario.profiles import PROFILES
from wifair.scenario.scenario import Scenario

# What an unknown number and an assumed number are multiplied by.
FACTORS = {"unknown": (0.25, 4.0), "assumed": (0.5, 2.0)}
# By how many an MCS differs.
MCS_STEPS = (-2, 2)
HARDWARE = ("ath9k", "firmware", "ath10k")

Settings = dict[str, Any]
Alternative = tuple[str, Callable[[Settings], None]]


@dataclass(frozen=True)
class Doubt:
    """An assumption with another value: what is assumed, the other value in words, and the scenario with it."""

    family: str
    why: str
    other: str
    scenario: Scenario


@dataclass(frozen=True)
class Unvaried:
    """An assumption without a rule by which it could vary."""

    family: str
    why: str


def doubts(scenario: Scenario, marks: Sequence[Mark]) -> tuple[list[Doubt], list[Unvaried]]:
    """The assumptions of a file with other values, and those that are not varied."""
    found: list[Doubt] = []
    unvaried: list[Unvaried] = []
    relevant = [mark for mark in marks if mark.table != "run" and mark.key not in ("name", "station", "direction")]
    ordered = sorted(relevant, key=lambda mark: (mark.family, mark.origin, mark.what))
    for (family, origin, what), group in groupby(ordered, lambda mark: (mark.family, mark.origin, mark.what)):
        listed = list(group)
        mine = [
            Doubt(family, f"{origin}: {what}", other, changed)
            for other, change in _alternatives(scenario.settings(), listed)
            if (changed := _changed(scenario, change)) is not None
        ]
        found += mine
        if not mine:
            unvaried.append(Unvaried(family, f"{origin}: {what}"))
    return found, unvaried


def _changed(scenario: Scenario, change: Callable[[Settings], None]) -> Scenario | None:
    """The scenario with another value; None if the engine refuses it, or if nothing changes."""
    settings = copy.deepcopy(scenario.settings())
    try:
        change(settings)
        made = Scenario.from_settings(settings)
    except InputError:
        return None
    return made if made.plan_json != scenario.plan_json else None


def _alternatives(settings: Settings, marks: Sequence[Mark]) -> Iterator[Alternative]:
    """Other values of what these marks name, which follow from one assumption."""
    first = marks[0]
    if first.family == "flows":
        gone = {int(mark.path.partition("[")[2].rstrip("]")) for mark in marks[1::2] or marks[:1]}
        if "bulk" in first.what and len(gone) < len(settings["flows"]):
            yield f"{len(gone)} of these {len(marks)} flows are idle", partial(_without, gone=gone)
        return
    rule = RULES.get(first.family, partial(_numbers, factors=FACTORS[first.origin]))
    for other, change in rule(_value(settings, first)):
        yield other, _set(marks, change)


# Other values of one value: in words, and what makes them of each value with the same reason.
Others = Iterator[tuple[str, Callable[[Any], Any]]]


def _numbers(value: Any, factors: Sequence[float]) -> Others:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        for factor in factors:
            yield f"{_times(value, factor):g}", partial(_times, factor=factor)


def _constant(_: Any, value: Any) -> Any:
    return value


def _hardware(value: Any) -> Others:
    for name in HARDWARE:
        yield name, partial(_constant, value=name)


def _scheme(value: Any) -> Others:
    """Another scheme would be set by other commands."""
    if (value.get("name") if isinstance(value, Mapping) else value) == REFERENCE:
        slow = {"name": REFERENCE, "slow_station_rule": True}
        yield "mac80211 of 2016 to 2025, easier on slow stations", partial(_constant, value=slow)


def _profiles(value: Any) -> Others:
    for name in PROFILES:
        yield name, partial(_constant, value=name)


def _indices(value: Any) -> Others:
    for step in MCS_STEPS:
        yield f"{step:+d}", partial(_stepped, step=step)


def _stepped(mcs: int, step: int) -> int:
    return max(mcs + step, 0)


def _errors(value: Any) -> Others:
    yield "no errors", partial(_scaled, factor=0.0)
    yield "twice as many errors", partial(_scaled, factor=2.0)


def _loads(value: Any) -> Others:
    yield "half the load", partial(_loaded, factor=0.5)
    yield "twice the load", partial(_loaded, factor=2.0)


RULES: Mapping[str, Callable[[Any], Others]] = {
    "ap.hardware": _hardware,
    "ap.scheme": _scheme,
    "tcp.profile": _profiles,
    "stations.mcs": _indices,
    "stations.mcs_down": _indices,
    "stations.frame_error_rate": _errors,
    "flows.application": _loads,
}


def _times(number: Any, factor: float) -> Any:
    return max(round(number * factor), 1) if isinstance(number, int) else number * factor


def _scaled(rates: Any, factor: float) -> Any:
    if isinstance(rates, Mapping):
        return {key: min(rate * factor, 0.9) if isinstance(rate, float) else rate for key, rate in rates.items()}
    return min(rates * factor, 0.9)


def _loaded(application: Any, factor: float) -> Any:
    """An application with another mean load."""
    if isinstance(application, Mapping):
        if "think_mean_s" in application:
            return {**application, "think_mean_s": application["think_mean_s"] / factor}
        if "rate_mbps" in application:
            return {**application, "rate_mbps": application["rate_mbps"] * factor}
    return application


def _keys(mark: Mark) -> list[str | int]:
    table, _, rest = mark.path.partition("[")
    keys: list[str | int] = []
    if rest:
        index, _, key = rest.partition("]")
        keys = [table, int(index), *key.strip(".").split(".")]
    else:
        keys = list(mark.path.split("."))
    return [key for key in keys if key != ""]


def _value(settings: Settings, mark: Mark) -> Any:
    node: Any = settings
    for key in _keys(mark):
        try:
            node = node[key]
        except (KeyError, IndexError, TypeError):
            return None
    return node


def _set(marks: Sequence[Mark], other: Callable[[Any], Any]) -> Callable[[Settings], None]:
    """Replaces the value of each mark that the settings still have."""

    def change(settings: Settings) -> None:
        for mark in marks:
            if (value := _value(settings, mark)) is None:
                continue
            node: Any = settings
            *above, last = _keys(mark)
            for key in above:
                node = node[key]
            node[last] = other(value)

    return change


def _without(settings: Settings, gone: set[int]) -> None:
    """Removes flows, and the stations that had these alone."""
    flows = settings["flows"]
    settings["flows"] = [flow for i, flow in enumerate(flows) if i not in gone]
    idle = {flows[i].get("station") for i in gone} - {flow.get("station") for flow in settings["flows"]}
    settings["stations"] = [each for each in settings.get("stations", []) if each["name"] not in idle]
