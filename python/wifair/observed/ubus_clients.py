"""Reads `ubus call hostapd.DEVICE get_clients` of OpenWrt: rates, signal, bytes, packets and airtime of the stations.

The form is that of `hostapd_bss_get_clients` in OpenWrt's ubus.c. Rates have no mode, and there is no time: without a dump that has it, each
direction with data is bulk.
"""

from __future__ import annotations

import json
from typing import Any

from wifair.errors import InputError
from wifair.observed.bitrate import ANY, Bitrate
from wifair.observed.lines import MOST_COUNT, SHOWN, Line
from wifair.observed.network import Counters, Observed, Station, Value, read

NAME = "ubus get_clients"
_COUNTERS = {
    ("bytes", "rx"): "up_bytes",
    ("bytes", "tx"): "down_bytes",
    ("packets", "rx"): "up_packets",
    ("packets", "tx"): "down_packets",
    ("airtime", "rx"): "up_airtime_us",
    ("airtime", "tx"): "down_airtime_us",
}
# In kbit/s.
MOST_RATE = 10**8


def recognises(head: str) -> bool:
    """Whether a text begins like one."""
    return head.lstrip().startswith("{") and '"freq"' in head


def read_into(observed: Observed, file: str, content: str) -> None:
    """Adds the stations and the frequency."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is no JSON: {str(error)[:100]}.") from None
    clients = document.get("clients")
    if not isinstance(clients, dict) or not clients:
        raise InputError(
            f"{file}: clients: has no station; allowed here: the output of `ubus call hostapd.DEVICE get_clients`."
        )
    frequency = _number(file, document, "freq", 1000, 10_000)
    if frequency:
        observed.frequency_mhz = frequency
    for address, fields in clients.items():
        key = Line(file, 1, "").address("clients", address)
        if not isinstance(fields, dict):
            raise _error(file, f"clients.{key}", fields, "a table")
        observed.add(_station(file, key, fields))


def _station(file: str, key: str, fields: dict[str, Any]) -> Station:
    counters = {}
    for (table, way), name in _COUNTERS.items():
        found = _number(file, _table(file, fields, table), way, 0, MOST_COUNT, f"{table}.{way}")
        if found:
            counters[name] = found
    rates = _table(file, fields, "rate")
    signal = _number(file, fields, "signal", -128, 127)
    return Station(
        key,
        file,
        down=_rate(_number(file, rates, "tx", 0, MOST_RATE, "rate.tx")),
        up=_rate(_number(file, rates, "rx", 0, MOST_RATE, "rate.rx")),
        signal_dbm=signal.of(float(signal.value)) if signal else None,
        dumps=(Counters(**counters),),  # type: ignore[arg-type]
    )


def _rate(kbps: Value[int] | None) -> Value[Bitrate] | None:
    return kbps.of(Bitrate(kbps.value / 1000, ANY)) if kbps and kbps.value else None


def _table(file: str, fields: dict[str, Any], name: str) -> dict[str, Any]:
    found = fields.get(name, {})
    if not isinstance(found, dict):
        raise _error(file, name, found, "a table with rx and tx")
    return found


def _number(file: str, fields: dict[str, Any], key: str, least: int, most: int, named: str = "") -> Value[int] | None:
    if key not in fields:
        return None
    value = fields[key]
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _error(file, named or key, value, f"a whole number from {least} to {most}")
    return read(value, named or key, Line(file, 1, "").place.partition(":")[0])


def _error(file: str, field: str, value: object, allowed: str) -> InputError:
    return InputError(f"{file}: {field}: {str(value)[:SHOWN]!r} is not allowed; allowed here: {allowed}.")
