"""The cost of a scheme in Python: the adaptive pushout of `examples/` against the engine's own, in the same cell, in turn.

Simulated seconds per second of processor time; the best round of each counts. Tail drop shows the cost of a call per
packet. The same scheme gives the same trajectory in both languages, which is checked.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from wifair import Scenario
from wifair.scheme import Buffer, Context, Grant, Packet, Scheme
from wifair.scheme.python import load

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "adaptive_pushout.py"
WARMUP_S, DURATION_S = 50, 250


class TailDrop(Scheme):
    """Asked for each arrival."""

    def enqueue(self, arrival: Packet, buffer: Buffer, cx: Context) -> None:
        if buffer.is_full:
            buffer.refuse(arrival)
        else:
            buffer.append(arrival)


class TailDropAsked(TailDrop):
    """Asked for each departure, too."""

    def dequeue(self, grant: Grant, buffer: Buffer, cx: Context) -> None:
        buffer.release_head()


def cell(scheme: str | type[Scheme]) -> Scenario:
    """Ten flows up and ten down at 11 Mbps, the symmetric cell of `adaptive-pushout`."""
    flows = [{"count": 10, "direction": "up"}, {"count": 10, "direction": "down"}]
    return Scenario(ap={"scheme": scheme}, flows=flows, run={"warmup_s": WARMUP_S, "duration_s": DURATION_S})


def main() -> None:
    """Prints a line per scheme, then the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    cells = {
        "adaptive pushout, Rust": cell("adaptive-pushout"),
        "adaptive pushout, Python": cell(load(f"{EXAMPLE}:AdaptivePushout")),
        "tail drop, Rust": cell("droptail"),
        "tail drop, Python": cell(TailDrop),
        "tail drop, Python, departures too": cell(TailDropAsked),
    }
    best = dict.fromkeys(cells, float("inf"))
    hashes: dict[str, set[int]] = {}
    for _ in range(asked.rounds):
        for name, scenario in cells.items():
            began = time.process_time()
            hashes.setdefault(name.partition(",")[0], set()).add(scenario.fingerprint(seed=1))
            best[name] = min(best[name], time.process_time() - began)
    for name, took in best.items():
        speed = (WARMUP_S + DURATION_S) / took
        ratio = took / best[f"{name.partition(',')[0]}, Rust"]
        print(f"{name:34} {speed:9,.0f} simulated s a CPU s, {ratio:.1f} times the time of Rust")
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    if any(len(different) > 1 for different in hashes.values()):
        raise SystemExit("the trajectories differ")


if __name__ == "__main__":
    main()
