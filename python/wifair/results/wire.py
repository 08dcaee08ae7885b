"""The queues before the wire that all servers share, one in each direction."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from wifair.results.fairness import KEYS

# One number per replication, with the unit, by direction.
METRICS = {"down": "wire_down_wait_mean_ms", "up": "wire_up_wait_mean_ms"}
UNITS = dict.fromkeys(METRICS.values(), "ms")
HEADINGS = {metric: f"wait for the wire, {way}" for way, metric in METRICS.items()}
# Several scenarios are shown with these metrics if packets wait so long in one of them.
LONG_WAIT_MS = 1.0


def table(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """One row per replication and direction; empty in results of engines that did not record it."""
    counts = dict.fromkeys(("packets", "dropped_packets"), pl.UInt64)
    keys = {"scenario": pl.String, "seed": pl.UInt64, "direction": pl.String, **counts}
    types = keys | dict.fromkeys(("wait_mean_ms", "length_mean_packets"), pl.Float64)
    return frames.get("wire", pl.DataFrame(schema=types))


def metrics(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """One row per replication: the metrics of `UNITS`, null where they do not exist."""
    found, rows = frames["runs"].select(KEYS), table(frames)
    for way, metric in METRICS.items():
        waits = rows.filter(pl.col("direction") == way).select(*KEYS, pl.col("wait_mean_ms").alias(metric))
        found = found.join(waits, on=KEYS, how="left")
    return found


def shown(metrics: pl.DataFrame, scenarios: int) -> list[str]:
    """The metrics to show: of one scenario all that exist, of several those with a long wait in one of them."""
    least_ms = LONG_WAIT_MS if scenarios > 1 else 0.0
    longest = {metric: metrics[metric].cast(pl.Float64).max() for metric in UNITS}
    return [metric for metric, wait_ms in longest.items() if isinstance(wait_ms, float) and wait_ms >= least_ms]
