"""Rules on the air: what it carries, and who holds it."""

from __future__ import annotations

from collections.abc import Iterator

from wifair.analysis.check import datagrams
from wifair.analysis.check.capacity import largest_scale, utilisation
from wifair.analysis.check.finding import Finding
from wifair.analysis.check.plan import Plan


def wire_slower_than_the_air(plan: Plan) -> Iterator[Finding]:
    """The wired link is the bottleneck: the queue is before it, not at the AP or the stations, so the scheme has no effect.

    BSSs that hear each other share the air. The wire is slower only if it is slower than an equal part of it.
    """
    limit = plan.plan["wire"]["limit_packets"]
    limited = "without a limit" if limit is None else f"up to {limit}"
    for way, queued in (("down", "and never at the AP"), ("up", "and not at the stations")):
        wire = plan.wire_mbps(way)
        shared = [flow for flow in plan.tcp if flow["direction"] == way and flow["wire_rate_mbps"] is None]
        rates = {flow["label"]: plan.rate_mbps(flow) for flow in shared}
        slowest = min(rates, key=lambda label: rates[label], default="")
        sharing = 1 + plan.heard() if rates and wire < rates[slowest] else 1
        if rates and wire < rates[slowest] / sharing:
            part = f"; {sharing} BSSs share it" if sharing > 1 else ""
            yield Finding(
                "wire.rate_mbps" if way == "down" or plan.plan["wire"]["rate_up_mbps"] is None else "wire.rate_up_mbps",
                f"the wired link is slower than the air: {way}link packets queue before it, {limited}, {queued}",
                f"{wire:g} Mbps against {rates[slowest]:.3g} Mbps that the air alone carries for {slowest}{part}",
                {"wire_mbps": wire, "air_mbps": rates[slowest], "sharing": sharing},
            )


def more_than_the_air_carries(plan: Plan) -> Iterator[Finding]:
    """UDP flows offer more than the air carries, with nothing else on it.

    They fit if each of them loses less than 2 % of its packets in the steady state. Losses at the retry limit, beacons and
    errors that follow from positions are left out.
    """
    senders = datagrams.senders(plan)
    if not senders:
        return
    ratio, worst = utilisation(senders)
    if ratio > 1:
        scale = largest_scale(senders)
        offered = sum(datagrams.offered_mbps(flow) for flow in plan.of("udp"))
        most = max(min(link.access.full.packets, worst.queue_packets) for link in worst.links)
        yield Finding(
            "flows.application.rate_mbps",
            "the UDP flows offer more than the air carries: the rest is lost",
            f"the air carries {scale * offered:.3g} of {offered:.4g} Mbps ({scale:.3g} of each flow): {worst.name} gets 1/{ratio:.3g} of the "
            f"accesses that it needs, with at most {most:.0f} packets each",
            {"offered_mbps": offered, "carried_mbps": scale * offered, "air": 1 / scale},
        )


def a_slow_station_holds_the_air(plan: Plan) -> Iterator[Finding]:
    """With an equal number of packets per station, slow stations use most of the air (performance anomaly)."""
    times: dict[str, float] = {}
    for flow in plan.tcp:
        times[flow["station"]] = max(times.get(flow["station"], 0.0), plan.packet_us(flow, 1500))
    slowest = max(times, key=lambda station: times[station], default="")
    if len(times) < 2 or times[slowest] <= 3 * min(times.values()):
        return
    group = plan.group_of(slowest)
    slow = [station for station in times if plan.group_of(station) == group]
    held, total = sum(times[station] for station in slow), sum(times.values())
    who = f"the {len(slow)} stations of {group!r} together hold" if len(slow) > 1 else f"{slowest} holds"
    key = "mcs" if plan.station_called(slowest)["mcs"] is not None else "rate_mbps"
    yield Finding(
        f"station.{key}",
        f"{group} is slow: {who} {held / total:.0%} of the air with as many packets each".replace("%", " %"),
        f"{times[slowest]:.0f} µs per packet of 1500 bytes, {min(times.values()):.0f} µs for the fastest; "
        f"{held:.0f} of {total:.0f} µs if one packet for each of {len(times)} stations is sent",
        {"slowest_us": times[slowest], "fastest_us": min(times.values()), "share": held / total},
    )
