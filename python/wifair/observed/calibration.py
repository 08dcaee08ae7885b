"""Frame error rates, the load of other networks and think times, so that the scenario shows the retries, the busy time and the rates that were read.

Retries are due to collisions and to errors, and busy time to this network, its collisions and others. Counters have only the sums. So the scenario runs,
its counters are taken as those of the access point were, and what is unknown is corrected until both agree:

1. Without errors and other networks, n seeds of d seconds give each share a mean m and a standard deviation s.
2. A share x that was read over T seconds agrees if x − m ≤ t s √(1/n + d/T): the prediction interval of one run of T seconds. So are compared the mean share of all stations, that of those with each link, and each station's. Student's t is for 99 % that all
   agree where there are no errors: of the 1 %, a half is for the mean of all, and a half for the others together (Bonferroni). s is at least the median of the stations', over √(number of stations) for a mean. If all agree, nothing is assumed.
3. Otherwise, since collisions and errors are independent, 1 − m = (1 − c)(1 − e) with the collisions c and the error rate e. With the same collisions, x needs 1 − e' = (1 − e)(1 − x)/(1 − m). These rates are drawn together by as much as chance leaves open
   (`error_rates`), each way apart. The time of others grows by x − m.
4. The scenario runs with these values, which changes the collisions. Step 3 repeats until no rate changes by more than `TOLERANCE`. Whether there are
   others is decided after the errors and think times have been corrected, which change the collisions too.

A flow is bulk data by the rules of `loads`, or documents. A bulk flow that has more than twice the rate in runs with these values that was read was held back by something else than this air,
such as its application or its line. It becomes documents at the rate that was read, and all of this is done again: documents collide less often.

Retries of frames up are counted in a capture alone, where the share of the frames that come with Retry is the probability that one does not arrive at first; they are compared in the same way. If there are errors, the rate of the station's uploads
moves them where it differs from that in runs by more than chance: up by at most `MOST_DEVIATIONS` of chance, since an upload without errors fills the queue of its host, and one with few errors does not, and down without a bound, since the same retries are due to many
collisions or to some errors and fewer collisions. Otherwise their errors are those of frames down, unless a series of dumps shows that the station has bulk data up all the time. Then its rate tells them: a sender whose frames are lost at the
retry limit more often gets less. The error rate up is corrected by `UPLOAD_STEP` times the logarithm of the rate in runs over the rate that was read, before anything else is decided, since the collisions depend on the
uploads, and then along with it. Other reasons of a low rate, such as a long round-trip time, count as errors as well.

A flow of documents has one document per cycle: its transfer, which takes longer the more others send, and the think time. The rate that was read gives the cycle,
and the runs the mean time of a transfer; the think time is the difference. It is corrected in the same runs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from wifair.observed.error_rates import drawn_together
from wifair.observed.loads import LEAST_THINK_S
from wifair.scenario.scenario import Scenario
from wifair.stats import Values, prediction_half_width, ratio
from wifair.study.job import Bars, Cell, Progress, no_bars
from wifair.study.study import Study

if TYPE_CHECKING:
    from wifair.results.results import Results

# Each run: time for TCP to find its shares, the measurement, and the number of seeds.
WARMUP_S, DURATION_S, SEEDS = 10.0, 20.0, 10
# A think time agrees if it differs by at most this share of the cycle. Think times are corrected so many times, since few
# documents end in a run.
CYCLE_TOLERANCE, THINK_CORRECTIONS = 0.05, 2
# A bulk flow is held back if what was read is less than this part of what it has in runs.
HELD_BACK_SHARE = 0.5
# By how much an error rate up is corrected where the rate in runs is e times what was read, and how often; rates agree if the
# logarithm of their ratio is at most this.
UPLOAD_STEP, UPLOAD_CORRECTIONS, UPLOAD_TOLERANCE = 0.05, 5, 0.1
# A lower rate in runs counts as this one.
LEAST_UPLOAD_MBPS = 0.001
# Scenarios with more stations would take long.
MOST_STATIONS = 200
# The probability of errors, or of others, where there are none at all.
CHANCE = 0.01
# What was corrected agrees if it differs by at most this share of the transmissions or of the time, after so many corrections.
TOLERANCE, CORRECTIONS = 0.01, 6
# The lowest error rate that is assumed, and the highest: above, rate control would choose another rate.
LEAST_ERRORS, MOST_ERRORS = 0.01, 0.5
# By how many deviations of chance the rate of an upload moves an error rate at most.
MOST_DEVIATIONS = 2.0
# The largest share of retries that counts, and the least variance of chance.
MOST_SHARE, LEAST_VARIANCE = 0.99, 1e-8
# The share of the time that others must use to appear, and the most that they may use.
LEAST_OTHERS, MOST_OTHERS = 0.02, 0.9
# The station that stands for other networks.
NEIGHBOURS = "neighbours"
# Of the table `stations`: transmissions that were retries, of MPDUs, or of single frames where nothing is aggregated.
_OF_MPDUS = (
    pl.col("mpdus").cast(pl.Int64) - pl.col("frames_delivered").cast(pl.Int64) - pl.col("retry_lost").cast(pl.Int64)
)
RETRIES = pl.when(pl.col("ppdus") > 0).then(_OF_MPDUS.clip(0)).otherwise(pl.col("retries").cast(pl.Int64))


# Behind the name of a station, the name of the share of the transmissions from it.
UP = " up"


def upward(station: str) -> str:
    """The name of the share of the transmissions from a station."""
    return f"{station}{UP}"


@dataclass(frozen=True)
class Share:
    """A share that was read over so many seconds."""

    value: float
    elapsed_s: float


@dataclass(frozen=True)
class Readings:
    """What the scenario must show: by station, the share of the transmissions to it that were retries, and by `upward` that of those from it.

    That of `NEIGHBOURS` is the share of the time that is busy, but neither transmit time nor airtime of the stations, so collisions are part of it. If `received`, it is
    not the time received either, since the stations' airtime was not counted.
    """

    shares: Mapping[str, Share] = field(default_factory=dict)
    received: bool = False
    # By flow of documents, its rate in Mbps.
    documents: Mapping[str, float] = field(default_factory=dict)
    # By station, the rate in Mbps of bulk data up that its errors explain.
    uploads: Mapping[str, float] = field(default_factory=dict)
    # Shares of stations with the same link, each way: they are drawn together more than others.
    alike: Sequence[Sequence[str]] = ()
    # Runs are as long as this without a warm-up, since something changes in the time that was captured.
    changing_s: float | None = None

    @property
    def run_s(self) -> tuple[float, float]:
        """Warm-up and measurement of a run in seconds."""
        return (WARMUP_S, DURATION_S) if self.changing_s is None else (0.0, self.changing_s)


@dataclass(frozen=True)
class Calibrated:
    """What is assumed: error rates by station, those of frames up where rates of uploads tell them, the share of the time of others, think times in seconds by flow of documents.

    `within` has by station how far retries may be from collisions by chance, `missed` what is not reproduced, in sentences.
    """

    errors: Mapping[str, float] = field(default_factory=dict)
    errors_up: Mapping[str, float] = field(default_factory=dict)
    # By how much rates of uploads move the error rates up that retries tell.
    moved: Mapping[str, float] = field(default_factory=dict)
    others: float = 0.0
    thinks: Mapping[str, float] = field(default_factory=dict)
    within: Mapping[str, float] = field(default_factory=dict)
    missed: tuple[str, ...] = ()

    def errors_of(self, station: str, is_up: bool) -> float:
        """The error rate of a station's frames each way. Without any that was found up, it is that of frames down."""
        if not is_up:
            return self.errors.get(station, 0.0)
        if upward(station) in self.within:
            return max(self.errors.get(upward(station), 0.0) + self.moved.get(station, 0.0), 0.0)
        return self.errors_up.get(station, self.errors.get(station, 0.0))


