"""A paper's verdicts on a page of the documentation."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from wifair.errors import InputError
from wifair.markdown import Marks
from wifair.papers import paper_ids
from wifair.papers.page import COLUMNS, MOVES, PAPERS, SUMMARY, VERDICTS, moves, verdicts, write

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
    "reading": "by 10 %",
    "over": "",
    "formerly": None,
}
DOCUMENT: dict[str, Any] = {
    "paper": "alt",
    "proposes": "buffers",
    "dropped": [],
    "claims": [
        CLAIM,
        {**CLAIM, "id": "b", "figure": None, "published": None, "measured": None, "verdict": "undetermined"},
    ],
    "conditions": {"replications": 10, "schemes": ["droptail", "red"]},
    "alternatives": [
        {
            "id": "other",
            "kind": "What the paper leaves open",
            "replications": 10,
            "question": "Which?",
            "choice": "the other",
            "changed_verdicts": {
                "a": {
                    "baseline": "reproduced",
                    "here": "not reproduced",
                    "baseline_measured": {"mean": 2.125},
                    "measured": {"mean": 3.0},
                },
                "b": {"baseline": "undetermined", "here": "reproduced", "baseline_measured": None, "measured": None},
            },
            "same_verdicts": {},
            "undetermined_in_both": ["c"],
        }
    ],
}


def test_every_claim_is_a_row() -> None:
    text = verdicts(DOCUMENT)
    assert "2 claims: 1 reproduced, 1 undetermined." in text
    assert "replications 10; schemes droptail, red." in text
    assert "| IV | 3a | `a`: A \\| B. | by 10 % | 2 | 2.12 [2, 2.25] Mbps | **reproduced**: within 1.8 to 2.2 |" in text
    assert "| IV |  | `b`: A \\| B. | by 10 % | – | – | **undetermined**: within 1.8 to 2.2 |" in text
    changes = "`a`: reproduced → not reproduced (2.12, 3); `b`: undetermined → reproduced; undetermined in both: `c`"
    assert f"| `other` | Which? | the other | 10 | {changes} |" in text
    assert "rewritten" not in text
    assert "no longer" not in text


def test_none_is_said_only_where_every_claim_has_a_verdict() -> None:
    other = {**DOCUMENT["alternatives"][0], "changed_verdicts": {}}
    assert "| 10 | undetermined in both: `c` |" in verdicts({**DOCUMENT, "alternatives": [other]})
    assert "| 10 | none |" in verdicts({**DOCUMENT, "alternatives": [{**other, "undetermined_in_both": []}]})


def test_the_rule_before_stands_beside_the_present_one() -> None:
    claim = {
        **CLAIM,
        "formerly": {"reading": "by 20 %", "verdict": "trend only", "here": "not reproduced"},
        "over": "the mean of two",
    }
    dropped = {"id": "z", "statement": "Z.", "reading": "any", "verdict": "reproduced", "why": "it cannot fail"}
    text = verdicts({**DOCUMENT, "claims": [claim], "dropped": [dropped]})
    assert "| `a` | by 20 % | trend only | not reproduced | by 10 % | reproduced |" in text
    assert "| `z`: Z. | any | reproduced | it cannot fail |" in text
    assert "**reproduced** (on the mean of two): within" in text


def test_a_page_gets_what_it_has_marks_for(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    other, mine = "| [x](docs/x.md) | marks | 3 | 3 |  |  |  |  |", "| [alt](docs/alt.md) | old | 1 | 1 |  |  |  |  |"
    page.write_text(f"{SUMMARY.begin}\n{SUMMARY.end}\n{PAPERS.begin}\n\n| a |\n| - |\n{mine}\n{other}\n{PAPERS.end}\n")
    write(page, DOCUMENT)
    text = page.read_text()
    assert "2 claims: 1 reproduced, 1 undetermined.\n\n[Every claim" in text
    assert f"| [alt](docs/alt.md) | buffers | 2 | 1 |  |  | 1 |  |\n{other}" in text
    page.write_text("mine")
    with pytest.raises(InputError, match="no place for a paper's verdicts"):
        write(page, DOCUMENT)


def test_a_page_gets_the_printed_numbers_under_several_readings(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    marks = Marks("numbers other unmoved", "wifair paper --page")
    page.write_text(f"mine\n{marks.begin}\n{marks.end}\n")
    values = {"mean": 3.0, "ci_low": 2.5, "ci_high": 3.5}
    pair = {"baseline": "reproduced", "here": "not reproduced", "baseline_measured": values, "measured": values}
    other = {**DOCUMENT["alternatives"][0], "changed_verdicts": {"a": pair}, "same_verdicts": {}}
    unmoved = {**other, "id": "unmoved", "changed_verdicts": {}}
    write(page, {**DOCUMENT, "alternatives": [other, unmoved]})
    text = page.read_text()
    assert "| `a`, Mbps | 2 | **2.12 [2, 2.25]** | 3 [2.5, 3.5] | the same |" in text
    assert "`b`" not in text
    with pytest.raises(InputError, match="'unmoved': not run here; allowed: other"):
        write(page, {**DOCUMENT, "alternatives": [other]})


def test_moves_count_claims_by_direction() -> None:
    def pair(baseline: str, here: str) -> dict[str, str]:
        return {"baseline": baseline, "here": here}

    baseline = ["reproduced", "trend only", "not reproduced", "undetermined", "calibrated"]
    changed = {
        "a": pair("reproduced", "undetermined"),
        "b": pair("trend only", "undetermined"),
        "c": pair("not reproduced", "trend only"),
        "d": pair("undetermined", "reproduced"),
    }
    text = moves(
        {
            "claims": [{"id": name, "verdict": verdict} for name, verdict in zip("abcde", baseline, strict=True)],
            "alternatives": [{"id": "other", "changed_verdicts": changed}],
        }
    )
    assert "| `--reading` | nearer | farther | between | reproduced | trend only | not | open |" in text
    assert "| baseline |  |  |  | 1 | 1 | 1 | 1 |" in text
    assert "| `other` | 2 | 1 | 1 | 1 | 1 |  | 2 |" in text
    assert "the order reproduced, then trend only or undetermined, then not reproduced;" in text


def test_moves_of_effects_have_their_own_order() -> None:
    changed = {"a": {"baseline": "survives", "here": "fades"}, "b": {"baseline": "gone", "here": "reversed"}}
    text = moves(
        {
            "claims": [{"id": "a", "verdict": "survives"}, {"id": "b", "verdict": "gone"}],
            "alternatives": [{"id": "other", "changed_verdicts": changed}],
        }
    )
    assert "the order survives, then fades, then gone, then reversed;" in text
    assert "| baseline |  |  |  | 1 |  | 1 |  |" in text
    assert "| `other` |  | 2 |  |  | 1 |  | 1 |" in text


def test_what_is_not_reproduced_names_the_readings_that_change_it() -> None:
    claims = [{**CLAIM, "id": name, "verdict": "not reproduced"} for name in "cd"]
    pair = {"baseline": "not reproduced", "here": "reproduced", "baseline_measured": None, "measured": None}
    other = {**DOCUMENT["alternatives"][0], "changed_verdicts": {"c": pair}}
    text = verdicts({**DOCUMENT, "claims": [*DOCUMENT["claims"], *claims], "alternatives": [other]})
    assert "| `c` | reproduced: `other` |\n| `d` | none |" in text
    assert "Claims that are not reproduced" not in verdicts(DOCUMENT)


def test_a_page_gets_a_reading_next_to_the_baseline(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    marks = Marks("reading other", "wifair paper --page")
    page.write_text(f"{MOVES.begin}\n{MOVES.end}\n{marks.begin}\n{marks.end}\n")
    values = {"mean": 3.0, "ci_low": 2.5, "ci_high": 3.5}
    same = {"b": {"baseline": "undetermined", "here": "undetermined", "baseline_measured": None, "measured": values}}
    changed = {
        "a": DOCUMENT["alternatives"][0]["changed_verdicts"]["a"] | {"baseline_measured": values, "measured": None}
    }
    other = {**DOCUMENT["alternatives"][0], "changed_verdicts": changed, "same_verdicts": same}
    write(page, {**DOCUMENT, "alternatives": [other]})
    text = page.read_text()
    assert "| `other` |  | 1 |  |  | 1 | 1 |" in text
    assert "| `a` | 2 | **reproduced**: 3 [2.5, 3.5] Mbps | **not reproduced** |" in text
    assert "| `b` | – | **undetermined** | **undetermined**: 3 [2.5, 3.5] Mbps |" in text


def test_a_page_gets_a_figures_text_by_its_name(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    marks = Marks("tables", "wifair paper --page")
    page.write_text(f"mine\n{marks.begin}\nold\n{marks.end}\n")
    with pytest.raises(InputError, match="no place"):
        write(page, DOCUMENT)
    write(page, {**DOCUMENT, "texts": {"tables": "new", "elsewhere": "not here"}})
    assert page.read_text() == f"mine\n{marks.begin}\n\nnew\n{marks.end}\n"


def test_a_run_of_one_figure_writes_its_text_alone(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    marks = Marks("calibration", "wifair paper --page")
    page.write_text(f"{SUMMARY.begin}\nmine\n{SUMMARY.end}\n{marks.begin}\nold\n{marks.end}\n")
    alone = {**DOCUMENT, "figure": "calibration", "texts": {"calibration": "new"}}
    write(page, alone)
    assert page.read_text() == f"{SUMMARY.begin}\nmine\n{SUMMARY.end}\n{marks.begin}\n\nnew\n{marks.end}\n"
    with pytest.raises(InputError, match="figure 2 has no text for a page"):
        write(page, {**alone, "figure": "2", "texts": {}})


@pytest.mark.parametrize("paper", paper_ids())
def test_the_readme_has_the_counts_of_the_papers_pages(paper: str) -> None:
    docs = Path(__file__).parents[1] / "docs"
    row = next(x for x in (docs.parent / "README.md").read_text().splitlines() if x.startswith(f"| [{paper}](docs/"))
    told = re.search(r"^(\d+) claims: (.*)\.$", (docs / f"{paper}.md").read_text(), re.MULTILINE)
    assert told is not None
    counts = {verdict: count for count, verdict in re.findall(r"(\d+) ([a-z ]+)", told[2])}
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[2:] == [told[1], *(counts.get(verdict, "") for verdict in COLUMNS)]
    assert told[0] in (docs / f"{paper}-verdicts.md").read_text()


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


def test_a_reading_under_which_nothing_was_measured_has_no_value() -> None:
    other = DOCUMENT["alternatives"][0]
    changed = {"a": {**other["changed_verdicts"]["a"], "measured": {"mean": float("nan")}}}
    text = verdicts({**DOCUMENT, "alternatives": [{**other, "changed_verdicts": changed}]})
    assert "nan" not in text
    assert "`a`: reproduced" in text
