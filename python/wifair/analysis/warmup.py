"""Tests whether the warm-up is long enough: running means, a test for drift, and the truncation point by MSER-5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from wifair.errors import InputError
from wifair.stats import LEVEL, Interval, Values, holm, mser, p_value, paired_difference, running_mean, t_interval

if TYPE_CHECKING:
    from wifair.results.results import ResultCell, Results
    from wifair.scenario.scenario import Scenario

# Samples per run if the scenario does not set a sampling interval.
SAMPLES = 200
# The first tenth of the measurement is compared with its second half (J. Geweke, Evaluating the accuracy of
# sampling-based approaches to the calculation of posterior moments, Bayesian Statistics 4, 1992).
FIRST, LAST = 0.1, 0.5
# The series that are tested, with their units: goodput of all flows by direction, and the AP's queue length.
QUANTITIES = {"up_mbps": "Mbps of payload", "down_mbps": "Mbps of payload", "queue_packets": "packets"}
FORMATS = (".png", ".pdf", ".svg")


@dataclass(frozen=True)
class Course:
    """A time series of a scenario: `values` has shape (replications, samples).

    A sample stands for the interval that ends at its time, `times_s`, counted from the start of the run. `measured`
    holds those of the measurement.
    """

    scenario: str
    quantity: str
    times_s: Values
    values: Values
    warmup_s: float

    @property
    def measured(self) -> Values:
        """The values after the warm-up: (replications, samples)."""
        interval = self.times_s[0]
        return self.values[:, self.times_s - interval >= self.warmup_s - 1e-9]


@dataclass(frozen=True)
class Check:
    """The result of the test for one time series.

    `drift`: mean of the measurement's first tenth minus that of its second half, over the replications; `p` is adjusted
    by Holm over all series and decides the verdict. `settled_s`: the truncation point that MSER-5 gives for the mean
    over the replications, as a hint; `None` if the series is too short.
    """

    course: Course
    drift: Interval
    mean: float
    p: float
    settled_s: float | None

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.drift.low is None:
            return "one run cannot tell"
        if self.p >= 1 - LEVEL:
            return "no drift seen"
        share = f", by {abs(self.drift.estimate / self.mean):.2g} of the mean" if self.mean else ""
        return f"still drifts after the warm-up{share}"

    def to_dict(self) -> dict[str, Any]:
        """The check for JSON."""
        return {
            "scenario": self.course.scenario,
            "quantity": self.course.quantity,
            "unit": QUANTITIES[self.course.quantity],
            "warmup_s": self.course.warmup_s,
            "mean": self.mean,
            "drift": self.drift.estimate,
            "ci_low": self.drift.low,
            "ci_high": self.drift.high,
            "p_holm": self.p,
            "settled_s": self.settled_s,
            "verdict": self.verdict,
        }


def with_series(scenario: Scenario) -> Scenario:
    """The scenario with time series. Sampling does not change the trajectory."""
    if scenario.plan()["run"]["sample_interval_s"] is not None:
        return scenario
    return scenario.override({"run.sample_interval_s": scenario.simulated_s() / SAMPLES})


def courses(results: Results) -> list[Course]:
    """The series of goodput by direction and of the AP's queue, for every scenario."""
    if "series" not in results.frames:
        raise InputError("there are no time series to check the warm-up with: set run.sample_interval_s.")
    ways = results.flows.select("scenario", "label", "direction").unique()
    series = results.frames["series"].join(
        ways, left_on=["scenario", "entity"], right_on=["scenario", "label"], how="left", maintain_order="left"
    )
    goodput = series.filter(pl.col("metric") == "goodput_mbps").with_columns(quantity=pl.col("direction") + "_mbps")
    queue = series.filter(pl.col("metric") == "queue_packets").with_columns(quantity=pl.col("metric"))
    keys = ["scenario", "quantity", "seed", "time_s"]
    sums = pl.concat([goodput, queue]).group_by(keys).agg(pl.col("value").sum()).sort(keys)
    found = []
    for cell in results.cells:
        for quantity in QUANTITIES:
            part = sums.filter((pl.col("scenario") == cell.name) & (pl.col("quantity") == quantity))
            if part.height:
                found.append(_course(cell, quantity, part))
    return found


