"""The scenario that follows from an observed network: tables of keys, each value with its origin."""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
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
from wifair.observed.links import Keys, Links
from wifair.observed.loads import Load
from wifair.observed.network import BULK, DATAGRAMS, Delay, Observed, Station, Traffic, Value, assumed, read, unknown
from wifair.observed.rates import MOST_S
from wifair.planned import RATES
from wifair.scenario.scenario import Scenario
from wifair.study.job import Bars, no_bars

WARMUP_S, DURATION_S = 10, 60
# The line, and by how much it has more than was read where this is at least that part of it.
WIRE_MBPS, FULL_LINE, FREE_LINE, DELAY_MS = 500, 0.9, 2.0, 15
# The scheme with queues of each station, and from which multiple of the wire's delay on a flow has that of its server.
OF_STATIONS, FARTHER = "mac80211", 1.1
# What a queue of a station takes: txqueuelen of Linux.
HOST_PACKETS = 1000
CLIENT = "client"
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
IP_BYTES = 1500


@dataclass(frozen=True)
class Table:
    """A table of the scenario: its header with brackets, a remark, its keys."""

    header: str
    keys: Keys
    remark: str = ""


@dataclass(frozen=True)
class Names:
    """Names of stations in the scenario, and what comments show instead of addresses.

    Without `keep`, an address is replaced by a keyed hash (BLAKE2b) under a random key that is not stored: the same address has the
    same hash in all files of one import, and another one in the next.
    """

    keep: bool = False
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def shown(self, station: Station) -> str:
        """What a comment shows of the station's address or name."""
        if self.keep or station.name:
            return station.name or station.key
        return hmac.new(self.key, station.key.encode(), hashlib.blake2b).hexdigest()[:8]


@dataclass(frozen=True)
class LeftOut:
    """A BSS that was heard and that the scenario does not have.

    `is_missed` says that its frames take air of a BSS that the scenario has, so that the air there is freer than in reality.
    """

    bss: str
    channel: str
    dbm: float
    why: str
    is_missed: bool

    @property
    def effect(self) -> str:
        """What follows for the scenario."""
        return "the air here is freer than in reality" if self.is_missed else "none"

    def __str__(self) -> str:
        missed = f"; {self.effect}" if self.is_missed else ""
        return f"{self.bss} ({self.channel}, {self.dbm:g} dBm) is left out: {self.why}{missed}"


@dataclass(frozen=True)
class Document:
    """The tables, and remarks on what has no place in them. `left_out` are BSSs that have none."""

    title: str
    files: tuple[str, ...]
    tables: tuple[Table, ...]
    remarks: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def missed(self) -> list[LeftOut]:
        """The BSSs left out whose frames take air of a BSS that is there."""
        return [each for each in self.left_out if each.is_missed]

    def settings(self) -> dict[str, Any]:
        """The settings of the scenario."""
        return _settings(self.title, self.tables)

    def scenario(self) -> Scenario:
        """The scenario."""
        return self._scenario

    @cached_property
    def _scenario(self) -> Scenario:
        return Scenario.from_settings(self.settings())


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
    flows = _flows(observed, title, head, {named[key]: each for key, each in keys.items()}, named, found)
    if all(_is_of_datagrams(flow) for flow in flows):
        head = [table for table in head if table.header != "[tcp]"]

    def tables(found: Calibrated) -> list[Table]:
        stations = [_station(observed.stations[key], named[key], keys[key], found, names) for key in active]
        made = [*head, *stations, *(_thinking(flow, found) for flow in flows)]
        return [*made, *_neighbours(title, made, links, found.others), *events]

    def scenario(found: Calibrated) -> Scenario:
        return Scenario.from_settings(_settings(title, tables(found)))

    rates = {f"{named[load.station]}-{load.direction}": load.mbps for load in found if load.mbps is not None}
    cycles_s = {f"{named[load.station]}-{load.direction}": loads.cycle_s(load) for load in found}
    bulk = {flow: Share(rates[flow], elapsed_s) for flow, elapsed_s in _bulk(observed, named, found, flows).items()}
    up = {f"{named[load.station]}-up": named[load.station] for load in loads.competing_uploads(observed, found)}

    def readings() -> Readings:
        documents = {name: rates[name] for flow in flows if (name := _of_documents(flow)) in rates}
        uploads = {station: rates[name] for name, station in up.items() if name in bulk}
        uploads |= {named[key]: mbps for key in active if (mbps := _captured_up(observed.stations[key]))}
        shares, together = _shares(observed, {key: named[key] for key in active}, keys)
        received = not loads.counts_airtime(observed)
        return Readings(shares, received, documents, uploads, together, _changing_s(observed))

    found_by_runs = calibrated(scenario, readings(), bars)
    while held := held_back(scenario(found_by_runs), readings(), bulk, bars):
        flows = [_held_back(flow, bulk, held, _rtt_s(title, head), cycles_s) for flow in flows]
        bulk = {name: read for name, read in bulk.items() if name not in held}
        found_by_runs = calibrated(scenario, readings(), bars)
    slowed = _slowed([flow for flow in flows if _why(flow) == loads.HELD_BACK], head)
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
    own = {"name": _name(name), **keys}
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
            {"at_s": at_s, "station.name": _name(name), **{f"station.{key}": each for key, each in keys.items()}},
        )
        for at_s, keys in changes
    ]


