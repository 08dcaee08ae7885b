"""Schemes named on the command line. Files with schemes written in Python are loaded here only."""

from __future__ import annotations

from typing import Any


def scheme(name: str) -> str:
    """A scheme's name; for `FILE.py:CLASS` a `PythonScheme`."""
    from wifair.scheme.python import MARK, load

    return load(name) if MARK in name or name.endswith(".py") else name


def schemes(names: str | None, option: str = "--schemes") -> list[str | dict[str, Any]]:
    """The schemes that `A,B(key=value),C` names; none if the option is not given."""
    from wifair.errors import InputError

    if names is None:
        return []
    found = [_variant(name) for name in split(names) if name]
    if not found:
        raise InputError(f"{option}: {names!r} names no scheme; allowed here: names that `wifair schemes` lists.")
    return found


def split(text: str, separator: str = ",") -> list[str]:
    """Splits a text at separators outside brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def _variant(text: str) -> str | dict[str, Any]:
    """Parses a scheme's name, optionally with parameters, as in `mac80211(ack_filter=conservative)`."""
    from wifair.errors import InputError
    from wifair.scenario.overrides import parse_assignments

    name, bracket, rest = text.partition("(")
    if not bracket:
        return scheme(text)
    if not rest.endswith(")"):
        raise InputError(f"--schemes {text}: a bracket is not closed; expected NAME(key=value,key=value).")
    given = [part for part in split(rest[:-1]) if part]
    if wrong := [part for part in given if "=" not in part]:
        raise InputError(f"--schemes {text}: {wrong[0]!r} is no parameter; expected NAME(key=value,key=value).")
    return {"name": scheme(name.strip()), **dict(parse_assignments(given))}


def assignments(texts: list[str], ap_scheme: str | None = None, bss: str = "") -> list[tuple[str, Any]]:
    """The settings of `--set` and `--scheme` as pairs of path and value. The scheme is that of all BSSs, or of `bss` alone."""
    from wifair.scenario.overrides import parse_assignments

    path = f"bss[{bss}].ap.scheme" if bss else "ap.scheme"
    chosen: list[tuple[str, Any]] = [(path, scheme(ap_scheme))] if ap_scheme is not None else []
    return chosen + [(path, _loaded(path, value)) for path, value in parse_assignments(texts)]


def _loaded(path: str, value: Any) -> Any:
    if not path.endswith(("scheme", "scheme.name")):
        return value
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return {**value, "name": scheme(value["name"])}
    return scheme(value) if isinstance(value, str) else value
