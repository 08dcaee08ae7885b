"""Reports: one HTML file that needs no network to be opened.

    parts.py        what a report is made of, as plain data: sections, tables, charts, verdicts
    page.py         draws them: a page, or a fragment for a notebook
    charts.py       interactive panels
    measured.py     what was measured, as parts
    figures.py      a paper's figures as panels
    provenance.py   how to run it again
    notebook.py     results, differences, verdicts as a notebook shows them
    scenario.py, study.py, paper.py   the reports

A new report puts parts into sections; none of the drawing is its business.
"""
