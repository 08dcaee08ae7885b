"""What each station sends and receives, as flows, from its counters.

Counters have sums, not applications. The rules below replace what they do not have; each flow's comment names the rule. A series of dumps shows more: whether
data came all the time.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from wifair.observed.network import BULK, Counters, Direction, Documents, Observed, Station, Value

# Bytes of a data frame that mac80211 counts and IP does not: QoS header of 26 bytes, LLC and SNAP of 8.
FRAME_BYTES = 34
# Headers of IPv4 and TCP with timestamps, of IPv4 and UDP.
TCP_BYTES, UDP_BYTES = 52, 28
# IP bytes per packet up to which a direction may carry ACKs alone, and their share of the bytes of the other direction.
ACK_BYTES, ACK_SHARE = 150, 0.15
# IP bytes per packet up to which both directions may be a call, and the largest ratio of their rates.
CALL_BYTES, CALL_RATIO = 400, 2.0
# The same for a call with a picture, and the largest rate in Mbps. Pictures by RTP have packets of some 1,200 bytes, and
# voice has smaller ones; with data of TCP both ways the mean is larger, unless every other segment has an ACK. A picture of
# 1080p is sent at 3.8 Mbps and received at 3.0 (requirements of Zoom).
PICTURE_BYTES, PICTURE_RATIO, PICTURE_MBPS = 1200, 1.3, 4.0
# A direction with a lower rate has no flow.
LEAST_MBPS = 0.01
# From this share of busy time on, the cell counts as saturated.
SATURATED = 0.8
# Share of a link's fair part of the air from which a flow counts as bulk, in a saturated cell and in another one.
BULK_SHARE = {True: 0.1, False: 0.5}
# A bulk flow sends full packets alone; handshakes and ends of documents make the mean size smaller. From this part of the
# largest mean size on, packets count as full.
FULL_SHARE = 0.995
# So many intervals between dumps, of at most so many seconds on average, show whether data came all the time.
LEAST_INTERVALS, MOST_INTERVAL_S = 30, 2.0
# An interval is idle if a direction has less than this part of its mean rate, or ACKs alone. A flow that is idle for at least
# this share of the time waits for its application.
IDLE_PART, IDLE_SHARE = 0.1, 0.2
# A line or an application limits a rate from above: of a flow that never pauses, the upper decile of the seconds is then less
# than this many times their median.
STEADY = 1.1
# Documents of a load that is not bulk, without a series: one per so many seconds. Of a flow that a series shows without
# pauses, one per second. They have at least so many bytes.
DOCUMENT_S, STEADY_S, LEAST_BYTES = 5.0, 1.0, 10_000
# The largest half of a range of sizes, as a part of their mean.
WIDEST = 0.9
# The shortest think time, in seconds.
LEAST_THINK_S = 0.01
# The initial window of TCP in bytes: 10 segments (RFC 6928).
INITIAL_BYTES = 14_480
UNKNOWN_TIME = "no time was read"
DOCUMENTS = "documents, with think times by the mean rate that was read"
CALL = "small packets at similar rates both ways: datagrams at the rate that was read"
PICTURE = "packets below full size at similar low rates both ways, as of a call with a picture: datagrams at the rate that was read"
PAUSES = "documents, since in at least 20 % of the seconds less than a tenth of the mean rate came"
CAPTURED = "documents, as large, over as many connections and as far apart as in the capture on average"
NO_PAUSES = "bulk, since in more than 80 % of the seconds at least a tenth of the mean rate came"
HELD_BACK = "documents, since as bulk data it would have more than twice the rate that was read"

DIRECTIONS: tuple[Direction, Direction] = ("down", "up")


@dataclass(frozen=True)
class Pauses:
    """What a series of dumps shows of a direction: the share of the time without data, the mean time from the begin of data to the next, and the upper decile of its rates over their median; infinite if that is 0."""

    share: float
    cycle_s: float
    peak: float

    @property
    def is_waiting(self) -> bool:
        """Whether the application pauses."""
        return self.share >= IDLE_SHARE

    @property
    def is_competing(self) -> bool:
        """Whether there is data all the time, and no line nor application limits its rate."""
        return not self.is_waiting and self.peak >= STEADY


@dataclass(frozen=True)
class Load:
    """What a station carries in one direction: the rate of the payload, IP bytes per packet, and whether it is a call's."""

    station: str
    direction: Direction
    # None if the time is unknown.
    mbps: float | None
    # None if it was not counted.
    packet_bytes: float | None
    is_call: bool
    # The value that the rate was read from.
    origin: Value[Any]
    # None without a series of dumps.
    pauses: Pauses | None = None
    # None without a capture.
    documents: Documents | None = None


