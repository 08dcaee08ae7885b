"""The round trip over the gallery: run, capture at the access point's radio, import, run.

    .venv/bin/python benches/round_trip.py [--only EXPRESSION] [--work DIR] [--threads N] [--page docs/import.md]

Each scenario of one BSS that can be captured runs once with a capture of the access point's radio. `import` makes a scenario of the capture, and of what no capture
shows and an owner knows: the tables `ap`, `mac` and `tcp`, the stations' queues, and the rate of the line. Both scenarios run with the same seeds. Of each flow, the mean
goodput must be the same within 5 %, and the mean of the median round-trip times within 10 %, each with what both 95 % intervals leave open. Flows are told apart by
station, direction and transport, and several of these by their order.

Imported files and finished replications are kept in DIR, so that the same command continues where it was stopped.
"""

from __future__ import annotations

import argparse
import math
import re
import tempfile
import time
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from wifair import Scenario, Traces, gallery, load
from wifair.errors import InputError
from wifair.markdown import Marks, table
from wifair.observed import document, observe
from wifair.observed.network import given
from wifair.observed.written import text
from wifair.results.results import Results
from wifair.stats import Interval, t_interval
from wifair.study.job import Cell
from wifair.study.store import Store
from wifair.study.study import Study

MARKS = Marks("round-trip", "benches/round_trip.py")
CAPTURED, SEEDS = 9001, range(1, 11)
WARMUP_S, DURATION_S = 10.0, 60.0
GOODPUT, TRIP = 0.05, 0.10
# What no capture shows. The rate adaptation and the rates of stations are not among it.
KNOWN = ("ap", "mac", "tcp", "wire")
# The queue of a station of a scenario that sets none.
DEFAULT_PACKETS = 100
# Station by its number, direction, transport, and the place among the flows that share these.
Flow = tuple[int, str, str, int]


def names() -> list[str]:
    """The gallery's scenarios of one BSS; those of a field are left out."""
    cells = [f"{cell}/{senders}" for cell in gallery.cells() for senders in ("paper", "today", "ax")]
    there = [name for name in (*gallery.names(), *cells) if gallery.path_of(name)]
    return [name for name in there if load(name).plan()["bss"].get("field") is None]


def shortened(name: str) -> Scenario:
    """The scenario, with a minute of measurement at most, or twice the time of its last event."""
    scenario = load(name)
    run, horizon_s = (
        scenario.settings()["run"],
        max((each["at_s"] for each in scenario.settings().get("events", [])), default=0.0),
    )
    return scenario.override(
        {
            "run.warmup_s": min(run["warmup_s"], WARMUP_S),
            "run.duration_s": min(run["duration_s"], max(DURATION_S, 2 * horizon_s)),
            "run.record_transfers": False,
        }
    )


def known(scenario: Scenario) -> dict[str, Any]:
    """What an owner knows of it, by key."""
    settings = scenario.settings()
    found = {"ap.scheme": "droptail"}
    found |= {f"{name}.{key}": value for name in KNOWN for key, value in settings.get(name, {}).items()}
    tx_queue = settings.get("station", {}).get("tx_queue", {})
    return found | {"station.tx_queue": {"limit_packets": DEFAULT_PACKETS, **tx_queue}}


def imported(scenario: Scenario) -> str:
    """The scenario file that `import` makes of the capture."""
    with tempfile.TemporaryDirectory() as folder:
        scenario.run(seeds=[CAPTURED], traces=Traces(folder))
        observed = observe([Path(folder) / f"seed-{CAPTURED}" / "ap-air.pcapng"])
    observed.keys = {key: given(value, "") for key, value in known(scenario).items()} | observed.keys
    numbers = {f"station-{at}": key for at, key in enumerate(observed.stations, 1)}
    made = text(document(observed, "back"))
    # Addresses end with the number of the station, from 1 on.
    return "".join(f"# {name} {int(key[-5:].replace(':', ''), 16)}\n" for name, key in numbers.items()) + made


@dataclass(frozen=True)
class Shown:
    """Of a flow, its values by seed: goodput in Mbps, median round-trip time in ms."""

    goodput: Interval
    trip: Interval


