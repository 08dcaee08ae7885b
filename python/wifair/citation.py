"""How to cite wifair: the facts of `CITATION.cff`, which lies in the package, as BibTeX."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

SPECIAL = re.compile(r"[&%$#_{}]")


@cache
def facts() -> dict[str, Any]:
    """The content of `CITATION.cff`."""
    import yaml  # type: ignore[import-untyped]

    found: dict[str, Any] = yaml.safe_load((files("wifair") / "CITATION.cff").read_text(encoding="utf-8"))
    return found


def bibtex() -> str:
    """An entry `@software`; a field that `CITATION.cff` does not have is left out."""
    told = facts()
    fields = {
        "author": " and ".join(map(_author, told["authors"])),
        "title": f"{{{_escaped(told['title'])}}}",  # braces keep the capitals
        "version": _escaped(str(told["version"])),
        "date": str(told.get("date-released", "")),
        "doi": told.get("doi", ""),
        "url": told.get("repository-code") or told.get("url", ""),
        "license": " OR ".join(told["license"]),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@software{{wifair-{told['version']},", *lines, "}"])


def _author(told: dict[str, str]) -> str:
    """A person as `Family, Given`; an entity in braces, so that it is not split into names."""
    if "name" in told:
        return f"{{{_escaped(told['name'])}}}"
    return _escaped(", ".join(told[part] for part in ("family-names", "given-names") if part in told))


def _escaped(text: str) -> str:
    return SPECIAL.sub(lambda found: f"\\{found[0]}", text)
