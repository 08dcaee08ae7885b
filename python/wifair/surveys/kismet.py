"""Reads Kismet's lists of networks: CSV with semicolons, and netxml. airodump-ng writes both, too.

Columns are those of Kismet's `NetworkDump`, elements those of its `netxml`. They say the primary channel, but no width.
"""

from __future__ import annotations

import csv
import io
import re

from wifair.errors import InputError
from wifair.observed.lines import Line, lines
from wifair.surveys.heard import Channel, Heard

NAME = "Kismet CSV or netxml"
_HEAD = "Network;NetType;ESSID;BSSID;"
_NETWORK = "<wireless-network "
_ELEMENT = re.compile(r"<([A-Za-z_]+)>([^<]*)</")


def recognises(head: str) -> bool:
    """Whether a text begins like one."""
    return head.lstrip("\ufeff").startswith(_HEAD) or ("<detection-run" in head or _NETWORK in head)


def read_into(found: dict[str, Heard], file: str, content: str, at: str) -> None:
    """Adds the networks of a list at a place."""
    if content.lstrip("\ufeff").startswith(_HEAD):
        _read_csv(found, file, content, at)
    else:
        _read_netxml(found, file, content, at)
    if not found:
        raise InputError(f"{file}: has no network with a channel and a signal.")


def _read_csv(found: dict[str, Heard], file: str, content: str, at: str) -> None:
    rows = csv.reader(io.StringIO(content.lstrip("\ufeff"), newline=""), delimiter=";", strict=True)
    try:
        columns = next(rows)
        for row in rows:
            line = Line(file, rows.line_num, ";".join(row))
            cells = dict(zip(columns, row, strict=False))
            if cells.get("NetType", "infrastructure") == "infrastructure" and cells.get("BSSID"):
                _add(found, line, cells["BSSID"], cells.get("Channel", ""), cells.get("BestSignal", ""), at)
    except csv.Error as error:
        raise InputError(f"{file}:{rows.line_num}: is no line of CSV: {error}.") from None


def _read_netxml(found: dict[str, Heard], file: str, content: str, at: str) -> None:
    """Line by line, since Kismet writes one element per line; elements of clients are within theirs, and not read."""
    fields: dict[str, tuple[Line, str]] = {}
    depth = 0
    for line in lines(file, content):
        if _NETWORK in line.text:
            fields, depth = {}, 0
        depth += line.text.count("<wireless-client ") - line.text.count("</wireless-client>")
        if depth == 0:
            for name, told in _ELEMENT.findall(line.text):
                fields.setdefault(name, (line, told.strip()))
        if "</wireless-network>" in line.text and "BSSID" in fields:
            place, address = fields["BSSID"]
            signal = fields.get("max_signal_dbm") or fields.get("last_signal_dbm") or (place, "")
            _add(found, place, address, fields.get("channel", (place, ""))[1], signal[1], at)


def _add(found: dict[str, Heard], line: Line, address: str, channel: str, signal: str, at: str) -> None:
    """Adds a network, unless its channel or its signal is unknown: 0, or no value."""
    address = line.address("BSSID", address)
    number = line.count("Channel", channel) if channel not in ("", "-1") else 0
    dbm = line.decimal("BestSignal", signal, -128, 127, "dBm") if signal else 0.0
    if number == 0 or dbm >= 0:
        return
    band_ghz = 2.4 if number <= 13 else 5.0
    if not (number <= 13 or 36 <= number <= 177):
        raise line.error("Channel", channel, "1 to 13, or 36 to 177")
    heard = found.setdefault(address, Heard(address, line.place, Channel(band_ghz, number, 20), False, number))
    heard.add(at, dbm, line.place)
