"""Dialects: a simulator's deviations from the standard, as default settings that a scenario's own keys override.

`standard` has no deviations. `ns-2` sets what ns-2.34 and ns-2.35 do differently for 802.11b, as found by reading and
running them. RTS stays off: RTS on every frame is a default of ns-2's configuration, not of its model, and is set with
`mac.rts_threshold_bytes = 0`. Capture has no effect but on stations with positions. Not covered: propagation delay, and
NAVs rounded to the microsecond (`docs/peers.md`).
"""

from __future__ import annotations

from typing import Any

NS_2: dict[str, Any] = {
    # 30 bytes of MAC header and 4 of FCS, no LLC header.
    "phy": {"mac_header_bytes": 30, "llc_bytes": 0, "fcs_bytes": 4},
    "mac": {
        # Every frame backs off, drawn from 0 to CW - 1; there is no immediate access to an idle medium.
        "immediate_access": False,
        "arrival_within_ifs": "backoff",
        "backoff_range": "exclusive",
        # Bystanders of a collision wait EIFS (364 us) plus DIFS, and so do its senders that hear the end of another frame.
        "eifs_plus_difs": True,
        "colliders_wait_eifs": True,
        # A sender gives up SIFS (10 us) + ACK or CTS (304 us) + 4 us after its frame, and if the medium is idle then, its
        # backoff begins at once: 318 us after the frame, which is 268 us and a DIFS.
        "ack_timeout_us": 268.0,
        "cts_timeout_us": 268.0,
        "capture_db": 10.0,
        "retry_limit_short": 7,
        "retry_limit_long": 4,
    },
    # The queue refuses when length + 1 >= limit: limit - 1 packets wait, and one more is in the MAC.
    "ap": {"limit_counts_in_service": True},
    "station": {"tx_queue": {"limit_counts_in_service": True}},
    "tcp": {
        "initial_window_segments": 2,
        "limited_transmit": True,
        # cwnd_ grows without regard to window_, which bounds what is sent.
        "cwnd_beyond_receiver_window": True,
        # A loss and a timeout halve min(cwnd_, window_), not FlightSize.
        "loss_reduces": "window",
        # The ACK that ends fast recovery opens the window, too.
        "recovery_end_grows": True,
        # Every timeout halves what the window is then, so a second in a row leaves two segments of threshold.
        "repeated_timeout_lowers_ssthresh": True,
        # NewReno's recovery ends with the threshold as window (`exit_recovery_fix_` is off). Another control replaces this.
        "congestion_control": {"name": "newreno", "exit_window": "ssthresh"},
        # `syn_` is on: a segment of 40 bytes opens the connection. Sinks answer it at once since February 2010; before, the
        # delayed ones made it wait as any segment (`delayed_ack.syn`).
        "handshake": "ns-2",
        "delayed_ack": {"timeout_ms": 100},
        "rto": {
            "initial_ms": 3_000,
            "min_ms": 200,
            "max_ms": 60_000,
            "tick_ms": 10,
            "restarts_on_fast_retransmit": True,
        },
    },
}

DIALECTS: dict[str, dict[str, Any]] = {"standard": {}, "ns-2": NS_2}
