"""The scenario that follows from an observed network."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wifair.errors import InputError, ScenarioError
from wifair.observed import loads
from wifair.observed.calibration import (
    NEIGHBOURS,
    Calibrated,
    Readings,
    Share,
    calibrated,
    held_back,
    upward,
)
from wifair.observed.flows import (
    IP_BYTES,
    OF_STATIONS,
    as_documents,
    bulk_by_counters,
    flow_tables,
    is_of_datagrams,
    of_documents,
    round_trip_s,
    thinking,
    why,
)
from wifair.observed.links import Keys, Links
from wifair.observed.loads import Load
from wifair.observed.network import Observed, Station, Value, assumed, unknown, with_traffic
from wifair.observed.rates import MOST_S
from wifair.observed.tables import Document, Names, Table, numbered, settings_of
from wifair.planned import RATES
from wifair.scenario.scenario import Scenario
from wifair.study.job import Bars, no_bars

WARMUP_S, DURATION_S = 10, 60
# The line, and by how much it has more than was read where this is at least that part of it.
WIRE_MBPS, FULL_LINE, FREE_LINE, DELAY_MS = 500, 0.9, 2.0, 15
# What a queue of a station takes: txqueuelen of Linux.
HOST_PACKETS = 1000
# The share of the time by which a survey may be less busy than this network's frames.
LEAST_EXCESS = 0.05
# Flows that a remark names.
FEW = 3
# A smaller error rate up is left out.
LEAST_UP = 0.001
EXCESS = "retries in excess of the collisions in this scenario, at this station and at those like it"
ERRORS_UP = "that of frames down, since none is counted for frames up"
ERRORS_BY_RATE = "the rate of the upload that was read, since retries of frames up are not counted"
MOVED = ", and by the rate of its uploads"
NO_SERIES = "whether flows pause is assumed by their rates alone; a station dump per second for a busy minute shows it"
NO_LIMITS = "airtime queue limits are left out: a station is older than 802.11n, and no hardware here has both"


def document(observed: Observed, title: str, names: Names | None = None, bars: Bars = no_bars) -> Document:
    """The scenario of an observed network. Raises `InputError` if nothing was sent, or if no scenario has what was read."""
    try:
        made = _document(observed, title, names or Names(), bars)
        made.scenario()
    except ScenarioError as error:
        raise InputError(f"{', '.join(observed.files)}: no scenario has what was read: {error}") from None
    return made


def _document(observed: Observed, title: str, names: Names, bars: Bars) -> Document:
    observed = replace(observed, stations=with_traffic(observed))
    if not observed.stations:
        raise InputError(
            f"{', '.join(observed.files) or 'import'}: no file has a station; allowed here: a station dump, a list of stations, a data file "
            "of flent."
        )
    links = Links(observed)
    named = {key: f"station-{number}" for number, key in enumerate(observed.stations, 1)}
    found = [load for each in observed.stations.values() for load in loads.of_station(each)]
    active = [
        key for key, each in observed.stations.items() if each.traffic or any(load.station == key for load in found)
    ]
    if not active:
        raise InputError(
            f"{', '.join(observed.files)}: no station sends or receives {loads.LEAST_MBPS:g} Mbps or more{_in_order(observed)}; allowed here: counters of a time "
            "with traffic, or dumps in the order of their times with traffic between them."
        )
    keys = {key: links.station(observed.stations[key]) for key in active}
    head = _head(observed, links, keys, found)
    events = [event for key in active for event in _events(named[key], links.changes(observed.stations[key]))]
    flows = flow_tables(observed, title, head, {named[key]: each for key, each in keys.items()}, named, found)
    if all(is_of_datagrams(flow) for flow in flows):
        head = [table for table in head if table.header != "[tcp]"]

    def tables(found: Calibrated) -> list[Table]:
        stations = [_station(observed.stations[key], named[key], keys[key], found, names) for key in active]
        made = [*head, *stations, *(thinking(flow, found) for flow in flows)]
        return [*made, *_neighbours(title, made, links, found.others), *events]

    def scenario(found: Calibrated) -> Scenario:
        return Scenario.from_settings(settings_of(title, tables(found)))

    rates = {f"{named[load.station]}-{load.direction}": load.mbps for load in found if load.mbps is not None}
    cycles_s = {f"{named[load.station]}-{load.direction}": loads.cycle_s(load) for load in found}
    bulk = {
        flow: Share(rates[flow], elapsed_s)
        for flow, elapsed_s in bulk_by_counters(observed, named, found, flows).items()
    }
    up = {f"{named[load.station]}-up": named[load.station] for load in loads.competing_uploads(observed, found)}

    def readings() -> Readings:
        documents = {name: rates[name] for flow in flows if (name := of_documents(flow)) in rates}
        uploads = {station: rates[name] for name, station in up.items() if name in bulk}
        uploads |= {named[key]: mbps for key in active if (mbps := _captured_up(observed.stations[key]))}
        shares, together = _shares(observed, {key: named[key] for key in active}, keys)
        received = not loads.counts_airtime(observed)
        return Readings(shares, received, documents, uploads, together, _changing_s(observed))

    found_by_runs = calibrated(scenario, readings(), bars)
    while held := held_back(scenario(found_by_runs), readings(), bulk, bars):
        flows = [as_documents(flow, bulk, held, round_trip_s(title, head), cycles_s) for flow in flows]
        bulk = {name: read for name, read in bulk.items() if name not in held}
        found_by_runs = calibrated(scenario, readings(), bars)
    slowed = _slowed([flow for flow in flows if why(flow) == loads.HELD_BACK], head)
    slowed += _erring([name for name, station in up.items() if found_by_runs.errors_up.get(station)], head)
    changing = [_changing(table) for table in events]
    [hardware] = [table.keys["hardware"] for table in head if table.header == "[ap]"]
    without = [NO_LIMITS] if _has_limits(observed) and hardware is not observed.keys["ap.hardware"] else []
    remarks = (
        *observed.remarks,
        *_doubtful(observed, found),
        *without,
        *slowed,
        *changing,
        *_idle(observed, active, names),
        *found_by_runs.missed,
    )
    return Document(title, tuple(observed.files), tuple(tables(found_by_runs)), remarks)


def _station(station: Station, name: str, keys: Keys, found: Calibrated, names: Names) -> Table:
    own = {"name": numbered(name), **keys}
    error = found.errors.get(name, 0.0)
    if error:
        own["frame_error_rate.data_down"] = assumed(loads.significant(error), EXCESS)
    up = found.errors_of(name, is_up=True)
    if up >= LEAST_UP:
        what = ERRORS_BY_RATE if name in found.errors_up else ERRORS_UP
        if upward(name) in found.within:
            what = f"{EXCESS}{MOVED}" if found.moved.get(name) else EXCESS
        own["frame_error_rate.data_up"] = assumed(loads.significant(up), what)
    about = _about(station, names)
    if name in found.within and not error:
        within = found.within[name]
        is_told = within < 1
        about += (
            f", which collisions alone explain, give or take a share of {within:.2g}"
            if is_told
            else ", too few frames to tell errors"
        )
    return Table("[[stations]]", own, about)


def _events(name: str, changes: list[tuple[Value[float], Keys]]) -> list[Table]:
    """The changes of a station's link while it was captured."""
    return [
        Table(
            "[[events]]",
            {"at_s": at_s, "station.name": numbered(name), **{f"station.{key}": each for key, each in keys.items()}},
        )
        for at_s, keys in changes
    ]


