"""Claims of the text."""

from __future__ import annotations

from wifair.papers.arf_aware_tcp.claims.margins import (
    FAIRNESS,
    GAIN_TOLERANCE,
    MUCH,
    ONE,
    PRINTED,
    apart,
)
from wifair.papers.arf_aware_tcp.measured import FIRST, LAST, Measured, after
from wifair.papers.arf_aware_tcp.published import ARF_AWARE, NEWRENO
from wifair.papers.arf_aware_tcp.study import (
    ANOMALY,
    FAIR,
    LOW,
    MOVED_BY_ARF,
    MULTI,
    RATES,
    WIRED,
    Case,
)
from wifair.papers.claims import Claim, Formerly, Number, Point, Relation
from wifair.stats import Values, ratio

ANOMALIES: tuple[tuple[Case, int | None], ...] = ((ANOMALY, None), (MULTI, None), (RATES, PRINTED))


def _fairer(m: Measured, case: Case, printed: int | None = None) -> Values:
    """The index's lead over NewReno's, minus the margin for "much"."""
    margin: Values = m.index(case, ARF_AWARE, printed) - m.index(case, NEWRENO, printed) - MUCH
    return margin


def _sum_margins(m: Measured) -> list[Point]:
    return [
        Point(case.id, m.aggregate(case, ARF_AWARE, printed) - m.aggregate(case, NEWRENO, printed))
        for case, printed in ANOMALIES
    ]