# Stations that are compared together, or one, or `OTHERS`.
Unit = tuple[str, ...]
OTHERS: Unit = (NEIGHBOURS,)


@dataclass(frozen=True)
class Present:
    """What runs of a scenario show: the shares by seed, and the think times with which its documents would have the rates that were read."""

    shares: Mapping[str, Values]
    thinks: Mapping[str, float] = field(default_factory=dict)
    # Flows whose think time differs from that.
    off: frozenset[str] = frozenset()
    # By station, the logarithm of the rate of its uploads over that which was read.
    excess: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_off_up(self) -> bool:
        """Whether uploads have other rates than were read."""
        return any(abs(each) > UPLOAD_TOLERANCE for each in self.excess.values())


def calibrated(made: Callable[[Calibrated], Scenario], readings: Readings, bars: Bars = no_bars) -> Calibrated:
    """What to assume for the scenarios of `made` to show the readings."""
    if not readings.shares and not readings.documents and not readings.uploads:
        return Calibrated()
    first = made(Calibrated())
    if len(first.plan()["bss"]["stations"]) > MOST_STATIONS:
        return Calibrated(missed=(f"more than {MOST_STATIONS} stations: retries are not told from collisions",))
    times, most = itertools.count(1), 1 + CORRECTIONS + (UPLOAD_CORRECTIONS if readings.uploads else 0)

    def presented(found: Calibrated) -> Present:
        with bars(f"comparing retries and rates with runs, {next(times)} of {most} times at most") as progress:
            return shown(made(found), readings, progress)

    present = presented(Calibrated())
    found = Calibrated(within=_within(readings, present.shares))
    for _ in range(UPLOAD_CORRECTIONS):
        after = _with_uploads(found, readings, present, has_errors=False)
        if after == found or not present.is_off_up:
            break
        found = replace(after, thinks=present.thinks)
        present = presented(found)
    found = replace(found, within=_within(readings, present.shares))
    has_errors, has_others, thinks = False, False, THINK_CORRECTIONS
    for number in range(CORRECTIONS):
        is_thinking = bool(present.off) and thinks > 0
        has_errors = has_errors or _has_errors(readings, present.shares)
        errors = _errors(found, readings, present.shares) if has_errors else {}
        after = _with_uploads(replace(found, errors=errors), readings, present, has_errors)
        is_right = _agree(errors, found.errors) and _agree(after.moved, found.moved) and not is_thinking
        if not has_others and (is_right or number >= THINK_CORRECTIONS) and _has_others(readings, present.shares):
            has_others, is_right, thinks = True, False, THINK_CORRECTIONS
        gap = _gap(readings, present.shares, OTHERS) if has_others else 0.0
        if is_right and abs(gap) <= TOLERANCE:
            break
        found = replace(after, others=min(max(found.others + gap, 0.0), MOST_OTHERS))
        if is_thinking:
            thinks -= 1
            found = replace(found, thinks={**found.thinks, **present.thinks})
        present = presented(found)
    return replace(found, missed=tuple(_missed(readings, present.shares, has_errors, has_others)))


