"""Plain English: words that the documentation, the changelog and the messages of wifair avoid (`tests/words.toml`).

Documentation, README, changelog, `python/wifair` and the comments of the crates have none of them. The comments of the crates in
`crates_with_some` have at most the numbers of `[most_in_crates]`, which may only fall.
"""

from __future__ import annotations

import io
import re
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT

from docsite.generated import written

RULES = tomllib.loads((ROOT / "tests" / "words.toml").read_text(encoding="utf-8"))
PATTERNS = {word["name"]: re.compile(word["pattern"], re.IGNORECASE) for word in RULES["word"]}
INSTEAD = {word["name"]: word["instead"] for word in RULES["word"]}
TEXTS = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md") if (ROOT / name).exists()] + sorted(
    (ROOT / "docs").glob("*.md")
)
MODULES = sorted((ROOT / "python" / "wifair").rglob("*.py"))


def lines_of_text(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a Markdown page, numbered; generated parts and code blocks are empty."""
    text = path.read_text(encoding="utf-8")
    kept = written(text)
    if kept != text:  # keep the numbers of the lines
        text = re.sub(
            r"<!-- ([^:>]+): written by [^>]*-->\n(.*?)<!-- end of \1 -->",
            lambda found: "\n" * found[0].count("\n"),
            text,
            flags=re.DOTALL,
        )
    text = re.sub(r"^```.*?^```", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    yield from enumerate(text.splitlines(), 1)


def lines_of_python(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of the comments and strings of a module."""
    source = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if tokenize.tok_name[token.type] in ("COMMENT", "STRING", "FSTRING_MIDDLE"):
            text = (
                re.sub(r"\{[^{}]*\}", "…", token.string) if token.string[:2].lower() in ("f'", 'f"') else token.string
            )
            yield from enumerate(text.splitlines(), token.start[0])


def lines_of_rust(path: Path) -> Iterator[tuple[int, str]]:
    """The comments of a Rust file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if found := re.search(r"//[/!]?(.*)$", line):
            yield number, found[1]


def found_in(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    """Word and place of each match. A match may continue on the next line."""
    numbered = [(number, line.strip().strip("#").strip()) for number, line in lines]
    for (number, line), (_, following) in zip(numbered, [*numbered[1:], (0, "")], strict=True):
        both = f"{line} {following}"
        for name, pattern in PATTERNS.items():
            for match in pattern.finditer(both):
                if match.start() < len(line):
                    place = path.relative_to(ROOT).as_posix()
                    yield name, f"{place}:{number}: {match[0]!r}; {INSTEAD[name]}: {line.strip()[:100]}"


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_the_documentation_avoids_them(path: Path) -> None:
    assert [place for _, place in found_in(path, lines_of_text(path))] == []


def test_the_python_package_avoids_them() -> None:
    assert [place for path in MODULES for _, place in found_in(path, lines_of_python(path))] == []


def test_the_comments_of_the_crates_have_no_more_of_them_than_before() -> None:
    counted: Counter[str] = Counter()
    for crate in sorted((ROOT / "crates").iterdir()):
        found = [match for path in sorted(crate.rglob("*.rs")) for match in found_in(path, lines_of_rust(path))]
        if crate.name in RULES["crates_with_some"]:
            counted.update(name for name, _ in found)
        else:
            assert found == []
    most = RULES["most_in_crates"]
    assert set(most) == set(PATTERNS)
    assert {name: f"{counted[name]}, at most {most[name]}" for name in most if counted[name] > most[name]} == {}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The time that it is told is there.", "is told"),
        ("It stands in the plan.", "stands"),
        ("The share is that of the looks.", "looks"),
        ("which the standard has not.", "has not"),
        ("has a buffer of its own", "of its own"),
    ],
)
def test_a_retired_word_is_found(text: str, name: str) -> None:
    assert PATTERNS[name].search(text)


@pytest.mark.parametrize(
    "text",
    [
        "BSS stands for basic service set.",
        "This has not run yet.",
        "It looks at the queue.",
        "The counter stands still.",
    ],
)
def test_another_sense_is_not(text: str) -> None:
    assert [name for name, pattern in PATTERNS.items() if pattern.search(text)] == []
