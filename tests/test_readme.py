"""The README's example has the output that its command gives, and the README is at most two screens long."""

from __future__ import annotations

import re
from importlib import import_module

from conftest import ROOT
from wifair import compare, load
from wifair.stats import t_interval

README = (ROOT / "README.md").read_text(encoding="utf-8")
COLUMNS = {
    "Jain's index": "jain",
    "up, Mbps": "up_mbps",
    "down, Mbps": "down_mbps",
    "AP sojourn, ms": "ap_sojourn_mean_ms",
}


def test_the_example_gives_the_table_below_it() -> None:
    ((cell, schemes),) = re.findall(r"^wifair compare (paper:\S+) --schemes (\S+)$", README, re.MULTILINE)
    heads, _, *rows = re.findall(r"^\|.*\|$", README.partition("--schemes")[2].partition("## ")[0], re.MULTILINE)
    columns = [COLUMNS[head.strip()] for head in heads.strip("|").split("|")[1:]]
    results = compare(load(cell), schemes.split(","), seeds=10)
    for row, scheme in zip(rows, schemes.split(","), strict=True):
        label, *cells = (cell.strip() for cell in row.strip("|").split("|"))
        assert label == f"`{scheme}`"
        own = results.metrics.filter(scenario=scheme)
        for column, cell in zip(columns, cells, strict=True):
            assert t_interval(own[column].to_numpy()).short() == cell, (scheme, column)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 110


def test_the_example_is_a_point_of_the_figure() -> None:
    """The example's cell is the figure's at ten downloads, which the paper's page lists."""
    study = import_module("wifair.papers.adaptive_pushout").STUDY
    cells = study.cells(study.forms["full"], "5a")
    [of_figure] = [cell.scenario for cell in cells if cell.keys["n_down"] == 10 and cell.keys["scheme"] == "droptail"]
    own, theirs = load("paper:adaptive-pushout").plan(), of_figure.plan()
    assert {**own, "run": None} == {**theirs, "run": None}
    assert {**own["run"], "record_transfers": True} == {**theirs["run"], "record_transfers": True}