def _agree(errors: Mapping[str, float], before: Mapping[str, float]) -> bool:
    return all(abs(errors.get(name, 0.0) - before.get(name, 0.0)) <= TOLERANCE for name in {*errors, *before})


def _with_uploads(found: Calibrated, readings: Readings, present: Present, has_errors: bool) -> Calibrated:
    """Error rates up by what uploads have in excess. The first is that of frames down; where retries tell it and there are errors, the rate moves it: up by at most what these leave open."""
    errors_up, moved = {}, {}
    for name, excess in present.excess.items():
        more = UPLOAD_STEP * excess if abs(excess) > UPLOAD_TOLERANCE else 0.0
        if upward(name) not in present.shares:
            rate = found.errors_up.get(name, found.errors.get(name, 0.0)) + more
            errors_up[name] = float(np.clip(rate, 0, MOST_ERRORS))
        elif has_errors:
            most = MOST_DEVIATIONS * math.sqrt(_variance(found, readings, present.shares, upward(name)))
            moved[name] = float(np.clip(found.moved.get(name, 0.0) + more, -MOST_ERRORS, most))
    return replace(found, errors_up=errors_up, moved=moved)


def held_back(
    scenario: Scenario, readings: Readings, rates: Mapping[str, Share], bars: Bars = no_bars
) -> dict[str, float]:
    """The flows that have much more in runs than was read, with their rates in runs in Mbps. `rates` are those that were read of flows that are bulk by a rule."""
    if not rates or len(scenario.plan()["bss"]["stations"]) > MOST_STATIONS:
        return {}
    with bars("comparing bulk flows with runs") as progress:
        results = _runs(scenario, readings, progress)
    level, found = 1 - CHANCE / len(rates), {}
    for name, read in rates.items():
        values = results.flows.filter(label=name)["goodput_mbps"].to_numpy().astype(np.float64)
        chance = prediction_half_width(values, read.elapsed_s / readings.run_s[1], level)
        mean = float(values.mean())
        if read.value < min(HELD_BACK_SHARE * mean, mean - chance):
            found[name] = mean
    return found


def _runs(scenario: Scenario, readings: Readings, progress: Progress | None) -> Results:
    warmup_s, duration_s = readings.run_s
    run = {"run.warmup_s": warmup_s, "run.duration_s": duration_s, "run.record_transfers": False}
    return Study([Cell("imported", scenario.override(run))], SEEDS).run(progress=progress)