CLAIMS: tuple[Claim[Measured], ...] = (
    Claim(
        "abstract-index-simple",
        "Abstract",
        None,
        "The fairness index in our cases increases from 0.63, 0.74 to 0.99, 0.99 respectively.",
        "The second case is Table 1's, which prints 0.926 itself. Within 0.02.",
        "index",
        lambda m: Number([Point(ANOMALY.id, m.index(ANOMALY, ARF_AWARE))], 0.99, 0.02),
        0.99,
    ),
    Claim(
        "abstract-index-multi",
        "Abstract",
        None,
        "The fairness index in our cases increases from 0.63, 0.74 to 0.99, 0.99 respectively.",
        "The first case is Table 4's. Within 0.02.",
        "index",
        lambda m: Number([Point(MULTI.id, m.index(MULTI, ARF_AWARE))], 0.99, 0.02),
        0.99,
    ),
    Claim(
        "1-throughputs-equal",
        "1, 4",
        None,
        "In performance anomaly scenario, the higher rate node and the lower rate node have the same throughput in the "
        "end.",
        "NewReno: ratio of Session 1's rate to Session 2's after the change, within 10 %.",
        "ratio",
        lambda m: Number([Point(ANOMALY.id, apart(m, ANOMALY, NEWRENO, after(ANOMALY)))], 1.0, 0.1, fitted=True),
    ),
    Claim(
        "4-much-fairer",
        "4",
        None,
        "ARF-aware TCP achieves much higher fairness value as presented in Table 1 (4, 5).",
        "Index, ARF-aware − NewReno, beyond 0.1, Tables 1, 4 and 5.",
        "index beyond 0.1",
        lambda m: Relation([Point(case.id, _fairer(m, case, printed)) for case, printed in ANOMALIES]),
        formerly=Formerly(
            "reproduced",
            "Index, ARF-aware over NewReno, Tables 1, 4 and 5.",
            lambda m: Relation([Point(case.id, _fairer(m, case, printed) + MUCH) for case, printed in ANOMALIES]),
        ),
    ),
    Claim(
        "4-aggregate-enhanced",
        "4",
        None,
        "Besides the fairness index, aggregated throughput is also enhanced in ARF-aware TCP.",
        "Sum, ARF-aware over NewReno, Tables 1, 4 and 5.",
        "kbps",
        lambda m: Relation(_sum_margins(m)),
    ),
    Claim(
        "4-gain-simple",
        "4",
        None,
        "The performance gain from resolving performance anomaly is about 20% in this scenario.",
        "Aggregate of Table 1 over NewReno's, less one, within 0.1: each sum is held to 10 % (the table prints 22.5 %).",
        "share",
        lambda m: Number([Point(ANOMALY.id, m.gain(ANOMALY))], 0.20, GAIN_TOLERANCE),
        0.20,
        formerly=Formerly(
            "reproduced",
            "Within 0.05 of 0.20.",
            lambda m: Number([Point(ANOMALY.id, m.gain(ANOMALY))], 0.20, 0.05),
        ),
    ),
    Claim(
        "4-gain-multi",
        "4, 5, Abstract",
        None,
        "In our best result, throughput gain is higher than traditional Reno sessions about 30%.",
        "Aggregate of Table 4 over NewReno's, less one, within 0.1 (the table prints 28.9 %).",
        "share",
        lambda m: Number([Point(MULTI.id, m.gain(MULTI))], 0.30, GAIN_TOLERANCE),
        0.30,
        formerly=Formerly(
            "reproduced",
            "Within 0.05 of 0.30.",
            lambda m: Number([Point(MULTI.id, m.gain(MULTI))], 0.30, 0.05),
        ),
    ),
    Claim(
        "t5-gain",
        "4, Table 5",
        None,
        "Aggregated throughput: 1237 kbps, 1068 kbps.",
        "Gain of the four printed sessions, 15.8 % as printed, within 0.1 as the others.",
        "share",
        lambda m: Number([Point(RATES.id, m.gain(RATES, PRINTED))], 0.158, GAIN_TOLERANCE),
        0.158,
        formerly=Formerly(
            "reproduced",
            "Within 0.05 of 0.158.",
            lambda m: Number([Point(RATES.id, m.gain(RATES, PRINTED))], 0.158, 0.05),
        ),
    ),
    Claim(
        "4-newreno-fair",
        "4",
        None,
        "TCP newReno originally achieves high fairness as shown in Table 2. However, the fairness is broken when "
        "performance anomaly happens.",
        "NewReno's index: above 0.9 in the fair-share scenario, and lower by more than 0.1 in the anomaly.",
        "index beyond the bound",
        lambda m: Relation(
            [
                Point("fair share", m.index(FAIR, NEWRENO) - FAIRNESS),
                Point("fall in the anomaly", m.index(FAIR, NEWRENO) - m.index(ANOMALY, NEWRENO) - MUCH),
            ],
            fitted=True,
        ),
        formerly=Formerly(
            "reproduced",
            "NewReno's index, fair share over anomaly.",
            lambda m: Relation([Point("fair share", m.index(FAIR, NEWRENO) - m.index(ANOMALY, NEWRENO))]),
        ),
    ),
    Claim(
        "t3-stable",
        "4, Table 3",
        None,
        "ARF-aware TCP performs stably when both sessions reduce the link rate as presented in Table 3.",
        "Ratio of the aggregates, ARF-aware to NewReno, within 10 % of equality (799 to 794 kbps).",
        "ratio",
        lambda m: Number([Point(LOW.id, ratio(m.aggregate(LOW, ARF_AWARE), m.aggregate(LOW, NEWRENO)))], 1.0, 0.1),
    ),
    Claim(
        "5-index-above-0.9",
        "5",
        None,
        "Fairness index among ARF-aware TCP sessions always achieves higher than 0.9.",
        "ARF-aware's index in each table, less 0.9.",
        "index beyond 0.9",
        lambda m: Relation(
            [
                Point(case.id, m.index(case, ARF_AWARE, printed) - FAIRNESS)
                for case, printed in (*ANOMALIES, (LOW, None))
            ]
        ),
    ),
    Claim(
        "4-much-better-multi-rate",
        "4",
        None,
        "Finally, it presents much higher fairness and throughput in more practical scenarios that multiple nodes are operating "
        "at different rates at the same time.",
        "Table 5: index, ARF-aware − NewReno, and gain of the aggregate, each beyond 0.1.",
        "index, share beyond 0.1",
        lambda m: Relation(
            [Point("index", _fairer(m, RATES, PRINTED)), Point("aggregate", m.gain(RATES, PRINTED) - MUCH)]
        ),
    ),
    Claim(
        "4-fairer-under-arf",
        "4",
        None,
        "In real network environment, link rate is gradually decreased as the operating mode, but we changed it for the sake of "
        "simplicity.",
        "ARF itself moves the rates of all links; from 20 s on only frames at 1 Mbps reach or leave Session 1's station. Index, "
        "ARF-aware − NewReno, beyond 0.1.",
        "index beyond 0.1",
        lambda m: Relation([Point(MOVED_BY_ARF.id, _fairer(m, MOVED_BY_ARF))]),
    ),
    Claim(
        "4-enhanced-under-arf",
        "4",
        None,
        "In real network environment, link rate is gradually decreased as the operating mode, but we changed it for the sake of "
        "simplicity.",
        "The same run: aggregate, ARF-aware − NewReno.",
        "kbps",
        lambda m: Relation(
            [Point(MOVED_BY_ARF.id, m.aggregate(MOVED_BY_ARF, ARF_AWARE) - m.aggregate(MOVED_BY_ARF, NEWRENO))]
        ),
    ),
    Claim(
        "3-wired-window-too-small",
        "3",
        None,
        "If the bottleneck was not the WLAN, congestion window does not need to be shrunk as much as the link rate changes. In "
        "the case, congestion window is smaller than a proper value.",
        "Both sessions share a wire of 0.8 Mbps, which is the bottleneck at either rate. Session 1 loses more than a tenth of its "
        "rate from 20 to 25 s.",
        "share beyond 0.1",
        lambda m: Relation([Point(WIRED.id, 1.0 - m.kept(WIRED, ARF_AWARE, ONE, FIRST) - MUCH)]),
    ),
    Claim(
        "3-wired-adapts",
        "3",
        None,
        "However, the AIMD algorithm finds an available bandwidth with increasing the congestion window size, and the TCP will "
        "adapt the sending rate in time.",
        "The same run: Session 1's rate in the last 20 s is at least nine tenths of its rate before the change.",
        "share beyond 0.9",
        lambda m: Relation([Point(WIRED.id, m.kept(WIRED, ARF_AWARE, ONE, LAST) - 0.9)]),
    ),
)
