"""Study: does what an access point does with its buffer still matter when the neighbours are on the channel? Our own, in the form of a paper's.

    houses.py    the houses, what a resident can change, and who adopts a scheme
    measured.py  the quantities that rules and figures use
    findings.py  the papers' findings at one flat: cells and effects
    claims.py    the claims, with their rules

The page is `docs/neighbours-study.md`.
"""
