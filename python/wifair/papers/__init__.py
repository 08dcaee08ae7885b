"""The papers, one package each, and wifair's own studies in the same form. A paper's id is its package's name with hyphens.

A paper's package offers `TITLE`, `PROPOSES` (in a few words), `FIGURES` (their ids) and `reproduce`, which returns a
`Reproduction`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from wifair.drawn import Drawn
from wifair.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wifair.papers.claims import Dropped, Judgement
    from wifair.results.results import Results
    from wifair.stats import Interval
    from wifair.study.job import Progress
    from wifair.study.store import Store


@dataclass(frozen=True)
class Outcome:
    """A claim in the baseline and under another reading.

    `measured` is the deciding value under the reading, over `runs` replications, and `before` the same in the baseline;
    `change` is their difference, paired by seed. Each may be `None`.
    """

    baseline: str
    here: str
    runs: int
    before: Interval | None
    measured: Interval | None
    change: Interval | None

    @property
    def changed(self) -> bool:
        """Whether the verdict differs from the baseline's."""
        return self.here != self.baseline

    @property
    def determined(self) -> bool:
        """Whether the claim has a verdict under both."""
        return "undetermined" not in (self.here, self.baseline)


@dataclass(frozen=True)
class Sensitivity:
    """Another reading, and the claims that depend on what it changes.

    `outcomes` has these claims by id; every other claim is as in the baseline. `kind` is the heading of the reading's
    table.
    """

    id: str
    kind: str
    question: str
    choice: str
    outcomes: Mapping[str, Outcome]

    @property
    def changed(self) -> dict[str, Outcome]:
        """The claims whose verdict changes."""
        return {name: outcome for name, outcome in self.outcomes.items() if outcome.changed}

    @property
    def open(self) -> list[str]:
        """The claims that are undetermined under both, so the reading may still affect them."""
        return [name for name, outcome in self.outcomes.items() if not (outcome.changed or outcome.determined)]

    def to_dict(self) -> dict[str, Any]:
        """The reading for JSON."""
        outcomes = {name: _pair(outcome) for name, outcome in self.outcomes.items()}
        return {
            "id": self.id,
            "kind": self.kind,
            "question": self.question,
            "choice": self.choice,
            "replications": max((outcome.runs for outcome in self.outcomes.values()), default=0),
            "changed_verdicts": {name: outcomes[name] for name in self.changed},
            "same_verdicts": {name: pair for name, pair in outcomes.items() if name not in self.changed},
            "undetermined_in_both": self.open,
        }


def _pair(outcome: Outcome) -> dict[str, Any]:
    return {
        "baseline": outcome.baseline,
        "here": outcome.here,
        "replications": outcome.runs,
        "baseline_measured": _interval(outcome.before),
        "measured": _interval(outcome.measured),
        "change": _interval(outcome.change),
    }


def _interval(found: Interval | None) -> dict[str, float | None] | None:
    return None if found is None else {"mean": found.estimate, "ci_low": found.low, "ci_high": found.high}


@dataclass(frozen=True)
class Reproduction(Drawn):
    """The outcome of a paper's study: results, verdicts, figures.

    `figures` draws the figures one by one; `texts` returns those that also exist as Markdown. `shown` names the text
    that is printed instead of the claims, if there are too many to read.
    """

    results: Results
    judgements: list[Judgement]
    sensitivities: list[Sensitivity]
    figures: Callable[[], Iterator[tuple[str, Figure]]]
    dropped: Sequence[Dropped] = ()
    texts: Callable[[], Mapping[str, str]] = dict
    figure_formats: Sequence[str] = ("png",)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    shown: str = ""

    def draw(self, folder: Path, formats: Sequence[str] = ()) -> dict[str, list[Path]]:
        """Draws the figures into `folder` in each format (by default those of the study's form). Returns the files by figure."""
        from wifair import plots

        texts = self.texts()
        drawn = {}
        for name, made in self.figures():
            stem = name if name in texts else f"figure-{name}"
            drawn[name] = plots.save(made, folder, stem, formats or self.figure_formats)
            if name in texts:
                drawn[name].append(folder / f"{stem}.md")
                drawn[name][-1].write_text(texts[name], encoding="utf-8")
        return drawn


@dataclass(frozen=True)
class Asked:
    """What is to be run of a study: all of its `form`, or the part for one figure, with `seeds` replications in place of the form's.

    With `reading`, an id or several joined by `+`, only that reading runs against the baseline, in every replication.
    A store records the study's parts by `title` and variant.
    """

    form: str = "quick"
    figure: str | None = None
    seeds: int | None = None
    threads: int | None = None
    progress: Progress | None = None
    store: Store | None = None
    title: str = ""
    reading: str | None = None

    def check(self, figures: Iterable[str], in_place_of_readings: str = "") -> None:
        """Raises `InputError` for another figure than these; and for a reading, where a study has something else in place of readings."""
        if self.figure is not None and self.figure not in figures:
            raise InputError(f"figure {self.figure!r} is not in this study; allowed here: {', '.join(figures)}.")
        if self.reading is not None and in_place_of_readings:
            raise InputError(
                f"reading: {self.reading!r} is not allowed here: this study has {in_place_of_readings} in place of readings."
            )


class Paper(Protocol):
    """The interface of a paper's package."""

    TITLE: str
    PROPOSES: str
    FIGURES: tuple[str, ...]

    def reproduce(self, asked: Asked) -> Reproduction:
        """Runs the paper's study in its `quick` or `full` form, or what is asked of it."""
        ...


# wifair's own studies in a paper's form, with their packages.
OURS: Mapping[str, str] = {
    "generations": f"{__name__}.generations",
    "neighbours": "wifair.neighbours",
    "shipping": "wifair.shipping",
}


def study_ids() -> list[str]:
    """The ids of the papers and of wifair's own studies."""
    found = {module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__) if module.ispkg}
    return sorted(found | OURS.keys())


def paper_ids() -> list[str]:
    """The ids of the papers."""
    return [name for name in study_ids() if name not in OURS]


def find(paper_id: str) -> Paper:
    """The paper, or own study, of that id. Raises `InputError` for an unknown id."""
    known = study_ids()
    if paper_id not in known:
        from wifair.keys import nearest

        hint = nearest(paper_id, known)
        asked = f" Did you mean {hint}?" if hint else ""
        raise InputError(f"there is no paper {paper_id!r}.{asked} Allowed here: {', '.join(known)}.")
    paper: Paper = import_module(OURS.get(paper_id) or f"{__name__}.{paper_id.replace('-', '_')}")
    return paper
