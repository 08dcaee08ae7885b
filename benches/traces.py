"""What traces cost: processor time a captured frame, and a row of the log of events, without the disk.

The same replication without and with each; the files lie in memory (/dev/shm). Processor time of the process, the best round
of each. The share of the capture that is the watching of the cell rather than the writing is in it.
"""

import argparse
import struct
import tempfile
import time
from pathlib import Path

import polars as pl
from wifair import Scenario, Traces

FLOWS = [{"count": 10, "direction": "up"}, {"count": 10, "direction": "down"}]


def packets(capture: Path) -> int:
    """Packets in a pcapng file: blocks of type 6."""
    content = capture.read_bytes()
    at = count = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        count += kind == 6
        at += length
    return count


def main() -> None:
    """Prints a line per kind of trace."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--duration-s", type=float, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    scenario = Scenario(flows=FLOWS, run={"warmup_s": 0, "duration_s": asked.duration_s})
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        kinds = {
            "nothing": None,
            "headers": Traces(folder / "headers"),
            "full frames": Traces(folder / "full frames", full_frames=True),
            "events": Traces(events=folder / "events"),
        }
        best: dict[str, float] = {}
        for _ in range(asked.rounds):
            for kind, traces in kinds.items():
                began = time.process_time()
                scenario.run([1], threads=1, traces=traces)
                best[kind] = min(best.get(kind, 1e9), time.process_time() - began)
        print(f"without traces: {best['nothing']:.2f} s of processor time")
        for kind in ("headers", "full frames"):
            found = sum(packets(path) for path in (folder / kind / "seed-1").glob("*.pcapng"))
            cost = (best[kind] - best["nothing"]) / found
            print(f"captures, {kind}: {found} packets, {cost * 1e6:.2f} µs each")
        rows = pl.scan_parquet(folder / "events" / "seed-1" / "events" / "*.parquet").select(pl.len()).collect().item()
        cost = (best["events"] - best["nothing"]) / rows
        print(f"log of events: {rows} rows, {cost * 1e6:.2f} µs each, in Parquet")


if __name__ == "__main__":
    main()
