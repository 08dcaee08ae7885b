"""Other readings of what the paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wifair.papers.readings import Alternative
from wifair.papers.spm_af_las.study import FLOW_1, FLOW_2, LAS, MEASURED_FROM_S, MEASURED_S, SPM_AF, T_LAS

# Another reading of the far host's channel: its frames are lost in bursts, all of them for a while and none otherwise.
# The interval is fitted to the same throughput of 1.44 Mbps.
BURST_S, BURST_INTERVAL_S = 0.05, 2.3
BURSTS = [
    {
        "at_s": round(i * BURST_INTERVAL_S + at, 3),
        "station": {"name": "flow-2", "frame_error_rate": {"data_down": rate}},
    }
    for i in range(int((MEASURED_FROM_S + MEASURED_S) / BURST_INTERVAL_S))
    for at, rate in ((0.0, 1.0), (BURST_S, 0.0))
]

SIMULATED: Mapping[str, Sequence[object]] = {"part": ("up-down", "newcomer", "files", "web")}
SHORT_AND_LONG: Mapping[str, Sequence[object]] = {"part": ("files", "web")}

ALTERNATIVES: tuple[Alternative, ...] = (
    Alternative(
        "standard", "Whose MAC and TCP?", "802.11 and the RFCs instead of ns-2's", {"dialect": "standard"}, SIMULATED
    ),
    Alternative(
        "rts", "Are MAC parameters at ns-2's default?", "RTS on every frame", {"mac.rts_threshold_bytes": 0}, SIMULATED
    ),
    Alternative("wire-50ms", "How long is the wire?", "50 ms each way", {"wire.one_way_delay_ms": 50.0}, SIMULATED),
    Alternative(
        "buffer-20",
        "How large is the buffer in Sections 5.2 and 7.2?",
        "20 packets",
        {"ap.limit_packets": 20},
        SHORT_AND_LONG,
    ),
    Alternative(
        "buffer-100",
        "How large is the buffer in Sections 5.2 and 7.2?",
        "100 packets",
        {"ap.limit_packets": 100},
        SHORT_AND_LONG,
    ),
    Alternative(
        "handshake", "Is a transfer's connection opened?", "SYN and FIN", {"tcp.handshake": "real"}, SHORT_AND_LONG
    ),
    Alternative(
        "think-1s",
        "Is there time to think between Web documents?",
        "1 s on average",
        {"flows[0].application.think_mean_s": 1.0},
        {"part": ("web",)},
    ),
    Alternative(
        "las-served",
        "What does LAS key a packet by?",
        "packets of its flow that were served",
        {"ap.scheme.key": "served"},
        {"scheme": (LAS, T_LAS)},
    ),
    Alternative(
        "las-arrived",
        "What does LAS key a packet by?",
        "packets of its flow that arrived",
        {"ap.scheme.key": "arrived"},
        {"scheme": (LAS, T_LAS)},
    ),
    Alternative(
        "las-own-acks",
        "What service does an ACK stand for under LAS?",
        "itself: one packet",
        {"ap.scheme.key": "served", "ap.scheme.acks": "own"},
        {"part": ("up-down",), "scheme": (LAS, T_LAS)},
    ),
    Alternative(
        "spm-oldest",
        "Which packet makes room under SPM-AF?",
        "the oldest",
        {"ap.scheme.displaced": "oldest"},
        {"scheme": (SPM_AF,)},
    ),
    Alternative(
        "spm-newest",
        "Which packet makes room under SPM-AF?",
        "the newest",
        {"ap.scheme.displaced": "newest"},
        {"scheme": (SPM_AF,)},
    ),
    Alternative(
        "spm-limit-2",
        "May an ACK of SPM-AF's senders open the window by more than RFC 3465 allows?",
        "L = 2, and 1 after a timeout",
        {"tcp.byte_counting.limit_segments": 2, "tcp.byte_counting.limit_after_timeout_segments": 1},
        {"scheme": (SPM_AF,)},
    ),
    Alternative(
        "far-in-bursts",
        "How are the far host's frames lost?",
        "all of them for 50 ms, every 2.3 s",
        {"flows": [FLOW_1, FLOW_2], "events": BURSTS},
        {"part": ("measured",), "case": ("near and far",)},
    ),
    Alternative("sack", "Does the measured TCP use SACK?", "it does", {"tcp.sack": {}}, {"part": ("measured",)}),
    Alternative(
        "short-preamble",
        "Which preamble had the measured network?",
        "the short one",
        {"phy.preamble": "short"},
        {"part": ("measured",)},
    ),
)
