"""Reads captures (pcap and pcapng) of Ethernet, IP, 802.11 and radiotap: stations, their rates, retries, flows and round-trip times.

dpkt reads the file and the headers of IP, TCP, UDP and ICMP. Records are read one by one, and a connection takes some hundred bytes, so
memory depends on the number of connections and not on the size of the file. A record needs its headers only.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from wifair.errors import InputError
from wifair.observed.conversations import ECHO, ICMP, TCP, UDP, Connection, Packet, Radio, Seen, conclude
from wifair.observed.network import Observed
from wifair.observed.radio_header import Frame, frame
from wifair.study.job import Progress

NAME = "a capture (pcap, pcapng)"
_MAGIC = (b"\xa1\xb2\xc3\xd4", b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x4d\x3c\xb2\xa1", b"\x0a\x0d\x0d\x0a")
ETHERNET, RAW_IP, DOT11, RADIOTAP = 1, (12, 14, 101, 228, 229), 105, 127
# The largest block of a file, and the most connections and stations, which bound the memory.
MOST_BLOCK, MOST_CONNECTIONS, MOST_STATIONS = 4 * 2**20, 100_000, 5_000
# Progress is reported after so many records, which take about 0.1 s.
RECORDS_PER_REPORT = 5_000
IPV4, IPV6 = 0x0800, 0x86DD
# Kinds of TCP options (RFC 9293, 3.1; RFC 7323, 3), and value and echo of a timestamps option.
END_OF_OPTIONS, NO_OPERATION, TIMESTAMPS = 0, 1, 8
STAMPS = struct.Struct(">II")


def recognises(head: bytes) -> bool:
    """Whether a file begins like one."""
    return head[:4] in _MAGIC


class _Bounded:
    """A file whose reads are bounded: a damaged length does not take memory."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.name = "capture"

    def read(self, size: int) -> bytes:
        if not 0 <= size <= MOST_BLOCK:
            raise ValueError(f"a block has {size} bytes; at most {MOST_BLOCK} are read")
        return self.file.read(size)

    def seek(self, place: int) -> None:
        self.file.seek(place)


def read_into(observed: Observed, file: str, path: Path, progress: Progress | None = None) -> None:
    """Adds the stations of a capture. Raises `InputError` if it is damaged, or if nothing in it is of a station."""
    seen, dpkt, size = Seen(), _dpkt(file), max(path.stat().st_size, 1)
    with path.open("rb") as opened:
        link, records = _records(dpkt, file, opened)
        for at, captured in records:
            seen.records += 1
            if progress and seen.records % RECORDS_PER_REPORT == 0:
                progress(min(opened.tell() / size, 1.0))
            seen.began = at if seen.began is None else seen.began
            seen.ended = max(seen.ended, at)
            try:
                _record(seen, link, at, captured)
            except (dpkt.Error, struct.error, IndexError, ValueError):
                seen.damaged += 1
    elapsed = seen.ended - (seen.began or 0.0)
    if (not seen.connections and not seen.radios) or elapsed <= 0:
        raise InputError(
            f"{file}: none of its {seen.records} records is a packet of a station; allowed here: {NAME} of some seconds."
        )
    conclude(observed, seen, Path(file).name, elapsed)


def _dpkt(file: str) -> Any:
    try:
        import dpkt  # type: ignore[import-untyped]
    except ImportError:
        raise InputError(f"{file}: captures need the package dpkt: pip install 'wifair[capture]'.") from None
    return dpkt


def _records(dpkt: Any, file: str, opened: BinaryIO) -> tuple[int, Iterator[tuple[float, bytes]]]:
    damage = (ValueError, struct.error, dpkt.Error, OverflowError, ZeroDivisionError, MemoryError)
    try:
        reader = dpkt.pcap.UniversalReader(_Bounded(opened))
    except damage as error:
        raise InputError(f"{file}: is no capture: {str(error)[:100]}.") from None
    link = reader.datalink()
    if link not in (ETHERNET, *RAW_IP, DOT11, RADIOTAP):
        raise InputError(f"{file}: link type: {link} is not allowed; allowed here: Ethernet, raw IP, 802.11, radiotap.")

    def records() -> Iterator[tuple[float, bytes]]:
        number = 0
        try:
            for at, captured in reader:
                number += 1
                if not 0 <= at < 2**40:
                    raise ValueError(f"a time of {at:g} s")
                yield float(at), captured
        except damage as error:
            reason = "the file ends in it" if isinstance(error, dpkt.NeedData) else str(error)[:100]
            raise InputError(f"{file}: record {number + 1} is damaged: {reason}.") from None

    return link, records()


