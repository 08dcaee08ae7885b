"""The BSS of what a row is about, as a column of results of several BSSs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
