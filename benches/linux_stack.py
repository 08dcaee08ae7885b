"""The Wi-Fi stack of Linux in virtual time against wifair, cell by cell: the table of docs/peers-linux.md.

    make -C kernel stack && .venv/bin/python benches/linux_stack.py [--minstrel] [--only TEXT] [--seeds N] [--parallel N]
        [--simulate KEY=VALUE] [--kernel KEY=VALUE] [--page docs/peers-linux.md] [--keep FILE.json]

Each cell is run by the kernel in user-mode Linux and by `wifair run`, with the same scenario. The kernel's runs are kept in the file and not
repeated. The same seed gives the same run. `--minstrel` wants `make -C kernel/stack one-stream`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from wifair.emulate.kept import Kept
from wifair.markdown import Marks, table
from wifair.scenario.overrides import parse_assignments
from wifair.scenario.scenario import Scenario
from wifair.stats import Interval, jain, t_interval

MARKS = Marks("linux-stack", "benches/linux_stack.py")
OF_MINSTREL = "linux-stack-minstrel"
KERNEL = Path(__file__).resolve().parent.parent / "kernel"
SIMULATED = 10
# Data frames per access category below mac80211. Its airtime limits are reached first.
TXDEPTH = 1000
# Largest share of frames whose rate may still be one that rate control chose before it was fixed.
OTHER_RATES = 0.01
# Metrics, with the decimals of the table.
METRICS = {
    "up_mbps": 1,
    "down_mbps": 1,
    "jain": 3,
    "airtime_up_percent": 1,
    "airtime_down_percent": 1,
    "airtime_jain": 3,
    "rtt_p50_ms": 0,
    "rtt_p95_ms": 0,
}


def minstrel_index(group: int, mcs: int) -> int:
    """The index of a rate in minstrel_ht: HT groups are from 0, VHT groups from 18, one per width, guard interval and number of streams."""
    return group << 4 | mcs


# By name: the PHY, MCS, options of hostapd, rates by `iw set bitrates` and minstrel_ht, Mbps that saturate the air, seconds of
# warm-up and measurement.
PHYS: dict[str, dict[str, Any]] = {
    "HT20 MCS 7": {
        "phy": {"name": "802.11n", "width_mhz": 20, "streams": 1, "guard_interval_ns": 800},
        "mcs": 7,
        "mode": ["ieee80211n=1"],
        "rates": ["ht-mcs-5", "7", "lgi-5"],
        "fixed_rate": minstrel_index(group=0, mcs=7),
        "offered_mbps": 80.0,
        "run": {"warmup_s": 3, "duration_s": 8},
    },
    "VHT80 MCS 7": {
        "phy": {"name": "802.11ac", "width_mhz": 80, "streams": 1, "guard_interval_ns": 800},
        "mcs": 7,
        "mode": [
            "ieee80211n=1",
            "ieee80211ac=1",
            "ht_capab=[HT40+]",
            "vht_oper_chwidth=1",
            "vht_oper_centr_freq_seg0_idx=42",
        ],
        "rates": ["vht-mcs-5", "1:7", "lgi-5"],
        "fixed_rate": minstrel_index(group=18 + 8 * 2, mcs=7),
        "offered_mbps": 350.0,
        "run": {"warmup_s": 2, "duration_s": 4},
    },
}
# The same with the rates chosen by minstrel_ht on both sides, as ath9k's chips follow them: a PPDU is tried down its chain.
ADAPTED: dict[str, dict[str, Any]] = {
    f"{phy} minstrel-ht": {
        key: value for key, value in PHYS[f"{phy} MCS 7"].items() if key not in ("rates", "fixed_rate")
    }
    for phy in ("HT20", "VHT80")
}
# The kernel whose radios have one stream alone.
ONE_STREAM = "6.12-one-stream"
# What hwsim tells minstrel_ht (max_rates, max_rate_tries).
MINSTREL = {
    "rate_adaptation": {"name": "minstrel-ht", "chain": 4, "max_attempts": 11},
    "aggregation": {"tries": 11},
}
# Where the stations are then, evenly from the first to the last.
DISTANCES_M = (15.0, 45.0)
TRAFFIC = ("saturated down", "saturated up", "ten TCP each way")
STATIONS = (2, 10, 20)
# Linux 6.12 as the guest has it: no NIC that merges received segments, ECN only if the other end asks.
TCP = {"profile": "linux", "receive_offload": False, "ecn": False}


def flows(traffic: str, stations: int, offered_mbps: float, are_apart: bool) -> list[dict[str, Any]]:
    """The flows of a cell. The first station also pings the server. Stations that are apart are no group."""
    ping = {"name": "ping", "station": "sta-1", "direction": "up", "application": {"name": "ping", "interval_ms": 20}}
    if traffic != TRAFFIC[2]:
        udp = {"name": "udp", "rate_mbps": offered_mbps / stations}
        way = traffic.split()[1]
        flow = {"direction": way, "application": udp, "start_spread_s": 0.1}
        if are_apart:
            return [*({"name": f"{way}-{n}", "station": f"sta-{n}", **flow} for n in range(1, stations + 1)), ping]
        return [{"name": way, "station": "sta", "count": stations, **flow}, ping]
    bulk = []
    for number in range(20):
        way = "down" if number < 10 else "up"
        station = f"sta-{number % stations + 1}"
        bulk.append({"name": f"{way}-{number % 10 + 1}", "station": station, "direction": way, "start_spread_s": 0.5})
    return [*bulk, ping]


def cell(phy: str, traffic: str, stations: int) -> dict[str, Any]:
    """The scenario of a cell."""
    of = (PHYS | ADAPTED)[phy]
    group: list[dict[str, Any]] = [{"name": "sta", "count": stations}]
    if phy in ADAPTED:
        places = np.linspace(*DISTANCES_M, stations)
        group = [{"name": f"sta-{n}", "position_m": [float(x), 0.0]} for n, x in enumerate(places, 1)]
    found = {
        "title": f"{phy}, {traffic}, {stations}",
        "run": of["run"],
        "phy": of["phy"],
        "mac": {"edca": {}} | (MINSTREL if phy in ADAPTED else {}),
        "ap": {"scheme": "mac80211", "hardware": "hwsim"},
        "wire": {"one_way_delay_ms": 5, "rate_mbps": 1000},
        "station": {"mcs": of["mcs"], "tx_queue": {"scheme": "mac80211"}, "hardware": "hwsim"},
        "stations": group,
        "flows": flows(traffic, stations, of["offered_mbps"], phy in ADAPTED),
    }
    return found | {"tcp": TCP} if traffic == TRAFFIC[2] else found


def cells(phys: Iterable[str]) -> list[tuple[str, str, int]]:
    """PHY, traffic and number of stations of each cell."""
    return [(phy, traffic, stations) for phy in phys for traffic in TRAFFIC for stations in STATIONS]


def boot(
    of: dict[str, Any], scenario: Scenario, seed: int, parameters: Sequence[str] = (), kind: str = "6.12"
) -> dict[str, Any]:
    """Runs the scenario by that kind of kernel, with these parameters of its modules; returns what the guest measured.

    `of` has what the PHY is called by hostapd, `iw` and minstrel_ht, see `PHYS`.
    """
    plan = scenario.plan()
    plans = KERNEL / "build" / kind.replace("6.12", "plans")
    plans.mkdir(parents=True, exist_ok=True)
    path = (
        plans / f"{scenario.title.replace(', ', '-').replace(' ', '-')}-{seed}.json"
    )  # the guest's random numbers depend on it
    path.write_text(json.dumps(plan), encoding="utf-8")
    wire = plan["wire"]
    stations = len(plan["bss"]["stations"])
    given = {
        "mac80211_hwsim.radios": stations + 1,
        "mac80211_hwsim.txdepth": TXDEPTH,
        "mac80211_hwsim.support_p2p_device": 0,
        "guest": KERNEL / "build" / "target" / "release" / "wifair-guest",
        "plan": path,
        "seed": seed,
        "stations": stations,
        "mode": ",".join(of["mode"]),
        **({"rates": ",".join(of["rates"]), "fixed_rate": of["fixed_rate"]} if "fixed_rate" in of else {}),
        "warmup_s": of["run"]["warmup_s"],
        "duration_s": of["run"]["duration_s"],
        "delay_ms": wire["one_way_delay_ms"],
        "rate_mbps": wire["rate_mbps"],
    }
    # Address randomisation off: the guest's random numbers follow from the seed and from what the kernel finds in memory.
    kernel = KERNEL / "build" / f"uml-{kind}" / "linux"
    if not kernel.exists():
        sys.exit(f"{kernel}: there is no such kernel; kernel/stack/README.md says what builds it.")
    if hidden := [folder for folder in ("/tmp", "/run") if kernel.is_relative_to(folder)]:
        sys.exit(
            f"{kernel}: the guest cannot see it, since it has a {hidden[0]} of its own; allowed here: a checkout elsewhere."
        )
    command = ["setarch", "-R", str(kernel)]
    command += [
        "mem=512M",
        "root=/dev/root",
        "rootfstype=hostfs",
        "rootflags=/",
        "ro",
        "quiet",
        "con=null",
        "con0=fd:0,fd:1",
    ]
    command += [f"init={KERNEL / 'stack' / 'init'}", "time-travel=inf-cpu", f"time-travel-start={10**18}"]
    command += [f"{key}={value}" for key, value in given.items()]
    command += parameters
    environment = os.environ | {"UML_SEED": str(seed)}
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    path.unlink()
    found: dict[str, Any] = {}
    for line in done.stdout.splitlines():
        _, is_result, text = line.partition("RESULT ")
        if is_result:
            found |= json.loads(text)
    if found.keys() - {"air_share"} != {"flows", "air"}:
        sys.exit(
            f"{scenario.title}, seed {seed}: the guest gave no result:\n{done.stdout[-3000:]}\n{done.stderr[-1000:]}"
        )
    return found


def of_kernel(found: dict[str, Any]) -> dict[str, float]:
    """The metrics of a run by the kernel."""
    air = found["air"]
    sent = sum(one["mpdus_up"] + one["mpdus_down"] for one in air["stations"])
    if sum(air["other_rates"].values()) > OTHER_RATES * sent or air["foreign"] or air["late"]:
        sys.exit(f"the medium does not carry what the plan says: {air}")
    carried = [flow for flow in found["flows"] if flow["kind"] != "ping"]
    (ping,) = (flow for flow in found["flows"] if flow["kind"] == "ping")
    used = [[100 * one[f"airtime_{way}_s"] / air["elapsed_s"] for way in ("up", "down")] for one in air["stations"]]
    by_way = {way: sum(f["goodput_mbps"] for f in carried if f["direction"] == way) for way in ("up", "down")}
    return {
        "up_mbps": by_way["up"],
        "down_mbps": by_way["down"],
        "jain": float(jain([flow["goodput_mbps"] for flow in carried])),
        "airtime_up_percent": sum(up for up, _ in used),
        "airtime_down_percent": sum(down for _, down in used),
        "airtime_jain": float(jain([up + down for up, down in used])),
        "rtt_p50_ms": ping["delay_p50_ms"],
        "rtt_p95_ms": ping["delay_p95_ms"],
    }


def simulated(scenario: Scenario, seeds: int = SIMULATED) -> list[dict[str, float]]:
    """The metrics of wifair's runs."""
    results = scenario.run(seeds)
    runs = []
    for seed in results.metrics["seed"].to_list():
        datagrams = results.datagrams.filter(pl.col("seed") == seed)
        ping = datagrams.filter(pl.col("application") == "ping").row(0, named=True)
        udp = datagrams.filter(pl.col("application") == "udp")
        parts = [udp.select("direction", "goodput_mbps")]
        tcp = results.flows.filter((pl.col("seed") == seed) & (pl.col("application") == "bulk"))
        parts.append(tcp.select("direction", "goodput_mbps"))
        carried = pl.concat([part for part in parts if part.height])
        stations = results.stations.filter(pl.col("seed") == seed)
        way = {way: stations.filter(pl.col("direction") == way)["airtime_share"].sum() for way in ("up", "down")}
        goodput = {way: carried.filter(pl.col("direction") == way)["goodput_mbps"].sum() for way in ("up", "down")}
        used = stations.group_by("station", maintain_order=True).agg(pl.col("airtime_share").sum())["airtime_share"]
        runs.append(
            {
                "up_mbps": goodput["up"],
                "down_mbps": goodput["down"],
                "jain": float(jain(carried["goodput_mbps"].to_list())),
                "airtime_up_percent": 100 * way["up"],
                "airtime_down_percent": 100 * way["down"],
                "airtime_jain": float(jain(used.to_list())),
                "rtt_p50_ms": ping["rtt_p50_ms"],
                "rtt_p95_ms": ping["rtt_p95_ms"],
            }
        )
    return runs


