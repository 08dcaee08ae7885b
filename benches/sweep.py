"""The overhead of a sweep: two threads against one, and with the store against without.

The three in turn, so that a machine that slows down does so for all; the best round of each counts. Says how busy the machine
was: with other work beside it the wall times mean little, and the processor times of the process and of its main thread, which
has everything but the simulations, tell more.
"""

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path

from wifair import Sweep


def sweep(replications: int) -> Sweep:
    """A grid of the symmetric cell: `replications` seeds of eight cells, 750 simulated seconds each."""
    flows = [{"count": 10, "direction": "up"}, {"count": 10, "direction": "down"}]
    return Sweep(
        {"flows": flows},
        title="bench",
        product={
            "ap.scheme": ["droptail", "adaptive-pushout"],
            "ap.limit_packets": [20, 50, 100, 200],
        },
        replications=replications,
    )


def timed(made: Sweep, threads: int, store: Path | None) -> tuple[float, float, float]:
    """Seconds of the sweep: wall, processor, processor in the main thread."""
    began = time.perf_counter(), time.process_time(), time.thread_time()
    made.run(threads, store=store)
    wall, cpu, main = time.perf_counter() - began[0], time.process_time() - began[1], time.thread_time() - began[2]
    return wall, cpu, main


def main() -> None:
    """Prints one line per measurement, then the two ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=90)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    made = sweep(asked.replications)
    folder = Path(tempfile.mkdtemp())
    best: dict[str, tuple[float, float, float]] = {}
    for number in range(asked.rounds):
        for name, threads, stored in (
            ("1 thread", 1, False),
            ("1 thread, store", 1, True),
            ("2 threads, store", 2, True),
        ):
            found = timed(made, threads, folder / f"{name}-{number}" if stored else None)
            told = f"{found[0]:7.2f} s wall {found[1]:7.2f} s CPU {found[2]:6.2f} s in the main thread"
            print(f"{name:18} {told}   load {os.getloadavg()[0]:.1f}", flush=True)
            best[name] = min(best.get(name, found), found)
    shutil.rmtree(folder)
    plain, stored, two = (best[name] for name in ("1 thread", "1 thread, store", "2 threads, store"))
    print(f"two threads, with the store: {stored[0] / two[0]:.3f} times the speed of one")
    print(f"overhead of the store: {stored[0] / plain[0] - 1:.2%} wall, {stored[1] / plain[1] - 1:.2%} CPU")
    bound = 2 / (1 + two[2] / two[1])
    print(f"by the main thread's share alone, two threads could be {bound:.3f} times as fast as one")


if __name__ == "__main__":
    main()
