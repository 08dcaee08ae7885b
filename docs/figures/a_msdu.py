"""What A-MSDUs change, into docs/modern-ap.md: `python docs/figures/a_msdu.py`, two minutes.

Each cell runs without and with the longest A-MSDU, under the same seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from wifair import Scenario
from wifair.markdown import Marks, table
from wifair.results import Results
from wifair.stats import t_interval

PAGE = Path(__file__).resolve().parents[1] / "modern-ap.md"
MARKS = Marks("a-msdu", "docs/figures/a_msdu.py")
SEEDS = 10
DURATION_S = 10
# PHY, station, the AP's buffer, longest A-MSDU.
AIRS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any], int, int]] = {
    "HT20, MCS 7": ({"name": "802.11n"}, {"mcs": 7}, 400, 4065),
    "HE80, MCS 11, 2 streams": ({"name": "802.11ax", "width_mhz": 80, "streams": 2}, {"mcs": 11}, 4000, 11424),
}
TCP = {"congestion_control": "cubic", "sack": {}, "window_scale": 7, "receiver_window_segments": 4000}
TRAFFIC: Mapping[str, Mapping[str, Any]] = {
    "UDP to one station, saturated": {
        "flows": [{"direction": "down", "application": {"name": "udp", "rate_mbps": 1200.0}}],
    },
    "ten TCP downloads to ten stations": {"flows": [{"count": 10, "direction": "down"}], "tcp": TCP},
}


def cell(air: str, traffic: str) -> Scenario:
    """The cell without A-MSDUs."""
    phy, station, limit_packets, _ = AIRS[air]
    return Scenario(
        phy=phy,
        station=station,
        mac={"edca": {}, "aggregation": {}},
        ap={"scheme": "droptail", "limit_packets": limit_packets},
        wire={"one_way_delay_ms": 5, "rate_mbps": 10000.0},
        run={"warmup_s": 10, "duration_s": DURATION_S},
        **TRAFFIC[traffic],
    )


def by_seed(results: Results) -> dict[str, list[float]]:
    """Mbps delivered, PPDUs down per second, and percent of the airtime that goes up, by seed."""
    mbps = results.flows.group_by("seed").agg(pl.col("goodput_mbps").sum()).sort("seed")["goodput_mbps"]
    stations = results.frames["stations"]
    sums = stations.group_by("seed", "direction").agg(pl.col("airtime_share", "ppdus").sum()).sort("seed")
    down, up = (sums.filter(direction=way) for way in ("down", "up"))
    return {
        "Mbps": mbps.to_list(),
        "PPDUs down per s": [ppdus / DURATION_S for ppdus in down["ppdus"].to_list()],
        "airtime of ACKs, %": [100 * share for share in up["airtime_share"].to_list()],
    }


def said(values: list[float]) -> str:
    """The mean with half its 95 % interval."""
    found = t_interval(values)
    half = (found.high or found.estimate) - found.estimate
    digits = 0 if half >= 1 else 1 if half >= 0.1 else 2
    return f"{found.estimate:,.{digits}f} ± {half:.{digits}f}"


def main() -> None:
    """Runs all cells and writes the table."""
    rows = []
    for air, (*_, longest) in AIRS.items():
        for traffic in TRAFFIC:
            base = cell(air, traffic)
            without = by_seed(base.run(seeds=SEEDS))
            joined = by_seed(base.override({"mac.aggregation.max_amsdu_bytes": longest}).run(seeds=SEEDS))
            gains = [100 * (b / a - 1) for a, b in zip(without["Mbps"], joined["Mbps"], strict=True)]
            cells = [f"{said(without[what])} → {said(joined[what])}" for what in without]
            rows.append([air, traffic, cells[0], f"{said(gains)} %", *cells[1:]])
            print(rows[-1])
    headings = ["link", "traffic", "Mbps", "change", "PPDUs down per s", "airtime up, %"]
    MARKS.write(PAGE, table(headings, rows))


if __name__ == "__main__":
    main()
