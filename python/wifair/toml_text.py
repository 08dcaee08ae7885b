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
