"""Readings of points that the paper leaves open, alone and jointly, and causes switched off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wifair.papers.arf_aware_tcp.measured import Measured
from wifair.papers.arf_aware_tcp.published import ARF_AWARE, NEWRENO
from wifair.papers.arf_aware_tcp.study import CAPPED, CONTROLS, RATES, UPLINK, Setting
from wifair.papers.readings import Alternative, Joint, Kind, Reading, View

_AWARE: Mapping[str, Sequence[object]] = {"control": (ARF_AWARE,)}
_BOTH: Mapping[str, Sequence[object]] = {"control": CONTROLS}
_MANY: Mapping[str, Sequence[object]] = {"case": (RATES.id,), "control": CONTROLS}
_CONTROL = "tcp.congestion_control"
_WINDOW = f"{_CONTROL}.window"
_WHICH_SETTING = "Which setting gives the NewReno columns?"
_WHAT_MOVES = "What does AIMD move below the highest rate?"
_LEARNS = "How does the sender learn the rate?"
_DISTANCE = "How far away are the servers?"


def _setting(name: str, setting: Setting, kind: Kind = Kind.READING) -> Alternative:
    """A reading with another setting in every cell of the paper."""
    paths = {
        "flows[0].direction": setting.direction,
        "flows[0].server_notified_of_link_rate": setting.direction == "down",
        "mac.rts_threshold_bytes": 0 if setting.rts else None,
        "tcp.mss_bytes": setting.packet_bytes,
        "phy.preamble": setting.preamble,
        "tcp.delayed_ack.segments": setting.ack_every,
        "ap.limit_packets": setting.buffer_packets,
        "station.tx_queue.limit_packets": setting.buffer_packets,
        "tcp.receiver_window_segments": setting.window_packets,
        "tcp.initial_ssthresh_segments": setting.window_packets,
    }
    return Alternative(name, _WHICH_SETTING, setting.id, paths, _BOTH, kind)


UPLINK_SETTING = _setting("uplink-setting", UPLINK)
UP = Alternative(
    "uplink",
    "Which way do the files go?",
    "up: each station sends and knows the rate of its radio",
    {"flows[0].direction": "up", "flows[0].server_notified_of_link_rate": False},
    _BOTH,
)
SCALED = Alternative(
    "arf-window-scaled",
    _WHAT_MOVES,
    "cwnd, which continues to grow; arf_cwnd = floor(cwnd / k) follows it",
    {_WINDOW: {"name": "scaled"}},
    _AWARE,
)
AIMD = Alternative("arf-window-aimd", _WHAT_MOVES, "arf_cwnd itself, without bound", {_WINDOW: {"name": "own"}}, _AWARE)
BOUNDED = Alternative(
    "cwnd-bounded",
    "Does cwnd grow beyond the window, as ns-2's does?",
    "it stops at the window of 20 packets",
    {"tcp.cwnd_beyond_receiver_window": False},
    _BOTH,
)
WIRE_20MS = Alternative("wire-20ms", _DISTANCE, "20 ms", {"wire.one_way_delay_ms": 20.0}, _BOTH)
WIRE_50MS = Alternative("wire-50ms", _DISTANCE, "50 ms", {"wire.one_way_delay_ms": 50.0}, _BOTH)
DELAYED = Alternative(
    "delayed-ack",
    "Delayed ACKs, as the text says?",
    "yes: an ACK for two segments, or after 100 ms",
    {"tcp.delayed_ack": {"segments": 2, "timeout_ms": 100}},
    _BOTH,
)
STANDARD = Alternative(
    "standard-cell", "Whose MAC and TCP?", "802.11 and the RFCs instead of ns-2's", {"dialect": "standard"}, _BOTH
)
PLAIN_NEWRENO = Alternative(
    "standard-newreno",
    "Whose NewReno?",
    "RFC 6582's",
    {"tcp.congestion_control": {"name": NEWRENO}},
    {"control": (NEWRENO,)},
)
PLAIN_OVER = Alternative(
    "standard-over",
    "Whose NewReno does ARF-aware TCP divide?",
    "RFC 6582's",
    {f"{_CONTROL}.over": {"name": NEWRENO}},
    _AWARE,
)
READINGS: tuple[Reading[Measured], ...] = (
    UPLINK_SETTING,
    _setting("uplink-setting-window-40", UPLINK._replace(window_packets=40)),
    UP,
    DELAYED,
    Alternative(
        "buffer-75",
        "How many packets does a queue hold?",
        "75",
        {"ap.limit_packets": 75, "station.tx_queue.limit_packets": 75},
        _BOTH,
    ),
    Alternative(
        "buffer-100",
        "How many packets does a queue hold?",
        "100",
        {"ap.limit_packets": 100, "station.tx_queue.limit_packets": 100},
        _BOTH,
    ),
    Alternative(
        "window-40",
        "How large is the window?",
        "40 packets",
        {"tcp.receiver_window_segments": 40, "tcp.initial_ssthresh_segments": 40},
        _BOTH,
    ),
    SCALED,
    AIMD,
    Alternative(
        "arf-window-avoidance",
        _WHAT_MOVES,
        "arf_cwnd itself, in congestion avoidance from the start",
        {_WINDOW: {"name": "own", "ssthresh": "lowered"}},
        _AWARE,
    ),
    Alternative(
        "arf-saved-halved",
        "What does a loss at the low rate do to the saved window?",
        "halves it",
        {_WINDOW: {**CAPPED, "saved_after_loss": "halved"}},
        _AWARE,
    ),
    Alternative(
        "restore-slow-start",
        "How does the saved window come back?",
        "by slow start up to it",
        {f"{_CONTROL}.restore": "slow-start"},
        _AWARE,
    ),
    Alternative(
        "polling-1s",
        _LEARNS,
        "it asks each second (SNMP)",
        {f"{_CONTROL}.polling": {"period_ms": 1_000, "phase_ms": 500}},
        _AWARE,
    ),
    Alternative(
        "polling-10s",
        _LEARNS,
        "it asks every ten seconds",
        {f"{_CONTROL}.polling": {"period_ms": 10_000, "phase_ms": 5_000}},
        _AWARE,
    ),
    BOUNDED,
    Alternative("table-5-100s", "How long is Table 5's run?", "100 s", {"run.duration_s": 100.0}, _MANY),
    Alternative("four-sessions", "Four or five sessions in Table 5?", "four", {"flows[0].count": 4}, _MANY),
    Alternative("wire-1ms", _DISTANCE, "1 ms", {"wire.one_way_delay_ms": 1.0}, _BOTH),
    WIRE_20MS,
    WIRE_50MS,
    Joint("standard", (STANDARD, PLAIN_NEWRENO, PLAIN_OVER)),
    View(
        "ip-bytes",
        "What does throughput count?",
        "IP bytes that arrive",
        lambda m: m.counting("throughput_ip_mbps"),
    ),
    Joint("uplink-setting+arf-window-scaled", (UPLINK_SETTING, SCALED)),
    Joint("uplink-setting+wire-20ms", (UPLINK_SETTING, WIRE_20MS)),
    Joint("uplink-setting+wire-50ms", (UPLINK_SETTING, WIRE_50MS)),
    Joint("uplink+delayed-ack", (UP, DELAYED)),
    Joint("cwnd-bounded+arf-window-scaled", (BOUNDED, SCALED)),
    _setting("uplink-setting-each-ack", UPLINK._replace(ack_every=1), Kind.ABLATION),
    Alternative(
        "server-not-told",
        "Is a server notified of the AP's link rate?",
        "it is not, as in any real network",
        {"flows[0].server_notified_of_link_rate": False},
        _AWARE,
        Kind.ABLATION,
    ),
)
