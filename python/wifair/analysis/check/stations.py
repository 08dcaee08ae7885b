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
        flow["label"]: (_most_segments(plan, flow), limit)
        for flow in plan.uploads
        if flow["tcp"]["small_queue"] is None
        and _meets_the_air_first(plan, flow)
        and (limit := plan.default_station_limit(flow)) is not None
    }
    smaller = {label: pair for label, pair in windows.items() if pair[0] > pair[1]}
    if smaller:
        window, limit = max(smaller.values())
        yield Finding(
            "station.tx_queue.limit_packets",
            f"{listed([*smaller])}: the station's own buffer drops before the AP's scheme matters; set station.tx_queue.limit_packets",
            f"a window of {window} segments against the default limit of {limit} packets",
            {"window_segments": window, "limit_packets": limit, "flows": len(smaller)},
        )


def _most_segments(plan: Plan, flow: dict[str, Any]) -> int:
    """The most segments that an upload has outstanding; 0 if it sends web documents, which are small."""
    application = flow["application"]
    if application["name"] not in ("bulk", "transfers"):
        return 0
    size = application["transfer_bytes"] or math.inf
    return int(min(plan.window_segments(flow), size / flow["tcp"]["mss_bytes"]))


def _meets_the_air_first(plan: Plan, flow: dict[str, Any]) -> bool:
    """Whether the air limits an upload, not the wire behind it."""
    own = flow["wire_rate_mbps"]
    return plan.rate_mbps(flow) <= (plan.wire_mbps("up") if own is None else float(own))
