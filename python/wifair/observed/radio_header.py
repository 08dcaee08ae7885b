"""Radiotap and 802.11 headers of a captured frame (https://www.radiotap.org; 802.11-2020, 9.2 and 9.3.2).

Of radiotap: flags, the rate or the mode of HT, VHT and HE, whether there is a received power. The mode of EHT is not read.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import NamedTuple

from wifair.observed.bitrate import HE_GI_NS, Bitrate, mbps

# Alignment and size of radiotap's fields, by the bit that says that they are present.
_FIELDS = {
    **{0: (8, 8), 1: (1, 1), 2: (1, 1), 3: (2, 4), 4: (2, 2), 5: (1, 1), 6: (1, 1), 7: (2, 2), 8: (2, 2), 9: (2, 2)},
    **{
        10: (1, 1),
        11: (1, 1),
        12: (1, 1),
        13: (1, 1),
        14: (2, 2),
        15: (2, 2),
        16: (1, 1),
        17: (1, 1),
        19: (1, 3),
        20: (4, 8),
    },
    **{21: (2, 12), 22: (8, 12), 23: (2, 12)},
}
_FLAGS, _RATE, _CHANNEL, _SIGNAL, _MCS, _VHT, _HE, _MORE = 1, 2, 3, 5, 19, 21, 23, 31
_BAD_FCS, _WITH_FCS = 0x40, 0x10
_VHT_WIDTHS = {
    0: 20,
    **dict.fromkeys(range(1, 4), 40),
    **dict.fromkeys(range(4, 11), 80),
    **dict.fromkeys(range(11, 26), 160),
}
_HE_WIDTHS = (20, 40, 80, 160)
_LLC = b"\xaa\xaa\x03\x00\x00\x00"


class Frame(NamedTuple):
    """A data frame between an access point and a station: addresses, whether it is a retry, its TID and sequence number, its packet."""

    station: str
    bssid: str
    is_up: bool
    is_retry: bool
    number: tuple[int, int]
    rate: Bitrate | None
    frequency_mhz: int
    # Whether the record has the received power, which frames of the radio itself do not have.
    has_signal: bool
    # The EtherType, and the packet; empty if the frame is encrypted or has none.
    ether_type: int
    packet: bytes
    is_encrypted: bool
    length: int


def frame(captured: bytes, has_radiotap: bool) -> Frame | None:
    """The data frame of a record; None for others and for damaged ones. Raises `struct.error` or `IndexError` if it is cut off."""
    rate, frequency, has_signal, flags, start = _radiotap(captured) if has_radiotap else (None, 0, False, 0, 0)
    if flags & _BAD_FCS:
        return None
    kind, control = captured[start], captured[start + 1]
    if kind & 0x0C != 0x08 or kind & 0x40:  # no data, or Null
        return None
    ways = control & 0x03
    if ways not in (1, 2):  # neither to nor from an access point
        return None
    first, second = captured[start + 4 : start + 10], captured[start + 10 : start + 16]
    is_up = ways == 1
    station, bssid = (second, first) if is_up else (first, second)
    if station[0] & 1:  # a group
        return None
    body = start + 24
    is_amsdu, tid = False, 0
    if kind & 0x80:
        is_amsdu, tid = bool(captured[body] & 0x80), captured[body] & 0x0F
        body += 2
    is_encrypted = bool(control & 0x40)
    ether_type, packet = 0, b""
    if not is_encrypted and not is_amsdu and captured[body : body + 6] == _LLC:
        (ether_type,) = struct.unpack_from(">H", captured, body + 6)
        packet = captured[body + 8 :]
    length = len(captured) - start - (4 if flags & _WITH_FCS else 0)
    retry = bool(control & 0x08)
    (sequence,) = struct.unpack_from("<H", captured, start + 22)
    number = tid, sequence >> 4
    ends = station.hex(":"), bssid.hex(":")
    return Frame(*ends, is_up, retry, number, rate, frequency, has_signal, ether_type, packet, is_encrypted, length)


def _radiotap(captured: bytes) -> tuple[Bitrate | None, int, bool, int, int]:
    """Rate, frequency in MHz, whether there is a received power, flags, and the length of the header."""
    length, present = struct.unpack_from("<HI", captured, 2)
    has_signal = bool(present >> _SIGNAL & 1)
    at, words = 8, present
    while words >> _MORE & 1:
        (words,) = struct.unpack_from("<I", captured, at)
        at += 4
    rate, frequency, flags = None, 0, 0
    for bit, begin, end in _places(present, at):
        field = captured[begin:end]
        if bit == _FLAGS:
            flags = field[0]
        elif bit == _CHANNEL:
            (frequency,) = struct.unpack_from("<H", field)
        else:
            rate = _rate(bit, field) or (None if bit == _RATE else rate)
    return rate, frequency, has_signal, flags, length


@lru_cache(64)  # the records of a radio have the same few fields
def _places(present: int, at: int) -> tuple[tuple[int, int, int], ...]:
    """Bit, begin and end of the fields that are read, where the first field of all begins at `at`."""
    places = []
    for bit in range(_MORE):
        if not present >> bit & 1:
            continue
        if bit not in _FIELDS:  # its length is unknown, and so is the place of what follows
            break
        align, size = _FIELDS[bit]
        at += -at % align
        if bit in (_FLAGS, _RATE, _CHANNEL, _MCS, _VHT, _HE):
            places.append((bit, at, at + size))
        at += size
    return tuple(places)


@lru_cache(1024)
def _rate(bit: int, field: bytes) -> Bitrate | None:
    """The rate or mode of a field."""
    if bit == _RATE:
        return Bitrate(field[0] / 2) if field[0] else None
    return {_MCS: _ht, _VHT: _vht, _HE: _he}[bit](field)


def _ht(field: bytes) -> Bitrate | None:
    known, flags, mcs = field
    if not known & 0x02 or mcs > 31:
        return None
    return _mode(
        "802.11n", mcs % 8, mcs // 8 + 1, 40 if known & 0x01 and flags & 0x03 == 1 else 20, 400 if flags & 0x04 else 800
    )


def _vht(field: bytes) -> Bitrate | None:
    _, flags, width, user = struct.unpack_from("<HBBB", field)
    mcs, streams = user >> 4, user & 0x0F
    if mcs > 9 or not 1 <= streams <= 4 or width not in _VHT_WIDTHS:
        return None
    return _mode("802.11ac", mcs, streams, _VHT_WIDTHS[width], 400 if flags & 0x04 else 800)


def _he(field: bytes) -> Bitrate | None:
    known, _, data3, _, data5, data6 = struct.unpack("<6H", field)
    mcs, width, gi, streams = data3 >> 8 & 0x0F, data5 & 0x0F, data5 >> 4 & 0x03, data6 & 0x0F
    if not known & 0x0020 or mcs > 11 or width >= len(_HE_WIDTHS) or gi >= len(HE_GI_NS) or not 1 <= streams <= 8:
        return None
    return _mode("802.11ax", mcs, streams, _HE_WIDTHS[width], HE_GI_NS[gi])


def _mode(generation: str, mcs: int, streams: int, width_mhz: int, interval_ns: int) -> Bitrate:
    index = mcs + 8 * (streams - 1) if generation == "802.11n" else mcs
    return Bitrate(
        mbps(generation, mcs, streams, width_mhz, interval_ns), generation, index, streams, width_mhz, interval_ns
    )
