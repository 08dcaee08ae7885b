"""Flows that are added to a scenario to measure a goal that nothing in it could be measured by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wifair.errors import InputError
from wifair.observed.calibration import NEIGHBOURS
from wifair.planned import part, stations_of
from wifair.scenario.scenario import Scenario
from wifair.tuning.goals import Goal
from wifair.tuning.words import WORDS, Word, calls

# How the name of such a flow begins.
PROBE = "probe-"


def judged_plan(scenario: Scenario, bss: str) -> dict[str, Any]:
    """The plan of the BSS that is judged: the only one, or the one of that name."""
    return part(scenario.plan(), [bss]) if bss else scenario.plan()


def with_probes(scenario: Scenario, goals: Sequence[Goal], bss: str = "") -> tuple[Scenario, list[str]]:
    """The scenario with a flow for each goal that nothing there could be measured by, if such a flow hardly loads the network.

    It belongs to the station with the slowest link, of several BSSs in the named one. Raises `InputError` for other goals.
    """
    remarks: list[str] = []
    for goal in goals:
        name, word = _word(goal)
        plan = judged_plan(scenario, bss)
        there = {flow["application"]["name"] for flow in plan["flows"]}
        if word is None or not word.needs or there & set(word.needs) - {"udp"} or ("udp" in word.needs and calls(plan)):
            continue
        if not word.probe:
            raise InputError(
                f"goals: {name}: no flow of the scenario has the application {' or '.join(word.needs)}; allowed here: other goals, or a "
                f"scenario with such a flow."
            )
        slowest = _slowest(scenario, bss)
        probe = {
            "name": f"{PROBE}{word.probe}",
            "station": slowest,
            "direction": "up" if word.probe == "ping" else "down",
            "application": word.probe,
        }
        settings = scenario.settings()
        scenario = Scenario.from_settings({**settings, "flows": [*settings.get("flows", []), probe]})
        remarks.append(
            f"{name}: the scenario has none, so one of {word.probe} was added at {slowest}, whose link is the slowest"
        )
    return scenario, remarks


def _word(goal: Goal) -> tuple[str, Word | None]:
    """The word of a goal, or the one that measures the same metric, and its meaning."""
    of_metric = (word for word, meaning in WORDS.items() if not meaning.own and meaning.metric == goal.metric)
    name = goal.word or next(of_metric, "")
    return name, WORDS.get(name)


def _slowest(scenario: Scenario, bss: str) -> str:
    access = scenario.channel_access(1500)
    named = {station["label"] for station in stations_of(judged_plan(scenario, bss))} - {NEIGHBOURS}
    called = {str(group.name) for group in scenario.stations if group.count == 1}
    called |= {f"{group.name}-{i}" for group in scenario.stations if group.count > 1 for i in range(1, group.count + 1)}
    times = {station: row["one"]["airtime_us"] for (station, way), row in access.items() if way == "down"}
    times |= {station: row["one"]["airtime_us"] for (station, _), row in access.items() if station not in times}
    among = {station: time for station, time in times.items() if station in named & called}
    if not among:
        raise InputError(
            "goals: a flow that measures this needs a station with a name; allowed here: a scenario with [[stations]]."
        )
    return max(among, key=lambda station: among[station])
