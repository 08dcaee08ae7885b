"""A network as observed, and its scenario."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from wifair.observed.readers import observe
from wifair.observed.tables import Document, Names, document

__all__ = ["Document", "Names", "document", "imported", "observe"]


def imported(paths: Sequence[str | Path], title: str = "", names: Names | None = None) -> Document:
    """The scenario that follows from files of one network. Raises `InputError`."""
    return document(observe(paths), title or Path(paths[0]).name.partition(".")[0], names)
