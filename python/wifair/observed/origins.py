"""Reads from a scenario file which of its values are assumed, unknown or fitted: the comments of `wifair.observed.written` and of `wifair.fitting.written`.

A comment belongs to the key on its line, or to the key on the line below.
Comments may be written by hand, and removed where the value is known. A fitted value is a mark if its comment lists other values, as a list of TOML.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from wifair.errors import InputError

_HEADER = re.compile(r"(?P<open>\[{1,2})\s*(?P<name>[A-Za-z0-9_.-]+)\s*\]{1,2}\s*(?:#.*)?")
_KEY = re.compile(r"(?P<key>[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)\s*=")
# The reason comes after the file and the line that a value was read from, if there is one.
_MARK = re.compile(r"#.*?\b(?P<origin>assumed|unknown|fitted): (?:[^,]*:\d+, )?(?P<what>.*)")
# The other values of a fitted one, in its comment.
FITS_AS_WELL = "fits as well: "
_OTHERS = re.compile(rf"{FITS_AS_WELL}(?P<others>\[.*\]); ")


@dataclass(frozen=True)
class Mark:
    """A value that is assumed, unknown or fitted: its path in the scenario, as `flows[3].application`, and why.

    `key` is empty for the table as a whole. `family` is its path without indexes: values of one family with the same reason follow from one
    assumption. `others` are the values that fit as well as a fitted one: those at one place of the lists of one assumption belong together.
    """

    path: str
    table: str
    key: str
    origin: Literal["assumed", "unknown", "fitted"]
    what: str
    others: tuple[Any, ...] = field(default=(), hash=False)

    @property
    def family(self) -> str:
        """The path without indexes."""
        return f"{self.table}.{self.key}" if self.key else self.table


def marks(text: str) -> list[Mark]:
    """The values that the comments of a scenario file mark, in the order of the file. Raises `InputError` for a list of other values that is none."""
    return [mark for mark, _, _ in _marked(text)]


def replaced(text: str, new: Mapping[str, tuple[str, str]]) -> str:
    """The text with other values of marked keys, each as TOML with its comment, by their path. A comment above is removed."""
    lines: list[str | None] = [*text.split("\n")]
    for mark, number, is_above in _marked(text):
        if mark.key and mark.path in new:
            value, comment = new[mark.path]
            lines[number] = f"{mark.key} = {value}  # {comment}"
            if is_above:
                lines[number - 1] = None
    return "\n".join(line for line in lines if line is not None)


def _marked(text: str) -> list[tuple[Mark, int, bool]]:
    """Each mark with the number of its key's line, and whether the comment is on the line above."""
    found: list[tuple[Mark, int, bool]] = []
    seen: Counter[str] = Counter()
    at = table = ""
    above: re.Match[str] | None = None
    for number, line in enumerate(line.strip() for line in text.split("\n")):
        mark = _MARK.search(line)
        if mark and mark["origin"] == "fitted" and FITS_AS_WELL not in mark["what"]:
            mark = None
        if line.startswith("#"):
            above = mark
            continue
        header, key = _HEADER.fullmatch(line), _KEY.match(line)
        if header:
            table = header["name"]
            at = f"{table}[{seen[table]}]" if header["open"] == "[[" else table
            seen[table] += 1
            if mark:
                found.append((_mark(at, table, "", mark), number, False))
        elif key and (mark or above):
            path = f"{at}.{key['key']}" if at else key["key"]
            marked = _mark(path, table, key["key"], cast("re.Match[str]", mark or above))
            found.append((marked, number, mark is None))
        above = None
    return found


def _mark(path: str, table: str, key: str, mark: re.Match[str]) -> Mark:
    origin = cast("Literal['assumed', 'unknown', 'fitted']", mark["origin"])
    if origin != "fitted":
        return Mark(path, table, key, origin, mark["what"].strip())
    listed = _OTHERS.search(mark["what"])
    try:
        others = tuple(tomllib.loads(f"others = {listed['others'] if listed else '?'}")["others"])
    except tomllib.TOMLDecodeError:
        raise InputError(
            f"{path}: the comment '{mark['what'].strip()}' has no list of other values; allowed here: '# fitted: {FITS_AS_WELL}[20, 45]; why'."
        ) from None
    return Mark(path, table, key, origin, _OTHERS.sub("", mark["what"]).strip(), others)
