"""The README's examples have the output that their commands give."""

from __future__ import annotations

import re
from importlib import import_module

import pytest
from conftest import ROOT
from wifair import Scenario, compare, load
from wifair.cli.schemes_of_files import assignments
from wifair.stats import t_interval

README = (ROOT / "README.md").read_text(encoding="utf-8")
COLUMNS = {
    "a page loads in, s": "transfer_mean_s",
    "total, Mbps": "total_mbps",
    "Jain's index": "jain",
    "up, Mbps": "up_mbps",
    "down, Mbps": "down_mbps",
    "AP sojourn, ms": "ap_sojourn_mean_ms",
}


EXAMPLES = re.findall(r"^wifair compare (\S+) --schemes (\S+)((?: --set \S+)*)$", README, re.MULTILINE)


def test_the_examples_are_found() -> None:
    cells = [(cell, settings) for cell, _, settings in EXAMPLES]
    assert cells == [("cafe", ""), ("cafe", " --set ap.hardware=ideal"), ("paper:adaptive-pushout", "")]


@pytest.mark.whole
@pytest.mark.parametrize(("cell", "schemes", "settings"), EXAMPLES)
def test_an_example_gives_the_table_below_it(cell: str, schemes: str, settings: str) -> None:
    below = README.partition(f"wifair compare {cell} --schemes {schemes}{settings}\n```")[2]
    table = re.search(r"(?:^\|.*\|\n)+", below, re.MULTILINE)
    assert table
    heads, _, *rows = table[0].splitlines()
    columns = [COLUMNS[head.strip()] for head in heads.strip("|").split("|")[1:]]
    results = compare(Scenario.from_toml(cell, assignments(settings.split()[1::2])), schemes.split(","), seeds=10)
    for row, scheme in zip(rows, schemes.split(","), strict=True):
        label, *cells = (cell.strip() for cell in row.strip("|").split("|"))
        assert label == f"`{scheme}`"
        own = results.metrics.filter(scenario=scheme)
        assert [t_interval(own[column].to_numpy()).short() for column in columns] == cells, scheme


def test_the_example_is_a_point_of_the_figure() -> None:
    """The example's cell is the figure's at ten downloads, which the paper's page lists."""
    study = import_module("wifair.papers.adaptive_pushout").STUDY
    cells = study.cells(study.forms["full"], "5a")
    [of_figure] = [cell.scenario for cell in cells if cell.keys["n_down"] == 10 and cell.keys["scheme"] == "droptail"]
    own, theirs = load("paper:adaptive-pushout").plan(), of_figure.plan()
    assert {**own, "run": None} == {**theirs, "run": None}
    assert {**own["run"], "record_transfers": True} == {**theirs["run"], "record_transfers": True}
