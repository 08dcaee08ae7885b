"""A run as a data file of flent (https://flent.org), so that flent's plots and GUI open it: `wifair run rrul --flent DIR`.

The file has flent's format 4: JSON in gzip. The test's name and the series' names follow from the flows: bulk TCP each
way by number and DSCP, and pings. Values are those of the table `series`: goodput and round-trip time per sampling
interval. flent plots `raw_values`; `results` has the same on a common time axis, and the sums and means that flent
computes when it measures.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from wifair.errors import InputError
from wifair.results.results import versions, writable_folder

if TYPE_CHECKING:
    from wifair.results.results import Results
    from wifair.scenario.scenario import Scenario

FORMAT = 4
# flent's sampling step, in seconds.
STEP_S = 0.2
# flent's names for the flows of `rrul`, by DSCP.
CLASSES = {0: "BE", 8: "BK", 40: "CS5", 46: "EF"}

Values = list[float | None]


def sampled(scenario: Scenario, folder: Path | None = None) -> Scenario:
    """The scenario with time series. Raises `InputError` if flent has no test for its flows or `folder` is not writable."""
    if folder:
        writable_folder(folder)
    names_of(scenario.plan())
    there = scenario.plan()["run"]["sample_interval_s"]
    return scenario if there else scenario.override({"run.sample_interval_s": STEP_S})


def names_of(plan: Mapping[str, Any]) -> tuple[str, dict[str, str], dict[str, str]]:
    """The test of flent for these flows, the name of each series by the flow's label, and the test's parameters."""
    bulk = [flow for flow in plan["flows"] if flow["application"]["name"] == "bulk"]
    ways = {way: [flow for flow in bulk if flow["direction"] == way] for way in ("up", "down")}
    pings = [flow for flow in plan["flows"] if flow["application"]["name"] == "ping"]
    numbers = {way: len(flows) for way, flows in ways.items()}
    marks = {way: [flow["tcp"]["dscp"] for flow in flows] for way, flows in ways.items()}
    if not bulk:
        raise InputError("flent: the scenario has no bulk flow over TCP; flent's tests here have one or more.")
    parameters: dict[str, str] = {}
    if all(sorted(listed) == sorted(CLASSES) for listed in marks.values()):
        test, own = "rrul", {way: [CLASSES[mark] for mark in listed] for way, listed in marks.items()}
    elif numbers == {"up": 4, "down": 4}:
        test, own = "rrul_be", {way: ["BE", "BE2", "BE3", "BE4"] for way in ways}
    elif 0 in numbers.values():
        way = "up" if numbers["up"] else "down"
        test = f"tcp_8{way}" if numbers[way] == 8 else f"tcp_n{way}"
        own = {way: [f"::{i + 1}" for i in range(numbers[way])]}
        parameters = {f"{way}load_streams": f"{numbers[way]}"}
    else:
        test, own = "rrul_be_nflows", {way: [f"BE::{i + 1}" for i in range(number)] for way, number in numbers.items()}
        parameters = {f"{way}load_streams": f"{number}" for way, number in numbers.items()}
    series = {}
    for way, kinds in own.items():
        for flow, kind in zip(ways[way], kinds, strict=True):
            series[flow["label"]] = f"TCP {way}load{'' if kind.startswith('::') else ' '}{kind}"
    unmarked = 0
    for flow in pings:
        mark = flow["application"]["dscp"]
        kind = f"UDP {CLASSES[mark]}" if mark and mark in CLASSES else ""
        if not kind:  # the first unmarked one is flent's ICMP ping, others are its best-effort UDP pings
            kind = "ICMP" if not unmarked else "UDP BE" if test != "rrul_be" else f"UDP BE{unmarked}"
            unmarked += 1
        series[flow["label"]] = f"Ping (ms) {kind}"
    twice = [name for name, count in Counter(series.values()).items() if count > 1]
    if twice:
        raise InputError(f"flent: two flows would be {twice[0]!r}; allowed here: one ping for each of flent's.")
    return test, series, parameters


def document(results: Results, scenario: str, seed: int, at: datetime) -> dict[str, Any]:
    """The content of the file of one replication."""
    cell = next(cell for cell in results.cells if cell.name == scenario)
    plan = cell.scenario.plan()
    test, series, parameters = names_of(plan)
    table = results.frames["series"].filter((pl.col("scenario") == scenario) & (pl.col("seed") == seed))
    times = table["time_s"].unique().sort().to_list()
    found: dict[str, Values] = {}
    for label, name in series.items():
        metric = "rtt_ms" if name.startswith("Ping") else "goodput_mbps"
        own = table.filter((pl.col("entity") == label) & (pl.col("metric") == metric))
        by_time = dict(own.select("time_s", "value").iter_rows())
        found[name] = [by_time.get(time) for time in times]
    began_s = at.timestamp()
    raw = {
        name: [
            {"t": began_s + time, "val": value} for time, value in zip(times, values, strict=True) if value is not None
        ]
        for name, values in found.items()
    }
    units = {name: "ms" if name.startswith("Ping") else "Mbits/s" for name in found}
    results_ = {**found, **_computed(found)}
    return {
        "version": FORMAT,
        "x_values": times,
        "results": results_,
        "raw_values": raw,
        "metadata": {
            "NAME": test,
            "TITLE": f"wifair {scenario}, {plan['bss']['ap']['tx_queue']['scheme']['name']}, seed {seed}",
            "TIME": _text(at),
            "T0": _text(at),
            "HOST": "wifair",
            "HOSTS": ["wifair"],
            "LOCAL_HOST": "wifair",
            "LENGTH": plan["run"]["duration_s"],
            "TOTAL_LENGTH": max(times),
            "STEP_SIZE": times[1] - times[0] if len(times) > 1 else STEP_S,
            "TEST_PARAMETERS": parameters,
            "IP_VERSION": 4,
            "NOTE": f"simulated by wifair {versions()['wifair']}, engine {versions()['engine']}",
            "DATA_FILENAME": f"{test}-seed-{seed}.flent.gz",
            "SERIES_META": {
                name: {"UNITS": units.get(name, "Mbits/s" if "TCP" in name else "ms")} for name in results_
            },
        },
    }


def _text(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _computed(found: Mapping[str, Values]) -> dict[str, Values]:
    """The sums and means of flent's tests."""
    groups = {
        kind: [values for name, values in found.items() if name.startswith(kind)]
        for kind in ("TCP upload", "TCP download", "Ping (ms)", "TCP")
    }
    told: dict[str, Values] = {}
    for kind in ("TCP upload", "TCP download"):
        if groups[kind]:
            told[f"{kind} avg"] = _each(groups[kind], mean=True)
            told[f"{kind} sum"] = _each(groups[kind])
    if groups["Ping (ms)"]:
        told["Ping (ms) avg"] = _each(groups["Ping (ms)"], mean=True)
    return {**told, "TCP totals": _each(groups["TCP"])}


