"""What a capture shows, connection by connection and station by station, and what follows from it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from wifair.observed.bitrate import Bitrate
from wifair.observed.loads import LEAST_BYTES
from wifair.observed.network import (
    BULK,
    Change,
    Counters,
    Delay,
    Direction,
    Documents,
    Observed,
    Station,
    Traffic,
    Value,
    assumed,
    read,
)
from wifair.observed.rates import MOST_S, MUCH, Rates, Since

# Sequence numbers further ahead than the largest window are damage; more than this in one step was not captured.
MOST_AHEAD, MOST_STEP = 2**30, 2**20
# So many frames of a station are known by their numbers: more than two Block Ack windows, and less than all numbers of a TID.
LATEST = 1024
# A connection with data in this share of the seconds is bulk; a slower one has no flow.
BULK_SECONDS, LEAST_MBPS = 0.8, 0.01
# What comes again after this time without new data was lost, and its sender waited for its timer: TCP_RTO_MIN of Linux.
TIMER_S = 0.2
TCP, UDP, ICMP = 6, 17, 1
SYN, ACK, ECHO = 0x02, 0x10, 8
# The first port that Linux chooses for a client (net.ipv4.ip_local_port_range).
CHOSEN_PORTS = 32_768
# So many answers to timestamps give a round-trip time.
LEAST_ANSWERS = 10
# UDP payload of a packet of 1,500 bytes.
MOST_PAYLOAD = 1472
# A call: packets of one size, at most this one, at the same interval both ways: so many frames of 10 ms, but for a share.
CALL_PAYLOAD, CALL_FRAME_MS, CALL_FRAMES, CALL_OFF = 300, 10, range(1, 7), 0.1
# The least number of its packets each way, and the share of them that have the size.
CALL_PACKETS, CALL_ALIKE = 100, 0.9
# The packets of each second over those of its interval, at least and at most: queues delay some by less than half a second.
CALL_LEAST, CALL_MOST = 0.5, 1.5
# The longest time from the first packet of a connection to its first data: TCP's initial timeout (RFC 6298, 2.1).
HANDSHAKE_S = 1.0
# A document has at most so many connections side by side, in a scenario.
MOST_SIDE_BY_SIDE = 64
# Bytes of the header of RTP (RFC 3550, 5.1).
RTP_BYTES = 12


@dataclass
class Way:
    """One direction of a connection: payload by TCP's sequence numbers, datagrams otherwise."""

    end: int | None = None
    payload_bytes: int = 0
    packets: int = 0
    seconds: int = 0
    last_second: int = -1
    # When the connection began, the first data came, and the latest.
    opened_at: float | None = None
    first_at: float | None = None
    last_at: float = 0.0
    # Whether the sender has sent older data again by its timer, since the last new data.
    is_waiting: bool = False
    # Of the last packet with payload.
    dscp: int = 0
    # The size that most packets have, if most have one, and how many more these are than the others (Boyer and Moore's vote).
    size: int = 0
    lead: int = 0
    # The packets of the last second with any, of the fullest second, and of the emptiest one between the first and the last.
    in_second: int = 0
    fullest: int = 0
    emptiest: int = 2**30

    def data(self, at: float, sequence: int | None, size: int, dscp: int = 0) -> None:
        """Counts payload that was not counted before."""
        if size <= 0:
            return
        self.dscp = dscp
        if sequence is None:
            self.payload_bytes += size
        else:
            end = sequence + size & 0xFFFFFFFF
            ahead = (end - self.end) & 0xFFFFFFFF if self.end is not None else size
            if not 0 < ahead < MOST_AHEAD:  # a retransmission
                self.is_waiting |= at - self.last_at >= TIMER_S
                return
            self.payload_bytes += min(ahead, MOST_STEP)
            self.end = end
        self.packets += 1
        self.first_at = at if self.first_at is None else self.first_at
        self.last_at = at
        if int(at) != self.last_second:
            if self.seconds > 1:
                self.emptiest = min(self.emptiest, self.in_second)
            # Of a pause in which the sender waits for its timer, all seconds count: it has data.
            self.seconds += int(at) - self.last_second if self.is_waiting else 1
            self.last_second, self.in_second = int(at), 0
        self.is_waiting = False
        self.in_second += 1
        self.fullest = max(self.fullest, self.in_second)
        if self.lead == 0:
            self.size = size
        self.lead += 1 if size == self.size else -1

    @property
    def call_ms(self) -> int | None:
        """The interval of packets as those of a call, in milliseconds; None if they are no such packets."""
        if self.packets < CALL_PACKETS or self.lead < CALL_ALIKE * self.packets or self.first_at is None:
            return None
        interval_ms = 1000 * (self.last_at - self.first_at) / (self.packets - 1)
        frames = round(interval_ms / CALL_FRAME_MS)
        near = frames * CALL_FRAME_MS
        per_second = 1000 / near if near else 0
        is_steady = CALL_LEAST * per_second <= self.emptiest and self.fullest <= CALL_MOST * per_second
        is_near = frames in CALL_FRAMES and abs(interval_ms - near) <= CALL_OFF * near
        return near if is_near and is_steady and RTP_BYTES < self.size <= CALL_PAYLOAD else None


