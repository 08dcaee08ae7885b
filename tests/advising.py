"""What tests of `wifair advise` share: networks."""

from __future__ import annotations

from typing import Any

# Three downloads fill a FIFO of 1,000 packets, behind which a ping waits.
BLOATED: dict[str, Any] = {
    "run": {"warmup_s": 1, "duration_s": 3},
    "phy": {"name": "802.11g"},
    "ap": {"scheme": "droptail", "limit_packets": 1000},
    "tcp": {"profile": "today"},
    "stations": [{"name": "laptop", "count": 3}],
    "flows": [
        {"name": "download", "station": "laptop", "count": 3, "direction": "down"},
        {"name": "ping", "station": "laptop", "direction": "up", "application": "ping"},
    ],
}
MODERN: dict[str, Any] = {
    **BLOATED,
    "phy": {"name": "802.11ax"},
    "mac": {"edca": {"classify": "dscp"}},
    "ap": {"scheme": "mac80211", "hardware": "firmware"},
    "flows": [*BLOATED["flows"], {"name": "call", "station": "laptop", "direction": "down", "application": "voip"}],
}
# Pages, a call and a ping.
PAGES: dict[str, Any] = {
    **MODERN,
    "flows": [
        {"name": "page", "station": "laptop", "direction": "down", "application": "web"},
        {"name": "call", "station": "laptop", "direction": "up", "application": "voip"},
        {"name": "ping", "station": "laptop", "direction": "up", "application": "ping"},
    ],
}
