"""Scenarios compared pair by pair under common random numbers: with the same seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from wifair.stats import holm, p_value, paired_difference

if TYPE_CHECKING:
    from wifair.precision import Precision
    from wifair.results import ResultCell, Results

# What scenarios are compared by unless they say.
COMPARED = ("jain", "up_mbps", "down_mbps", "total_mbps", "ap_sojourn_mean_ms")

# A scenario's name, and that of the one that it is held against.
Pair = tuple[str, str]


def against_first(cells: Sequence[ResultCell]) -> list[Pair]:
    """Every scenario against the first one."""
    return [(cell.name, cells[0].name) for cell in cells[1:]]


def along(cells: Iterable[ResultCell], path: str) -> list[Pair]:
    """Every value of a coordinate against its first one, where all other coordinates are the same."""
    first: dict[tuple[object, ...], str] = {}
    pairs = []
    for cell in cells:
        others = tuple((key, value) for key, value in cell.keys.items() if key != path)
        reference = first.setdefault(others, cell.name)
        if reference != cell.name:
            pairs.append((cell.name, reference))
    return pairs


def paired(
    results: Results, pairs: Iterable[Pair], metrics: Sequence[str], wishes: Sequence[Precision] = ()
) -> list[dict[str, Any]]:
    """The differences, pair by pair and metric by metric, with p values corrected by Holm over all of them.

    With a wish for a metric, also how many seeds make the difference's interval that narrow; a share is one of the mean of
    what the scenario is held against.
    """
    wished = {wish.metric: wish for wish in wishes}
    rows: list[dict[str, Any]] = []
    for name, reference in pairs:
        for metric in dict.fromkeys([*metrics, *wished]):
            a, b = (_by_seed(results, cell, metric) for cell in (name, reference))
            both = a.join(b, on="seed", suffix="_reference").drop_nulls()
            if not both.height:
                continue
            mine, theirs = both["value"].to_numpy(), both["value_reference"].to_numpy()
            found = paired_difference(mine, theirs)
            row = {
                "scenario": name,
                "against": reference,
                "metric": metric,
                "difference": found.difference.estimate,
                "ci_low": found.difference.low,
                "ci_high": found.difference.high,
                "runs": found.difference.n,
                "identical": found.difference.identical and found.difference.estimate == 0,
                "correlation": found.correlation,
                "p": p_value(mine - theirs),
            }
            if metric in wished:
                mean = float(theirs.mean())
                row["half_width_wanted"] = wished[metric].wanted(mean)
                row["seeds_needed"] = wished[metric].seeds(mine - theirs, mean)
            rows.append(row)
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = adjusted
    return rows


def _by_seed(results: Results, scenario: str, metric: str) -> pl.DataFrame:
    own = results.metrics.filter(pl.col("scenario") == scenario)
    return own.select("seed", value=pl.col(metric).cast(pl.Float64))
