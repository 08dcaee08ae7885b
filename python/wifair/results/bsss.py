"""The BSS of what a row is about, as a column of results of several BSSs, and the tables of some of the BSSs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from wifair.planned import AP, SEVERAL, STATIONS, bsss_of, channels_of

TABLE = "bsss"
COLUMN = "bss"


def with_bss(frames: Mapping[str, pl.DataFrame], plans: Sequence[tuple[str, str]]) -> dict[str, pl.DataFrame]:
    """The tables with a column for the BSS of stations, flows and buffers, if a scenario has several BSSs, and one for channels.

    `plans` has each scenario's name and plan, as JSON.
    """
    found = dict(frames)
    if not any(SEVERAL in plan for _, plan in plans):
        return found
    import json

    read = [(scenario, json.loads(plan)) for scenario, plan in plans]
    named = [(scenario, bsss_of(plan)) for scenario, plan in read]
    channels = [(scenario, bss, channel) for scenario, plan in read for bss, channel in channels_of(plan).items()]
    if any(channel is not None for *_, channel in channels):
        schema = {"scenario": pl.String, COLUMN: pl.String, "channel": pl.Int64}
        of_bss = pl.DataFrame(channels, schema=schema, orient="row")
        found[TABLE] = found[TABLE].join(of_bss, on=["scenario", COLUMN], how="left", maintain_order="left")
    of_station = {(scenario, label): bss for scenario, bsss in named for bss, own in bsss.items() for label in own}
    firsts = {scenario: next(iter(bsss)) for scenario, bsss in named}
    for name in ("stations", "flows"):
        found[name] = _added(found[name], "station", of_station)
    nodes = found["queues"].select("scenario", "node").unique()
    of_node = {(scenario, node): _owner(node, firsts[scenario]) for scenario, node in nodes.iter_rows()}
    found["queues"] = _added(found["queues"], "node", of_node)
    return found


def _owner(node: str, first: str) -> str:
    """The BSS of a buffer."""
    own = node.partition("/")[0]
    return first if own in (AP, STATIONS) else own


def _added(frame: pl.DataFrame, key: str, bss_of: Mapping[tuple[str, str], str]) -> pl.DataFrame:
    rows: list[Any] = [(*key_of, bss) for key_of, bss in bss_of.items()]
    named = pl.DataFrame(rows, schema={"scenario": pl.String, key: pl.String, COLUMN: pl.String}, orient="row")
    return frame.join(named, on=["scenario", key], how="left", maintain_order="left")


# Columns of `runs` that are about one BSS, and that `bsss` has by BSS.
_OF_ONE = (
    "exchanges",
    "collisions",
    "collision_ratio",
    "airtime_up_share",
    "airtime_down_share",
    "collision_share",
)
_KEYS = ["scenario", "seed"]


def within(frames: Mapping[str, pl.DataFrame], chosen: Collection[str]) -> dict[str, pl.DataFrame]:
    """The tables with the rows of some BSSs alone.

    Of one BSS, the buffers are called as those of a single one: `ap` and `stations`. Of several, each has the name of its BSS, and what `runs`
    has of one BSS is null.
    """
    found = dict(frames)
    mine = pl.col(COLUMN).is_in(list(chosen))
    for name in (TABLE, "flows", "stations"):
        found[name] = found[name].filter(mine)
    of_bss = dict(frames[TABLE].select("ap", COLUMN).unique().iter_rows())
    found["queues"] = _renamed(found["queues"].filter(mine), "node", of_bss, len(chosen) == 1)
    for name in ("datagrams", "transfers", "states"):
        if name in found:
            found[name] = _joined(found[name], found["flows"], [*_KEYS, "flow"])
    if "transfer_groups" in found:
        found["transfer_groups"] = _joined(found["transfer_groups"], found["flows"], [*_KEYS, "group"])
    if "station_series" in found:
        stations = found["stations"]["station"].unique()
        found["station_series"] = found["station_series"].filter(pl.col("station").is_in(stations.to_list()))
    if "series" in found:
        owner = _owners(frames, of_bss)
        entity = pl.col("entity").str.split("/").list.first().replace_strict(owner, default=None)
        own = found["series"].filter(entity.is_in(list(chosen)))
        found["series"] = _renamed(own, "entity", of_bss, len(chosen) == 1)
    found["runs"] = _runs(frames["runs"], found[TABLE], len(chosen) == 1)
    found["wire"] = _wire(frames, found[TABLE], len(chosen) == 1)
    return found


def _owners(frames: Mapping[str, pl.DataFrame], of_ap: Mapping[str, str]) -> dict[str, str]:
    """The BSS of each entity of a time series: of flows, stations and access points, by name."""
    found = {**of_ap, STATIONS: of_ap.get(AP, AP)}
    for name, key in (("flows", "label"), ("stations", "station")):
        found |= dict(frames[name].select(key, COLUMN).unique().iter_rows())
    return found


def _joined(frame: pl.DataFrame, flows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    return frame.join(flows.select(keys).unique(), on=list(keys), how="semi", maintain_order="left")


def _renamed(frame: pl.DataFrame, key: str, of_ap: Mapping[str, str], is_one: bool) -> pl.DataFrame:
    """The rows with buffers called after their BSS, or after nobody if they are of one BSS."""
    names: dict[str, str] = {}
    for name in frame[key].unique():
        head, slash, rest = str(name).partition("/")
        bss = of_ap.get(AP, AP) if head == STATIONS else of_ap.get(head)
        if bss is None:
            continue  # a flow or a station
        tail = STATIONS if head == STATIONS else rest
        if not is_one:
            names[str(name)] = f"{bss}/{tail}" if tail else bss
        elif tail == STATIONS:
            names[str(name)] = STATIONS
        else:
            names[str(name)] = f"{AP}{slash}{rest}"
    return frame.with_columns(pl.col(key).replace(names))


def _runs(runs: pl.DataFrame, own: pl.DataFrame, is_one: bool) -> pl.DataFrame:
    columns = [name for name in (*_OF_ONE, "idle_share") if name in runs.columns]
    if not is_one:
        return runs.with_columns(pl.lit(None, runs.schema[name]).alias(name) for name in columns)
    idle = (1 - pl.col("busy_own_share") - pl.col("busy_others_share")).alias("idle_share")
    values = own.select(*_KEYS, *_OF_ONE, idle)
    return runs.join(values, on=_KEYS, how="left", maintain_order="left", suffix=".own").select(
        pl.col(f"{name}.own").alias(name) if name in columns else pl.col(name) for name in runs.columns
    )


def _wire(frames: Mapping[str, pl.DataFrame], own: pl.DataFrame, is_one: bool) -> pl.DataFrame:
    """The waits of the BSS for its wire. Its packets are counted for the first BSS alone."""
    wire = frames.get("wire", pl.DataFrame(schema={"scenario": pl.String, "seed": pl.UInt64, "direction": pl.String}))
    if not is_one or own.is_empty():
        return wire.clear()
    if own["ap"][0] == AP:
        return wire
    ways = [
        own.select(*_KEYS, direction=pl.lit(way), wait_mean_ms=f"wire_{way}_wait_mean_ms") for way in ("down", "up")
    ]
    return pl.concat([wire.clear(), *ways], how="diagonal_relaxed")
