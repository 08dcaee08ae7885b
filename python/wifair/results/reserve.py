"""Flows in reserve that no event opened: they are in the plan, but no flows of the run."""

from __future__ import annotations

from typing import Any

import polars as pl

# What the JSON of a canonical plan with such flows contains. Most plans do not, and need not be parsed.
WAITS = '"waits":true'


def unopened(plan: dict[str, Any], end_s: float) -> tuple[set[int], set[str]]:
    """The flows, by index, that the plan's events do not open before `end_s`, and the stations that have no others."""
    most: dict[str, int] = {}
    for event in plan["events"]:
        change = event["flows"] or {}
        if event["at_s"] < end_s and change.get("count") is not None:
            most[change["group"]] = max(change["count"], most.get(change["group"], 0))
    found, of_group = set(), dict.fromkeys((flow["group"] for flow in plan["flows"]), 0)
    for index, flow in enumerate(plan["flows"]):
        of_group[flow["group"]] += 1
        if flow["waits"] and of_group[flow["group"]] > most.get(flow["group"], 0):
            found.add(index)
    busy = {flow["station"] for index, flow in enumerate(plan["flows"]) if index not in found}
    return found, {flow["station"] for flow in plan["flows"]} - busy


def without(frame: pl.DataFrame, scenario: str, flows: set[int], stations: set[str]) -> pl.DataFrame:
    """A table without the rows of those flows and stations of a scenario."""
    column, left_out = ("flow", list(flows)) if "flow" in frame.columns else ("station", list(stations))
    if column not in frame.columns:
        return frame
    return frame.filter((pl.col("scenario") != scenario) | ~pl.col(column).is_in(left_out))
