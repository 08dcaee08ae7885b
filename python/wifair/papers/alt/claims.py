"""Every sentence of the paper that states a result, and how it is tested.

Tolerances, the same for every claim:

- A number that the text prints: ±10 %. A range: its ends, each by 10 %.
- "About", "around", "approximately", and a value that is read off a curve with points tens of packets apart (the thresholds
  of Figs. 2, 4 and 5): ±25 %. The paper's own readings of the same thresholds, 50 and 70 packets, 300 and 330, differ by up to
  40 % and 10 %. "Only about x % of the maximum" speaks of what is missing, so its tolerance is 25 % of that.
- "Significant", and "low compared with": by at least 10 %, since a smaller difference lies within the tolerance of a
  printed number.
- "Maximum throughput" is 95 % of the greatest; 0.9 and 0.99 are other readings.
- "High throughput" is (2)'s own bound, 1/(1 + b/a) = 91 %.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

import numpy as np

from wifair.papers.alt.measured import Measured
from wifair.papers.alt.study import (
    ALT,
    BUFFERS,
    BUSY,
    DECREASE,
    ENDS,
    FIG_2,
    FIG_4,
    FIG_5,
    FIG_6,
    FIG_7,
    INCREASE,
    ONE,
    PREMISE,
    Q_MAX,
    TEN,
    Buffer,
    Mix,
)
from wifair.papers.claims import Claim, Formerly, Number, Point, Relation
from wifair.stats import Values, ratio

PER_CENT_10 = 0.1
READ_OFF = 0.25
# "Significantly", "low compared with": by how much at least, of the value compared with.
SIGNIFICANT = 0.1
# The bound of (2), in percent.
BOUND = 100.0 / (1.0 + DECREASE / INCREASE)
# The largest fall of throughput between neighbouring buffers that counts as level, as a share of the maximum.
LEVEL = 0.02
# Of a former rule: the share of the measurement in which a limit may still move.
MOVING = 0.01

SMALL = tuple(packets for packets in BUFFERS if packets <= 30)
LARGE = tuple(packets for packets in BUFFERS if packets >= 100)
# The mixes at which every fixed buffer and ALT are run.
STATIC = (*FIG_2, TEN)


def _near(values: Values, target: float, share: float, label: str = "value") -> Number:
    return Number([Point(label, values)], target, share * target)


def _only_about(share: float, values: Values) -> Number:
    """A share of the maximum against the printed one, with a tolerance of a quarter of what is missing to 100 %."""
    return Number([Point("value", values)], share, READ_OFF * (1.0 - share))


def _over_all(mixes: Iterable[Mix], margin: Callable[[Mix], Values]) -> Relation:
    return Relation([Point(str(mix), margin(mix)) for mix in mixes])


def _never_falls(m: Measured, mixes: Iterable[Mix]) -> Relation:
    return Relation(
        [
            Point(
                f"{mix}, {small} to {large} packets",
                m.throughput(mix, large) - m.throughput(mix, small) + LEVEL * m.maximum(mix),
            )
            for mix in mixes
            for small, large in pairwise(BUFFERS)
        ]
    )


def _with_category_over_without(m: Measured, quantity: Callable[[Mix, Buffer], Values]) -> Relation:
    with_category = PREMISE._replace(own_category=True)
    return Relation(
        [
            Point(
                f"{packets} packets",
                (1.0 - SIGNIFICANT) * quantity(with_category, Q_MAX) - quantity(PREMISE, packets),
            )
            for packets in ENDS
        ]
    )


def _mean_timeouts(m: Measured, mix: Mix, buffers: tuple[int, ...]) -> Values:
    mean: Values = sum(m.timeouts(mix, packets) for packets in buffers) / len(buffers)  # type: ignore[assignment]
    return mean


_DISRUPTED = (
    "Issues of this sort are known to degrade TCP performance significantly as queuing and dropping of TCP ACKs disrupt the TCP "
    "ACK clocking mechanism."
)

SETUP: tuple[Claim[Measured], ...] = (
    Claim(
        "III-share-of-acks",
        "III",
        None,
        "While the data packets for the n flows have an aggregate n/(n+1) share of the transmission opportunities the TCP ACKs "
        "for the n flows have only a 1/(n+1) share.",
        "10 uploads, ACKs in the data's category, 30 and 400 packets: the AP makes 1/11 of the transmission attempts ± 10 %.",
        "share of the attempts",
        lambda m: Number(
            [Point(f"{packets} packets", m.ap_share(PREMISE, packets)) for packets in ENDS], 1 / 11, PER_CENT_10 / 11
        ),
        1 / 11,
    ),
    Claim(
        "III-acks-and-throughput",
        "III",
        None,
        _DISRUPTED,
        "10 uploads: 90 % of their total goodput with a category for ACKs over that without, at 30 and 400 packets.",
        "Mbps",
        lambda m: _with_category_over_without(m, m.upload_throughput),
    ),
    Claim(
        "III-acks-and-fairness",
        "III",
        None,
        _DISRUPTED,
        "10 uploads: 90 % of the fairness index (Jain's) of their goodput with a category for ACKs over that without, at 30 and "
        "400 packets.",
        "index",
        lambda m: _with_category_over_without(m, m.upload_fairness),
    ),
)

FIXED: tuple[Claim[Measured], ...] = (
    Claim(
        "2-maximum-without-uploads",
        "IV",
        "2",
        "The maximum throughput falls from 14Mbps to 1.25Mbps as the number of competing uploads increases from 0 to 10.",
        "1 download: the greatest throughput of any buffer is 14 Mbps ± 10 %.",
        "Mbps",
        lambda m: _near(m.maximum(ONE), 14.0, PER_CENT_10),
        14.0,
    ),
    Claim(
        "2-maximum-with-10-uploads",
        "IV",
        "2",
        "The maximum throughput falls from 14Mbps to 1.25Mbps as the number of competing uploads increases from 0 to 10.",
        "1 download, 10 uploads: the greatest throughput of any buffer is 1.25 Mbps ± 10 %.",
        "Mbps",
        lambda m: _near(m.maximum(BUSY), 1.25, PER_CENT_10),
        1.25,
    ),
    Claim(
        "2-falls-with-uploads",
        "IV",
        "2",
        "It can also be seen that the download throughput falls as the number of competing uploads increases.",
        "The greatest throughput, each number of uploads over the next.",
        "Mbps",
        lambda m: Relation(
            [
                Point(f"{few.up} over {more.up} uploads", m.maximum(few) - m.maximum(more))
                for few, more in pairwise(FIG_2)
            ]
        ),
    ),
    Claim(
        "2-never-falls",
        "IV",
        "2",
        "Similarly to wired networks, the throughput always increases monotonically with the buffer size, reaching a maximum "
        "above a threshold buffer size.",
        "From each buffer to the next the throughput falls by less than 2 % of the maximum, at every number of uploads.",
        "Mbps",
        lambda m: _never_falls(m, FIG_2),
    ),
    Claim(
        "2-requirements-vary",
        "IV",
        "2",
        "As a result, the BDP also varies significantly and this is reflected in buffering requirements.",
        "90 % of the BDP without uploads (the greatest throughput times 200 ms) over that with 10; the same of the smallest buffer "
        "with 95 % of the greatest throughput.",
        "packets",
        lambda m: Relation(
            [
                Point(label, (1.0 - SIGNIFICANT) * quantity(ONE) - quantity(BUSY))
                for label, quantity in (("BDP", m.bdp), ("threshold", m.threshold))
            ]
        ),
    ),
    Claim(
        "2-threshold-without-uploads",
        "IV",
        "2",
        "With no competing uploads the threshold buffer size above which the AP achieves maximum throughput is around 300 "
        "packets.",
        "The smallest buffer with 95 % of the greatest throughput is 300 packets ± 25 %.",
        "packets",
        lambda m: _near(m.threshold(ONE), 300.0, READ_OFF),
        300.0,
    ),
    Claim(
        "2-threshold-with-10-uploads",
        "IV",
        "2",
        "For 10 competing uploads this buffer size falls to approximately 70 packets.",
        "The smallest buffer with 95 % of the greatest throughput is 70 packets ± 25 %.",
        "packets",
        lambda m: _near(m.threshold(BUSY), 70.0, READ_OFF),
        70.0,
    ),
    Claim(
        "2-60-percent-at-the-bdp",
        "IV",
        "2",
        "With 10 uploads the maximum download throughput is 1.25Mbps, yielding a BDP of 31 packets. However, it can be seen "
        "that at this buffer size the achieved download throughput is only about 60% of the maximum.",
        "10 uploads, 31 packets (between 30 and 50): 60 % of the greatest throughput, ± 25 % of the missing 40 %.",
        "share of the maximum",
        lambda m: _only_about(0.6, m.relative_throughput(BUSY, 31.0)),
        0.6,
        formerly=Formerly(
            "not reproduced",
            "10 uploads, 31 packets (between 30 and 50): 60 % of the greatest throughput ± 10 % of that.",
            lambda m: _near(m.relative_throughput(BUSY, 31.0), 0.6, PER_CENT_10),
        ),
    ),
    Claim(
        "2-at-least-50-packets",
        "IV",
        "2",
        "A buffer size of at least 50 packets is required to achieve 100% throughput.",
        "10 uploads: the smallest buffer with 95 % of the greatest throughput over 50 packets. A lower bound: that it is 70 is "
        "another claim.",
        "packets",
        lambda m: Relation([Point("threshold over 50 packets", m.threshold(BUSY) - 50.0)]),
        50.0,
        formerly=Formerly(
            "reproduced",
            "10 uploads: the smallest buffer with 95 % of the greatest throughput is 50 packets ± 25 %.",
            lambda m: _near(m.threshold(BUSY), 50.0, READ_OFF),
        ),
    ),
    Claim(
        "2-more-than-the-bdp",
        "IV",
        "2",
        "Stochastic fluctuations in service rate can lead to early queue overflow or even TCP retransmission timeouts (RTOs) "
        "unless buffer provisioning over and above the BDP is used.",
        "10 uploads: the threshold over the BDP (the greatest throughput times 200 ms).",
        "packets",
        lambda m: Relation([Point("threshold over BDP", m.threshold(BUSY) - m.bdp_packets(BUSY))]),
    ),
    Claim(
        "2-75-percent-at-30-packets",
        "IV",
        "2",
        "A buffer size of 30 packets ensures latency of 200-300ms for up to 10 contending upload stations but when there are "
        "no contending uploads the throughput of a download flow is only about 75% of the maximum achievable.",
        "1 download, 30 packets: 75 % of the greatest throughput, ± 25 % of the missing 25 %.",
        "share of the maximum",
        lambda m: _only_about(0.75, m.relative_throughput(ONE, 30.0)),
        0.75,
        formerly=Formerly(
            "reproduced",
            "1 download, 30 packets: 75 % of the greatest throughput ± 10 % of that.",
            lambda m: _near(m.relative_throughput(ONE, 30.0), 0.75, PER_CENT_10),
        ),
    ),
    Claim(
        "2-latency-at-30-packets",
        "IV",
        "2",
        "A buffer size of 30 packets ensures latency of 200-300ms for up to 10 contending upload stations.",
        "30 packets, every number of uploads: the maximum smoothed RTT is 200 ms - 10 % to 300 ms + 10 %.",
        "ms",
        lambda m: Number([Point(str(mix), m.delay(mix, 30)) for mix in FIG_2], 255.0, 75.0),
        formerly=Formerly(
            "not reproduced",
            "30 packets, every number of uploads: the maximum smoothed RTT is 200 ms to 300 ms.",
            lambda m: Number([Point(str(mix), m.delay(mix, 30)) for mix in FIG_2], 250.0, 50.0),
        ),
    ),
    Claim(
        "2-maximum-at-300-packets",
        "IV",
        "2",
        "A fixed buffer size of 300 packets in this example ensures maximum throughput regardless of the number of contending "
        "uploads.",
        "300 packets: the throughput over 95 % of the greatest, at every number of uploads.",
        "Mbps",
        lambda m: _over_all(FIG_2, lambda mix: m.throughput(mix, 300) - m.full * m.maximum(mix)),
    ),
    Claim(
        "2-latency-without-uploads",
        "IV",
        "2",
        "When a fixed buffer size of 300 packets is used, the round-trip latency experienced by the download flow is about "
        "300ms with no uploads.",
        "1 download, 300 packets: the maximum smoothed RTT is 300 ms ± 25 %.",
        "ms",
        lambda m: _near(m.delay(ONE, 300), 300.0, READ_OFF),
        300.0,
        formerly=Formerly(
            "not reproduced",
            "1 download, 300 packets: the maximum smoothed RTT is 300 ms ± 10 %.",
            lambda m: _near(m.delay(ONE, 300), 300.0, PER_CENT_10),
        ),
    ),
    Claim(
        "2-latency-with-10-uploads",
        "IV",
        "2",
        "But rises to around 2s with 10 contending upload stations.",
        "1 download, 10 uploads, 300 packets: the maximum smoothed RTT is 2 s ± 25 %.",
        "ms",
        lambda m: _near(m.delay(BUSY, 300), 2000.0, READ_OFF),
        2000.0,
    ),
    Claim(
        "2-fills-buffers",
        "IV",
        "2",
        "TCP's congestion control algorithm probes for bandwidth until packet loss occurs and so flows will tend to fill buffers, "
        "regardless of their size.",
        "The maximum smoothed RTT of each buffer over that of the next smaller one, at every number of uploads.",
        "ms",
        lambda m: Relation(
            [
                Point(f"{mix}, {large} over {small} packets", m.delay(mix, large) - m.delay(mix, small))
                for mix in FIG_2
                for small, large in pairwise(BUFFERS)
            ]
        ),
    ),
    Claim(
        "3-timeouts-fall",
        "IV",
        "3",
        "It can be seen that the number of RTOs decreases as the buffer size is increased.",
        "RTOs of all flows: buffers of up to 30 packets over those of 100 and more, at every number of uploads.",
        "RTOs in 400 s",
        lambda m: Relation(
            [Point(str(mix), _mean_timeouts(m, mix, SMALL) - _mean_timeouts(m, mix, LARGE)) for mix in FIG_2],
            over="the means of the buffers of each group",
        ),
    ),
    Claim(
        "3-depends-on-conditions",
        "IV",
        "3",
        "The buffer size required to minimise RTOs is dependent on network conditions.",
        "The smallest buffer from which on the RTOs of all flows are at most two in 400 s above the fewest of any buffer: with 10 "
        "uploads over without.",
        "packets",
        lambda m: Relation([Point("10 over 0 uploads", m.fewest_timeouts_from(BUSY) - m.fewest_timeouts_from(ONE))]),
    ),
    Claim(
        "4-threshold-with-10-downloads",
        "IV",
        "4",
        "While a buffer size of 300 packets is needed to maximise throughput with a single download flow, this falls to "
        "around 100 packets when 10 download flows share the link.",
        "10 downloads: the smallest buffer with 95 % of the greatest throughput is 100 packets ± 25 %.",
        "packets",
        lambda m: _near(m.threshold(TEN), 100.0, READ_OFF),
        100.0,
    ),
    Claim(
        "4-multiplexing",
        "IV",
        "4",
        "The potential exists to lower the buffer size (thereby reducing latency) without loss of throughput.",
        "The smallest buffer with 95 % of the greatest throughput, 1 download over 10.",
        "packets",
        lambda m: Relation([Point("1 over 10 downloads", m.threshold(ONE) - m.threshold(TEN))]),
    ),
    Claim(
        "4-never-falls",
        "IV",
        "4",
        "Similarly to wired networks, the throughput always increases monotonically with the buffer size.",
        "From each buffer to the next the throughput of 1 and of 10 downloads falls by less than 2 % of the maximum.",
        "Mbps",
        lambda m: _never_falls(m, FIG_4),
    ),
)


def _worst_excess(m: Measured, packets: int) -> Values:
    """The shortfall of a fixed buffer at its worst mix, in percent: throughput below the bound of (2), or delay above ALT's."""
    excesses = [
        excess
        for mix in STATIC
        for excess in (
            BOUND - m.utilisation(mix, packets),
            100.0 * (ratio(m.delay(mix, packets), m.delay(mix, ALT)) - (1.0 + SIGNIFICANT)),
        )
    ]
    worst: Values = np.max(excesses, axis=0)
    return worst


