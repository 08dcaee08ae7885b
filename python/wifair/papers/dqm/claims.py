"""Every sentence of the paper that states a result, and how it is tested.

Tolerances: ±10 % of a number ("very close", "very similar", "the same", "around the reference"), ±0.02 of a printed index,
and from 0.95 on an index counts as near 1, as in the study of `adaptive-pushout`.

Margins: "much", "substantially", "significantly" and "large" mean by 20 % at least, since two values that are both
within 10 % of a third may be 20 % apart. A result that the paper calls better on a whole figure ("can substantially
improve") must be better at each point, and better by that margin in the mean over N. A state without a comparison
("under-utilized", "alleviates") means by at least 10 %: below that, two values are "the same". A bare comparative
("fewer", "lower", "more smoothly") holds by any clear difference.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wifair.papers.claims import Claim, Formerly, Number, Point, Relation
from wifair.papers.dqm.measured import AFTER, BEFORE, Measured, Window
from wifair.papers.dqm.study import (
    BASE,
    BLIND,
    CASES,
    DELAY_REF_MS,
    DQM,
    FLOWS,
    LATE_UPLINKS,
    MIXES,
    PI_ECHO,
    RATE_CHANGE,
    UNIFORM,
    VARIOUS_RATES,
    Mix,
)
from wifair.stats import Values, ratio

# With one flow each way nothing is lost even under BASE, so claims on fairness and losses start above that.
SEVERAL = tuple(mix for mix in MIXES if mix.n > 2)
MOST = tuple(Mix(case, FLOWS[-1]) for case in CASES)
CLOSE = 0.1
SAME = 1.1
MUCH = 1.2


def _fewer(quantity: Callable[[Mix, str], Values]) -> Relation:
    """Less of a quantity under DQM than under BASE, from N = 4."""
    return Relation([Point(str(mix), quantity(mix, BASE) - quantity(mix, DQM)) for mix in SEVERAL])


def _more(quantity: Callable[[Mix, str], Values]) -> Relation:
    """More of a quantity under DQM than under BASE, from N = 4."""
    return Relation([Point(str(mix), quantity(mix, DQM) - quantity(mix, BASE)) for mix in SEVERAL])


def _much_better(quantity: Callable[[Mix, str], Values], *, lower_is_better: bool = False) -> Relation:
    """DQM better than BASE at each mix from N = 4, and much better on the mean over N."""

    def margin(dqm: Values, base: Values, factor: float) -> Values:
        return base - factor * dqm if lower_is_better else dqm - factor * base

    points = [Point(str(mix), margin(quantity(mix, DQM), quantity(mix, BASE), 1.0)) for mix in SEVERAL]
    for case in CASES:
        dqm, base = (
            np.mean([quantity(mix, scheme) for mix in SEVERAL if mix.case == case], axis=0) for scheme in (DQM, BASE)
        )
        points.append(Point(f"case {case}, mean over N", margin(dqm, base, MUCH)))
    return Relation(points)


def _up_over_down(m: Measured, part: str, window: Window) -> Number:
    up, down = (m.throughput(part, DQM, direction, window) for direction in ("up", "down"))
    return Number([Point("R_up / R_dn", ratio(up, down))], 1.0, CLOSE)


def _around_reference(m: Measured, part: str) -> list[Point]:
    return [Point("delay", m.mean(part, DQM, "sojourn_ms", AFTER) / DELAY_REF_MS)]


GENERAL: tuple[Claim[Measured], ...] = (
    Claim(
        "I-uplinks-get-more",
        "I",
        None,
        "The sending stations (UP_STAs) obtain substantially larger bandwidth than the receiving stations (DN_STAs), "
        "which tend to starve.",
        "BASE, every case from N = 4: mean throughput of an uplink flow over 1.2 times that of a downlink flow; at N = 20, "
        "half of an equal share of R_total over the mean throughput of a downlink flow.",
        "Mbps per flow",
        lambda m: Relation(
            [
                *(Point(str(x), m.up(x, BASE) - MUCH * m.down(x, BASE)) for x in SEVERAL),
                *(Point(f"{x}, starve", 0.5 * m.total(x, BASE) / x.n - m.down(x, BASE)) for x in MOST),
            ]
        ),
        formerly=Formerly(
            "reproduced",
            "BASE, every case from N = 4: mean throughput of an uplink flow over twice that of a downlink flow.",
            lambda m: Relation([Point(str(x), m.up(x, BASE) - 2.0 * m.down(x, BASE)) for x in SEVERAL]),
        ),
    ),
    Claim(
        "I-some-never-start",
        "I",
        None,
        "And sometimes could not start altogether.",
        "BASE, 10 + 10 flows, the downlinks 5 s after the uplinks: more than one half of a downlink flow a run gets no packet in "
        "200 s.",
        "flows beyond one half",
        lambda m: Relation([Point(str(MOST[0]), m.never_started(BASE) - 0.5)]),
        formerly=Formerly(
            "not reproduced",
            "BASE, Case 1, N = 20, all flows from 0 s: more than one half of a downlink flow a run gets no packet in 200 s.",
            lambda m: Relation([Point(str(MOST[0]), m.never_started(BASE, UNIFORM) - 0.5)]),
        ),
    ),
    Claim(
        "abstract-congestion-control",
        "Abstract, IV-A, V",
        None,
        "Simulation results demonstrate that this design with few states can significantly improve TCP congestion control.",
        "The share of the data that is lost in the AP's buffer: BASE over DQM at each N from 4, and over 1.2 times DQM on the "
        "mean over these N.",
        "difference of loss ratios",
        lambda m: _much_better(m.lost, lower_is_better=True),
        formerly=Formerly(
            "reproduced",
            "From N = 4: the share of the data that is lost in the AP's buffer, BASE over DQM.",
            lambda m: _fewer(m.lost),
        ),
    ),
    Claim(
        "abstract-fairness",
        "Abstract, IV-A",
        "3",
        "Hence, DQM can substantially improve fairness by regulating the channel access time of uplink/downlink flows.",
        "FI: DQM over BASE at each N from 4, and over 1.2 times BASE on the mean over these N.",
        "index",
        lambda m: _much_better(m.index),
        formerly=Formerly("reproduced", "From N = 4: FI, DQM over BASE.", lambda m: _more(m.index)),
    ),
    Claim(
        "abstract-utilization",
        "Abstract, V",
        "2",
        "This design with few states can significantly improve link utilization in WLANs.",
        "One bit rate: R_total, DQM over BASE at each N from 4, and over 1.2 times BASE on the mean over these N. At several bit "
        "rates R_total is judged by `4a-anomaly-alleviated`.",
        "Mbps",
        lambda m: _much_better(m.total),
        formerly=Formerly(
            "reproduced",
            "With several bit rates, after the uplinks' has fallen, 150 s to 200 s: R_total, DQM over 1.2 times BASE. (Before that, "
            "not reproduced: one bit rate, from N = 4, R_total, DQM over BASE.)",
            lambda m: Relation([Point("R_total", _total_after(m, DQM) - MUCH * _total_after(m, BASE))]),
        ),
    ),
)

UNIFORM_RATE: tuple[Claim[Measured], ...] = (
    Claim(
        "2-base-ratio-linear",
        "IV-A",
        "3",
        "The ones in Case 2 are more stable (the throughput ratio increases linearly with N_dn).",
        "BASE, Case 2: r² of the straight line through the ratio against N_dn, negative if it falls, is at least 0.95.",
        "r²",
        lambda m: Number([Point("case 2", m.gamma_line_fit(2, BASE))], 1.0, 0.05),
        formerly=Formerly(
            "reproduced",
            "BASE, Case 2: r² of the straight line through the ratio against N_dn is at least 0.95.",
            lambda m: Number([Point("case 2", np.abs(m.gamma_line_fit(2, BASE)))], 1.0, 0.05),
        ),
    ),
    Claim(
        "2-base-case-1-fluctuates",
        "IV-A",
        "3",
        "With BASE, the figures in Case 1 fluctuate a lot and are hardly predictable, while the ones in Case 2 are more "
        "stable.",
        "Roughness along N (mean absolute second difference) of the logarithm of the ratio: Case 1 over Case 2.",
        "roughness",
        lambda m: Relation([Point("ratio", m.roughness("gamma", 1, BASE) - m.roughness("gamma", 2, BASE))]),
    ),
    Claim(
        "2-dqm-more-stable",
        "IV-A",
        "2",
        "On the other hand, with DQM, the throughput performance is much more stable both in Case 1 and 2, even when N gets "
        "larger.",
        "Mean change of the logarithm of the ratio from one N to the next, up or down: BASE over 1.2 times DQM in either case.",
        "change of a logarithm",
        lambda m: Relation([Point(f"case {c}", m.gamma_steps(c, BASE) - MUCH * m.gamma_steps(c, DQM)) for c in CASES]),
        formerly=Formerly(
            "undetermined",
            "Roughness along N (mean absolute second difference) of the logarithm of the ratio: BASE over DQM in either case.",
            lambda m: Relation(
                [Point(f"case {c}", m.roughness("gamma", c, BASE) - m.roughness("gamma", c, DQM)) for c in CASES]
            ),
        ),
    ),
    Claim(
        "3-dqm-ratio-near-1",
        "IV-A",
        "3",
        "The bandwidth is fairly distributed between uplink and downlink stations, where the throughput ratio is very close "
        "to the ideal value 1.",
        "DQM, both cases, every N: the ratio is 1 ± 0.1.",
        "ratio",
        lambda m: Number([Point(str(x), m.gamma(x, DQM)) for x in MIXES], 1.0, CLOSE),
    ),
    Claim(
        "3-dqm-ratio-nearer-than-base",
        "IV-A",
        "3",
        "Hence, DQM can substantially improve fairness by regulating the channel access time of uplink/downlink flows.",
        "Distance of the logarithm of the ratio from 0: BASE over DQM at each N from 4, and over 1.2 times DQM on the mean "
        "over these N.",
        "logarithm of a ratio",
        lambda m: _much_better(lambda x, scheme: np.abs(np.log(m.gamma(x, scheme))), lower_is_better=True),
        formerly=Formerly(
            "reproduced",
            "From N = 4: the ratio is nearer to 1 than under BASE.",
            lambda m: _fewer(lambda x, scheme: np.abs(np.log(m.gamma(x, scheme)))),
        ),
    ),
    Claim(
        "3-base-drops-smoothly",
        "IV-A",
        "3",
        "As N increases, with BASE, FI drops more smoothly in Case 2 than in Case 1.",
        "Roughness of FI along N: Case 1 over Case 2. FI at N = 4 over that at N = 20 in either case.",
        "index",
        lambda m: Relation(
            [
                Point("roughness", m.roughness("index", 1, BASE) - m.roughness("index", 2, BASE)),
                *(Point(f"drop in case {c}", m.index(Mix(c, 4), BASE) - m.index(Mix(c, 20), BASE)) for c in CASES),
            ]
        ),
        formerly=Formerly(
            "reproduced",
            "Roughness of FI along N: Case 1 over Case 2.",
            lambda m: Relation([Point("roughness", m.roughness("index", 1, BASE) - m.roughness("index", 2, BASE))]),
        ),
    ),
    Claim(
        "3-base-index",
        "IV-A",
        "3",
        "But both achieve very low values around 0.203.",
        "BASE, N = 20, both cases: FI is 0.203 ± 0.02.",
        "index",
        lambda m: Number([Point(str(x), m.base_index(x.case)) for x in MOST], 0.203, 0.02),
        0.203,
    ),
    Claim(
        "3-dqm-index-near-1",
        "IV-A",
        "3",
        "Although fairness among flows in the same direction is not enforced in DQM, with uniform traffic, it can achieve "
        "the global fairness very close to 1.",
        "DQM, both cases, every N: FI is 0.95 or more.",
        "index",
        lambda m: Number([Point(str(x), m.index(x, DQM)) for x in MIXES], 1.0, 0.05),
    ),
    Claim(
        "3-fewer-timeouts",
        "IV-A",
        None,
        "Our scheme reduces bursty data losses (hence retransmissions and timeouts) by marking those flows that get more "
        "channel access.",
        "From N = 4: timeouts a flow, BASE over DQM.",
        "timeouts per flow",
        lambda m: _fewer(lambda x, scheme: m.per_flow(x, scheme, "timeouts")),
    ),
    Claim(
        "3-fewer-retransmissions",
        "IV-A",
        None,
        "Our scheme reduces bursty data losses (hence retransmissions and timeouts) by marking those flows that get more "
        "channel access.",
        "From N = 4: retransmissions a flow, BASE over DQM.",
        "segments per flow",
        lambda m: _fewer(lambda x, scheme: m.per_flow(x, scheme, "retransmissions")),
    ),
)

RATE_ADAPTATION: tuple[Claim[Measured], ...] = (
    Claim(
        "4a-similar-before",
        "IV-B",
        "4a",
        "Before t0, the average per-flow throughput of uplink and downlink flows is very similar.",
        "DQM, 50 s to 100 s: their ratio is 1 ± 0.1.",
        "ratio",
        lambda m: _up_over_down(m, RATE_CHANGE, BEFORE),
    ),
    Claim(
        "4a-uplinks-lower-after",
        "IV-B",
        "4a",
        'After that, the uplink flows converge to lower average throughput based on the "temporal fairness" rule.',
        "DQM, 150 s to 200 s: a downlink flow over an uplink flow, and an uplink flow's own loss since 50 s to 100 s.",
        "Mbps per flow",
        lambda m: Relation(
            [
                Point("downlink over uplink", _throughput(m, "down", AFTER) - _throughput(m, "up", AFTER)),
                Point("before over after", _throughput(m, "up", BEFORE) - _throughput(m, "up", AFTER)),
            ]
        ),
    ),
    Claim(
        "4a-temporal-fairness",
        "IV-B, III-B.2",
        "4a",
        '"Temporal fairness" between uplink and downlink flows is not violated.',
        "DQM, 150 s to 200 s: the channel access time of the uplink flows, with backoff and interframe spaces as in III-B.1 and "
        "as it truly was, over that of the downlink flows is 1 ± 0.1.",
        "ratio",
        lambda m: Number([Point("channel time", m.channel_time_ratio())], 1.0, CLOSE),
        formerly=Formerly(
            "not reproduced",
            "DQM, 150 s to 200 s: the air that the frames of an uplink flow's station take, without backoff, over that of a "
            "downlink flow's is 1 ± 0.1.",
            lambda m: Number([Point("airtime", m.airtime_ratio())], 1.0, CLOSE),
        ),
    ),
    Claim(
        "4a-anomaly-alleviated",
        "IV-B",
        "4a",
        'Hence, opportunistic scheduling alleviates the well known phenomenon of "performance anomaly" where all stations '
        "get the same throughput with the presence of low bit-rate senders.",
        "150 s to 200 s: throughput of all flows, DQM over 1.1 times BASE.",
        "Mbps",
        lambda m: Relation([Point("R_total", _total_after(m, DQM) - SAME * _total_after(m, BASE))]),
        formerly=Formerly(
            "reproduced",
            "150 s to 200 s: throughput of all flows, DQM over BASE.",
            lambda m: Relation([Point("R_total", _total_after(m, DQM) - _total_after(m, BASE))]),
        ),
    ),
    Claim(
        "4a-opportunistic-scheduling",
        "IV-B",
        "4a",
        "Hence, opportunistic scheduling alleviates the well known phenomenon of performance anomaly.",
        "150 s to 200 s: throughput of all flows, DQM over 1.1 times DQM that serves without looking at bit rates.",
        "Mbps",
        lambda m: Relation([Point("R_total", _total_after(m, DQM) - SAME * _total_after(m, BLIND))]),
    ),
    Claim(
        "IV-B-gain-mitigated",
        "IV-B",
        None,
        "If both uplink and downlink flows have various bit-rates, the gain of multi-user diversity will be mitigated, since we "
        "only utilize the average bit-rate of them.",
        "150 s to 200 s: R_total of DQM in terms of BASE's, with all uplinks slow over with as many slow stations spread over "
        "both directions.",
        "difference of ratios",
        lambda m: Relation([Point("gain", _gain_after(m, RATE_CHANGE) - _gain_after(m, VARIOUS_RATES))]),
    ),
    Claim(
        "5a-reference-falls",
        "IV-B",
        "5a",
        "After t0, the reference queue length decreases due to larger mean transmission time.",
        "DQM: q_ref from 50 s to 100 s over that from 150 s to 200 s.",
        "packets",
        lambda m: Relation(
            [Point("q_ref", _mean(m, "queue_ref_packets", BEFORE) - _mean(m, "queue_ref_packets", AFTER))]
        ),
    ),
    Claim(
        "5a-delay-stays",
        "IV-B",
        "5a",
        "Meanwhile, the queueing delay still fluctuates around the reference value.",
        "DQM, 150 s to 200 s: the mean wait in the queue is D_ref ± 10 %.",
        "ratio to D_ref",
        lambda m: Number(_around_reference(m, RATE_CHANGE), 1.0, CLOSE),
    ),
)

BOUNDED_DELAY: tuple[Claim[Measured], ...] = (
    Claim(
        "I-fixed-length-delays",
        "I, III-B.1",
        None,
        "AQM schemes controlling the queue length to a target value may lead to large queueing delay when the link capacity "
        "is low; hence, controlling average queueing delay is more effective.",
        "After the uplinks' rate has fallen, 150 s to 200 s: the mean wait under PI with ECE on ACKs, which holds 20 packets, "
        "over 1.2 times that under DQM.",
        "ms",
        lambda m: Relation(
            [
                Point(
                    "delay",
                    m.mean(RATE_CHANGE, PI_ECHO, "sojourn_ms", AFTER)
                    - MUCH * m.mean(RATE_CHANGE, DQM, "sojourn_ms", AFTER),
                )
            ]
        ),
    ),
)

VARYING_FLOWS: tuple[Claim[Measured], ...] = (
    Claim(
        "4b-downlinks-share",
        "IV-C",
        "4b",
        "Before t0, downlink flows fairly share the whole bandwidth.",
        "DQM, 50 s to 100 s: FI among the downlink flows is 0.95 or more.",
        "index",
        lambda m: Number([Point("FI", m.index_among(LATE_UPLINKS, DQM, "down", BEFORE))], 1.0, 0.05),
    ),
    Claim(
        "4b-converges",
        "IV-C",
        "4b",
        "After t0, uplink flows start traffic and the average throughput of uplink and downlink flows converges to the same "
        "value.",
        "DQM, 150 s to 200 s: their ratio is 1 ± 0.1.",
        "ratio",
        lambda m: _up_over_down(m, LATE_UPLINKS, AFTER),
    ),
    Claim(
        "5b-under-utilized-before",
        "IV-C",
        "5b",
        "When there is only downlink traffic, the link is under-utilized.",
        "DQM: throughput of all flows from 150 s to 200 s over 1.1 times that from 50 s to 100 s.",
        "Mbps",
        lambda m: Relation(
            [Point("R_total", m.total_in(LATE_UPLINKS, DQM, AFTER) - SAME * m.total_in(LATE_UPLINKS, DQM, BEFORE))]
        ),
        formerly=Formerly(
            "not reproduced",
            "DQM: throughput of all flows from 150 s to 200 s over that from 50 s to 100 s.",
            lambda m: Relation(
                [Point("R_total", m.total_in(LATE_UPLINKS, DQM, AFTER) - m.total_in(LATE_UPLINKS, DQM, BEFORE))]
            ),
        ),
    ),
    Claim(
        "5b-below-reference-before",
        "IV-C",
        "5b",
        "With smaller queueing delay and queue size than the reference values.",
        "DQM, 50 s to 100 s: D_ref over the mean wait, and q_ref over the queue.",
        "ms, packets",
        lambda m: Relation(
            [
                Point("delay", DELAY_REF_MS - m.mean(LATE_UPLINKS, DQM, "sojourn_ms", BEFORE)),
                Point("queue", _late(m, "queue_ref_packets", BEFORE) - _late(m, "queue_packets", BEFORE)),
            ]
        ),
    ),
    Claim(
        "5b-regulated-after",
        "IV-C",
        "5b",
        "After uplink flows start, the link becomes saturated and both queueing delay and queue size are controlled around "
        "the reference values.",
        "DQM, 150 s to 200 s: the mean wait is D_ref ± 10 %, the queue q_ref ± 10 %.",
        "ratio to the reference",
        lambda m: Number(
            [
                *_around_reference(m, LATE_UPLINKS),
                Point("queue", _late(m, "queue_packets", AFTER) / _late(m, "queue_ref_packets", AFTER)),
            ],
            1.0,
            CLOSE,
        ),
    ),
)

CLAIMS = GENERAL + UNIFORM_RATE + RATE_ADAPTATION + BOUNDED_DELAY + VARYING_FLOWS


def _throughput(m: Measured, direction: str, window: Window) -> Values:
    return m.throughput(RATE_CHANGE, DQM, direction, window)


def _mean(m: Measured, metric: str, window: Window) -> Values:
    return m.mean(RATE_CHANGE, DQM, metric, window)


def _total_after(m: Measured, scheme: str) -> Values:
    return m.total_in(RATE_CHANGE, scheme, AFTER)


def _gain_after(m: Measured, part: str) -> Values:
    return ratio(*(m.total_in(part, scheme, AFTER) for scheme in (DQM, BASE)))


def _late(m: Measured, metric: str, window: Window) -> Values:
    return m.mean(LATE_UPLINKS, DQM, metric, window)