def _changing(event: Table) -> str:
    """An event of a link in words."""
    keys = {key.removeprefix("station."): each.value for key, each in event.keys.items()}
    rates = ", ".join(f"{key} = {keys[key]:g}" for key in RATES if key in keys)
    return f"the link of {keys['name']} changes at {keys['at_s']:g} s: {rates}"


def _slowed(flows: list[Table], head: list[Table]) -> list[str]:
    """What to do about flows that are held back."""
    if not flows:
        return []
    line = _line(head)
    told = f"{_listed([str(flow.keys['name'].value) for flow in flows])}: documents, since as bulk data they would have more than twice the rate that was read"
    if line.origin == "unknown":
        told += f". Their applications hold them back, or a line slower than the {line.value:g} Mbps that are assumed: if you know it, give --set wire.rate_mbps=RATE"
    return [told]


def _in_order(observed: Observed) -> str:
    """Which dumps do not continue the one before."""
    if not observed.alone:
        return ""
    return f", and {_listed(observed.alone)} {'does' if len(observed.alone) == 1 else 'do'} not continue the dump before, as if the order were wrong"


def _doubtful(observed: Observed, found: list[Load]) -> list[str]:
    """What is wrong with the files together, or missing."""
    told = []
    others = loads.others(observed)
    if others and others[0] < -LEAST_EXCESS:
        told.append(
            f"the survey has less busy time than the frames of this network take, by {-others[0] * 100:.0f} % of the time: it is of another time or device, and what "
            "others take is unknown"
        )
    if any(load.packet_bytes and not load.is_call and not load.pauses for load in found):
        told.append(NO_SERIES)
    return told