def of_station(station: Station, known: Collection[str] = ()) -> list[Load]:
    """The directions that carry data: by the rates that a file has, else by counters, unless it has the flows.

    The directions of `known` have flows of data, so small packets there are not taken for ACKs alone.
    """
    given = {"down": station.down_mbps, "up": station.up_mbps}
    if not any(given.values()):
        return [] if station.traffic else _of_counters(station, known)
    rates = [(way, given[way]) for way in DIRECTIONS]
    return [
        Load(station.key, way, rate.value, None, False, rate, documents=station.documents.get(way))
        for way, rate in rates
        if rate and rate.value >= LEAST_MBPS
    ]


def _of_counters(station: Station, known: Collection[str]) -> list[Load]:
    counters = station.counters
    found = {way: _direction(counters, way) for way in DIRECTIONS}
    rates = {way: rate for way, rate in found.items() if rate}
    sizes = {way: size for way, (_, size, _) in rates.items()}
    carried = {way: total for way, (total, _, _) in rates.items()}
    elapsed = counters.elapsed_s.value if counters.elapsed_s else 0
    shown = {way: pauses(station.intervals, way) for way in rates}
    is_waiting = any(each.is_waiting for each in shown.values() if each)
    call = len(rates) == 2 and _is_call(list(sizes.values()), list(carried.values()), elapsed, is_waiting)
    loads = []
    for way, (total, size, origin) in rates.items():
        other = carried.get("up" if way == "down" else "down", 0.0)
        if not call and way not in known and size <= ACK_BYTES and total <= ACK_SHARE * other:
            continue
        header = UDP_BYTES if call else TCP_BYTES
        payload = total * max(1 - header / size, 0.0)
        mbps = payload * 8 / 1e6 / elapsed if elapsed else None
        if mbps is None or mbps >= LEAST_MBPS:
            loads.append(Load(station.key, way, mbps, size, call, origin, shown[way]))
    return loads


def pauses(intervals: Sequence[Counters], way: Direction) -> Pauses | None:
    """What the intervals of a series show of a direction; None if they are few or long, or have no time."""
    times = [each.elapsed_s.value for each in intervals if each.elapsed_s]
    total_s = sum(times)
    if len(times) < max(LEAST_INTERVALS, len(intervals)) or total_s > MOST_INTERVAL_S * len(times):
        return None
    found = [_direction(each, way) for each in intervals]
    carried = sum(each[0] for each in found if each)
    has_data = [
        each is not None and each[1] > ACK_BYTES and each[0] / own_s >= IDLE_PART * carried / total_s
        for each, own_s in zip(found, times, strict=True)
    ]
    begins = sum(now and not before for before, now in pairwise([False, *has_data]))
    idle_s = sum(own_s for is_busy, own_s in zip(has_data, times, strict=True) if not is_busy)
    rates = [each[0] / own_s if each else 0.0 for each, own_s in zip(found, times, strict=True)]
    median, decile = np.quantile(rates, (0.5, 0.9))
    return (
        Pauses(idle_s / total_s, total_s / begins, float(decile / median) if median else math.inf) if begins else None
    )


