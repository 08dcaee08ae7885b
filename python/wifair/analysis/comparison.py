"""Paired comparisons of scenarios under common random numbers (the same seeds)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from wifair.drawn import Drawn, Plot, drawing
from wifair.errors import InputError
from wifair.keys import unknown
from wifair.results.quantiles import resolution_of
from wifair.stats import LEVEL, Interval, Values, holm, p_value, paired_difference

if TYPE_CHECKING:
    from wifair.analysis.precision import Precision
    from wifair.results.results import ResultCell, Results

# Metrics compared by default. A metric that one of a pair does not have is left out.
COMPARED = (
    "jain",
    "jain_airtime",
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

# The largest number of scenarios that are ranked: a hundred thousand tests decide nothing.
MOST_RANKED = 50

# A scenario's name, and the name of the reference.
Pair = tuple[str, str]


def against_first(cells: Sequence[ResultCell]) -> list[Pair]:
    """Every scenario against the first one."""
    return [(cell.name, cells[0].name) for cell in cells[1:]]


def all_pairs(cells: Sequence[ResultCell]) -> list[Pair]:
    """Every scenario against each one before it."""
    return [(cell.name, other.name) for i, cell in enumerate(cells) for other in cells[:i]]


def along(cells: Iterable[ResultCell], *paths: str) -> list[Pair]:
    """Every value of a coordinate, or of several that vary together, against the first one, where all other coordinates are the same."""
    first: dict[tuple[object, ...], str] = {}
    pairs = []
    for cell in cells:
        others = tuple((key, value) for key, value in cell.keys.items() if key not in paths)
        reference = first.setdefault(others, cell.name)
        if reference != cell.name:
            pairs.append((cell.name, reference))
    return pairs


# The most rows of differences that are printed.
MOST_PRINTED = 100
# Columns of a printed table of differences.
PRINTED = ("scenario", "against", "metric", "difference", "ci_low", "ci_high", "unit", "p_holm")


class Differences(list[dict[str, Any]], Drawn):
    """Paired differences, one row (a dictionary) per pair and metric. They print as a table; notebooks show it as HTML."""

    def __repr__(self) -> str:
        if not self:
            return "Differences: none"
        with pl.Config(tbl_rows=MOST_PRINTED, tbl_width_chars=120, fmt_str_lengths=60):
            return (
                f"Differences seed by seed, with 95 % intervals and p values after Holm\n{self.frame().select(PRINTED)}"
            )

    def only(self, pairs: Iterable[Pair], metrics: Iterable[str] = ()) -> Differences:
        """The rows of these pairs (and metrics, if given), each way round, with their p values as they are."""
        found: dict[Pair, list[dict[str, Any]]] = {}
        wanted = set(metrics)
        for row in self:
            if not wanted or row["metric"] in wanted:
                found.setdefault((row["scenario"], row["against"]), []).append(row)
        reverse = {(b, a): [_reversed(row) for row in rows] for (a, b), rows in found.items()}
        return Differences(row for pair in pairs for row in (found.get(pair) or reverse.get(pair, [])))

    def frame(self) -> pl.DataFrame:
        """The rows as a polars frame."""
        return pl.DataFrame(list(self), infer_schema_length=None)

    def plot(self, labels: Mapping[str, str] | None = None) -> Plot:
        """A panel per metric, a row per pair: the difference with its 95 % interval, and a line at zero.

        `save("figure.pdf", width_in=3.5)` draws it for a paper, with `labels` for scenarios and metrics.
        """
        if not self:
            raise InputError("there is nothing to plot: no pair was compared.")
        chart: Plot = drawing().differences_plot(self, labels or {})
        return chart


def paired(
    results: Results, pairs: Iterable[Pair], metrics: Sequence[str], wishes: Sequence[Precision] = ()
) -> Differences:
    """The paired differences by pair and metric, with p values corrected by Holm over all of them.

    For a metric in `wishes`, a row also has the number of seeds that gives the difference's interval that half-width. A
    relative half-width refers to the mean of the reference.
    """
    wished = {wish.metric: wish for wish in wishes}
    tables = {metric: _by_seed(results, metric) for metric in dict.fromkeys([*metrics, *wished])}
    rows = Differences()
    for name, reference in pairs:
        for metric, table in tables.items():
            mine, theirs = table[name], table[reference]
            both = np.isfinite(mine) & np.isfinite(theirs)
            if not both.any():
                continue
            mine, theirs = mine[both], theirs[both]
            resolution = resolution_of(metric, mine, theirs)
            found = paired_difference(mine, theirs, resolution=resolution)
            row = {
                "scenario": name,
                "against": reference,
                "metric": metric,
                "unit": results.units[metric],
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


def decided(results: Results, metrics: Sequence[str] = (), wishes: Sequence[Precision] = ()) -> Differences:
    """All pairs by all metrics that are compared, user-defined ones and `metrics` included.

    One family of tests: what a comparison prints, and what its stars and sentences follow.
    """
    own = (metric.name for metric in results.own)
    return paired(results, all_pairs(results.cells), [*COMPARED, *own, *metrics], wishes)


def _by_seed(results: Results, metric: str) -> dict[str, Values]:
    """The metric of each scenario, by seed; NaN where it does not exist."""
    if metric not in results.units:
        raise unknown("metric", metric, results.units)
    place = {seed: i for i, seed in enumerate(results.metrics["seed"].unique().sort())}
    found = {cell.name: np.full(len(place), np.nan) for cell in results.cells}
    for scenario, seed, value in results.metrics.select("scenario", "seed", metric).drop_nulls().iter_rows():
        found[scenario][place[seed]] = value
    return found


@dataclass(frozen=True)
class Ranking:
    """The best scenario by a metric, those not distinguishable from it, and the margins to the others.

    `leader` has the best mean. `equals` are those whose paired difference from it is not significant at 5 % after
    Holm's correction over all rows of `decided`. `behind` are the others, each with the leader's margin, smallest first.
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


