"""The check of a prediction against measurements before and after the change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from wifair.errors import InputError
from wifair.observed.shown import Kind, Quantity, with_cell
from wifair.prediction.assumptions import Spoken, spoken
from wifair.prediction.besides import Besides, besides
from wifair.prediction.comparison import Compared, Verdict, compared
from wifair.prediction.measurement import Measured, Measurement, measurement, named, short_runs, with_sums
from wifair.prediction.prediction import Other, Pair, Prediction, read
from wifair.study.job import Bars, no_bars

__all__ = ["Checked", "Verdict", "check", "read"]


# What a measurement shows of a goal, by its metric or, without a goal, by the criterion that decides
# (`wifair.everything.criteria`). Of all others an access point's counters have nothing.
SHOWN_BY: Mapping[str, tuple[Kind, ...]] = {
    "total_mbps": ("down", "up"),
    "down_mbps": ("down",),
    "up_mbps": ("up",),
    "down_up_ratio": ("down", "up"),
    "jain": ("fairness",),
    "jain_airtime": ("airtime fairness",),
    "ping_p50_ms": ("ping",),
    "total": ("down", "up"),
    "directions": ("down", "up"),
    "flows": ("fairness",),
    "airtime": ("airtime fairness",),
}


@dataclass(frozen=True)
class Checked:
    """The check: each quantity, the assumptions, and what else changed. `remarks` has what could not be compared."""

    prediction: Prediction
    quantities: tuple[Compared, ...]
    assumptions: tuple[Spoken, ...]
    besides: tuple[Besides, ...]
    remarks: tuple[str, ...] = ()

    def with_verdict(self, verdict: Verdict) -> list[Compared]:
        """The quantities with a verdict, the most missed first."""
        found = [each for each in self.quantities if each.verdict is verdict]
        return sorted(found, key=lambda each: -each.missed)

    @property
    def is_same(self) -> bool:
        """Whether both measurements have the same value of each quantity."""
        return all(each.before == each.after for each in self.quantities)

    @property
    def unseen(self) -> list[str]:
        """The goals of the advice of which the measurements show nothing."""
        kinds = {each.quantity.kind for each in self.quantities}
        return [goal for goal, metric in self.prediction.goals.items() if not kinds & {*SHOWN_BY.get(metric, ())}]

    @property
    def against(self) -> list[Spoken]:
        """The other values for which the measured change speaks."""
        return [each for each in self.assumptions if each.is_against]


def check(before: str | Path, after: str | Path, advice: str | Path, bars: Bars = no_bars) -> Checked:
    """Compares two measurements with the prediction in a file of advice. Raises `InputError`."""
    prediction = read(Path(advice))
    first, second = measurement(Path(before), bars), measurement(Path(after), bars)
    names = named(prediction.stations, first, str(advice))
    if not set(names) & set(second.keys):
        raise InputError(
            f"{second.name}: has none of the stations of {first.name}, by their addresses; allowed here: two measurements of one network, with "
            "addresses that the stations keep."
        )
    before_all, after_all = (each.quantities(names, prediction.flows) for each in (first, second))
    differences = besides(prediction, names, (first, second), (before_all, after_all))
    there = {name for key, name in names.items() if key in second.keys}
    flows = {flow for flow in prediction.flows if flow[0] in there and _is_measured(flow, before_all, after_all)}
    now = _only(prediction, flows)
    found_before, found_after = with_sums(before_all, flows), with_sums(after_all, flows)
    found = compared(found_before, found_after, now.pair, [each.pair for each in now.others], now.duration_s)
    if not found:
        raise InputError(
            f"{first.name}, {second.name}: have no quantity in common with the prediction of {advice}; allowed here: measurements with counters "
            "over a time, of the network that the advice is for."
        )
    return Checked(
        now,
        tuple(found),
        tuple(spoken(now, found, found_before, found_after)),
        tuple(differences),
        tuple(_remarks((first, found_before), (second, found_after), duration_s=now.duration_s)),
    )


def _is_measured(flow: tuple[str, str], *measured: Mapping[Quantity, Measured]) -> bool:
    return all(Quantity("goodput", *flow) in each for each in measured)


def _only(prediction: Prediction, flows: set[tuple[str, str]]) -> Prediction:
    """The prediction for these flows and their stations, with sums and indexes of them."""
    stations = {station for station, _ in flows}

    def pair(given: Pair) -> Pair:
        sides = []
        for side in (given.own, given.changed):
            mine = {
                what: values
                for what, values in side.items()
                if (what.station in stations or not what.station)
                and (what.kind != "goodput" or (what.station, what.direction) in flows)
            }
            sides.append(with_cell(mine, flows))
        return Pair(*sides)

    others = tuple(Other(each.key, each.why, each.other, pair(each.pair)) for each in prediction.others)
    return replace(prediction, flows=frozenset(flows), pair=pair(prediction.pair), others=others)


def _remarks(*measured: tuple[Measurement, Mapping[Quantity, Measured]], duration_s: float) -> list[str]:
    told = [remark for each, _ in measured for time in each.times for remark in time.remarks]
    for each, found in measured:
        if all(quantity.elapsed_s is None for quantity in found.values()):
            told.append(f"{each.name}: no file has the time of its counters; each counts as one run of the prediction")
        if short := short_runs(each.name, found, duration_s):
            told.append(f"{short} in `wifair advise`")
    return list(dict.fromkeys(told))
