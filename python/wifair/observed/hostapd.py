"""Reads `hostapd.conf`: PHY, band, channel and width. The form is that of the comments in hostapd's hostapd.conf."""

from __future__ import annotations

import re

from wifair.observed.configuration import set_channel
from wifair.observed.lines import Line, lines
from wifair.observed.network import Observed, read

NAME = "hostapd.conf"
_KEY = re.compile(r"^(?:interface|driver|hw_mode|ctrl_interface|country_code|wmm_enabled)=", re.MULTILINE)
_SWITCHES = {"ieee80211be": "802.11be", "ieee80211ax": "802.11ax", "ieee80211ac": "802.11ac", "ieee80211n": "802.11n"}
_BY_MODE = {"a": "802.11a", "g": "802.11g", "b": "802.11b"}
# By the value of vht_oper_chwidth and its successors; 0 is 20 or 40 MHz.
_WIDTHS_MHZ = {"1": 80, "2": 160, "3": 160, "9": 320}
# Operating classes at 6 GHz (annex E).
_AT_6_GHZ = range(131, 138)


def recognises(head: str) -> bool:
    """Whether a text begins like one."""
    return bool(_KEY.search(head))


def read_into(observed: Observed, file: str, content: str) -> None:
    """Adds what a configuration says of the radio."""
    found: dict[str, tuple[Line, str]] = {}
    for line in lines(file, content):
        key, equals, value = line.text.partition("=")
        if equals and not line.text.lstrip().startswith("#"):
            found[key.strip()] = (line, value.strip())
    mode_line, mode = found.get("hw_mode", (Line(file, 1, ""), "g"))
    if mode not in _BY_MODE:
        raise mode_line.error("hw_mode", mode, ", ".join(_BY_MODE))
    on = [key for key in _SWITCHES if key in found and _is_on(*found[key], key)]
    if on:
        line, _ = found[on[0]]
        observed.generation = read(_SWITCHES[on[0]], on[0], line.place)
    else:
        observed.generation = read(_BY_MODE[mode], "hw_mode", mode_line.place)
    class_line, op_class = found.get("op_class", (mode_line, "0"))
    at_6 = class_line.count("op_class", op_class) in _AT_6_GHZ
    channel_line, channel = found.get("channel", (mode_line, "0"))
    set_channel(observed, channel_line, (6.0 if at_6 else 5.0) if mode == "a" else 2.4, channel)
    _set_width(observed, found, bool(on))


def _is_on(line: Line, value: str, key: str) -> bool:
    if value not in ("0", "1"):
        raise line.error(key, value, "0 or 1")
    return value == "1"


def _set_width(observed: Observed, found: dict[str, tuple[Line, str]], has_ht: bool) -> None:
    if not has_ht or observed.width_mhz:
        return
    for key in ("eht_oper_chwidth", "he_oper_chwidth", "vht_oper_chwidth"):
        if key in found and found[key][1] != "0":
            line, value = found[key]
            if value not in _WIDTHS_MHZ:
                raise line.error(key, value, f"0, {', '.join(_WIDTHS_MHZ)}")
            observed.width_mhz = read(_WIDTHS_MHZ[value], key, line.place)
            return
    line, capabilities = found.get("ht_capab", (Line("", 0, ""), ""))
    if "[HT40" in capabilities:
        observed.width_mhz = read(40, "ht_capab", line.place)
