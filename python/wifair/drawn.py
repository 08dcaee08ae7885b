"""Values that draw themselves with the parts of a report: as HTML in a notebook.

A report is made of results, so it imports them. What goes the other way, from a value to its picture, passes through here: the
module that draws is named once, and loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Drawn:
    """A value that a notebook shows as the report's own tables."""

    def _repr_html_(self) -> str:
        html: str = drawing().html(self)
        return html


def drawing() -> Any:
    """The module that draws: `wifair.report.notebook`."""
    return import_module("wifair.report.notebook")
