"""What the advice rests on: values that a scenario file marks as assumed, unknown or fitted, and other values that they might have.

Values of one key with one reason follow from one assumption, and vary together: a `Freedom` has the range of what they may be. Advice takes the ends of each
range, each assumption alone. `wifair fit` searches the ranges. Of a fitted value advice takes the others that its comment lists, which fit as well.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from wifair.analysis.sweep import label
from wifair.errors import InputError
from wifair.everything.contenders import REFERENCE
from wifair.observed.loads import HELD_BACK, PICTURE
from wifair.observed.network import BULK, DATAGRAMS
from wifair.observed.origins import Mark
from wifair.scenario.profiles import PROFILES
from wifair.scenario.scenario import Scenario
from wifair.tuning.ranges import Choices, Numbers, Range

# What an unknown number and an assumed number are multiplied by.
FACTORS = {"unknown": Numbers(0.25, 4.0, log=True), "assumed": Numbers(0.5, 2.0, log=True)}
ERROR_FACTORS = Numbers(0.0, 2.0)
# By how many an MCS differs.
MCS_STEPS = Numbers(-2, 2)
HARDWARE = ("ath9k", "firmware", "ath10k")

Settings = dict[str, Any]
Alternative = tuple[str, Callable[[Settings], None]]


@dataclass(frozen=True)
class Freedom:
    """What the values of one assumption may be.

    `values` is the range of a parameter, and `change` gives the value that it makes of the value of a mark; `kept` is the parameter that makes no difference.
    `words` describes a value of the parameter, for the first of the marks.
    """

    family: str
    why: str
    marks: Sequence[Mark]
    values: Range
    kept: Any
    change: Callable[[Mark, Any, Any], Any]
    words: Callable[[Any], str]

    @property
    def others(self) -> list[Any]:
        """The values that differ most: the ends of numbers, and all choices."""
        every = [self.values.low, self.values.high] if isinstance(self.values, Numbers) else self.values.values()
        return [each for each in every if each != self.kept]

    def applied(self, settings: Settings, parameter: Any) -> None:
        """Changes each marked value that the settings still have."""
        for mark in self.marks:
            if (value := value_at(settings, mark)) is not None:
                _place(settings, mark, self.change(mark, value, parameter))


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
    for listed in _groups(marks):
        family, reason = listed[0].family, why(listed[0])
        mine = [
            Doubt(family, reason, other, changed)
            for other, change in _alternatives(scenario.settings(), listed)
            if (changed := _changed(scenario, change)) is not None
        ]
        found += mine
        if not mine:
            unvaried.append(Unvaried(family, reason))
    return found, unvaried


def freedoms(scenario: Scenario, marks: Sequence[Mark]) -> tuple[list[Freedom], list[Unvaried]]:
    """What may vary of a file, and what is assumed without a rule by which it could. What is fitted does not vary. Whether a flow is bulk depends on runs."""
    found: list[Freedom] = []
    unvaried: list[Unvaried] = []
    settings = scenario.settings()
    for listed in _groups([mark for mark in marks if mark.origin != "fitted" and value_at(settings, mark) != BULK]):
        freedom = _freedom(settings, listed)
        takes = (
            [other for other in freedom.others if _changed(scenario, partial(freedom.applied, parameter=other))]
            if freedom
            else []
        )
        if freedom and takes:
            found.append(freedom)
        else:
            unvaried.append(Unvaried(listed[0].family, why(listed[0])))
    return found, unvaried


def _groups(marks: Sequence[Mark]) -> Iterator[list[Mark]]:
    """The marks by assumption."""
    relevant = [mark for mark in marks if mark.table != "run" and mark.key not in ("name", "station", "direction")]
    ordered = sorted(relevant, key=_assumption)
    for _, group in groupby(ordered, _assumption):
        yield list(group)


def _assumption(mark: Mark) -> tuple[str, str, str]:
    return mark.family, mark.origin, mark.what


def why(mark: Mark) -> str:
    """Why a value may vary."""
    return f"{mark.origin}: {mark.what}"


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
    if first.origin != "fitted" and value_at(settings, first) == BULK:
        gone = {index(mark) for mark in marks[1::2] or marks[:1]}
        if len(gone) < len(settings["flows"]):
            yield (
                f"{len(gone)} of these {len(marks)} flows {'is' if len(gone) == 1 else 'are'} idle",
                partial(_without, gone=gone),
            )
        return
    if first.origin == "fitted":
        for i in range(len(first.others)):
            yield _words(value_at(settings, first), first.others[i]), partial(_with_others, marks=marks, number=i)
        return
    if first.what in (HELD_BACK, PICTURE):
        yield "bulk data that nothing holds back", partial(_all_bulk, marks=marks)
    if freedom := _freedom(settings, marks):
        for other in freedom.others:
            yield freedom.words(other), partial(freedom.applied, parameter=other)
    if first.family == "tcp.profile":
        yield "servers that send by BBR", _with_bbr


def _freedom(settings: Settings, marks: Sequence[Mark]) -> Freedom | None:
    """What the values of one assumption may be; None without a rule for them."""
    first = marks[0]
    value = value_at(settings, first)
    rule = RULES.get(first.family, partial(_numbers, factors=FACTORS[first.origin]))
    found = rule(value)
    if not found:
        return None
    values, kept, change, words = found
    return Freedom(
        first.family, why(first), marks, values, kept, lambda _, value, parameter: change(value, parameter), words
    )


# The range of a parameter for a value, the parameter that keeps it, what the parameter makes of each value, and its words.
Rule = tuple[Range, Any, Callable[[Any, Any], Any], Callable[[Any], str]]


def _numbers(value: Any, factors: Numbers) -> Rule | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return factors, 1.0, _times, lambda factor: f"{_times(value, factor):g}"


def _choices(value: Any, others: Sequence[Any], words: Callable[[Any], str] = str) -> Rule:
    listed = others if value in others else (value, *others)
    return Choices(tuple(listed)), value, lambda _, other: other, words


def _hardware(value: Any) -> Rule | None:
    return _choices(value, HARDWARE)


def _scheme(value: Any) -> Rule | None:
    """Another scheme would be set by other commands."""
    if (value.get("name") if isinstance(value, Mapping) else value) != REFERENCE:
        return None
    slow = {"name": REFERENCE, "slow_station_rule": True}
    words = "mac80211 of 2016 to 2025, easier on slow stations"
    return _choices(value, (slow,), lambda other: words if other == slow else label(other))


def _edca(value: Any) -> Rule | None:
    """Applications that do not mark, or a line that clears what they mark."""
    if not isinstance(value, Mapping) or value.get("classify") != "dscp":
        return None
    unmarked = {**value, "classify": "best-effort"}
    return _choices(value, (unmarked,), lambda _: "nothing is marked, so all packets are in best effort")


def _profiles(value: Any) -> Rule | None:
    return _choices(value, tuple(PROFILES))


def _indices(value: Any) -> Rule | None:
    return MCS_STEPS, 0, lambda mcs, step: max(mcs + step, 0), lambda step: f"{step:+d}"


def _errors(value: Any) -> Rule | None:
    words = {0.0: "no errors", 2.0: "twice as many errors"}
    return ERROR_FACTORS, 1.0, _scaled, lambda factor: words.get(factor, f"{factor:.3g} times as many errors")


def _loads(value: Any) -> Rule | None:
    if value == BULK:
        return None
    words = {0.5: "half the load", 2.0: "twice the load"}
    return FACTORS["assumed"], 1.0, _loaded, lambda factor: words.get(factor, f"{factor:.3g} times the load")


RULES: Mapping[str, Callable[[Any], Rule | None]] = {
    "ap.hardware": _hardware,
    "ap.scheme": _scheme,
    "mac.edca": _edca,
    "tcp.profile": _profiles,
    "stations.mcs": _indices,
    "stations.mcs_down": _indices,
    "stations.frame_error_rate": _errors,
    "stations.frame_error_rate.data_down": _errors,
    "stations.frame_error_rate.data_up": _errors,
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


def index(mark: Mark) -> int:
    """The number of a mark's table in its list."""
    return int(mark.path.partition("[")[2].partition("]")[0])


