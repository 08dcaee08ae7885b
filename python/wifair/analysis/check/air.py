"""Rules on the air: what it carries, and who holds it."""

from __future__ import annotations

from collections.abc import Iterator

from wifair.analysis.check.finding import Finding
from wifair.analysis.check.plan import Plan


def wire_slower_than_the_air(plan: Plan) -> Iterator[Finding]:
    """The wired link is the bottleneck: the queue is at the server's end of it, not at the AP, so the scheme has no effect."""
    shared = [flow for flow in plan.downloads if flow["wire_rate_mbps"] is None]
    if not shared:
        return
    wire = float(plan.plan["wire"]["rate_mbps"])
    rates = {flow["label"]: plan.rate_mbps(plan.segment_bytes(flow), flow["station"], "down") for flow in shared}
    slowest = min(rates, key=lambda label: rates[label])
    if wire < rates[slowest]:
        yield Finding(
            "wire.rate_mbps",
            "the wired link is slower than the air: downlink packets queue before it, without a limit, and never at the AP",
            f"{wire:g} Mbps against {rates[slowest]:.3g} Mbps that the AP alone sends to the station of {slowest}",
            {"wire_mbps": wire, "air_mbps": rates[slowest]},
        )


def more_than_the_air_carries(plan: Plan) -> Iterator[Finding]:
    """UDP flows offer more than the air can carry."""
    share, parts = 0.0, []
    for flow in plan.of("udp"):
        spec = flow["application"]
        ip_bytes = int(spec["payload_bytes"] + 28)
        offered = spec["rate_mbps"] * ip_bytes / spec["payload_bytes"]
        own = offered / plan.rate_mbps(ip_bytes, flow["station"], flow["direction"])
        share += own
        parts.append(f"{flow['label']} {own:.3g}")
    if share > 1:
        text = "the datagrams at constant rates take more than the air has: most of the rest is lost"
        yield Finding(
            "flows.application.rate_mbps", text, f"shares of the air: {' + '.join(parts)} = {share:.3g}", {"air": share}
        )


def a_slow_station_holds_the_air(plan: Plan) -> Iterator[Finding]:
    """With an equal number of packets per station, the slow station uses most of the air (performance anomaly)."""
    carrying = {(flow["station"], flow["direction"]) for flow in plan.tcp}
    times = {way: plan.airtimes(1500)[way] for way in carrying}
    if len(times) < 2:
        return
    slowest, total = max(times, key=lambda way: times[way]), sum(times.values())
    if times[slowest] > 3 * min(times.values()):
        yield Finding(
            "station.rate_mbps",
            f"{slowest[0]} is slow: with as many packets as the others it holds {times[slowest] / total:.0%} of the air",
            f"{times[slowest]:.0f} µs a packet of 1500 bytes, {min(times.values()):.0f} µs for the fastest; "
            f"{times[slowest]:.0f} of {total:.0f} µs for one each of {len(times)}",
            {"slowest_us": times[slowest], "fastest_us": min(times.values()), "share": times[slowest] / total},
        )
