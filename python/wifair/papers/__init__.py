"""The papers, one package each. A paper's id is its package's name with hyphens.

A paper's package offers `TITLE`, `FIGURES` (their ids) and `reproduce(form, figure, seeds, threads, progress, store,
title)`, which returns a `Reproduction`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from wifair.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wifair.claims import Judgement
    from wifair.results import Results
    from wifair.store import Store
    from wifair.study import Progress


@dataclass(frozen=True)
class Sensitivity:
    """One other reading of what the paper leaves open, and the verdicts that it changes.

    `changed` maps a claim's id to its verdicts in the baseline and under this reading, both with the same `runs`
    replications.
    """

    id: str
    question: str
    choice: str
    changed: Mapping[str, tuple[str, str]]
    runs: int


@dataclass(frozen=True)
class Reproduction:
    """A paper's study, run: results, verdicts, figures.

    `figures` draws them, one by one; `texts` are those that come as Markdown, too.
    """

    results: Results
    judgements: list[Judgement]
    sensitivities: list[Sensitivity]
    figures: Callable[[], Iterator[tuple[str, Figure]]]
    texts: Callable[[], Mapping[str, str]] = dict
    figure_formats: Sequence[str] = ("png",)
    conditions: Mapping[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        from wifair.report.notebook import reproduction

        return reproduction(self)

    def draw(self, folder: Path) -> dict[str, list[Path]]:
        """Draws the figures into `folder`, in each format; gives the files of each."""
        from wifair import plots

        texts = self.texts()
        drawn = {}
        for name, made in self.figures():
            stem = name if name in texts else f"figure-{name}"
            drawn[name] = plots.save(made, folder, stem, self.figure_formats)
            if name in texts:
                drawn[name].append(folder / f"{stem}.md")
                drawn[name][-1].write_text(texts[name], encoding="utf-8")
        return drawn


class Paper(Protocol):
    """What a paper's package offers."""

    TITLE: str
    FIGURES: tuple[str, ...]

    def reproduce(
        self,
        form: str,
        figure: str | None,
        seeds: int | None,
        threads: int | None,
        progress: Progress | None,
        store: Store | None = None,
        title: str = "",
    ) -> Reproduction:
        """Runs the paper's study in its `quick` or `full` form; one figure's part of it if `figure` is given.

        A store remembers the study's parts by `title` and variant.
        """
        ...


def paper_ids() -> list[str]:
    """The papers that there are."""
    return sorted(found.name.replace("_", "-") for found in pkgutil.iter_modules(__path__) if found.ispkg)


def find(paper_id: str) -> Paper:
    """The paper of that id."""
    known = paper_ids()
    if paper_id not in known:
        from wifair.components import nearest

        hint = nearest(paper_id, known)
        asked = f" Did you mean {hint}?" if hint else ""
        raise InputError(f"there is no paper {paper_id!r}.{asked} Allowed here: {', '.join(known)}.")
    paper: Paper = import_module(f"{__name__}.{paper_id.replace('-', '_')}")
    return paper