def _has_errors(readings: Readings, present: Mapping[str, Values]) -> bool:
    """Whether retries exceed those of the runs by more than chance: those of all stations together, of stations with the same link, or of one."""
    every: Unit = tuple(name for name in present if name != NEIGHBOURS)
    units = [*((name,) for name in every), *(tuple(names) for names in readings.alike)]
    half = CHANCE / 2
    return _exceeds(readings, present, every, half) or any(
        _exceeds(readings, present, unit, half / len(units)) for unit in units
    )


def _has_others(readings: Readings, present: Mapping[str, Values]) -> bool:
    """Whether the time of others exceeds collisions in the runs by more than chance."""
    if NEIGHBOURS not in present:
        return False
    half = _within(readings, present)[NEIGHBOURS]
    return _gap(readings, present, OTHERS) > max(half, LEAST_OTHERS)


def _exceeds(readings: Readings, present: Mapping[str, Values], unit: Unit, chance: float) -> bool:
    """Whether the mean of stations' shares exceeds that of the runs by more than chance."""
    there = tuple(name for name in unit if name in present)
    if not there:
        return False
    runs = min(readings.shares[name].elapsed_s for name in there) / readings.run_s[1]
    typical = _typical(present) / math.sqrt(len(there))
    half = prediction_half_width(_mean(present, there), runs, 1 - chance, typical)
    return _gap(readings, present, there) > max(half, LEAST_ERRORS)


def _errors(found: Calibrated, readings: Readings, present: Mapping[str, Values]) -> dict[str, float]:
    """The error rates by what was read and what runs show with those so far, each way drawn together."""
    links = {name: number for number, names in enumerate(readings.alike) for name in names}
    errors: dict[str, float] = {}
    for is_up in (False, True):
        names = [name for name in present if name != NEIGHBOURS and name.endswith(UP) == is_up]
        rates, variances = np.empty(len(names)), np.empty(len(names))
        for at, name in enumerate(names):
            rates[at] = 1 - _arrived(found, present, name) * (1 - readings.shares[name].value)
            variances[at] = _variance(found, readings, present, name)
        together = drawn_together(rates, variances, [links.get(name, name) for name in names])
        errors |= {
            name: float(min(rate, MOST_ERRORS))
            for name, rate in zip(names, together, strict=True)
            if rate >= LEAST_ERRORS
        }
    return errors


def _arrived(found: Calibrated, present: Mapping[str, Values], name: str) -> float:
    """Of frames that did not collide, the share that arrives in the runs, over that of all frames."""
    errors = found.errors_of(name.removesuffix(UP), name.endswith(UP))
    return (1 - errors) / max(1 - float(np.nanmean(present[name])), 1 - MOST_SHARE)


def _variance(found: Calibrated, readings: Readings, present: Mapping[str, Values], name: str) -> float:
    """That of an error rate by chance. Ten seeds tell a deviation within a quarter, so half of it is that of the other stations."""
    variance = (float(np.nanvar(present[name], ddof=1)) + _typical(present) ** 2) / 2
    runs = readings.shares[name].elapsed_s / readings.run_s[1]
    times = 1 / int(np.isfinite(present[name]).sum()) + 1 / runs
    return max(variance * times * _arrived(found, present, name) ** 2, LEAST_VARIANCE)


def _typical(present: Mapping[str, Values]) -> float:
    """The median of the standard deviations of the stations' shares."""
    found = [np.nanstd(values, ddof=1) for name, values in present.items() if name != NEIGHBOURS]
    return float(np.median(found)) if found else 0.0


def _within(readings: Readings, present: Mapping[str, Values]) -> dict[str, float]:
    """By how much each share may differ from the mean by chance. The time of others is of the whole cell, and varies less than the retries of a station."""
    typical, level = _typical(present), 1 - CHANCE / (len(present) + len(readings.alike) + 1)
    return {
        name: prediction_half_width(
            values, readings.shares[name].elapsed_s / readings.run_s[1], level, 0.0 if name == NEIGHBOURS else typical
        )
        for name, values in present.items()
    }


def _mean(present: Mapping[str, Values], unit: Unit) -> Values:
    """The mean share of these stations by seed, of those that have one."""
    rows = np.stack([present[name] for name in unit if name in present])
    there = np.isfinite(rows)
    return ratio(np.where(there, rows, 0.0).sum(axis=0), there.sum(axis=0))


