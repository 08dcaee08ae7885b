"""Base of values that show themselves as parts of a report: as HTML in a notebook, and as charts.

Reports import results, never the other way: `wifair` itself, above both, names the module that draws.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol


class Picture(Protocol):
    """A part of a report. Notebooks display it, and `Section.parts` takes it."""

    kind: ClassVar[str]


class Plot(Picture, Protocol):
    """A chart of results that can be written as a figure for a paper."""

    def save(self, path: str | Path, width_in: float = 3.5) -> Path:
        """Draws it `width_in` inches wide: PDF (with TrueType fonts), SVG or PNG, by the ending of the path."""
        ...


class Drawn:
    """A value that notebooks show as a table of the report."""

    drawing_module: ClassVar[str]

    def _repr_html_(self) -> str:
        html: str = drawing().html(self)
        return html


def drawing() -> Any:
    """The module that draws, loaded on first use."""
    return import_module(Drawn.drawing_module)
