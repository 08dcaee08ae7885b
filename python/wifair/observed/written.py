"""The scenario file of an observed network: the origin of each value in a comment, and a table of all origins at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from wifair.observed.network import Value
from wifair.observed.tables import Document, Table
from wifair.toml_text import value

LEFT_OUT = ("BSS", "channel", "dBm", "why it is left out", "effect")
HEADINGS = ("key", "origin", "values", "from")
# Keys without a comment.
NAMES = ("name", "station", "station.name")
# The widest line whose comment follows the value.
WIDTH = 100


def text(document: Document) -> str:
    """The whole file."""
    parts = [
        _head(document),
        *_missed(document),
        f"title = {value(document.title)}",
        *(_table(table) for table in document.tables),
    ]
    parts.append(_commented("Where the values are from:", [HEADINGS, *summary(document)]))
    if document.left_out:
        parts.append(_commented("Heard, and not in this scenario:", [LEFT_OUT, *left_out(document)]))
    if document.remarks:
        parts.append("\n".join(f"# {_plain(remark)}." for remark in document.remarks))
    return "\n\n".join(parts) + "\n"


def _commented(title: str, rows: Sequence[Sequence[str]]) -> str:
    """A table as a comment."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    aligned = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([f"# {title}", *(f"# {line}" for line in aligned)])


def _missed(document: Document) -> list[str]:
    """A warning for the top of the file, if BSSs are left out that take air of those that are there."""
    return [f"# {missed(document)}; they are listed at the end of this file."] if document.missed else []


def missed(document: Document) -> str:
    """How many BSSs are left out that take air of those that are there, and what follows."""
    count = len(document.missed)
    most = max(each.dbm for each in document.missed)
    return (
        f"Not in this scenario: {count} BSS{'s' if count > 1 else ''} whose channel overlaps by a part of 20 MHz, the strongest with {most:g} dBm. "
        "In reality the air is busier than here"
    )


def left_out(document: Document) -> list[tuple[str, ...]]:
    """A row for each BSS that is left out; those that matter first."""
    ordered = sorted(document.left_out, key=lambda each: (not each.is_missed, -each.dbm))
    return [(_plain(each.bss), each.channel, f"{each.dbm:g}", _plain(each.why), each.effect) for each in ordered]


def summary(document: Document) -> list[tuple[str, str, str, str]]:
    """A row for each key, origin and rule, with the number of values. What was read has one row, whatever the fields: it follows no rule."""
    found: Counter[tuple[str, str, str]] = Counter()
    fields: dict[str, dict[str, None]] = {}
    for table in document.tables:
        head = table.header.strip("[]")
        for key, each in table.keys.items():
            if key not in NAMES:
                path, is_read = f"{head}.{key}", each.origin == "read"
                found[path, each.origin, "" if is_read else _plain(each.what)] += 1
                if is_read:
                    fields.setdefault(path, {})[_plain(each.what)] = None
    return [
        (key, origin, f"{number}", "; ".join(fields[key]) if origin == "read" else what)
        for (key, origin, what), number in found.items()
    ]


def _head(document: Document) -> str:
    return "\n".join(
        [
            f"# Imported from {_plain(', '.join(document.files))}.",
            "# read: a file has it. given: an option of the command has it. assumed: it follows from what was read by an assumption. unknown: no file has it; a default.",
        ]
    )


def _table(table: Table) -> str:
    lines = [f"{table.header}  # {_plain(table.remark)}" if table.remark else table.header]
    for key, each in table.keys.items():
        lines += _key(key, each)
    return "\n".join(lines)


def _key(key: str, found: Value[object]) -> list[str]:
    line = f"{key} = {value(found.value)}"
    if key in NAMES:
        return [line]
    comment = f"# {_plain(found.comment())}"
    return [f"{line}  {comment}"] if len(line) + len(comment) <= WIDTH else [comment, line]


def _plain(told: str) -> str:
    """Without characters that end a comment or that a terminal obeys."""
    return "".join(letter if letter.isprintable() else "?" for letter in told)
