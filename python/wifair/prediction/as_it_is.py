"""What was measured of a network next to what runs of the scenario as it is show, by the same readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair.errors import InputError
from wifair.observed.network import BULK
from wifair.observed.origins import Mark
from wifair.observed.shown import Quantity, network, of_runs, with_cell
from wifair.planned import refuse_several
from wifair.prediction.comparison import SCALES
from wifair.prediction.measurement import Measured, Measurement, named, short_runs, with_sums
from wifair.stats import LEVEL, Interval, Values, prediction_half_width, t_interval

if TYPE_CHECKING:
    from wifair.results.results import Results
    from wifair.scenario.scenario import Scenario


@dataclass(frozen=True)
class Judged:
    """A quantity with the measured value, the mean of the runs, and by how much they may differ, on its scale."""

    quantity: Quantity
    measured: float
    simulated: float
    missed: float
    # Whether they differ by no more than matters.
    is_alike: bool = False

    @property
    def is_within(self) -> bool:
        """Whether the runs show what was measured."""
        return self.missed <= 1


@dataclass(frozen=True)
class AsItIs:
    """A measurement and runs. `judged` has the quantities that both have, the most missed first.

    `signals_dbm` are those of the stations, where a file has them; `only_measured` and `only_simulated` are the quantities that one of both has.
    """

    name: str
    stations: tuple[str, ...]
    judged: tuple[Judged, ...]
    runs: Mapping[Quantity, Interval]
    signals_dbm: Mapping[str, float]
    only_measured: Mapping[Quantity, Measured]
    only_simulated: tuple[Quantity, ...]
    # A remark if runs are much shorter than the measurement.
    short: str | None = None
    # What the readers say of the files, such as that one looks cut.
    read: tuple[str, ...] = ()

    @property
    def missed(self) -> list[Judged]:
        """The quantities that runs do not show."""
        return [each for each in self.judged if not each.is_within]


def check(scenario: Scenario, measured: Measurement) -> None:
    """Raises `InputError` for a scenario and a measurement that cannot be compared, as far as that is known without a run."""
    plan = scenario.plan()
    refuse_several(plan, "--measured")
    _matched(plan, measured)


def as_it_is(results: Results, measured: Measurement, loads: frozenset[tuple[str, str]] = frozenset()) -> AsItIs:
    """Compares a measurement with the runs of the only scenario of these results. `loads` are the flows of `read_flows`. Raises `InputError`."""
    [cell] = results.cells
    plan = cell.scenario.plan()
    duration_s: float = plan["run"]["duration_s"]
    stations, flows = network(plan)
    names, every = _matched(plan, measured)
    there = {flow for flow in flows if Quantity("goodput", *flow) in every}
    found, own = with_sums(every, there), of_runs(results, cell.name)
    runs = with_cell({what: values for what, values in own.items() if _is_of(what, flows)}, there)
    compared = judged(found, runs, duration_s, read_loads(found, loads))
    if not compared:
        raise _nothing(measured)
    signals = {
        names[key]: station.signal_dbm.value
        for time in measured.times
        for key, station in time.stations.items()
        if key in names and station.signal_dbm
    }
    both = {each.quantity for each in compared}
    return AsItIs(
        measured.name,
        stations,
        tuple(compared),
        {what: t_interval(values) for what, values in runs.items()},
        signals,
        {what: each for what, each in found.items() if what not in both},
        tuple(what for what in runs if what not in both),
        short_runs(measured.name, found, duration_s),
        tuple(dict.fromkeys(remark for time in measured.times for remark in time.remarks)),
    )


def _matched(plan: Mapping[str, Any], measured: Measurement) -> tuple[dict[str, str], dict[Quantity, Measured]]:
    """The names of a plan's stations by their keys in a measurement, and what was measured of these and of the cell. Raises `InputError`."""
    stations, flows = network(plan)
    names = named(stations, measured, "the scenario")
    found = used(measured.quantities(names, flows), flows)
    if not found:
        raise _nothing(measured)
    return names, found


def _nothing(measured: Measurement) -> InputError:
    return InputError(
        f"{measured.name}: has no quantity in common with the runs; allowed here: counters over a time, of the network that the scenario is of."
    )


def read_flows(scenario: Scenario, marks: Sequence[Mark]) -> frozenset[tuple[str, str]]:
    """Station and direction of the flows whose load `wifair import` has read: documents at the mean rate of one measurement. `marks` are those of the file."""
    marked = {mark.path for mark in marks if mark.family == "flows.application"}
    flows = scenario.settings().get("flows", [])
    return frozenset(
        (str(flow.get("station")), str(flow.get("direction")))
        for i, flow in enumerate(flows)
        if f"flows[{i}].application" in marked and flow.get("application") != BULK
    )


def read_loads(measured: Mapping[Quantity, Measured], flows: frozenset[tuple[str, str]]) -> dict[Quantity, float]:
    """The quantities of these flows that are as uncertain as one measurement, with the seconds of one: goodput, its sums, and the airtime of their stations."""
    sums = {Quantity("down" if direction == "down" else "up") for _, direction in flows}
    loads = (
        {Quantity("goodput", *flow) for flow in flows} | {Quantity("airtime", station) for station, _ in flows} | sums
    )
    return {
        what: each.elapsed_s / len(each.values) for what, each in measured.items() if what in loads and each.elapsed_s
    }


def used(measured: Mapping[Quantity, Measured], flows: frozenset[tuple[str, str]]) -> dict[Quantity, Measured]:
    """What was measured of these flows, of their stations, and of the cell."""
    return {what: each for what, each in measured.items() if _is_of(what, flows)}


def _is_of(what: Quantity, flows: frozenset[tuple[str, str]]) -> bool:
    if what.kind == "goodput":
        return (what.station, what.direction) in flows
    return not what.station or any(station == what.station for station, _ in flows)


def judged(
    measured: Mapping[Quantity, Measured],
    runs: Mapping[Quantity, Values],
    duration_s: float,
    loads: Mapping[Quantity, float] | None = None,
) -> list[Judged]:
    """Each quantity: within if it differs by less than matters, or by no more than chance at 95 % for all together (Bonferroni).

    `loads` are the quantities whose mean in the runs was read from another measurement of the network, with the seconds of that: such a mean is as uncertain as
    what was counted in this time.
    """
    there = [what for what in measured if what in runs and np.isfinite(runs[what]).sum() > 1]
    level = 1 - (1 - LEVEL) / max(len(there), 1)
    found = []
    for what in there:
        scale, each = SCALES[what.kind], measured[what]
        values = scale.of(runs[what])
        times = [each.elapsed_s or duration_s, *([loads[what]] if loads and what in loads else [])]
        chance = prediction_half_width(values, 1 / sum(duration_s / time for time in times), level)
        gap = abs(float(scale.of(each.values).mean()) - float(np.nanmean(values)))
        missed, is_alike = gap / max(chance, scale.margin), gap <= scale.margin
        found.append(Judged(what, each.mean, float(np.nanmean(runs[what])), missed, is_alike))
    return sorted(found, key=lambda each: -each.missed)
