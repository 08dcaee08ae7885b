"""Schemes written in Python that are named on the command line: the only place where a file of them is loaded."""

from __future__ import annotations

from typing import Any


def scheme(name: str) -> str:
    """A scheme's name; of `FILE.py:CLASS` one that knows its class."""
    from wifair.python_scheme import MARK, load

    return load(name) if MARK in name else name


def schemes(names: str) -> list[str]:
    """The schemes that `A,B,C` names."""
    return [scheme(name.strip()) for name in names.split(",") if name.strip()]


def assignments(texts: list[str], ap_scheme: str | None = None) -> list[tuple[str, Any]]:
    """What `--set` and `--scheme` say, as pairs of path and value."""
    from wifair.overrides import parse_assignments

    chosen: list[tuple[str, Any]] = [("ap.scheme", scheme(ap_scheme))] if ap_scheme else []
    return chosen + [(path, _loaded(path, value)) for path, value in parse_assignments(texts)]


def _loaded(path: str, value: Any) -> Any:
    if not path.endswith(("scheme", "scheme.name")):
        return value
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return {**value, "name": scheme(value["name"])}
    return scheme(value) if isinstance(value, str) else value
