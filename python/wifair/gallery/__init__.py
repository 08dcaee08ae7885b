"""Scenarios to start from, usable by name: `wifair run home`, `wifair new home`.

Three kinds of name: a template (`home`), a cell of a paper with the paper's senders, today's, or these on 802.11ax (`ten-and-ten`,
`ten-and-ten/today`, `ten-and-ten/ax`; `packaging/paper_cells.py` writes these files), and a paper's main cell (`paper:adaptive-pushout`).
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
PAPERS = FOLDER / "papers"
# The main cell of each paper.
MAIN_CELLS = {
    "adaptive-pushout": "ten-and-ten",
    "spm-af-las": "five-and-five",
    "arf-aware-tcp": "five-rates",
    "dqm": "five-and-five-ecn",
    "alt": "ten-downloads-far-away",
}
_PAPER = "paper:"


def names() -> list[str]:
    """The names of the templates, the plain one first."""
    return sorted((path.stem for path in FOLDER.glob("*.toml")), key=lambda name: (name != "plain", name))


def cells() -> list[str]:
    """The names of the papers' cells."""
    return sorted(path.parent.name for path in PAPERS.glob("*/paper.toml"))


def known() -> list[str]:
    """Every accepted name, without the suffixes for the senders."""
    return [*names(), *(f"{_PAPER}{paper}" for paper in MAIN_CELLS), *cells()]


def path_of(name: str) -> Path | None:
    """The file of the scenario of that name, or None."""
    name, _, senders = MAIN_CELLS.get(name.removeprefix(_PAPER), name).partition("/")
    if name in names() and senders in ("", "today"):  # templates have today's senders
        return FOLDER / f"{name}.toml"
    path = PAPERS / name / f"{senders or 'paper'}.toml"
    return path if senders in ("", "paper", "today", "ax") and path.is_file() else None


def file_of(path: str | Path) -> Path:
    """`file` if it exists, else the gallery's scenario of that name, if there is one."""
    path = Path(path)
    return path if path.exists() else path_of(str(path)) or path


def file_name(name: str) -> str:
    """The name of the file that `wifair new NAME` writes."""
    return f"{name.removeprefix(_PAPER).replace('/', '-')}.toml"


def source_of(cell: str) -> tuple[str, str]:
    """The paper of a cell, and the cell's description."""
    title, _, rest = about(cell).partition(": ")
    return rest.partition(",")[0], title


def about(name: str) -> str:
    """The scenario's description: its head comment in one line."""
    path = path_of(name)
    assert path is not None
    lines = path.read_text(encoding="utf-8").split("\n\n")[0].splitlines()
    return " ".join(line.removeprefix("#").strip() for line in lines)