def _each(columns: Sequence[Values], mean: bool = False) -> Values:
    told: Values = []
    for row in zip(*columns, strict=True):
        there = [value for value in row if value is not None]
        told.append(sum(there) / (len(there) if mean else 1) if there else None)
    return told


def write(results: Results, folder: str | Path) -> str:
    """Writes one file per scenario and replication; returns a message that names them. Raises `InputError` for runs without time series."""
    if "series" not in results.frames or not results.frames["series"].height:
        raise InputError(
            "flent: these runs have no time series, and its files are made of them; "
            f"run the scenario with --set run.sample_interval_s={STEP_S}, or with `wifair run --flent DIR`."
        )
    folder = writable_folder(folder)
    paths: list[Path] = []
    at = datetime.now(UTC)
    for cell in results.cells:
        there = set(results.runs.filter(pl.col("scenario") == cell.name)["seed"])
        for seed in (seed for seed in results.seeds if seed in there):
            made = document(results, cell.name, seed, at)
            several = f"{cell.name}-" if len(results.cells) > 1 else ""
            paths.append(folder / f"{several}{made['metadata']['DATA_FILENAME']}")
            with gzip.open(paths[-1], "wt", encoding="utf-8") as file:
                json.dump(made, file)
    return f"for flent: {paths[0]}" + (f" and {len(paths) - 1} more" if paths[1:] else "")
