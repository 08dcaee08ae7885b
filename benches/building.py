"""What a building costs: seconds per simulated second on one thread and on two, and memory, by its size and load; and by idle stations.

`python benches/building.py --page docs/neighbours.md` writes the tables of that page. Each point is a separate process, which simulates a
warm-up and then the measured seconds of the residential building of TGax: 20 flats per floor on three channels of 80 MHz.
`python benches/building.py --plan FLOORS LOAD` prints the plan of a point, which the example `building` of `wifair-sim` runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from load_point import peak_bytes
from wifair import Scenario, _native
from wifair.markdown import Marks, table

MARKS = Marks("cost of a building", "benches/building.py")
MARKS_OF_IDLE = Marks("cost of idle stations", "benches/building.py")
WARMUP_S = 2
STATIONS = 10
# Floors and load.
POINTS = ((1, 1.0), (3, 1.0), (5, 1.0), (5, 2.0))
HEADINGS = (
    "flats",
    "stations",
    "load",
    "exchanges per simulated s",
    "CPU s per simulated s",
    "µs per exchange",
    "s per simulated s, two threads, by seed",
    "memory, MB",
)
# Of the runs on two threads; the run on one thread has the first.
SEEDS = (1, 2, 3)
# Floors of the building with idle stations, the stations of each flat that have flows, and those that have none.
IDLE_FLOORS = 3
BUSY_STATIONS = 5
IDLE_STATIONS = (0, 5, 10)
HEADINGS_OF_IDLE = (
    "stations with flows",
    "idle stations",
    "nodes that a frame reaches",
    "exchanges per simulated s",
    "µs per exchange",
)


def plan_of(floors: int, load: float, duration_s: int, idle: int | None = None) -> str:
    """The plan of a building; with `idle`, that of one in which that many stations of each flat have no flows."""
    stations = STATIONS if idle is None else BUSY_STATIONS + idle
    building = {"model": "tgax-residential", "floors": floors, "load": load, "stations": stations}
    run = {"warmup_s": WARMUP_S, "duration_s": duration_s, "record_transfers": False}
    plan = Scenario(run=run, building=building).plan_json
    if idle is None:
        return plan
    spec = json.loads(plan)
    bsss = [spec["bss"], *spec["neighbours"]]
    busy = {station["label"] for bss in bsss for station in bss["stations"][:BUSY_STATIONS]}
    spec["flows"] = [flow for flow in spec["flows"] if flow["station"] in busy]
    return json.dumps(spec)


def measured(plan: str, threads: int, seed: int) -> dict[str, Any]:
    """The plan with a seed in this process, on so many threads: the cost of its measured seconds, and its exchanges per second."""
    run = json.loads(plan)["run"]
    ended = run["warmup_s"] + run["duration_s"]
    empty = peak_bytes()
    batch = _native.Batch([(plan, seed)], threads)
    passed: list[tuple[float, float, float]] = []
    # The snapshot at the end of the warm-up is over when the next second has passed.
    while batch.wait(2) < 1:
        at_s = batch.simulated_s()
        if at_s >= run["warmup_s"] + 1 and (not passed or at_s > passed[-1][0]):
            passed.append((at_s, time.process_time(), time.perf_counter()))
    passed.append((ended, time.process_time(), time.perf_counter()))
    (began, *first), (ended, *last) = passed[0], passed[-1]
    cpu_s, wall_s = ((after - before) / (ended - began) for before, after in zip(first, last, strict=True))
    tables = batch.take()
    import polars as pl  # noqa: PLC0415 -- not to count as memory of the run

    exchanges = pl.DataFrame(tables["bsss"])["exchanges"].sum() / run["duration_s"]
    return {"cpu_s": cpu_s, "wall_s": wall_s, "exchanges": exchanges, "bytes": peak_bytes() - empty}


def in_process(
    *, floors: int, load: float, seconds: int, threads: int, seed: int = SEEDS[0], idle: int | None = None
) -> dict[str, Any]:
    """As [`measured`], in a process for it alone."""
    command = [sys.executable, __file__, "--seconds", str(seconds), "--point", str(floors), str(load), str(threads)]
    command += ["--seed", str(seed)]
    command += [] if idle is None else ["--idle", str(idle)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def row(floors: int, load: float, seconds: int) -> tuple[str, ...]:
    """A row of the first table."""
    one = in_process(floors=floors, load=load, seconds=seconds, threads=1)
    on_two = [in_process(floors=floors, load=load, seconds=seconds, threads=2, seed=seed) for seed in SEEDS]
    us = 1e6 * one["cpu_s"] / one["exchanges"]
    sizes = (f"{20 * floors}", f"{20 * floors * STATIONS:,}", f"{load:g}")
    costs = (f"{one['exchanges']:,.0f}", f"{one['cpu_s']:.2f}", f"{us:.1f}")
    walls = ", ".join(f"{found['wall_s']:.2f}" for found in on_two)
    return (*sizes, *costs, walls, f"{max(found['bytes'] for found in (one, *on_two)) / 1e6:.0f}")


def row_of_idle(idle: int, seconds: int) -> tuple[str, ...]:
    """A row of the second table."""
    plan = plan_of(IDLE_FLOORS, 1.0, seconds, idle)
    received = json.loads(_native.received_powers(plan, {}))["received_dbm"]
    reached = sum(len(nodes) for nodes in received) / len(received)
    found = in_process(floors=IDLE_FLOORS, load=1.0, seconds=seconds, threads=1, idle=idle)
    us = 1e6 * found["cpu_s"] / found["exchanges"]
    flats = 20 * IDLE_FLOORS
    return (f"{flats * BUSY_STATIONS}", f"{flats * idle}", f"{reached:.0f}", f"{found['exchanges']:,.0f}", f"{us:.1f}")


def main() -> None:
    """Measures all points, or one and prints it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    parser.add_argument("--seconds", type=int, default=10, help="measured simulated seconds of each point")
    parser.add_argument(
        "--point", nargs=3, metavar=("FLOORS", "LOAD", "THREADS"), help="measure one point in this process"
    )
    parser.add_argument(
        "--idle", type=int, help="of the point: stations of each flat without flows, next to five with flows"
    )
    parser.add_argument("--seed", type=int, default=SEEDS[0], help="of the point")
    parser.add_argument("--plan", nargs=2, metavar=("FLOORS", "LOAD"), help="print the plan of a point")
    arguments = parser.parse_args()
    if arguments.plan:
        floors, load = arguments.plan
        print(plan_of(int(floors), float(load), arguments.seconds, arguments.idle))
        return
    if arguments.point:
        floors, load, threads = arguments.point
        plan = plan_of(int(floors), float(load), arguments.seconds, arguments.idle)
        json.dump(measured(plan, int(threads), arguments.seed), sys.stdout)
        return
    rows, of_idle = [], []
    for floors, load in POINTS:
        rows.append(row(floors, load, arguments.seconds))
        print(rows[-1], flush=True)
    for idle in IDLE_STATIONS:
        of_idle.append(row_of_idle(idle, arguments.seconds))
        print(of_idle[-1], flush=True)
    texts = {MARKS: table(HEADINGS, rows), MARKS_OF_IDLE: table(HEADINGS_OF_IDLE, of_idle)}
    for marks, text in texts.items():
        print(text)
        if arguments.page:
            marks.write(arguments.page, text)


if __name__ == "__main__":
    main()
