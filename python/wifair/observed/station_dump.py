"""Reads `iw dev DEVICE station dump`, at the access point: what iw calls tx is down.

The form is that of `print_sta_handler` in iw's station.c, with or without `-v`. Fields that are not listed here are skipped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from wifair.errors import InputError
from wifair.observed import bitrate
from wifair.observed.bitrate import Bitrate
from wifair.observed.lines import Line, lines
from wifair.observed.network import Counters, Observed, Station, Value, read

NAME = "iw station dump"
_HEAD = re.compile(r"Station (\S+) \(on (\S+)\)")
_HEADS = re.compile(r"^Station (\S+) \(on", re.MULTILINE)
_NUMBER = re.compile(r"\d+")
# Counters by iw's name, with their unit.
_COUNTERS = {
    "rx bytes": ("up_bytes", ""),
    "rx packets": ("up_packets", ""),
    "tx bytes": ("down_bytes", ""),
    "tx packets": ("down_packets", ""),
    "tx retries": ("retries", ""),
    "tx failed": ("failed", ""),
    "tx duration": ("down_airtime_us", "us"),
    "rx duration": ("up_airtime_us", "us"),
}
# The fields of a station: line and value by name.
Fields = dict[str, tuple[Line, str]]


def recognises(head: str) -> bool:
    """Whether a text begins like one."""
    return bool(_HEAD.match(head.lstrip()))


def read_into(observed: Observed, file: str, content: str) -> None:
    """Adds the stations of a dump. Raises `InputError` for a value that iw does not print."""
    device = ""
    heads: list[tuple[Line, str, Fields]] = []
    begin = _cut_within_a_line(content)
    for line in lines(file, content[:begin]):
        head = _HEAD.match(line.text)
        if line.text.startswith("Station") and not head:
            raise line.error("Station", line.text, "Station ADDRESS (on DEVICE)")
        if head:
            if device and head[2] != device:
                raise line.error("device", head[2], f"{device}, as above; import one device at a time")
            device = head[2]
            heads.append((line, line.address("Station", head[1]), {}))
        elif heads:
            name, _, value = line.text.partition(":")
            heads[-1][2].setdefault(name.strip(), (line, value.strip()))
        elif line.text.strip():
            raise line.error("first line", line.text, "Station ADDRESS (on DEVICE)")
    if not heads:
        raise InputError(f"{file}: has no station; allowed here: the output of `iw dev DEVICE station dump`.")
    lacking = _cut([fields for _, _, fields in heads])
    place = f"{Path(file).name}:{content[:begin].count(chr(10)) + 1}" if begin is not None else ""
    if lacking and any(address == heads[-1][1] for _, address, _ in heads[:-1]):
        place = heads.pop()[0].place
    stations = [_station(line, address, fields) for line, address, fields in heads]
    for station in _with_frequent_rates(stations):
        observed.add(station)
    if place:
        observed.remarks.append(f"{place}: the last dump is cut in this station, whose dump before is its last one")
    elif lacking:
        observed.remarks.append(
            f"{heads[-1][0].place}: the last station has no {', '.join(lacking)}, which all others have: the dump looks cut, and what is assumed of the "
            "station instead may be wrong; make the dump again"
        )


def _cut_within_a_line(content: str) -> int | None:
    """Where the last station of a series begins, if it ends within a line, as a series that was stopped; None otherwise."""
    addresses = [head[1] for head in _HEADS.finditer(content)]
    if content.endswith("\n") or len(set(addresses)) == len(addresses):
        return None
    begin = content.rindex("\nS") + 1
    # iw prints fields in one order: the last line of the station before has the same one, but for its number.
    ends = (_NUMBER.sub("", part.rstrip("\r\n").rpartition("\n")[2]) for part in (content[:begin], content))
    return None if len(set(ends)) == 1 else begin


def _with_frequent_rates(dumps: Sequence[Station]) -> list[Station]:
    """The dumps of a series, each station's last one with the rates that most of its dumps have: that of one frame may be rare."""
    by_station: dict[str, list[int]] = {}
    for number, each in enumerate(dumps):
        by_station.setdefault(each.key, []).append(number)
    found = list(dumps)
    for numbers in by_station.values():
        mine = [dumps[number] for number in numbers]
        down, up = _frequent([each.down for each in mine]), _frequent([each.up for each in mine])
        found[numbers[-1]] = replace(mine[-1], down=down, up=up)
    return found


def _frequent(rates: Sequence[Value[Bitrate] | None]) -> Value[Bitrate] | None:
    """The most frequent rate, of those with an MCS if there are any; of equally frequent ones the last."""
    there = [rate for rate in rates if rate]
    known = [rate for rate in there if rate.value.has_mcs] or there
    counts = Counter(rate.value for rate in known)
    return max(reversed(known), key=lambda rate: counts[rate.value], default=None)


def _cut(stations: Sequence[Fields]) -> list[str]:
    """What the last station lacks of the fields of all others, if the last one of these is among it: iw prints fields in one order."""
    *others, last = stations
    common = [name for name in (others[0] if others else {}) if all(name in each for each in others)]
    lacking = [name for name in common if name not in last]
    return lacking if lacking and lacking[-1] == common[-1] else []


def _station(head: Line, address: str, fields: Fields) -> Station:
    counters: dict[str, Any] = {"elapsed_s": _elapsed(fields)}
    for name, (counter, unit) in _COUNTERS.items():
        if name in fields:
            line, value = fields[name]
            counters[counter] = read(line.count(name, value, unit), name, line.place)
    return Station(
        address,
        head.place,
        down=_rate(fields, "tx bitrate"),
        up=_rate(fields, "rx bitrate"),
        signal_dbm=_signal(fields, "signal avg") or _signal(fields, "signal"),
        dumps=(Counters(**counters),),
    )


def _elapsed(fields: Fields) -> Value[float] | None:
    """The time since the association: in milliseconds if iw prints both instants, else in seconds."""
    begin, end, rounded = (fields.get(name) for name in ("associated at", "current time", "connected time"))
    if begin and end:
        began, ended = begin[0].count("associated at", begin[1], "ms"), end[0].count("current time", end[1], "ms")
        if ended < began:
            raise end[0].error("current time", end[1], f"a time after {began} ms, when the station associated")
        return read((ended - began) / 1000, "current time - associated at", end[0].place)
    if rounded:
        line, value = rounded
        return read(float(line.count("connected time", value, "seconds")), "connected time", line.place)
    return None


def _signal(fields: Fields, name: str) -> Value[float] | None:
    if name not in fields:
        return None
    line, value = fields[name]
    number = value.removesuffix("dBm").partition("[")[0]  # of several antennas: -48 [-48, -53] dBm
    return read(line.decimal(name, number, -128, 127, "dBm"), name, line.place)


def _rate(fields: Fields, name: str) -> Value[Bitrate] | None:
    if name not in fields:
        return None
    line, value = fields[name]
    try:
        found = bitrate.parse(value)
    except ValueError as error:
        raise line.error(name, value, str(error)) from None
    return read(found, name, line.place) if found else None
