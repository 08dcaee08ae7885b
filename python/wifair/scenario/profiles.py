"""Profiles of hosts: named sets of TCP settings. Explicit keys next to `profile` override them."""

from __future__ import annotations

from typing import Any

# A recently installed host with default settings.
TODAY: dict[str, Any] = {
    # The default of Linux, Windows and Apple's systems (RFC 9438, section 1).
    "congestion_control": {"name": "cubic"},
    # RFC 2018, 6675, 2883; offered and accepted by default everywhere.
    "sack": {},
    # RFC 3168. Servers accept it by default (Linux, net.ipv4.tcp_ecn = 2), Apple's hosts ask for it; without a buffer that marks
    # it has no effect.
    "ecn": True,
    # RFC 6928.
    "initial_window_segments": 10,
    # With timestamps (RFC 7323, section 3), which are on by default, a segment of 1,500 bytes has 12 bytes of options and 1,448 of
    # payload.
    "mss_bytes": 1448,
    "header_bytes": 52,
    # With window scaling (RFC 7323, section 2). Linux grows its receive buffer up to 6 MiB (net.ipv4.tcp_rmem), about half of it
    # window: 2,048 segments are 2.97 MB. No path here needs more.
    "receiver_window_segments": 2_048,
    # Linux counts every segment that an ACK delivers, in slow start too (RFC 3465 without a limit), but none that the receiver had
    # told of before. The cumulative ACKs after a timeout cover many such, hence the limit that RFC 3465, section 2.3 has for them.
    "byte_counting": {"limit_segments": 2_048, "limit_after_timeout_segments": 1},
    # Linux: at the latest after 40 ms.
    "delayed_ack": {"segments": 2, "timeout_ms": 40},
    # RFC 6298 with the smallest timeout of Linux.
    "rto": {"initial_ms": 1_000, "min_ms": 200},
}

# The TCP of Linux 6.18 with default settings, as far as it is modelled.
LINUX: dict[str, Any] = TODAY | {
    # RFC 8985, with RFC 9937.
    "loss_detection": {"name": "rack", "proportional_rate_reduction": True},
    # Linux reduces cwnd, not FlightSize.
    "loss_reduces": "cwnd",
    # Linux bounds the variation from below, not the timeout: SRTT + max(4 RTTVAR, 200 ms). That is G of RFC 6298, section 2.3.
    # Linux takes a sample per ACK and keeps the largest deviation of a round trip; one sample per round trip stands for that here.
    "rto": {"initial_ms": 1_000, "min_ms": 200, "granularity_ms": 200},
}

PROFILES: dict[str, dict[str, Any]] = {"today": TODAY, "linux": LINUX}