def _keys(mark: Mark) -> list[str | int]:
    table, _, rest = mark.path.partition("[")
    keys: list[str | int] = []
    if rest:
        index, _, key = rest.partition("]")
        keys = [table, int(index), *key.strip(".").split(".")]
    else:
        keys = list(mark.path.split("."))
    return [key for key in keys if key != ""]


def _words(value: Any, other: Any) -> str:
    """Another value in words: of a table the keys that differ."""
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return ", ".join(f"{key} {label(each)}" for key, each in other.items() if value.get(key) != each)
    return label(other)


def _with_others(settings: Settings, marks: Sequence[Mark], number: int) -> None:
    """Gives each fitted value the other one at this place of its list."""
    for mark in marks:
        if value_at(settings, mark) is not None and number < len(mark.others):
            _place(settings, mark, mark.others[number])


def _all_bulk(settings: Settings, marks: Sequence[Mark]) -> None:
    """Makes each of these flows bulk data."""
    for mark in marks:
        if value_at(settings, mark) is not None:
            _place(settings, mark, BULK)


def _with_bbr(settings: Settings) -> None:
    """Makes servers send by BBR, where a flow does not say by what it sends."""
    for flow in settings["flows"]:
        application = flow.get("application", BULK)
        name = application["name"] if isinstance(application, Mapping) else application
        if flow.get("direction", "down") == "down" and name not in DATAGRAMS:
            flow["tcp"] = {"congestion_control": "bbr", **flow.get("tcp", {})}


def _place(settings: Settings, mark: Mark, value: Any) -> None:
    """Gives what a mark names another value."""
    node: Any = settings
    *above, last = _keys(mark)
    for key in above:
        node = node[key]
    node[last] = value


def value_at(settings: Settings, mark: Mark) -> Any:
    """The value that a mark names; None if the settings do not have it."""
    node: Any = settings
    for key in _keys(mark):
        try:
            node = node[key]
        except (KeyError, IndexError, TypeError):
            return None
    return node


def _without(settings: Settings, gone: set[int]) -> None:
    """Removes flows, and the stations that had these alone."""
    flows = settings["flows"]
    settings["flows"] = [flow for i, flow in enumerate(flows) if i not in gone]
    idle = {flows[i].get("station") for i in gone} - {flow.get("station") for flow in settings["flows"]}
    settings["stations"] = [each for each in settings.get("stations", []) if each["name"] not in idle]
