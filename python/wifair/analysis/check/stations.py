"""A rule on the stations' own buffers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from wifair.analysis.check.finding import Finding, listed
from wifair.analysis.check.plan import Plan


def buffers_smaller_than_windows(plan: Plan) -> Iterator[Finding]:
    """Uploads overflow their stations' buffers, whose limits are defaults: the AP's scheme is not what limits them."""
    windows = {
        flow["label"]: (_most_segments(plan, flow), limit, flow["tcp"]["small_queue"] is not None)
        for flow in plan.uploads
        if _meets_the_air_first(plan, flow) and (limit := plan.default_station_limit(flow)) is not None
    }
    smaller = {label: found for label, found in windows.items() if found[0] > found[1]}
    if smaller:
        most, limit, is_small = max(smaller.values())
        what = "small queues of up to" if is_small else "a window of"
        yield Finding(
            "station.tx_queue.limit_packets",
            f"{listed([*smaller])}: the station's own buffer drops before the AP's scheme matters; set station.tx_queue.limit_packets",
            f"{what} {most} segments against the default limit of {limit} packets",
            {"window_segments": most, "limit_packets": limit, "flows": len(smaller)},
        )


def _most_segments(plan: Plan, flow: dict[str, Any]) -> int:
    """The most segments that an upload leaves in its station's buffer; 0 if it sends web documents, which are small.

    They are those of its window, or what its small queue may hold at the rate that the air alone carries; of BSSs that hear each
    other, at an equal part of it.
    """
    application, tcp = flow["application"], flow["tcp"]
    if application["name"] not in ("bulk", "transfers"):
        return 0
    size = application["transfer_bytes"] or math.inf
    most = min(plan.window_segments(flow), size / tcp["mss_bytes"])
    if tcp["small_queue"] is not None:
        rate_mbps = plan.rate_mbps(flow) / (1 + plan.heard())
        most = min(most, rate_mbps * tcp["small_queue"]["limit_us"] / 8 / tcp["mss_bytes"])
    return int(most)


def _meets_the_air_first(plan: Plan, flow: dict[str, Any]) -> bool:
    """Whether the air limits an upload, not the wire behind it."""
    own = flow["wire_rate_mbps"]
    return plan.rate_mbps(flow) <= (plan.wire_mbps("up") if own is None else float(own))
