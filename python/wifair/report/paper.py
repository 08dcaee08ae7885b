"""The report of a paper's reproduction."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from wifair.papers.page import changes
from wifair.plots import tidy
from wifair.report import figures
from wifair.report.parts import Chart, Facts, Part, Picture, Report, Section, Table, Text, Verdicts
from wifair.report.provenance import again, made_by

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from wifair.papers import Paper, Reproduction, Sensitivity


def of_paper(paper_id: str, paper: Paper, found: Reproduction, arguments: Sequence[str]) -> Report:
    """A paper's verdicts and figures."""
    told = [judgement.to_dict() for judgement in found.judgements]
    verdicts = Verdicts(
        told,
        "`measured` is the value that decides: of a relation the smallest margin, of a number the one farthest from it.",
    )
    sections = [
        Section("In short", [Text(citation(paper)), Facts(conditions(found))]),
        Section("Every claim", [verdicts]),
        *(Section(f"Figure {name}", _figure(name, made, found)) for name, made in found.figures()),
    ]
    for kind in dict.fromkeys(other.kind for other in found.sensitivities):
        sections.append(Section(kind, [readings([other for other in found.sensitivities if other.kind == kind])]))
    lead = f"{len(told)} claims of the paper `{paper_id}`, held against {found.results.runs.height:,} simulated runs."
    sections.append(again(arguments, found.results))
    return Report(paper.TITLE, lead, sections, made_by(found.results), "reproduction of a paper", verdicts.counts)


def citation(paper: Paper) -> list[str]:
    """The citation: the package's docstring after its first line."""
    text = sys.modules[paper.__name__].__doc__ or "" if hasattr(paper, "__name__") else ""
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")[1:] if paragraph.strip()]


def conditions(found: Reproduction) -> dict[str, str]:
    """The conditions of the study, by name."""
    return {
        name.replace("_", " "): ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else f"{value}"
        for name, value in found.conditions.items()
    }


def _figure(name: str, made: Figure, found: Reproduction) -> list[Part]:
    parts: list[Part] = []
    panels = figures.panels(made)
    if panels:
        parts.append(Chart(panels, "Means with 95 % intervals.", width=360))
    else:
        file = BytesIO()
        tidy(made)
        made.savefig(file, format="png", dpi=150)
        parts.append(Picture(file.getvalue(), f"Figure {name}"))
    own = [judgement.to_dict() for judgement in found.judgements if judgement.figure == name]
    if own:
        rows = [(row[2], row[4], row[5]) for row in Verdicts(own).table.rows]
        parts.append(Table.of(("what the paper says of it", "measured", "verdict"), rows))
    return parts


def readings(sensitivities: Sequence[Sensitivity]) -> Table:
    """The other readings with the verdicts that they change."""
    rows = [
        [other.id, other.question, other.choice, len(other.changed), "; ".join(changes(other.to_dict()))]
        for other in sensitivities
    ]
    headings = ("reading", "question", "here", "changes", "verdicts that change (same seeds)")
    return Table.of(headings, rows, wide=True)
