"""Claims of Sections I, II, III and V, which refer to no figure."""

from __future__ import annotations

import numpy as np
import polars as pl

from wifair.papers.adaptive_pushout.claims.evidence import FEWEST_DOWN, MUCH
from wifair.papers.adaptive_pushout.measured import Growth, Measured
from wifair.papers.adaptive_pushout.study import (
    ACK_PUSHOUT,
    ADAPTIVE,
    AF,
    SCHEMES,
    SPM_AF,
    TABLE_II,
    TAIL_DROP,
    THE_FOUR,
    TWENTY,
    Mix,
)
from wifair.papers.claims import Claim, Formerly, Point, Relation
from wifair.papers.evidence import above, mean_above
from wifair.stats import Values

ASYMMETRIC = tuple(mix for mix in TABLE_II if mix != TWENTY)


def _not_excepted(m: Measured) -> list[Mix]:
    return [mix for mix in m.every_mix if mix != FEWEST_DOWN]


def _uplink_wins(m: Measured, mix: Mix) -> Values:
    """How often an uplink flow obtains more than a downlink flow, over all pairs of a run, beyond one half."""
    up, down = m.up(mix, TAIL_DROP), m.down(mix, TAIL_DROP)
    wins = up[:, :, None] > down[:, None, :]
    share: Values = wins.mean(axis=(1, 2)) - 0.5
    return share


def _window_timeout_correlation(m: Measured, per_segment: bool = False) -> Values:
    """Spearman correlation between an uplink flow's segments sent (its mean window) and its timeouts, for each run."""
    cell = m.cell(TWENTY, TAIL_DROP)
    sent, timeouts = (cell.flows(column, direction="up") for column in ("segments_sent", "timeouts"))
    counted = timeouts / np.maximum(sent, 1.0) if per_segment else timeouts
    found = []
    for run_sent, run_timeouts in zip(sent, counted, strict=True):
        ranks = [pl.Series(values).rank().to_numpy() for values in (run_sent, run_timeouts)]
        found.append(np.corrcoef(ranks)[0, 1] if all(np.ptp(rank) > 0 for rank in ranks) else np.nan)
    return np.array(found)


def _improves_both(m: Measured, scheme: str) -> list[Point]:
    """Margins over tail drop with 20 flows, one for each of the two types of unfairness."""
    return [
        Point("among uplinks", m.index_up(TWENTY, scheme) - m.index_up(TWENTY, TAIL_DROP)),
        Point("between directions", m.balance(TWENTY, scheme) - m.balance(TWENTY, TAIL_DROP)),
    ]


def _much_fairer(m: Measured, others: list[str]) -> list[Point]:
    """Margins from 1 − index, averaged over all mixes: half of another scheme's against adaptive pushout's."""

    def lacking(scheme: str) -> Values:
        mean: Values = np.mean([1.0 - m.index(x, scheme) for x in m.every_mix], axis=0)
        return mean

    return [Point(f"over {scheme}", lacking(scheme) / MUCH - lacking(ADAPTIVE)) for scheme in others]


