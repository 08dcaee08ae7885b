"""Claims of Sections 5.1, 6.2 and 7.1, Figs. 6, 9 and 10: five uplink and five downlink flows, and a new long flow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from wifair.papers.claims import Claim, Number, Point, Relation
from wifair.papers.evidence import above
from wifair.papers.spm_af_las.claims.margins import MUCH, NOTICEABLE
from wifair.papers.spm_af_las.measured import Measured
from wifair.papers.spm_af_las.study import (
    BUFFERS,
    LAS,
    LOSS_FREE_BUFFER,
    LOSS_FREE_WINDOW,
    SPM_AF,
    T_LAS,
    TAIL_DROP,
    UNFAIR_BUFFERS,
    UNMARKED,
    WINDOW,
)
from wifair.stats import Values, jain_rows, ratio

# "Especially when the buffer size is small": the text gives no limit; the middle of the range is taken.
SMALL_BUFFERS = tuple(b for b in BUFFERS if b <= 70)
LARGE_BUFFERS = tuple(b for b in BUFFERS if b >= 80)
# Smallest, middle and largest buffer, for claims that something falls with the buffer.
THREE = (10, 80, 150)
# The fairness index from which a rise is not visible.
FULL = 0.99
THE_TWO = (SPM_AF, LAS)
COMPARED = (TAIL_DROP, SPM_AF, LAS)


def falls(quantity: Callable[[int], Values], buffers: Sequence[int], name: str = "") -> list[Point]:
    """From each buffer to the next larger one."""
    return [Point(f"{name} {a} to {b} packets".strip(), quantity(a) - quantity(b)) for a, b in pairwise(buffers)]


def rising_steps(m: Measured, schemes: Sequence[str]) -> Values:
    """Share of the steps from buffer to buffer at which the index rises, among those that start below `FULL`."""
    steps = [(m.index(a, scheme), m.index(b, scheme)) for scheme in schemes for a, b in pairwise(BUFFERS)]
    room = np.array([a < FULL for a, _ in steps])
    rises = np.array([b > a for a, b in steps])
    return ratio((rises & room).sum(axis=0), room.sum(axis=0))


def unfairness_without_loss(m: Measured) -> Values:
    """The directions' difference in goodput without losses over that with losses, each as a share of the uplinks' goodput."""

    def relative(window: int) -> Values:
        up, down = (m.loss_free(window).flows("goodput_mbps", direction=d).mean(axis=1) for d in ("up", "down"))
        found: Values = (up - down) / up
        return found

    return relative(LOSS_FREE_WINDOW) / relative(WINDOW)


def more_with_small_buffers(m: Measured, scheme: str) -> Values:
    """Average gain over the small buffers minus that over the large ones."""
    return m.average_gain(scheme, SMALL_BUFFERS) - m.average_gain(scheme, LARGE_BUFFERS)


def improved(m: Measured, scheme: str) -> list[Point]:
    """Margins of the index above tail drop's: noticeable at each buffer, "much" on the mean."""
    pairs = [(m.index(b, scheme), m.index(b, TAIL_DROP)) for b in UNFAIR_BUFFERS]
    at_each = [
        Point(f"{scheme} at {b}", of - NOTICEABLE * without)
        for b, (of, without) in zip(UNFAIR_BUFFERS, pairs, strict=True)
    ]
    of, without = np.mean(pairs, axis=0)
    return [*at_each, Point(f"{scheme}, mean", of - MUCH * without)]


