"""Results as parts of a report: for a scenario, a comparison of schemes, or a study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from wifair.analysis.comparison import Differences, Pair, Ranking, rankings
from wifair.keys import some_of
from wifair.report import charts
from wifair.report.parts import Cell, Chart, Findings, Part, Section, Table, Text, cell
from wifair.results import delays
from wifair.results import wire as of_the_wire
from wifair.results.fairness import UNIT
from wifair.results.quantiles import interval_of
from wifair.results.results import HEADINGS, TRANSFER_UNITS, least
from wifair.stats import Interval, t_interval

if TYPE_CHECKING:
    from wifair.results.results import ResultCell, Results

# The largest number of scenarios with panels of single flows; tables have all.
MOST_PANELS = 12
# The words for the best value, before the value with its unit.
BEST_IS = {
    "jain": "is the fairest: Jain's index",
    "jain_airtime": "shares the air most equally: Jain's index of the stations' airtime",
    "total_mbps": "carries most:",
    "ap_sojourn_mean_ms": "keeps packets waiting least at the access point: on the mean",
    "ping_p95_ms": "answers pings soonest: 95 % within",
    "delay_p95_ms": "delivers datagrams soonest: 95 % within",
    "mos_least": "serves calls best: the least opinion score is",
    "transfer_mean_s": "completes transfers soonest: on the mean after",
}
AIR = {
    "airtime_up_share": "uplink frames",
    "airtime_down_share": "downlink frames",
    "collision_share": "collisions",
    "beacon_share": "beacons",
    "idle_share": "idle and backoff",
}
LOSSES = {
    "tail_drop_packets": "refused",
    "evicted_packets": "pushed out",
    "aqm_drop_packets": "dropped by rule",
    "filtered_packets": "redundant ACKs removed",
    "retry_lost_packets": "retry limit",
}


# Headings that need no table around them to be clear.
ALONE = {"up_mbps": "goodput up", "down_mbps": "goodput down", "total_mbps": "total goodput"}


def heading(metric: str) -> str:
    """A metric's name in figures."""
    return ALONE.get(metric) or HEADINGS.get(metric, metric)


def titled(metric: str, unit: str) -> str:
    """A metric with its unit, if it has one."""
    return heading(metric) if unit in ("", UNIT) else f"{heading(metric)} [{unit}]"


def names(results: Results) -> list[str]:
    """The scenarios that have results."""
    there = set(results.runs["scenario"])
    return [cell.name for cell in results.cells if cell.name in there]


def cautions(results: Results) -> list[Part]:
    """Warnings at the top: missing replications, a single run, settings without effect."""
    told = results.warnings()
    if len(results.seeds) == 1:
        told = ["A single run has no interval: take it as an example, not as a result.", *told]
    if results.missing:
        told = [f"{results.missing} requested replications are missing.", *told]
    return [Text(told, "warning")] if told else []


def findings(results: Results, whose: str = "scenario", compared: Differences | None = None) -> list[Part]:
    """The best scenario by each metric, in words; empty if there is nothing to compare.

    They follow the p values of `compared`, the differences of all pairs; they are computed if not given.
    """
    if len(names(results)) < 2:
        return []
    found = rankings(results, compared)
    return [Findings([sentence(each, whose, results) for each in found.values()])]


def sentence(found: Ranking, whose: str, results: Results) -> str:
    """A ranking as a sentence."""
    unit = results.units[found.metric]
    # Neither an index nor a scale (1 to 4.5) has a unit.
    unit = "" if unit in ("", UNIT) or unit[0].isdigit() else f" {unit}"
    best_is = BEST_IS.get(found.metric) or f"has the {results.better[found.metric]} `{found.metric}`:"
    told = [f"`{found.leader}` {best_is} {found.mean.short()}{unit}"]
    if found.equals:
        told.append(f"cannot be told apart from it: {_listed(found.equals)}")
    if found.behind:
        nearest, farthest = found.behind[0], found.behind[-1]
        last = f" and of `{farthest[0]}`, the last, by {farthest[1].short()}" if farthest != nearest else ""
        told.append(f"it is ahead of `{nearest[0]}` by {nearest[1].short()}{last}")
    if not found.behind:
        told.append(f"no {whose} is clearly behind")
    return "; ".join(told) + "."


