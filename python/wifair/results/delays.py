"""Delay, jitter, loss and voice quality (MOS) of non-TCP flows, and completion times of transfers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from wifair.results.quantiles import interval_of

KEYS = ["scenario", "seed"]

# One number per replication, with the unit. Streams (a flow's datagrams in one direction) count alike, however many datagrams
# they have; the loss ratio is that of all datagrams together.
UNITS = {
    "ping_p50_ms": "ms",
    "ping_p95_ms": "ms",
    "delay_mean_ms": "ms",
    "delay_p95_ms": "ms",
    "jitter_ms": "ms",
    "datagram_loss_ratio": "ratio",
    "mos": "1 to 4.5",
    "mos_least": "1 to 4.5",
    "transfer_mean_s": "s",
}

HEADINGS = {
    "ping_p50_ms": "ping, median",
    "ping_p95_ms": "ping, 95 %",
    "delay_mean_ms": "one-way delay",
    "delay_p95_ms": "one-way delay, 95 %",
    "jitter_ms": "jitter",
    "datagram_loss_ratio": "datagram loss",
    "mos": "opinion score",
    "mos_least": "least opinion score",
    "transfer_mean_s": "transfer time",
}
# Metrics shown in addition if they exist.
SHOWN = ("ping_p50_ms", "ping_p95_ms", "delay_p95_ms", "datagram_loss_ratio", "mos_least", "transfer_mean_s")

# Columns of `datagrams` for each flow and direction, with their units.
STREAM_UNITS = {
    "loss_ratio": "ratio",
    "goodput_mbps": "Mbps",
    "delay_mean_ms": "ms",
    "delay_p95_ms": "ms",
    "delay_p99_ms": "ms",
    "jitter_ms": "ms",
    "rtt_p50_ms": "ms",
    "rtt_p95_ms": "ms",
    "mos": "1 to 4.5",
}


def metrics(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """One row per replication: the metrics of `UNITS`, null where they do not exist."""
    table = frames["runs"].select(KEYS)
    if "datagrams" in frames:
        lost, received = pl.col("lost_packets").sum(), pl.col("received_packets").sum()
        datagrams = (
            frames["datagrams"]
            .group_by(KEYS)
            .agg(
                ping_p50_ms=pl.col("rtt_p50_ms").mean(),
                ping_p95_ms=pl.col("rtt_p95_ms").mean(),
                delay_mean_ms=pl.col("delay_mean_ms").mean(),
                delay_p95_ms=pl.col("delay_p95_ms").mean(),
                jitter_ms=pl.col("jitter_ms").mean(),
                datagram_loss_ratio=pl.when(lost + received > 0).then(lost / (lost + received)),
                mos=pl.col("mos").mean(),
                mos_least=pl.col("mos").min(),
            )
        )
        table = table.join(datagrams, on=KEYS, how="left")
    if "transfer_groups" in frames:
        of_all_sizes = frames["transfer_groups"].filter(pl.col("bytes").is_null())
        completed = pl.col("completed").sum()
        times = of_all_sizes.group_by(KEYS).agg(
            transfer_mean_s=pl.when(completed > 0).then((pl.col("mean_s") * pl.col("completed")).sum() / completed)
        )
        table = table.join(times, on=KEYS, how="left")
    missing = [pl.lit(None, pl.Float64).alias(name) for name in UNITS if name not in table.columns]
    return table.with_columns(missing).select(*KEYS, *(pl.col(name).cast(pl.Float64) for name in UNITS))


def stream_summary(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """One row per scenario, flow, direction and quantity of its datagrams: mean over the replications, 95 % interval."""
    texts = dict.fromkeys(("scenario", "flow", "application", "direction", "metric", "unit"), pl.String)
    types = {**texts, "mean": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "runs": pl.Int64}
    rows: list[dict[str, Any]] = []
    if "datagrams" in frames:
        keys = ["scenario", "label", "application", "direction"]
        for key, part in frames["datagrams"].group_by(keys, maintain_order=True):
            for metric, unit in STREAM_UNITS.items():
                found = interval_of(metric, part[metric].drop_nulls().to_numpy())
                if found.n:
                    fields = {"mean": found.estimate, "ci_low": found.low, "ci_high": found.high, "runs": found.n}
                    rows.append(dict(zip(texts, (*key, metric, unit), strict=True)) | fields)
    return pl.DataFrame(rows, schema=types)
