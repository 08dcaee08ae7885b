"""Reads a list of stations in CSV (RFC 4180), with a line of column names first.

| column | meaning |
| --- | --- |
| `name` | name of the station, unique; needed |
| `rate_mbps` | bit rate to the access point, or in both directions |
| `rate_down_mbps` | bit rate from the access point |
| `signal_dbm` | received power, which gives the MCS without a rate |
| `down_mbps`, `up_mbps` | mean rates of payload |
| `traffic` | what the station does, several joined by `+`: download, upload, web, voice, game, ping, idle |
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

from wifair.errors import InputError
from wifair.keys import nearest
from wifair.observed.bitrate import ANY, Bitrate
from wifair.observed.lines import SHOWN, Line
from wifair.observed.network import Direction, Observed, Station, Traffic, Value, read

NAME = "a list of stations (CSV)"
COLUMNS = ("name", "rate_mbps", "rate_down_mbps", "signal_dbm", "down_mbps", "up_mbps", "traffic")
# Flows by word: direction and keys.
_WEB = {
    "name": "web",
    "connections": 6,
    "min_bytes": 500_000,
    "max_bytes": 3_000_000,
    "step_bytes": 100_000,
    "think_mean_s": 15,
}
TRAFFIC: dict[str, tuple[Direction, Mapping[str, Any]] | None] = {
    "download": ("down", {}),
    "upload": ("up", {}),
    "web": ("down", {"application": _WEB}),
    "voice": ("down", {"application": "voip"}),
    "game": ("down", {"application": "game"}),
    "ping": ("up", {"application": "ping"}),
    "idle": None,
}
MOST_MBPS = 100_000


def recognises(head: str) -> bool:
    """Whether a text begins like one: `name` is a column."""
    first = head.lstrip("\ufeff").split("\n", 1)[0]
    return "name" in [cell.strip().strip('"') for cell in first.split(",")]


def read_into(observed: Observed, file: str, content: str) -> None:
    """Adds the stations of a list."""
    rows = csv.reader(io.StringIO(content.lstrip("\ufeff"), newline=""), strict=True)
    try:
        columns = [column.strip() for column in next(rows)]
        _check(Line(file, 1, ""), columns)
        for row in rows:
            if row:
                _add(observed, Line(file, rows.line_num, ""), columns, row)
    except csv.Error as error:
        raise InputError(f"{file}:{rows.line_num}: is no line of CSV: {error}.") from None
    if not observed.stations:
        raise InputError(f"{file}: has no station; allowed here: a line for each below the names of the columns.")


def _check(line: Line, columns: list[str]) -> None:
    for column in columns:
        if column not in COLUMNS or columns.count(column) > 1:
            hint = nearest(column, COLUMNS)
            allowed = f"each of {', '.join(COLUMNS)} at most once"
            raise line.error(
                "column", column, f"{allowed}; did you mean {hint}?" if hint and column not in COLUMNS else allowed
            )


def _add(observed: Observed, line: Line, columns: list[str], row: list[str]) -> None:
    if len(row) != len(columns):
        raise line.error("row", ",".join(row), f"{len(columns)} cells, as there are columns")
    cells = {column: cell.strip() for column, cell in zip(columns, row, strict=True) if cell.strip()}
    name = cells.get("name", "")
    if not name or len(name) > SHOWN or not name.isprintable() or name in observed.stations:
        raise line.error("name", name, f"a name of at most {SHOWN} characters that no station before has")

    def number(column: str, least: float, most: float, unit: str) -> Value[float] | None:
        if column not in cells:
            return None
        return read(line.decimal(column, cells[column], least, most, unit), column, line.place)

    up, down = number("rate_mbps", 0.1, MOST_MBPS, "Mbps"), number("rate_down_mbps", 0.1, MOST_MBPS, "Mbps")
    observed.add(
        Station(
            name,
            line.place,
            name=name,
            up=up.of(Bitrate(up.value, ANY)) if up else None,
            down=down.of(Bitrate(down.value, ANY)) if down else None,
            signal_dbm=number("signal_dbm", -128, 0, "dBm"),
            down_mbps=number("down_mbps", 0, MOST_MBPS, "Mbps"),
            up_mbps=number("up_mbps", 0, MOST_MBPS, "Mbps"),
            traffic=_traffic(line, cells.get("traffic", "")),
        )
    )


def _traffic(line: Line, told: str) -> tuple[Traffic, ...]:
    found = []
    for word in (part.strip() for part in told.split("+") if told):
        if word not in TRAFFIC:
            hint = nearest(word, TRAFFIC)
            raise line.error("traffic", word, ", ".join(TRAFFIC) + (f"; did you mean {hint}?" if hint else ""))
        flow = TRAFFIC[word]
        if flow:
            found.append(Traffic(flow[0], read(flow[1], "traffic", line.place)))
    return tuple(found)
