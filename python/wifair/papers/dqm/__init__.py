"""The paper `dqm`: Figs. 2 to 5 and every sentence that states a result.

Q. Xia, X. Jin, M. Hamdi: Dual Queue Management for Improving TCP Performance in Multi-rate Infrastructure WLANs.
"""

from __future__ import annotations

from wifair.papers.dqm.claims import CLAIMS
from wifair.papers.dqm.measured import Measured
from wifair.papers.dqm.readings import READINGS
from wifair.papers.dqm.study import FIGURES, FORMS, SCHEMES, cells
from wifair.papers.reproduction import PaperStudy

TITLE = "Dual Queue Management for Improving TCP Performance in Multi-rate Infrastructure WLANs"
PROPOSES = "two queues, marks, fairness in time"


STUDY = PaperStudy(
    claims=CLAIMS,
    figures=tuple(FIGURES),
    forms=FORMS,
    cells=cells,
    measured=Measured,
    figures_module=f"{__name__}.figures",
    readings=READINGS,
    conditions={"dialect": "ns-2", "schemes": list(SCHEMES)},
)
reproduce = STUDY.reproduce