class Packet(NamedTuple):
    """Headers of a packet: both ends with address and port, bytes of payload, the DSCP, and of TCP flags, sequence number, and timestamp with echo (RFC 7323)."""

    protocol: int
    ends: tuple[tuple[bytes, int], tuple[bytes, int]]
    size: int
    dscp: int = 0
    # Of ICMP the type.
    flags: int = 0
    # Of TCP and of echoes.
    sequence: int | None = None
    times: tuple[int, int] | None = None

    def is_of_client(self) -> bool:
        """Whether the first packet of a connection is from its client.

        A server's port is below those that hosts choose themselves. If that does not decide: the client sends SYN, or has the higher port.
        """
        if self.protocol == ICMP:
            return self.flags == ECHO
        (_, source), (_, target) = self.ends
        if (source < CHOSEN_PORTS) != (target < CHOSEN_PORTS):
            return target < CHOSEN_PORTS
        if self.protocol == TCP and self.flags & SYN:
            return not self.flags & ACK
        return source >= target


@dataclass
class Connection:
    """A connection, or datagrams between two ends. Keys of `ways`: whether from the station."""

    station: str
    protocol: int
    # Address and port of the station's end.
    client: tuple[bytes, int]
    opened_at: float | None = None
    ways: dict[bool, Way] = field(default_factory=lambda: {True: Way(), False: Way()})
    # When a packet of the handshake left for the server, whose answer gives the round-trip time.
    asked_at: float | None = None
    # The first packet with a timestamp that left for the server and that no answer has echoed yet, and the latest timestamp.
    stamped: tuple[float, int] | None = None
    latest: int | None = None
    # The shortest time until an answer, and their number.
    shortest_s: float = math.inf
    answers: int = 0
    # Time and sequence number of the first and of the last echo request.
    echoes: tuple[tuple[float, int], tuple[float, int]] | None = None
    handshake_s: float | None = None

    def __post_init__(self) -> None:
        for way in self.ways.values():
            way.opened_at = self.opened_at

    def handshake(self, at: float, flags: int, is_up: bool) -> None:
        """Takes the round-trip time to the server: from the station's SYN or SYN-ACK to the answer."""
        if self.handshake_s is not None:
            return
        if is_up and flags & SYN:
            self.asked_at = at
        elif not is_up and flags & ACK and self.asked_at is not None:
            self.handshake_s = at - self.asked_at

    def stamp(self, at: float, value: int, echoed: int, is_up: bool) -> None:
        """Takes the round-trip time to the server: from the first packet of the station with a timestamp to the first one that echoes it (RFC 7323, 4)."""
        if is_up:
            is_new = self.latest is None or 0 < (value - self.latest) & 0xFFFFFFFF < MOST_AHEAD
            if is_new:
                self.latest = value
                self.stamped = self.stamped or (at, value)
        elif self.stamped and (echoed - self.stamped[1]) & 0xFFFFFFFF < MOST_AHEAD:
            if echoed == self.stamped[1]:
                self.shortest_s = min(self.shortest_s, at - self.stamped[0])
                self.answers += 1
            self.stamped = None

    @property
    def wire_rtt_s(self) -> float | None:
        """The shortest round-trip time to the server; None if it is not known. A few answers may all have waited for data of the server."""
        known = [self.handshake_s, self.shortest_s if self.answers >= LEAST_ANSWERS else None]
        return min((each for each in known if each is not None), default=None)

    @property
    def one_way_delay_ms(self) -> Value[float] | None:
        """Half of that."""
        if self.wire_rtt_s is None:
            return None
        what = "half the shortest time from a handshake or timestamp of TCP to its answer, if the capture is from the access point"
        return assumed(round(1000 * self.wire_rtt_s / 2, 3), what)

    def echo(self, at: float, sequence: int) -> None:
        """Takes an echo request."""
        self.echoes = (self.echoes[0] if self.echoes else (at, sequence), (at, sequence))

    @property
    def echo_interval_ms(self) -> float | None:
        """The time between two requests; those that were lost before the capture have a sequence number as well."""
        if self.echoes is None:
            return None
        (first_at, first), (last_at, last) = self.echoes
        count = (last - first) & 0xFFFF
        return 1000 * (last_at - first_at) / count if count else None