def _changing(event: Table) -> str:
    """An event of a link in words."""
    keys = {key.removeprefix("station."): each.value for key, each in event.keys.items()}
    rates = ", ".join(f"{key} = {keys[key]:g}" for key in RATES if key in keys)
    return f"the link of {keys['name']} changes at {keys['at_s']:g} s: {rates}"


def _of_documents(flow: Table) -> str:
    """The name of a flow of documents; empty for another flow."""
    application = _application(flow)
    is_web = isinstance(application, Mapping) and "think_mean_s" in application
    return str(flow.keys["name"].value) if is_web else ""


def _bulk(observed: Observed, named: Mapping[str, str], found: list[Load], flows: list[Table]) -> dict[str, float]:
    """The flows that are bulk by their counters, with the seconds over which these were counted."""
    assumed_bulk = {table.keys["name"].value for table in flows if _application(table) == BULK}
    counted: dict[str, float] = {}
    for load in found:
        name, elapsed_s = f"{named[load.station]}-{load.direction}", observed.stations[load.station].counters.elapsed_s
        if name in assumed_bulk and load.mbps is not None:
            counted[name] = elapsed_s.value if elapsed_s else math.inf
    return counted


def _held_back(
    flow: Table, read: Mapping[str, Share], held: Mapping[str, float], rtt_s: float, cycles_s: Mapping[str, float]
) -> Table:
    """The flow with documents, if it is among these, which have the rates in runs."""
    name = str(flow.keys["name"].value)
    documents = loads.web(read[name].value, held[name], rtt_s, cycles_s[name]) if name in held else {}
    if not documents:
        return flow
    return replace(flow, keys={**flow.keys, "application": assumed(documents, loads.HELD_BACK)})


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


def _why(flow: Table) -> str:
    return flow.keys["application"].what if "application" in flow.keys else ""


def _application(flow: Table) -> Any:
    return flow.keys["application"].value if "application" in flow.keys else None


def _is_of_datagrams(flow: Table) -> bool:
    application = _application(flow)
    return (application.get("name") if isinstance(application, Mapping) else application) in DATAGRAMS


def _thinking(flow: Table, found: Calibrated) -> Table:
    """The flow with the think time that was found for it."""
    think_s = found.thinks.get(_of_documents(flow))
    if think_s is None:
        return flow
    application = flow.keys["application"]
    own = application.of({**application.value, "think_mean_s": loads.significant(think_s)})
    is_short = think_s <= loads.LEAST_THINK_S
    less = ", of which the documents reach less, even with the shortest think time" if is_short else ""
    return replace(flow, keys={**flow.keys, "application": own}, remark=f"{flow.remark}{less}")


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


def _flows(
    observed: Observed,
    title: str,
    head: list[Table],
    stations: Mapping[str, Keys],
    named: Mapping[str, str],
    found: list[Load],
) -> list[Table]:
    """The flows, station by station."""
    capacity, saturated = _capacity(title, head, stations), loads.saturated(observed)
    rtt_s = _rtt_s(title, head)
    full = loads.full_packets(found)
    of_station: dict[str, list[Load]] = {}
    for load in found:
        of_station.setdefault(load.station, []).append(load)
    flows = []
    for key, station in observed.stations.items():
        for load in of_station.get(key, []):
            rule = loads.flow(
                load,
                capacity[named[key], load.direction],
                len(found),
                saturated,
                rtt_s,
                full.get((key, load.direction)),
            )
            delay = _delay(load.documents.delay, False, head) if load.documents else {}
            flows.append(_flow(named[key], load, *rule, delay))
        flows += [
            _described(named[key], number, traffic, _delay(traffic.delay, True, head))
            for number, traffic in enumerate(station.traffic)
        ]
    return flows