def _course(cell: ResultCell, quantity: str, part: pl.DataFrame) -> Course:
    runs = part["seed"].n_unique()
    times = part["time_s"].to_numpy().reshape(runs, -1)[0]
    warmup_s = float(cell.scenario.plan()["run"]["warmup_s"])
    return Course(cell.name, quantity, times, part["value"].to_numpy().reshape(runs, -1), warmup_s)


def check(results: Results) -> list[Check]:
    """Tests each series for drift after the warm-up, and estimates where it settles."""
    found = []
    for course in courses(results):
        measured = course.measured
        count = measured.shape[1]
        if count < 1 / FIRST:
            raise InputError(
                f"{course.scenario}: {count} samples in the measurement are too few to check the warm-up by; allowed here: "
                f"{1 / FIRST:g} or more (run.sample_interval_s is {course.times_s[0]:g} s)."
            )
        first = measured[:, : round(count * FIRST)].mean(axis=1)
        last = measured[:, -round(count * LAST) :].mean(axis=1)
        averaged = course.values.mean(axis=0)
        cut = mser(averaged)
        settled = float(course.times_s[cut - 1]) if cut else 0.0
        too_short = cut >= averaged.size // 5 // 2 * 5 > 0
        drift = paired_difference(first, last).difference
        found.append((course, drift, float(measured.mean()), p_value(first - last), None if too_short else settled))
    adjusted = holm([p for _, _, _, p, _ in found])
    return [
        Check(course, drift, mean, p, settled)
        for (course, drift, mean, _, settled), p in zip(found, adjusted, strict=True)
    ]


def figure_path(path: Path) -> Path:
    """Checks that a figure can be written to this file."""
    if path.suffix not in FORMATS:
        raise InputError(f"{path}: a figure's name ends in one of {', '.join(FORMATS)}.")
    return path


def figure_paths(path: Path, formats: Sequence[str] = ()) -> list[Path]:
    """The file of a figure, or one file per format."""
    return [path.with_suffix(f".{ending}") for ending in formats] or [figure_path(path)]


def draw(checks: Sequence[Check], path: Path) -> Path:
    """Draws a panel per quantity: the mean over the replications, and its running mean since the warm-up with 95 % intervals."""
    from wifair import plots

    made, panels = plots.figure(len(checks), columns=min(len(checks), len(QUANTITIES)))
    for axes, found in zip(panels, checks, strict=True):
        course = found.course
        measured = course.measured
        times = course.times_s[-measured.shape[1] :]
        settled = running_mean(measured)
        ends = [t_interval(column) for column in settled.T]
        axes.plot(course.times_s, course.values.mean(axis=0), color="#999999", linewidth=0.8, label="mean of the runs")
        axes.plot(
            course.times_s,
            running_mean(course.values).mean(axis=0),
            color="#D55E00",
            linestyle=":",
            label="running mean, from 0",
        )
        axes.plot(times, settled.mean(axis=0), color="#000000", linewidth=1.6, label="running mean, since the warm-up")
        low, high = (
            [np.nan if end is None else end for end in side]
            for side in zip(*((f.low, f.high) for f in ends), strict=True)
        )
        axes.fill_between(times, low, high, color="#0072B2", alpha=0.25, label="its 95 % interval")
        axes.axvline(course.warmup_s, color="#000000", linestyle="--", linewidth=1, label="end of the warm-up")
        if found.settled_s is not None:
            axes.axvline(found.settled_s, color="#009E73", linestyle="-.", linewidth=1, label="settled, by MSER-5")
        axes.set_title(f"{course.scenario}\n{found.verdict}", fontsize="small")
        axes.set_xlabel("time [s]")
        axes.set_ylabel(f"{course.quantity} [{QUANTITIES[course.quantity]}]")
        axes.set_ylim(0, 1.05 * max(axes.get_ylim()[1], 1e-9))
        axes.set_xlim(0, course.times_s[-1])
        axes.grid(alpha=0.25)
        axes.legend(fontsize="x-small")
    return plots.save(made, path.parent, path.stem, (path.suffix.removeprefix("."),))[0]
