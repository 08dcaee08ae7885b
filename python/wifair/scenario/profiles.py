"""Profiles of hosts: named sets of TCP settings. Explicit keys next to `profile` override them."""

from __future__ import annotations

from typing import Any

# The TCP of Linux 6.12 as far as it is modelled, with default settings (docs/tcp.md lists what differs).
LINUX: dict[str, Any] = {
    # The default of Linux, Windows and Apple's systems (RFC 9438, section 1). HyStart by delay and ACK train, and growth of
    # 5 % per round trip until the first loss (net/ipv4/tcp_cubic.c).
    "congestion_control": {"name": "cubic", "slow_start": {"name": "hystart"}, "least_growth_percent": 5.0},
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
    # Linux counts every segment that an ACK delivers, in slow start and after a timeout too (RFC 3465 without a limit). Slow
    # start ends at the threshold; what an ACK delivers beyond counts in congestion avoidance (tcp_slow_start()). With the
    # limit of one that RFC 3465, section 2.3 has after a timeout, uploads whose ACKs an access point removes hardly grow again.
    "byte_counting": {
        "limit_segments": 2_048,
        "limit_after_timeout_segments": 2_048,
        "segment_by_segment": True,
    },
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
    # A sample per ACK, and the largest deviation of a round trip (tcp_rtt_estimator()).
    "rto": {"samples": "linux", "initial_ms": 1_000, "min_ms": 200, "granularity_ms": 200},
    # TCP small queues at stations, with the pacing shift of mac80211 (net/mac80211/main.c: 7).
    "small_queue": {},
}

# Windows 11 and Windows Server 2022 as far as documented: "What's new in Windows Server 2022" (HyStart++ and RACK), the output
# of `netsh int tcp show global` (no ECN, no timestamps, proportional rate reduction, no pacing), the template InternetCustom
# (Microsoft Networking Blog, "TCP Templates for Windows Server 2019", 2018). What is not documented is as in LINUX or in the
# RFCs.
WINDOWS: dict[str, Any] = {
    "congestion_control": {"name": "cubic", "slow_start": {"name": "hystart++"}},
    "sack": {},
    "ecn": False,
    "initial_window_segments": 10,
    "mss_bytes": 1460,
    "header_bytes": 40,
    "receiver_window_segments": 2_048,
    # RFC 3465; L is that of RFC 9406, 4.3.
    "byte_counting": {"limit_segments": 8, "limit_after_timeout_segments": 1},
    # DelayedAckFrequency, DelayedAckTimeout.
    "delayed_ack": {"segments": 2, "timeout_ms": 40},
    # Receive segment coalescing; how long it takes segments for is not documented.
    "receive_offload": {"within_us": 60},
    "loss_detection": {"name": "rack", "proportional_rate_reduction": True},
    # InitialRto, MinRto.
    "rto": {"initial_ms": 1_000, "min_ms": 300},
}

# macOS 15 and iOS 18 as far as modelled: bsd/netinet of xnu-11417.101.15.
APPLE: dict[str, Any] = {
    # tcp_cubic.c, with tcp_cubic_minor_fixes and tcp_cubic_rfc_compliant; no HyStart.
    "congestion_control": {"name": "cubic"},
    "sack": {},
    # tcp_output.c: ecn_setup_percentage is 100; asked for unless earlier connections have failed with it.
    "ecn": True,
    # TCP_CC_CWND_INIT_PKTS.
    "initial_window_segments": 10,
    # tcp_do_timestamps.
    "mss_bytes": 1448,
    "header_bytes": 52,
    # tcp_autorcvbuf_max: 2 MiB.
    "receiver_window_segments": 1_448,
    # tcp_cubic_ack_rcvd(): at most the initial window per ACK.
    "byte_counting": {"limit_segments": 10, "limit_after_timeout_segments": 10},
    # tcp_delack; tcp_cc_delay_ack().
    "delayed_ack": {"segments": 2, "timeout_ms": 100},
    # More ACKs are held back until the application reads; for how long depends on the application.
    "receive_offload": {"within_us": 60},
    # tcp_rack and tcp_enable_tlp; no proportional rate reduction.
    "loss_detection": {"name": "rack", "proportional_rate_reduction": False},
    # tcp_cubic_pre_fr(): the lesser of cwnd and the receiver's window.
    "loss_reduces": "window",
    # TCP_REXMTVAL and tcp_rexmt_slop: SRTT + 4 RTTVAR, at least 30 ms, + 200 ms. Here the slop is the least variation.
    "rto": {"initial_ms": 1_000, "min_ms": 230, "granularity_ms": 200},
}

# `today` is another name of `linux`.
PROFILES: dict[str, dict[str, Any]] = {"today": LINUX, "linux": LINUX, "windows": WINDOWS, "apple": APPLE}
