"""Claims of Sections 3.1, 3.2.1 and 6.1: the arguments from which the experiments and the schemes follow."""

from __future__ import annotations

from wifair.papers.claims import Claim, Dropped, Number, Point, Relation
from wifair.papers.spm_af_las.claims.margins import NOTICEABLE
from wifair.papers.spm_af_las.measured import Measured
from wifair.papers.spm_af_las.study import (
    BOTH_WAYS_BUFFERS,
    BUFFERS,
    BY_ACKS,
    LOSING_ACKS,
    LOST,
    N_HOSTS,
    SPM_AF,
    TAIL_DROP,
    UNFAIR_BUFFERS,
    WINDOW,
)

# The AP's share of the opportunities among N hosts.
EQUAL = 1.0 / (N_HOSTS + 1)
# A window of data of its uplink flow, and the ACKs for one of its downlink flow.
MOST_AT_A_HOST = WINDOW + WINDOW // 2

CLAIMS: tuple[Claim[Measured], ...] = (
    Claim(
        "3.1-twice",
        "3.1",
        None,
        "The upstream flow receives twice as much bandwidth as each downstream flow.",
        "Two downlink flows and an uplink flow of datagrams, which always wait, as the argument supposes: goodput of the "
        "uplink flow over the mean of the downlink flows, within a tenth of 2.",
        "ratio",
        lambda m: Number([Point("datagrams", m.shares("datagrams", "up") / m.shares("datagrams", "down"))], 2.0, 0.2),
        2.0,
    ),
    Claim(
        "3.2.1-opportunities",
        "3.2.1",
        None,
        "Since the AP and the mobile stations share the wireless channel, each of them (on average) obtains a fraction "
        "1/(N+1) of the opportunities for packet transmission.",
        f"{N_HOSTS} hosts with an uplink and a downlink flow each, of datagrams that always wait and of TCP, buffers of 50 and 150 "
        f"packets: the AP's share of the frames sent, within a tenth of 1/{N_HOSTS + 1}.",
        "share of frames",
        lambda m: Number(
            [
                Point(f"{transport}, {b} packets", m.opportunities(transport, b))
                for transport in ("datagrams", "tcp")
                for b in BOTH_WAYS_BUFFERS
            ],
            EQUAL,
            0.1 * EQUAL,
        ),
    ),
    Claim(
        "3.2.1-half",
        "3.2.1",
        None,
        "However, the AP has to transmit half of the total packets onto the WLAN, and is thus a bottleneck.",
        "The same hosts with TCP, buffers of 50 and 150 packets: the AP's share of the packets that AP and hosts are given to "
        "send, within a tenth of a half.",
        "share of packets",
        lambda m: Number(
            [Point(f"{b} packets", m.share_to_send("tcp", b)) for b in BOTH_WAYS_BUFFERS],
            0.5,
            0.05,
        ),
    ),
    Claim(
        "3.2.1-bottleneck",
        "3.2.1",
        None,
        "The equal opportunity nature of DCF makes the downstream queue at the AP a bottleneck.",
        f"The same hosts with TCP, buffers of 50 and 150 packets: mean number of packets in the AP's buffer − {MOST_AT_A_HOST}, the most "
        "that can wait at a host (a window and its ACKs).",
        "packets",
        lambda m: Relation([Point(f"{b} packets", m.mean_queue("tcp", b) - MOST_AT_A_HOST) for b in BOTH_WAYS_BUFFERS]),
    ),
    Claim(
        "3.2.1-data-losses-cost",
        "3.2.1",
        None,
        "In either case, the data packet loss typically triggers reduction of the congestion window at the TCP sender, "
        "resulting in lower throughput.",
        f"One downlink flow alone: goodput without losses − 1.05 times that with {LOST:.0%} of its packets lost on the wire (and as "
        "many of its ACKs, which `3.2.1-ack-losses-do-not` judges).",
        "Mbps of payload",
        lambda m: Relation([Point("1 down", m.downlink(0.0) - NOTICEABLE * m.downlink(LOST))]),
    ),
    Claim(
        "3.2.1-ack-losses-do-not",
        "3.2.1",
        None,
        "Therefore, the loss of an ACK typically has negligible impact on the throughput.",
        "Five uplink flows alone, buffers of 10 to 40 packets, which can lose ACKs only: goodput of all over that at 150 packets, "
        "where none is lost, within 0.95 to 1.05.",
        "ratio",
        lambda m: Number(
            [Point(f"{b} packets", m.uplinks(b) / m.uplinks(BUFFERS[-1])) for b in LOSING_ACKS], 1.0, NOTICEABLE - 1.0
        ),
    ),
    Claim(
        "6.1-fewer-acks",
        "6.1",
        None,
        "One side effect of ACK filtering is the reduced frequency of ACK feedback.",
        "ACKs that reach the uplink senders per second, tail drop − SPM-AF with growth by ACKs, at every buffer up to 100 packets.",
        "ACKs/s",
        lambda m: Relation(
            [Point(f"{b} packets", m.ack_frequency(b, TAIL_DROP) - m.ack_frequency(b, BY_ACKS)) for b in UNFAIR_BUFFERS]
        ),
    ),
    Claim(
        "6.1-slower-growth",
        "6.1",
        None,
        "Slows down the growth of the sender's congestion window.",
        "Segments that an uplink flow has outstanding (mean window: rate times mean round trip), SPM-AF with growth by "
        "segments − with growth by ACKs, at every buffer up to 100 packets: the ACKs are filtered in both.",
        "segments",
        lambda m: Relation(
            [Point(f"{b} packets", m.mean_window(b, SPM_AF) - m.mean_window(b, BY_ACKS)) for b in UNFAIR_BUFFERS]
        ),
    ),
)

DROPPED = (
    Dropped(
        "3.1-unfair",
        "The per-node fairness scheme in this AP scenario results in per-flow unfairness.",
        "The datagrams of `3.1-twice`: goodput of the uplink flow − 1.05 times the mean of the downlink flows.",
        "reproduced",
        "It follows from `3.1-twice`, so that it cannot fail where that claim holds, and would be counted twice. By its first "
        "rule, the same with TCP instead of datagrams, it was not reproduced; but the section is about the MAC.",
    ),
)
