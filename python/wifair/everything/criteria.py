"""The criteria by which schemes are judged, and the differences that matter.

A criterion is one number per replication. A scenario's applications determine its criteria: the rating for calls,
completion times for files, fairness and throughput for endless flows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from wifair.papers.runs import CellRuns
from wifair.results.quantiles import RESOLUTION
from wifair.stats import Interval, Values, jain_rows, paired_difference, ratio

Plan: TypeAlias = Mapping[str, Any]

# The kinds of criteria, in the order of the output.
Kind: TypeAlias = Literal["fairness", "throughput", "delay", "completion"]
KINDS: tuple[Kind, ...] = ("fairness", "throughput", "delay", "completion")

# The keys of a station that define its link.
LINK = (
    "phy",
    "rate_mbps",
    "rate_down_mbps",
    "mcs",
    "mcs_down",
    "streams",
    "frame_error_rate",
    "position_m",
    "velocity_m_per_s",
)

# From which difference on it matters. An index and a number as everywhere here (a published number counts as reproduced within
# these), but throughput, which users pay for by the megabit, at half of that; a rating at a tenth of a point, a loss at a
# percent.
INDEX_MATTERS = 0.02
SHARE_MATTERS = 0.10
THROUGHPUT_MATTERS = 0.05
RATING_MATTERS = 0.1
LOSS_MATTERS = 0.01


@dataclass(frozen=True)
class Criterion:
    """One number per replication, and what is better.

    A `ratio` is compared by its logarithm, so differences are factors, and `matters` is a share. Criteria that are not
    `judged` are shown but do not decide.
    """

    id: str
    kind: Kind
    title: str
    unit: str
    better: Literal["more", "less"]
    scale: Literal["difference", "ratio"]
    matters: float
    values: Callable[[CellRuns], Values]
    judged: bool = True
    # The histogram's resolution on the scale that is compared: quantiles that differ by less are not distinguishable.
    resolution: float = 0.0

    @property
    def margin(self) -> float:
        """The smallest difference that matters, on the scale of `advantage`."""
        return float(np.log1p(self.matters)) if self.scale == "ratio" else self.matters

    def merit(self, values: Values) -> Values:
        """The values transformed so that more is better and differences are comparable; NaN stays NaN."""
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = np.log(values) if self.scale == "ratio" else values
        signed = scaled if self.better == "more" else -scaled
        return np.where(np.isfinite(signed), signed, np.nan)

    def effect(self, values: Values, reference: Values) -> Interval:
        """The effect of a scheme against another, paired by seed: a difference or a factor, with its 95 % interval."""
        if self.scale == "difference":
            return paired_difference(values, reference, resolution=self.resolution).difference
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(values), np.log(reference)
            found = paired_difference(*logs, resolution=self.resolution).difference
        ends = [None if end is None else float(np.exp(end)) for end in (found.low, found.high)]
        return Interval(float(np.exp(found.estimate)), ends[0], ends[1], found.n, found.identical)

    def effect_text(self, found: Interval, interval: bool = True) -> str:
        """A difference or a factor in words."""
        if not found.n:
            return "–"
        written = "{:+.3f}".format if self.scale == "difference" else number
        sign = "" if self.scale == "difference" else "× "
        ends = ""
        if interval and found.low is not None and found.high is not None and not found.identical:
            ends = f" [{written(found.low)}, {written(found.high)}]"
        return f"{sign}{written(found.estimate)}{ends}"


def number(value: float) -> str:
    """Three digits, and large numbers without an exponent."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:.3g}"


def bulk(plan: Plan) -> list[int]:
    """The indexes of the flows with endless data."""
    return [i for i, flow in enumerate(plan["flows"]) if _endless(flow["application"])]


def _endless(application: Mapping[str, Any]) -> bool:
    return bool(application["name"] == "bulk" and application.get("transfer_bytes") is None)


def links_differ(plan: Plan, flows: list[int]) -> bool:
    """Whether the stations of these flows ever have different links (rate or errors)."""
    of_flows = {plan["flows"][i]["station"] for i in flows}
    links = [
        {key: value for key, value in station.items() if key in LINK}
        for station in plan["bss"]["stations"]
        if station["label"] in of_flows
    ]
    changed = {event["station"]["label"] for event in plan.get("events") or [] if event.get("station")}
    return any(link != links[0] for link in links) or bool(changed & of_flows)


def criteria(plan: Plan) -> list[Criterion]:
    """The criteria of a scenario."""
    endless = bulk(plan)
    directions = {plan["flows"][i]["direction"] for i in endless}
    differ = len(endless) > 1 and links_differ(plan, endless)
    found: list[Criterion] = []
    if len(endless) > 1:
        found.append(_flows(endless, judged=not differ))
    if len(directions) > 1 and len(endless) > 2:  # for two flows it equals the fairness between them
        found.append(_directions(plan, endless))
    if differ:
        found.append(_airtime(plan, endless))
    if endless:
        found.append(_total(plan))
    found += _delays(plan, endless)
    found += _transfers(plan)
    return found


