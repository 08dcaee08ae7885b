"""A measurement of a network: files as `wifair import` reads them, once or several times."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wifair.errors import InputError
from wifair.observed.network import Observed, with_traffic
from wifair.observed.readers import observe, visible
from wifair.observed.shown import Flows, Quantity, of_network, with_cell
from wifair.stats import Values
from wifair.study.job import Bars, no_bars

ALLOWED = "a file that `wifair import` reads, a folder with such files of one network, or a folder with such folders"


# A run of a minute is long enough for flows of TCP to find their shares.
LONG_S = 60.0
# The name that `wifair import` gives a station: its number among those of the files.
_NUMBERED = re.compile(r"station-(\d+)", re.ASCII)


@dataclass(frozen=True)
class Measured:
    """The values of a quantity, one per time that it was measured, and the seconds of all of them; None if no file has the time."""

    values: Values
    elapsed_s: float | None

    @property
    def mean(self) -> float:
        """The mean value."""
        return float(self.values.mean())


@dataclass(frozen=True)
class Measurement:
    """A network as it was observed, several times if there are several folders."""

    name: str
    times: tuple[Observed, ...]

    @property
    def keys(self) -> list[str]:
        """The stations by their keys among the files, in the order of these."""
        return list(dict.fromkeys(key for each in self.times for key in with_traffic(each)))

    def quantities(self, names: Mapping[str, str], flows: Flows = frozenset()) -> dict[Quantity, Measured]:
        """What was measured each time, of the stations with these names. `flows` are the directions that carry data."""
        times = [of_network(each, names, flows) for each in self.times]
        found = {}
        for what in dict.fromkeys(quantity for each in times for quantity in each):
            readings = [each[what] for each in times if what in each]
            elapsed = [each.elapsed_s for each in readings]
            known = [each for each in elapsed if each is not None]
            values = np.array([each.value for each in readings], dtype=np.float64)
            found[what] = Measured(values, sum(known) if len(known) == len(elapsed) else None)
        return found


def measurement(path: Path, bars: Bars = no_bars) -> Measurement:
    """The measurement of a file or folder. Raises `InputError`."""
    if not path.is_dir():
        return Measurement(str(path), (observe([path], bars),))
    there = visible(path)
    folders = [each for each in there if each.is_dir()]
    files = [each for each in there if not each.is_dir()]
    if files and folders:
        raise InputError(
            f"{path}: has both files ({files[0].name}) and folders ({folders[0].name}); allowed here: {ALLOWED}."
        )
    if not there:
        raise InputError(f"{path}: is empty; allowed here: {ALLOWED}.")
    times = [measurement(each, bars) for each in folders]
    if deep := [each.name for each in times if len(each.times) > 1]:
        raise InputError(f"{deep[0]}: has folders in it; allowed here: {ALLOWED}.")
    return Measurement(str(path), tuple(each.times[0] for each in times) if times else (observe(files, bars),))


def together(paths: Sequence[Path], bars: Bars = no_bars) -> Measurement:
    """The measurement of a file or folder, or of several files of one network. Raises `InputError`."""
    if len(paths) == 1:
        return measurement(paths[0], bars)
    if folders := [path for path in paths if path.is_dir()]:
        raise InputError(f"{folders[0]}: is a folder among several; allowed here: {ALLOWED}, or several files.")
    return Measurement(", ".join(map(str, paths)), (observe(paths, bars),))


def named(names: Sequence[str], measured: Measurement, whose: str) -> dict[str, str]:
    """The names of stations by their keys in a measurement; `whose` they are, for errors. Raises `InputError`.

    `wifair import` numbers stations in the order of the files. Stations with other names must be as many as the measurement has.
    """
    keys = measured.keys
    numbers = [_NUMBERED.fullmatch(name) for name in names]
    if all(numbers):
        at = [int(found[1]) for found in numbers if found]
        if max(at, default=1) > len(keys):
            raise InputError(
                f"{measured.name}: has {len(keys)} stations, and {whose} has station-{max(at)}; allowed here: the files that the scenario was "
                "imported from, in the same order."
            )
        return {keys[number - 1]: name for number, name in zip(at, names, strict=True)}
    if len(keys) != len(names):
        raise InputError(
            f"{measured.name}: has {len(keys)} stations, and {whose} has {len(names)}; allowed here: a measurement of the same network."
        )
    return dict(zip(keys, names, strict=True))


def with_sums(measured: Mapping[Quantity, Measured], flows: set[tuple[str, str]]) -> dict[Quantity, Measured]:
    """What was measured, with sums and indexes of these flows over the shortest time of any."""
    times = max((len(each.values) for each in measured.values()), default=0)
    whole = {what: each.values for what, each in measured.items() if len(each.values) == times}
    known = [each.elapsed_s for each in measured.values() if each.elapsed_s is not None]
    added = {what: values for what, values in with_cell(whole, flows).items() if what not in measured}
    return {**measured, **{what: Measured(values, min(known, default=None)) for what, values in added.items()}}


def short_runs(name: str, measured: Mapping[Quantity, Measured], duration_s: float) -> str | None:
    """A remark if runs of `duration_s` are shorter than a minute and than each time of a measurement with this name."""
    times = [each.elapsed_s / len(each.values) for each in measured.values() if each.elapsed_s is not None]
    longest = max(times, default=0.0)
    enough = min(longest, LONG_S)
    if duration_s >= enough:
        return None
    return (
        f"{name}: has counters of {longest:g} s, and runs measure {duration_s:g} s, in which flows may not have found the shares that they have over a longer "
        f"time; better: --set run.duration_s={enough:g}"
    )
