"""Profiles of hosts: named sets of TCP settings. Explicit keys next to `profile` override them."""

from __future__ import annotations

from typing import Any

# A recently installed host with default settings: the TCP of Linux 6.18 as far as it is modelled.
TODAY: dict[str, Any] = {
    # The default of Linux, Windows and Apple's systems (RFC 9438, section 1).
    "congestion_control": {"name": "cubic"},
    # RFC 2018, 6675, 2883; offered and accepted by default everywhere.
    "sack": {},
    # RFC 3168. Servers accept it by default (Linux, net.ipv4.tcp_ecn = 2), Apple's hosts ask for it; without a buffer that
    # marks it has no effect.
    "ecn": True,
    # RFC 6928.
    "initial_window_segments": 10,
    # With timestamps (RFC 7323, section 3), which are on by default, a segment of 1,500 bytes has 12 bytes of options and 1,448
    # of payload.
    "mss_bytes": 1448,
    "header_bytes": 52,
    # With window scaling (RFC 7323, section 2). Linux grows its receive buffer up to 6 MiB (net.ipv4.tcp_rmem), about half of
    # it window: 2,048 segments are 2.97 MB. No path here needs more.
    "receiver_window_segments": 2_048,
    # Linux counts every segment that an ACK delivers, in slow start and after a timeout too (RFC 3465 without a limit). With
    # the limit of one that RFC 3465, section 2.3 has after a timeout, uploads whose ACKs an access point removes hardly grow
    # again.
    "byte_counting": {"limit_segments": 2_048, "limit_after_timeout_segments": 2_048},
    # Linux: at the latest after 40 ms.
    "delayed_ack": {"segments": 2, "timeout_ms": 40},
    # Generic receive offload, and no ACK before the application reads. Linux hosts acknowledged every fifth to seventh segment
    # that came by a wire of 1 Gbit/s, which is 12 µs each (docs/emulate.md).
    "receive_offload": {"within_us": 60},
    # RACK-TLP (RFC 8985), Linux's default since 4.18, with proportional rate reduction (RFC 9937).
    "loss_detection": {"name": "rack", "proportional_rate_reduction": True},
    # Linux reduces cwnd, not FlightSize (RFC 9438, section 4.6).
    "loss_reduces": "cwnd",
    # Linux bounds the variation from below, not the timeout: SRTT + max(4 RTTVAR, 200 ms). That is G of RFC 6298, section 2.3.
    # Linux takes a sample per ACK and keeps the largest deviation of a round trip; one sample per round trip stands for that
    # here.
    "rto": {"initial_ms": 1_000, "min_ms": 200, "granularity_ms": 200},
}

PROFILES: dict[str, dict[str, Any]] = {"today": TODAY}