def _flows(endless: Sequence[int], judged: bool) -> Criterion:
    return Criterion(
        "flows",
        "fairness",
        "fairness between flows",
        "Jain's index of goodput",
        "more",
        "difference",
        INDEX_MATTERS,
        lambda runs: jain_rows(runs.flows("goodput_mbps")[:, endless]),
        judged,
    )


def _directions(plan: Plan, endless: list[int]) -> Criterion:
    ways = [[i for i in endless if plan["flows"][i]["direction"] == way] for way in ("up", "down")]

    def values(runs: CellRuns) -> Values:
        goodput = runs.flows("goodput_mbps")
        return jain_rows(np.stack([goodput[:, way].mean(axis=1) for way in ways], axis=1))

    return Criterion(
        "directions",
        "fairness",
        "fairness between directions",
        "Jain's index of the two mean goodputs",
        "more",
        "difference",
        INDEX_MATTERS,
        values,
    )


def _airtime(plan: Plan, endless: list[int]) -> Criterion:
    order = [station["label"] for station in plan["bss"]["stations"]]
    wanted = sorted({order.index(plan["flows"][i]["station"]) for i in endless})

    def values(runs: CellRuns) -> Values:
        ways = [runs.stations("airtime_s", direction=way) for way in ("up", "down")]
        return jain_rows((ways[0] + ways[1])[:, wanted])

    return Criterion(
        "airtime",
        "fairness",
        "fairness in airtime",
        "Jain's index of the stations' airtime",
        "more",
        "difference",
        INDEX_MATTERS,
        values,
    )


def _total(plan: Plan) -> Criterion:
    """All goodput. The metric `total_mbps` of results has TCP's alone."""
    datagrams = any(flow["application"]["name"] in FELT for flow in plan["flows"])
    return Criterion(
        "total",
        "throughput",
        "total goodput",
        f"Mbps of payload{', datagrams included' if datagrams else ''}",
        "more",
        "ratio",
        THROUGHPUT_MATTERS,
        lambda runs: runs.flows("goodput_mbps").sum(axis=1),
    )


def _delays(plan: Plan, endless: list[int]) -> list[Criterion]:
    """The criteria of delay: from pings, calls, games and streams if there are any, else from the TCP flows' RTT."""
    there = {flow["application"]["name"] for flow in plan["flows"]}
    found = [felt for application, mine in FELT.items() if application in there for felt in mine]
    return found or ([_rtt(endless)] if endless else [])


def _of_datagrams(
    application: str, column: str, of_streams: Callable[[pl.Expr], pl.Expr]
) -> Callable[[CellRuns], Values]:
    """One value per replication from a column of an application's datagrams, combined over its streams."""

    def values(runs: CellRuns) -> Values:
        mine = runs.table("datagrams").filter(pl.col("application") == application)
        found = mine.group_by("seed").agg(of_streams(pl.col(column).cast(pl.Float64)))
        seeds = pl.DataFrame({"seed": runs.table("runs")["seed"]})
        joined = seeds.join(found, on="seed", how="left", maintain_order="left")
        return joined[column].fill_null(float("nan")).to_numpy()

    return values


def _felt(id: str, title: str, unit: str, values: Callable[[CellRuns], Values]) -> Criterion:
    resolution = float(np.log1p(RESOLUTION)) if "quantile" in unit else 0.0
    return Criterion(id, "delay", title, unit, "less", "ratio", SHARE_MATTERS, values, resolution=resolution)


# By application. For calls the worse direction counts.
FELT: Mapping[str, Sequence[Criterion]] = {
    "ping": (_felt("ping", "ping under load", "ms, 95 % quantile", _of_datagrams("ping", "rtt_p95_ms", pl.Expr.mean)),),
    "voip": (
        Criterion(
            "call",
            "delay",
            "a call's rating",
            "MOS, the worse direction",
            "more",
            "difference",
            RATING_MATTERS,
            _of_datagrams("voip", "mos", pl.Expr.min),
        ),
    ),
    "game": (
        _felt(
            "game", "a game's delay", "ms one way, 95 % quantile", _of_datagrams("game", "delay_p95_ms", pl.Expr.mean)
        ),
    ),
    "udp": (
        _felt(
            "stream",
            "a stream's delay",
            "ms one way, 95 % quantile",
            _of_datagrams("udp", "delay_p95_ms", pl.Expr.mean),
        ),
        Criterion(
            "stream-loss",
            "delay",
            "a stream's losses",
            "share of its packets",
            "less",
            "difference",
            LOSS_MATTERS,
            _of_datagrams("udp", "loss_ratio", pl.Expr.mean),
        ),
    ),
}


