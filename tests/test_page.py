"""A paper's verdicts on a page of the documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from wifair.errors import InputError
from wifair.papers.page import VERDICTS, verdicts

CLAIM: dict[str, Any] = {
    "id": "a",
    "section": "IV",
    "figure": "3a",
    "statement": "A | B.",
    "unit": "Mbps",
    "published": 2.0,
    "measured": 2.125,
    "ci_low": 2.0,
    "ci_high": 2.25,
    "verdict": "reproduced",
    "why": "within 1.8 to 2.2",
}
DOCUMENT: dict[str, Any] = {
    "claims": [
        CLAIM,
        {**CLAIM, "id": "b", "figure": None, "published": None, "measured": None, "verdict": "undetermined"},
    ],
    "conditions": {"replications": 10, "schemes": ["droptail", "red"]},
    "alternatives": [
        {
            "question": "Which?",
            "choice": "the other",
            "changed_verdicts": {
                "a": {"baseline": "reproduced", "here": "not reproduced"},
                "b": {"baseline": "undetermined", "here": "reproduced"},
            },
        }
    ],
}


def test_every_claim_is_a_row() -> None:
    text = verdicts(DOCUMENT)
    assert "2 claims: 1 reproduced, 1 undetermined." in text
    assert "replications 10; schemes droptail, red." in text
    assert "| IV | 3a | `a`: A \\| B. | 2 | 2.12 [2, 2.25] Mbps | **reproduced**: within 1.8 to 2.2 |" in text
    assert "| IV |  | `b`: A \\| B. | – | – | **undetermined**: within 1.8 to 2.2 |" in text
    assert "| Which? | the other | `a`: reproduced → not reproduced |" in text


def test_only_what_lies_between_the_marks_is_replaced(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{VERDICTS.begin}\nold\n{VERDICTS.end}\nafter\n")
    VERDICTS.write(page, "new")
    VERDICTS.write(page, "newer")
    assert page.read_text() == f"before\n{VERDICTS.begin}\n\nnewer\n{VERDICTS.end}\nafter\n"


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("mine")
    with pytest.raises(InputError, match="no place for verdicts"):
        VERDICTS.write(page, "new")
    assert page.read_text() == "mine"
    with pytest.raises(InputError, match="cannot be read"):
        VERDICTS.write(tmp_path / "none.md", "new")
