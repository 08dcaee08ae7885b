"""Generated parts of the documentation, and the count of hand-written words.

A *generated part* lies between the comments `<!-- NAME: written by COMMAND -->` and `<!-- end of NAME -->`; a command replaces
it. A *word* is anything between spaces that has a letter or a digit, in text and tables. Counted are the README and the pages of
`docs/`, without generated parts and code blocks; the changelog and the pages that are generated from the code are not counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

GENERATED = re.compile(r"<!-- ([^:>]+): written by [^>]*-->\n(.*?)<!-- end of \1 -->", re.DOTALL)
CODE = re.compile(r"^ *```.*?^ *```", re.DOTALL | re.MULTILINE)
MOST_WORDS = 35_000


def written(text: str) -> str:
    """The text without its generated parts."""
    return GENERATED.sub("", text)


def counts(root: Path) -> Iterator[tuple[str, int]]:
    """Each page's path and number of words outside generated parts and code."""
    for path in (root / "README.md", *sorted((root / "docs").glob("*.md"))):
        text = CODE.sub("", written(path.read_text(encoding="utf-8")))
        yield f"{path.relative_to(root)}", sum(bool(re.search(r"\w", word)) for word in text.split())


def appendix(text: str, page: str, most_lines: int = 100) -> tuple[str, str]:
    """The page with the tables of its long generated parts replaced by a link, and an appendix page with these tables.

    The tables of a part begin at its first heading; what is above, such as findings, stays on the page. A part without
    headings moves as a whole. Without a long part the appendix is empty.
    """
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    parts: list[str] = []

    def moved(found: re.Match[str]) -> str:
        if found[2].count("\n") <= most_lines:
            return found[0]
        heading = re.search(r"^#", found[2], re.MULTILINE)
        start = heading.start() if heading else 0
        parts.append(found[2][start:].strip())
        return f"{found[2][:start]}\n[All tables]({page}-tables.md)\n"

    rest = GENERATED.sub(moved, text)
    head = f"# Tables: {title[1] if title else page}\n\nGenerated. The text that goes with them is on [the page]({page}.md).\n\n"
    return rest, head + "\n\n".join(parts) + "\n" if parts else ""
