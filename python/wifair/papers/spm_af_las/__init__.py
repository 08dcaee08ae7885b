"""The paper `spm-af-las`: Figs. 2 to 4 and 6 to 13, and every sentence that states a result.

Q. Wu, M. Gong, C. Williamson: TCP Fairness Issues in IEEE 802.11 Wireless LANs, Computer Communications 2008.
"""

from __future__ import annotations

from wifair.papers.reproduction import PaperStudy
from wifair.papers.spm_af_las.claims import CLAIMS, DROPPED
from wifair.papers.spm_af_las.measured import Measured
from wifair.papers.spm_af_las.readings import READINGS
from wifair.papers.spm_af_las.study import CELLS_OF_FIGURE, FORMS, UP_DOWN_SCHEMES, cells

TITLE = "TCP Fairness Issues in IEEE 802.11 Wireless LANs"
PROPOSES = "marks for small windows, least attained service"
FIGURES = tuple(CELLS_OF_FIGURE)


STUDY = PaperStudy(
    claims=CLAIMS,
    dropped=DROPPED,
    figures=FIGURES,
    forms=FORMS,
    cells=cells,
    measured=Measured,
    figures_module=f"{__name__}.figures",
    readings=READINGS,
    conditions={"dialect": "ns-2 (Section 4: standard)", "schemes": list(UP_DOWN_SCHEMES)},
)
reproduce = STUDY.reproduce