def _captured_up(station: Station) -> float:
    """The rate up of a station that has bulk data or documents up by a capture; 0 for another."""
    up = [each for each in station.traffic if each.direction == "up"]
    has_data = "up" in station.documents or any("application" in each.assumed for each in up)
    rest = station.up_mbps.value if station.up_mbps else 0.0
    return rest + sum(each.mbps or 0.0 for each in up) if has_data else 0.0


def _erring(uploads: list[str], head: list[Table]) -> list[str]:
    """What else than errors of frames up may explain the rates of these uploads."""
    line = _line(head)
    if not uploads or line.origin != "unknown":
        return []
    return [
        f"{_listed(uploads)}: errors of frames up are assumed with which they have the rate that was read. A line slower than the {line.value:g} Mbps that are assumed "
        "would be another reason: if you know it, give --set wire.rate_mbps=RATE"
    ]


def _line(head: list[Table]) -> Value[Any]:
    [line] = [table.keys["rate_mbps"] for table in head if table.header == "[wire]"]
    return line


def _listed(names: list[str]) -> str:
    return f"{', '.join(names[:FEW])}{f' and {len(names) - FEW} more' if len(names) > FEW else ''}"


def _shares(
    observed: Observed, active: Mapping[str, str], links: Mapping[str, Keys]
) -> tuple[dict[str, Share], list[list[str]]]:
    """The shares that runs are compared with, and the stations whose links are alike. `active` has the names of stations by their keys, `links` what their links are."""
    shares = {}
    for key, name in active.items():
        counters = observed.stations[key].counters
        retries = loads.retries(counters)
        if retries is not None:
            shares[name] = Share(retries, counters.elapsed_s.value if counters.elapsed_s else math.inf)
        up = observed.stations[key].up_retries
        if up is not None and observed.captured_s:
            shares[upward(name)] = Share(up.value, observed.captured_s.value)
    others = loads.others(observed)
    if others:
        shares[NEIGHBOURS] = Share(*others)
    alike: dict[str, list[str]] = {}
    for key, name in active.items():
        link = repr({each: found.value for each, found in links[key].items()})
        for each in (name, upward(name)):
            if each in shares:
                alike.setdefault(f"{each == name}{link}", []).append(each)
    return shares, [names for names in alike.values() if len(names) > 1]


def _head(observed: Observed, links: Links, stations: Mapping[str, Keys], active: list[Load]) -> list[Table]:
    ap: Keys = {}
    ap["scheme"] = unknown(OF_STATIONS, "the queues of Linux with airtime fairness, the default of its drivers")
    ap["hardware"] = unknown("firmware", "the chip queues packets itself, as with mt76")
    keys = {**observed.keys}
    if not links.is_modern or any("rate_mbps" in each for each in stations.values()):
        ap["hardware"] = assumed("ideal", "a station is older than 802.11n, which the other models do not have")
        if _has_limits(observed):
            del keys["ap.hardware"]
    wire: Keys = {"rate_mbps": _wire_mbps(active)}
    wire["one_way_delay_ms"] = unknown(DELAY_MS, "half the round-trip time to servers")
    tables = [
        Table("[run]", _run(observed)),
        Table("[phy]", links.phy()),
        Table("[ap]", ap),
        Table("[wire]", wire),
        Table("[tcp]", {"profile": unknown("today", "the TCP of the hosts")}),
        Table(
            "[station]",
            {"tx_queue.limit_packets": unknown(HOST_PACKETS, "the queues of the hosts, Linux's txqueuelen")},
        ),
    ]
    if links.is_modern:
        classify = unknown(
            {"classify": "dscp"}, "the category by the upper three bits of the DSCP, as Linux does by default"
        )
        tables.insert(2, Table("[mac]", {"edca": classify}))
    for path, found in keys.items():  # given directly: they replace defaults
        section, _, key = path.partition(".")
        at = [number for number, table in enumerate(tables) if table.header == f"[{section}]"]
        if at:
            rest = {name: each for name, each in tables[at[0]].keys.items() if not name.startswith(f"{key}.")}
            tables[at[0]] = replace(tables[at[0]], keys={**rest, key: found})
        else:
            tables.append(Table(f"[{section}]", {key: found}))
    return tables


