"""Likely mistakes in a scenario, found by arithmetic over its plan. Nothing is simulated.

Each rule is a function from a `Plan` to findings; `RULES` lists them. A finding names the key, the problem, and the
arithmetic with its values. A finding need not be a mistake: a study may do it on purpose.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from wifair.analysis.check import air, duration, flows, no_effect, stations
from wifair.analysis.check.finding import Finding, Shared, listed
from wifair.analysis.check.plan import Plan
from wifair.keys import join

if TYPE_CHECKING:
    from wifair.scenario.scenario import Scenario
    from wifair.study.job import Cell

__all__ = ["RULES", "Finding", "Plan", "Shared", "check", "check_study", "listed"]

Rule = Callable[[Plan], Iterator[Finding]]


def check(scenario: Scenario) -> list[Finding]:
    """All findings, in the order of the rules. What a rule finds at the same key in several BSSs is one finding."""
    return [finding for _, finding in _found(scenario)]


def check_study(cells: Iterable[Cell]) -> list[Shared]:
    """The findings of a study's scenarios. What a rule finds at the same key in several of them is one finding."""
    from wifair.scenario.scenario import Scenario

    found: dict[tuple[Rule, str], dict[str, Finding]] = {}
    for cell in cells:
        assert isinstance(cell.scenario, Scenario)
        for rule, finding in _found(cell.scenario):
            found.setdefault((rule, finding.key), {}).setdefault(cell.name, finding)
    return [
        Shared(finding, example, len(of))
        for of in found.values()
        for example, finding in itertools.islice(of.items(), 1)
    ]


def _found(scenario: Scenario) -> Iterator[tuple[Rule, Finding]]:
    """The findings with their rules."""
    plans = Plan.by_bss(scenario)
    whole = Plan(scenario, *plans)
    for rule in RULES:
        if rule in OF_ALL or len(plans) == 1:
            yield from ((rule, finding) for finding in rule(whole))
            continue
        of: dict[tuple[str, str], Finding] = {}
        for name, plan in plans.items():
            for finding in rule(plan):
                key = _own_key(scenario, name, finding.key)
                alike = (key, _without_names(plan, finding.finding))
                first = of.get(alike, replace(finding, key=key))
                of[alike] = replace(first, bsss=(*first.bsss, name))
        yield from ((rule, finding) for finding in of.values())


def _own_key(scenario: Scenario, bss: str, key: str) -> str:
    """The key of a finding, in the table of the BSS if that sets it."""
    head, _, rest = key.partition(".")
    table = next(table for table in scenario.bss if table.name == bss)
    own = {"ap": table.ap, "wire": table.wire or {}}.get(head, {})
    return join(scenario.bss_key(bss), key) if rest.partition(".")[0] in own else key


def _without_names(plan: Plan, text: str) -> str:
    """The text of a finding with a mark for each number, and for each list of flows, groups or stations."""
    named = {flow[key] for flow in plan.flows for key in ("label", "group")}
    named |= {station["label"] for station in plan.plan["bss"]["stations"]}
    names = "|".join(re.escape(name) for name in sorted(named, key=len, reverse=True))
    one = rf"(?<![\w-])(?:{names}|\d+(?:\.\d+)?)(?![\w-])"
    return re.sub(rf"{one}(?:, {one})*(?: and {one} more)?", "#", text)


# Rules on what all BSSs have in common.
OF_ALL: tuple[Rule, ...] = (no_effect.priorities_that_nobody_looks_at,)

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
