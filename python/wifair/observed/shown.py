"""What an access point shows of its network, as numbers: of a measurement, and of runs in the same way.

Runs are written as their access point would show them, and read by the same readers. So rounding, headers and ACKs count alike in both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from wifair.observed import as_ap, interface, loads, station_dump, survey_dump
from wifair.observed.calibration import NEIGHBOURS
from wifair.observed.network import Direction, Observed, Station, with_traffic
from wifair.stats import Values, jain

if TYPE_CHECKING:
    from wifair.results.results import Results

Kind = Literal["goodput", "airtime", "retries", "ping", "busy", "others", "down", "up", "fairness", "airtime fairness"]
KINDS: tuple[Kind, ...] = get_args(Kind)

# Flows by station and direction.
Flows = frozenset[tuple[str, str]]
# The readers of what a run shows, by file.
_READERS = {as_ap.STATION: station_dump, as_ap.SURVEY: survey_dump, as_ap.INFO: interface}


@dataclass(frozen=True)
class Quantity:
    """What is measured: of a station, of a direction of it, or of the cell where no station is named."""

    kind: Kind
    station: str = ""
    direction: str = ""

    def __str__(self) -> str:
        where = f"{self.station}{f' {self.direction}' if self.direction else ''}: " if self.station else ""
        return f"{where}{TITLES[self.kind]}"


TITLES: Mapping[Kind, str] = {
    "goodput": "goodput, Mbps",
    "airtime": "airtime, share of the time",
    "retries": "share of retries",
    "ping": "round-trip time of pings, ms",
    "busy": "busy share of the time",
    "others": "time of others and collisions, share",
    "down": "goodput of all downloads, Mbps",
    "up": "goodput of all uploads, Mbps",
    "fairness": "fairness of goodput of all flows (Jain's index)",
    "airtime fairness": "fairness of airtime of all stations (Jain's index)",
}


@dataclass(frozen=True)
class Reading:
    """A value, and the time over which it was counted; None if no file has the time."""

    value: float
    elapsed_s: float | None


def of_network(observed: Observed, names: Mapping[str, str], flows: Flows = frozenset()) -> dict[Quantity, Reading]:
    """What was observed of a network. `names` has the stations that count, by their key among the files.

    `flows` are the directions that are known to carry data. There all packets count, however small they are: the rule for ACKs depends on the load, and
    would take the same flow for data in one measurement or run, and for ACKs alone in another.
    """
    length = observed.keys.get("run.duration_s")
    found: dict[Quantity, Reading] = {}
    for key, station in with_traffic(observed).items():
        if key in names:
            known = {way for name, way in flows if name == names[key]}
            found |= _of_station(station, names[key], length.value if length else None, known)
    survey = observed.survey
    if survey and survey.active_ms and survey.busy_ms and survey.active_ms.value:
        active_s = survey.active_ms.value / 1000
        found[Quantity("busy")] = Reading(survey.busy_ms.value / survey.active_ms.value, active_s)
    others = loads.others(observed)
    if others:
        found[Quantity("others")] = Reading(*others)
    return found


def _of_station(station: Station, name: str, length_s: float | None, known: set[str]) -> dict[Quantity, Reading]:
    counters = station.counters
    elapsed_s = counters.elapsed_s.value if counters.elapsed_s else length_s
    found: dict[Quantity, Reading] = {}
    rates = _rates(station, known)
    for way, mbps in rates.items():
        found[Quantity("goodput", name, way)] = Reading(mbps, elapsed_s)
    used = [each.value for each in (counters.down_airtime_us, counters.up_airtime_us) if each]
    if used and elapsed_s:
        found[Quantity("airtime", name)] = Reading(sum(used) / elapsed_s / 1e6, elapsed_s)
    retries = loads.retries(counters)
    if retries is not None:
        found[Quantity("retries", name)] = Reading(retries, elapsed_s)
    trips = [each.rtt_ms for each in station.traffic if each.rtt_ms is not None]
    if trips:
        found[Quantity("ping", name)] = Reading(sum(trips) / len(trips), elapsed_s)
    return found


def _rates(station: Station, known: set[str]) -> dict[Direction, float]:
    """The payload in Mbps by direction, where a file has it; 0 for a direction with ACKs alone. Those of `known` carry data."""
    counters = station.counters
    counted = {"down": counters.down_bytes, "up": counters.up_bytes}
    given = {"down": station.down_mbps, "up": station.up_mbps}
    rates: dict[Direction, float] = {}
    for way in loads.DIRECTIONS:
        told = [each.mbps if each.direction == way else each.back_mbps for each in station.traffic]
        flows = [mbps for mbps in told if mbps is not None]
        if flows or given[way] or (counted[way] and counters.elapsed_s):
            rates[way] = sum(flows)
    # Runs have no series, which tells more of what a flow is.
    for load in loads.of_station(replace(station, dumps=(counters,)), known):
        if load.mbps is not None and load.direction in rates:
            rates[load.direction] += load.mbps
    return rates


def network(plan: Mapping[str, Any]) -> tuple[tuple[str, ...], Flows]:
    """The stations of a plan, and the directions of these that carry data; without the station that is for other networks."""
    stations = tuple(each["label"] for each in plan["bss"]["stations"] if each["label"] != NEIGHBOURS)
    return stations, frozenset(
        (flow["station"], flow["direction"]) for flow in plan["flows"] if flow["station"] in stations
    )


def of_runs(results: Results, cell: str) -> dict[Quantity, Values]:
    """What the access point shows of each run of a cell: one value per seed, NaN where a run does not show it."""
    plan = next(each.scenario.plan() for each in results.cells if each.name == cell)
    labels, flows = network(plan)
    runs = []
    for seed in results.seeds:
        observed = Observed()
        for name, content in as_ap.files(results, plan, cell, seed):
            _READERS[name].read_into(observed, name, content)
        own = dict(zip(observed.stations, labels, strict=True))
        shown = {what: each.value for what, each in of_network(observed, own, flows).items()}
        runs.append(shown | _pings(results, cell, seed))
    return together(runs)


def _pings(results: Results, cell: str, seed: int) -> dict[Quantity, float]:
    """The median round-trip time of each station's pings."""
    if "datagrams" not in results.frames:
        return {}
    mine = results.datagrams.filter(scenario=cell, seed=seed, application="ping").drop_nulls("rtt_p50_ms")
    means = mine.group_by("station").agg(pl.col("rtt_p50_ms").mean())
    return {Quantity("ping", station): float(trip) for station, trip in means.iter_rows()}


