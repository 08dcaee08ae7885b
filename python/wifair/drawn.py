"""Values that draw themselves with the parts of a report: as HTML in a notebook, and as charts.

A report is made of results, so it imports them. What goes the other way, from a value to its picture, passes through here: the
module that draws is named once, and loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar, Protocol


class Picture(Protocol):
    """A part of a report: a notebook shows it, and a section of a report takes it."""

    kind: ClassVar[str]


class Drawn:
    """A value that a notebook shows as the report's own tables."""

    def _repr_html_(self) -> str:
        html: str = drawing().html(self)
        return html


def drawing() -> Any:
    """The module that draws: `wifair.report.notebook`."""
    return import_module("wifair.report.notebook")
