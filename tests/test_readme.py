"""The README's example has the output that its command gives, and the README is at most two screens long."""

from __future__ import annotations

import re
import tomllib

from conftest import ROOT
from wifair import Scenario, compare
from wifair.stats import t_interval

README = (ROOT / "README.md").read_text(encoding="utf-8")
COLUMNS = {
    "Jain's index": "jain",
    "up, Mbps": "up_mbps",
    "down, Mbps": "down_mbps",
    "AP sojourn, ms": "ap_sojourn_mean_ms",
}


def test_the_example_gives_the_table_below_it() -> None:
    (text,) = re.findall(r"^```toml\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    (schemes,) = re.findall(r"^wifair compare cell\.toml --schemes (\S+)$", README, re.MULTILINE)
    heads, _, *rows = re.findall(r"^\|.*\|$", README.partition("--schemes")[2].partition("## ")[0], re.MULTILINE)
    columns = [COLUMNS[head.strip()] for head in heads.strip("|").split("|")[1:]]
    results = compare(Scenario(**tomllib.loads(text)), schemes.split(","), seeds=10)
    for row, scheme in zip(rows, schemes.split(","), strict=True):
        label, *cells = (cell.strip() for cell in row.strip("|").split("|"))
        assert label == f"`{scheme}`"
        own = results.metrics.filter(scenario=scheme)
        for column, cell in zip(columns, cells, strict=True):
            assert t_interval(own[column].to_numpy()).short() == cell, (scheme, column)


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 110
