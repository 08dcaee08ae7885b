"""Readings of points that the paper leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wifair.papers.readings import Alternative, Joint, Kind, Reading, View
from wifair.papers.spm_af_las.measured import Measured
from wifair.papers.spm_af_las.study import (
    BY_ACKS,
    CAP_S_PER_FILE,
    FLOW_1,
    FLOW_2,
    LARGE_PACKETS,
    LAS,
    MEASURED_FROM_S,
    MEASURED_S,
    MSS_BYTES,
    SMALL_PACKETS,
    SPM_AF,
    T_LAS,
    UNMARKED,
    WEB_PACKETS,
)

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

PART = "part"
ARGUED = ("shares", "both-ways", "uplinks", "downlink", "queued", "loss-free", "newcomer")
SIMULATED: Mapping[str, Sequence[object]] = {PART: (*ARGUED, "up-down", "files", "web")}
OVER_TCP: Mapping[str, Sequence[object]] = {**SIMULATED, "transport": (None, "tcp")}
SHORT_AND_LONG: Mapping[str, Sequence[object]] = {PART: ("files", "web")}
WEB: Mapping[str, Sequence[object]] = {PART: ("web",)}
MEASURED: Mapping[str, Sequence[object]] = {PART: ("measured",)}
SPM: Mapping[str, Sequence[object]] = {"scheme": (SPM_AF,)}
SPM_ALL: Mapping[str, Sequence[object]] = {"scheme": (SPM_AF, UNMARKED)}
SPM_BUFFER: Mapping[str, Sequence[object]] = {"scheme": (SPM_AF, UNMARKED, BY_ACKS)}

SYN_LATE = Alternative(
    "syn-late",
    "When does ns-2's sink answer the SYN?",
    "after the delayed-ACK timer of 100 ms, as before February 2010",
    {"tcp.delayed_ack.syn": True},
    SHORT_AND_LONG,
)
RTO_6S = Alternative(
    "rto-6s",
    "What is ns-2's initial RTO?",
    "6 s, as before January 2006",
    {"tcp.rto.initial_ms": 6_000},
    SHORT_AND_LONG,
)
TIMERS_1S = Alternative(
    "timers-1s",
    "Which generation of ns-2's timers?",
    "the first: at least 1 s, in ticks of 100 ms",
    {"tcp.rto.min_ms": 1_000, "tcp.rto.tick_ms": 100},
    OVER_TCP,
)
THINK_1S = Alternative(
    "think-1s",
    "Is there time to think between Web documents?",
    "1 s on average",
    {"flows[0].application.think_mean_s": 1.0},
    WEB,
)
OLD = (SYN_LATE, RTO_6S, TIMERS_1S)


def of_the_web(part: Alternative) -> Alternative:
    """The same reading for the Web case alone."""
    return replace(part, only={**part.only, **WEB})


def of_packets(name: str, choice: str, more: int) -> Joint[Measured]:
    """The reading that n packets are n + `more` data segments, in files and documents."""

    def part(settings: Mapping[str, int], **only: str) -> Alternative:
        sizes = {f"flows[{key}": (packets + more) * MSS_BYTES for key, packets in settings.items()}
        concerned = {key: (value,) for key, value in only.items()}
        return Alternative(name, 'What does "10 packets" mean?', choice, sizes, concerned)

    first, second = (f"{i}].application.transfer_bytes" for i in (0, 1))
    web = {"0].application.min_bytes": WEB_PACKETS[0], "0].application.max_bytes": WEB_PACKETS[-1]}
    return Joint(
        name,
        (
            part({first: LARGE_PACKETS, second: SMALL_PACKETS}, part="files", mix="mixed"),
            part({first: SMALL_PACKETS}, part="files", mix="small only"),
            part({first: LARGE_PACKETS}, part="files", mix="large only"),
            part(web, part="web"),
        ),
    )


NINE = of_packets("nine-segments", "9 data segments: the SYN is one of the packets", -1)
ELEVEN = of_packets("eleven-segments", "11 data segments: packets numbered from 0 to 10", 1)
TO_LAST_ACK: View[Measured] = View(
    "to-last-ack",
    "When does a transfer end?",
    "when its sender has the last ACK",
    lambda m: m.with_notions(to_last_ack=True),
)
TRANSFERS: tuple[Reading[Measured], ...] = (
    NINE,
    ELEVEN,
    TO_LAST_ACK,
    Joint("nine-segments+to-last-ack", (NINE, TO_LAST_ACK)),
    Joint("eleven-segments+to-last-ack", (ELEVEN, TO_LAST_ACK)),
)


TCP: tuple[Reading[Measured], ...] = (
    Alternative(
        "standard", "Whose MAC and TCP?", "802.11 and the RFCs instead of ns-2's", {"dialect": "standard"}, SIMULATED
    ),
    SYN_LATE,
    RTO_6S,
    TIMERS_1S,
    Joint("syn-late+rto-6s", (SYN_LATE, RTO_6S)),
    Joint("old-ns-2", OLD),
    Alternative(
        "real-handshake", "Is a transfer's connection opened?", "SYN and FIN", {"tcp.handshake": "real"}, SHORT_AND_LONG
    ),
    Alternative(
        "no-syn", "The SYN", "none: data goes out at once", {"tcp.handshake": "none"}, SHORT_AND_LONG, Kind.ABLATION
    ),
)
NETWORK: tuple[Reading[Measured], ...] = (
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
    THINK_1S,
    Joint("old-ns-2+think-1s", (*map(of_the_web, OLD), THINK_1S)),
    Alternative(
        "hundred-files",
        "How many large files does each host load?",
        "100, as the paper says, where it prints numbers: with 10 and 40 hosts",
        {"flows[0].application.count": 100, "run.duration_s": CAP_S_PER_FILE * 100 * 20},
        {PART: ("files",), "mix": ("mixed",), "hosts": (10, 40)},
    ),
)
LEAST_SERVICE: tuple[Reading[Measured], ...] = (
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
        {PART: ("up-down",), "scheme": (LAS, T_LAS)},
    ),
)
SPM_BY_ACKS = Alternative(
    "spm-by-acks",
    "Growth by segments acknowledged",
    "growth by ACKs, as without SPM-AF",
    {"tcp.byte_counting": None},
    SPM_ALL,
    Kind.ABLATION,
)
MARKED: tuple[Reading[Measured], ...] = (
    Alternative(
        "spm-oldest",
        "Which packet makes room under SPM-AF?",
        "the oldest",
        {"ap.scheme.displaced": "oldest"},
        SPM_BUFFER,
    ),
    Alternative(
        "spm-newest",
        "Which packet makes room under SPM-AF?",
        "the newest",
        {"ap.scheme.displaced": "newest"},
        SPM_BUFFER,
    ),
    Alternative(
        "spm-retransmissions",
        "Which retransmissions do SPM-AF's senders mark?",
        "all of them",
        {"tcp.priority_marking.retransmissions": "always"},
        SPM,
    ),
    Alternative(
        "spm-beyond-ssthresh",
        "How does an ACK for many segments open the window?",
        "in slow start by all of them, beyond the threshold too",
        {"tcp.byte_counting.segment_by_segment": False},
        SPM_ALL,
    ),
    Alternative(
        "spm-limit-2",
        "How does an ACK for many segments open the window?",
        "by RFC 3465: at most 2 in slow start, 1 after a timeout",
        {
            "tcp.byte_counting.limit_segments": 2,
            "tcp.byte_counting.limit_after_timeout_segments": 1,
            "tcp.byte_counting.segment_by_segment": False,
        },
        SPM_ALL,
    ),
    SPM_BY_ACKS,
    Joint("spm-by-acks+think-1s", (of_the_web(SPM_BY_ACKS), THINK_1S)),
    Alternative(
        "spm-unmarked", "The marks", "none: the ACK filter alone", {"tcp.priority_marking": None}, SPM, Kind.ABLATION
    ),
)
WINDOW_11 = Alternative(
    "window-11",
    "How large is the measured TCP's window?",
    "11 segments, what Linux 2.4's default send buffer of 16 kB holds",
    {"tcp.receiver_window_segments": 11},
    MEASURED,
)
SHORT_PREAMBLE = Alternative(
    "short-preamble",
    "Which preamble had the measured network?",
    "the short one",
    {"phy.preamble": "short"},
    MEASURED,
)
EXPERIMENTS: tuple[Reading[Measured], ...] = (
    Alternative(
        "far-in-bursts",
        "How are the far host's frames lost?",
        "all of them for 50 ms, every 2.3 s",
        {"flows": [FLOW_1, FLOW_2], "events": BURSTS},
        {PART: ("measured",), "case": ("near and far",)},
    ),
    WINDOW_11,
    Alternative(
        "byte-counting",
        "How does the measured TCP's window grow?",
        "by the bytes acknowledged (RFC 3465)",
        {"tcp.byte_counting": {}},
        MEASURED,
    ),
    Alternative("sack", "Does the measured TCP use SACK?", "it does", {"tcp.sack": {}}, MEASURED),
    SHORT_PREAMBLE,
    Joint("window-11+short-preamble", (WINDOW_11, SHORT_PREAMBLE)),
)
GAIN_OF_MEANS: View[Measured] = View(
    "gain-of-means",
    "What is the average gain?",
    "the gain of the mean index",
    lambda m: m.with_notions(gain_of_means=True),
)
ACKS_PER_SEGMENT: View[Measured] = View(
    "acks-per-segment",
    "What is the frequency of ACKs?",
    "per segment that they acknowledge, not per second",
    lambda m: m.with_notions(acks_per_segment=True),
)
READINGS: tuple[Reading[Measured], ...] = (
    *TCP,
    *TRANSFERS,
    *NETWORK,
    *LEAST_SERVICE,
    *MARKED,
    *EXPERIMENTS,
    GAIN_OF_MEANS,
    ACKS_PER_SEGMENT,
)
