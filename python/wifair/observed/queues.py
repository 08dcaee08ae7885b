"""Reads `iw phy PHY get txq`, and `aqm` of mac80211 in debugfs (`ieee80211/phy0/aqm`): the limit of mac80211's queues.

Either shows that the driver uses these queues.
"""

from __future__ import annotations

import re

from wifair.errors import InputError
from wifair.observed.lines import Line, lines
from wifair.observed.network import Observed, read

NAME = "iw get txq, aqm of debugfs"
_TXQ = re.compile(r"\s*Packet limit:\s*(.*?)\s*pkts", re.ASCII)
_AQM = re.compile(r"\s*RW?\s+fq_limit\s+(.*)", re.ASCII)
MOST_PACKETS = 10_000_000


def recognises(head: str) -> bool:
    """Whether a text begins like one."""
    return head.startswith(("Packet limit:", "access name value"))


def read_into(observed: Observed, file: str, content: str) -> None:
    """Adds the scheme and its limit."""
    for line in lines(file, content):
        found = _TXQ.fullmatch(line.text) or _AQM.fullmatch(line.text)
        if found:
            _set(observed, line, "Packet limit" if "limit:" in line.text else "fq_limit", found[1])
            return
    raise InputError(f"{file}: has no limit; allowed here: a line `Packet limit: 8192 pkts`, or `RW fq_limit 8192`.")


def _set(observed: Observed, line: Line, field: str, value: str) -> None:
    limit = line.count(field, value)
    if not 1 <= limit <= MOST_PACKETS:
        raise line.error(field, value, f"1 to {MOST_PACKETS} packets")
    observed.keys["ap.scheme"] = read("mac80211", "the driver has the queues of mac80211", line.place)
    observed.keys["ap.limit_packets"] = read(limit, field, line.place)
