"""Claims of Figs. 2 and 4 to 9."""

from __future__ import annotations

from itertools import pairwise

from wifair.papers.arf_aware_tcp.claims.margins import (
    FAIRNESS,
    MUCH,
    ONE,
    PRINTED,
    TWO,
    anomaly,
    apart,
    implied_kept,
    lost,
)
from wifair.papers.arf_aware_tcp.measured import Measured, after, recovered
from wifair.papers.arf_aware_tcp.published import ARF_AWARE, NEWRENO
from wifair.papers.arf_aware_tcp.study import (
    ANOMALY,
    RATES,
    RECOVERY,
)
from wifair.papers.claims import Claim, Formerly, Number, Point, Relation
from wifair.stats import ratio

EVERY = (0, 1, 2, 3, 4)


CLAIMS: tuple[Claim[Measured], ...] = (
    Claim(
        "2-session-1-drops",
        "4",
        "2",
        "In ARF-aware TCP, throughput of Session1 drops at 20 second because the sender adjusts the congestion window as "
        "arf_cwnd.",
        "Share of its rate that Session 1 keeps: less than with NewReno, whose window is not adjusted, by more than 0.1.",
        "share beyond 0.1",
        lambda m: Relation(
            [
                Point(
                    ANOMALY.id,
                    m.kept(ANOMALY, NEWRENO, ONE, after(ANOMALY))
                    - m.kept(ANOMALY, ARF_AWARE, ONE, after(ANOMALY))
                    - MUCH,
                )
            ]
        ),
        formerly=Formerly(
            "reproduced",
            "Session 1's rate before − after.",
            lambda m: Relation([Point(ANOMALY.id, lost(m, ANOMALY, ARF_AWARE, ONE))]),
        ),
    ),
    Claim(
        "2-session-2-keeps",
        "4",
        "2",
        "On the other hand, Session2 keeps sending rate as before, and utilizes the channel as before.",
        "Session 2's rate after, as a share of its rate before, within 10 %.",
        "ratio",
        lambda m: Number([Point(ANOMALY.id, m.kept(ANOMALY, ARF_AWARE, TWO, after(ANOMALY)))], 1.0, 0.1),
    ),
    Claim(
        "2-newreno-suffers",
        "4",
        "2",
        "Both sessions utilize the channel time at equal proportion, and Session2 is also affected by the Session1 "
        "regardless of its own link rate.",
        "NewReno: Session 2 loses more than a tenth of its rate, and after the change both sessions' rates are equal within "
        "10 %. Equal proportions are those of the packets: of the time a slow node has more, says section 1.",
        "share beyond the bound",
        lambda m: Relation(anomaly(m, ANOMALY), fitted=True),
        formerly=Formerly(
            "reproduced",
            "NewReno: Session 2's rate before − after.",
            lambda m: Relation([Point(ANOMALY.id, lost(m, ANOMALY, NEWRENO, TWO))]),
        ),
    ),
    Claim(
        "4-as-the-link-rate",
        "4",
        "4",
        "ARF-aware TCP shares network bandwidth as the link rate as presented in Figure 4.",
        "Jain's index of the printed sessions' rate after the change, each divided by its link rate: above 0.9.",
        "index beyond 0.9",
        lambda m: Relation([Point(RATES.id, m.index_in(RATES, ARF_AWARE, after(RATES), PRINTED) - FAIRNESS)]),
        formerly=Formerly(
            "reproduced",
            "After the change each session has more than the next slower one.",
            lambda m: Relation(
                [
                    Point(
                        f"{faster} − {slower}",
                        m.rate(RATES, ARF_AWARE, faster, after(RATES)) - m.rate(RATES, ARF_AWARE, slower, after(RATES)),
                    )
                    for slower, faster in pairwise(RATES.sessions[:PRINTED])
                ]
            ),
        ),
    ),
    Claim(
        "5-inconsistent",
        "4",
        "5",
        "However, the TCP newReno shares network bandwidth very inconsistently (Figure 5).",
        "Coefficient of variation of a session's throughput from second to second after the change, mean of the sessions: "
        "NewReno's over ARF-aware's, less one, beyond 0.1.",
        "share beyond 0.1",
        lambda m: Relation(
            [Point(RATES.id, ratio(m.unevenness(RATES, NEWRENO), m.unevenness(RATES, ARF_AWARE)) - 1.0 - MUCH)]
        ),
        formerly=Formerly(
            "reproduced",
            "The same coefficients: NewReno over ARF-aware.",
            lambda m: Relation([Point(RATES.id, m.unevenness(RATES, NEWRENO) - m.unevenness(RATES, ARF_AWARE))]),
        ),
    ),
    Claim(
        "6-utilization-kept",
        "4",
        "6",
        "The cumulated throughput in Figure 6 presents an interesting result that ARF-aware TCP keeps network utilization "
        "even in the performance anomaly scenario.",
        "Share of their rate that all sessions keep: at least nine tenths of what Tables 2 and 5 imply.",
        "share beyond the bound",
        lambda m: Relation(
            [
                Point(
                    RATES.id,
                    m.total_kept(RATES, ARF_AWARE, after(RATES)) - 0.9 * implied_kept(RATES, ARF_AWARE, EVERY),
                )
            ]
        ),
        formerly=Formerly(
            "not reproduced",
            "All sessions' rate after, as a share of before, within 10 %.",
            lambda m: Number([Point(RATES.id, m.total_kept(RATES, ARF_AWARE, after(RATES)))], 1.0, 0.1),
        ),
    ),
    Claim(
        "7-drops-seriously",
        "4",
        "7",
        "On the other hand, the cumulated throughput drops very seriously in TCP newReno case as the Figure 7.",
        "NewReno keeps less than three quarters of its rate, all sessions together.",
        "share kept, below 0.75",
        lambda m: Relation([Point(RATES.id, 0.75 - m.total_kept(RATES, NEWRENO, after(RATES)))], fitted=True),
    ),
    Claim(
        "6-7-held-against-dropping",
        "4",
        "6",
        "ARF-aware TCP keeps network utilization; the cumulated throughput drops very seriously in TCP newReno case.",
        "Share of the rate that is kept, ARF-aware − NewReno, beyond 0.1.",
        "share beyond 0.1",
        lambda m: Relation(
            [
                Point(
                    RATES.id,
                    m.total_kept(RATES, ARF_AWARE, after(RATES)) - m.total_kept(RATES, NEWRENO, after(RATES)) - MUCH,
                )
            ]
        ),
        formerly=Formerly(
            "reproduced",
            "Share of the rate that is kept, ARF-aware over NewReno.",
            lambda m: Relation(
                [
                    Point(
                        RATES.id,
                        m.total_kept(RATES, ARF_AWARE, after(RATES)) - m.total_kept(RATES, NEWRENO, after(RATES)),
                    )
                ]
            ),
        ),
    ),
    Claim(
        "8-recovers-quickly",
        "4",
        "8",
        "When the ARF-aware TCP recovers from the arf mode to normal mode, it boosts the sending rate and recovers the "
        "original rate very quickly.",
        "Session 1 is back at nine tenths of its former rate within 5 s of the return at 70 s.",
        "seconds under 5",
        lambda m: Relation([Point(RECOVERY.id, 5.0 - m.recovery_s(RECOVERY, ARF_AWARE, ONE))]),
    ),
    Claim(
        "8-session-2-keeps",
        "4",
        "8",
        "Session2 keeps high sending rate in the anomaly period.",
        "Share of its rate that Session 2 keeps from 25 to 70 s: at least nine tenths of what Tables 1 and 2 imply.",
        "share beyond the bound",
        lambda m: Relation(
            [
                Point(
                    RECOVERY.id,
                    m.kept(RECOVERY, ARF_AWARE, TWO, after(RECOVERY)) - 0.9 * implied_kept(ANOMALY, ARF_AWARE, (1,)),
                )
            ]
        ),
        formerly=Formerly(
            "not reproduced",
            "Session 2's rate from 25 to 70 s is at least nine tenths of its rate before.",
            lambda m: Relation([Point(RECOVERY.id, m.kept(RECOVERY, ARF_AWARE, TWO, after(RECOVERY)) - 0.9)]),
        ),
    ),
    Claim(
        "8-shares-again",
        "4",
        "8",
        "Session1 successfully recovers from the performance anomaly and shares the link with Session2.",
        "Ratio of Session 1's rate to Session 2's from 75 s on, within 10 %.",
        "ratio",
        lambda m: Number([Point(RECOVERY.id, apart(m, RECOVERY, ARF_AWARE, recovered(RECOVERY)))], 1.0, 0.1),
    ),
    Claim(
        "8-fairness-stable",
        "4",
        "8",
        "Consequently, it keeps fairness very stable when compared with the TCP newReno.",
        "Index before, during and after the anomaly, greatest − least: NewReno − ARF-aware, beyond 0.1.",
        "index beyond 0.1",
        lambda m: Relation(
            [Point(RECOVERY.id, m.index_range(RECOVERY, NEWRENO) - m.index_range(RECOVERY, ARF_AWARE) - MUCH)]
        ),
        formerly=Formerly(
            "reproduced",
            "Index over the whole run of Figs. 8 and 9, ARF-aware over NewReno.",
            lambda m: Relation([Point(RECOVERY.id, m.index(RECOVERY, ARF_AWARE) - m.index(RECOVERY, NEWRENO))]),
        ),
    ),
    Claim(
        "9-anomaly",
        "4",
        "9",
        "TCP newReno presents performance anomaly during the anomaly period.",
        "As `2-newreno-suffers`, from 25 to 70 s.",
        "share beyond the bound",
        lambda m: Relation(anomaly(m, RECOVERY), fitted=True),
        formerly=Formerly(
            "reproduced",
            "NewReno: Session 2's rate before − from 25 to 70 s.",
            lambda m: Relation([Point(RECOVERY.id, lost(m, RECOVERY, NEWRENO, TWO))]),
        ),
    ),
    Claim(
        "9-recovers",
        "4",
        "9",
        "However, it also successfully recovers from the anomaly as shown in Figure 9.",
        "NewReno: each session's rate from 75 s on, as a share of its rate before, within 10 %.",
        "ratio",
        lambda m: Number(
            [Point(name, m.kept(RECOVERY, NEWRENO, name, recovered(RECOVERY))) for name in RECOVERY.sessions], 1.0, 0.1
        ),
    ),
)
