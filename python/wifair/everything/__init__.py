"""`wifair compare --all`: every scheme in every scenario, and the best by each criterion.

    scenarios.py     the scenarios, from the papers' studies and the gallery, with reasons
    contenders.py    the schemes, and the changes that they need elsewhere
    senders.py       the hosts
    criteria.py      the criteria, and the differences that matter
    verdict.py       the rule: better, beaten, unbeaten
    contest.py       the runs, and the verdict by setting
    findings.py      the conclusion on a setting as sentences, and the record of each scheme
    advice.py        what to do in one setting
    summary.py       what all settings together say, for the README and the top of the page
    shares.py        what many scenarios say, in shares of them
    share_figure.py  the shares as a picture
    side_effects.py  what changes at one BSS do to the others
    values.py        the value of every run, kept next to the page
    page.py          the conclusion as Markdown for the documentation
    figures.py       the matrices as pictures
    document.py      the whole result as the content of one JSON document

The rule is in `docs/comparison.md`.
"""
