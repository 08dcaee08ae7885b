"""The paper `adaptive-pushout`: Figs. 3 to 6 and every sentence that states a result.

K. Hayashi, S. Shioda, N. Komuro, S. Sakata, T. Murase: Adaptive Pushout: A Buffer Management Scheme to Improve TCP
Fairness in Wireless LANs, VTC Spring 2012.
"""

from __future__ import annotations

from wifair.papers.adaptive_pushout.axis import TenToForty
from wifair.papers.adaptive_pushout.claims import CLAIMS, DROPPED
from wifair.papers.adaptive_pushout.measured import Growth, Measured
from wifair.papers.adaptive_pushout.study import FORMS, MIXES_OF_FIGURE, READINGS, SCHEMES, cells
from wifair.papers.readings import View
from wifair.papers.reproduction import PaperStudy

TITLE = "Adaptive Pushout: A Buffer Management Scheme to Improve TCP Fairness in Wireless LANs"
PROPOSES = "ACK pushout that watches the balance of directions"
FIGURES = tuple(MIXES_OF_FIGURE)
GROWTH = "How is the growth of a window measured?"


STUDY = PaperStudy(
    claims=CLAIMS,
    dropped=DROPPED,
    figures=FIGURES,
    forms=FORMS,
    cells=cells,
    measured=Measured,
    figures_module=f"{__name__}.figures",
    readings=(
        *READINGS,
        TenToForty(),
        View(
            "growth-per-second",
            GROWTH,
            "in segments per second: ACKs per second over the segments outstanding",
            lambda m: m.with_notions(growth=Growth.PER_SECOND),
        ),
        View(
            "acks-per-second",
            GROWTH,
            "by the ACKs that reach the senders per second, as in `spm-af-las`",
            lambda m: m.with_notions(growth=Growth.ACKS_PER_SECOND),
        ),
        View(
            "ip-bytes",
            "What does throughput count?",
            "IP bytes that arrive",
            lambda m: m.with_notions(throughput="throughput_ip_mbps"),
        ),
    ),
    conditions={"dialect": "ns-2", "schemes": list(SCHEMES)},
)
reproduce = STUDY.reproduce
