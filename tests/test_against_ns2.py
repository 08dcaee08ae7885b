"""The dialect `ns-2` held against ns-2.35 itself: saturated cells, the symmetric cell of `adaptive-pushout`, transfers and bulk flows
of `spm-af-las`.

`data/ns2-saturated.csv`: its head says what was run. `data/ns2-adaptive-pushout.csv`: payload throughput in kbps over 600 s after 150 s,
three seeds per row; the schemes were added to ns-2 from the paper's text by another hand, with a random redundant ACK evicted.
"""

from __future__ import annotations

import csv
import math
import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import polars as pl
import pytest
from wifair import Scenario
from wifair.stats import jain

DATA = Path(__file__).parent / "data" / "ns2-adaptive-pushout.csv"
SATURATED = Path(__file__).parent / "data" / "ns2-saturated.csv"
TRANSFERS = Path(__file__).parent / "data" / "ns2-transfers.csv"
WINDOW_20 = Path(__file__).parent / "data" / "ns2-window-20.csv"
VALIDATE = "WIFAIR_VALIDATE" in os.environ
SEEDS = 10 if VALIDATE else 4
FLOWS_EACH_WAY = (2, 5, 10) if VALIDATE else (2, 5)
# How far the two may lie apart beyond three standard errors of their difference: Jain's index; share of the sum of all
# throughputs; share of the AP's loss ratio.
ALLOWED_INDEX, ALLOWED_SHARE, ALLOWED_LOSSES = 0.01, 0.012, 0.03

# Jain's index, sums of the uplinks' and the downlinks' throughputs in kbps, lost packets per packet offered to the AP without
# redundant ACKs.
Outcome = tuple[float, float, float, float]


def reference() -> dict[tuple[str, int], list[Outcome]]:
    rows = defaultdict(list)
    with DATA.open(newline="") as file:
        for row in csv.DictReader(file):
            columns = ("jain", "sum_up_kbps", "sum_down_kbps", "ap_loss_ratio_without_redundant_acks")
            jain_index, up, down, lost = (float(row[column]) for column in columns)
            rows[row["scheme"], int(row["n_up"])].append((jain_index, up, down, lost))
    return rows


def simulated(
    scheme: str,
    n: int,
    seeds: int = SEEDS,
    directions: tuple[str, ...] = ("up", "down"),
    redundant: str = "random",
    start_spread_s: float = 1.0,
    **tcp: Any,
) -> list[Outcome]:
    parameters = {"name": scheme}
    if scheme.endswith("pushout"):
        parameters["redundant"] = redundant
    scenario = Scenario(
        dialect="ns-2",
        ap={"scheme": parameters, "limit_packets": 100},
        run={"warmup_s": 150.0, "duration_s": 600.0},
        tcp={
            "congestion_control": {"name": "reno"},
            "receiver_window_segments": 42,
            "delayed_ack": {"segments": 1},
            **tcp,
        },
        flows=[{"count": n, "direction": direction, "start_spread_s": start_spread_s} for direction in directions],
    )
    results = scenario.run(seeds=seeds)
    found = []
    for (seed,), of_seed in results.flows.group_by("seed", maintain_order=True):
        kbps = {
            direction: [1e3 * value for value in of_seed.filter(of_seed["direction"] == direction)["goodput_mbps"]]
            for direction in ("up", "down")
        }
        [queue] = results.queues.filter(seed=seed, node="ap", **{"class": "all"}).iter_rows(named=True)
        lost = (queue["tail_drop_packets"] + queue["evicted_packets"]) / queue["offered_packets"]
        found.append((jain([*kbps["up"], *kbps["down"]]), sum(kbps["up"]), sum(kbps["down"]), lost))
    return found


@pytest.mark.parametrize(("scheme", "n"), [key for key in reference() if key[1] in FLOWS_EACH_WAY])
def test_the_dialect_gives_what_ns2_gives(scheme: str, n: int) -> None:
    theirs, ours = reference()[scheme, n], simulated(scheme, n)
    total = mean(up + down for _, up, down, _ in theirs)
    losses = ALLOWED_LOSSES * mean(lost for *_, lost in theirs)
    for what, allowed in enumerate((ALLOWED_INDEX, ALLOWED_SHARE * total, ALLOWED_SHARE * total, losses)):
        a, b = [row[what] for row in ours], [row[what] for row in theirs]
        standard_error = (stdev(a) ** 2 / len(a) + stdev(b) ** 2 / len(b)) ** 0.5
        difference = mean(a) - mean(b)
        assert abs(difference) <= allowed + 3 * standard_error, (what, mean(a), mean(b), standard_error)


