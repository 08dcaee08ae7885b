"""Guided stories: a scenario and captions that appear when what they say is measured. One TOML file per lesson.

A lesson has `title`, `about`, `order`, the table `scenario`, and `[[caption]]` entries, in the order in which they appear. Each has
`text` and the conditions under which it appears, all of which must hold together for `for_s` simulated seconds (2 by default):

    when = [{ measure = "jain", below = 0.7 }]

A caption may carry `change`, the tables of an `[[events]]` entry: the page offers it as a button, and the captions behind it wait until
it is applied. `page/measures.js` defines the measures; each is computed from the pictures of the last second and a half or so.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
Table = dict[str, Any]


@cache
def lessons() -> dict[str, Table]:
    """Every lesson by the name of its file, in their order."""
    found = {path.stem: tomllib.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.toml")}
    return dict(sorted(found.items(), key=lambda item: item[1]["order"]))
