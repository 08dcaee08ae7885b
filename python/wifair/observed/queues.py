"""Reads `iw phy PHY get txq`, and `aqm` of mac80211 in debugfs (`ieee80211/phy0/aqm`): the limits of mac80211's queues. Writes `aqm`.

Either shows that the driver uses these queues.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from wifair.errors import InputError
from wifair.observed.lines import Line, lines
from wifair.observed.network import Observed, read
from wifair.scenario.components import plan_node, properties, variants

NAME = "iw get txq, aqm of debugfs"
SCHEME = "mac80211"
_TXQ = re.compile(r"\s*(Number of queues|Memory limit|Packet limit|Quantum):\s*(.*?)\s*(?:bytes|pkts)?", re.ASCII)
_AQM_HEAD = "access name value"
_AQM = re.compile(r"\s*RW?\s+(fq_flows_cnt|fq_memory_limit|fq_limit|fq_quantum)\s+(.*)", re.ASCII)
# Keys of `[ap]` and of the scheme, by their names in either file. The last number is the largest that is allowed.
_LIMIT = "limit_packets"
_KEYS = {
    "Number of queues": "queues",
    "Memory limit": "limit_bytes",
    "Packet limit": _LIMIT,
    "Quantum": "quantum_bytes",
    "fq_flows_cnt": "queues",
    "fq_memory_limit": "limit_bytes",
    "fq_limit": _LIMIT,
    "fq_quantum": "quantum_bytes",
}
MOST_PACKETS, MOST = 10_000_000, 2**32 - 1
# Parameters that change nothing of what Linux shows: its rule for slow stations until 2025, and how wifair counts.
_NOT_SHOWN = ("slow_station_rule", "arithmetic")


def recognises(head: str) -> bool:
    """Whether a text begins like one."""
    return head.startswith(("Packet limit:", _AQM_HEAD))


def read_into(observed: Observed, file: str, content: str) -> None:
    """Adds the scheme, its limit, and what of its parameters is not that of Linux itself."""
    found: dict[str, int] = {}
    place = ""
    for line in lines(file, content):
        if shown := _TXQ.fullmatch(line.text) or _AQM.fullmatch(line.text):
            key = _KEYS[shown[1]]
            found[key] = _count(line, shown[1], shown[2], MOST_PACKETS if key == _LIMIT else MOST)
            place = line.place if key == _LIMIT else place
    if _LIMIT not in found:
        raise InputError(
            f"{file}: has no limit; allowed here: a line `Packet limit: 8192 pkts`, or `RW fq_limit 8192`."
        )
    observed.keys[f"ap.{_LIMIT}"] = read(found.pop(_LIMIT), "limit in packets", place)
    changed = {key: value for key, value in found.items() if value != defaults(SCHEME)[key]}
    scheme = {"name": SCHEME, **changed} if changed else SCHEME
    observed.keys["ap.scheme"] = read(scheme, "the driver has the queues of mac80211", place)


def _count(line: Line, field: str, value: str, most: int) -> int:
    count = line.count(field, value)
    if not 1 <= count <= most:
        raise line.error(field, value, f"1 to {most}")
    return count


@cache
def defaults(name: str) -> dict[str, Any]:
    """The parameters of a scheme with their defaults, which are those of Linux where it has the scheme."""
    scheme = variants(plan_node("bss", "ap", "tx_queue", "scheme"))[name]
    return {key: node.get("default") for key, node in properties(scheme).items() if key != "name"}


def differs_in(scheme: Mapping[str, Any]) -> set[str]:
    """The parameters of a plan's scheme that do not have their default."""
    return {key for key, value in defaults(scheme["name"]).items() if scheme[key] != value}


def is_of_linux(tx_queue: Mapping[str, Any]) -> bool:
    """Whether a transmit queue of a plan is the queues of mac80211, with parameters that Linux has or lets set."""
    scheme = tx_queue["scheme"]
    if scheme["name"] != SCHEME or tx_queue["limit_controller"]:
        return False
    return differs_in(scheme) <= {*_KEYS.values(), *_NOT_SHOWN}


def aqm(tx_queue: Mapping[str, Any]) -> str:
    """`aqm` of a transmit queue of a plan, without counters, which results do not have as Linux counts them."""
    scheme = tx_queue["scheme"]
    lines = {
        "R fq_flows_cnt": scheme["queues"],
        "RW fq_memory_limit": scheme["limit_bytes"],
        "RW fq_limit": tx_queue[_LIMIT],
        "RW fq_quantum": scheme["quantum_bytes"],
    }
    return "\n".join([_AQM_HEAD, *(f"{name} {value}" for name, value in lines.items()), ""])