def saturated(cell: str, seeds: int = 20 if VALIDATE else 6, **mac: Any) -> np.ndarray:
    """One row per replication: the share of attempts without a MAC ACK, then each station's throughput in kbps."""
    places = [2.0 * 1.4**i for i in range(10)]
    stations: list[dict[str, Any]] = [{"name": f"s{i}"} for i in range(10)]
    for i, station in enumerate(stations):
        turn = 2 * math.pi * i / 10
        place = places[i] if cell == "spiral" else 5.0
        station["position_m"] = [place * math.cos(turn), place * math.sin(turn)]

    def flow(i: int) -> dict[str, Any]:
        ip_bytes = 142 if cell == "mixed" and i % 2 else 1495
        udp = {"name": "udp", "rate_mbps": 2.4 * (ip_bytes - 28) / ip_bytes, "payload_bytes": ip_bytes - 28}
        return {"station": f"s{i}", "direction": "up", "start_spread_s": 1.0, "application": udp}

    results = Scenario(
        dialect="ns-2",
        mac=mac,
        run={"warmup_s": 2.0, "duration_s": 60.0},
        channel={
            "path_loss_exponent": 2.0,
            "tx_power_dbm": 100.0,
        },  # as ns-2's at these distances; nothing is lost to noise
        stations=stations,
        flows=[flow(i) for i in range(10)],
    ).run(seeds=seeds)
    rows = []
    for seed in results.seeds:
        sent = results.stations.filter(pl.col("seed") == seed)
        flows = results.flows.filter(pl.col("seed") == seed)
        failed = 1 - int(sent["frames_delivered"].sum()) / int(sent["attempts"].sum())
        rows.append([failed, *(1e3 * flows["throughput_ip_mbps"])])
    return np.array(rows)


@pytest.mark.parametrize("cell", ["equal", "mixed", "spiral"])
def test_saturated_cells_are_those_of_ns2(cell: str) -> None:
    """Frames of one length, of two, and of stations near and far, of which the AP captures the nearer's.

    Each station's throughput within 2 % of the mean and three standard errors, the sum of each kind's within 1 %, failures within a
    hundredth of their number.
    """
    theirs = pl.read_csv(SATURATED, comment_prefix="#").filter(pl.col("cell") == cell).drop("cell", "seed").to_numpy()
    ours = saturated(cell)

    def compare(what: str, a: np.ndarray, b: np.ndarray, allowed: float) -> None:
        error = math.sqrt(a.var(ddof=1) / len(a) + b.var(ddof=1) / len(b))
        assert abs(a.mean() - b.mean()) <= allowed + 3 * error, (what, a.mean(), b.mean(), error)

    compare("failed", ours[:, 0], theirs[:, 0], 0.01 * theirs[:, 0].mean())
    for kind in (slice(1, None, 2), slice(2, None, 2)):
        mine, other = ours[:, kind].sum(axis=1), theirs[:, kind].sum(axis=1)
        compare(f"sum of {kind}", mine, other, 0.01 * other.mean())
    for station in range(1, 11):
        compare(f"station {station}", ours[:, station], theirs[:, station], 0.02 * theirs[:, station].mean())


# `spm-af-las`, Sections 5.1 and 5.2: NewReno, delayed ACKs, 20 packets of window, tail drop.
SPM: dict[str, Any] = {
    "dialect": "ns-2",
    "wire": {"rate_mbps": 100.0, "one_way_delay_ms": 5.0},
    "station": {"tx_queue": {"limit_packets": 100}},
    "tcp": {"congestion_control": {"name": "newreno"}, "receiver_window_segments": 20, "delayed_ack": {"segments": 2}},
}


def hold(what: str, ours: Sequence[float], theirs: Sequence[float], allowed: float) -> None:
    """Fails where the means lie farther apart than `allowed` and three standard errors of their difference."""
    error = math.sqrt(stdev(ours) ** 2 / len(ours) + stdev(theirs) ** 2 / len(theirs))
    assert abs(mean(ours) - mean(theirs)) <= allowed + 3 * error, (what, mean(ours), mean(theirs), error)


