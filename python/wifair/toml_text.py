"""Values as TOML text, for commented scenario files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# What a basic string of TOML escapes (TOML 1.0, String): quotes, backslashes and control characters.
_ESCAPES = {code: f"\\u{code:04X}" for code in (*range(32), 127)} | {ord('"'): '\\"', ord("\\"): "\\\\"}


def value(given: Any) -> str:
    """A value in TOML, tables and lists inline; floats have six significant digits."""
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, Mapping):
        inner = ", ".join(f"{key} = {value(each)}" for key, each in given.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(given, list | tuple):
        return f"[{', '.join(value(each) for each in given)}]"
    if isinstance(given, int):
        return f"{given:_}"
    return f"{given:g}" if isinstance(given, float) else f'"{str(given).translate(_ESCAPES)}"'


def document(tree: Mapping[str, Any]) -> str:
    """Settings as a TOML file: plain values first, then a table per table, and an entry per entry of a list of tables.

    Floats are written so that they are read back exactly.
    """
    plain = [f"{key} = {_exact(each)}" for key, each in tree.items() if not _is_table(each)]
    parts = ["\n".join(plain)] if plain else []
    for key, each in tree.items():
        if isinstance(each, Mapping):
            parts.append("\n".join([f"[{key}]", *_lines(each)]))
        elif _is_table(each):
            parts += ["\n".join([f"[[{key}]]", *_lines(entry)]) for entry in each]
    return "\n\n".join(parts) + "\n"


def _is_table(given: Any) -> bool:
    is_list = isinstance(given, list) and bool(given) and all(isinstance(each, Mapping) for each in given)
    return isinstance(given, Mapping) or is_list


def _lines(table: Mapping[str, Any]) -> list[str]:
    """The keys of a table; a list of tables has one entry per line."""
    found = []
    for key, each in table.items():
        if isinstance(each, list) and _is_table(each):
            found.append("\n".join([f"{key} = [", *(f"    {_exact(entry)}," for entry in each), "]"]))
        else:
            found.append(f"{key} = {_exact(each)}")
    return found


def _exact(given: Any) -> str:
    if isinstance(given, bool) or not isinstance(given, (float, list, Mapping)):
        return value(given)
    if isinstance(given, float):
        return repr(given)
    if isinstance(given, list):
        return f"[{', '.join(map(_exact, given))}]"
    inner = ", ".join(f"{key} = {_exact(each)}" for key, each in given.items())
    return f"{{ {inner} }}" if inner else "{}"
