"""Reads airtime queue limits (AQL) of mac80211 in debugfs: `aql_txq_limit` of a radio, and `aql` of a station. Writes them as it shows them.

Only drivers with these limits have `aql` (`debugfs_sta.c` of Linux 6.12): ath10k and mt76, and mac80211_hwsim. Every driver has `aql_txq_limit`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from wifair.errors import InputError
from wifair.observed.lines import Line, lines
from wifair.observed.network import Observed, assumed, read

NAME = "aql, aql_txq_limit of debugfs"
CATEGORIES = ("VO", "VI", "BE", "BK")
_RADIO_HEAD = "AC\tAQL limit low\tAQL limit high"
_STATION_HEADS = ("Q depth: ", "Q limit[low/high]: ")
_OF_RADIO = re.compile(r"(VO|VI|BE|BK)\t+(\S+)\t+(\S+)", re.ASCII)
_OF_STATION = re.compile(r"(VO|VI|BE|BK): ([^/\s]+)/(\S+)", re.ASCII)
# What the model allows, in µs.
LEAST_US, MOST_US = 100, 1_000_000


def recognises(head: str) -> bool:
    """Whether a text begins like one."""
    return head.startswith((_RADIO_HEAD, *_STATION_HEADS))


def read_into(observed: Observed, file: str, content: str) -> None:
    """Adds the limits. Of a station they show that the driver keeps to them."""
    is_of_radio = content.startswith(_RADIO_HEAD)
    found: dict[str, tuple[int, int]] = {}
    place = ""
    for line in lines(file, content):
        if is_of_radio or line.text.startswith(_STATION_HEADS[1]):
            for category, low, high in (_OF_RADIO if is_of_radio else _OF_STATION).findall(line.text):
                found[category] = _limits(line, category, low, high)
                place = line.place if category == "BE" else place
    if missing := [each for each in CATEGORIES if each not in found]:
        raise InputError(
            f"{file}: has no limit of {', '.join(missing)}; allowed here: a low and a high one of {', '.join(CATEGORIES)}."
        )
    if len(set(found.values())) > 1:
        observed.remarks.append(
            f"{place}: airtime queue limits differ by category, and here all have those of best effort"
        )
    low_us, high_us = found["BE"]
    value = {"name": "firmware", "aql_low_us": low_us, "aql_high_us": high_us}
    there = observed.keys.get("ap.hardware")
    if there and there.value != value:
        observed.remarks.append(f"{place}: airtime queue limits differ from those of {there.place or 'another file'}")
    if not is_of_radio:
        observed.keys["ap.hardware"] = read(value, "Q limit, which drivers with airtime queue limits have", place)
    elif not there or there.origin != "read":
        observed.keys["ap.hardware"] = assumed(value, "the driver keeps to the limits of aql_txq_limit, as mt76 does")


def _limits(line: Line, category: str, low: str, high: str) -> tuple[int, int]:
    low_us = line.count(f"{category} low", low)
    if not LEAST_US <= low_us <= MOST_US:
        raise line.error(f"{category} low", low, f"{LEAST_US} to {MOST_US} us")
    high_us = line.count(f"{category} high", high)
    if not low_us <= high_us <= MOST_US:
        raise line.error(f"{category} high", high, f"{low_us} to {MOST_US} us")
    return low_us, high_us


def of_radio(hardware: Mapping[str, Any]) -> str | None:
    """`aql_txq_limit` of a plan's hardware; None without such limits."""
    if "aql_low_us" not in hardware:
        return None
    limits = f"{hardware['aql_low_us']:.0f}\t\t{hardware['aql_high_us']:.0f}"
    return "\n".join([_RADIO_HEAD, *(f"{each}\t{limits}" for each in CATEGORIES), ""])


def of_station(hardware: Mapping[str, Any]) -> str | None:
    """`aql` of a station without what waits below its limits, which results do not have; None without such limits."""
    if "aql_low_us" not in hardware:
        return None
    limits = f"{hardware['aql_low_us']:.0f}/{hardware['aql_high_us']:.0f}"
    return _STATION_HEADS[1] + " ".join(f"{each}: {limits}" for each in CATEGORIES) + "\n"