def intervals(runs: list[dict[str, float]]) -> dict[str, Interval]:
    """Means with 95 % intervals."""
    return {metric: t_interval([run[metric] for run in runs]) for metric in METRICS}


def shown(interval: Interval, decimals: int) -> str:
    """The text of a table cell."""
    if interval.low is None or interval.high is None:
        return f"{interval.estimate:.{decimals}f} (one run)"
    if interval.estimate == 0 == interval.high:
        return "–"
    return f"{interval.estimate:.{decimals}f} ± {(interval.high - interval.low) / 2:.{decimals}f}"


def differences(kernel: dict[str, Interval], model: dict[str, Interval]) -> dict[str, float]:
    """By how much wifair is above the kernel: goodput of the kernel's total, airtime in shares of the time, Jain's index."""
    total = kernel["up_mbps"].estimate + kernel["down_mbps"].estimate
    of = {metric: model[metric].estimate - kernel[metric].estimate for metric in METRICS}
    return {
        "goodput": max((of["up_mbps"] / total, of["down_mbps"] / total), key=abs),
        "airtime": max((of["airtime_up_percent"] / 100, of["airtime_down_percent"] / 100), key=abs),
        "jain": of["jain"],
    }


HEADS = (
    *("cell", "stations", "", "up, Mbps", "down, Mbps", "Jain's index"),
    *("airtime up, %", "down, %", "Jain's index of airtime", "RTT median, ms", "95 %, ms", "within"),
)