def _rtt(endless: list[int]) -> Criterion:
    def values(runs: CellRuns) -> Values:
        rtt = runs.flows("rtt_mean_ms")[:, endless]
        there = np.isfinite(rtt)
        return ratio(np.where(there, rtt, 0.0).sum(axis=1), there.sum(axis=1))

    return _felt("rtt", "TCP's round trip", "ms, mean of the flows' means", values)


@dataclass(frozen=True)
class Transfers:
    """Groups of flows with the same application in the same direction, whatever their links: one criterion."""

    groups: Mapping[str, int]
    # The mean time for which these flows are measured.
    measured_s: float

    @property
    def title(self) -> str:
        """The names of its groups."""
        return " and ".join(self.groups)

    def mean_s(self, runs: CellRuns) -> Values:
        """The mean time of a transfer; each group counts by its number of flows."""
        if GROUPS not in runs.names:
            return np.full(len(runs.seeds), np.nan)
        means = np.stack([runs.transfers("mean_with_unfinished_s", group) for group in self.groups])
        weights = np.where(np.isfinite(means), np.array([*self.groups.values()], dtype=float)[:, None], 0.0)
        return ratio((np.nan_to_num(means) * weights).sum(axis=0), weights.sum(axis=0))

    def unfinished(self, runs: CellRuns) -> Values:
        """The share of transfers that do not end, beyond the share that the end of the run cuts off, run by run.

        Of transfers that take T on average, one after the other for D seconds, the end of the run cuts off T / D.
        """
        if GROUPS not in runs.names:
            return np.zeros(len(runs.seeds))

        def of(column: str) -> Values:
            return np.array([np.nan_to_num(runs.transfers(column, group)) for group in self.groups])

        done, left = of("completed"), (of("timed_out") + of("unfinished")).sum(axis=0)
        begun = done.sum(axis=0) + left
        taken_s = float((done * of("mean_s")).sum()) / max(float(done.sum()), 1.0)
        return np.asarray((left - begun * taken_s / self.measured_s) / max(float(begun.mean()), 1.0))


# The number of frame exchanges: what a run costs, and a check that it is the same run.
EXCHANGES = "exchanges"
# Before the names of groups, in the names of measured values.
UNFINISHED = "unfinished:"
# A run without transfers has no rows in this table.
GROUPS = "transfer_groups"


def transfers(plan: Plan) -> list[Transfers]:
    """The files and documents of a scenario, by what is transferred."""
    alike: dict[str, list[Mapping[str, Any]]] = {}
    for flow in plan["flows"]:
        name = flow["application"]["name"]
        if name in ("transfers", "web") or (name == "bulk" and not _endless(flow["application"])):
            alike.setdefault(json.dumps([flow["direction"], flow["application"]], sort_keys=True), []).append(flow)
    return [
        Transfers(Counter(str(flow["group"]) for flow in flows), float(np.mean([_measured_s(plan, f) for f in flows])))
        for flows in alike.values()
    ]


def _measured_s(plan: Plan, flow: Mapping[str, Any]) -> float:
    """The mean time from a flow's start, or the end of the warm-up, to the end of the run."""
    run = plan["run"]
    duration_s, warmup_s = float(run["duration_s"]), float(run["warmup_s"])
    start_s = float(flow["start_s"]) + float(flow["start_spread_s"]) / 2
    return max(duration_s - max(start_s - warmup_s, 0.0), duration_s / 10)


def _transfers(plan: Plan) -> list[Criterion]:
    """The criteria of completion times of files and documents."""
    return [
        Criterion(
            f"time:{next(iter(mine.groups))}",
            "completion",
            f"time of a transfer, {mine.title}",
            "s, mean, unfinished ones until the end",
            "less",
            "ratio",
            SHARE_MATTERS,
            mine.mean_s,
        )
        for mine in transfers(plan)
    ]


def measured(plan: Plan, runs: CellRuns) -> dict[str, Values]:
    """Everything that a verdict needs of a scheme's runs: by criterion, and the share of transfers that do not end by what they are.

    The values are rounded to seven digits (32 bits), in which they are kept next to the page that quotes them.
    """
    found = {c.id: c.values(runs) for c in criteria(plan)} | unfinished_shares(plan, runs)
    found[EXCHANGES] = runs.run("exchanges")
    return {name: values.astype(np.float32).astype(np.float64) for name, values in found.items()}


def unfinished_shares(plan: Plan, runs: CellRuns) -> dict[str, Values]:
    """The share of transfers that do not end by what they are."""
    return {f"{UNFINISHED}{mine.title}": mine.unfinished(runs) for mine in transfers(plan)}
