"""Likely mistakes in a scenario, found by arithmetic over its plan. Nothing is simulated.

Each rule is a function from a `Plan` to findings; `RULES` lists them. A finding names the key, the problem, and the
arithmetic with its values. A finding need not be a mistake: a study may do it on purpose.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from wifair.analysis.check import air, duration, flows, no_effect, stations
from wifair.analysis.check.finding import Finding, Shared
from wifair.analysis.check.plan import Plan

if TYPE_CHECKING:
    from wifair.scenario.scenario import Scenario
    from wifair.study.job import Cell

__all__ = ["RULES", "Finding", "Plan", "Shared", "check", "check_study"]

Rule = Callable[[Plan], Iterator[Finding]]


def check(scenario: Scenario) -> list[Finding]:
    """All findings, in the order of the rules."""
    plan = Plan(scenario)
    return [finding for rule in RULES for finding in rule(plan)]


def check_study(cells: Iterable[Cell]) -> list[Shared]:
    """The findings of a study's scenarios. What a rule finds at the same key in several of them is one finding."""
    from wifair.scenario.scenario import Scenario

    found: dict[tuple[Rule, str], dict[str, Finding]] = {}
    for cell in cells:
        assert isinstance(cell.scenario, Scenario)
        plan = Plan(cell.scenario)
        for rule in RULES:
            for finding in rule(plan):
                found.setdefault((rule, finding.key), {}).setdefault(cell.name, finding)
    return [
        Shared(finding, example, len(of))
        for of in found.values()
        for example, finding in itertools.islice(of.items(), 1)
    ]


RULES: tuple[Rule, ...] = (
    flows.stations_without_flows,
    flows.pings_of_stations_that_upload,
    flows.names_that_contradict,
    air.wire_slower_than_the_air,
    stations.buffers_smaller_than_windows,
    no_effect.window_never_fills_the_buffer,
    duration.run_shorter_than_the_slowest_loop,
    duration.flows_outside_the_measurement,
    no_effect.acks_without_uploads,
    no_effect.marks_that_nobody_sets_or_hears,
    no_effect.priorities_that_nobody_looks_at,
    air.more_than_the_air_carries,
    duration.quantiles_of_too_few,
    air.a_slow_station_holds_the_air,
)