def transfers(hosts: int, seeds: int = 4 * SEEDS) -> pl.DataFrame:
    """A row per replication: of either kind of file, how many transfers ended, the mean of their seconds, and its variation.

    A transfer ends here as in the file of ns-2, with the last ACK at the sender, when the next begins. Nobody captures in that file.
    """

    def files(name: str, packets: int) -> dict[str, Any]:
        application = {"name": "transfers", "transfer_bytes": packets * 1460}
        return {
            "name": name,
            "direction": "down",
            "count": hosts // 2,
            "start_spread_s": 1.0,
            "application": application,
        }

    scenario = Scenario(
        **SPM,
        ap={"limit_packets": 50},
        run={"warmup_s": 0.0, "duration_s": 150.0},
        flows=[files("short", 10), files("long", 1000)],
    )
    next_start = pl.col("start_s").shift(-1).over("seed", "flow")
    # A single wait for the timer moves a run's variation, so few seeds say little about it.
    table = scenario.run(seeds=seeds).transfers.sort("seed", "flow", "index")
    seconds = table.with_columns(seconds=next_start - pl.col("start_s")).drop_nulls("seconds")
    measured = seconds.group_by("seed", "group").agg(
        transfers=pl.len(), mean_s=pl.col("seconds").mean(), cov=pl.col("seconds").std() / pl.col("seconds").mean()
    )
    both = [
        measured.filter(pl.col("group") == kind)
        .drop("group")
        .rename({column: f"{kind}_{column}" for column in ("transfers", "mean_s", "cov")})
        for kind in ("short", "long")
    ]
    return both[0].join(both[1], on="seed").sort("seed")


@pytest.mark.parametrize("hosts", [10, 20])
def test_transfers_are_those_of_ns2(hosts: int) -> None:
    """Files of 10 packets beside files of 1,000: mean seconds within 2 %, their variation within 0.03, and three standard errors."""
    theirs = pl.read_csv(TRANSFERS, comment_prefix="#").filter(pl.col("hosts") == hosts)
    ours = transfers(hosts)
    for kind in ("short", "long"):
        for column in ("mean_s", "cov"):
            found, reference = (table[f"{kind}_{column}"].to_list() for table in (ours, theirs))
            hold(f"{kind}_{column}", found, reference, 0.02 * mean(reference) if column == "mean_s" else 0.03)


def window_20(buffer: int, seeds: int, **rto: Any) -> dict[str, list[float]]:
    """Five uplink and five downlink flows: the sums of their throughputs in kbps and Jain's index, by column of `WINDOW_20`; and how many
    retransmission timeouts a downlink flow has."""
    scenario = Scenario(
        **SPM | {"tcp": SPM["tcp"] | {"rto": rto}},
        ap={"limit_packets": buffer},
        run={"warmup_s": 20.0, "duration_s": 280.0},
        flows=[{"direction": way, "count": 5, "start_spread_s": 1.0} for way in ("up", "down")],
    )
    flows = scenario.run(seeds=seeds).flows
    found: dict[str, list[float]] = {"up_kbps": [], "down_kbps": [], "jain": [], "timeouts": []}
    for _, of_seed in flows.group_by("seed", maintain_order=True):
        for way in ("up", "down"):
            found[f"{way}_kbps"].append(1e3 * sum(of_seed.filter(pl.col("direction") == way)["goodput_mbps"]))
        found["jain"].append(jain(of_seed["goodput_mbps"].to_list()))
        found["timeouts"].append(float(of_seed.filter(pl.col("direction") == "down")["timeouts"].mean()))  # type: ignore[arg-type]
    return found


@pytest.mark.parametrize("buffer", [10, 30, 50, 70, 90, 110, 150] if VALIDATE else [10, 50, 110])
def test_windows_of_20_packets_share_as_in_ns2(buffer: int) -> None:
    """Five uplink and five downlink flows: either sum within 1.2 % of all throughput, Jain's index within 0.01, and three errors."""
    theirs = pl.read_csv(WINDOW_20, comment_prefix="#").filter(pl.col("buffer") == buffer)
    found = window_20(buffer, SEEDS)
    total = mean(theirs["up_kbps"]) + mean(theirs["down_kbps"])
    for column, allowed in (("up_kbps", 0.012 * total), ("down_kbps", 0.012 * total), ("jain", 0.01)):
        hold(column, found[column], theirs[column].to_list(), allowed)