def rankings(results: Results, rows: Differences | None = None) -> dict[str, Ranking]:
    """The ranking by each metric that has a better direction and a value, from the differences of all pairs.

    Empty for more than `MOST_RANKED` scenarios: a grid of that size is for a figure.
    """
    if len(results.cells) > MOST_RANKED:
        return {}
    rows = decided(results) if rows is None else rows
    tested = {(row["scenario"], row["against"], row["metric"]): row for row in rows}
    return {metric: found for metric in results.better if (found := _ranking(results, metric, tested))}


def _ranking(results: Results, metric: str, tested: Mapping[tuple[str, str, str], Mapping[str, Any]]) -> Ranking | None:
    highest = results.better[metric] == "highest"
    means = {cell.name: results.interval(cell.name, metric) for cell in results.cells}
    means = {name: found for name, found in means.items() if found.n}
    if not means:
        return None
    leader = (max if highest else min)(means, key=lambda name: means[name].estimate)
    equals: list[str] = []
    behind: list[tuple[str, Interval]] = []
    for name in means:
        reverse = tested.get((name, leader, metric))
        row = tested.get((leader, name, metric)) or (reverse and _reversed(reverse))
        if name == leader:
            continue
        if not row or not row["p_holm"] < 1 - LEVEL:
            equals.append(name)
        else:
            behind.append((name, _difference(row if highest else _reversed(row))))
    return Ranking(metric, leader, means[leader], tuple(equals), tuple(sorted(behind, key=lambda b: b[1].estimate)))


def _reversed(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with the pair the other way round."""
    turned = {"scenario": row["against"], "against": row["scenario"], "difference": -row["difference"]}
    ends = [None if end is None else -end for end in (row["ci_high"], row["ci_low"])]
    return {**row, **turned, "ci_low": ends[0], "ci_high": ends[1]}


def _difference(row: Mapping[str, Any]) -> Interval:
    return Interval(row["difference"], row["ci_low"], row["ci_high"], row["runs"], row["ci_low"] == row["ci_high"])
