"""Reads `tc -j qdisc show dev DEVICE`, with or without `-s`: the qdisc of the access point as a scheme. Writes a scheme as `tc` shows it.

The names are those of tc's q_*.c, and the units those of Linux: a time in µs is one of the kernel's clock, which has 1,024 ns for CoDel and 64 ns for PIE
(`include/net/codel.h`, `include/net/pkt_sched.h`), so 5 ms of CoDel are shown as 4999. `tc` has the gains of PIE in sixteenths per second. Linux rounds
`tupdate` up to its ticks, whose length depends on the kernel: it is read as it is shown, and written as it is in the plan.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wifair.errors import InputError
from wifair.observed.lines import Line
from wifair.observed.network import Observed, assumed, read
from wifair.observed.queues import differs_in

NAME = "tc -j qdisc"
_HEAD = re.compile(r'\s*\[\s*\{\s*"kind"\s*:')
# What an option of 32 bits can have.
MOST = 2**32 - 1
# The queues of mac80211's devices by their number from 1 (`enum ieee80211_ac_numbers`).
CATEGORIES = ("voice", "video", "best_effort", "background")
BEST_EFFORT = 3
# Packets of a band of pfifo_fast, which tc does not show: txqueuelen of Linux.
TXQUEUELEN = 1000
# What comes before or after the queue of a device and queues nothing.
_HOOKS = ("ingress", "clsact")
ALLOWED = "the output of tc -s -j qdisc show dev DEVICE"
Json = dict[str, Any]


@dataclass(frozen=True)
class Option:
    """An option of a qdisc as a key of a scheme. One of the key's unit is so many of the option's, which the kernel keeps in units of `clock_ns`."""

    key: str
    per_unit: int = 1
    clock_ns: int = 0

    def of_scheme(self, value: float) -> int:
        """What tc shows of a key's value."""
        number = round(value * self.per_unit)
        return number * 1000 // self.clock_ns * self.clock_ns // 1000 if self.clock_ns else number

    def of_tc(self, shown: int) -> float:
        """The value of the key: the least whole number of µs of which tc shows that."""
        if self.clock_ns:
            ticks = -(-shown * 1000 // self.clock_ns)
            shown = -(-ticks * self.clock_ns // 1000)
        return shown if self.per_unit == 1 else shown / self.per_unit


@dataclass(frozen=True)
class Kind:
    """A qdisc that is a scheme, whose limit in packets is the option `limit`, and which has a switch `ecn` if it signals."""

    scheme: str
    options: Mapping[str, Option]

    @property
    def signals(self) -> bool:
        """Whether it marks or drops before it is full."""
        return bool(self.options)


def _codel(**more: Option) -> dict[str, Option]:
    return {"target": Option("target_ms", 1000, 1024), "interval": Option("interval_ms", 1000, 1024), **more}


KINDS: Mapping[str, Kind] = {
    "pfifo": Kind("droptail", {}),
    "codel": Kind("codel", _codel()),
    "fq_codel": Kind(
        "fq-codel",
        _codel(
            flows=Option("queues"),
            quantum=Option("quantum_bytes"),
            memory_limit=Option("limit_bytes"),
            drop_batch=Option("drop_batch_packets"),
        ),
    ),
    "pie": Kind(
        "pie",
        {
            "target": Option("target_ms", 1000, 64),
            "tupdate": Option("update_ms", 1000),
            "alpha": Option("alpha_per_s", 16),
            "beta": Option("beta_per_s", 16),
        },
    ),
}


def recognises(head: str) -> bool:
    """Whether a text begins like one."""
    return bool(_HEAD.match(head))


def read_into(observed: Observed, file: str, content: str) -> None:
    """Adds the scheme of the qdisc, its limit and its parameters, or says that there is no such scheme."""
    line, place = Line(file, 1, ""), Path(file).name
    root, *below = _entries(line, content)
    kind, options = root["kind"], root["options"]
    if kind == "noqueue":
        what = "noqueue: the device has no qdisc, as with drivers that use the queues of mac80211"
        observed.qdisc = {"ap.scheme": assumed("mac80211", what)}
        return
    if kind == "mq" and below and all(each == below[0] for each in below):
        kind, options = below[0]["kind"], below[0]["options"]
    if kind == "pfifo_fast":
        what = "txqueuelen of Linux, which tc does not show of pfifo_fast"
        observed.qdisc = {"ap.scheme": read("droptail", kind, place), "ap.limit_packets": assumed(TXQUEUELEN, what)}
        observed.remarks.append(f"{place}: the three bands of pfifo_fast are one queue here")
    elif kind in KINDS:
        observed.qdisc = _keys(line, place, kind, options)
        others = sorted(set(options) - {"limit", "ecn", *KINDS[kind].options})
        if others:
            named = ", ".join(f"{key} {options[key]}" for key in others)
            observed.remarks.append(f"{place}: no scheme has these options of {kind}: {_short(named)}")
    else:
        why = "its queues are different ones" if kind == "mq" and below else "no scheme is like it"
        observed.remarks.append(f"{place}: the qdisc {_short(kind)} is left out, since {why}")
        return
    if root["kind"] != "mq":
        observed.remarks.append(f"{place}: {kind} is one queue for all categories, and here each has one")


def _keys(line: Line, place: str, kind: str, options: Json) -> Json:
    found = KINDS[kind]
    scheme: Json = {"name": found.scheme}
    for name, option in found.options.items():
        if name in options:
            scheme[option.key] = option.of_tc(_number(line, name, options[name]))
    if found.signals:
        ecn = options.get("ecn", False)
        if not isinstance(ecn, bool):
            raise line.error("options.ecn", _short(ecn), "true or false")
        scheme["signal"] = "mark" if ecn else "drop"
    if "limit" not in options:
        raise line.error("options", _short(options), "options with limit")
    return {
        "ap.scheme": read(scheme if found.signals else found.scheme, f"options of {kind}", place),
        "ap.limit_packets": read(_number(line, "limit", options["limit"]), "limit", place),
    }


def _number(line: Line, name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST:
        raise line.error(f"options.{name}", _short(value), f"a whole number from 0 to {MOST}")
    return value


def _entries(line: Line, content: str) -> list[Json]:
    """The root qdisc and those below it, each with its kind and options."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{line.file}: is no JSON: {str(error)[:100]}.") from None
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise InputError(f"{line.file}: is no list of qdiscs; allowed here: {ALLOWED}.")
    for each in found:
        if not isinstance(each.get("kind"), str):
            raise line.error("kind", _short(each.get("kind")), "the name of a qdisc, such as fq_codel")
        if not isinstance(each.get("options", {}), dict):
            raise line.error("options", _short(each["options"]), "a table")
    queues = [each for each in found if each["kind"] not in _HOOKS]
    devices = {_short(each.get("dev")) for each in queues}
    roots = [each for each in queues if each.get("root") is True]
    if len(devices) > 1 or len(roots) != 1:
        raise InputError(
            f"{line.file}: root: has {len(roots)} qdiscs of {len(devices)} devices; allowed here: one root, {ALLOWED}."
        )
    [root] = roots
    ordered = [root, *(each for each in queues if each is not root)]
    return [{"kind": each["kind"], "options": each.get("options", {})} for each in ordered]


def _short(value: object) -> str:
    """A value within a message."""
    try:
        return str(value)[:60]
    except RecursionError:
        return "a list of lists"


def options(tx_queue: Mapping[str, Any]) -> tuple[str, Json] | None:
    """The kind and the options of the qdisc that is like a transmit queue of a plan; None if there is none."""
    scheme = tx_queue["scheme"]
    kind = next((kind for kind, each in KINDS.items() if each.scheme == scheme["name"]), None)
    if kind is None or tx_queue["limit_controller"]:
        return None
    found = KINDS[kind]
    free = {"signal", *(option.key for option in found.options.values())}
    if differs_in(scheme) - free or scheme.get("signal", "drop") not in ("mark", "drop"):
        return None
    shown: Json = {"limit": tx_queue["limit_packets"]}
    shown |= {name: option.of_scheme(scheme[option.key]) for name, option in found.options.items()}
    return kind, shown | ({"ecn": True} if scheme.get("signal") == "mark" else {})


def settle(observed: Observed) -> None:
    """Takes the scheme of the qdisc, unless another file shows the queues of mac80211: above these a qdisc stays empty."""
    scheme = observed.qdisc.get("ap.scheme")
    if not scheme:
        return
    is_above = "ap.scheme" in observed.keys
    if not is_above:
        observed.keys |= observed.qdisc
    if scheme.origin == "read":
        what = (
            "the qdisc is left out, since it stays empty above the queues of mac80211"
            if is_above
            else "the qdisc counts as the queue of the access point; it stays empty if the driver has the queues of mac80211, as every driver of mac80211 has "
            "since Linux 6.2, and `aqm` of debugfs shows these"
        )
        observed.remarks.append(f"{scheme.place}: {what}")