@dataclass
class Radio:
    """A station on the air. Keys: whether up."""

    rates: dict[bool, Rates] = field(default_factory=lambda: {True: Rates(), False: Rates()})
    frames: Counter[bool] = field(default_factory=Counter)
    retries: Counter[bool] = field(default_factory=Counter)
    # Frames with a received power: those of the radio that captures have none.
    received: int = 0
    encrypted_bytes: Counter[bool] = field(default_factory=Counter)
    encrypted_packets: Counter[bool] = field(default_factory=Counter)
    # The latest frames by TID and sequence number.
    latest: dict[tuple[bool, tuple[int, int]], None] = field(default_factory=dict)

    @property
    def is_adapted(self) -> bool:
        """Whether a direction is under rate adaptation."""
        return any(each.change_often for each in self.rates.values())

    def turns(self, way: bool, elapsed: float) -> list[Since]:
        """The rates of a direction in turn; the most frequent one alone in a capture that is too long for changes."""
        rates = self.rates[way]
        if elapsed > MOST_S:
            return rates.most_frequent
        return rates.adapted() if self.is_adapted else rates.turns()

    def is_new(self, is_up: bool, number: tuple[int, int], is_retry: bool) -> bool:
        """Whether a frame was not captured before; a retry may be the first one that the access point received."""
        key = is_up, number
        if is_retry and key in self.latest:
            return False
        self.latest.pop(key, None)
        self.latest[key] = None
        if len(self.latest) > LATEST:
            del self.latest[next(iter(self.latest))]
        return True


@dataclass
class Seen:
    """Everything that a capture shows; stations on the air by BSSID and address. `left_out` counts what exceeds the bounds."""

    connections: dict[tuple[Any, ...], Connection] = field(default_factory=dict)
    radios: dict[tuple[str, str], Radio] = field(default_factory=dict)
    frequencies: Counter[int] = field(default_factory=Counter)
    began: float | None = None
    ended: float = 0.0
    records: int = 0
    damaged: int = 0
    left_out: int = 0


def conclude(observed: Observed, seen: Seen, file: str, elapsed: float) -> None:
    """Adds what was seen of one network on the air."""
    cells: Counter[str] = Counter()
    for (bssid, _), radio in seen.radios.items():
        cells[bssid] += radio.frames.total()
    chosen = _own(seen, cells)
    radios = {station: radio for (bssid, station), radio in seen.radios.items() if bssid == chosen}
    if len(cells) > 1:
        which = f"other networks on the channel are left out, which have {cells.total() - cells[chosen]} of the {cells.total()} data frames"
        observed.remarks.append(f"{file}: {len(cells) - 1} {which}; a survey of the same time has their load")
    if seen.damaged or seen.left_out:
        observed.remarks.append(
            f"{file}: {seen.damaged} records are cut off or damaged, {seen.left_out} beyond the largest numbers of connections and stations"
        )
    often = sum(radio.is_adapted for radio in radios.values())
    if often and elapsed <= MOST_S:
        observed.remarks.append(
            f"{file}: the rate of {often} station{'s' if often > 1 else ''} changes often: taken is the most frequent one, of each part of the time "
            f"if one of these is {MUCH:g} times another one"
        )
    if elapsed > MOST_S and any(len(rates.turns()) > 1 for radio in radios.values() for rates in radio.rates.values()):
        observed.remarks.append(
            f"{file}: links change while it lasts, and changes count in captures of at most {MOST_S:g} s: each link has its most frequent rate; a part of the file, as "
            "editcap -A and -B cut it, shows them"
        )
    if observed.captured_s is None or elapsed > observed.captured_s.value:
        observed.captured_s = read(elapsed, "the length of the capture", file)
    if seen.frequencies:
        observed.frequency_mhz = read(seen.frequencies.most_common(1)[0][0], "radiotap, channel", file)
    of_station: dict[str, list[Connection]] = {station: [] for station in radios}
    for connection in seen.connections.values():
        if not radios or connection.station in radios:
            of_station.setdefault(connection.station, []).append(connection)
    for station, connections in of_station.items():
        observed.add(_station(station, file, seen.began or 0.0, elapsed, connections, radios.get(station)))
    delays = [each.one_way_delay_ms for connections in of_station.values() for each in connections]
    known = [each for each in delays if each is not None]
    if known:
        observed.keys["wire.one_way_delay_ms"] = min(known, key=lambda each: each.value)


