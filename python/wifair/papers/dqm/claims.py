"""Every sentence of the paper that states a result, and how it is tested.

Tolerances: ±10 % of a number ("very close", "very similar", "the same", "around the reference"), ±0.02 of a printed index,
and from 0.95 on an index counts as near 1, as in the study of `adaptive-pushout`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from wifair.claims import Claim, Number, Point, Relation
from wifair.papers.dqm.measured import AFTER, BEFORE, Measured, Window
from wifair.papers.dqm.study import (
    BASE,
    CASES,
    DELAY_REF_MS,
    DQM,
    FLOWS,
    LATE_UPLINKS,
    MIXES,
    RATE_CHANGE,
    Mix,
)
from wifair.stats import Values, ratio

# With one flow each way nothing is lost even under BASE: what is said of fairness and losses is said of more.
SEVERAL = tuple(mix for mix in MIXES if mix.n > 2)
MOST = tuple(Mix(case, FLOWS[-1]) for case in CASES)
PER_CENT = 0.1


def _gain(
    quantity: Callable[[Mix, str], Values], mixes: Iterable[Mix] = SEVERAL, *, lower_is_better: bool = False
) -> Relation:
    """DQM better than BASE at each mix."""
    sign = -1.0 if lower_is_better else 1.0
    return Relation([Point(str(mix), sign * (quantity(mix, DQM) - quantity(mix, BASE))) for mix in mixes])


def _up_over_down(m: Measured, part: str, window: Window) -> Number:
    up, down = (m.throughput(part, DQM, direction, window) for direction in ("up", "down"))
    return Number([Point("R_up / R_dn", ratio(up, down))], 1.0, PER_CENT)


def _around_reference(m: Measured, part: str) -> list[Point]:
    return [Point("delay", m.mean(part, DQM, "sojourn_ms", AFTER) / DELAY_REF_MS)]


GENERAL: tuple[Claim[Measured], ...] = (
    Claim(
        "I-uplinks-get-more",
        "I",
        None,
        "The sending stations (UP_STAs) obtain substantially larger bandwidth than the receiving stations (DN_STAs), "
        "which tend to starve.",
        "BASE, every case from N = 4: mean throughput of an uplink flow over twice that of a downlink flow.",
        "Mbps per flow",
        lambda m: Relation([Point(str(x), m.up(x, BASE) - 2.0 * m.down(x, BASE)) for x in SEVERAL]),
    ),
    Claim(
        "I-some-never-start",
        "I",
        None,
        "And sometimes could not start altogether.",
        "BASE, Case 1, N = 20: more than one half of a downlink flow a run gets no packet in 200 s.",
        "flows beyond one half",
        lambda m: Relation([Point(str(MOST[0]), m.starved(MOST[0], BASE) - 0.5)]),
    ),
    Claim(
        "abstract-congestion-control",
        "Abstract, IV-A, V",
        None,
        "Simulation results demonstrate that this design with few states can significantly improve TCP congestion control.",
        "From N = 4: the share of the data that is lost in the AP's buffer, BASE over DQM.",
        "difference of loss ratios",
        lambda m: _gain(m.lost, lower_is_better=True),
    ),
    Claim(
        "abstract-fairness",
        "Abstract, IV-A",
        "3",
        "Hence, DQM can substantially improve fairness by regulating the channel access time of uplink/downlink flows.",
        "From N = 4: FI, DQM over BASE.",
        "index",
        lambda m: _gain(m.index),
    ),
    Claim(
        "abstract-utilization",
        "Abstract, V",
        "2",
        "This design with few states can significantly improve link utilization in WLANs.",
        "From N = 4: R_total, DQM over BASE.",
        "Mbps",
        lambda m: _gain(m.total),
    ),
)

UNIFORM_RATE: tuple[Claim[Measured], ...] = (
    Claim(
        "2-base-ratio-linear",
        "IV-A",
        "3",
        "The ones in Case 2 are more stable (the throughput ratio increases linearly with N_dn).",
        "BASE, Case 2: r² of the straight line through the ratio against N_dn is at least 0.95.",
        "r²",
        lambda m: Number([Point("case 2", m.gamma_line_fit(2, BASE))], 1.0, 0.05),
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
        "3",
        "On the other hand, with DQM, the throughput performance is much more stable both in Case 1 and 2, even when N gets "
        "larger.",
        "Roughness along N of the logarithm of the ratio: BASE over DQM in either case.",
        "roughness",
        lambda m: Relation(
            [Point(f"case {c}", m.roughness("gamma", c, BASE) - m.roughness("gamma", c, DQM)) for c in CASES]
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
        lambda m: Number([Point(str(x), m.gamma(x, DQM)) for x in MIXES], 1.0, PER_CENT),
    ),
    Claim(
        "3-dqm-ratio-nearer-than-base",
        "IV-A",
        "3",
        "Hence, DQM can substantially improve fairness by regulating the channel access time of uplink/downlink flows.",
        "From N = 4: the ratio is nearer to 1 than under BASE.",
        "ratio",
        lambda m: _gain(lambda x, scheme: abs(m.gamma(x, scheme) - 1.0), lower_is_better=True),
    ),
    Claim(
        "3-base-drops-smoothly",
        "IV-A",
        "3",
        "As N increases, with BASE, FI drops more smoothly in Case 2 than in Case 1.",
        "Roughness of FI along N: Case 1 over Case 2.",
        "roughness",
        lambda m: Relation([Point("FI", m.roughness("index", 1, BASE) - m.roughness("index", 2, BASE))]),
    ),
    Claim(
        "3-base-index",
        "IV-A",
        "3",
        "But both achieve very low values around 0.203.",
        "BASE, N = 20, both cases: FI is 0.203 ± 0.02.",
        "index",
        lambda m: Number([Point(str(x), m.index(x, BASE)) for x in MOST], 0.203, 0.02),
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
        lambda m: _gain(lambda x, scheme: m.per_flow(x, scheme, "timeouts"), lower_is_better=True),
    ),
    Claim(
        "3-fewer-retransmissions",
        "IV-A",
        None,
        "Our scheme reduces bursty data losses (hence retransmissions and timeouts) by marking those flows that get more "
        "channel access.",
        "From N = 4: retransmissions a flow, BASE over DQM.",
        "segments per flow",
        lambda m: _gain(lambda x, scheme: m.per_flow(x, scheme, "retransmissions"), lower_is_better=True),
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
        "DQM, 150 s to 200 s: the air that an uplink flow's station uses, both ways, over that of a downlink flow's is "
        "1 ± 0.1.",
        "ratio",
        lambda m: Number(
            [Point("airtime", ratio(_airtime(m, "up", AFTER), _airtime(m, "down", AFTER)))], 1.0, PER_CENT
        ),
    ),
    Claim(
        "4a-anomaly-alleviated",
        "IV-B",
        "4a",
        'Hence, opportunistic scheduling alleviates the well known phenomenon of "performance anomaly" where all stations '
        "get the same throughput with the presence of low bit-rate senders.",
        "150 s to 200 s: throughput of all flows, DQM over BASE.",
        "Mbps",
        lambda m: Relation(
            [Point("R_total", m.total_in(RATE_CHANGE, DQM, AFTER) - m.total_in(RATE_CHANGE, BASE, AFTER))]
        ),
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
        lambda m: Number(_around_reference(m, RATE_CHANGE), 1.0, PER_CENT),
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
        "DQM: throughput of all flows from 150 s to 200 s over that from 50 s to 100 s.",
        "Mbps",
        lambda m: Relation(
            [Point("R_total", m.total_in(LATE_UPLINKS, DQM, AFTER) - m.total_in(LATE_UPLINKS, DQM, BEFORE))]
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
            PER_CENT,
        ),
    ),
)

CLAIMS = GENERAL + UNIFORM_RATE + RATE_ADAPTATION + VARYING_FLOWS


def _throughput(m: Measured, direction: str, window: Window) -> Values:
    return m.throughput(RATE_CHANGE, DQM, direction, window)


def _airtime(m: Measured, direction: str, window: Window) -> Values:
    return m.airtime(RATE_CHANGE, DQM, direction, window)


def _mean(m: Measured, metric: str, window: Window) -> Values:
    return m.mean(RATE_CHANGE, DQM, metric, window)


def _late(m: Measured, metric: str, window: Window) -> Values:
    return m.mean(LATE_UPLINKS, DQM, metric, window)
