"""The paper `arf-aware-tcp`: Tables 1 to 5, Figs. 2 and 4 to 9, and every sentence that states a result.

S. Yoo, T.-K. Kim, C. Yoo: Resolving Performance Anomaly using ARF-aware TCP.
"""

from __future__ import annotations

from wifair.papers.arf_aware_tcp.claims import CLAIMS
from wifair.papers.arf_aware_tcp.grid import cells
from wifair.papers.arf_aware_tcp.measured import Measured
from wifair.papers.arf_aware_tcp.readings import READINGS
from wifair.papers.arf_aware_tcp.study import CASES_OF_FIGURE, FORMS
from wifair.papers.reproduction import PaperStudy

TITLE = "Resolving Performance Anomaly using ARF-aware TCP"
PROPOSES = "senders that know their link's rate"
FIGURES = tuple(CASES_OF_FIGURE)


STUDY = PaperStudy(
    claims=CLAIMS,
    figures=FIGURES,
    forms=FORMS,
    cells=cells,
    measured=Measured,
    figures_module=f"{__name__}.figures",
    readings=READINGS,
    conditions={"dialect": "ns-2", "calibrated_on": "the NewReno columns"},
)
reproduce = STUDY.reproduce
