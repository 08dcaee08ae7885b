"""The readers, and which of them reads a file: that which recognises its beginning."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from wifair.errors import InputError
from wifair.files import read_bytes, read_text, reason_of, unreadable
from wifair.observed import (
    aql,
    capture,
    flent_file,
    hostapd,
    interface,
    qdisc,
    queues,
    station_dump,
    stations_csv,
    survey_dump,
    ubus_clients,
    uci,
)
from wifair.observed.network import Observed
from wifair.study.job import Bars, no_bars

# Each has NAME, `recognises(head)` of the beginning, and `read_into(observed, file, content)`: of texts, and of bytes.
TEXTS: tuple[ModuleType, ...] = (
    station_dump,
    survey_dump,
    interface,
    queues,
    aql,
    qdisc,
    ubus_clients,
    uci,
    hostapd,
    stations_csv,
)
BINARIES: tuple[ModuleType, ...] = (flent_file,)
HEAD = 4096
# Places that a remark names.
PLACES = 3
# Captures are read record by record.
MOST_CAPTURE_BYTES = 2**40


def observe(paths: Sequence[str | Path], bars: Bars = no_bars) -> Observed:
    """What files of one network have, or folders of such files. Raises `InputError`, which names file, line, field, value and what is allowed.

    Captures are read last, whatever their place: stations have the numbers of the dumps then, and the rates of all captured frames, not that of the last one.
    """
    observed = Observed()
    every = [each for given in paths for each in _files(Path(given))]
    for path in sorted(every, key=lambda path: capture.recognises(_head(path, str(path)))):
        _read(observed, path, str(path), bars)
        observed.files.append(path.name)
    qdisc.settle(observed)
    if observed.alone:
        observed.remarks.append(
            f"{_places(observed.alone)}: counts alone and does not continue an earlier file, since its "
            "counters or its time did not grow in between: another association, a reset, another measurement, or files that are not in the order of their "
            "times"
        )
    if observed.instead:
        observed.remarks.append(
            f"{_places(list(observed.instead))}: has flows of stations that have some in an earlier file too, which do not count; mergecap joins captures that follow one another"
        )
    return observed


def _places(places: Sequence[str]) -> str:
    """The first of these places, in words."""
    return f"{', '.join(places[:PLACES])}{' and more' if len(places) > PLACES else ''}"


def _files(path: Path) -> list[Path]:
    """The files of a folder in the order of their names, or the file itself."""
    if not path.is_dir():
        return [path]
    there = visible(path)
    if folders := [each for each in there if each.is_dir()]:
        raise InputError(
            f"{path}: has folders ({folders[0].name}); allowed here: files, or a folder with the files of one network."
        )
    if not there:
        raise InputError(f"{path}: is empty; allowed here: a folder with the files of one network.")
    return there


def visible(folder: Path) -> list[Path]:
    """What is in a folder in the order of the names, without hidden files."""
    return sorted(each for each in folder.iterdir() if not each.name.startswith("."))


def _read(observed: Observed, path: Path, named: str, bars: Bars) -> None:
    if capture.recognises(_head(path, named)):
        with bars(f"reading {path.name}") as bar:
            capture.read_into(observed, named, path, bar)
        return
    content = read_bytes(path, named)
    for reader in BINARIES:
        if reader.recognises(content[:HEAD]):
            reader.read_into(observed, named, content)
            return
    text = read_text(path, named)
    for reader in TEXTS:
        if reader.recognises(text[:HEAD]):
            reader.read_into(observed, named, text)
            return
    names = ", ".join(each.NAME for each in (*TEXTS, *BINARIES, capture))
    raise InputError(
        f"{named}: its beginning is that of no known file; allowed here: {names}. Scans are for wifair field import."
    )


def _head(path: Path, named: str) -> bytes:
    """The first bytes of a file of any size."""
    try:
        reason = unreadable(path, MOST_CAPTURE_BYTES)
        if not reason:
            with path.open("rb") as file:
                return file.read(4)
    except OSError as error:
        reason = reason_of(error)
    raise InputError(f"{named}: cannot be read: {reason}.")