def _wire_mbps(found: list[Load]) -> Value[Any]:
    """The line: a default, unless that would limit the rates that were read."""
    most = max(sum(load.mbps or 0 for load in found if load.direction == way) for way in loads.DIRECTIONS)
    if most < FULL_LINE * WIRE_MBPS:
        return unknown(WIRE_MBPS, "the line of the access point")
    return unknown(loads.significant(FREE_LINE * most), "the line of the access point, twice what was read")


def _has_limits(observed: Observed) -> bool:
    """Whether a file has airtime queue limits."""
    return "ap.hardware" in observed.keys and observed.keys["ap.hardware"].origin != "given"


def _changing_s(observed: Observed) -> float | None:
    """The length of the capture, if links change in it, or flows start after what is the warm-up otherwise."""
    stations = observed.stations.values()
    starts = [each.keys.value.get("start_s", 0) for station in stations for each in station.traffic]
    if (
        observed.captured_s
        and observed.captured_s.value <= MOST_S
        and (any(each.changes for each in stations) or max(starts, default=0) > WARMUP_S)
    ):
        return round(observed.captured_s.value, 2)
    return None


def _run(observed: Observed) -> Keys:
    """The time of a run: that of the capture, from its beginning to its end, if something changes in it."""
    changing_s = _changing_s(observed)
    if changing_s is not None:
        what = "the time of the capture, in which links change or flows start"
        return {"warmup_s": assumed(0, what), "duration_s": assumed(changing_s, what)}
    return {"warmup_s": assumed(WARMUP_S, "a default"), "duration_s": assumed(DURATION_S, "a default")}


def _about(station: Station, names: Names) -> str:
    parts = [names.shown(station)]
    if station.signal_dbm:
        parts.append(f"{station.signal_dbm.what} {station.signal_dbm.value:g} dBm")
    counters = station.counters
    if counters.elapsed_s:
        parts.append(f"{counters.elapsed_s.what} {counters.elapsed_s.value:g} s")
    if counters.down_packets and counters.retries:
        parts.append(f"{counters.retries.value} retries of {counters.down_packets.value} packets down")
    return ", ".join(parts)


def _neighbours(title: str, tables: list[Table], links: Links, share: float) -> list[Table]:
    """A station that uses this share of the time; none without a share."""
    if not share:
        return []
    what = f"{share * 100:.0f} % of the time is busy and neither sent nor received here"
    keys: Keys = {"name": numbered(NEIGHBOURS)}
    if links.is_modern:
        slow = 0  # MCS 0
        keys |= {
            "streams": unknown(1, "the rates of other networks"),
            "mcs": unknown(slow, "the rates of other networks"),
        }
    flow: Keys = {"name": numbered(NEIGHBOURS), "station": numbered(NEIGHBOURS), "direction": assumed("up", what)}
    alone = Scenario.from_settings(settings_of(title, [*tables, Table("[[stations]]", keys), Table("[[flows]]", flow)]))
    one_us = alone.channel_access(IP_BYTES)[NEIGHBOURS, "up"]["one"]["airtime_us"]
    rate = share * (IP_BYTES - loads.UDP_BYTES) * 8 / one_us
    udp = {
        "name": "udp",
        "rate_mbps": loads.significant(rate),
        "payload_bytes": IP_BYTES - loads.UDP_BYTES,
        "arrivals": "poisson",
    }
    flow["application"] = assumed(udp, f"{what}: datagrams of that airtime")
    remark = "other networks on the channel, as one station of this cell"
    return [Table("[[stations]]", keys, remark), Table("[[flows]]", flow)]


def _idle(observed: Observed, active: list[str], names: Names) -> list[str]:
    idle = [names.shown(station) for key, station in observed.stations.items() if key not in active]
    if not idle:
        return []
    subject, verb = ("1 station", "is") if len(idle) == 1 else (f"{len(idle)} stations", "are")
    return [
        f"{subject} without traffic of {loads.LEAST_MBPS:g} Mbps or more {verb} left out: {', '.join(idle)}",
    ]
