"""Reads OpenWrt's `/etc/config/wireless`: PHY, band, channel and width of one radio.

Of several radios, the one in the band of the survey counts, which must come before this file.
"""

from __future__ import annotations

import re
import shlex

from wifair.errors import InputError
from wifair.observed.configuration import BANDS_GHZ, HT_MODES, WIDTHS_MHZ, set_channel
from wifair.observed.lines import Line, lines
from wifair.observed.network import Observed, read

NAME = "/etc/config/wireless of OpenWrt"
_MODE = re.compile(r"(HT|VHT|HE|EHT)(\d{2,3})[+-]?", re.ASCII)
_KIND = "wifi-device"
Options = dict[str, tuple[Line, str]]


def recognises(head: str) -> bool:
    """Whether a text begins like one."""
    return bool(re.search(rf"^\s*config\s+{_KIND}\b", head, re.MULTILINE))


def read_into(observed: Observed, file: str, content: str) -> None:
    """Adds what the file says of the radio."""
    radios: list[Options] = []
    inside = False
    for line in lines(file, content):
        try:
            words = shlex.split(line.text, comments=True)
        except ValueError as error:
            raise line.error("line", line.text, f"words of UCI ({error})") from None
        if not words:
            continue
        if words[0] == "config":
            inside = words[1:2] == [_KIND]
            if inside:
                radios.append({"name": (line, words[2] if len(words) > 2 else "")})
        elif words[0] == "option" and inside:
            if len(words) != 3:
                raise line.error("option", line.text.strip(), "option NAME 'VALUE'")
            radios[-1][words[1]] = (line, words[2])
    bands = [_band(radio) for radio in radios]
    if len(radios) > 1 and observed.frequency_mhz:
        mhz = observed.frequency_mhz.value
        there = 2.4 if mhz < 3000 else 5.0 if mhz < 5925 else 6.0
        radios = [radio for radio, band in zip(radios, bands, strict=True) if band == there]
    if len(radios) != 1:
        raise InputError(
            f"{file}: {len(radios)} radios could be meant; allowed here: one, or a survey before this file whose band only one of them has."
        )
    _add(observed, radios[0])


def _band(radio: Options) -> float:
    if "band" in radio:
        line, band = radio["band"]
        if band not in BANDS_GHZ:
            raise line.error("band", band, ", ".join(BANDS_GHZ))
        return BANDS_GHZ[band]
    line, mode = radio.get("hwmode", (radio["name"][0], "11g"))  # of OpenWrt before 21.02
    if mode not in ("11a", "11b", "11g"):
        raise line.error("hwmode", mode, "11a, 11b, 11g")
    return 5.0 if mode == "11a" else 2.4


def _add(observed: Observed, radio: Options) -> None:
    line, channel = radio.get("channel", (radio["name"][0], "auto"))
    set_channel(observed, line, _band(radio), channel)
    if "htmode" not in radio or radio["htmode"][1] in ("NOHT", "NONE"):
        return
    line, told = radio["htmode"]
    mode = _MODE.fullmatch(told)
    if not mode or int(mode[2]) not in WIDTHS_MHZ:
        raise line.error("htmode", told, "such as HT40, VHT80, HE80, EHT160, or NOHT")
    observed.generation = read(HT_MODES[mode[1]], "htmode", line.place)
    observed.width_mhz = observed.width_mhz or read(int(mode[2]), "htmode", line.place)
