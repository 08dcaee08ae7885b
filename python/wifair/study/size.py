"""The memory that the results of a study take, estimated from its plans before anything is run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from wifair.errors import ScenarioError
from wifair.memory import most_bytes
from wifair.planned import bsss_of, stations_of
from wifair.results.segment import engine_columns, row_bytes
from wifair.study.job import Job

# How often a row of a result exists when all are collected, and how often those of a replication that has just finished.
COPIES, COPIES_UNDER_WAY = 2, 6


def check_size(jobs: Sequence[Job], threads: int) -> None:
    """Refuses jobs whose results would not fit into memory."""
    plans = {plan: (count, json.loads(plan)) for plan, count in Counter(plan for plan, _ in jobs).items()}
    each = [(count, replication_bytes(plan)) for count, plan in plans.values()]
    needed = COPIES * sum(count * size for count, size in each)
    needed += COPIES_UNDER_WAY * threads * max((size for _, size in each), default=0)
    if needed <= (most := most_bytes()):
        return
    _, plan = max(plans.values(), key=lambda entry: entry[0] * replication_bytes(entry[1]))
    allowed = f"{most / 1e6:,.0f} MB, half of what this process may have"
    told = f"the results of {len(jobs):,} replications would take about {needed / 1e6:,.0f} MB of memory"
    interval_s = plan["run"]["sample_interval_s"]
    if interval_s is None:
        raise ScenarioError("seeds", told, allowed=f"{allowed}; run fewer seeds, or fewer scenarios at a time")
    advice = "sample less often, shorten run.duration_s, or run fewer seeds or scenarios at a time"
    raise ScenarioError("run.sample_interval_s", told, value=interval_s, allowed=f"{allowed}; {advice}")


def replication_bytes(plan: dict[str, Any]) -> float:
    """About how much memory the tables of a replication take, those of transfers apart."""
    flows, stations, bsss = len(plan["flows"]), len(stations_of(plan)), len(bsss_of(plan))
    rows: dict[str, float] = {"runs": 1, "flows": flows, "stations": 2 * stations, "datagrams": 2 * flows}
    rows |= {"queues": 8 * bsss, "bsss": bsss}
    if interval_s := plan["run"]["sample_interval_s"]:
        # Of a flow goodput, congestion window, RTT and smoothed RTT; of a station its rates and airtime; of the AP's buffer
        # its length, limit, idle share, sojourn time and a few values of its scheme.
        horizon_s = plan["run"]["warmup_s"] + plan["run"]["duration_s"]
        rows["series"] = horizon_s / interval_s * (4 * flows + 3 * stations + 10 * bsss)
        rows["station_series"] = horizon_s / interval_s * 2 * stations
    columns = engine_columns()
    return sum(count * row_bytes(columns[name]) for name, count in rows.items())
