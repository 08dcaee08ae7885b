"""What a host's TCP changes on Wi-Fi, into docs/tcp.md: `python docs/figures/hosts.py`, four minutes.

Ten uploads and ten downloads by hosts of today on 802.11ax, and the same with one thing changed, under the same seeds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from wifair import Scenario, gallery
from wifair.markdown import Marks, table
from wifair.results import Results
from wifair.stats import t_interval

PAGE = Path(__file__).resolve().parents[1] / "tcp.md"
MARKS = Marks("hosts on wi-fi", "docs/figures/hosts.py")
CELL = "ten-and-ten/ax"
SEEDS = 8
SCHEMES = ("droptail", "adaptive-pushout", "mac80211")
# The profile without what only Linux has.
PLAIN: Mapping[str, Any] = {
    "tcp.congestion_control": {"name": "cubic", "slow_start": "standard", "least_growth_percent": 0},
    "tcp.byte_counting.segment_by_segment": False,
    "tcp.small_queue": False,
}
BBR = {**PLAIN, "tcp.congestion_control": {"name": "bbr"}, "tcp.ecn": False}
HOSTS: Mapping[str, Mapping[str, Any]] = {
    "CUBIC": PLAIN,
    "CUBIC, small queues": {**PLAIN, "tcp.small_queue": {}},
    "CUBIC, paced": {**PLAIN, "tcp.pacing": {}},
    "CUBIC without ECN": {**PLAIN, "tcp.ecn": False},
    "BBR without ECN": BBR,
    "profile `linux`": {},
    "profile `windows`": {"tcp.profile": "windows"},
    "profile `apple`": {"tcp.profile": "apple"},
}


def ways(results: Results) -> list[list[float]]:
    """Mbps up and down, and MPDUs per PPDU up and down, by seed."""
    flows = results.flows.group_by("seed", "direction").agg(pl.col("goodput_mbps").sum().alias("value")).sort("seed")
    stations = results.frames["stations"].group_by("seed", "direction").agg(pl.col("mpdus", "ppdus").sum())
    lengths = stations.with_columns((pl.col("mpdus") / pl.col("ppdus")).alias("value")).sort("seed")
    return [of.filter(direction=way)["value"].to_list() for of in (flows, lengths) for way in ("up", "down")]


def said(values: list[float]) -> str:
    """The mean with half its 95 % interval."""
    found = t_interval(values)
    half = (found.high or found.estimate) - found.estimate
    digits = 0 if half >= 1 or found.estimate >= 100 else 1
    return f"{found.estimate:.{digits}f} ± {half:.{digits}f}"


def main() -> None:
    """Runs all cells and writes the table."""
    scenario = Scenario.from_toml(gallery.file_of(CELL))
    rows = []
    for scheme in SCHEMES:
        for hosts, changed in HOSTS.items():
            results = scenario.override({**changed, "ap.scheme": scheme}).run(seeds=SEEDS)
            rows.append([f"`{scheme}`", hosts, *map(said, ways(results))])
            print(*rows[-1], sep=" | ", flush=True)
    MARKS.write(PAGE, table(["scheme", "hosts", "Mbps up", "down", "MPDUs per PPDU up", "down"], rows))


if __name__ == "__main__":
    main()
