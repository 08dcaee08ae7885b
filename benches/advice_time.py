"""How long it takes from what an access point shows to advice: the café with thirty stations, three commands.

    .venv/bin/python benches/advice_time.py [--times N] [--page docs/advise.md]

`wifair run --as-ap` writes what the access point shows, once as it is and once with a load of other networks. The three commands are those of the page, each a
process with an empty store. Wall time depends on what else the machine does: the load average is printed as well.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from closed_loop import NETWORKS
from wifair import Scenario, load
from wifair.markdown import Marks, table
from wifair.observed.as_ap import INFO, STATION, SURVEY, sampled, write

MARKS = Marks("advice-time", "benches/advice_time.py")
WIFAIR = Path(sys.executable).parent / "wifair"
SEED = 1
THIRTY = {"stations[0].count": 18, "stations[1].count": 12, "flows[0].count": 16, "flows[1].count": 8}


def networks() -> dict[str, Scenario]:
    """The café with thirty stations: that of the page, and that of the closed loop, which has Linux at the access point and other networks."""
    return {
        "`cafe` with 30 stations": load("cafe").override(THIRTY),
        "the same with `mac80211` and other networks": NETWORKS[1].scenario(),
    }


def timed(words: Sequence[str]) -> tuple[float, float]:
    """Wall time and processor time of a command in seconds."""
    # A first use compiles the modules, a later one finds them compiled.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([WIFAIR, *words], check=True, capture_output=True, env=kept)
    wall_s, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def commands(shown: Path, folder: Path) -> dict[str, list[str]]:
    """The three commands by name."""
    mine, store = str(folder / "mine.toml"), str(folder / "store")
    goals = ["--want", "calls below 100 ms", "--want", "fair shares"]
    files = [str(shown / name) for name in (STATION, SURVEY, INFO)]
    measured = [word for file in files for word in ("--measured", file)]
    return {
        "import": ["import", *files, "--out", mine],
        "explain": ["explain", mine, *measured, "--store", store],
        "advise": ["advise", mine, *goals, "--out", str(folder / "advice.json"), "--store", store],
    }


def main() -> None:
    """Runs the commands, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=1, help="how often; the longest wall time counts")
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    timed(["--help"])
    rows, loads = [], []
    for name, scenario in networks().items():
        worst: tuple[float, list[tuple[float, float]]] = (0.0, [])
        for _ in range(given.times):
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                write(sampled(scenario).run(seeds=[SEED]), folder / "ap")
                loads.append(os.getloadavg()[0])
                spent = []
                for command, words in commands(folder / "ap" / f"seed-{SEED}", folder).items():
                    spent.append(timed(words))
                    print(f"{name}: {command}: {spent[-1][0]:.1f} s, {spent[-1][1]:.1f} s CPU", flush=True)
                loads.append(os.getloadavg()[0])
            worst = max(worst, (sum(wall_s for wall_s, _ in spent), spent))
        cells = [f"{wall_s:.1f} s" for wall_s, _ in worst[1]]
        rows.append((name, *cells, f"{worst[0]:.0f} s", f"{sum(cpu_s for _, cpu_s in worst[1]):.0f} s"))
    heads = ("network", "import", "explain", "advise", "all, wall time", "all, processor time")
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    about = f"Wall time on {processors} processors with a load average of {min(loads):.1f} to {max(loads):.1f}"
    many = f"; the longest of {given.times} times" if given.times > 1 else ""
    made = f"{table(heads, rows)}\n\n{about}{many}."
    print(made)
    if given.page:
        MARKS.write(given.page, made)


if __name__ == "__main__":
    main()
