"""The scenario file of an observed network: the origin of each value in a comment, and a table of all origins at the end."""

from __future__ import annotations

from collections import Counter

from wifair.observed.network import Value
from wifair.observed.tables import Document, Table
from wifair.toml_text import value

HEADINGS = ("key", "origin", "values", "from")
# The widest line whose comment follows the value.
WIDTH = 100


def text(document: Document) -> str:
    """The whole file."""
    parts = [_head(document), f"title = {value(document.title)}", *(_table(table) for table in document.tables)]
    rows = [HEADINGS, *summary(document)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    aligned = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    parts.append("\n".join(["# Where the values are from:", *(f"# {line}" for line in aligned)]))
    if document.remarks:
        parts.append("\n".join(f"# {_plain(remark)}." for remark in document.remarks))
    return "\n\n".join(parts) + "\n"


def summary(document: Document) -> list[tuple[str, str, str, str]]:
    """A row for each key, origin and rule, with the number of values."""
    found: Counter[tuple[str, str, str]] = Counter()
    for table in document.tables:
        head = table.header.strip("[]")
        for key, each in table.keys.items():
            if key not in ("name", "station"):
                found[f"{head}.{key}", each.origin, _plain(each.what)] += 1
    return [(key, origin, f"{number}", what) for (key, origin, what), number in found.items()]


def _head(document: Document) -> str:
    return "\n".join(
        [
            f"# Imported from {_plain(', '.join(document.files))}.",
            "# read: a file has it. assumed: it follows from what was read by an assumption. unknown: no file has it; a default.",
        ]
    )


def _table(table: Table) -> str:
    lines = [f"{table.header}  # {_plain(table.remark)}" if table.remark else table.header]
    for key, each in table.keys.items():
        lines += _key(key, each)
    return "\n".join(lines)


def _key(key: str, found: Value[object]) -> list[str]:
    line = f"{key} = {value(found.value)}"
    if key in ("name", "station"):
        return [line]
    comment = f"# {_plain(found.comment())}"
    return [f"{line}  {comment}"] if len(line) + len(comment) <= WIDTH else [comment, line]


def _plain(told: str) -> str:
    """Without characters that end a comment or that a terminal obeys."""
    return "".join(letter if letter.isprintable() else "?" for letter in told)