def _gap(readings: Readings, present: Mapping[str, Values], unit: Unit) -> float:
    """By how much what was read exceeds the mean; 0 for what no run shows."""
    there = [name for name in unit if name in present]
    if not there:
        return 0.0
    return float(np.mean([readings.shares[name].value for name in there]) - np.nanmean(_mean(present, unit)))


def shown(scenario: Scenario, readings: Readings, progress: Progress | None = None) -> Present:
    """What runs show, as the access point counts it; without shares that fewer than two seeds have."""
    results = _runs(scenario, readings, progress)
    stations = results.stations.filter(pl.col("station") != NEIGHBOURS)
    share = RETRIES / (RETRIES + pl.col("frames_delivered"))
    of_way = pl.when(pl.col("direction") == "up").then(pl.concat_str("station", pl.lit(UP))).otherwise("station")
    named = stations.with_columns(name=of_way, share=share)
    found = {name: named.filter(name=name)["share"] for name in readings.shares}
    if NEIGHBOURS in found:
        up = stations.filter(pl.col("direction") == "up").group_by("seed").agg(pl.col("airtime_share").sum())
        own = pl.col("airtime_share") + pl.col("airtime_down_share") + pl.col("beacon_share")
        others = 1 - pl.col("idle_share") - own - (pl.col("collision_share") if readings.received else 0)
        found[NEIGHBOURS] = results.runs.join(up, on="seed").select(share=others)["share"]
    arrays = {name: column.fill_null(np.nan).to_numpy().astype(np.float64) for name, column in found.items()}
    shares = {name: values for name, values in arrays.items() if np.isfinite(values).sum() > 1}
    thinks, off = _thinks(scenario, results, readings.documents)
    return Present(shares, thinks, off, _excess(results, readings))


def _excess(results: Results, readings: Readings) -> dict[str, float]:
    """By station, the logarithm of the mean rate of its uploads over that which was read; 0 if they differ by chance alone, where retries tell errors as well."""
    up = results.flows.filter(pl.col("station").is_in([*readings.uploads]), direction="up")
    sums = up.group_by("station", "seed", maintain_order=True).agg(pl.col("goodput_mbps").sum())
    excess = {}
    for (name,), rows in sums.group_by("station", maintain_order=True):
        station, values = str(name), rows["goodput_mbps"].to_numpy()
        read, mean = readings.uploads[station], float(values.mean())
        share = readings.shares.get(upward(station))
        chance = prediction_half_width(values, share.elapsed_s / readings.run_s[1]) if share else 0.0
        excess[station] = math.log(max(mean, LEAST_UPLOAD_MBPS) / read) if abs(mean - read) > chance else 0.0
    return excess


def _thinks(
    scenario: Scenario, results: Results, documents: Mapping[str, float]
) -> tuple[dict[str, float], frozenset[str]]:
    """The think times with which documents have these rates, and the flows whose think time differs from it by more than agrees."""
    if not documents or "transfer_groups" not in results.frames:
        return {}, frozenset()
    every = results.transfer_groups.filter(pl.col("bytes").is_null() & pl.col("closed_mean_s").is_not_null())
    weighted = (pl.col("closed_mean_s") * pl.col("completed")).sum() / pl.col("completed").sum()
    times = dict(every.group_by("group").agg(weighted).iter_rows())
    thinks, off = {}, set()
    for flow in scenario.plan()["flows"]:
        name, web = flow["label"], flow["application"]
        if name not in documents or not times.get(name):
            continue
        cycle_s = (web["min_bytes"] + web["max_bytes"]) / 2 * 8 / 1e6 / documents[name]
        thinks[name] = max(cycle_s - times[name], LEAST_THINK_S)
        if abs(thinks[name] - web["think_mean_s"]) > CYCLE_TOLERANCE * cycle_s:
            off.add(name)
    return thinks, frozenset(off)


def _missed(readings: Readings, present: Mapping[str, Values], has_errors: bool, has_others: bool) -> list[str]:
    """What runs do not show by more than chance, of what was corrected."""
    bounds = _within(readings, present) if has_errors else {}
    bounds = {name: max(half, TOLERANCE) for name, half in bounds.items() if name != NEIGHBOURS}
    if has_others:
        bounds[NEIGHBOURS] = TOLERANCE
    missed = []
    for name, half in bounds.items():
        gap, read = _gap(readings, present, (name,)), readings.shares[name].value
        if abs(gap) > half:
            what = "a share of the time of" if name == NEIGHBOURS else "a share of retries of"
            missed.append(f"{name}: {what} {read:.3g} was read, and the scenario has {read - gap:.3g}")
    return missed