def _is_call(sizes: Sequence[float], carried: Sequence[float], elapsed_s: float, is_waiting: bool) -> bool:
    """Whether both directions, with these IP bytes per packet and in all, are a call's."""
    largest, ratio = max(sizes), max(carried) / min(carried)
    if largest <= CALL_BYTES and ratio <= CALL_RATIO:
        return True
    is_slow = elapsed_s > 0 and max(carried) * 8 / 1e6 / elapsed_s <= PICTURE_MBPS
    return largest <= PICTURE_BYTES and ratio <= PICTURE_RATIO and is_slow and not is_waiting


def _direction(counters: Counters, way: Direction) -> tuple[float, float, Value[Any]] | None:
    """IP bytes, IP bytes per packet, and where they were read."""
    total, packets = getattr(counters, f"{way}_bytes"), getattr(counters, f"{way}_packets")
    if total is None or packets is None or not packets.value:
        return None
    ip = total.value - FRAME_BYTES * packets.value
    return (ip, ip / packets.value, total) if ip > 0 else None


def saturated(observed: Observed) -> bool:
    """Whether the air was in use nearly all the time: by the survey, else by the stations' airtime."""
    survey = observed.survey
    if survey and survey.active_ms and survey.busy_ms and survey.active_ms.value:
        return survey.busy_ms.value / survey.active_ms.value >= SATURATED
    return airtime(observed, DIRECTIONS) >= SATURATED


def airtime(observed: Observed, ways: tuple[Direction, ...]) -> float:
    """The share of the time that the stations' frames took, as far as it was counted."""
    share = 0.0
    for station in observed.stations.values():
        counters = station.counters
        elapsed_us = counters.elapsed_s.value * 1e6 if counters.elapsed_s else 0
        used = [getattr(counters, f"{way}_airtime_us") for way in ways]
        share += sum(each.value for each in used if each) / elapsed_us if elapsed_us else 0
    return share


def counts_airtime(observed: Observed) -> bool:
    """Whether the airtime of frames from the stations was counted."""
    return any(each.counters.up_airtime_us for each in observed.stations.values())


def others(observed: Observed) -> tuple[float, float] | None:
    """The share of the time that was busy and is neither this network's transmit time nor its stations' airtime, and the seconds of the survey.

    Collisions are part of it. Where the stations' airtime was not counted, the time received counts instead, which has part of the others in it. None
    without a survey.
    """
    survey = observed.survey
    if not survey or not survey.active_ms or not survey.busy_ms or not survey.active_ms.value:
        return None
    active_ms = survey.active_ms.value
    received = survey.receive_ms.value / active_ms if survey.receive_ms else 0.0
    up = airtime(observed, ("up",)) if counts_airtime(observed) else received
    down = survey.transmit_ms.value / active_ms if survey.transmit_ms else airtime(observed, ("down",))
    return survey.busy_ms.value / active_ms - up - down, active_ms / 1000


def full_packets(loads: Sequence[Load]) -> dict[tuple[str, Direction], bool]:
    """By station and direction, whether its packets are full: none if the other direction has data as well, whose ACKs are among them."""
    largest = max((each.packet_bytes or 0 for each in loads), default=0)
    both = Counter(each.station for each in loads)
    return {
        (each.station, each.direction): each.packet_bytes >= FULL_SHARE * largest
        for each in loads
        if each.packet_bytes is not None and both[each.station] == 1
    }