CLAIMS: tuple[Claim[Measured], ...] = (
    Claim(
        "I-asymmetry",
        "I",
        None,
        "This yields the bandwidth asymmetry of the WLAN; each individual downlink flow gets lower bandwidth than each "
        "individual uplink flow gets.",
        "Tail drop, symmetric: the smallest uplink throughput of a run exceeds the greatest downlink throughput.",
        "Mbps",
        lambda m: Relation(
            [Point(str(x), m.up(x, TAIL_DROP).min(axis=1) - m.down(x, TAIL_DROP).max(axis=1)) for x in m.symmetric]
        ),
    ),
    Claim(
        "I-ack-bottlenecked-win",
        "I",
        None,
        "ACK-bottlenecked flows are likely to get higher throughput than data-bottlenecked flows.",
        "Tail drop, symmetric: an uplink flow obtains more than a downlink flow in over half of the pairs of a run.",
        "share of pairs beyond 0.5",
        lambda m: Relation([Point(str(x), _uplink_wins(m, x)) for x in m.symmetric]),
    ),
    Claim(
        "I-small-windows-time-out",
        "I",
        None,
        "Flows with small congestion window are likely to experience frequent timeouts and thereby decrease their "
        "congestion window even more.",
        "Tail drop, 20 flows, uplinks of a run: the rank correlation of segments sent (the mean window over a common RTT) and "
        "timeouts, both counted over the same time, is negative.",
        "minus Spearman's rho",
        lambda m: Relation([Point(str(TWENTY), -_window_timeout_correlation(m))]),
        formerly=Formerly(
            "reproduced",
            "Tail drop, 20 flows, uplinks of a run: the rank correlation of segments sent (the mean window over a common "
            "RTT) and timeouts per segment is negative.",
            lambda m: Relation([Point(str(TWENTY), -_window_timeout_correlation(m, per_segment=True))]),
        ),
    ),
    Claim(
        "I-unfair-uplinks",
        "I",
        None,
        "This fact brings about the unfairness among ACK-bottlenecked flows.",
        "Tail drop, 20 flows: the index among the uplink flows is below 0.95, from which on an index counts as near 1.",
        "index below 0.95",
        lambda m: Relation([Point(str(TWENTY), 0.95 - m.index_up(TWENTY, TAIL_DROP))]),
    ),
    Claim(
        "I-packet-drop-asymmetry",
        "I, III-A",
        None,
        "Thus, data segments are more likely to be dropped than ACK segments.",
        "ACK pushout, symmetric: the AP loses a greater share of the data than of the ACKs, redundant ACKs aside.",
        "difference of loss ratios",
        lambda m: Relation(
            [Point(str(x), m.lost(x, ACK_PUSHOUT, "data") - m.lost(x, ACK_PUSHOUT, "ack")) for x in m.symmetric]
        ),
    ),
    Claim(
        "I-ack-pushout-favours-uplinks",
        "I, III-A",
        None,
        "Because of this asymmetry (we call it packet-drop asymmetry in this work), under the ACK pushout, uplink TCP "
        "flows still get larger throughput than downlink TCP flows.",
        "ACK pushout: mean throughput of an uplink flow exceeds that of a downlink flow, at every mix.",
        "Mbps per flow",
        lambda m: Relation([Point(str(x), -m.down_minus_up(x, ACK_PUSHOUT)) for x in m.every_mix]),
        formerly=Formerly(
            "reproduced",
            "ACK pushout, mean over all mixes: mean throughput of an uplink flow exceeds that of a downlink flow.",
            lambda m: Relation(
                [Point("all mixes", np.mean([-m.down_minus_up(x, ACK_PUSHOUT) for x in m.every_mix], axis=0))]
            ),
        ),
    ),
    Claim(
        "I-better-for-a-wide-range",
        "I",
        None,
        "We show that the adaptive pushout yields better fairness than the ACK pushout as well as other existing "
        "proposals for a wide range of traffic mix conditions.",
        "Fairness index, adaptive pushout over each of the others (tail drop too), at every mix but (2, 18).",
        "index",
        lambda m: Relation(above(m.index, _not_excepted(m), ADAPTIVE, SCHEMES)),
        formerly=Formerly(
            "trend only",
            "Fairness index, adaptive pushout over each of the others (tail drop too), at every mix.",
            lambda m: Relation(above(m.index, m.every_mix, ADAPTIVE, SCHEMES)),
        ),
    ),
    Claim(
        "II-spm-af-improves-both",
        "II",
        None,
        "The SPM-AF can improve the two types of unfairness between competing flows simultaneously.",
        "20 flows: SPM-AF over tail drop in the index among uplinks and in the balance of the directions (Jain's index "
        "of the two mean throughputs). The paper's AP-only variant stands for the original.",
        "index",
        lambda m: Relation(_improves_both(m, SPM_AF)),
    ),
    Claim(
        "II-spm-af-slows-growth",
        "II",
        None,
        "It has one side effect; it slows down the growth of sender's congestion window.",
        "A Reno sender's window grows with each ACK: for each segment that the AP receives, fewer ACKs reach the uplink "
        "senders under SPM-AF than under tail drop, symmetric, at every n. That is the growth per round trip; "
        "`growth-per-second` and `acks-per-second` have it per second.",
        "ACKs per segment",
        lambda m: Relation(above(m.growth, m.symmetric, TAIL_DROP, [SPM_AF])),
        formerly=Formerly(
            "reproduced",
            "A Reno sender's window grows with each ACK: under SPM-AF, symmetric, fewer ACKs reach the uplink senders than "
            "the AP receives segments.",
            lambda m: Relation([Point(str(x), 1.0 - m.growth(x, SPM_AF, Growth.PER_SEGMENT)) for x in m.symmetric]),
        ),
    ),
    Claim(
        "II-ack-pushout-improves-both",
        "II",
        None,
        "ACK pushout is also a buffer management scheme that improves the two types of unfairness problems.",
        "20 flows: ACK pushout over tail drop in the index among uplinks and in the balance of the directions (Jain's index "
        "of the two mean throughputs).",
        "index",
        lambda m: Relation(_improves_both(m, ACK_PUSHOUT)),
    ),
    Claim(
        "II-ack-pushout-drops-fewer",
        "II",
        None,
        "The ACK pushout is similar to the AF, but the former drops fewer ACKs than the latter.",
        "Share of the ACKs offered to the AP that are removed, redundant or not: AF over ACK pushout, at every mix.",
        "share of ACKs",
        lambda m: Relation(above(m.acks_removed, m.every_mix, AF, [ACK_PUSHOUT])),
    ),
    Claim(
        "II-ack-pushout-mitigates",
        "II",
        None,
        "Which mitigates the side effect of the SPM-AF (slowdown of the growth of sender's congestion window).",
        "ACKs that reach the uplink senders per segment: ACK pushout over SPM-AF, at every mix.",
        "ACKs per segment",
        lambda m: Relation(above(m.growth, m.every_mix, ACK_PUSHOUT, [SPM_AF])),
    ),
    Claim(
        "III-B-better-than-ack-pushout",
        "III-B",
        None,
        "Since the adaptive pushout improves the packet drop asymmetry, which is a drawback of the ACK pushout, the "
        "adaptive yields better fairness than the ACK pushout.",
        "Fairness index, at every mix but (2, 18).",
        "index",
        lambda m: Relation(above(m.index, _not_excepted(m), ADAPTIVE, [ACK_PUSHOUT])),
        formerly=Formerly(
            "reproduced",
            "Fairness index, mean over all mixes.",
            lambda m: Relation(mean_above(m.index, m.every_mix, ADAPTIVE, [ACK_PUSHOUT])),
        ),
    ),
    Claim(
        "III-B-improves-asymmetry",
        "III-B",
        None,
        "The adaptive pushout improves the packet drop asymmetry.",
        "The distance between the loss ratios of data and ACKs (redundant ones aside), ACK pushout over adaptive pushout, at "
        "every mix.",
        "difference of loss ratios",
        lambda m: Relation(above(lambda x, scheme: _loss_gap(m, x, scheme), m.every_mix, ACK_PUSHOUT, [ADAPTIVE])),
        formerly=Formerly(
            "reproduced",
            "20 flows: the distance between the loss ratios of data and ACKs (redundant ones aside), ACK pushout over "
            "adaptive pushout.",
            lambda m: Relation(above(lambda x, scheme: _loss_gap(m, x, scheme), [TWENTY], ACK_PUSHOUT, [ADAPTIVE])),
        ),
    ),
    Claim(
        "III-B-better-than-spm-af",
        "III-B",
        None,
        "Through simulation experiments (Section IV), we have confirmed that the adaptive pushout achieves better "
        "fairness than the SPM-AF.",
        "Fairness index at every mix.",
        "index",
        lambda m: Relation(above(m.index, m.every_mix, ADAPTIVE, [SPM_AF])),
    ),
    Claim(
        "III-B-drops-fewer-than-spm-af",
        "III-B",
        None,
        "We also note that the adaptive pushout drops fewer ACKs than the SPM-AF does.",
        "Share of the ACKs offered to the AP that are removed, redundant or not: SPM-AF over adaptive, at every mix.",
        "share of ACKs",
        lambda m: Relation(above(m.acks_removed, m.every_mix, SPM_AF, [ADAPTIVE])),
    ),
    Claim(
        "III-B-drops-fewer-unrepeated",
        "III-B",
        None,
        "We also note that the adaptive pushout drops fewer ACKs than the SPM-AF does.",
        "Read of the ACKs that no queued ACK repeats, whose loss the sender can notice: their share of the ACKs offered to the "
        "AP, SPM-AF over adaptive, at every mix.",
        "share of ACKs",
        lambda m: Relation(above(lambda x, scheme: m.lost(x, scheme, "ack"), m.every_mix, SPM_AF, [ADAPTIVE])),
    ),
    Claim(
        "III-B-curbs-side-effect",
        "III-B",
        None,
        "Which would curb the side effect of the SPM-AF (slowdown of the growth of sender's congestion window).",
        "ACKs that reach the uplink senders per segment: adaptive pushout over SPM-AF, at every mix.",
        "ACKs per segment",
        lambda m: Relation(above(m.growth, m.every_mix, ADAPTIVE, [SPM_AF])),
    ),
    Claim(
        "III-B-asymmetric-advantage",
        "III-B",
        None,
        "Another advantage over the existing proposals (ACK pushout and SPM-AF) is the applicability to asymmetric "
        "cases.",
        "Fairness index, adaptive pushout over ACK pushout and over SPM-AF, mean over the asymmetric mixes of Table II.",
        "index",
        lambda m: Relation(
            mean_above(m.index, ASYMMETRIC, ADAPTIVE, [ACK_PUSHOUT, SPM_AF]),
            over=f"the mean of {len(ASYMMETRIC)} asymmetric mixes",
        ),
    ),
    Claim(
        "V-much-better",
        "abstract, V",
        None,
        "The simulation experiments confirm that the adaptive pushout yields much better performance than the existing "
        "buffer management schemes (AF, APM-AF, ACK pushout) as well as the tail drop in terms of the fairness.",
        "What the index lacks to 1, mean over all mixes: under adaptive pushout less than half of that under each of the "
        "others.",
        "index",
        lambda m: Relation(_much_fairer(m, [TAIL_DROP, *THE_FOUR[:-1]]), over=f"the mean of {len(m.every_mix)} mixes"),
        formerly=Formerly(
            "reproduced",
            'Fairness index, mean over all mixes, adaptive pushout over each of the others. "Much" has no number.',
            lambda m: Relation(mean_above(m.index, m.every_mix, ADAPTIVE, [TAIL_DROP, *THE_FOUR[:-1]])),
        ),
    ),
)


def _loss_gap(m: Measured, mix: Mix, scheme: str) -> Values:
    gap: Values = np.abs(m.lost(mix, scheme, "data") - m.lost(mix, scheme, "ack"))
    return gap
