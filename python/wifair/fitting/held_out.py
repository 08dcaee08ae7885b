"""The part of a measurement that the search does not see, and that decides whether the values are a fit.

Of three measurements or more, the last third is held out. Of fewer, the quantities of every third station; with fewer than three stations, airtime and the
time of others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from wifair.errors import InputError
from wifair.fitting.objective import Runs
from wifair.observed.shown import Quantity
from wifair.prediction.comparison import SCALES
from wifair.prediction.measurement import Measured, Measurement, with_sums
from wifair.stats import LEVEL, prediction_half_width

LEAST_TIMES, LEAST_STATIONS, EVERY = 3, 3, 3
KINDS = ("airtime", "others")


@dataclass(frozen=True)
class Split:
    """What is fitted and what is held out, with words for the latter. `flows` are those whose sums are fitted."""

    fitted: Mapping[Quantity, Measured]
    held: Mapping[Quantity, Measured]
    about: str
    flows: frozenset[tuple[str, str]]


def split(measurement: Measurement, names: Mapping[str, str], flows: frozenset[tuple[str, str]]) -> Split:
    """Divides what was measured of these flows and their stations. Raises `InputError` if nothing would be left."""
    times = len(measurement.times)
    if times >= LEAST_TIMES:
        first = times - times // LEAST_TIMES
        parts = [Measurement(measurement.name, some) for some in (measurement.times[:first], measurement.times[first:])]
        fitted, held = (_used(part.quantities(names), flows) for part in parts)
        return Split(with_sums(fitted, set(flows)), held, f"the last {times - first} of {times} measurements", flows)
    every = _used(measurement.quantities(names), flows)
    stations = sorted({what.station for what in every if what.station}, key=list(names.values()).index)
    if len(stations) >= LEAST_STATIONS:
        out = stations[EVERY - 1 :: EVERY]
        about = f"the quantities of {', '.join(out)}"
        held = {what: each for what, each in every.items() if what.station in out}
    else:
        about = "airtime and the time of others"
        held = {what: each for what, each in every.items() if what.kind in KINDS}
    fitted = {what: each for what, each in every.items() if what not in held}
    if not held or not fitted:
        raise InputError(
            f"{measurement.name}: has too little to fit one part and hold out another; allowed here: counters over a time of three stations or more, or a "
            "folder with three measurements or more."
        )
    rest = frozenset(flow for flow in flows if Quantity("goodput", *flow) in fitted)
    return Split(with_sums(fitted, set(rest)), held, about, rest)


def _used(measured: Mapping[Quantity, Measured], flows: frozenset[tuple[str, str]]) -> dict[Quantity, Measured]:
    stations = {station for station, _ in flows}
    return {
        what: each
        for what, each in measured.items()
        if (not what.station or what.station in stations)
        and (what.kind != "goodput" or (what.station, what.direction) in flows)
    }


@dataclass(frozen=True)
class Judged:
    """A quantity with the measured value, the mean of the runs, and by how much they may differ, on its scale."""

    quantity: Quantity
    measured: float
    fitted: float
    missed: float

    @property
    def is_within(self) -> bool:
        """Whether the runs show what was measured."""
        return self.missed <= 1


def judged(held: Mapping[Quantity, Measured], runs: Runs, duration_s: float) -> list[Judged]:
    """Each quantity: within if it differs by less than matters, or by no more than chance at 95 % for all together (Bonferroni)."""
    there = [what for what in held if what in runs and np.isfinite(runs[what]).sum() > 1]
    level = 1 - (1 - LEVEL) / max(len(there), 1)
    found = []
    for what in there:
        scale, each = SCALES[what.kind], held[what]
        values = scale.of(runs[what])
        chance = prediction_half_width(values, (each.elapsed_s or duration_s) / duration_s, level)
        gap = abs(float(scale.of(each.values).mean()) - float(np.nanmean(values)))
        found.append(Judged(what, each.mean, float(np.nanmean(runs[what])), gap / max(chance, scale.margin)))
    return sorted(found, key=lambda each: -each.missed)