def _delay(own: Delay | None, is_bulk: bool, head: list[Table]) -> Keys:
    """The delay of a flow's server, if it is longer than that of the wire.

    With the wait at the access point, it counts for bulk flows alone, and where a station waits for its own packets: that wait is short at some time, if there are packets all the time.
    """
    [wire] = [table.keys["one_way_delay_ms"] for table in head if table.header == "[wire]"]
    [scheme] = [table.keys["scheme"].value for table in head if table.header == "[ap]"]
    has_own_queue = (scheme["name"] if isinstance(scheme, Mapping) else scheme) == OF_STATIONS
    if own is None or wire.origin == "given" or (own.has_wait and not (is_bulk and has_own_queue)):
        return {}
    return {"one_way_delay_ms": own.one_way_ms} if own.one_way_ms.value > FARTHER * wire.value else {}


def _rtt_s(title: str, head: list[Table]) -> float:
    """The round-trip time to servers."""
    return float(2 * _settings(title, head)["wire"]["one_way_delay_ms"] / 1000)


def with_traffic(observed: Observed) -> dict[str, Station]:
    """The stations. Traffic without a station is that of the only one, or of one that no other file has."""
    if not observed.traffic:
        return observed.stations
    if len(observed.stations) > 1:
        raise InputError(
            f"{', '.join(observed.files)}: which of {len(observed.stations)} stations has the flows of flent is unknown; allowed here: a "
            "dump of that station alone, or none."
        )
    there = [*observed.stations.values()] or [Station(CLIENT, "", name=CLIENT)]
    return {each.key: replace(each, traffic=(*each.traffic, *observed.traffic)) for each in there}


def _name(name: str) -> Value[Any]:
    return assumed(name, "a number by the order of the files")


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


def _capacity(title: str, head: list[Table], stations: Mapping[str, Keys]) -> dict[tuple[str, str], float]:
    """What each link carries alone, in Mbps: the largest PPDU of full packets per airtime."""
    tables = [*head]
    for name, keys in stations.items():
        tables.append(Table("[[stations]]", {"name": _name(name), **keys}))
        tables.append(Table("[[flows]]", {"station": _name(name), "direction": read("up", "", "")}))
    access = Scenario.from_settings(_settings(title, tables)).channel_access(IP_BYTES)
    return {link: row["full"]["packets"] * IP_BYTES * 8 / row["full"]["airtime_us"] for link, row in access.items()}


def _flow(station: str, load: Load, keys: Mapping[str, Any], rule: str, delay: Keys) -> Table:
    rate = "an unknown rate" if load.mbps is None else f"{load.mbps:.3g} Mbps of payload"
    size = f" in packets of {load.packet_bytes:.0f} bytes on average" if load.packet_bytes else ""
    remark = f"{rate}{size}"
    made: Keys = {"name": _name(f"{station}-{load.direction}"), "station": _name(station)}
    made["direction"] = load.origin.of(load.direction)
    return Table("[[flows]]", {**made, **{key: assumed(each, rule) for key, each in keys.items()}, **delay}, remark)


def _described(station: str, number: int, traffic: Traffic, delay: Keys) -> Table:
    made: Keys = {"name": _name(f"{station}-{traffic.direction}-{number + 1}"), "station": _name(station)}
    made["direction"] = traffic.keys.of(traffic.direction)
    own = {key: traffic.keys.of(each) for key, each in traffic.keys.value.items()}
    return Table("[[flows]]", {**made, **own, **traffic.assumed, **delay}, traffic.remark)


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
    keys: Keys = {"name": _name(NEIGHBOURS)}
    if links.is_modern:
        slow = 0  # MCS 0
        keys |= {
            "streams": unknown(1, "the rates of other networks"),
            "mcs": unknown(slow, "the rates of other networks"),
        }
    flow: Keys = {"name": _name(NEIGHBOURS), "station": _name(NEIGHBOURS), "direction": assumed("up", what)}
    alone = Scenario.from_settings(_settings(title, [*tables, Table("[[stations]]", keys), Table("[[flows]]", flow)]))
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


def _settings(title: str, tables: tuple[Table, ...] | list[Table]) -> dict[str, Any]:
    settings: dict[str, Any] = {"title": title}
    for table in tables:
        inside = settings
        keys: dict[str, Any] = {}
        for path, found in table.keys.items():
            into, (*above, key) = keys, path.split(".")
            for name in above:
                into = into.setdefault(name, {})
            into[key] = found.value
        *outer, name = table.header.strip("[]").split(".")
        for part in outer:
            inside = inside.setdefault(part, {})
        if table.header.startswith("[["):
            inside.setdefault(name, []).append(keys)
        else:
            inside[name] = keys
    return settings
