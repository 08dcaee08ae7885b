"""Claims of Section 4, Figs. 2 to 4: the measured network."""

from __future__ import annotations

import numpy as np

from wifair.papers.claims import Claim, Number, Point, Relation
from wifair.papers.spm_af_las.claims.margins import MUCH, NOTICEABLE
from wifair.papers.spm_af_las.measured import Measured, correlation

NEAR_FAR, BOTH_NEAR = "near and far", "both near"
ONE, TWO = "1 up, 1 down", "2 up, 2 down"
SINGLE = "1 down"


def wan(case: str) -> str:
    """The same experiment with the server far away."""
    return f"{case}, WAN"


def _goodput(m: Measured, case: str, **only: str) -> np.ndarray:
    found: np.ndarray = m.measured(case).flows("goodput_mbps", **only).mean(axis=1)
    return found


def _number(m: Measured, case: str, published: float, fitted: bool = False, **only: str) -> Number:
    label = ", ".join(only.values())
    return Number([Point(label, _goodput(m, case, **only))], published, 0.1 * published, fitted)


def _spikes(m: Measured, case: str) -> np.ndarray:
    """The distance of the upper tail of flow 1's round-trip times from their median, in milliseconds."""
    cell = m.measured(case)
    slow: np.ndarray = cell.flows("rtt_p99_ms", label="flow-1") - cell.flows("rtt_p50_ms", label="flow-1")
    return slow.ravel()


def _cut(m: Measured, direction: str) -> np.ndarray:
    """Window reductions per flow (fast retransmits and timeouts), mean over the flows of a direction."""
    cell = m.measured(TWO)
    counts = [cell.flows(column, direction=direction).mean(axis=1) for column in ("fast_retransmits", "timeouts")]
    found: np.ndarray = np.sum(counts, axis=0)
    return found


