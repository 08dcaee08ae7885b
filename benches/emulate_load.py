"""Real hosts under full load: the engine's memory over time, lateness, and what is left at the end.

    .venv/bin/python benches/emulate_load.py [--cell 802.11b|HE80] [--duration-s 600] [--scheme NAME] [--spin-us X]

802.11b has ten uploads and ten downloads, a station each; HE80 a download and an upload of more than 100 Mbps together. As root the
engine runs under SCHED_FIFO.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from emulate import he, hr
from wifair.emulate import replay, runs
from wifair.emulate.session import Settings
from wifair.scenario.scenario import Scenario

EVERY_S = 30


def engine_of(title: str) -> int:
    """Process 1 of the run with this title."""
    [run] = [run for run in runs.running() if run.title == title]
    return int(Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text(encoding="utf-8").split()[0])


def main() -> None:
    """Runs it and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cell", choices=("802.11b", "HE80"), default="802.11b")
    parser.add_argument("--duration-s", type=float, default=600)
    parser.add_argument("--scheme", default="droptail")
    parser.add_argument("--spin-us", type=float, default=0)
    given = parser.parse_args()
    cell = hr(10, "cubic", given.scheme) if given.cell == "802.11b" else he(1, "cubic", given.scheme)
    cell["run"] = {"warmup_s": 5, "duration_s": given.duration_s}
    title = f"load {os.getpid()}"
    settings = Settings(Scenario(**cell).plan(), title, [], realtime=os.geteuid() == 0, spin_us=given.spin_us)
    sizes: list[float] = []

    def each_second(at_s: float) -> None:
        if at_s >= 5 + EVERY_S * len(sizes):
            pages = int(Path(f"/proc/{engine_of(title)}/statm").read_text(encoding="utf-8").split()[1])
            sizes.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)

    outcome = replay.emulated(settings, 1, each_second)
    lateness = outcome.report["lateness"]
    print(f"memory of the engine, every {EVERY_S} s: {', '.join(f'{size:.1f}' for size in sizes)} MB")
    print(
        f"{lateness['exchanges']} exchanges, {lateness['late'] / lateness['exchanges']:.2%} over 1 ms late; median "
        f"{lateness['p50_us']:.0f} µs, 99 % {lateness['p99_us']:.0f} µs; valid: {lateness['valid']}"
    )
    print(
        f"{replay.of_kernel(settings.plan, outcome)}; the engine used {outcome.report['processor_share']:.0%} of a processor"
    )
    left = [run.folder.name for run in runs.running() if run.title == title]
    print(f"runs left: {', '.join(left) or 'none'}")


if __name__ == "__main__":
    main()
