"""Reads a list of BSSs in CSV (RFC 4180) with a line of column names first, as survey tools export it.

| column | other names | meaning |
| --- | --- | --- |
| `bssid` | mac, mac address, address | address of the access point; needed |
| `channel` | primary channel, ch | number of its primary channel, or of its channel; needed |
| `width_mhz` | width, channel width, bandwidth | 20 to 320, also with a unit |
| `signal_dbm` | signal, rssi, level, max signal, signal strength | received power; needed |
| `band_ghz` | band | 2.4, 5 or 6; by the channel without the column |
| `at` | place, location, point | where it was measured: the name of a node |
"""

from __future__ import annotations

import csv
import io
import re

from wifair.errors import InputError
from wifair.observed.lines import Line
from wifair.surveys.heard import Channel, Heard, containing

NAME = "a list of BSSs (CSV)"
COLUMNS = {
    "bssid": ("bssid", "mac", "mac address", "address"),
    "channel": ("channel", "primary channel", "ch"),
    "width_mhz": ("width_mhz", "width", "channel width", "bandwidth"),
    "signal_dbm": ("signal_dbm", "signal", "rssi", "level", "max signal", "signal strength"),
    "band_ghz": ("band_ghz", "band"),
    "at": ("at", "place", "location", "point"),
}
_NEEDED = ("bssid", "channel", "signal_dbm")
_NUMBER = re.compile(r"-?\d{1,6}(?:\.\d{1,6})?", re.ASCII)
_WIDTHS_MHZ = (20, 40, 80, 160, 320)
_DELIMITERS = ",;\t"


def _columns(first: str) -> tuple[str, dict[int, str]]:
    """The delimiter and the known columns by their place, of the first line of a file."""
    delimiter = max(_DELIMITERS, key=first.count)
    names = [cell.strip().strip('"').lower() for cell in first.split(delimiter)]
    found: dict[int, str] = {}
    for i, name in enumerate(names):
        bare = re.sub(r"\s*[\[(].*", "", name)  # "RSSI (dBm)", "Width [MHz]"
        column = next((key for key, others in COLUMNS.items() if bare in others), None)
        if column and column not in found.values():
            found[i] = column
    return delimiter, found


def recognises(head: str) -> bool:
    """Whether a text begins like one: the columns that are needed are there."""
    _, found = _columns(head.lstrip("\ufeff").split("\n", 1)[0].rstrip("\r"))
    return all(name in found.values() for name in _NEEDED)


def read_into(found: dict[str, Heard], file: str, content: str, at: str) -> None:
    """Adds the BSSs of a list."""
    content = content.lstrip("\ufeff")
    delimiter, columns = _columns(content.split("\n", 1)[0].rstrip("\r"))
    rows = csv.reader(io.StringIO(content, newline=""), delimiter=delimiter, strict=True)
    try:
        next(rows)
        for row in rows:
            line = Line(file, rows.line_num, delimiter.join(row))
            cells = {name: row[i].strip() for i, name in columns.items() if i < len(row) and row[i].strip()}
            if cells:
                _add(found, line, cells, at)
    except csv.Error as error:
        raise InputError(f"{file}:{rows.line_num}: is no line of CSV: {error}.") from None
    if not found:
        raise InputError(f"{file}: has no BSS; allowed here: a line for each below the names of the columns.")


def _number(line: Line, column: str, told: str, least: float, most: float, unit: str) -> float:
    """The number in a cell, which may have a unit."""
    match = _NUMBER.match(told)
    return line.decimal(column, match[0] if match else told, least, most, unit)


def _add(found: dict[str, Heard], line: Line, cells: dict[str, str], at: str) -> None:
    for needed in _NEEDED:
        if needed not in cells:
            raise line.error(needed, "", "a value in each line")
    address = line.address("bssid", cells["bssid"].replace("-", ":"))
    number = int(_number(line, "channel", cells["channel"], 1, 233, ""))
    width_mhz = int(_number(line, "width_mhz", cells.get("width_mhz", "20"), 20, 320, "MHz"))
    if width_mhz not in _WIDTHS_MHZ:
        raise line.error("width_mhz", cells["width_mhz"], ", ".join(map(str, _WIDTHS_MHZ)))
    band_ghz = _number(line, "band_ghz", cells["band_ghz"], 2, 7, "GHz") if "band_ghz" in cells else 0.0
    if band_ghz not in (0.0, 2.4, 5.0, 6.0):
        raise line.error("band_ghz", cells["band_ghz"], "2.4, 5, 6")
    band_ghz = band_ghz or (2.4 if number <= 13 else 5.0)
    most = {2.4: 13, 5.0: 177, 6.0: 233}[band_ghz]
    if number > most or (band_ghz == 5.0 and number < 36):
        raise line.error("channel", cells["channel"], {2.4: "1 to 13", 5.0: "36 to 177", 6.0: "1 to 233"}[band_ghz])
    channel = Channel(band_ghz, number if band_ghz == 2.4 else containing(band_ghz, number, width_mhz), width_mhz)
    dbm = _number(line, "signal_dbm", cells["signal_dbm"], -128, 0, "dBm")
    # At 2.4 GHz and wherever it is no channel of 20 MHz, the number is that of the channel.
    primary = number if band_ghz > 2.4 and containing(band_ghz, number, 20) == number else None
    heard = found.setdefault(address, Heard(address, line.place, channel, "width_mhz" in cells, primary))
    heard.add(cells.get("at", at), dbm, line.place)