CLAIMS: tuple[Claim[Measured], ...] = (
    Claim(
        "6-uplinks-win",
        "5.1",
        "6",
        "The average throughput for the upstream flows is much higher than that for the downstream flows, especially for "
        "small buffer sizes.",
        "Mean goodput of an uplink flow − 1.3 times that of a downlink flow, at every buffer up to 100 packets.",
        "Mbps per flow",
        lambda m: Relation(
            [
                Point(f"{b} packets", m.mean(b, TAIL_DROP, "up") - MUCH * m.mean(b, TAIL_DROP, "down"))
                for b in UNFAIR_BUFFERS
            ]
        ),
    ),
    Claim(
        "6-alleviated",
        "5.1",
        "6",
        "The unfairness phenomenon is alleviated as the buffer size increases.",
        "Difference of the directions' mean goodputs: its fall from 10 to 80 and from 80 to 150 packets.",
        "Mbps per flow",
        lambda m: Relation(falls(lambda b: m.up_minus_down(b, TAIL_DROP), THREE)),
    ),
    Claim(
        "6-fair-at-150",
        "5.1",
        "6",
        "In fact, upstream flows and downstream flows achieve comparable throughput when the buffer size reaches 150 "
        "packets.",
        "Mean goodput of a downlink flow over that of an uplink flow at 150 packets, within 0.9 to 1.1.",
        "ratio",
        lambda m: Number(
            [Point("150 packets", ratio(m.mean(150, TAIL_DROP, "down"), m.mean(150, TAIL_DROP, "up")))], 1.0, 0.1
        ),
    ),
    Claim(
        "6-no-loss-at-150",
        "5.1",
        "6",
        "When the buffer size is 150 packets or more, all TCP senders can reach their maximum window size without losing "
        "any packets at the bottleneck queue.",
        "Loss ratio at 150 packets, below one in ten thousand.",
        "loss ratio",
        lambda m: Number([Point("150 packets", m.removed(150, TAIL_DROP))], 0.0, 1e-4),
    ),
    Claim(
        "6-losses-fall",
        "5.1",
        "6",
        "The main reason for the improved fairness is the lower packet loss rate.",
        f"The losses turned off at a buffer of {LOSS_FREE_BUFFER} packets, by windows of {LOSS_FREE_WINDOW} packets, which it "
        "holds all: the directions' difference in goodput, as a share of the uplinks', is less than half of that with losses. "
        "Such windows also bound the queue and the RTT, so that more than the losses is removed.",
        "half − share that is left",
        lambda m: Relation([Point(f"{LOSS_FREE_BUFFER} packets", 0.5 - unfairness_without_loss(m))]),
    ),
    Claim(
        "6-at-most-150",
        "5.1",
        "6",
        "The total number of packets present simultaneously at the AP's downstream queue is at most 150.",
        "The most packets in a buffer that has room for 300, looked at every 50 ms: 151 at most, of which one is in the MAC.",
        "packets",
        lambda m: Relation([Point("most", 151.5 - m.most_queued())]),
        150.0,
    ),
    Claim(
        "las-newcomer-blocks",
        "6.2",
        None,
        "For LAS scheduling, one possible drawback is that one newly arriving long-lived flow can block other existing "
        "long-lived flows.",
        "Four downlink flows of 100 s and a new one: mean goodput of the old ones in the next 20 s, tail drop − LAS.",
        "Mbps per flow",
        lambda m: Relation(
            [Point("old flows", m.newcomer(TAIL_DROP, "old").mean(axis=1) - m.newcomer(LAS, "old").mean(axis=1))]
        ),
    ),
    Claim(
        "las-unfair-to-long-flows",
        "6.2",
        None,
        "This nature of LAS scheduling causes severe unfairness among long-lived flows.",
        "The same scenario: fairness index of the five flows, tail drop and T-LAS − 1.3 times LAS.",
        "index",
        lambda m: Relation(
            [
                Point(f"{scheme} over {LAS}", jain_rows(m.newcomer(scheme)) - MUCH * jain_rows(m.newcomer(LAS)))
                for scheme in (TAIL_DROP, T_LAS)
            ]
        ),
    ),
    Claim(
        "t-las-fair-to-long-flows",
        "6.2",
        None,
        "T-LAS for short, can provide both fairness to short-lived flows as well as long-lived flows.",
        "The same scenario under T-LAS: fairness index of the five flows, at least 0.9.",
        "index",
        lambda m: Number([Point(T_LAS, jain_rows(m.newcomer(T_LAS)))], 1.0, 0.1),
    ),
    Claim(
        "9a-same-totals",
        "7.1",
        "9a",
        "Figure 9 (a) shows that the total throughput for all tested strategies is roughly the same.",
        "Goodput of all flows, SPM-AF and LAS over tail drop, within 0.9 to 1.1 at every buffer.",
        "ratio",
        lambda m: Number(
            [
                Point(f"{scheme} at {b} packets", m.total(b, scheme) / m.total(b, TAIL_DROP))
                for scheme in THE_TWO
                for b in BUFFERS
            ],
            1.0,
            0.1,
        ),
    ),
    Claim(
        "9a-spm-af-highest",
        "7.1",
        "9a",
        "Though the SPM-AF scheme achieves slightly higher throughput.",
        "Goodput of all flows, SPM-AF over tail drop and LAS, at every buffer.",
        "Mbps of payload",
        lambda m: Relation(above(m.total, BUFFERS, SPM_AF, (TAIL_DROP, LAS))),
    ),
    Claim(
        "9b-rises-with-the-buffer",
        "7.1",
        "9b",
        "Second, the fairness index improves as the buffer size is increased.",
        '"This result is consistent for most cases studied": share of the steps from buffer to buffer at which the index '
        f"rises, above one half. Cases are the steps of tail drop, SPM-AF and LAS that start below {FULL}: an index at 1 cannot "
        "rise.",
        "share of steps beyond one half",
        lambda m: Relation([Point("cases", rising_steps(m, COMPARED) - 0.5)], over="all steps with room to rise"),
    ),
    Claim(
        "9b-both-improve",
        "7.1",
        "9b",
        "Compared to the NewReno-DropTail combination, the proposed approaches improve the fairness index significantly.",
        "Fairness index, SPM-AF and LAS over 1.05 times tail drop at every buffer up to 100 packets, and over 1.3 times on the "
        "mean of these buffers.",
        "index",
        lambda m: Relation([point for scheme in THE_TWO for point in improved(m, scheme)]),
    ),
    Claim(
        "9b-most-with-small-buffers",
        "7.1",
        "9b",
        "Especially when the buffer size is small.",
        "Average gain over tail drop up to 70 packets − that from 80 packets on, SPM-AF and LAS.",
        "percentage points",
        lambda m: Relation(
            [Point(scheme, more_with_small_buffers(m, scheme)) for scheme in THE_TWO], over="the mean of the buffers"
        ),
    ),
    Claim(
        "9b-spm-af-gain",
        "7.1",
        "9b",
        "The average performance gains are 32% for the SPM-AF scheme.",
        "Mean over the buffers of the gain in the fairness index over tail drop, within a tenth of 32 %.",
        "%",
        lambda m: Number([Point("mean over the buffers", m.average_gain(SPM_AF, BUFFERS))], 32.0, 3.2),
        32.0,
    ),
    Claim(
        "9b-las-gain",
        "7.1",
        "9b",
        "And 44% for LAS scheduling.",
        "Mean over the buffers of the gain in the fairness index over tail drop, within a tenth of 44 %.",
        "%",
        lambda m: Number([Point("mean over the buffers", m.average_gain(LAS, BUFFERS))], 44.0, 4.4),
        44.0,
    ),
    Claim(
        "9b-gains-as-concluded",
        "8",
        "9b",
        "The proposed solutions improve the fairness index by 20-40% compared to the conventional DropTail queue mechanism.",
        "The same two gains, from 20 % to the 44 % that Section 7.1 itself has for LAS, with a tenth of each: within 18 to "
        "48.4 %.",
        "%",
        lambda m: Number([Point(scheme, m.average_gain(scheme, BUFFERS)) for scheme in THE_TWO], 33.2, 15.2),
    ),
    Claim(
        "9b-las-best",
        "7.1",
        "9b",
        "For the two proposed queue management approaches, LAS scheduling provides the best fairness.",
        "Fairness index, LAS over SPM-AF, at every buffer.",
        "index",
        lambda m: Relation(above(m.index, BUFFERS, LAS, [SPM_AF])),
    ),
    Claim(
        "9b-downstream-improves",
        "7.1",
        "9b",
        "As a result, the throughput of the downstream flows are improved.",
        "Mean goodput of a downlink flow, SPM-AF over tail drop, at every buffer up to 100 packets.",
        "Mbps per flow",
        lambda m: Relation(above(lambda b, s: m.mean(b, s, "down"), UNFAIR_BUFFERS, SPM_AF, [TAIL_DROP])),
    ),
    Claim(
        "9b-fewer-timeouts",
        "7.1",
        "9b",
        "Moreover, protecting crucial data packets from dropping can avoid the expensive time-out recovery.",
        "Timeouts of the downlink flows for each 1000 segments, SPM-AF without marks − SPM-AF, at every buffer up to 100 "
        "packets: the ACKs are filtered in both.",
        "timeouts per 1000 segments",
        lambda m: Relation(
            [
                Point(f"{b} packets", m.timeouts_per_segment(b, UNMARKED) - m.timeouts_per_segment(b, SPM_AF))
                for b in UNFAIR_BUFFERS
            ]
        ),
    ),
    Claim(
        "10-losses-fall",
        "7.1",
        "10",
        "With more space in the buffer, fewer packets are dropped.",
        "Share of the packets that the buffer removes: its fall from 10 to 80 and from 80 to 150 packets, for tail drop, "
        "SPM-AF and LAS.",
        "share of packets",
        lambda m: Relation(
            [point for scheme in COMPARED for point in falls(lambda b, s=scheme: m.removed(b, s), THREE, scheme)]  # type: ignore[misc]
        ),
    ),
    Claim(
        "10-spm-af-loses-most",
        "7.1",
        "10",
        "Figure 10 also shows that the SPM-AF scheme has higher loss than the other two schemes, since SPM-AF can "
        "proactively remove ACKs even before the buffer overflows.",
        "Share of the packets that the buffer removes, filtered ACKs included, SPM-AF over tail drop and LAS at every buffer.",
        "share of packets",
        lambda m: Relation(above(m.removed, BUFFERS, SPM_AF, (TAIL_DROP, LAS))),
    ),
)
