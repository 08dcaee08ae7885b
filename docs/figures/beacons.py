"""What beacons cost where access points share a channel: one, and twelve; into docs/neighbours.md.

`python docs/figures/beacons.py`, two minutes on two cores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from wifair import Results, Scenario
from wifair.markdown import Marks, table
from wifair.stats import Values, plus_minus

PAGE = Path(__file__).resolve().parents[1] / "neighbours.md"
MARKS = Marks("cost of beacons", "docs/figures/beacons.py")
SEEDS = 10
# Band in GHz, access points, and the longest PPDU in ms.
CASES = ((5.0, 1, 5.484), (5.0, 12, 5.484), (5.0, 12, 1.0), (2.4, 1, 5.484), (2.4, 12, 5.484))
# In Mbps; the first is that of access points that are not told otherwise.
RATES = (6.0, 24.0)
HEADINGS = (
    "band, GHz",
    "access points",
    "longest PPDU, ms",
    "beacons at, Mbps",
    "goodput of all, Mbps",
    "cost of the beacons, %",
    "beacons on the air, %",
    "missed by a station, %",
)


def scenario(count: int, band_ghz: float, **mac: Any) -> Scenario:
    """So many BSSs of 802.11ax in range of each other, each with a station and more downlink load than the channel carries."""
    names = [f"flat-{number}" for number in range(1, count + 1)]
    flows = [
        {
            "name": f"to-{name}",
            "station": f"of-{name}",
            "direction": "down",
            "application": {"name": "udp", "rate_mbps": 120.0 / count},
        }
        for name in names
    ]
    pairs = [[one, other] for index, one in enumerate(names) for other in names[:index]]
    return Scenario(
        run={"warmup_s": 1, "duration_s": 20},
        phy={"name": "802.11ax", "band_ghz": band_ghz, "width_mhz": 20},
        mac=mac,
        field={"gain_db": -60, "gains": [{"between": pair, "gain_db": -60} for pair in pairs]},
        bss=[{"name": name} for name in names],
        station={"mcs": 7},
        stations=[{"name": f"of-{name}", "bss": name} for name in names],
        flows=flows,
    )


def rows(band_ghz: float, count: int, ppdu_ms: float) -> list[tuple[str, ...]]:
    """Without beacons, and with beacons at each rate; seeds in pairs."""
    case, aggregation = (f"{band_ghz:g}", f"{count}", f"{ppdu_ms:g}"), {"max_ppdu_us": 1_000 * ppdu_ms}
    results = scenario(count, band_ghz, aggregation=aggregation).run(seeds=SEEDS)
    without = goodputs(results)
    told: list[tuple[str, ...]] = [(*case, "none", plus_minus(without, 2), "", "", "")]
    for rate_mbps in RATES:
        mac = {"aggregation": aggregation, "beacons": {"rate_mbps": rate_mbps}}
        results = scenario(count, band_ghz, **mac).run(seeds=SEEDS)
        goodput = goodputs(results)
        told.append(
            (
                *case,
                f"{rate_mbps:g}",
                plus_minus(goodput, 2),
                plus_minus(100 * (1 - goodput / without), 2),
                *of_beacons(results.runs if count == 1 else results.bsss),
            )
        )
    return told


def goodputs(results: Results) -> Values:
    """By seed, over all flows."""
    return (
        results.flows.group_by("seed", maintain_order=True).agg(pl.col("goodput_mbps").sum())["goodput_mbps"].to_numpy()
    )


def of_beacons(counts: pl.DataFrame) -> tuple[str, str]:
    """The share of the air that beacons take, and the share that the station of their BSS misses, by seed over all BSSs."""
    counted = ("beacons", "beacons_collided", "beacon_share")
    by_seed = counts.group_by("seed", maintain_order=True).agg(pl.col(counted).sum())
    missed = 100 * by_seed["beacons_collided"].to_numpy() / by_seed["beacons"].to_numpy()
    return plus_minus(100 * by_seed["beacon_share"].to_numpy(), 2), plus_minus(missed, 2)


def main() -> None:
    """Writes the table."""
    text = table(HEADINGS, [row for case in CASES for row in rows(*case)])
    print(text)
    MARKS.write(PAGE, text)


if __name__ == "__main__":
    main()
