"""Reads `iw dev DEVICE scan`.

The form is that of `print_bss_handler`, `print_ht_op` and `print_vht_oper` in iw's scan.c, and of `print_he_operation` and
`print_eht_operation` in its util.c.
"""

from __future__ import annotations

import re

from wifair.errors import InputError
from wifair.observed.lines import Line, lines
from wifair.surveys.heard import STARTS_MHZ, STEP_MHZ, Channel, Heard, band_of, containing

NAME = "iw scan"
_BSS = re.compile(r"BSS ([0-9a-fA-F:]{17})\s*\(on [^)]*\)(.*)")
_SIGNAL = re.compile(r"(-?\d{1,4}(?:\.\d{1,4})?) dBm", re.ASCII)
_MHZ = re.compile(r"(\d{1,3}) MHz", re.ASCII)
_WIDTHS = {"0": 0, "1": 80, "2": 160, "3": 80}  # 80 + 80 MHz: the half with the primary channel


def recognises(head: str) -> bool:
    """Whether a text begins like one."""
    return any(_BSS.match(line) for line in head.split("\n")[:40])


def read_into(found: dict[str, Heard], file: str, content: str, at: str) -> None:
    """Adds the BSSs of a scan at a place."""
    block: list[Line] = []
    for line in lines(file, content):
        if line.text.startswith("BSS "):
            _add(found, block, at)
            block = [line]
        elif block:
            block.append(line)
    _add(found, block, at)
    if not found:
        raise InputError(f"{file}: has no BSS; allowed here: the output of `iw dev DEVICE scan`.")


def _add(found: dict[str, Heard], block: list[Line], at: str) -> None:
    """Adds the BSS whose lines these are."""
    if not block:
        return
    head = block[0]
    match = _BSS.match(head.text)
    if not match:
        raise head.error("BSS", head.text[4:], "an address and `(on DEVICE)`")
    address = head.address("BSS", match[1])
    fields: dict[str, tuple[Line, str]] = {}
    part = ""
    for line in block[1:]:
        name, _, value = (each.strip() for each in line.text.partition(":"))
        if line.text.startswith("\t") and not line.text.startswith("\t\t"):
            part = name
            fields.setdefault(name, (line, value))
        else:
            fields.setdefault(f"{part}.{name.removeprefix('* ')}", (line, value))
    if "freq" not in fields or "signal" not in fields:
        raise head.error("BSS", address, "a BSS with lines `freq` and `signal`")
    primary, channel = _channel(fields)
    line, told = fields["signal"]
    signal = _SIGNAL.fullmatch(told)
    if not signal:
        raise line.error(
            "signal", told, "such as -43.00 dBm; a device that tells no dBm measures nothing that can be used"
        )
    dbm = line.decimal("signal", signal[1], -128, 0, "dBm")
    heard = found.setdefault(address, Heard(address, head.place, channel, primary=primary))
    heard.is_own |= match[2].strip().startswith("-- associated")
    heard.add(at, dbm, line.place)


def _channel(fields: dict[str, tuple[Line, str]]) -> tuple[int, Channel]:
    """The numbers of the primary channel and the channel, by the operation elements of 802.11be, at 6 GHz ax, ac and n."""
    line, told = fields["freq"]
    mhz = line.decimal("freq", told, 2000, 8000, "MHz")
    band_ghz = band_of(mhz)
    if band_ghz is None:
        raise line.error("freq", told, "a frequency of 2.4, 5 or 6 GHz, in MHz")
    primary = round((mhz - STARTS_MHZ[band_ghz]) / STEP_MHZ)
    if band_ghz == 2.4 and primary > 13:
        raise line.error("freq", told, "a channel up to 13 at 2.4 GHz: on 14 there is only 802.11b")
    _, offset = fields.get("HT operation.secondary channel offset", (line, ""))
    _, width = fields.get("VHT operation.channel width", (line, "0"))
    width_mhz = _WIDTHS.get(width[:1], 0) or (40 if offset in ("above", "below") else 20)
    if band_ghz == 2.4:
        shift = {"above": 2, "below": -2}.get(offset, 0)
        return primary, Channel(band_ghz, primary + shift, 40 if shift else 20)
    for element in ("EHT Operation", "HE Operation") if band_ghz == 6.0 else ("EHT Operation",):
        if f"{element}.Channel Width" in fields:
            return primary, _of_element(fields, element, band_ghz, primary)
    second_line, second = fields.get("VHT operation.center freq segment 2", (line, "0"))
    first_line, first = fields.get("VHT operation.center freq segment 1", (line, "0"))
    if width_mhz == 80:
        one = first_line.count("center freq segment 1", first)
        two = second_line.count("center freq segment 2", second)
        if two and abs(two - one) == 8:  # 802.11-2020, table 11-24: 160 MHz, the second segment has the centre
            width_mhz = 160
    return primary, Channel(band_ghz, containing(band_ghz, primary, width_mhz), width_mhz)


def _of_element(fields: dict[str, tuple[Line, str]], element: str, band_ghz: float, primary: int) -> Channel:
    """The channel by the operation element of 802.11be or, at 6 GHz, ax (27.3.23 of 802.11ax-2021, table 9-404c of 802.11be)."""
    line, told = fields[f"{element}.Channel Width"]
    name = f"{element}: Channel Width"
    width = _MHZ.search(told)
    width_mhz = line.count(name, width[1]) if width else 0
    if width_mhz not in (20, 40, 80, 160, 320):
        raise line.error(name, told, "20, 40, 80, 160 or 320 MHz")
    first, second = (fields.get(f"{element}.Center Frequency Segment {segment}", (line, "0")) for segment in (0, 1))
    centre = second[0].count("Center Frequency Segment 1", second[1])
    if width_mhz == 320:  # of two channels of 320 MHz that overlap; the second segment has the centre
        if not 31 <= centre <= 191 or centre % 32 != 31 or not abs(primary - centre) < 32:
            raise second[0].error(
                "Center Frequency Segment 1", second[1], "31, 63, 95, 127, 159 or 191, which has the primary channel"
            )
        return Channel(band_ghz, centre, 320)
    if width_mhz == 160 and abs(centre - first[0].count("Center Frequency Segment 0", first[1])) != 8:
        width_mhz = 80  # 80 + 80 MHz: the half with the primary channel
    return Channel(band_ghz, containing(band_ghz, primary, width_mhz), width_mhz)