def _listed(told: Sequence[str], most: int = 5) -> str:
    return some_of([f"`{name}`" for name in told], most)


def told_metrics(results: Results) -> list[str]:
    """The metrics shown for each scenario: the common ones, those of the wire, datagrams and transfers, and user-defined ones."""
    return [*results.shown_metrics(), *(own.name for own in results.own)]


def summary(results: Results, metrics: Sequence[str] = (), compared: Differences | None = None) -> list[Part]:
    """A table of means with intervals, a row per scenario. The best by each metric and its equals are marked."""
    shown, metrics = names(results), metrics or told_metrics(results)
    ranked = rankings(results, compared).values() if len(shown) > 1 else ()
    best = {(name, found.metric) for found in ranked if found.behind for name in found.leaders}
    headings = ["scenario", *(f"{HEADINGS.get(metric, metric)}\n{results.units[metric]}" for metric in metrics)]
    rows = []
    for name in shown:
        cells = [(metric, cell(results.interval(name, metric))) for metric in metrics]
        rows.append([name, *(replace(told, badge="best" if (name, metric) in best else "") for metric, told in cells)])
    caption = (
        f"Means ± half-widths of their 95 % intervals over {len(results.seeds)} replications; without ± all are alike."
    )
    if best:
        caption += f" Marked: the best, and what cannot be told apart from it.{_unmarked(metrics, best, results)}"
    return [Table.of(headings, rows, caption)]


def _unmarked(metrics: Sequence[str], best: set[tuple[str, str]], results: Results) -> str:
    """Why the other columns of a table have no mark."""
    marked = {metric for _, metric in best}
    bare = [metric for metric in metrics if metric not in marked and results.metrics[metric].count()]
    reasons = {
        "Nothing is clearly behind by": [metric for metric in bare if metric in results.better],
        "Not ranked": [metric for metric in bare if metric not in results.better],
    }
    listed = {reason: ", ".join(HEADINGS.get(metric, metric) for metric in of) for reason, of in reasons.items()}
    return "".join(f" {reason}: {columns}." for reason, columns in listed.items() if columns)


def quantities(results: Results, metrics: Sequence[str] = ()) -> list[Part]:
    """A panel per metric, a row per scenario, a dot per replication."""
    panels = []
    for metric in metrics or told_metrics(results):
        found = [(name, results.interval(name, metric)) for name in names(results)]
        found = [(name, interval) for name, interval in found if interval.n]
        runs = [run for name, _ in found for run in _runs(results, name, metric)]
        if found:
            unit = results.units[metric]
            domain = (0.0, 1.0) if unit == UNIT else None
            told: dict[str, Any] = {"title": heading(metric), "x_title": unit or metric}
            panels.append(charts.by_name(found, runs, **told, domain=domain, least=least(metric)))
    return [Chart(panels, "Mean with its 95 % interval; a small dot is a replication.")] if panels else []


def coordinates(cells: Sequence[ResultCell]) -> dict[str, list[str | int | float]]:
    """The coordinates that vary, with their values."""
    found: dict[str, list[str | int | float]] = {}
    for point in cells:
        for path, value in point.keys.items():
            if value not in found.setdefault(path, []):
                found[path].append(value)
    return {path: values for path, values in found.items() if len(values) > 1}


