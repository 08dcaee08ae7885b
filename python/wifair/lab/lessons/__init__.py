"""Lessons: a scenario with captions that appear when a measured condition holds. One TOML file per lesson.

A lesson has `title`, `about`, `order`, `speed` (in simulated seconds per second; a mark of the page's slider), the table
`scenario`, and `[[caption]]` entries in the order of appearance. Each has `text` and conditions. It appears when all
conditions have held for `for_s` simulated seconds (default 2):

    when = [{ measure = "jain", below = 0.7 }]

A caption may have `change`, the tables of an `[[events]]` entry. The page offers it as a button, and later captions
wait until it is applied. What cannot change during a run is in `restart` instead, by its keys: the button begins the scenario
again with these keys and no others, and the lesson continues. `page/measures.js` computes the measures from the pictures of about the last 1.5 seconds.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from wifair.keys import unknown

FOLDER = Path(__file__).parent
Table = dict[str, Any]


@cache
def lessons() -> dict[str, Table]:
    """All lessons by file name, sorted by `order`."""
    found = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.toml")}
    return dict(sorted(found.items(), key=lambda item: item[1]["order"]))


def find_lesson(name: str) -> Table:
    """The lesson of that name."""
    if name not in lessons():
        raise unknown("lesson", name[:40], lessons())
    return lessons()[name]
