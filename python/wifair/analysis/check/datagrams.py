"""The senders of a plan's UDP flows."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from wifair.analysis.check.capacity import Link, Sender
from wifair.analysis.check.plan import Plan

# IPv4 and UDP headers.
HEADER_BYTES = 28

# Schemes whose stations take turns; under others the packet that came first leaves first.
TURNS = ("mac80211", "fq-codel")

Flow = dict[str, Any]


def senders(plan: Plan) -> list[Sender]:
    """One sender per node and category that UDP flows use, with a link per station."""
    found: dict[tuple[str, str | None], dict[str, list[Flow]]] = defaultdict(lambda: defaultdict(list))
    for flow in plan.of("udp"):
        node = "AP" if flow["direction"] == "down" else flow["station"]
        found[node, plan.access(flow, ip_bytes(flow)).category][flow["station"]].append(flow)
    return [_sender(plan, node, category, list(links.values())) for (node, category), links in found.items()]


def packets_per_s(flow: Flow) -> float:
    """Datagrams that a flow offers, in the mean."""
    application = flow["application"]
    per_s = float(application["rate_mbps"] * 1e6 / (8 * application["payload_bytes"]))
    arrivals = application["arrivals"]
    if arrivals["name"] != "on-off":
        return per_s
    # A time on begins with a datagram: 1 + ⌊time / interval⌋ of them, geometrically distributed.
    on_ms, off_ms = float(arrivals["on_ms"]), float(arrivals["off_ms"])
    per_time_on = 1 / -math.expm1(-1e3 / (per_s * on_ms))
    return per_time_on * 1e3 / (on_ms + off_ms)


def offered_mbps(flow: Flow) -> float:
    """Mean rate of a flow's payload."""
    return packets_per_s(flow) * 8 * float(flow["application"]["payload_bytes"]) / 1e6


def ip_bytes(flow: Flow) -> int:
    """Bytes of a flow's IP packets."""
    return int(flow["application"]["payload_bytes"] + HEADER_BYTES)


def _sender(plan: Plan, node: str, category: str | None, links: Sequence[Sequence[Flow]]) -> Sender:
    aggregation = plan.plan["bss"]["mac"]["aggregation"] or {}
    return Sender(
        name=node if category is None else f"{node} ({category})",
        retry_limit=plan.plan["bss"]["mac"]["retry_limit_short"],
        queue_packets=plan.queue_packets(links[0][0], category),
        in_order=aggregation.get("fill") == "head-run" and plan.scheme != "mac80211",
        in_turns=node == "AP" and plan.scheme in TURNS,
        links=[_link(plan, flows) for flows in links],
    )


def _link(plan: Plan, flows: Sequence[Flow]) -> Link:
    """The packets for one station, at their mean size; those that the channel loses are sent again."""
    per_s = [packets_per_s(flow) for flow in flows]
    mean_bytes = sum(rate * ip_bytes(flow) for rate, flow in zip(per_s, flows, strict=True)) / sum(per_s)
    sent_again = 1 / max(1 - plan.error_rate(flows[0]), 0.01)
    return Link(sum(per_s) * sent_again, plan.access(flows[0], round(mean_bytes)))
