"""The paper `alt`: Figs. 2 to 7 and every sentence that states a result.

T. Li, D. Leith: Adaptive Buffer Sizing for TCP Flows in 802.11e WLANs.
"""

from __future__ import annotations

from wifair.papers.alt.claims import CLAIMS
from wifair.papers.alt.measured import Measured
from wifair.papers.alt.study import ALTERNATIVES, FIGURES, FORMS, cells
from wifair.papers.readings import View
from wifair.papers.reproduction import PaperStudy

TITLE = "Adaptive Buffer Sizing for TCP Flows in 802.11e WLANs"
PROPOSES = "buffers that find their own length"


STUDY = PaperStudy(
    claims=CLAIMS,
    figures=tuple(FIGURES),
    forms=FORMS,
    cells=cells,
    measured=Measured,
    figures_module=f"{__name__}.figures",
    readings=(
        *ALTERNATIVES,
        View("threshold-90", "What is the maximum throughput?", "90 % of it, not 95 %", lambda m: m.with_full(0.90)),
        View("threshold-99", "What is the maximum throughput?", "99 % of it, not 95 %", lambda m: m.with_full(0.99)),
        View(
            "mean-rtt",
            'What are "latency" and the delay of Figs. 6 and 7?',
            "the mean of the smoothed RTT, not its maximum",
            lambda m: m.with_delay("srtt_mean_ms"),
        ),
    ),
    conditions={"dialect": "standard"},
)
reproduce = STUDY.reproduce
