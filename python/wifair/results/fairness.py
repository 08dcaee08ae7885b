"""Jain's indices of a replication: who shares what with whom.

An index compares like with like. Flows of different applications want different amounts, so their goodput is not one
index: `comparable` says which flows are compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

KEYS = ["scenario", "seed"]
UNIT = "index"

# Each index, with its name in a table and in a sentence.
HEADINGS = {
    "jain": "Jain's index",
    "jain_up": "Jain's index, up",
    "jain_down": "Jain's index, down",
    "jain_airtime": "Jain's index of airtime",
    "jain_link_rate": "Jain's index by link rate",
}


def comparable(applications: Sequence[str]) -> list[int]:
    """The TCP flows, by their position, whose goodput an index compares.

    Those with bulk data, or all of them if all have one application. None if fewer than two are left: one flow shares
    with nobody.
    """
    of_bulk = [i for i, name in enumerate(applications) if name == "bulk"]
    found = of_bulk or (list(range(len(applications))) if len(set(applications)) == 1 else [])
    return found if len(found) > 1 else []


def indices(shares: pl.DataFrame) -> pl.DataFrame:
    """One row per replication, one column per index; null where there are no two shares or all are 0."""
    x = pl.col("share")
    squares = x.pow(2).sum()
    index = pl.when((pl.len() > 1) & (squares > 0)).then((x.sum().pow(2) / (pl.len() * squares)).clip(upper_bound=1.0))
    found = shares.group_by([*KEYS, "metric"]).agg(index=index)
    parts = {name: part for (name,), part in found.partition_by("metric", as_dict=True, include_key=False).items()}
    table = shares.select(KEYS).unique(maintain_order=True)
    for name in HEADINGS:
        column = parts.get(name, found.drop("metric").clear()).rename({"index": name})
        table = table.join(column, on=KEYS, how="left")
    return table


def sizes(shares: pl.DataFrame) -> dict[tuple[str, str], int]:
    """How many shares the index has, by scenario and metric: it is never below one over that."""
    found = shares.group_by([*KEYS, "metric"]).len().group_by("scenario", "metric").agg(pl.col("len").max())
    return {(scenario, metric): number for scenario, metric, number in found.iter_rows()}


def shares(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """What each index compares, one row per share.

    `jain`, `jain_up` and `jain_down`: the goodput of the comparable flows, of both directions or one. `jain_airtime`:
    the airtime of their stations, of both directions, as the table `stations` charges it. `jain_link_rate`: their
    goodput over the mean link rate of their data (`arf-aware-tcp`, equations 1 to 3).
    """
    stations = frames["stations"]
    flows = _compared(frames["flows"])
    own = flows.join(stations, on=[*KEYS, "station", "direction"], how="left")
    whole_air = stations.group_by([*KEYS, "station"], maintain_order=True).agg(pl.col("airtime_s").sum())
    air = whole_air.join(flows, on=[*KEYS, "station"], how="semi")
    parts = {
        "jain": flows.select(*KEYS, share="goodput_mbps"),
        **{
            f"jain_{way}": flows.filter(pl.col("direction") == way).select(*KEYS, share="goodput_mbps")
            for way in ("up", "down")
        },
        "jain_airtime": air.select(*KEYS, share="airtime_s"),
        "jain_link_rate": own.select(*KEYS, share=pl.col("goodput_mbps") / pl.col("link_rate_mbps")),
    }
    return pl.concat([part.with_columns(metric=pl.lit(name)) for name, part in parts.items()])


def _compared(flows: pl.DataFrame) -> pl.DataFrame:
    """The comparable flows of each scenario."""
    of_tcp = flows.filter(pl.col("transport") == "tcp")
    by_scenario = of_tcp.select("scenario", "flow", "application").unique(["scenario", "flow"], maintain_order=True)
    chosen = [
        part[comparable(part["application"].to_list())]
        for part in by_scenario.partition_by("scenario", maintain_order=True)
    ]
    kept = pl.concat([by_scenario.clear(), *chosen])
    return of_tcp.join(kept, on=["scenario", "flow"], how="semi", maintain_order="left")