def _reaches(name: str, mix: Mix, packets: float) -> Claim[Measured]:
    return Claim(
        name,
        "V-B",
        "5",
        "330, 100 and 70 packets are the approximate threshold buffer sizes above which the AP achieves maximum throughput "
        "for respectively 1 download only, 10 downloads and 1 download plus 10 upload flows. Using the ALT algorithm, the "
        "desired buffer limits are reached.",
        f"{mix}: the mean limit in the measurement is {packets:g} packets ± 25 %.",
        "packets",
        lambda m: _near(m.limit(mix), packets, READ_OFF),
        packets,
    )


def _keeps_throughput(figure: str, mixes: Iterable[Mix]) -> Claim[Measured]:
    mixes = tuple(mixes)
    return Claim(
        f"{figure}-throughput",
        "V-B",
        figure,
        "The ALT algorithm maintains high throughput efficiency across the entire range of operating conditions.",
        "Throughput in percent of that with 400 packets over 91 %, the bound of (2), at every point of the figure.",
        "percent",
        lambda m: _over_all(mixes, lambda mix: m.throughput_percentage(mix) - BOUND),
    )


def _lowers_delay(figure: str, mixes: Iterable[Mix]) -> Claim[Measured]:
    mixes = tuple(mixes)
    return Claim(
        f"{figure}-delay",
        "V-B",
        figure,
        "This is achieved while maintaining low delays compared with fixed buffers.",
        "The maximum smoothed RTT in percent of that with 400 packets is at most 90 %, at every point of the figure.",
        "percent",
        lambda m: _over_all(mixes, lambda mix: 100.0 * (1.0 - SIGNIFICANT) - m.delay_percentage(mix)),
        formerly=Formerly(
            "reproduced",
            "100 % over the maximum smoothed RTT in percent of that with 400 packets, at every point of the figure.",
            lambda m: _over_all(mixes, lambda mix: 100.0 - m.delay_percentage(mix)),
        ),
    )


