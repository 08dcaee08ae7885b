"""The paper `dqm`: Figs. 2 to 5 and every sentence that states a result.

Q. Xia, X. Jin, M. Hamdi: Dual Queue Management for Improving TCP Performance in Multi-rate Infrastructure WLANs.
"""

from __future__ import annotations

from wifair.papers.dqm.claims import CLAIMS
from wifair.papers.dqm.measured import Measured
from wifair.papers.dqm.study import ALTERNATIVES, FIGURES, FORMS, SCHEMES, cells
from wifair.papers.readings import View
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
    readings=(
        *ALTERNATIVES,
        View("flows-2", "How many flows do Figs. 4 and 5 have?", "1 + 1", lambda m: m.with_flows(2)),
        View("flows-4", "How many flows do Figs. 4 and 5 have?", "2 + 2", lambda m: m.with_flows(4)),
        View("flows-20", "How many flows do Figs. 4 and 5 have?", "10 + 10", lambda m: m.with_flows(20)),
    ),
    conditions={"dialect": "ns-2", "schemes": list(SCHEMES)},
)
reproduce = STUDY.reproduce
