"""The part of a measurement that the search does not see, and that decides whether the values are a fit.

Of three measurements or more, the last third is held out. Of fewer, the quantities of every third station; with fewer than three stations, airtime and the
time of others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from wifair.errors import InputError
from wifair.observed.origins import Mark
from wifair.observed.shown import Quantity
from wifair.prediction.as_it_is import read_flows, read_loads, used
from wifair.prediction.measurement import Measured, Measurement, with_sums
from wifair.scenario.scenario import Scenario

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
        fitted, held = (used(part.quantities(names, flows), flows) for part in parts)
        return Split(with_sums(fitted, set(flows)), held, f"the last {times - first} of {times} measurements", flows)
    every = used(measurement.quantities(names, flows), flows)
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


def loads(split: Split, measurement: Measurement, scenario: Scenario, marks: Sequence[Mark]) -> dict[Quantity, float]:
    """The held-out quantities of which the scenario has what another measurement has shown. Held-out stations of the same measurement have what was read there."""
    return read_loads(split.held, read_flows(scenario, marks)) if len(measurement.times) >= LEAST_TIMES else {}