def _own(seen: Seen, cells: Counter[str]) -> str:
    """The BSSID of the network that counts: that of the radio itself, whose frames alone have no received power, else that with the most frames."""
    sent: Counter[str] = Counter()
    for (bssid, _), radio in seen.radios.items():
        sent[bssid] += radio.frames.total() - radio.received
    has_power = any(radio.received for radio in seen.radios.values())
    chosen = sent if has_power and sent.total() else cells
    return chosen.most_common(1)[0][0] if chosen else ""


def _station(
    key: str, file: str, began: float, elapsed: float, connections: list[Connection], radio: Radio | None
) -> Station:
    rates = {False: 0.0, True: 0.0}
    carried: dict[bool, list[Connection]] = {False: [], True: []}
    traffic: list[Traffic] = []
    for connection in connections:
        flows, rest = _traffic(connection, file, began, elapsed, radio is not None)
        traffic += flows
        for way, mbps in rest.items():
            rates[way] += mbps
            carried[way].append(connection)
    documents = {}
    for way, mine in carried.items():
        if found := _documents([each.ways[way] for each in mine], elapsed):
            documents[_direction(way)] = replace(found, delay=_delay(mine, radio is not None))
    mean = {
        way: read(mbps, "payload of connections that are not bulk", file) if mbps >= LEAST_MBPS else None
        for way, mbps in rates.items()
    }
    links: dict[bool, Value[Bitrate] | None] = {True: None, False: None}
    changes: list[Change] = []
    for way in links:
        turns = radio.turns(way, elapsed) if radio else []
        for number, (at_s, rate) in enumerate(turns):
            if number:
                now = read(rate, "radiotap, the rate from then on", file)
                changes.append(Change(at_s, _direction(way), now))
            else:
                what = "the rate at first" if len(turns) > 1 else "the most frequent rate"
                links[way] = read(rate, f"radiotap, {what}", file)
    return Station(
        key,
        file,
        down=links[False],
        up=links[True],
        changes=tuple(sorted(changes, key=lambda each: each.at_s)),
        dumps=(_counters(radio, file, elapsed) if radio else Counters(),),
        down_mbps=mean[False],
        up_mbps=mean[True],
        traffic=tuple(traffic),
        documents=documents,
        up_retries=_up_retries(radio, file) if radio else None,
    )


def _direction(way: bool) -> Direction:
    return "up" if way else "down"


def _documents(ways: list[Way], elapsed: float) -> Documents | None:
    """The documents of connections: data that overlaps in time is of one document. None if there are none of `LEAST_BYTES`, or if they take more than half of the capture each."""
    pages: list[list[Way]] = []
    end = -math.inf
    for way in sorted((each for each in ways if each.first_at is not None), key=_begin):
        if _begin(way) > end:
            pages.append([])
        pages[-1].append(way)
        end = max(end, way.last_at)
    pages = [page for page in pages if sum(way.payload_bytes for way in page) >= LEAST_BYTES]
    if not pages:
        return None
    spans = [max(way.last_at for way in page) - _begin(page[0]) for page in pages]
    if np.mean(spans) > elapsed / 2:
        return None
    sizes = np.array([sum(way.payload_bytes for way in page) for page in pages], dtype=np.float64)
    side_by_side = float(np.median([sum(way.payload_bytes >= LEAST_BYTES for way in page) for page in pages]))
    connections = min(max(round(side_by_side), 1), MOST_SIDE_BY_SIDE)
    think_s = max(elapsed - sum(spans), 0.0) / len(pages)
    return Documents(len(pages), float(sizes.mean()), float(sizes.std()), connections, think_s)


