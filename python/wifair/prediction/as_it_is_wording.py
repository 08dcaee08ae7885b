"""What was measured next to what is simulated, in a sentence, in tables, and as the content of a JSON document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wifair.everything.criteria import number
from wifair.observed.shown import TITLES, Kind, Quantity
from wifair.prediction.as_it_is import AsItIs, Judged

CELL_HEADINGS = ("of the cell", "measured", "in the runs", "95 % interval", "is")
# What the table of stations has.
STATIONS = (
    "Stations, measured / in the runs, the most missed first; * differs by more than chance and by more than matters"
)
# The columns of stations: what is measured of a station, and a heading.
COLUMNS: tuple[tuple[Kind, str, str], ...] = (
    ("goodput", "down", "down, Mbps"),
    ("goodput", "up", "up, Mbps"),
    ("airtime", "", "airtime, %"),
    ("retries", "", "retries, %"),
    ("ping", "", "ping, ms"),
)
PERCENT = ("airtime", "retries")


def headline(found: AsItIs) -> str:
    """Whether runs show what was measured, and the quantity that they miss most."""
    return f"{_differ(found)}. Most of all {missed(found.missed[0])}" if found.missed else _alike(found)


def listed(found: AsItIs, named: int) -> str:
    """Whether runs show what was measured, and so many of the quantities that differ, those of the whole cell first."""
    out = sorted(found.missed, key=lambda each: bool(each.quantity.station))
    if not out:
        return _alike(found)
    more = f"; {len(out) - named} more" if named < len(out) else ""
    return f"{_differ(found)}: {'; '.join(map(missed, out[:named]))}{more}."


def _alike(found: AsItIs) -> str:
    return f"Runs show all {len(found.judged)} quantities that were measured ({found.name}), within what matters or within chance."


def _differ(found: AsItIs) -> str:
    return (
        f"Runs differ from what was measured ({found.name}) in {len(found.missed)} of {len(found.judged)} quantities by more than chance and by more than "
        "matters"
    )


def missed(each: Judged) -> str:
    """A quantity with both of its values."""
    return f"{each.quantity}: {number(each.measured)} measured, {number(each.simulated)} in the runs"


def remarks(found: AsItIs) -> Iterator[str]:
    """What to do about a difference, what only one of both has, and what there is to say of the files and of the runs."""
    if found.missed:
        yield "`wifair fit` searches values of what the scenario assumes with which runs show the measurement"
    yield from gaps(found)
    if found.short:
        yield found.short
    yield from found.read


def gaps(found: AsItIs) -> Iterator[str]:
    """What the files do not have."""
    if not any(what.kind == "ping" for what in (*(each.quantity for each in found.judged), *found.only_measured)):
        yield "No file has delays: a data file of flent has those of pings"
    kinds = dict.fromkeys(TITLES[what.kind] for what in found.only_simulated if what.kind != "ping")
    if kinds:
        yield f"Not measured, or not of every station: {'; '.join(kinds)}"


def of_cell(found: AsItIs) -> list[list[str]]:
    """The rows with `CELL_HEADINGS`."""
    rows = []
    for each in found.judged:
        if each.quantity.station:
            continue
        of_runs = found.runs[each.quantity]
        ends = (
            "–" if of_runs.low is None or of_runs.high is None else f"{number(of_runs.low)} to {number(of_runs.high)}"
        )
        rows.append([str(each.quantity), number(each.measured), number(each.simulated), ends, _state(each)])
    return rows


def _state(each: Judged) -> str:
    return "alike" if each.is_alike else "within chance" if each.is_within else "different"


def station_headings(found: AsItIs) -> list[str]:
    """The columns that some station has."""
    return ["station", *(["signal, dBm"] if found.signals_dbm else []), *_columns(found).values()]


def of_stations(found: AsItIs) -> list[list[str]]:
    """A row for each station with the measured and the simulated values, the most missed station first. A star marks values that differ."""
    by_quantity = {each.quantity: each for each in found.judged}
    columns = _columns(found)
    rows = []
    for station in dict.fromkeys([*(each.quantity.station for each in found.judged), *found.stations]):
        mine = {column: by_quantity.get(Quantity(column[0], station, column[1])) for column in columns}
        if not station or not any(mine.values()):
            continue
        cells = [_pair(each) for each in mine.values()]
        signal = [f"{found.signals_dbm[station]:.0f}" if station in found.signals_dbm else "–"]
        rows.append([station, *(signal if found.signals_dbm else []), *cells])
    return rows


def _columns(found: AsItIs) -> dict[tuple[Kind, str], str]:
    there = {(each.quantity.kind, each.quantity.direction) for each in found.judged if each.quantity.station}
    return {(kind, way): heading for kind, way, heading in COLUMNS if (kind, way) in there}


def _pair(each: Judged | None) -> str:
    if each is None:
        return "–"
    factor = 100 if each.quantity.kind in PERCENT else 1
    star = "" if each.is_within else "*"
    return f"{number(factor * each.measured)} / {number(factor * each.simulated)}{star}"


def document(found: AsItIs) -> dict[str, Any]:
    """All of the comparison."""
    return {
        "answer": headline(found),
        "quantities": [
            {
                "quantity": each.quantity.kind,
                "station": each.quantity.station,
                "direction": each.quantity.direction,
                "measured": each.measured,
                "simulated": each.simulated,
                "ci_low": found.runs[each.quantity].low,
                "ci_high": found.runs[each.quantity].high,
                "is_within": each.is_within,
            }
            for each in found.judged
        ],
        "signals_dbm": dict(found.signals_dbm),
        "remarks": list(remarks(found)),
    }
