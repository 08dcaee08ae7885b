"""Reports: one HTML file that needs no network to be opened.

    parts.py                                        a report as plain data: sections, tables, charts, verdicts
    page.py                                         renders a report as an HTML page
    rendering.py                                    the templates of pages and notebook output
    charts.py                                       interactive panels
    measured.py                                     results as parts
    as_it_is.py                                     a measurement next to runs
    on_paper.py, layout.py                          figures of results for a paper; how a grid becomes panels
    figures.py                                      a paper's figures as panels
    provenance.py                                   how to repeat the runs
    notebook.py                                     HTML of results, differences and verdicts for notebooks
    flent.py                                        a run as a data file of flent
    scenario.py, study.py, paper.py, everything.py  the reports

A report only puts parts into sections; `page` renders them.
"""
