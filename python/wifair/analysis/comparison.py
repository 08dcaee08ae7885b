"""Paired comparisons of scenarios under common random numbers (the same seeds)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from wifair.drawn import Drawn, Picture, drawing
from wifair.errors import InputError
from wifair.results.quantiles import resolution_of
from wifair.stats import LEVEL, Interval, holm, p_value, paired_difference, t_interval

if TYPE_CHECKING:
    from wifair.analysis.precision import Precision
    from wifair.results.results import ResultCell, Results

# Metrics compared by default. A metric that one of a pair does not have is left out.
COMPARED = (
    "jain",
    "up_mbps",
    "down_mbps",
    "total_mbps",
    "ap_sojourn_mean_ms",
    "ping_p50_ms",
    "ping_p95_ms",
    "delay_p95_ms",
    "datagram_loss_ratio",
    "mos_least",
    "transfer_mean_s",
)

# The better direction of each metric that has one.
BETTER = {
    "jain": "highest",
    "total_mbps": "highest",
    "ap_sojourn_mean_ms": "lowest",
    "ping_p95_ms": "lowest",
    "delay_p95_ms": "lowest",
    "mos_least": "highest",
    "transfer_mean_s": "lowest",
}

# A scenario's name, and the name of the reference.
Pair = tuple[str, str]


def against_first(cells: Sequence[ResultCell]) -> list[Pair]:
    """Every scenario against the first one."""
    return [(cell.name, cells[0].name) for cell in cells[1:]]


def all_pairs(cells: Sequence[ResultCell]) -> list[Pair]:
    """Every scenario against each one before it."""
    return [(cell.name, other.name) for i, cell in enumerate(cells) for other in cells[:i]]


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


class Differences(list[dict[str, Any]], Drawn):
    """Paired differences, one row (a dictionary) per pair and metric. Notebooks show them as a table."""

    def frame(self) -> pl.DataFrame:
        """The rows as a polars frame."""
        return pl.DataFrame(list(self), infer_schema_length=None)

    def plot(self) -> Picture:
        """A panel per metric, a row per pair: the difference with its 95 % interval, and a line at zero."""
        if not self:
            raise InputError("there is nothing to plot: no pair was compared.")
        chart: Picture = drawing().measured.differences(self)[0]
        return chart


def paired(
    results: Results, pairs: Iterable[Pair], metrics: Sequence[str], wishes: Sequence[Precision] = ()
) -> Differences:
    """The paired differences by pair and metric, with p values corrected by Holm over all of them.

    For a metric in `wishes`, a row also has the number of seeds that gives the difference's interval that half-width. A
    relative half-width refers to the mean of the reference.
    """
    wished = {wish.metric: wish for wish in wishes}
    rows = Differences()
    for name, reference in pairs:
        for metric in dict.fromkeys([*metrics, *wished]):
            a, b = (_by_seed(results, cell, metric) for cell in (name, reference))
            both = a.join(b, on="seed", suffix="_reference").drop_nulls()
            if not both.height:
                continue
            mine, theirs = both["value"].to_numpy(), both["value_reference"].to_numpy()
            resolution = resolution_of(metric, mine, theirs)
            found = paired_difference(mine, theirs, resolution=resolution)
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
                "p": p_value(mine - theirs, resolution=resolution),
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


@dataclass(frozen=True)
class Ranking:
    """The best scenario by a metric, those not distinguishable from it, and the margins to the others.

    `leader` has the best mean. The others are compared with it, paired by seed. `equals` are those whose difference
    does not differ significantly from zero after Holm's correction over all of them. `behind` are the others, each with
    the leader's margin, smallest first.
    """

    metric: str
    leader: str
    mean: Interval
    equals: tuple[str, ...]
    behind: tuple[tuple[str, Interval], ...]

    @property
    def leaders(self) -> tuple[str, ...]:
        """The leader and the scenarios not distinguishable from it."""
        return (self.leader, *self.equals)


def ranking(results: Results, metric: str, names: Sequence[str] = ()) -> Ranking | None:
    """Ranks the scenarios (`names`, or all) by a metric in `BETTER`. None if no scenario has a value."""
    sign = 1.0 if BETTER[metric] == "highest" else -1.0
    candidates = names or [cell.name for cell in results.cells]
    means = {name: results.interval(name, metric) for name in candidates}
    measured = [name for name, found in means.items() if found.n]
    if not measured:
        return None
    leader = max(measured, key=lambda name: sign * means[name].estimate)
    others = [name for name in measured if name != leader]
    margins, resolutions = [], []
    for name in others:
        a, b = (_by_seed(results, each, metric) for each in (leader, name))
        both = a.join(b, on="seed", suffix="_other").drop_nulls()
        margins.append(sign * (both["value"] - both["value_other"]).to_numpy())
        resolutions.append(resolution_of(metric, *both.select("value", "value_other").get_columns()))
    tested = list(zip(margins, resolutions, strict=True))
    adjusted = holm([p_value(margin, resolution=resolution) for margin, resolution in tested])
    found = [
        (name, t_interval(margin, resolution=resolution), p)
        for name, (margin, resolution), p in zip(others, tested, adjusted, strict=True)
    ]
    behind = sorted(((n, d) for n, d, p in found if p < 1 - LEVEL), key=lambda item: item[1].estimate)
    return Ranking(metric, leader, means[leader], tuple(n for n, _, p in found if p >= 1 - LEVEL), tuple(behind))