def over_grid(
    results: Results, cells: Sequence[ResultCell], axes: Mapping[str, Sequence[object]], metric: str
) -> list[Part]:
    """A metric over the grid: lines along the numeric coordinate with the most values, or without one a row per scenario."""
    in_numbers = {path: values for path, values in axes.items() if not any(isinstance(v, str) for v in values)}
    if not in_numbers:
        return quantities(results, [metric])
    along = max(in_numbers, key=lambda path: len(in_numbers[path]))
    rows = []
    for point in cells:
        found = results.interval(point.name, metric)
        if along in point.keys and found.n:
            others = ", ".join(f"{point.keys[path]}" for path in axes if path != along and path in point.keys)
            x = float(point.keys[along])
            rows.append({"series": others or "all", "x": x, **charts.interval_row(found)})
    names = list(dict.fromkeys(row["series"] for row in rows))
    told: dict[str, Any] = {
        "title": heading(metric),
        "x_title": along,
        "y_title": titled(metric, results.units[metric]),
        "series": names,
    }
    xs = [row["x"] for row in rows]
    wide = min(xs) > 0 and max(xs) / min(xs) >= 10
    domain = (0.0, 1.05) if results.units[metric] == UNIT else None
    told |= {"y_domain": domain, "y_least": least(metric)}
    panel = charts.lines(rows, **told, x_log=wide, x_values=sorted(set(xs)) if wide else ())
    return [Chart([panel], "Means with 95 % intervals; a click on a name in the legend lifts it out.", width=480)]


def _runs(results: Results, name: str, metric: str) -> Iterator[tuple[str, int, float]]:
    own = results.metrics.filter(pl.col("scenario") == name).select("seed", metric).drop_nulls()
    for seed, value in own.iter_rows():
        yield name, seed, value


def flows(results: Results) -> list[Part]:
    """Goodput by flow: a panel per scenario, all on the same scale."""
    keys = ["label", "direction"]
    told, rows = [], []
    for name in names(results):
        part = results.flows.filter(pl.col("scenario") == name)
        groups = [(*key, group) for key, group in part.group_by(keys, maintain_order=True)]
        means = [(f"{x}", f"{way}", t_interval(group["goodput_mbps"].to_numpy())) for x, way, group in groups]
        runs = list(part.select(*keys, "seed", "goodput_mbps").iter_rows())
        told.append((name, means, runs))
        columns = ("rtt_mean_ms", "retransmissions", "timeouts", "ap_lost_packets", "ap_filtered_packets")
        for (label, direction, goodput), (_, _, group) in zip(means, groups, strict=True):
            others = [t_interval(group[column].drop_nulls().to_numpy()) for column in columns]
            rows.append([name, label, direction, goodput, *others])
    reached = [found.high or found.estimate for _, means, _ in told for _, _, found in means]
    top = 1.05 * max([*reached, float(results.flows["goodput_mbps"].max() or 0.0)], default=1.0)  # type: ignore[arg-type]
    panels = [
        charts.flows(means, runs, title=name, y_title="goodput [Mbps of payload]", top=top)
        for name, means, runs in told[:MOST_PANELS]
    ]
    headings = ["scenario", "flow", "direction", "goodput\nMbps of payload", "RTT mean\nms", "retransmissions\na run"]
    headings += ["timeouts\na run", "lost at the AP\npackets a run", "filtered at the AP\nACKs a run"]
    caption = "Goodput of each flow: mean with its 95 % interval; a small dot is a replication."
    if len(told) > MOST_PANELS:
        caption += f" The first {MOST_PANELS} of {len(told)} scenarios; the table has all."
    return [Chart(panels, caption, Table.of(headings, rows), width=380)]


def air(results: Results) -> list[Part]:
    """Shares of airtime."""
    panel = charts.shares(air_shares(results), title="Who held the air", x_title="share of time")
    caption = "Airtime of frame exchanges by the direction of their data frame; means over the replications."
    return [Chart([panel], caption, width=480)]


def air_shares(results: Results) -> list[tuple[str, str, float]]:
    """Scenario, part of the airtime, and its share; without beacons if there were none."""
    return [
        (name, AIR[column], float(part[column].mean()))  # type: ignore[arg-type]
        for name in names(results)
        for part in [results.runs.filter(pl.col("scenario") == name)]
        for column in AIR
        if column != "beacon_share" or results.runs["beacons"].sum()
    ]


