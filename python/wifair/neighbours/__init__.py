"""Study: does what an access point does with its buffer still matter when the neighbours are on the channel? Our own, in the form of a paper's.

    houses.py    the houses, what a resident can change, and who adopts a scheme
    measured.py  the quantities that rules and figures use
    findings.py  the papers' findings at one flat: cells and effects
    claims.py    the claims, with their rules
    grid.py      the cells
    figures.py   the figures and the tables
    study.py     runs the cells, and judges the claims

The page is `docs/neighbours-study.md`.
"""

from __future__ import annotations

from wifair.neighbours.figures import FIGURES
from wifair.neighbours.study import reproduce

__all__ = ["FIGURES", "PROPOSES", "TITLE", "reproduce"]

TITLE = "Does the access point's buffer matter among neighbours?"
PROPOSES = "a study of ours"
