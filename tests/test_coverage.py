"""The page on coverage: written from what was measured, and measured on the crates as they are."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from conftest import ROOT

from benches import coverage

PAGE = ROOT / "docs/coverage.md"


def file(name: str, covered: int, count: int) -> dict[str, object]:
    summary = {kind: {"covered": covered, "count": count} for kind in ("lines", "regions", "functions")}
    return {"filename": f"/a/crates/{name}", "summary": summary}


def test_the_page_gets_what_was_measured_and_keeps_the_rest(tmp_path: Path) -> None:
    page = tmp_path / "coverage.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    package = page.read_text(encoding="utf-8").partition("## The Python package")[2]
    files = [file("wifair-b/src/a.rs", 1, 2), file("wifair-b/src/c/d.rs", 1998, 1998), file("wifair-a/src/a.rs", 9, 12)]
    (tmp_path / "engine.json").write_text(json.dumps({"data": [{"files": files}]}), encoding="utf-8")
    assert coverage.write(page, tmp_path) == ["engine"]
    text = page.read_text(encoding="utf-8")
    assert "**At least 75 % of the lines of each crate.**" in text
    assert "| `wifair-a` | 75.0 % (9 of 12) | 75.0 % | 75.0 % |\n| `wifair-b` | 99.9 % (1,999 of 2,000) |" in text
    assert text.endswith(package)
    totals = {"covered_lines": 7, "num_statements": 8, "covered_branches": 1, "num_branches": 4}
    (tmp_path / "package.json").write_text(json.dumps({"totals": totals}), encoding="utf-8")
    assert coverage.write(page, tmp_path) == ["engine", "package"]
    told = "**87.5 % of the lines (7 of 8) and 25.0 % of the branches (1 of 4)**, child processes included."
    assert told in page.read_text(encoding="utf-8")


CRATES = sorted(path.name for path in (ROOT / "crates").iterdir() if path.name != "wifair-py")


@pytest.mark.parametrize("crate", CRATES)
def test_the_page_counts_the_lines_that_a_crate_has(crate: str) -> None:
    """The compiler counts about two thirds of the lines that are neither empty nor comments. Outside of these bounds the page is old.

    cargo llvm-cov leaves out files with the name tests.rs.
    """
    row = re.search(
        rf"^\| `{crate}` \| [\d.]+ % \([\d,]+ of ([\d,]+)\)", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert row, "make coverage"
    paths = [path for path in (ROOT / "crates" / crate / "src").rglob("*.rs") if path.name != "tests.rs"]
    sources = [path.read_text(encoding="utf-8") for path in paths]
    lines = [
        line for text in sources for line in text.splitlines() if line.strip() and not line.strip().startswith("//")
    ]
    assert 0.5 < int(row[1].replace(",", "")) / len(lines) < 0.85, "make coverage"