def losses(results: Results) -> list[Part]:
    """Fates of the packets offered to the AP's buffer, by class."""
    rows: list[Sequence[Any]] = []
    at_ap = results.queues.filter(pl.col("node") == "ap")
    for (name, kind), part in at_ap.group_by("scenario", "class", maintain_order=True):
        offered = part["offered_packets"].cast(pl.Float64)
        if kind in ("data", "ack", "all") and offered.sum() > 0:
            gone = [100 * part[column] / offered for column in LOSSES]
            shares = [t_interval(share.fill_nan(None).drop_nulls().to_numpy()) for share in gone]
            rows.append([name, kind, t_interval(offered.to_numpy()), *shares])
    headings = ("scenario", "class", "offered\npackets a run", *(f"{told}\n% of offered" for told in LOSSES.values()))
    return [Table.of(headings, rows, "What became of packets offered to the access point, by class.")] if rows else []


def wire(results: Results) -> list[Part]:
    """The queues before the wire that all servers share."""
    columns = ("packets", "wait_mean_ms", "length_mean_packets")
    rows = [
        [*map(str, key), *(t_interval(part[column].drop_nulls().cast(pl.Float64).to_numpy()) for column in columns)]
        for key, part in of_the_wire.table(results.frames).group_by("scenario", "direction", maintain_order=True)
        if part["packets"].sum() > 0
    ]
    headings = ("scenario", "direction", "packets\na run", "wait\nms, mean", "queue\npackets, mean")
    about = "The queues before the wire that all servers share, which have no limit: means with 95 % intervals."
    return [Table.of(headings, rows, about)] if rows else []


def transfers(results: Results) -> list[Part]:
    """Completion times by group, if there are transfers."""
    if "transfer_groups" not in results.frames:
        return []
    whole = results.transfer_groups.filter(pl.col("bytes").is_null())
    rows = []
    for key, part in whole.group_by("scenario", "group", maintain_order=True):
        found = [
            interval_of(metric, part[metric].drop_nulls().cast(pl.Float64).to_numpy()) for metric in TRANSFER_UNITS
        ]
        rows.append([*map(str, key), *found])
    headings = ("scenario", "group", *(f"{m.removesuffix('_s')}\n{unit}" for m, unit in TRANSFER_UNITS.items()))
    return [Table.of(headings, rows, "Transfers of all sizes: means over the replications, 95 % intervals.")]


def datagrams(results: Results) -> list[Part]:
    """Delay, jitter, loss and MOS of non-TCP flows, without empty columns."""
    if "datagrams" not in results.frames:
        return []
    shown = {metric: unit for metric, unit in delays.STREAM_UNITS.items() if results.datagrams[metric].count()}
    keys = ("scenario", "label", "application", "direction")
    rows = [
        [*map(str, key), *(interval_of(metric, part[metric].drop_nulls().to_numpy()) for metric in shown)]
        for key, part in results.datagrams.group_by(*keys, maintain_order=True)
    ]
    units = (f"{metric.removesuffix('_ms').replace('_', ' ')}\n{unit}" for metric, unit in shown.items())
    return [Table.of(("scenario", "flow", "carries", "direction", *units), rows, "Means over the replications.")]


# Time series to draw: metric, title, unit, and whether it is the AP's or per flow.
COURSES = (
    ("goodput_mbps", "Goodput of each flow", "Mbps of payload"),
    ("queue_packets", "Length of the access point's queue", "packets"),
    ("limit_packets", "Limit of the access point's queue", "packets"),
    ("srtt_ms", "Smoothed RTT of each flow", "ms"),
    ("delay_ms", "One-way delay of datagrams", "ms"),
    ("link_rate_up_mbps", "Link rate, uplink", "Mbps"),
    ("link_rate_down_mbps", "Link rate, downlink", "Mbps"),
)
MOST_COURSES = 12
MOST_SAMPLES = 400


def series(results: Results) -> list[Part]:
    """Time series, if the scenario sets a sampling interval: means over the replications, shaded by their intervals."""
    parts: list[Part] = []
    for name in names(results)[:MOST_PANELS]:
        panels = [_course(*told) for told in courses(results, name)]
        if panels:
            caption = f"`{name}` over time: means over the replications, shaded by their 95 % intervals."
            parts.append(Chart(panels, caption, width=420))
    return parts


