"""Everything against everything: every scheme in every scenario, and which is best by which criterion.

    scenarios.py    which scenarios, from the papers' studies and from the gallery, and why these
    contenders.py   which schemes, and what comes with them
    senders.py      which hosts
    criteria.py     what is judged, and from which difference on it matters
    verdict.py      the rule: who is better than whom, who is beaten, who is left
    contest.py      the runs, and the verdict on each setting
    findings.py     the conclusion, in computed sentences
    page.py         the conclusion as Markdown, for a page of the documentation
    figures.py      the matrix as a picture

The rule is in `docs/comparison.md`.
"""
