"""What differs between two measurements in addition to the change: stations, bit rates, and traffic that the prediction does not have.

The prediction is for the same stations with the same traffic, so each of these may be why it is missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wifair.observed.loads import LEAST_MBPS
from wifair.observed.network import Direction, Observed, Station, with_traffic
from wifair.observed.shown import Quantity
from wifair.prediction.measurement import Measured, Measurement
from wifair.prediction.prediction import Prediction

# Traffic that the prediction does not have, as a share of all, from which it is named.
NEW_SHARE = 0.05
# A bit rate counts as another one from this factor on: rates are rounded to 0.1 Mbps.
SAME_RATE = 0.01


@dataclass(frozen=True)
class Besides:
    """A difference: its kind, the station, and a sentence."""

    kind: str
    station: str
    text: str


def besides(
    prediction: Prediction,
    names: Mapping[str, str],
    measurements: tuple[Measurement, Measurement],
    quantities: tuple[Mapping[Quantity, Measured], Mapping[Quantity, Measured]],
) -> list[Besides]:
    """The differences. `names` has the stations by their keys in the measurement before."""
    before, after = measurements
    stations, later = _last(before), _last(after)
    found = [*_gone(prediction, names, later, quantities[0]), *_came(before, after)]
    for key, name in names.items():
        if key in stations and key in later:
            found += _rates(name, stations[key], later[key])
    return [*found, *_traffic(prediction, quantities)]


def _last(measurement: Measurement) -> dict[str, Station]:
    """Each station as it was observed last."""
    return {key: station for each in measurement.times for key, station in with_traffic(each).items()}


def _gone(
    prediction: Prediction, names: Mapping[str, str], later: Mapping[str, Station], before: Mapping[Quantity, Measured]
) -> list[Besides]:
    found = []
    for key, name in names.items():
        ways = sorted(way for station, way in prediction.flows if station == name)
        if key in later or not ways:
            continue
        had = [
            (way, before[Quantity("goodput", name, way)].mean)
            for way in ways
            if Quantity("goodput", name, way) in before
        ]
        told = " and ".join(f"{mbps:.3g} Mbps {way}" for way, mbps in had)
        found.append(Besides("gone", name, f"{name} is gone{f'; it had {told}' if told else ''}"))
    return found


def _came(before: Measurement, after: Measurement) -> list[Besides]:
    new = [key for key in after.keys if key not in before.keys]
    numbered = {key: f"{number}" for number, key in enumerate(after.keys, 1)}
    found = []
    for key in new:
        mbps = sum(_carried(each, key) for each in after.times) / len(after.times)
        if mbps >= LEAST_MBPS:
            told = f"station {numbered[key]} of {after.name} is new; it has {mbps:.3g} Mbps"
            found.append(Besides("new", numbered[key], told))
    return found


def _carried(observed: Observed, key: str) -> float:
    from wifair.observed.shown import of_network

    return sum(each.value for what, each in of_network(observed, {key: key}).items() if what.kind == "goodput")


def _rates(name: str, before: Station, after: Station) -> list[Besides]:
    found = []
    ways: tuple[Direction, ...] = ("down", "up")
    for way in ways:
        first, second = getattr(before, way), getattr(after, way)
        if not first or not second:
            continue
        one, two = first.value.mbps, second.value.mbps
        if abs(two - one) > SAME_RATE * one:
            found.append(Besides("rate", name, f"the bit rate {way} of {name} was {one:g} Mbps and is {two:g} Mbps"))
    return found


def _traffic(
    prediction: Prediction, quantities: tuple[Mapping[Quantity, Measured], Mapping[Quantity, Measured]]
) -> list[Besides]:
    """Flows of the prediction that carry nothing after, and traffic after that it has no flow for."""
    before, after = quantities
    goodput = [what for what in after if what.kind == "goodput"]
    total = sum(after[what].mean for what in goodput)
    found = []
    for what in goodput:
        mbps, had = after[what].mean, before[what].mean if what in before else 0.0
        about = f"{what.station} {what.direction}"
        if (what.station, what.direction) in prediction.flows:
            if mbps < LEAST_MBPS <= had:
                found.append(Besides("idle", what.station, f"{about} had {had:.3g} Mbps and is idle"))
        elif mbps >= max(NEW_SHARE * total, LEAST_MBPS) and had < mbps / 2:
            found.append(
                Besides("traffic", what.station, f"{about} has {mbps:.3g} Mbps, which the prediction does not have")
            )
    return found
