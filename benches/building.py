"""What a building costs: seconds of the processor per simulated second, and memory, by its size and load.

`python benches/building.py --page docs/neighbours.md` writes the table of that page. Each point is a separate process, which simulates a
warm-up and then the measured seconds of the residential building of TGax: 20 flats of ten stations per floor on three channels of 80 MHz.
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
WARMUP_S = 2
# Floors and load.
POINTS = ((1, 1.0), (3, 1.0), (5, 1.0), (5, 2.0))
HEADINGS = (
    "flats",
    "stations",
    "load",
    "exchanges per simulated s",
    "CPU s per simulated s",
    "µs per exchange",
    "memory, MB",
)


def measured(floors: int, load: float, duration_s: int) -> dict[str, Any]:
    """A building in this process: the cost of its measured seconds."""
    building = {"model": "tgax-residential", "floors": floors, "load": load}
    run = {"warmup_s": WARMUP_S, "duration_s": duration_s, "record_transfers": False}
    plan = Scenario(run=run, building=building).plan_json
    empty = peak_bytes()
    at_ms = 0
    passed: dict[int, float] = {}

    def watch(ms: int) -> None:
        nonlocal at_ms
        at_ms += ms
        passed[at_ms // 1000] = time.process_time()

    tables = _native.replicate(plan, 1, 0, {}, watch)
    ended = WARMUP_S + duration_s
    # The snapshot at the end of the warm-up is over when the next second has passed.
    cpu_s = (passed[ended] - passed[WARMUP_S + 1]) / (duration_s - 1)
    import polars as pl  # noqa: PLC0415 -- not to count as memory of the run

    exchanges = pl.DataFrame(tables["bsss"])["exchanges"].sum() / duration_s
    found = {"flats": 20 * floors, "load": load, "cpu_s": cpu_s, "exchanges": exchanges, "bytes": peak_bytes() - empty}
    return {**found, "build_and_run_s": time.process_time()}


def row(found: dict[str, Any]) -> tuple[str, ...]:
    """A row of the table."""
    flats, cpu_s, exchanges = found["flats"], found["cpu_s"], found["exchanges"]
    us = 1e6 * cpu_s / exchanges
    sizes = (f"{flats}", f"{10 * flats:,}", f"{found['load']:g}")
    return (*sizes, f"{exchanges:,.0f}", f"{cpu_s:.2f}", f"{us:.0f}", f"{found['bytes'] / 1e6:.0f}")


def main() -> None:
    """Measures all points, or one and prints it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="write the table into this page")
    parser.add_argument("--seconds", type=int, default=5, help="measured simulated seconds of each point")
    parser.add_argument("--point", nargs=2, metavar=("FLOORS", "LOAD"), help="measure one point in this process")
    arguments = parser.parse_args()
    if arguments.point:
        floors, load = arguments.point
        json.dump(measured(int(floors), float(load), arguments.seconds), sys.stdout)
        return
    rows = []
    for floors, load in POINTS:
        command = [sys.executable, __file__, "--seconds", str(arguments.seconds), "--point", str(floors), str(load)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rows.append(row(json.loads(done.stdout)))
        print(rows[-1], flush=True)
    text = table(HEADINGS, rows)
    print(text)
    if arguments.page:
        MARKS.write(arguments.page, text)


if __name__ == "__main__":
    main()