def together(runs: list[dict[Quantity, float]]) -> dict[Quantity, Values]:
    """The values of each quantity, one per run."""
    every = dict.fromkeys(quantity for run in runs for quantity in run)
    return {quantity: np.array([run.get(quantity, np.nan) for run in runs], dtype=np.float64) for quantity in every}


def with_cell(values: Mapping[Quantity, Values], flows: set[tuple[str, str]]) -> dict[Quantity, Values]:
    """The values with those of all these flows together, each a station and a direction: sums and Jain's indexes."""
    found = dict(values)
    goodput = {flow: values[each] for flow in sorted(flows) if (each := Quantity("goodput", *flow)) in values}
    for way in loads.DIRECTIONS:
        mine = [each for (_, direction), each in goodput.items() if direction == way]
        if mine:
            found[Quantity(way)] = np.sum(mine, axis=0)
    stations = sorted({station for station, _ in flows})
    airtime = [values[each] for station in stations if (each := Quantity("airtime", station)) in values]
    for kind, rows in (("fairness", list(goodput.values())), ("airtime fairness", airtime)):
        if len(rows) > 1:
            found[Quantity(kind)] = _each_run(jain, rows)  # type: ignore[arg-type]
    return found


def _each_run(index: Callable[[Values], float], rows: list[Values]) -> Values:
    return np.array([index(run) for run in np.stack(rows, axis=1)], dtype=np.float64)
