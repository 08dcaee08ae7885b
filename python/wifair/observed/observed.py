"""A network as observed, and its scenario."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from wifair.errors import InputError
from wifair.observed.drafting import document
from wifair.observed.network import given
from wifair.observed.readers import observe
from wifair.observed.tables import Document, Names
from wifair.study.job import Bars, no_bars

__all__ = ["Document", "Names", "document", "imported", "observe"]


def imported(
    paths: Sequence[str | Path],
    title: str = "",
    names: Names | None = None,
    known: Mapping[str, Any] | None = None,
    bars: Bars = no_bars,
) -> Document:
    """The scenario that follows from files of one network, and from what is `known` besides: keys such as `ap.scheme`. Raises `InputError`."""
    observed = observe(paths, bars)
    for path, value in (known or {}).items():
        if path.count(".") != 1 or "[" in path:
            raise InputError(
                f"--set: {path!r} is not allowed; allowed here: a key of a table that is no list, such as ap.scheme or wire.rate_mbps."
            )
        observed.keys[path] = given(value, "--set")
    return document(observed, title or Path(paths[0]).resolve().name.partition(".")[0], names, bars)
