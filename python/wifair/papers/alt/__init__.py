"""The paper `alt`: Figs. 2 to 7 and every sentence that states a result.

T. Li, D. Leith: Adaptive Buffer Sizing for TCP Flows in 802.11e WLANs.
"""

from __future__ import annotations

from wifair.papers.alt.claims import CLAIMS
from wifair.papers.alt.measured import Measured
from wifair.papers.alt.readings import READINGS
from wifair.papers.alt.study import FIGURES, FORMS, cells
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
    readings=READINGS,
    conditions={"dialect": "standard"},
)
reproduce = STUDY.reproduce
