"""Rules on settings that have no effect."""

from __future__ import annotations

from collections.abc import Iterator

from wifair.analysis.check.finding import Finding, listed
from wifair.analysis.check.plan import Plan
from wifair.scenario.components import components, plan_node, properties, words


def window_never_fills_the_buffer(plan: Plan) -> Iterator[Finding]:
    """The flows' windows together are smaller than the AP's buffer: it never overflows, so its limit has no effect.

    A limit that the scheme brings is no finding: such schemes keep the queue short by other means.
    """
    datagrams = [flow for flow in plan.flows if flow not in plan.tcp]
    many = [flow for flow in datagrams if flow["application"]["name"] == "udp"]
    most, how = plan.most_queued()
    if not many and plan.tcp and most < plan.limit and not plan.has_limit_of_scheme:
        dropped = "" if "signal" in plan.tx_queue["scheme"] else ", and no packet is dropped there"
        yield Finding(
            "ap.limit_packets",
            f"the windows can never fill the AP's buffer: its limit is never reached{dropped}",
            f"{how}, below the limit of {plan.limit} packets",
            {"most_packets": most, "limit_packets": plan.limit},
        )


def acks_without_uploads(plan: Plan) -> Iterator[Finding]:
    """The scheme acts on ACKs, and no uplink TCP flow has ACKs in the AP's buffer."""
    of_acks = [scheme["name"] for scheme in components("schemes") if "ack" in scheme["decides_on"]]
    if plan.scheme in of_acks and not plan.uploads:
        yield Finding(
            "ap.scheme",
            f"{plan.scheme} works on the ACKs of uplink flows, and no flow of TCP goes up",
            f"0 of {len(plan.tcp)} flows of TCP go up",
            {"uplink_flows": 0, "tcp_flows": len(plan.tcp)},
        )


def marks_that_nobody_sets_or_hears(plan: Plan) -> Iterator[Finding]:
    """ECN needs both a buffer that marks and ECN-capable hosts; only one of them is configured. A profile's ECN is no choice."""
    listening = [flow for flow in plan.tcp if flow["tcp"]["ecn"]]
    marking = plan.scheme == "dqm" or plan.tx_queue["scheme"].get("signal", "drop") != "drop"
    values = {"ecn_flows": len(listening), "tcp_flows": len(plan.tcp)}
    if listening and not marking and plan.sets_tcp("ecn"):
        text = f"{len(listening)} flows are ECN-capable, but {plan.scheme} never marks: ecn has no effect"
        yield Finding("tcp.ecn", text, f"{len(listening)} of {len(plan.tcp)} flows of TCP, 0 buffers that mark", values)
    if plan.tcp and not listening and marking:
        text = f"{plan.scheme} could mark, but no flow is ECN-capable: it drops instead"
        yield Finding("tcp.ecn", text, f"0 of {len(plan.tcp)} flows of TCP have ecn", values)


def priorities_that_nobody_looks_at(plan: Plan) -> Iterator[Finding]:
    """Packets have a DSCP, but the MAC does not map it to access categories."""
    marked = [flow["label"] for flow in plan.flows if flow["application"].get("dscp") or flow["tcp"]["dscp"]]
    if marked and (plan.edca is None or plan.edca["classify"] == "best-effort"):
        classify = properties(plan_node("bss", "mac", "edca"))["classify"]
        default = classify["default"]
        allowed = ", ".join(f'"{name}"{" (default)" if name == default else ""}' for name in words(classify))
        text = f"{listed(marked)}: marked with a DSCP that nobody looks at; mac.edca.classify maps it: {allowed}"
        yield Finding("mac.edca", text, f"flows marked: {len(marked)}; categories: 1", {"marked_flows": len(marked)})
