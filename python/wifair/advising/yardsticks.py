"""What advice is judged by: the goals of the user, or the criteria of the scenario, and what each flow gets.

A difference matters from the same size on as in `wifair compare --judge` (`wifair.everything.criteria`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from wifair.everything.criteria import (
    INDEX_MATTERS,
    LOSS_MATTERS,
    RATING_MATTERS,
    SHARE_MATTERS,
    THROUGHPUT_MATTERS,
    Criterion,
    Kind,
    Plan,
    criteria,
    unfinished_shares,
)
from wifair.papers.runs import CellRuns, Runs
from wifair.results.quantiles import RESOLUTION
from wifair.scenario.components import transport
from wifair.stats import Values
from wifair.tuning.goals import Goal, parsed
from wifair.tuning.words import WORDS

if TYPE_CHECKING:
    from wifair.results.results import Results

# By unit of a metric: the kind, the scale, and what matters. Other metrics count as a size.
_MATTERS: Mapping[str, tuple[Kind, Literal["difference", "ratio"], float]] = {
    "index": ("fairness", "difference", INDEX_MATTERS),
    "Mbps of payload": ("throughput", "ratio", THROUGHPUT_MATTERS),
    "1 to 4.5": ("delay", "difference", RATING_MATTERS),
    "ratio": ("delay", "difference", LOSS_MATTERS),
    "share of time": ("throughput", "difference", INDEX_MATTERS),
    "s": ("completion", "ratio", SHARE_MATTERS),
}


@dataclass(frozen=True)
class Yardstick:
    """A criterion, and the goal that it stands for if the user has named one."""

    criterion: Criterion
    goal: Goal | None = None

    @property
    def title(self) -> str:
        """The goal in the user's words, or the criterion's title."""
        return str(self.goal) if self.goal else self.criterion.title

    def judged(self, values: Values) -> Values:
        """The values, with those beyond the bound as the bound: more is worth nothing."""
        if self.goal is None or self.goal.bound is None:
            return values
        return self.goal.sign * self.goal.merit(values)


def yardsticks(plan: Plan, goals: Sequence[Goal]) -> tuple[Yardstick, ...]:
    """Those of the goals; without goals those of the scenario, with one for all pages and one for all files."""
    if goals:
        return tuple(Yardstick(_criterion(goal), goal) for goal in goals)
    there = {flow["application"]["name"] for flow in plan["flows"]}
    words = [word for word in ("pages", "files") if there & set(WORDS[word].needs)]
    of_scenario = [each for each in criteria(plan) if each.judged and not (words and each.kind == "completion")]
    return (*map(Yardstick, of_scenario), *(yardsticks(plan, parsed(words)) if words else ()))


def total(plan: Plan, among: Sequence[Yardstick]) -> Yardstick | None:
    """The goodput of all TCP flows; None if it is one of the goals, or if there are no such flows."""
    [found] = yardsticks(plan, parsed("total"))
    is_there = any(each.criterion.id in ("total", found.criterion.id) for each in among)
    has_tcp = any(transport(flow["application"]["name"]) == "tcp" for flow in plan["flows"])
    return found if has_tcp and not is_there else None


def judging(among: Sequence[Yardstick]) -> Callable[[str, Values], Values]:
    """The values by which each criterion decides."""
    by_key = {each.criterion.id: each for each in among}
    return lambda key, values: by_key[key].judged(values)


def _criterion(goal: Goal) -> Criterion:
    kind, scale, matters = _MATTERS.get(goal.unit, ("delay", "ratio", SHARE_MATTERS))
    better: Literal["more", "less"] = "more" if goal.better == "highest" else "less"
    resolution = float(np.log1p(RESOLUTION)) if scale == "ratio" and "_p" in goal.metric else 0.0
    title = goal.word or goal.metric
    return Criterion(goal.metric, kind, title, goal.unit, better, scale, matters, _by_name, resolution=resolution)


def _by_name(runs: CellRuns) -> Values:
    raise TypeError("a goal's values are those of the metric in the results: wifair.advising.yardsticks.found")


def found(results: Results, plan: Plan, wanted: Sequence[Yardstick]) -> dict[str, dict[str, Values]]:
    """By cell of the results and yardstick, one value per seed; and the shares of transfers that do not end."""
    own = [each.goal.own for each in wanted if each.goal and each.goal.own]
    results = results.with_metrics(*own)
    runs = Runs.of(results)
    values: dict[str, dict[str, Values]] = {}
    for cell in results.cells:
        mine = {
            each.criterion.id: results.values(cell.name, each.goal.metric).fill_null(np.nan).to_numpy()
            if each.goal
            else each.criterion.values(runs.cell(**cell.keys))
            for each in wanted
        }
        values[cell.name] = mine | unfinished_shares(plan, runs.cell(**cell.keys))
    return values


def of_flows(plan: Plan) -> list[Criterion]:
    """One criterion per group of flows: what its application is for."""
    found: dict[str, Criterion] = {}
    for flow in plan["flows"]:
        name = str(flow["group"]) or str(flow["label"])
        if name not in found:
            found[name] = _of_group(name, flow["application"], "group" if flow["group"] else "label")
    return list(found.values())


def _of_group(name: str, application: Mapping[str, Any], column: str) -> Criterion:
    kind = application["name"]
    if kind in ("transfers", "web") or (kind == "bulk" and application.get("transfer_bytes")):
        return Criterion(
            f"flow:{name}",
            "completion",
            name,
            "s per transfer",
            "less",
            "ratio",
            SHARE_MATTERS,
            lambda runs: (
                runs.transfers("mean_with_unfinished_s", name)
                if "transfer_groups" in runs.names
                else np.full(len(runs.seeds), np.nan)
            ),
        )
    if kind == "bulk":
        return Criterion(
            f"flow:{name}",
            "throughput",
            name,
            "Mbps of payload",
            "more",
            "ratio",
            THROUGHPUT_MATTERS,
            lambda runs: _sum(runs.flows("goodput_mbps", **{column: name})),
        )
    quantity = "rtt_p95_ms" if kind == "ping" else "delay_p95_ms"
    unit = f"ms{' round trip' if kind == 'ping' else ' one way'}, 95 % quantile"

    def delays(runs: CellRuns) -> Values:
        import polars as pl

        mine = runs.table("datagrams").filter(pl.col(column) == name)
        by_seed = mine.group_by("seed").agg(pl.col(quantity).cast(pl.Float64).max())
        joined = pl.DataFrame({"seed": runs.seeds}).join(
            by_seed.with_columns(pl.col("seed").cast(pl.Int64)), on="seed", how="left", maintain_order="left"
        )
        values: Values = joined[quantity].fill_null(np.nan).to_numpy()
        return values

    resolution = float(np.log1p(RESOLUTION))
    return Criterion(f"flow:{name}", "delay", name, unit, "less", "ratio", SHARE_MATTERS, delays, resolution=resolution)


def _sum(values: Values) -> Values:
    total: Values = values.sum(axis=1)
    return total
