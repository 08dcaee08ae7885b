"""Generated parts of the documentation.

A *generated part* lies between the comments `<!-- NAME: written by COMMAND -->` and `<!-- end of NAME -->`; a command replaces
it.
"""

from __future__ import annotations

import re

GENERATED = re.compile(r"<!-- ([^:>]+): written by [^>]*-->\n(.*?)<!-- end of \1 -->", re.DOTALL)


def written(text: str) -> str:
    """The text without its generated parts."""
    return GENERATED.sub("", text)


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
