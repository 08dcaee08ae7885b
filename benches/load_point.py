"""One point of `load.py` in a separate process: runs the plan on standard input and prints its cost.

Only the engine is loaded during the measurement, so memory above that of the empty process is the plan's.
"""

import json
import resource
import sys
import time
from pathlib import Path

from wifair import _native

STATUS = Path("/proc/self/status")


def peak_bytes() -> int:
    """The most memory that this process has had. `ru_maxrss` would count what the parent had when it began this one."""
    if STATUS.exists():
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    """Prints JSON: seconds of the processor and bytes above the empty process, by stage; the tables' rows; the exchanges."""
    warmup_s, duration_s = (float(argument) for argument in sys.argv[1:3])
    # The snapshot at the end of the warm-up is no part of running: it is over when the next second has passed.
    stages_ms = 0, int(1e3 * (warmup_s + 1)), int(1e3 * (warmup_s + duration_s))
    empty = peak_bytes()
    plan = sys.stdin.read()
    at_ms = 0
    passed: list[tuple[float, int]] = []  # built, warmed up, ended
    began = time.process_time()

    def watch(ms: int) -> None:
        nonlocal at_ms
        at_ms += ms
        while len(passed) < 3 and at_ms >= stages_ms[len(passed)]:
            passed.append((time.process_time(), peak_bytes() - empty))

    tables = _native.replicate(plan, 1, 0, {}, watch)
    passed.append((time.process_time(), peak_bytes() - empty))
    built, settled, ended, told = passed
    found = {
        "build_s": built[0] - began,
        "run_s": ended[0] - settled[0],
        "built_bytes": built[1],
        "ended_bytes": ended[1],
        "told_bytes": told[1],
    }
    if "--instructions" not in sys.argv:  # counted ones are not to contain what reads the tables
        import polars as pl  # noqa: PLC0415

        frames = {name: pl.DataFrame(table) for name, table in tables.items()}
        queue = frames["queues"].filter((pl.col("node") == "ap") & (pl.col("class") == "all"))
        found["exchanges"] = frames["runs"]["exchanges"].item()
        found["run_exchanges"] = found["exchanges"] * (1 - 1 / duration_s)
        found["queued"] = queue["length_mean_packets"].item()
        found["rows"] = {name: frame.height for name, frame in frames.items()}
        found["transfers"] = 0
        if "transfer_groups" in frames:  # there are no empty tables
            groups = frames["transfer_groups"].filter(pl.col("bytes").is_null())
            found["transfers"] = groups["completed"].sum() + groups["timed_out"].sum()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
