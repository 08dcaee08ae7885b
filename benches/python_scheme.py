"""The cost of a scheme in Python: the adaptive pushout of `examples/` against the engine's own, in the same cell, in turn.

Simulated seconds per second of processor time, with 802.11b and with 802.11ax; the best round of each counts. Tail drop shows the cost of a call per
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
# Warm-up and measurement in seconds: an 802.11ax cell carries many more packets per second.
TIMES_S = {"802.11b": (50, 250), "802.11ax": (5, 45)}


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
        if buffer.release_head():
            return
        for packet in buffer:  # an A-MPDU gathers a station's packets from behind the head
            if buffer.may_go(packet):
                buffer.release(packet)
                return


def cell(scheme: str | type[Scheme], phy: str) -> Scenario:
    """Ten flows up and ten down: with 802.11b at 11 Mbps the symmetric cell of `adaptive-pushout`."""
    flows = [{"count": 10, "direction": "up"}, {"count": 10, "direction": "down"}]
    warmup_s, duration_s = TIMES_S[phy]
    run = {"warmup_s": warmup_s, "duration_s": duration_s}
    return Scenario(phy={"name": phy}, ap={"scheme": scheme}, flows=flows, run=run)


def main() -> None:
    """Prints a line per PHY and scheme, with the ratio to Rust."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    schemes: dict[str, str | type[Scheme]] = {
        "adaptive pushout, Rust": "adaptive-pushout",
        "adaptive pushout, Python": load(f"{EXAMPLE}:AdaptivePushout"),
        "tail drop, Rust": "droptail",
        "tail drop, Python": TailDrop,
        "tail drop, Python, departures too": TailDropAsked,
    }
    cells = {(phy, name): cell(scheme, phy) for phy in TIMES_S for name, scheme in schemes.items()}
    best = dict.fromkeys(cells, float("inf"))
    hashes: dict[tuple[str, str], set[int]] = {}
    for _ in range(asked.rounds):
        for (phy, name), scenario in cells.items():
            began = time.process_time()
            hashes.setdefault((phy, name.partition(",")[0]), set()).add(scenario.fingerprint(seed=1))
            best[phy, name] = min(best[phy, name], time.process_time() - began)
    for (phy, name), took in best.items():
        speed = sum(TIMES_S[phy]) / took
        ratio = took / best[phy, f"{name.partition(',')[0]}, Rust"]
        print(f"{phy:8}  {name:34} {speed:9,.0f} simulated s a CPU s, {ratio:.1f} times the time of Rust")
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    if any(len(different) > 1 for different in hashes.values()):
        raise SystemExit("the trajectories differ")


if __name__ == "__main__":
    main()
