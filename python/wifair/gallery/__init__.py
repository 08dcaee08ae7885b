"""Scenarios to start from, usable by name: `wifair run home`, `wifair new home`."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """Their names, the plain one first."""
    return sorted((path.stem for path in FOLDER.glob("*.toml")), key=lambda name: (name != "plain", name))


def path_of(name: str) -> Path | None:
    """The file of that scenario; nothing where there is none of that name."""
    return FOLDER / f"{name}.toml" if name in names() else None


def about(name: str) -> str:
    """What it is about: the comment at its head, in one line."""
    lines = (FOLDER / f"{name}.toml").read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    return " ".join(line.removeprefix("#").strip() for line in lines)