def _delay(connections: list[Connection], has_wait: bool) -> Delay | None:
    """The median of their delays."""
    known = [each.one_way_delay_ms for each in connections]
    there = sorted((each for each in known if each is not None), key=lambda each: each.value)
    return Delay(there[len(there) // 2], has_wait) if there else None


def _begin(way: Way) -> float:
    """When a document begins that this connection carries: with its handshake, unless the connection was idle after that. Infinite without data."""
    if way.first_at is None:
        return math.inf
    if way.opened_at is None or way.first_at - way.opened_at > HANDSHAKE_S:
        return way.first_at
    return way.opened_at


def _up_retries(radio: Radio, file: str) -> Value[float] | None:
    """Of the frames that came from a station, the share that had been sent before: the probability that a frame does not arrive at first."""
    frames = radio.frames[True]
    return read(radio.retries[True] / frames, f"{frames} frames up", file) if frames else None


def _traffic(
    connection: Connection, file: str, began: float, elapsed: float, has_wait: bool
) -> tuple[list[Traffic], dict[bool, float]]:
    """The flows of a connection, and the mean rates by direction of what is no flow."""
    ways = connection.ways
    mbps = {way: each.payload_bytes * 8 / 1e6 / elapsed for way, each in ways.items()}
    flows: list[Traffic] = []
    rest: dict[bool, float] = {}
    if connection.protocol == ICMP:
        interval_ms = connection.echo_interval_ms
        if interval_ms is not None:
            ping = {"name": "ping", "interval_ms": max(round(interval_ms, 1), 10), **_marked(ways[True])}
            flows.append(Traffic("up", read({"application": ping}, "echoes", file)))
        return flows, rest
    if connection.protocol == UDP and (call := _call(ways, began + elapsed, elapsed)):
        up, down = ways[True], ways[False]
        what = f"datagrams, taken for a call: {down.size} bytes every {call['packet_ms']} ms both ways"
        remark = f"{down.packets} datagrams down, {up.packets} up"
        return [Traffic("down", read({"application": call}, what, file), remark, mbps[False], back_mbps=mbps[True])], {}
    for way, each in ways.items():
        direction = _direction(way)
        if connection.protocol == UDP and mbps[way] >= LEAST_MBPS:
            payload = min(round(each.payload_bytes / each.packets), MOST_PAYLOAD)
            udp = {"name": "udp", "rate_mbps": float(f"{mbps[way]:.4g}"), "payload_bytes": payload, **_marked(each)}
            flows.append(
                Traffic(
                    direction, read({"application": udp}, "datagrams", file), f"{each.packets} datagrams", mbps[way]
                )
            )
        elif connection.protocol == TCP and mbps[way] >= LEAST_MBPS and _is_bulk(each, began + elapsed, elapsed):
            start_s = round((each.first_at or began) - began, 1)
            what = f"bulk: data, or waits to send it again, in at least {BULK_SECONDS * 100:.0f} % of the seconds since its start"
            remark = f"{mbps[way]:.3g} Mbps of payload"
            keys: dict[str, Any] = {"start_s": start_s} if start_s >= 1 else {}
            if each.dscp:
                keys["tcp"] = _marked(each)
            bulk = {"application": assumed(BULK, what)}
            flow = Traffic(direction, read(keys, "sequence numbers of TCP", file), remark, mbps[way], assumed=bulk)
            flows.append(replace(flow, delay=_delay([connection], has_wait)))
        elif connection.protocol == TCP:
            rest[way] = mbps[way]
    return flows, rest


def _call(ways: Mapping[bool, Way], end: float, elapsed: float) -> dict[str, Any] | None:
    """The application of a call; None if these datagrams are none, or if it has no form for them: pauses, or other packets or marks each way."""
    up, down = ways[True], ways[False]
    packet_ms = up.call_ms
    alike = (up.size, up.dscp, packet_ms) == (down.size, down.dscp, down.call_ms)
    if packet_ms is None or not alike or not all(_is_bulk(way, end, elapsed) for way in (up, down)):
        return None
    return {"name": "voip", "packet_ms": packet_ms, "voice_bytes": up.size - RTP_BYTES, "dscp": up.dscp}


def _marked(way: Way) -> dict[str, int]:
    """The DSCP of a direction, if it has one."""
    return {"dscp": way.dscp} if way.dscp else {}


def _is_bulk(way: Way, end: float, elapsed: float) -> bool:
    """Whether it began in the first half of the capture, and has data nearly all the time since."""
    since = end - way.first_at if way.first_at is not None else 0.0
    return since >= elapsed / 2 and way.seconds >= BULK_SECONDS * max(int(since), 1)


def _counters(radio: Radio, file: str, elapsed: float) -> Counters:
    """Retries, and the bytes of encrypted frames."""

    def count(number: int, what: str) -> Value[int]:
        return read(number, what, file)

    again = radio.retries[False]
    made: dict[str, Any] = {
        "elapsed_s": read(elapsed, "length of the capture", file),
        "down_packets": count(radio.frames[False] - again, "frames without Retry"),
        "retries": count(again, "frames with Retry"),
    }
    if radio.encrypted_packets:
        made |= {
            "down_packets": count(radio.encrypted_packets[False], "encrypted frames without Retry"),
            "down_bytes": count(radio.encrypted_bytes[False], "length of encrypted frames"),
            "up_packets": count(radio.encrypted_packets[True], "encrypted frames without Retry"),
            "up_bytes": count(radio.encrypted_bytes[True], "length of encrypted frames"),
        }
    return Counters(**made)
