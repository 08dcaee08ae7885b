"""Reads a data file of flent (`*.flent.gz`, https://flent.org): its test as flows of one station.

The series of a test are named by direction and class: `TCP upload BE`, `TCP download::3`, `Ping (ms) UDP EF`. Sums and means of other
series are skipped. The file does not have the station's link, which a station dump of the same station adds.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from pathlib import Path
from statistics import median
from typing import Any

from wifair.errors import InputError
from wifair.observed.lines import Line
from wifair.observed.network import Observed, Traffic, read

NAME = "a data file of flent"
# The largest content in bytes: JSON needs up to 24 times as much memory, and a real file has a few MB.
MOST_BYTES = 24 * 2**20
# DSCP by flent's class.
CLASSES = {"BE": 0, "BK": 8, "CS1": 8, "CS5": 40, "EF": 46}
_TCP = re.compile(r"TCP (up|down)load(?: ([A-Z]+\d?))?(?:::\d+)?", re.ASCII)
_PING = re.compile(r"Ping \(ms\) (ICMP|UDP (?:([A-Z]+\d?)))(?:::\d+)?", re.ASCII)
_COMPUTED = re.compile(r".* (avg|sum|totals)", re.ASCII)
MOST_SERIES, MOST_S = 1000, 86_400


def recognises(head: bytes) -> bool:
    """Whether a file begins like gzip."""
    return head.startswith(b"\x1f\x8b")


def read_into(observed: Observed, file: str, content: bytes) -> None:
    """Adds the flows of the test, and its length."""
    document = _document(file, content)
    metadata, results = document.get("metadata"), document.get("results")
    if not isinstance(metadata, dict) or not isinstance(results, dict):
        raise InputError(f"{file}: metadata, results: are no tables; allowed here: a data file of flent.")
    line = Line(file, 1, "")
    length = metadata.get("LENGTH")
    if isinstance(length, bool) or not isinstance(length, (int, float)) or not 1 <= length <= MOST_S:
        raise line.error("metadata.LENGTH", str(length), f"a number of seconds from 1 to {MOST_S}")
    observed.keys["run.duration_s"] = read(round(length), "metadata.LENGTH", Path(file).name)
    name = str(metadata.get("NAME"))[:40]
    found = [_flow(file, series, values) for series, values in results.items()]
    flows = [flow for flow in found if flow]
    if not flows or len(results) > MOST_SERIES:
        raise InputError(
            f"{file}: results: test {name!r} has no series that is TCP or ping; allowed here: 1 to {MOST_SERIES} series."
        )
    observed.traffic += flows


def _document(file: str, content: bytes) -> dict[str, Any]:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
            text = packed.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{file}: cannot be unpacked: {error}.") from None
    if len(text) > MOST_BYTES:
        raise InputError(f"{file}: has more than {MOST_BYTES // 2**20} MB unpacked; allowed here: less.")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is no JSON: {str(error)[:100]}.") from None
    if not isinstance(document, dict):
        raise InputError(f"{file}: is no table of JSON; allowed here: a data file of flent.")
    return document


def _flow(file: str, series: str, values: Any) -> Traffic | None:
    """The flow of a series; None for one that flent computes."""
    line = Line(file, 1, "")
    if _COMPUTED.fullmatch(series):
        return None
    tcp, ping = _TCP.fullmatch(series), _PING.fullmatch(series)
    if not tcp and not ping:
        return None
    if not isinstance(values, list):
        raise line.error(f"results.{series[:40]}", str(values)[:40], "a list of numbers")
    numbers = [
        each for each in values if isinstance(each, (int, float)) and not isinstance(each, bool) and abs(each) < 1e9
    ]
    unit = "Mbps" if tcp else "ms"
    mean = f"{sum(numbers) / len(numbers):.3g} {unit} on average" if numbers else "no values"
    what, remark = "results, name of the series", f"{series}: {mean} in {Path(file).name}"
    mark = CLASSES.get((tcp[2] if tcp else ping[2] if ping else None) or "BE", 0)
    keys: dict[str, Any]
    if tcp:
        keys = {"tcp": {"dscp": mark}} if mark else {}
        mbps = sum(numbers) / len(numbers) if numbers else None
        return Traffic("up" if tcp[1] == "up" else "down", read(keys, what, Path(file).name), remark, mbps)
    keys = {"application": {"name": "ping", "dscp": mark} if mark else "ping"}
    rtt_ms = median(numbers) if numbers else None
    return Traffic("up", read(keys, what, Path(file).name), remark, rtt_ms=rtt_ms)