def courses(results: Results, name: str) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """A scenario's time series: title, unit and rows; those that vary, of at most `MOST_COURSES` entities."""
    frame = results.frames.get("series")
    own = frame.filter(pl.col("scenario") == name).drop_nulls("value") if frame is not None else pl.DataFrame()
    for metric, title, unit in COURSES if own.height else ():
        part = own.filter(pl.col("metric") == metric)
        if 0 < part["entity"].n_unique() <= MOST_COURSES and part["value"].n_unique() > 1:
            yield title, unit, part


def _course(title: str, unit: str, part: pl.DataFrame) -> Any:
    entities = part["entity"].unique(maintain_order=True).to_list()
    times = part["time_s"].unique().sort()
    shown = set(times.gather_every(max(1, -(-times.len() // MOST_SAMPLES))))
    rows = [
        {"series": entity, "x": at, **charts.interval_row(t_interval(group["value"].to_numpy()))}
        for (entity, at), group in part.filter(pl.col("time_s").is_in(shown)).group_by(
            "entity", "time_s", maintain_order=True
        )
    ]
    domain = (0.0, 1.05 * max(row["high"] for row in rows))
    told: dict[str, Any] = {"title": title, "x_title": "time [s]", "y_title": unit, "series": entities}
    return charts.lines(rows, **told, x_domain=(0.0, float(times.max())), y_domain=domain, points=False)  # type: ignore[arg-type]


def differences(rows: Sequence[dict[str, Any]]) -> list[Part]:
    """Paired differences: a panel per metric with its zero line, and the table."""
    if not rows:
        return []
    panels = []
    for metric in dict.fromkeys(row["metric"] for row in rows):
        found = [
            (f"{row['scenario']} − {row['against']}", interval_of_row(row)) for row in rows if row["metric"] == metric
        ]
        unit = next(row["unit"] for row in rows if row["metric"] == metric)
        x_title = f"difference [{unit}]" if unit else "difference"
        panels.append(charts.by_name(found, [], title=heading(metric), x_title=x_title, zero_line=True))
    caption = (
        "Differences seed by seed, with 95 % intervals: an interval that does not touch the line is clear of zero."
    )
    return [Chart(panels, caption, difference_table(rows), width=360)]


def difference_table(rows: Sequence[dict[str, Any]]) -> Table:
    """A row per pair and metric."""
    told = []
    for row in rows:
        text = "identical in every run" if row["identical"] else f"{interval_of_row(row)}"
        p = Cell("n/a", float("inf")) if row["ci_low"] is None else Cell(f"{row['p_holm']:.2g}", row["p_holm"])
        difference = Cell(text, row["difference"])
        told.append(
            [row["scenario"], row["against"], titled(row["metric"], row["unit"]), difference, row["correlation"], p]
        )
    headings = ("scenario", "against", "metric", "difference\n95 % interval", "correlation", "p\nafter Holm")
    caption = "Correlation: of the two scenarios' values over the seeds. The nearer it is to 1, the more pairing by seed narrows the interval."
    return Table.of(headings, told, caption)


def interval_of_row(row: Mapping[str, Any]) -> Interval:
    """The interval of a difference."""
    return Interval(row["difference"], row["ci_low"], row["ci_high"], row["runs"], row["identical"])


def sections(results: Results, tested: Differences | None = None, pairs: Sequence[Pair] = ()) -> list[Section]:
    """All sections on results: rankings by the differences of all pairs, `tested`, and those of `pairs` in a table."""
    several = len(names(results)) > 1
    made: list[tuple[str, list[Part]]] = [
        ("In short", [*cautions(results), *findings(results, compared=tested), *summary(results, compared=tested)]),
        ("Measured", quantities(results) if several else []),
        ("Flows", flows(results)),
        ("Air", air(results)),
        ("The access point's buffer", losses(results)),
        ("The wire", wire(results)),
        ("Transfers", transfers(results)),
        ("Datagrams", datagrams(results)),
        ("Over time", series(results)),
        ("Differences", differences(tested.only(pairs) if tested else ())),
    ]
    return [Section(title, parts) for title, parts in made if parts]
