"""Runs the cells of ns-2 that the tests hold the dialect against, and writes what came of them.

    python benches/peers/reference.py FOLDER [SEEDS]        (FOLDER: tests/data; SEEDS: 6)

`ns2-transfers.csv`: downloads of 10 packets beside downloads of 1,000, half of the hosts each: how many transfers ended, the mean of
their seconds from the first packet to the last ACK, and its coefficient of variation. Nobody captures, because in ns-2 bystanders
capture, too, and in wifair only the addressee does. `ns2-window-20.csv`: five uplink and five
downlink bulk flows with a window of 20, kbps of payload and Jain's index.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from statistics import mean, stdev
from typing import Any

CELL = Path(__file__).parent / "ns2_cell.tcl"
# The agents and settings of `spm-af-las`, Sections 5.1 and 5.2.
PAPER = {"agent": "Newreno", "delayed_ack": 1, "window": 20}
NO_CAPTURE = {"capture_db": 90}
HOSTS = (10, 20)
BUFFERS = (10, 30, 50, 70, 90, 110, 150)


def ns2(**options: Any) -> dict[str, Any]:
    """What a run of the cell prints."""
    words = [str(word) for pair in {**PAPER, **options}.items() for word in pair]
    run = subprocess.run(["ns", str(CELL), *words], capture_output=True, text=True, check=True)
    (line,) = (line for line in run.stdout.splitlines() if line.startswith("{"))
    found: dict[str, Any] = json.loads(line)
    return found


def transfers(hosts: int, seed: int) -> list[Any]:
    """A row of `ns2-transfers.csv`."""
    found = ns2(up=0, down=hosts, ap_queue=50, short=10, long=1000, warmup_s=0, measured_s=150, seed=seed, **NO_CAPTURE)
    row: list[Any] = [hosts, seed]
    for seconds in (found["short_s"], found["long_s"]):
        row += [len(seconds), f"{mean(seconds):.5f}", f"{stdev(seconds) / mean(seconds):.5f}"]
    return row


def bulk(buffer: int, seed: int) -> list[Any]:
    """A row of `ns2-window-20.csv`."""
    found = ns2(up=5, down=5, ap_queue=buffer, warmup_s=20, measured_s=280, seed=seed)
    up, down = found["up_kbps"], found["down_kbps"]
    both = [*up, *down]
    jain = sum(both) ** 2 / len(both) / sum(rate**2 for rate in both)
    return [buffer, seed, f"{sum(up):.1f}", f"{sum(down):.1f}", f"{jain:.4f}"]


def main(folder: Path, seeds: int) -> None:
    """Writes both files."""
    for name, head, columns, row, cells in (
        (
            "ns2-transfers.csv",
            "ns2_cell.tcl up 0 down HOSTS ap_queue 50 short 10 long 1000 warmup_s 0 measured_s 150 capture_db 90",
            "hosts,seed,short_transfers,short_mean_s,short_cov,long_transfers,long_mean_s,long_cov",
            transfers,
            HOSTS,
        ),
        (
            "ns2-window-20.csv",
            "ns2_cell.tcl up 5 down 5 ap_queue BUFFER warmup_s 20 measured_s 280",
            "buffer,seed,up_kbps,down_kbps,jain",
            bulk,
            BUFFERS,
        ),
    ):
        with (folder / name).open("w", newline="") as file:
            file.write(
                f"# ns-2.35, {head} agent Newreno delayed_ack 1 window 20, by benches/peers/reference.py.\n{columns}\n"
            )
            csv.writer(file, lineterminator="\n").writerows(row(cell, s) for cell in cells for s in range(1, seeds + 1))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 6)
