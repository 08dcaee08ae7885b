"""What a building costs: seconds per simulated second on one thread and on two, and memory, by its size and load; and by idle stations.

`python benches/building.py --page docs/neighbours.md` writes the tables of that page and draws its figure. Each point is a separate process, which simulates a
warm-up and then the measured seconds of the residential building of TGax: 20 flats per floor on three channels of 80 MHz.
`python benches/building.py --plan FLOORS LOAD` prints the plan of a point, which the example `building` of `wifair-sim` runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from load_point import peak_bytes
from wifair import Scenario, _native
from wifair.markdown import Marks, table
from wifair.stats import plus_minus

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
# Floors of the building with idle stations, and by line of the figure: how many stations of each flat have flows, and how many
# none. Five are of the five kinds, and further ones of the last.
IDLE_FLOORS = 3
LINES = {
    "all have flows": ((5, 0), (10, 0), (15, 0)),
    "5 per flat have flows": ((5, 0), (5, 5), (5, 10)),
}
# Runs of each of these points, in turn, so that a machine that is slower for a while is so for all.
REPEATED = 5
FIGURE = "building-cost"
HEADINGS_OF_IDLE = (
    "stations with flows",
    "idle stations",
    "nodes that a frame reaches",
    "exchanges per simulated s",
    "µs per exchange",
)


def plan_of(floors: int, load: float, duration_s: int, busy: int = STATIONS, idle: int = 0) -> str:
    """The plan of a building in which so many stations of each flat have flows, and so many further ones none."""
    building = {"model": "tgax-residential", "floors": floors, "load": load, "stations": busy + idle}
    run = {"warmup_s": WARMUP_S, "duration_s": duration_s, "record_transfers": False}
    plan = Scenario(run=run, building=building).plan_json
    if not idle:
        return plan
    spec = json.loads(plan)
    bsss = [spec["bss"], *spec["neighbours"]]
    with_flows = {station["label"] for bss in bsss for station in bss["stations"][:busy]}
    spec["flows"] = [flow for flow in spec["flows"] if flow["station"] in with_flows]
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
    *, floors: int, load: float, seconds: int, threads: int, seed: int = SEEDS[0], busy: int = STATIONS, idle: int = 0
) -> dict[str, Any]:
    """As [`measured`], in a process for it alone."""
    command = [sys.executable, __file__, "--seconds", str(seconds), "--point", str(floors), str(load), str(threads)]
    command += ["--seed", str(seed), "--busy", str(busy), "--idle", str(idle)]
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


@dataclass(frozen=True)
class WithIdle:
    """What the building with idle stations costs: nodes that a frame reaches, exchanges per simulated second, µs per exchange by run."""

    busy: int
    idle: int
    reached: float
    exchanges: float
    us: Sequence[float]

    def row(self) -> tuple[str, ...]:
        """Its row of the second table."""
        flats = 20 * IDLE_FLOORS
        sizes = (f"{flats * self.busy:,}", f"{flats * self.idle:,}", f"{self.reached:.0f}")
        return (*sizes, f"{self.exchanges:,.0f}", plus_minus(self.us, 1))


def with_idle(points: Iterable[tuple[int, int]], seconds: int) -> dict[tuple[int, int], WithIdle]:
    """Measures the points of the second table."""
    costs: dict[tuple[int, int], list[float]] = {point: [] for point in points}
    exchanges: dict[tuple[int, int], float] = {}
    for number in range(1, REPEATED + 1):
        for (busy, idle), us in costs.items():
            run = in_process(floors=IDLE_FLOORS, load=1.0, seconds=seconds, threads=1, busy=busy, idle=idle)
            exchanges[busy, idle] = run["exchanges"]
            us.append(1e6 * run["cpu_s"] / run["exchanges"])
        print(f"idle stations: {number} of {REPEATED} rounds", flush=True)
    found = {}
    for (busy, idle), us in costs.items():
        received = json.loads(_native.received_powers(plan_of(IDLE_FLOORS, 1.0, seconds, busy, idle), {}))
        reached = [len(nodes) for nodes in received["received_dbm"]]
        found[busy, idle] = WithIdle(busy, idle, sum(reached) / len(reached), exchanges[busy, idle], us)
    return found


def drawn(points: Mapping[tuple[int, int], WithIdle], folder: Path) -> None:
    """Draws what an exchange costs by the nodes that a frame reaches."""
    from wifair import plots  # noqa: PLC0415 -- not to count as memory of a run

    made, [axes] = plots.figure()
    every = sorted({point.reached for point in points.values()})
    for i, (name, of_line) in enumerate(LINES.items()):
        at = [points[point] for point in of_line]
        plots.lines(
            axes,
            [point.reached for point in at],
            {name: [point.us for point in at]},
            x_label="nodes that a frame reaches",
            y_label="CPU time per exchange, µs",
            styles={name: plots.STYLES[i]},
        )
    axes.set_xticks(every, [f"{x:.0f}" for x in every])
    plots.save(made, folder, FIGURE)


def main() -> None:
    """Measures all points, or one and prints it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    parser.add_argument("--seconds", type=int, default=10, help="measured simulated seconds of each point")
    parser.add_argument(
        "--point", nargs=3, metavar=("FLOORS", "LOAD", "THREADS"), help="measure one point in this process"
    )
    parser.add_argument("--busy", type=int, default=STATIONS, help="of the point: stations of each flat with flows")
    parser.add_argument("--idle", type=int, default=0, help="of the point: stations of each flat without flows")
    parser.add_argument("--seed", type=int, default=SEEDS[0], help="of the point")
    parser.add_argument("--plan", nargs=2, metavar=("FLOORS", "LOAD"), help="print the plan of a point")
    arguments = parser.parse_args()
    if arguments.plan:
        floors, load = arguments.plan
        print(plan_of(int(floors), float(load), arguments.seconds, arguments.busy, arguments.idle))
        return
    if arguments.point:
        floors, load, threads = arguments.point
        plan = plan_of(int(floors), float(load), arguments.seconds, arguments.busy, arguments.idle)
        json.dump(measured(plan, int(threads), arguments.seed), sys.stdout)
        return
    rows = []
    for floors, load in POINTS:
        rows.append(row(floors, load, arguments.seconds))
        print(rows[-1], flush=True)
    points = dict.fromkeys(point for of_line in LINES.values() for point in of_line)
    of_idle = with_idle(points, arguments.seconds)
    texts = {
        MARKS: table(HEADINGS, rows),
        MARKS_OF_IDLE: table(HEADINGS_OF_IDLE, [point.row() for point in of_idle.values()]),
    }
    if arguments.page:
        drawn(of_idle, arguments.page.parent / "images")
    for marks, text in texts.items():
        print(text)
        if arguments.page:
            marks.write(arguments.page, text)


if __name__ == "__main__":
    main()
