"""The pages on schemes of one's own: every block is run, and what they quote is what stands in the code."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import ROOT
from pages import FILE, blocks, run_page

PYTHON = ROOT / "docs" / "own-scheme-in-python.md"
RUST = ROOT / "docs" / "own-scheme-in-rust.md"


@pytest.mark.whole
def test_every_block_of_the_page_runs(tmp_path: Path) -> None:
    assert run_page(PYTHON, tmp_path) > 15


@pytest.mark.whole
def test_every_block_of_the_page_on_python_runs(tmp_path: Path) -> None:
    assert run_page(ROOT / "docs" / "python-api.md", tmp_path) > 10
    for name in ("schemes", "grid", "gentle", "gentle-python", "rtt"):
        data = (tmp_path / f"{name}.pdf").read_bytes()
        assert b"/MediaBox [ 0 0 252 " in data
        assert b"/Subtype /Type3" not in data


def test_a_page_that_says_something_else_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match="but this was printed:\n1"):
        run_page(page, tmp_path)


def test_the_adaptive_pushout_of_the_page_is_the_example() -> None:
    (quoted,) = [text for _, text in blocks(PYTHON) if text.startswith("# adaptive_pushout.py\n")]
    assert quoted.partition("\n")[2] == (ROOT / "examples" / "adaptive_pushout.py").read_text()


def test_the_rust_of_the_page_is_that_of_the_sources() -> None:
    sources = [(path.name, path.read_text()) for path in (ROOT / "crates" / "wifair-queue").rglob("*.rs")]
    quotes = [text for language, text in blocks(RUST) if language == "rust"]
    assert len(quotes) >= 3
    for quote in quotes:
        if head := FILE.match(quote.replace("// ", "# ", 1)):
            assert (head[1], quote.partition("\n")[2]) in sources, head[1]
        else:
            assert any(quote in source for _, source in sources), quote
