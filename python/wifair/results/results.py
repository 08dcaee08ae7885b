"""Results of a study: polars frames with one row per replication and entity, and summaries with intervals."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self

import polars as pl

from wifair.drawn import Drawn, Picture, Plot, drawing
from wifair.errors import InputError
from wifair.keys import unknown
from wifair.planned import SEVERAL, bsss_of
from wifair.results import bsss, delays, fairness, reserve, warnings, wire
from wifair.results.metric import Better, Metric
from wifair.results.quantiles import interval_of
from wifair.results.segment import together
from wifair.stats import Interval, t_interval

SCHEMA_VERSION = 1

# The mean number of rows per replication from which on a table's columns are not copied.
LONG_ROWS = 10_000

# Columns of `transfer_groups`, with their units.
TRANSFER_UNITS = {
    "completed": "transfers",
    "mean_s": "s",
    "cov": "standard deviation over mean",
    "p50_s": "s",
    "p95_s": "s",
    "p99_s": "s",
}

# Columns of `metrics`, with their units: one value per replication.
UNITS = {
    **dict.fromkeys(fairness.HEADINGS, fairness.UNIT),
    "total_mbps": "Mbps of payload",
    "up_mbps": "Mbps of payload",
    "down_mbps": "Mbps of payload",
    "down_up_ratio": "ratio",
    "ap_loss_ratio": "ratio",
    "ap_sojourn_mean_ms": "ms",
    "ap_sojourn_p95_ms": "ms",
    "ap_length_mean_packets": "packets",
    "collision_ratio": "ratio",
    "idle_share": "share of time",
    **wire.UNITS,
    **delays.UNITS,
}

# Metrics shown for each scenario; the rest is in --json and in the tables of --out.
SHOWN = (
    "jain",
    "jain_airtime",
    "up_mbps",
    "down_mbps",
    "total_mbps",
    "ap_loss_ratio",
    "ap_sojourn_mean_ms",
    "collision_ratio",
)
HEADINGS = {
    **fairness.HEADINGS,
    "down_up_ratio": "down over up",
    "up_mbps": "up",
    "down_mbps": "down",
    "total_mbps": "total",
    "ap_loss_ratio": "AP loss ratio",
    "ap_sojourn_mean_ms": "AP sojourn",
    "ap_sojourn_p95_ms": "AP sojourn, 95 %",
    "ap_length_mean_packets": "AP queue",
    "idle_share": "idle",
    "collision_ratio": "collisions",
    **wire.HEADINGS,
    **delays.HEADINGS,
}
# The better direction of each metric that has one: by these, scenarios are ranked.
BETTER: dict[str, Better] = {
    "jain": "highest",
    "jain_airtime": "highest",
    "total_mbps": "highest",
    "ap_sojourn_mean_ms": "lowest",
    "ping_p95_ms": "lowest",
    "delay_p95_ms": "lowest",
    "mos_least": "highest",
    "transfer_mean_s": "lowest",
}


def least(metric: str) -> float | None:
    """The least value that a metric can have: 0, or None for a user-defined one."""
    return 0.0 if metric in UNITS else None


def versions() -> dict[str, str]:
    """The versions of wifair, its engine, Python and the numerical packages."""
    from importlib.metadata import version

    from wifair import _native

    packages = {name: version(name) for name in ("numpy", "polars", "scipy")}
    return {"wifair": _native.version(), "engine": _native.engine(), "python": platform.python_version(), **packages}


class Planned(Protocol):
    """The part of a scenario that results need: a `Scenario`, or its plan alone."""

    @property
    def plan_json(self) -> str:
        """The canonical plan as the engine takes it."""
        ...

    def plan(self) -> dict[str, Any]:
        """The canonical plan."""
        ...

    def simulated_s(self) -> float:
        """Simulated seconds of one replication, warm-up included."""
        ...


class ResultCell(Protocol):
    """One scenario of a grid: a `Cell`, or a store's record of one."""

    @property
    def name(self) -> str:
        """Its unique name."""
        ...

    @property
    def scenario(self) -> Planned:
        """The scenario that was run."""
        ...

    @property
    def keys(self) -> Mapping[str, str | int | float]:
        """Its coordinates in the grid."""
        ...