def _record(seen: Seen, link: int, at: float, captured: bytes) -> None:
    import dpkt

    if link in (RADIOTAP, DOT11):
        found = frame(captured, link == RADIOTAP)
        if found:
            _on_air(seen, at, found)
    elif link == ETHERNET:
        ethernet = dpkt.ethernet.Ethernet(captured)
        packet = _headers(ethernet.data)
        if packet:
            _count(seen, at, packet, (ethernet.src, ethernet.dst), None)
    else:
        packet = _headers(dpkt.ip6.IP6(captured) if captured[0] >> 4 == 6 else dpkt.ip.IP(captured))
        if packet:
            _count(seen, at, packet, (b"", b""), None)


def _on_air(seen: Seen, at: float, found: Frame) -> None:
    import dpkt

    key = found.bssid, found.station
    radio = seen.radios.get(key)
    if radio is None:
        if len(seen.radios) >= MOST_STATIONS:
            seen.left_out += 1
            return
        radio = seen.radios[key] = Radio()
    radio.frames[found.is_up] += 1
    radio.retries[found.is_up] += found.is_retry
    radio.received += found.has_signal
    if found.rate:
        radio.rates[found.is_up].add(at - (seen.began or 0.0), found.rate)
    if found.frequency_mhz:
        seen.frequencies[found.frequency_mhz] += 1
    is_new = radio.is_new(found.is_up, found.number, found.is_retry)
    if found.is_encrypted and is_new:
        radio.encrypted_bytes[found.is_up] += found.length
        radio.encrypted_packets[found.is_up] += 1
    if found.ether_type in (IPV4, IPV6):
        packet = _headers((dpkt.ip.IP if found.ether_type == IPV4 else dpkt.ip6.IP6)(found.packet))
        if packet and (packet.protocol == TCP or is_new):  # TCP's sequence numbers show what is sent again
            _count(seen, at, packet, (b"", b""), (found.station, found.is_up))


def _headers(ip: Any) -> Packet | None:
    """What counts of an IP packet; None if it is neither TCP, UDP nor an echo."""
    import dpkt

    if isinstance(ip, dpkt.ip.IP):
        left, dscp = ip.len - ip.hl * 4, ip.tos >> 2
        if ip.offset:  # a later fragment
            return None
    elif isinstance(ip, dpkt.ip6.IP6):
        left, dscp = ip.plen, ip.fc >> 2
    else:
        return None
    inner = ip.data
    if isinstance(inner, dpkt.tcp.TCP):
        ends = (ip.src, inner.sport), (ip.dst, inner.dport)
        return Packet(TCP, ends, left - inner.off * 4, dscp, inner.flags, inner.seq, _timestamps(inner.opts))
    if isinstance(inner, dpkt.udp.UDP):
        return Packet(UDP, ((ip.src, inner.sport), (ip.dst, inner.dport)), left - 8, dscp)
    if isinstance(inner, dpkt.icmp.ICMP) and isinstance(inner.data, dpkt.icmp.ICMP.Echo):
        return Packet(
            ICMP, ((ip.src, inner.data.id), (ip.dst, inner.data.id)), left - 8, dscp, inner.type, inner.data.seq
        )
    return None


def _timestamps(options: bytes) -> tuple[int, int] | None:
    """Value and echo of TCP's timestamps option (RFC 7323, 3); None without one."""
    place = 0
    while place < len(options):
        kind = options[place]
        if kind == TIMESTAMPS and options[place + 1 : place + 2] == b"\x0a" and place + 10 <= len(options):
            return STAMPS.unpack_from(options, place + 2)
        if kind == END_OF_OPTIONS:
            return None
        step = 1 if kind == NO_OPERATION else int.from_bytes(options[place + 1 : place + 2])
        if not step:
            return None
        place += step
    return None


def _count(
    seen: Seen, at: float, packet: Packet, hardware: tuple[bytes, bytes], known: tuple[str, bool] | None
) -> None:
    """Counts a packet. `known`: the station and whether it sends, on the air; elsewhere, the client of a connection is the station."""
    one, two = packet.ends
    key = (packet.protocol, *sorted(packet.ends))
    connection = seen.connections.get(key)
    if connection is None:
        if len(seen.connections) >= MOST_CONNECTIONS:
            seen.left_out += 1
            return
        sends = known[1] if known else packet.is_of_client()
        client = hardware[0 if sends else 1]
        name = known[0] if known else client.hex(":") or (one if sends else two)[0].hex()
        connection = seen.connections[key] = Connection(name, packet.protocol, one if sends else two, at)
    is_up = known[1] if known else one == connection.client
    if packet.protocol == TCP:
        connection.handshake(at, packet.flags, is_up)
        if packet.times:
            connection.stamp(at, *packet.times, is_up)
    if packet.protocol == ICMP and packet.flags == ECHO and packet.sequence is not None:
        connection.echo(at, packet.sequence)
    sequence = packet.sequence if packet.protocol == TCP else None
    connection.ways[is_up].data(at, sequence, packet.size, packet.dscp)
