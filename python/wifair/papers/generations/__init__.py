"""Study: which of the papers' findings and cures survive on 802.11b, g, n, ac, ax and be.

wifair's own study in the papers' form: the headline of each of the five papers, on one link configuration per
generation, with the papers' numbers and with buffers and windows scaled in time. One BSS, a single user per PPDU, no
OFDMA.
"""

from __future__ import annotations

from wifair.papers.generations.claims import CLAIMS
from wifair.papers.generations.grid import FIGURES, cells
from wifair.papers.generations.measured import Measured
from wifair.papers.generations.readings import READINGS
from wifair.papers.generations.study import FORMS
from wifair.papers.reproduction import PaperStudy

TITLE = "Do they survive? Five papers' findings on six generations of 802.11"
PROPOSES = "a study of ours"

STUDY = PaperStudy(
    claims=CLAIMS,
    figures=FIGURES,
    forms=FORMS,
    cells=cells,
    measured=Measured,
    figures_module=f"{__name__}.figures",
    readings=READINGS,
    conditions={
        "warmup_s": "by generation",
        "duration_s": "by generation",
        "air": "one BSS, a single user per PPDU, no OFDMA",
        "fill": "gather",
    },
    shown="survival",
)
reproduce = STUDY.reproduce