CLAIMS: tuple[Claim[Measured], ...] = (
    Claim(
        "4-single-flow",
        "4",
        None,
        "In both tests, the maximum achievable throughput for a single TCP flow is approximately 5.1 Mbps.",
        "Goodput of one downlink flow alone, LAN and WAN, within a tenth of 5.1 Mbps.",
        "Mbps of payload",
        lambda m: Number(
            [Point(case, _goodput(m, case, direction="down")) for case in (SINGLE, wan(SINGLE))], 5.1, 0.51
        ),
        5.1,
    ),
    Claim(
        "4-wan-similar",
        "4.2",
        None,
        "These experiments were conducted in both LAN and WAN scenarios; the results were similar, so only the LAN scenario "
        "is discussed here.",
        "Goodput by direction, one and two flows each way: WAN over LAN, within 0.9 to 1.1.",
        "ratio",
        lambda m: Number(
            [
                Point(
                    f"{case}, {direction}",
                    _goodput(m, wan(case), direction=direction) / _goodput(m, case, direction=direction),
                )
                for case in (ONE, TWO)
                for direction in ("up", "down")
            ],
            1.0,
            0.1,
        ),
    ),
    Claim(
        "2-far",
        "4.1",
        "2",
        "The throughput of the mobile host 10 meters from the AP was 1.44 Mbps.",
        "Goodput of flow 2; the frame error rate of its host is fitted to this number.",
        "Mbps of payload",
        lambda m: _number(m, NEAR_FAR, 1.44, fitted=True, label="flow-2"),
        1.44,
    ),
    Claim(
        "2-near",
        "4.1",
        "2",
        "The mobile host near the AP achieved a throughput of 3.64 Mbps.",
        "Goodput of flow 1, predicted, within 10 %.",
        "Mbps of payload",
        lambda m: _number(m, NEAR_FAR, 3.64, label="flow-1"),
        3.64,
    ),
    Claim(
        "2-near-always-higher",
        "4.1",
        "2",
        "Flow 1, which started 8 seconds earlier, always achieves higher throughput than Flow 2.",
        "Share of the seconds in which flow 1 gets more, above 0.95.",
        "share of seconds beyond 0.95",
        lambda m: Relation(
            [
                Point(
                    "share",
                    (
                        m.seconds(NEAR_FAR, "goodput_mbps", "flow-1") > m.seconds(NEAR_FAR, "goodput_mbps", "flow-2")
                    ).mean(axis=1)
                    - 0.95,
                )
            ]
        ),
    ),
    Claim(
        "2-synchronised",
        "4.1",
        "2",
        "However, there is a strong synchronization between the flows.",
        "Correlation of the two goodputs, second by second, above zero.",
        "correlation",
        lambda m: Relation(
            [
                Point(
                    "correlation",
                    correlation(
                        m.seconds(NEAR_FAR, "goodput_mbps", "flow-1"), m.seconds(NEAR_FAR, "goodput_mbps", "flow-2")
                    ),
                )
            ]
        ),
    ),
    Claim(
        "2-retransmissions-cost-the-near-host",
        "4.1",
        "2",
        "When the AP spends time retransmitting to Flow 2, the instantaneous throughput of Flow 1 suffers.",
        "Correlation of flow 1's goodput with the airtime of the far host's frames, second by second, below zero.",
        "− correlation",
        lambda m: Relation(
            [
                Point(
                    "correlation",
                    -correlation(
                        m.seconds(NEAR_FAR, "goodput_mbps", "flow-1"), m.seconds(NEAR_FAR, "airtime_share", "flow-2")
                    ),
                )
            ]
        ),
    ),
    Claim(
        "2-rtt-spikes",
        "4.1",
        "2",
        "There are distinct spikes in the RTT of Flow 1 as a consequence of repeated retransmissions to Flow 2.",
        "99 % quantile − median of flow 1's round trips, with the far host over two near hosts.",
        "ms",
        lambda m: Relation([Point("far over near", _spikes(m, NEAR_FAR) - _spikes(m, BOTH_NEAR))]),
    ),
    Claim(
        "3-up",
        "4.2",
        "3",
        "The throughput achieved by the upstream flow is 2.41 Mbps.",
        "Goodput within 10 %.",
        "Mbps of payload",
        lambda m: _number(m, ONE, 2.41, direction="up"),
        2.41,
    ),
    Claim(
        "3-down",
        "4.2",
        "3",
        "The throughput for the downstream flow is 2.86 Mbps.",
        "Goodput within 10 %.",
        "Mbps of payload",
        lambda m: _number(m, ONE, 2.86, direction="down"),
        2.86,
    ),
    Claim(
        "3-downstream-wins",
        "4.2",
        "3",
        "The downstream flow achieves higher throughput than the upstream flow, as shown in Figure 3(a) and (b).",
        "Goodput, downlink − 1.05 times uplink: the paper calls the difference an unfairness, so it has to be noticeable.",
        "Mbps of payload",
        lambda m: Relation(
            [Point("down over up", _goodput(m, ONE, direction="down") - NOTICEABLE * _goodput(m, ONE, direction="up"))]
        ),
    ),
    Claim(
        "3-own-queue-delays",
        "4.2",
        "3",
        "The presence of this large queue of full-sized TCP packets adds significant delay to the RTT for the upstream flow.",
        "Mean round trip, uplink − 1.3 times downlink: both pass the AP's queue, the uplink its own besides.",
        "ms",
        lambda m: Relation(
            [
                Point(
                    "up over down",
                    (
                        m.measured(ONE).flows("rtt_mean_ms", direction="up")
                        - MUCH * m.measured(ONE).flows("rtt_mean_ms", direction="down")
                    ).ravel(),
                )
            ]
        ),
    ),
    Claim(
        "4-up",
        "4.2",
        "4",
        "Figure 4 shows an average of 1.5 Mbps for the upstream flows.",
        "Mean goodput of the two uplink flows within 10 %.",
        "Mbps of payload",
        lambda m: _number(m, TWO, 1.5, direction="up"),
        1.5,
    ),
    Claim(
        "4-down",
        "4.2",
        "4",
        "And an average of 1.0 Mbps for the downstream flows.",
        "Mean goodput of the two downlink flows within 10 %.",
        "Mbps of payload",
        lambda m: _number(m, TWO, 1.0, direction="down"),
        1.0,
    ),
    Claim(
        "4-upstream-wins",
        "4.2",
        "4",
        "When there are two (or more) upstream flows, as well as two (or more) downstream flows, unfairness is very "
        "pronounced in favour of the upstream flows.",
        "Mean goodput, uplink − 1.3 times downlink.",
        "Mbps of payload",
        lambda m: Relation(
            [Point("up over down", _goodput(m, TWO, direction="up") - MUCH * _goodput(m, TWO, direction="down"))]
        ),
    ),
    Claim(
        "4-losses-for-all",
        "4.2",
        "4",
        "This phenomenon happens because the AP transmission queue saturates, losing packets for all flows.",
        "Packets lost at the AP, the least of the four flows.",
        "packets",
        lambda m: Relation([Point("least", m.measured(TWO).flows("ap_lost_packets").min(axis=1))]),
    ),
    Claim(
        "4-losses-hurt-downstream",
        "4.2",
        "4",
        "The packet losses have greater impact on the downstream flows (losing data packets) than the upstream flows "
        "(losing TCP ACKs).",
        "Times that a flow cuts its window (fast retransmits and timeouts), downlink − uplink.",
        "cuts per flow",
        lambda m: Relation([Point("down over up", _cut(m, "down") - _cut(m, "up"))]),
    ),
)
