"""The part of a report on several BSSs: the floor plan, and what each BSS has of the air."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import polars as pl

from wifair import floor_plan
from wifair.floor_plan.drawing import figure
from wifair.planned import bsss_of
from wifair.report.parts import Part, Picture, Table
from wifair.stats import Interval, t_interval

if TYPE_CHECKING:
    from wifair.results.results import Results
    from wifair.scenario.scenario import Scenario

HEADINGS = ("up, Mbps", "down, Mbps", "own frames on the air", "others'", "lost, same start", "lost, hidden")
CAPTION = (
    "BSSs: goodput, shares of the time in which frames are on the air, and frames lost per attempt to others of the same start and to "
    "hidden transmitters."
)


def of_scenario(scenario: Scenario, results: Results) -> list[Part]:
    """The parts; nothing for a scenario of one BSS."""
    if len(bsss_of(scenario.plan())) == 1 or "bsss" not in results.frames:
        return []
    return [*_drawn(scenario), _table(results)]


def _drawn(scenario: Scenario) -> list[Part]:
    plan = floor_plan.of_scenario(scenario)
    if not plan.has_places:
        return []
    file = BytesIO()
    figure(plan).savefig(file, format="png", dpi=110)
    names = ", ".join(list(plan.channels)[:5])
    return [
        Picture(file.getvalue(), f"Floor plan of {len(plan.channels)} BSSs: {names}", "Floor plan: who hears whom.")
    ]


def _table(results: Results) -> Table:
    several = results.bsss["scenario"].n_unique() > 1
    rows = []
    for (cell, name), part in results.bsss.group_by("scenario", "bss", maintain_order=True):
        found = [part["goodput_up_mbps"], part["goodput_down_mbps"], part["busy_own_share"], part["busy_others_share"]]
        lost = part.select(pl.col("lost_same_start", "lost_hidden").cast(pl.Float64) / pl.col("attempts"))
        keys = [*([cell] if several else []), name, *([part["channel"][0]] if "channel" in part.columns else [])]
        rows.append([*keys, *(_interval(column) for column in (*found, *lost))])
    channels = ("channel",) if "channel" in results.bsss.columns else ()
    return Table.of((*(("scheme",) if several else ()), "BSS", *channels, *HEADINGS), rows, CAPTION, wide=True)


def _interval(column: pl.Series) -> Interval:
    return t_interval(column.fill_nan(None).drop_nulls().to_numpy())