def _multiplexes(figure: str, pairs: Iterable[tuple[Mix, Mix]]) -> Claim[Measured]:
    pairs = tuple(pairs)
    return Claim(
        f"{figure}-multiplexing",
        "V-B",
        figure,
        "The ALT algorithm is capable of exploiting the statistical multiplexing where feasible. In particular, significant "
        "lower delays are achieved with 10 download flows whilst maintaining high throughput efficiency.",
        "The maximum smoothed RTT in percent of that with 400 packets: 90 % of it with 1 download over it with 10, at every "
        f"point of the figure. The throughput is the subject of {figure}-throughput.",
        "percent",
        lambda m: Relation(
            [
                Point(f"{one}", (1.0 - SIGNIFICANT) * m.delay_percentage(one) - m.delay_percentage(ten))
                for one, ten in pairs
            ]
        ),
        formerly=Formerly(
            "reproduced",
            "The maximum smoothed RTT in percent of that with 400 packets, 1 download over 10.",
            lambda m: Relation(
                [Point(f"{one}", m.delay_percentage(one) - m.delay_percentage(ten)) for one, ten in pairs]
            ),
        ),
    )


ADAPTIVE: tuple[Claim[Measured], ...] = (
    Claim(
        "V-utilisation",
        "V-A (2)",
        None,
        "Assuming q converges, the link utilisation is lower bounded by 1/(1 + b/a).",
        "Throughput of ALT in percent of the greatest of any fixed buffer over 91 %, the bound, at every mix of Figs. 2 and 4.",
        "percent",
        lambda m: _over_all(STATIC, lambda mix: m.utilisation(mix, ALT) - BOUND),
        formerly=Formerly(
            "reproduced",
            "Share of the measurement in which a packet was queued, over the bound less 0.01, for the mixes of Fig. 5.",
            lambda m: _over_all(FIG_5, lambda mix: m.busy_share(mix) - (BOUND / 100.0 - MOVING)),
        ),
    ),
    _reaches("5-one-download", ONE, 330.0),
    _reaches("5-ten-downloads", TEN, 100.0),
    _reaches("5-ten-uploads", BUSY, 70.0),
    _keeps_throughput("6", (mix for some in FIG_6.values() for mix in some)),
    _lowers_delay("6", (mix for some in FIG_6.values() for mix in some)),
    _multiplexes("6", zip(FIG_6[1], FIG_6[10], strict=True)),
    _keeps_throughput("7", (mix for some in FIG_7.values() for mix in some)),
    _lowers_delay("7", (mix for some in FIG_7.values() for mix in some)),
    _multiplexes("7", zip(FIG_7[1, 0], FIG_7[10, 0], strict=True)),
    Claim(
        "VI-both",
        "VI, Abstract",
        None,
        "The use of static buffers in WLANs leads to either undesirable channel under utilisation or unnecessary high "
        "delays. We have proposed an adaptive algorithm that achieves both high throughput efficiency and low delays "
        "simultaneously.",
        "Each fixed buffer has a mix of Figs. 2 and 4 at which it gives less than 91 % of the greatest throughput or more than "
        "1.1 times ALT's maximum smoothed RTT: the greater excess of the two at the worst mix.",
        "percent",
        lambda m: Relation([Point(f"{packets} packets", _worst_excess(m, packets)) for packets in BUFFERS]),
        formerly=Formerly(
            "reproduced",
            "Throughput of ALT over that with 30 packets for 1 download, and delay with 400 packets over that of ALT with 10 uploads.",
            lambda m: Relation(
                [
                    Point("throughput", m.throughput(ONE, ALT) - m.throughput(ONE, 30)),
                    Point("delay", m.delay(BUSY, Q_MAX) - m.delay(BUSY, ALT)),
                ]
            ),
        ),
    ),
)

CLAIMS = SETUP + FIXED + ADAPTIVE