@dataclass(frozen=True)
class Results(Drawn):
    """The finished replications of a study.

    `made_by` holds the versions that produced them. `frames` holds the tables `runs`, `flows`, `queues`, `wire`, `stations`
    (and `bsss` for several BSSs, `datagrams` for non-TCP flows, `transfers` and `transfer_groups` for transfers, `series` and
    `station_series` if a sampling interval was set), each with the columns `scenario` (the cell's name) and `seed` first. `missing` counts the requested
    replications that did not finish. `own` are user-defined metrics (`with_metrics`).
    """

    cells: tuple[ResultCell, ...]
    seeds: tuple[int, ...]
    frames: Mapping[str, pl.DataFrame]
    missing: int = 0
    made_by: Mapping[str, str] = field(default_factory=versions)
    own: tuple[Metric, ...] = ()

    @classmethod
    def by_cell(
        cls,
        cells: Sequence[ResultCell],
        seeds: Sequence[int],
        tables: Mapping[str, pl.DataFrame],
        job: Callable[[str, int], int],
    ) -> Self:
        """Results from the engine's tables, which are by job; `job(name, seed)` is the job of a cell's replication.

        Flows in reserve that never opened are left out.
        """
        mine = [(cell.name, job(cell.name, seed)) for cell in cells for seed in seeds]
        frames = {name: _by_cell(table, mine) for name, table in tables.items()}
        frames = bsss.with_bss(frames, [(cell.name, cell.scenario.plan_json) for cell in cells])
        for cell in cells:
            if reserve.WAITS in cell.scenario.plan_json:
                unused = reserve.unopened(cell.scenario.plan(), cell.scenario.simulated_s())
                frames = {name: reserve.without(frame, cell.name, *unused) for name, frame in frames.items()}
        return cls(tuple(cells), tuple(seeds), frames, len(mine) - frames["runs"].height)

    @property
    def runs(self) -> pl.DataFrame:
        """One row per replication: exchanges, collisions, airtime shares, warnings."""
        return self.frames["runs"]

    @property
    def flows(self) -> pl.DataFrame:
        """One row per flow: throughput, goodput, retransmissions, timeouts, RTT."""
        return self.frames["flows"]

    @property
    def queues(self) -> pl.DataFrame:
        """One row per buffer (the AP's, the stations' together) and class of packet."""
        return self.frames["queues"]

    @property
    def stations(self) -> pl.DataFrame:
        """One row per station and direction: airtime, attempts, retries."""
        return self.frames["stations"]

    @property
    def bsss(self) -> pl.DataFrame:
        """One row per replication and BSS, of several: goodput, time of own and others' frames, frames lost to others."""
        found = self.frames.get(bsss.TABLE)
        if found is None:
            raise InputError("there is no table of BSSs: no scenario has several.")
        return found

    @property
    def datagrams(self) -> pl.DataFrame:
        """One row per replication, non-TCP flow and direction of its datagrams: delay, jitter, loss, RTT, MOS."""
        found = self.frames.get("datagrams")
        if found is None:
            raise InputError("there is no table of datagrams: no flow has the application udp, voip, ping or game.")
        return found

    @property
    def transfers(self) -> pl.DataFrame:
        """One row per transfer of known size that began in the measurement, with its flow's label and group.

        `transfer_s` is the time from opening its connection until the last byte was delivered; `end` says how it ended.
        """
        found = self.frames.get("transfers")
        if found is None:
            raise InputError(
                "there is no table of transfers: no flow has the application transfers or web (or bulk with a size), or "
                "run.record_transfers is false."
            )
        keys = ["scenario", "seed", "flow"]
        return found.join(self.flows.select(*keys, "label", "group"), on=keys, how="left", maintain_order="left")

    @property
    def transfer_groups(self) -> pl.DataFrame:
        """One row per replication, group and size of transfers (`bytes` is null in the row of all sizes).

        Mean, quantiles and coefficient of variation (`cov`) of the times of completed transfers; the number of
        incomplete ones.
        """
        found = self.frames.get("transfer_groups")
        if found is None:
            raise InputError(
                "there were no transfers: no flow has the application transfers or web, or bulk with a size."
            )
        return found

    def transfer_summary(self) -> pl.DataFrame:
        """One row per scenario, group, size and metric: mean over the replications, 95 % interval."""
        types = {"scenario": pl.String, "group": pl.String, "bytes": pl.Float64, "metric": pl.String, "unit": pl.String}
        bounds = {"mean": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64}
        types |= {**bounds, "runs": pl.Int64, "identical": pl.Boolean}
        rows = []
        if "transfer_groups" in self.frames:
            keys = ["scenario", "group", "bytes"]
            for key, part in self.transfer_groups.group_by(keys, maintain_order=True):
                for metric, unit in TRANSFER_UNITS.items():
                    found = interval_of(metric, part[metric].drop_nulls().cast(pl.Float64).to_numpy())
                    if found.n:
                        fields = {"metric": metric, "unit": unit, **interval_fields(found)}
                        rows.append(dict(zip(keys, key, strict=True)) | fields)
        return pl.DataFrame(rows, schema=types)

    @cached_property
    def metrics(self) -> pl.DataFrame:
        """One row per replication: Jain's indices, sums of goodput, the AP's queue, delays, and user-defined metrics.

        The indices are those of comparable TCP flows and of their stations' airtime (`wifair.results.fairness`), the
        sums those of all TCP flows.
        """
        keys = fairness.KEYS
        of_tcp = self.flows.filter(pl.col("transport") == "tcp")
        goodput = pl.col("goodput_mbps")
        ways = {f"{way}_mbps": goodput.filter(pl.col("direction") == way) for way in ("up", "down")}
        sums = of_tcp.group_by(keys, maintain_order=True).agg(
            goodput.sum().alias("total_mbps"),
            *(pl.when(values.len() > 0).then(values.sum()).alias(name) for name, values in ways.items()),
        )
        up, down = pl.col("up_mbps"), pl.col("down_mbps")
        sums = sums.with_columns(down_up_ratio=pl.when(up > 0).then(down / up))
        ap = self.queues.filter((pl.col("node") == "ap") & (pl.col("class") == "all")).select(
            *keys,
            ap_loss_ratio="loss_ratio",
            ap_sojourn_mean_ms="sojourn_mean_ms",
            ap_sojourn_p95_ms="sojourn_p95_ms",
            ap_length_mean_packets="length_mean_packets",
        )
        channel = self.runs.select(*keys, "collision_ratio", "idle_share")
        table = self.runs.select(keys)
        parts = (
            fairness.indices(self._shares),
            sums,
            ap,
            channel,
            wire.metrics(self.frames),
            delays.metrics(self.frames),
        )
        for part in parts:
            table = table.join(part, on=keys, how="left")
        table = table.select(*keys, *UNITS)
        runs = list(self.replications()) if self.own else []
        return table.with_columns(own.column(runs) for own in self.own)

    @cached_property
    def _shares(self) -> pl.DataFrame:
        return fairness.shares(self.frames)

    @cached_property
    def _sizes(self) -> dict[tuple[str, str], int]:
        return fairness.sizes(self._shares)

    @property
    def units(self) -> dict[str, str]:
        """Every metric with its unit, user-defined ones included."""
        return UNITS | {own.name: own.unit for own in self.own}

    @property
    def better(self) -> dict[str, Better]:
        """The metrics that rank scenarios, with their better direction."""
        return BETTER | {own.name: own.better for own in self.own if own.better}

    def with_metrics(self, *own: Metric) -> Self:
        """The same results with user-defined metrics, which differences, intervals and figures take by their names."""
        names = [metric.name for metric in own]
        for name in names:
            if name in UNITS or name in fairness.KEYS:
                raise InputError(f"Metric: {name!r} is a metric already. Allowed: a name that wifair does not use.")
        kept = [metric for metric in self.own if metric.name not in names]
        return replace(self, own=(*kept, *own))

    def replications(self) -> Iterator[Self]:
        """Each replication as results, in the order of `runs`."""
        cells = {cell.name: cell for cell in self.cells}
        parts = {name: frame.partition_by(fairness.KEYS, as_dict=True) for name, frame in self.frames.items()}
        for scenario, seed in self.runs.select(fairness.KEYS).iter_rows():
            frames = {name: part.get((scenario, seed), self.frames[name].clear()) for name, part in parts.items()}
            yield replace(self, cells=(cells[scenario],), seeds=(seed,), frames=frames, missing=0, own=())

    @property
    def bss_names(self) -> list[str]:
        """The names of the BSSs, the first first; none if no scenario has several."""
        return self.frames[bsss.TABLE]["bss"].unique(maintain_order=True).to_list() if self._has_bsss else []

    @property
    def _has_bsss(self) -> bool:
        return bsss.COLUMN in self.flows.columns

    def of_bss(self, *names: str) -> Self:
        """The results of these BSSs alone, as if their flows, stations and buffers were all: what metrics, intervals and differences are of.

        Of one BSS, airtime, collisions and the buffer of the access point are its own. Raises `InputError` for an unknown name.
        """
        known = self.bss_names
        for name in names:
            if name not in known:
                raise unknown("BSS", name, known) if known else InputError("of_bss: no scenario has several BSSs.")
        return replace(self, frames=bsss.within(self.frames, names))

    def of_others(self, name: str) -> Self:
        """The results of all BSSs but one. Raises `InputError` for an unknown name."""
        if name not in self.bss_names:
            return self.of_bss(name)  # raises
        return self.of_bss(*(other for other in self.bss_names if other != name))

    def shown_metrics(self) -> list[str]:
        """The metrics shown for each scenario: the common ones, and those of the wire, datagrams and transfers if they matter."""
        common, of_delays = (
            [metric for metric in metrics if self.metrics[metric].count()] for metrics in (SHOWN, delays.SHOWN)
        )
        return [*common, *wire.shown(self.metrics, len(self.cells)), *of_delays]

    def interval(self, scenario: str, metric: str) -> Interval:
        """The mean of a metric over the replications of a scenario, with its 95 % interval."""
        values = self.values(scenario, metric).drop_nulls().to_numpy()
        size = self._sizes.get((scenario, metric))
        bounds = None if self.units[metric] != fairness.UNIT else (1 / size if size else 0.0, 1.0)
        return interval_of(metric, values, bounds)

    def values(self, scenario: str, metric: str) -> pl.Series:
        """A metric of each replication of a scenario, by seed; null if it does not exist."""
        part = self._metrics_by_cell.get((scenario,), self.metrics.clear())
        return part[metric].cast(pl.Float64)

    @cached_property
    def _metrics_by_cell(self) -> dict[tuple[object, ...], pl.DataFrame]:
        return self.metrics.sort("seed").partition_by("scenario", as_dict=True)

    def summary(self) -> pl.DataFrame:
        """One row per scenario and metric: mean, 95 % interval (none for a single run), number of runs."""
        rows = []
        for cell in self.cells:
            for metric, unit in self.units.items():
                found = self.interval(cell.name, metric)
                if found.n:
                    rows.append({"scenario": cell.name, "metric": metric, "unit": unit, **interval_fields(found)})
        types = {"scenario": pl.String, "metric": pl.String, "unit": pl.String, "mean": pl.Float64}
        bounds = {"ci_low": pl.Float64, "ci_high": pl.Float64, "runs": pl.Int64, "identical": pl.Boolean}
        return pl.DataFrame(rows, schema={**types, **bounds})

    def grid(self, metrics: Sequence[str] = ()) -> pl.DataFrame:
        """One row per scenario: its coordinates, then each metric's mean with the ends of its 95 % interval.

        Without `metrics`, all of them.
        """
        paths = dict.fromkeys(path for cell in self.cells for path in cell.keys)
        in_words = {path for path in paths if any(isinstance(cell.keys.get(path), str) for cell in self.cells)}
        rows = []
        for cell in self.cells:
            row: dict[str, Any] = {"scenario": cell.name}
            for path in paths:
                value = cell.keys.get(path)
                row[path] = str(value) if path in in_words and value is not None else value
            row["runs"] = self.values(cell.name, "total_mbps").len()
            for metric in metrics or self.units:
                found = self.interval(cell.name, metric)
                row |= {metric: _number(found.estimate), f"{metric}_ci_low": found.low, f"{metric}_ci_high": found.high}
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def flow_summary(self) -> pl.DataFrame:
        """One row per scenario and flow: goodput with its interval over the replications."""
        rows = []
        keys = ["scenario", "label", "direction"]
        for (scenario, label, direction), group in self.flows.group_by(keys, maintain_order=True):
            found = t_interval(group["goodput_mbps"].to_numpy())
            rows.append({"scenario": scenario, "flow": label, "direction": direction, **interval_fields(found)})
        return pl.DataFrame(rows)

    def warnings(self) -> list[str]:
        """Settings that had no effect in any run, and a wire that was a bottleneck in one: each once, with its scenario and the first numbers."""
        if "warnings" not in self.runs.columns:
            return []
        told = self.runs.filter(pl.col("warnings") != "").select("scenario", "warnings")
        runs = dict(self.runs["scenario"].value_counts().iter_rows())
        of = {
            cell.name: list(bsss_of(cell.scenario.plan())) for cell in self.cells if SEVERAL in cell.scenario.plan_json
        }
        return warnings.warnings(told.iter_rows(), runs, of, self.bss_names)

    def to_dict(self) -> dict[str, Any]:
        """All results as the content of one JSON document."""
        return {
            **self._manifest(),
            "summary": self.summary().to_dicts(),
            "flows": self.flow_summary().to_dicts(),
            "datagrams": delays.stream_summary(self.frames).to_dicts(),
            "transfers": self.transfer_summary().to_dicts(),
        }

    def _manifest(self) -> dict[str, Any]:
        """The manifest: scenarios, seeds, versions, and missing replications."""
        return {
            "schema_version": SCHEMA_VERSION,
            "versions": dict(self.made_by),
            "seeds": list(self.seeds),
            "replications_missing": self.missing,
            "warnings": self.warnings(),
            "scenarios": [
                {"name": cell.name, "keys": dict(cell.keys), "simulated_s": cell.scenario.simulated_s()}
                for cell in self.cells
            ],
        }

    def save(self, folder: str | Path, csv: bool = False) -> Path:
        """Writes every table as Parquet (or CSV), the plans and a manifest into `folder`."""
        folder = writable_folder(folder)
        try:
            for name, frame in {**self.frames, "metrics": self.metrics, "grid": self.grid()}.items():
                if csv:
                    frame.write_csv(folder / f"{name}.csv")
                else:
                    frame.write_parquet(folder / f"{name}.parquet")
            plans = ",\n".join(f"{json.dumps(cell.name)}: {cell.scenario.plan_json}" for cell in self.cells)
            (folder / "plan.json").write_text(f"{{\n{plans}\n}}\n", encoding="utf-8")
            (folder / "manifest.json").write_text(json.dumps(self._manifest(), indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise InputError(f"{folder}: cannot be written: {error.strerror}.") from None
        return folder

    def plot(
        self, *metrics: str, x: str | None = None, lines: str | None = None, labels: Mapping[str, str] | None = None
    ) -> Plot:
        """Each metric (by default those of `summary`) as a panel: over a numeric coordinate, or a row per scenario.

        Means with 95 % intervals. In a notebook it is interactive; `save("figure.pdf", width_in=3.5)` draws it for a
        paper. There, `x` and `lines` choose the coordinates along the x axis and of the lines (at most six per panel);
        the others make panels. `labels` gives texts for keys, their values, metrics and scenarios. Raises `InputError` for
        an unknown metric or coordinate.
        """
        self._check_metrics(metrics, "plot")
        chart: Plot = _picture(drawing().plot(self, metrics, x, lines, labels or {}))
        return chart

    def findings(self) -> Picture:
        """The best scenario by each metric, in sentences. Raises `InputError` if there is only one scenario."""
        found: Picture = _picture(drawing().measured.findings(self))
        return found

    def table(self, *metrics: str) -> Picture:
        """A row per scenario, a column per metric (by default those of `summary`): means with their 95 % intervals.

        Raises `InputError` for an unknown metric.
        """
        self._check_metrics(metrics, "table")
        made: Picture = _picture(drawing().measured.summary(self, metrics))
        return made

    def plot_flows(self) -> Plot:
        """Goodput by flow in Mbps: a panel per scenario, a bar per flow, a dot per replication."""
        chart: Plot = _picture(drawing().flows(self))
        return chart

    def plot_air(self) -> Plot:
        """Airtime shares per scenario."""
        chart: Plot = _picture(drawing().air(self))
        return chart

    def plot_series(self) -> Plot:
        """Time series of goodput, queue and RTT. Raises `InputError` if `run.sample_interval_s` is not set."""
        chart: Plot = _picture(drawing().series(self))
        return chart

    def _check_metrics(self, metrics: Sequence[str], asked_by: str) -> None:
        if wrong := [metric for metric in metrics if metric not in self.units]:
            raise unknown("metric", wrong[0], self.units, f"{asked_by}: ")

    def __repr__(self) -> str:
        return f"Results of {len(self.cells)} scenarios, seeds {list(self.seeds)}\n{self.summary()}"


def _by_cell(table: pl.DataFrame, jobs: Sequence[tuple[str, int]]) -> pl.DataFrame:
    """The rows of those jobs in their order, each with the name of its cell in place of the job."""
    by_job = table.with_columns(pl.col("job").cast(pl.UInt64))
    runs = by_job.select(pl.col("job").rle()).unnest("job").with_columns(start=pl.col("len").cum_sum() - pl.col("len"))
    places = {job: (start, rows) for rows, job, start in runs.iter_rows()}
    there = [(name, places[job]) for name, job in jobs if job in places]
    if table.height < LONG_ROWS * len(jobs) or len(places) < runs.height or not there:
        names = pl.DataFrame(jobs, schema={"scenario": pl.String, "job": pl.UInt64}, orient="row")
        return names.join(by_job, on="job", how="inner", maintain_order="left_right").drop("job")
    # A join copies every column. The rows of a job are next to each other, so they can be referred to.
    parts = [by_job.slice(*place).select(pl.lit(name).alias("scenario"), pl.exclude("job")) for name, place in there]
    return pl.concat(parts)


def _picture(parts: Sequence[Any]) -> Any:
    if not parts:
        raise InputError(
            "there is nothing to show: time series need run.sample_interval_s, findings two scenarios, metrics a value."
        )
    return parts[0]


def merged(parts: Sequence[Results]) -> Results:
    """Merges results of several studies. Scenarios with the same name are taken as one with further seeds."""
    return Results(
        tuple({cell.name: cell for part in parts for cell in part.cells}.values()),
        tuple(dict.fromkeys(seed for part in parts for seed in part.seeds)),
        together(part.frames for part in parts),
        sum(part.missing for part in parts),
    )


def interval_fields(found: Interval) -> dict[str, Any]:
    """An interval as the columns used in every table."""
    return {
        "mean": found.estimate,
        "ci_low": found.low,
        "ci_high": found.high,
        "runs": found.n,
        "identical": found.identical,
    }


def writable_folder(folder: str | Path) -> Path:
    """The folder, created if missing. Raises `InputError` if it is not writable. Call it before the work."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".wifair-probe"
        probe.write_bytes(b"")
        probe.unlink(missing_ok=True)  # another process may be probing as well
    except OSError as error:
        raise InputError(f"{folder}: cannot be written: {error.strerror}.") from None
    return path


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
