"""The kernel's TCP against the simulator's, cell by cell: the table of docs/emulate.md.

    .venv/bin/python benches/emulate.py [--only TEXT] [--runs N] [--parallel N] [--late-share X]
        [--route KEY=VALUE] [--simulate KEY=VALUE] [--page docs/emulate.md] --keep FILE.json

Each cell is emulated and simulated with the same scenario. Finished runs are kept in the file and not repeated. A run that is invalid
(more than 1 % of its exchanges over 1 ms late) is repeated with another seed, at most twice per wanted run.
"""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from wifair.emulate import replay
from wifair.emulate.kept import Kept
from wifair.emulate.session import Settings
from wifair.markdown import Marks, table
from wifair.scenario.overrides import parse_assignments
from wifair.scenario.scenario import Scenario

MARKS = Marks("kernel", "benches/emulate.py")
SCHEMES = ("droptail", "adaptive-pushout", "mac80211")
SIMULATED = 20


def hr(count: int, control: str, scheme: str) -> dict[str, Any]:
    """802.11b: `count` uploads and `count` downloads, each with its own station."""
    return {
        "title": f"802.11b, {count} + {count}, {control}, {scheme}",
        "run": {"warmup_s": 20, "duration_s": 60},
        "phy": {"name": "802.11b"},
        "ap": {"scheme": scheme, "limit_packets": 100},
        "wire": {"one_way_delay_ms": 10, "rate_mbps": 100},
        "tcp": {"profile": "today", "congestion_control": control, "receiver_window_segments": 44},
        "flows": [{"count": count, "direction": way, "start_spread_s": 2} for way in ("up", "down")],
    }


def he(count: int, control: str, scheme: str) -> dict[str, Any]:
    """HE, 80 MHz, MCS 3, one stream: the air is the bottleneck of a wire of 1 Gbit/s."""
    return hr(count, control, scheme) | {
        "title": f"HE80 MCS 3, {count} + {count}, {control}, {scheme}",
        "run": {"warmup_s": 20, "duration_s": 30},
        "phy": {"name": "802.11ax", "width_mhz": 80, "streams": 1},
        "mac": {"edca": {}},
        "ap": {"scheme": scheme, "limit_packets": 1000},
        "wire": {"one_way_delay_ms": 10, "rate_mbps": 1000},
        "tcp": {"profile": "today", "congestion_control": control},
        "station": {"mcs": 3, "tx_queue": {"limit_packets": 1000}},
    }


CELLS = [
    *(hr(count, control, scheme) for count in (1, 5, 10) for control in ("reno", "cubic") for scheme in SCHEMES),
    *(he(count, control, scheme) for count in (1, 5, 10) for control in ("reno", "cubic") for scheme in SCHEMES),
]


def emulate(cell: dict[str, Any], wanted: int, kept: Kept, late_share: float, route: dict[str, str]) -> None:
    """Runs the missing runs of a cell, with these metrics of the hosts' routes."""
    plan = Scenario(**cell).plan()
    while len(kept.valid(cell["title"])) < wanted and len(kept.of(cell["title"])) < 3 * wanted:
        seed = len(kept.of(cell["title"])) + 1
        settings = Settings(plan, cell["title"], [], realtime=os.geteuid() == 0, late_share=late_share, route=route)
        outcome = replay.emulated(settings, seed)
        lateness = outcome.report["lateness"]
        figures = replay.of_kernel(plan, outcome)
        kept.add(
            cell["title"], figures | {key: lateness[key] for key in ("valid", "p50_us", "p99_us", "exchanges", "late")}
        )
        print(
            f"{cell['title']}: run {seed}, {figures}, 99 % {lateness['p99_us']:.0f} µs, valid {lateness['valid']}",
            flush=True,
        )


def row(cell: dict[str, Any], kept: Kept, also: dict[str, Any]) -> list[str]:
    """The line of a cell, from its valid runs; `also` changes the simulation."""
    valid = kept.valid(cell["title"])
    if len(valid) < 2:
        return []
    metrics = Scenario(**cell).override(also).run(SIMULATED).metrics
    simulated = {metric: metrics[metric].to_list() for metric in replay.METRICS}
    found = {compared.metric: compared for compared in replay.compared(valid, simulated)}
    parts = cell["title"].rsplit(", ", 3)
    for metric in ("up_mbps", "down_mbps"):
        one = found[metric]
        parts += [one.emulated.short(), one.simulated.short(), f"{one.difference:+.1%}"]
    return [*parts, f"{found['jain'].difference:+.3f}"]


def main() -> None:
    """Emulates, simulates, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cells whose title has this text")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--late-share", type=float, default=0.01, help="share of late exchanges of a valid run")
    parser.add_argument(
        "--route",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a metric of the routes, as `wifair emulate` has it",
    )
    parser.add_argument(
        "--simulate", action="append", default=[], metavar="KEY=VALUE", help="change the simulation alone"
    )
    parser.add_argument("--marks", default=MARKS.what, help="the part of the page that is written")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--keep", type=Path, required=True)
    given = parser.parse_args()
    kept, cells = Kept(given.keep), [cell for cell in CELLS if given.only in cell["title"]]
    route = dict(text.split("=", 1) for text in given.route)
    with ThreadPoolExecutor(given.parallel) as pool:
        list(pool.map(lambda cell: emulate(cell, given.runs, kept, given.late_share, route), cells))
    cells = [cell for cell in cells if kept.of(cell["title"])]
    heads = ("cell", "flows", "TCP", "scheme", "up, kernel", "simulated", "difference")
    heads += ("down, kernel", "simulated", "difference", "Jain's index, difference")
    rows = [line for cell in cells if (line := row(cell, kept, dict(parse_assignments(given.simulate))))]
    if not rows:
        sys.exit("no cell has two valid runs")
    valid = [kept.valid(cell["title"]) for cell in cells]
    p99 = [run["p99_us"] for runs in valid for run in runs]
    shares = [float(part.rstrip("%")) for line in rows for part in (line[6], line[9])]
    summary = (
        f"In {len(rows)} cells each direction's goodput differs by at most {max(map(abs, shares)):.1f} % of the total, and Jain's index by at "
        f"most {max(abs(float(line[10])) for line in rows):.3f}. The 99 % quantiles of lateness were {min(p99):.0f} to {max(p99):.0f} µs. "
        f"Means over {min(len(runs) for runs in valid if len(runs) > 1)} runs or more with the kernel and {SIMULATED} simulated ones; 95 % "
        "intervals; Mbps; differences are shares of the "
        "simulated total."
    )
    text = f"{summary}\n\n{table(heads, rows)}"
    print(text)
    if given.page:
        Marks(given.marks, MARKS.command).write(given.page, text)


if __name__ == "__main__":
    sys.exit(main())