def shown(results: Results, cell: str, numbers: dict[str, int]) -> dict[Flow, Shown]:
    """What runs of a cell show of its flows. `numbers` has the stations' numbers by name."""
    columns = ["seed", "flow", "station", "direction", "transport", "goodput_mbps", "rtt_p50_ms"]
    every = [results.flows.filter(pl.col("scenario") == cell).select(columns)]
    if "datagrams" in results.frames:
        datagrams = results.datagrams.filter(pl.col("scenario") == cell).with_columns(transport="application")
        every = [every[0].filter(transport="tcp"), datagrams.select(columns)]
    found: dict[tuple[int, str, str], list[Shown]] = {}
    for frame in every:
        for (_, station, way, transport), rows in frame.group_by("flow", "station", "direction", "transport"):
            values = [rows[column].cast(pl.Float64).fill_null(math.nan).to_numpy() for column in columns[-2:]]
            kind = (numbers.get(str(station), 0), str(way), str(transport))
            found.setdefault(kind, []).append(Shown(*(t_interval(each[np.isfinite(each)]) for each in values)))
    return {
        (*kind, place): each
        for kind, mine in found.items()
        for place, each in enumerate(sorted(mine, key=lambda one: -one.goodput.estimate))
    }


def ratio(before: Interval, after: Interval, most: float) -> tuple[float, bool] | None:
    """After in relation to before, and whether it is within `most` and what the intervals leave open; None if one has no value."""
    if before.n < 2 or after.n < 2 or not before.estimate > 0:
        return None
    halves = [
        (each.high - each.low) / 2 if each.high is not None and each.low is not None else 0.0
        for each in (before, after)
    ]
    gap = abs(after.estimate - before.estimate)
    return after.estimate / before.estimate, gap <= most * before.estimate + math.hypot(*halves)


def row(name: str, given: argparse.Namespace, store: Store) -> tuple[str, ...]:
    """The row of a scenario."""
    before, kept = shortened(name), given.work / f"{name.replace('/', '-')}.toml"
    if not kept.exists():
        try:
            content = imported(before)
        except InputError as error:
            return (name, "", "", "", "", str(error))
        kept.write_text(content, encoding="utf-8")
    content = kept.read_text(encoding="utf-8")
    run = {key: value for key, value in before.settings()["run"].items() if key != "record_transfers"}
    settings, own = tomllib.loads(content), before.settings()
    if "profile" not in own.get("tcp", {}):  # a file of `import` always has one
        settings["tcp"].pop("profile")
    if "dialect" in own:
        settings["dialect"] = own["dialect"]
    after = Scenario.from_settings(settings, [(f"run.{key}", value) for key, value in run.items()])
    results = Study([Cell("before", before), Cell("after", after)], SEEDS).run(given.threads, store=store)
    numbers = {each["label"]: at for at, each in enumerate(before.plan()["bss"]["stations"], 1)}
    back = {line.split()[1]: int(line.split()[2]) for line in content.splitlines() if line.startswith("# station-")}
    one, two = shown(results, "before", numbers), shown(results, "after", back)
    pairs = [(one[flow], two[flow]) for flow in one if flow in two]
    cells = [f"{len(pairs)} of {len(one)}" + (f", {len(two) - len(pairs)} more" if len(two) > len(pairs) else "")]
    for kind, most in (("goodput", GOODPUT), ("trip", TRIP)):
        cells += _within([ratio(getattr(a, kind), getattr(b, kind), most) for a, b in pairs])
    return (name, *cells)


def _within(ratios: list[tuple[float, bool] | None]) -> Iterator[str]:
    there = [each for each in ratios if each]
    if not there:
        yield from ("–", "")
        return
    worst = max((each[0] for each in there), key=lambda value: abs(math.log(value)) if value > 0 else math.inf)
    yield f"{sum(each[1] for each in there)} of {len(there)}"
    yield f"{worst:.2f}"


def main() -> None:
    """Makes the round trip of each scenario, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="scenarios whose names this regular expression finds")
    parser.add_argument("--work", type=Path, default=Path("results/round-trip"))
    parser.add_argument("--threads", type=int)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    store, rows = Store(given.work / "store"), []
    for name in names():
        if re.search(given.only, name):
            began = time.perf_counter()
            rows.append(row(name, given, store))
            print(f"{' | '.join(rows[-1])}; {time.perf_counter() - began:.0f} s", flush=True)
    heads = ("scenario", "flows found", "goodput within 5 %", "worst ratio", "RTT within 10 %", "worst ratio")
    flows = [
        sum(int(row[column].partition(" of ")[at]) for row in rows if " of " in row[column])
        for column in (2, 4)
        for at in (0, 2)
    ]
    summary = f"Of {flows[1]} flows that were found, {flows[0]} have their goodput, and of {flows[3]} with a round-trip time {flows[2]} have that."
    made = f"{table(heads, rows)}\n\n{summary}"
    print(made)
    if given.page:
        MARKS.write(given.page, made)


if __name__ == "__main__":
    main()
