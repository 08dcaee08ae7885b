"""The tables of flows, from loads and from the traffic that files describe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wifair.observed import loads
from wifair.observed.calibration import Calibrated, Share
from wifair.observed.links import Keys
from wifair.observed.loads import Load
from wifair.observed.network import BULK, DATAGRAMS, Delay, Observed, Traffic, assumed, read
from wifair.observed.tables import Table, numbered, settings_of
from wifair.scenario.scenario import Scenario

# The scheme with queues of each station, and from which multiple of the wire's delay on a flow has that of its server.
OF_STATIONS, FARTHER = "mac80211", 1.1
IP_BYTES = 1500


def flow_tables(
    observed: Observed,
    title: str,
    head: list[Table],
    stations: Mapping[str, Keys],
    named: Mapping[str, str],
    found: list[Load],
) -> list[Table]:
    """The flows, station by station."""
    capacity, saturated = _capacity(title, head, stations), loads.saturated(observed)
    rtt_s = round_trip_s(title, head)
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


def round_trip_s(title: str, head: list[Table]) -> float:
    """The round-trip time to servers."""
    return float(2 * settings_of(title, head)["wire"]["one_way_delay_ms"] / 1000)


def _capacity(title: str, head: list[Table], stations: Mapping[str, Keys]) -> dict[tuple[str, str], float]:
    """What each link carries alone, in Mbps: the largest PPDU of full packets per airtime."""
    tables = [*head]
    for name, keys in stations.items():
        tables.append(Table("[[stations]]", {"name": numbered(name), **keys}))
        tables.append(Table("[[flows]]", {"station": numbered(name), "direction": read("up", "", "")}))
    access = Scenario.from_settings(settings_of(title, tables)).channel_access(IP_BYTES)
    return {link: row["full"]["packets"] * IP_BYTES * 8 / row["full"]["airtime_us"] for link, row in access.items()}


def _flow(station: str, load: Load, keys: Mapping[str, Any], rule: str, delay: Keys) -> Table:
    rate = "an unknown rate" if load.mbps is None else f"{load.mbps:.3g} Mbps of payload"
    size = f" in packets of {load.packet_bytes:.0f} bytes on average" if load.packet_bytes else ""
    remark = f"{rate}{size}"
    made: Keys = {"name": numbered(f"{station}-{load.direction}"), "station": numbered(station)}
    made["direction"] = load.origin.of(load.direction)
    return Table("[[flows]]", {**made, **{key: assumed(each, rule) for key, each in keys.items()}, **delay}, remark)


def _described(station: str, number: int, traffic: Traffic, delay: Keys) -> Table:
    made: Keys = {"name": numbered(f"{station}-{traffic.direction}-{number + 1}"), "station": numbered(station)}
    made["direction"] = traffic.keys.of(traffic.direction)
    own = {key: traffic.keys.of(each) for key, each in traffic.keys.value.items()}
    return Table("[[flows]]", {**made, **own, **traffic.assumed, **delay}, traffic.remark)


def bulk_by_counters(
    observed: Observed, named: Mapping[str, str], found: list[Load], flows: list[Table]
) -> dict[str, float]:
    """The flows that are bulk by their counters, with the seconds over which these were counted."""
    assumed_bulk = {table.keys["name"].value for table in flows if _application(table) == BULK}
    counted: dict[str, float] = {}
    for load in found:
        name, elapsed_s = f"{named[load.station]}-{load.direction}", observed.stations[load.station].counters.elapsed_s
        if name in assumed_bulk and load.mbps is not None:
            counted[name] = elapsed_s.value if elapsed_s else math.inf
    return counted


def as_documents(
    flow: Table, read: Mapping[str, Share], held: Mapping[str, float], rtt_s: float, cycles_s: Mapping[str, float]
) -> Table:
    """The flow with documents, if it is among these, which have the rates in runs."""
    name = str(flow.keys["name"].value)
    documents = loads.web(read[name].value, held[name], rtt_s, cycles_s[name]) if name in held else {}
    if not documents:
        return flow
    return replace(flow, keys={**flow.keys, "application": assumed(documents, loads.HELD_BACK)})


def of_documents(flow: Table) -> str:
    """The name of a flow of documents; empty for another flow."""
    application = _application(flow)
    is_web = isinstance(application, Mapping) and "think_mean_s" in application
    return str(flow.keys["name"].value) if is_web else ""


def thinking(flow: Table, found: Calibrated) -> Table:
    """The flow with the think time that was found for it."""
    think_s = found.thinks.get(of_documents(flow))
    if think_s is None:
        return flow
    application = flow.keys["application"]
    own = application.of({**application.value, "think_mean_s": loads.significant(think_s)})
    is_short = think_s <= loads.LEAST_THINK_S
    less = ", of which the documents reach less, even with the shortest think time" if is_short else ""
    return replace(flow, keys={**flow.keys, "application": own}, remark=f"{flow.remark}{less}")


def is_of_datagrams(flow: Table) -> bool:
    """Whether the flow has no TCP."""
    application = _application(flow)
    return (application.get("name") if isinstance(application, Mapping) else application) in DATAGRAMS


def _application(flow: Table) -> Any:
    return flow.keys["application"].value if "application" in flow.keys else None


def why(flow: Table) -> str:
    """The rule that its application follows from."""
    return flow.keys["application"].what if "application" in flow.keys else ""