def rows(title: str, kernel: dict[str, Interval], model: dict[str, Interval]) -> list[list[str]]:
    """The two lines of a cell."""
    *parts, stations = title.split(", ")
    apart = differences(kernel, model)
    within = abs(apart["goodput"]) <= 0.05 and abs(apart["airtime"]) <= 0.05 and abs(apart["jain"]) <= 0.05
    verdict = f"{'yes' if within else 'no'}: {apart['goodput']:+.1%}, {apart['airtime']:+.1%}, {apart['jain']:+.3f}"

    def line(head: list[str], of: dict[str, Interval], last: str) -> list[str]:
        return [*head, *(shown(of[metric], decimals) for metric, decimals in METRICS.items()), last]

    return [line([", ".join(parts), stations, "Linux"], kernel, verdict), line(["", "", "wifair"], model, "")]


def main() -> None:
    """Runs, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cells whose title has this text")
    parser.add_argument(
        "--minstrel", action="store_true", help="cells with minstrel_ht on both sides, in place of fixed rates"
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument(
        "--simulate", action="append", default=[], metavar="KEY=VALUE", help="change the simulation alone"
    )
    parser.add_argument(
        "--kernel",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change the kernel alone: a parameter of a module",
    )
    parser.add_argument("--marks", help="the part of the page that is written")
    parser.add_argument("--page", type=Path)
    parser.add_argument("--keep", type=Path, default=KERNEL / "build" / "linux_stack.json")
    given = parser.parse_args()
    phys, kind = (ADAPTED, ONE_STREAM) if given.minstrel else (PHYS, "6.12")
    made = [(phy, Scenario(**cell(phy, traffic, stations))) for phy, traffic, stations in cells(phys)]
    asked = [(phy, scenario) for phy, scenario in made if given.only in scenario.title]
    kept = Kept(given.keep)
    missing = [
        (phy, scenario, seed)
        for seed in range(1, given.seeds + 1)
        for phy, scenario in asked
        if seed not in {run["seed"] for run in kept.of(scenario.title)}
    ]

    def run(one: tuple[str, Scenario, int]) -> None:
        phy, scenario, seed = one
        found = of_kernel(boot(phys[phy], scenario, seed, given.kernel, kind))
        kept.add(scenario.title, {"seed": seed} | found)
        print(f"{scenario.title}, seed {seed}: {found}", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(given.parallel) as pool:
        list(pool.map(run, missing))
    lines, verdicts = [], 0
    for _, scenario in asked:
        runs = [run for run in kept.of(scenario.title) if run["seed"] <= given.seeds]
        model = intervals(simulated(scenario.override(dict(parse_assignments(given.simulate)))))
        pair = rows(scenario.title, intervals(runs), model)
        verdicts += pair[0][-1].startswith("yes")
        lines += pair
    summary = (
        f"In {verdicts} of {len(asked)} cells each direction's goodput differs by at most 5 % of the total, its airtime by at most 5 % of the "
        f"time, and Jain's index by at most 0.05. Means over {given.seeds} seeds with the kernel and {SIMULATED} simulated ones; 95 % intervals."
    )
    text = f"{summary}\n\n{table(HEADS, lines)}"
    print(text)
    if given.page:
        what = given.marks or (OF_MINSTREL if given.minstrel else MARKS.what)
        Marks(what, MARKS.command).write(given.page, text)


if __name__ == "__main__":
    main()