def flow(
    load: Load, capacity_mbps: float, loads: int, is_saturated: bool, rtt_s: float, is_full: bool | None = None
) -> tuple[dict[str, Any], str]:
    """The keys of a load's flow, and the rule that they follow from.

    `capacity_mbps` is what the link carries alone, `loads` the number of all; `is_full` says whether its packets are full, None if that is unknown.
    """
    if load.mbps is None:
        return {"application": BULK}, f"bulk, since {UNKNOWN_TIME}"
    if load.is_call:
        payload = max(round(load.packet_bytes or 0) - UDP_BYTES, 1)
        udp = {"name": "udp", "rate_mbps": significant(load.mbps), "payload_bytes": payload}
        return {"application": udp}, CALL if (load.packet_bytes or 0) <= CALL_BYTES else PICTURE
    if load.pauses and not load.pauses.is_waiting:
        return {"application": BULK}, NO_PAUSES
    if load.documents:
        return {"application": _captured(load.documents)}, CAPTURED
    documents = web(load.mbps, capacity_mbps, rtt_s, cycle_s(load))
    if documents and load.pauses:
        return {"application": documents}, PAUSES
    if documents and is_full is False and load.mbps < BULK_SHARE[False] * capacity_mbps / loads:
        return {"application": documents}, DOCUMENTS
    state = "a saturated cell" if is_saturated else "a cell that is not saturated"
    if load.mbps >= BULK_SHARE[is_saturated] * capacity_mbps / loads or not documents:
        return {
            "application": BULK
        }, f"bulk: at least {BULK_SHARE[is_saturated] * 100:.0f} % of its fair part of the air, in {state}"
    return {"application": documents}, DOCUMENTS


def competing_uploads(observed: Observed, loads: Sequence[Load]) -> list[Load]:
    """The uploads that a series shows to have data all the time in a saturated cell, at rates that nothing else limits."""
    if not saturated(observed):
        return []
    return [each for each in loads if each.direction == "up" and each.pauses and each.pauses.is_competing]


def cycle_s(load: Load) -> float:
    """The time from one document to the next, if the load is documents."""
    if not load.pauses:
        return DOCUMENT_S
    return load.pauses.cycle_s if load.pauses.is_waiting else STEADY_S


def _captured(documents: Documents) -> dict[str, Any]:
    """These documents. Five sizes, all equally likely, have their mean and standard deviation: a deviation is √2 steps. One document alone says nothing of it: sizes are then from half to three halves of it."""
    mean = documents.mean_bytes
    step = documents.deviation_bytes / math.sqrt(2) if documents.count > 1 else mean / 4
    step = max(round(min(step, WIDEST * mean / 2)), 1)
    sizes = {"min_bytes": round(mean) - 2 * step, "max_bytes": round(mean) + 2 * step, "step_bytes": step}
    side_by_side = {"connections": documents.connections} if documents.connections > 1 else {}
    think_s = max(significant(documents.think_mean_s), LEAST_THINK_S)
    return {"name": "web", **sizes, "think_mean_s": think_s, **side_by_side}


def web(mbps: float, capacity_mbps: float, rtt_s: float, cycle_s: float) -> dict[str, Any]:
    """Documents whose mean rate is `mbps`, one per `cycle_s`, on a link that carries `capacity_mbps` and nothing else; empty if it cannot.

    A document takes its time on the link, a round trip for the handshake, and the round trips of slow start up to the product of bandwidth
    and delay.
    """
    quarter = max(round(max(mbps * 1e6 / 8 * cycle_s, LEAST_BYTES) / 4), 1)
    size = 4 * quarter
    filled = min(size, capacity_mbps * 1e6 / 8 * rtt_s)
    transfer_s = size * 8 / 1e6 / capacity_mbps + rtt_s * (1 + math.log2(1 + filled / INITIAL_BYTES))
    think_s = size * 8 / 1e6 / mbps - transfer_s
    if think_s <= 0:
        return {}
    sizes = {"min_bytes": 2 * quarter, "max_bytes": 6 * quarter, "step_bytes": quarter}
    return {"name": "web", **sizes, "think_mean_s": significant(think_s)}


def retries(counters: Counters) -> float | None:
    """The share of the transmissions down that were retries; None if they were not counted."""
    packets, again = counters.down_packets, counters.retries
    if not packets or not again or not packets.value + again.value:
        return None
    return again.value / (packets.value + again.value)


def significant(number: float) -> float:
    """Three significant digits."""
    if number == 0 or not math.isfinite(number):
        return 0.0
    return round(number, 2 - math.floor(math.log10(abs(number))))
