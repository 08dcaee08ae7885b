"""Plans in one sentence: PHY and rates, the access point's scheme and buffer, TCP, times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from wifair.planned import bsss_of, channels_of, stations_of, widths_of
from wifair.planned import part as part_of
from wifair.scenario.components import transport

Plan = Mapping[str, Any]
# If there are more limits, only the least and the largest are named.
MOST_LIMITS = 4


def described(plans: Sequence[Plan], bss: str = "") -> list[str]:
    """The settings that all these plans have in common, as parts of a sentence, and limits of the buffer also if they differ.

    Scheme and buffer are those of a BSS, by default of the first.
    """

    def common(*parts: Callable[[Plan], str]) -> list[str]:
        found = [[part(plan) for plan in plans] for part in parts]
        return [told[0] for told in found if told[0] and len(set(told)) == 1]

    return [*common(_bsss, _phy, partial(_scheme, bss=bss)), _buffers(plans, bss), *common(_tcp, _times)]


def scheme_name(scheme: Mapping[str, Any]) -> str:
    """The name of a plan's scheme; of one written in Python, the class."""
    return str(scheme.get("id", scheme["name"])).partition("@")[0]


def _bsss(plan: Plan) -> str:
    names = list(bsss_of(plan))
    if len(names) == 1:
        return ""
    channels = {channel for channel in channels_of(plan).values() if channel is not None}
    on = (
        f" on {'channel' if len(channels) == 1 else 'channels'} {', '.join(map(str, sorted(channels)))}"
        if channels
        else ""
    )
    return f"{len(names)} BSSs ({', '.join(names[:5])}{', …' if len(names) > 5 else ''}){on}"


def _phy(plan: Plan) -> str:
    changes = [event["station"] for event in plan["events"] if event["station"]]
    phy, stations = plan["bss"]["phy"], [*stations_of(plan), *changes]
    told = str(phy["name"])
    if phy.get("width_mhz") or any(neighbour.get("width_mhz") for neighbour in plan.get("neighbours", [])):
        told += f", {_range(widths_of(plan).values())} MHz"
    mcs = {station["mcs"] for station in stations if station.get("mcs") is not None}
    rates = {rate for s in stations for rate in (s.get("rate_mbps"), s.get("rate_down_mbps")) if rate is not None}
    parts = [f"MCS {_range(mcs)}"] if mcs else []
    parts += [f"{_range(rates)} Mbps"] if rates and not mcs else []
    adaptation = plan["bss"]["mac"]["rate_adaptation"]["name"]
    parts += [f"rates by {adaptation}"] if adaptation != "fixed" else []
    return ", ".join([told, *parts])


def _range(values: Iterable[float]) -> str:
    low, high = min(values := list(values)), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _ap(plan: Plan, bss: str) -> str:
    """The name of the BSS that is described: the given one, or the first."""
    names = bsss_of(plan)
    return bss if bss in names else next(iter(names))


def _tx_queue(plan: Plan, bss: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = part_of(plan, [_ap(plan, bss)])["bss"]["ap"]["tx_queue"]
    return found


def _scheme(plan: Plan, bss: str) -> str:
    tx_queue = _tx_queue(plan, bss)
    control = tx_queue["limit_controller"]
    where = f"of {_ap(plan, bss)}" if len(bsss_of(plan)) > 1 else "at the AP"
    return f"{scheme_name(tx_queue['scheme'])} {where}" + (f", limit by {control['name']}" if control else "")


def _buffers(plans: Sequence[Plan], bss: str) -> str:
    """The limit of the access point's buffer; if limits differ, with their schemes where each has one limit, else the least and the largest."""
    limits: dict[int, list[str]] = {}
    for queue in (_tx_queue(plan, bss) for plan in plans):
        name, schemes = scheme_name(queue["scheme"]), limits.setdefault(queue["limit_packets"], [])
        if name not in schemes:
            schemes.append(name)
    if len(limits) == 1:
        return f"{next(iter(limits)):,} packets"
    named = [name for names in limits.values() for name in names]
    if len(set(named)) < len(named) or len(limits) > MOST_LIMITS:
        return f"{min(limits):,} to {max(limits):,} packets"
    return ", ".join(f"{limit:,} packets with {' and '.join(names)}" for limit, names in limits.items())


def _tcp(plan: Plan) -> str:
    senders = [flow["tcp"] for flow in plan["flows"] if transport(flow["application"]["name"]) == "tcp"]
    controls = list(dict.fromkeys(tcp["congestion_control"]["name"] for tcp in senders))
    if not controls:
        return ""
    options = [
        name
        for name, there in (("SACK", "sack"), ("ECN", "ecn"))
        if all(tcp.get(there) not in (None, False) for tcp in senders)
    ]
    windows = {tcp["receiver_window_segments"] for tcp in senders}
    told = "/".join(controls) + (f" with {' and '.join(options)}" if options else "")
    return f"{told}, windows of {_range(windows)} segments"


def _times(plan: Plan) -> str:
    run = plan["run"]
    return f"{run['duration_s']:,.10g} s" + (f" after {run['warmup_s']:,.10g} s of warm-up" if run["warmup_s"] else "")
