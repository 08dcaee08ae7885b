"""How long flows pause, by application, as a dump per second shows it: what `import` tells documents from bulk data by.

    .venv/bin/python benches/pauses.py [--page docs/import.md]

The networks are those of the closed loop: of the gallery, and drawn ones of the seeds `SEEDS`. Each runs once, as its access point shows it (`run --as-ap`). The share
of the minute without data is that of a direction of a station whose flows there all have one application. Calls and games are told by their packets.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from closed_loop import DRAWN_ALONE, GALLERY, SHOWN, drawn
from wifair.markdown import Marks, table
from wifair.observed import loads, observe
from wifair.observed.as_ap import STATION, sampled, write
from wifair.observed.calibration import NEIGHBOURS
from wifair.scenario.scenario import Scenario

MARKS = Marks("pauses", "benches/pauses.py")
SEEDS = (7, 8, 9, 10)
HEADS = (
    "application",
    "directions",
    "median share of the time without data",
    f"of {loads.IDLE_SHARE * 100:.0f} % or more",
)


def pauses(scenario: Scenario) -> dict[str, list[float]]:
    """The shares of the time without data, by application."""
    with tempfile.TemporaryDirectory() as folder:
        write(sampled(scenario).run(seeds=[SHOWN[0]]), folder)
        seen = observe([Path(folder) / f"seed-{SHOWN[0]}" / STATION])
    plan = scenario.plan()
    labels = [each["label"] for each in plan["bss"]["stations"] if each["label"] != NEIGHBOURS]
    applications = defaultdict(set)
    for flow in plan["flows"]:
        applications[flow["station"], flow["direction"]].add(flow["application"]["name"])
    found: dict[str, list[float]] = {}
    for label, station in zip(labels, seen.stations.values(), strict=True):
        for load in loads.of_station(station):
            names = applications[label, load.direction]
            if load.pauses and not load.is_call and len(names) == 1:
                found.setdefault(*names, []).append(load.pauses.share)  # type: ignore[call-overload]
    return found


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    every: dict[str, list[float]] = defaultdict(list)
    for network in [*GALLERY, *(each for seed in SEEDS for each in drawn(seed, DRAWN_ALONE))]:
        for name, shares in pauses(network.scenario()).items():
            every[name] += shares
    rows = [
        (
            f"`{name}`",
            f"{len(shares)}",
            f"{np.median(shares):.2f}",
            f"{sum(each >= loads.IDLE_SHARE for each in shares)}",
        )
        for name, shares in sorted(every.items())
    ]
    made = table(HEADS, rows)
    print(made)
    if given.page:
        MARKS.write(given.page, made)


if __name__ == "__main__":
    main()
