"""How often frames collide in a scenario, by a short run of it."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from wifair.scenario.scenario import Scenario

# Enough for a ratio; the counters that it is compared with have fewer digits.
WARMUP_S, DURATION_S, SEEDS = 0.5, 2.0, 2
# Scenarios with more stations would take long.
MOST_STATIONS = 200


@dataclass(frozen=True)
class Collisions:
    """The share of the access point's MPDUs that fail, and the share of the time that collisions take."""

    ratio: float = 0.0
    time_share: float = 0.0


def simulated(scenario: Scenario) -> Collisions:
    """Those of a scenario without channel errors; none if it has many stations."""
    if len(scenario.plan()["bss"]["stations"]) > MOST_STATIONS:
        return Collisions()
    run = {"run.warmup_s": WARMUP_S, "run.duration_s": DURATION_S, "run.record_transfers": False}
    results = scenario.override(run).run(seeds=SEEDS)
    down = results.stations.filter(pl.col("direction") == "down").select(pl.col("mpdus", "frames_delivered").sum())
    sent, delivered = down.row(0)
    shares = results.runs["collision_share"].to_list()
    return Collisions(max(sent - delivered, 0) / sent if sent else 0.0, sum(shares) / len(shares))
