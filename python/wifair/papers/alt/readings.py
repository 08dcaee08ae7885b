"""Readings: points that the paper leaves open, causes switched off, and explorations of ALT's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wifair.papers.alt.measured import Measured
from wifair.papers.alt.study import ALT, BUFFERS, ENDS, ONE_CATEGORY, Q_MAX, RTT_MS, UPLOADS
from wifair.papers.readings import Alternative, Joint, Kind, Reading, View

_DATA_PORT = "ap.categories.best_effort"
_CONTROLLER = f"{_DATA_PORT}.limit_controller"

# Cells by their coordinates.
_GRID: Mapping[str, tuple[object, ...]] = {
    "up": UPLOADS,
    "rtt_ms": (RTT_MS,),
    "acks": ("own category",),
    "buffer": (*BUFFERS, ALT),
}
# With the uploads of Section III, in both of their categories.
_EVERY_DOWN: Mapping[str, tuple[object, ...]] = {
    **_GRID,
    "down": (0, 1, 10),
    "acks": ("own category", "data's category"),
}
_ONE_DOWNLOAD = {**_GRID, "down": (1,)}
_BUSY = {**_ONE_DOWNLOAD, "up": (10,)}
_ALT_ALONE = {**_GRID, "up": (0, 10), "buffer": (ALT,)}

_DELAYED_ACK = Alternative(
    "delayed-ack",
    "Is every segment acknowledged?",
    "every second one",
    {"tcp.delayed_ack.segments": 2},
    _EVERY_DOWN,
)
_MIN_RTO = Alternative(
    "min-rto",
    "What is the least retransmission timeout?",
    "200 ms, as Linux has it, not 1 s (1 download, 0 to 5 uploads)",
    {"tcp.rto.min_ms": 200},
    {**_ONE_DOWNLOAD, "up": (0, 2, 5)},
)
_BYTE_COUNTING = Alternative(
    "byte-counting",
    "By what does the window grow?",
    "by the bytes acknowledged, one packet per RTT (RFC 3465; 1 download, 0 and 10 uploads)",
    {"tcp.byte_counting": {}},
    {**_ONE_DOWNLOAD, "up": (0, 10)},
)


def _without_sack(id: str, recovery: str, control: str) -> Alternative:
    """The loss recovery of a control without SACK; the text says "SACK extension"."""
    return Alternative(
        id,
        "How does TCP recover from losses?",
        f"as {recovery}, without SACK",
        {"tcp.congestion_control": {"name": control}, "tcp.sack": None},
        _EVERY_DOWN,
    )


def _dcf(packets: int) -> Alternative:
    """Section III's premise without 802.11e, with an AP's buffer of so many packets."""
    return Alternative(
        f"dcf-{packets}",
        'By what do stations contend in Section III\'s premise, "the basic 802.11 DCF"?',
        "by the DCF of 802.11g (CWmin 15, a DIFS), without 802.11e",
        {"mac.edca": None, "ap.categories": {}, "ap.limit_packets": packets},
        {"acks": ("data's category",), "buffer": (packets,)},
    )


def _delayed_ack_and(other: Alternative) -> Joint[Measured]:
    return Joint(f"{_DELAYED_ACK.id}+{other.id}", (replace(_DELAYED_ACK, only=other.only), other))


def _tuned(id: str, choice: str, settings: Mapping[str, float]) -> Alternative:
    """ALT with other parameters, for 1 download with 0 and 10 uploads."""
    return Alternative(
        id,
        "What do a, b and t do?",
        f"{choice} (1 download, 0 and 10 uploads)",
        {f"{_CONTROLLER}.{name}": value for name, value in settings.items()},
        {**_ALT_ALONE, "down": (1,)},
        Kind.EXPLORATION,
    )


_LEFT_OPEN: tuple[Reading[Measured], ...] = (
    _DELAYED_ACK,
    _without_sack("reno-without-sack", "Reno (RFC 5681)", "reno"),
    _without_sack("newreno-without-sack", "NewReno (RFC 6582)", "newreno"),
    Joint("dcf", tuple(map(_dcf, ENDS))),
    _MIN_RTO,
    _delayed_ack_and(
        replace(_MIN_RTO, choice="200 ms (both for 1 download, 0 and 2 uploads)", only={**_ONE_DOWNLOAD, "up": (0, 2)})
    ),
    _delayed_ack_and(_BYTE_COUNTING),
    Alternative(
        "from-above",
        "What is ALT's initial limit?",
        "q_max, not q_min (1 download, 0 and 10 uploads)",
        # From there the limit may fall for 370 s.
        {f"{_DATA_PORT}.limit_packets": Q_MAX, "run.warmup_s": Q_MAX},
        {**_ALT_ALONE, "down": (1,)},
    ),
    Alternative(
        "nothing-to-send",
        "When is a buffer idle?",
        "when no packet is queued and none is in service",
        {f"{_CONTROLLER}.idle": "nothing-to-send"},
        _ALT_ALONE,
    ),
    Alternative(
        "evict",
        "What becomes of packets above a lowered limit?",
        "they are dropped at once (1 download, 0 and 10 uploads)",
        {f"{_DATA_PORT}.lowered_limit": "evict"},
        {**_ALT_ALONE, "down": (1,)},
    ),
    View("threshold-90", "What is the maximum throughput?", "90 % of it, not 95 %", lambda m: m.with_full(0.90)),
    View("threshold-99", "What is the maximum throughput?", "99 % of it, not 95 %", lambda m: m.with_full(0.99)),
    View(
        "mean-rtt",
        'What are "latency" and the delay of Figs. 6 and 7?',
        "the mean of the smoothed RTT, not its maximum",
        lambda m: m.with_delay("srtt_mean_ms"),
    ),
)

# One station alone has the rate that a download has with ten uploads, without their contention.
_STEADY: Mapping[str, Any] = {
    "phy": {"name": "802.11b"},
    "station.rate_mbps": 2.0,
    "flows": [{"count": 1, "direction": "down", "name": "down"}],
}

_ABLATIONS: tuple[Reading[Measured], ...] = (
    Alternative(
        "one-category",
        "Do ACKs have a separate category?",
        "no, they wait and contend with the data (1 download, 10 uploads)",
        {"mac.edca.tcp_acks": ONE_CATEGORY["mac"]["edca"]["tcp_acks"]},
        _BUSY,
        Kind.ABLATION,
    ),
    Alternative(
        "steady-service",
        "Does the service rate fluctuate?",
        "hardly: 1 download without uploads, at 2 Mbps by 802.11b (in place of 10 uploads)",
        _STEADY,
        _BUSY,
        Kind.ABLATION,
    ),
)

_EXPLORATIONS: tuple[Reading[Measured], ...] = (
    _tuned("b-half", "b = 0.5 packets/s, b/a = 1/20", {"decrease_packets_per_s": 0.5}),
    _tuned("b-double", "b = 2 packets/s, b/a = 1/5", {"decrease_packets_per_s": 2.0}),
    _tuned(
        "a-below-growth",
        "a = 2.5 and b = 0.25 packets/s: a below the 5 packets/s by which V-A says that the window grows",
        {"increase_packets_per_s": 2.5, "decrease_packets_per_s": 0.25},
    ),
    _tuned("t-short", "t = 0.1 s", {"interval_s": 0.1}),
    _tuned("t-long", "t = 10 s", {"interval_s": 10.0}),
)

READINGS = (*_LEFT_OPEN, *_ABLATIONS, *_EXPLORATIONS)
