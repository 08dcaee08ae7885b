"""`wifair paper`: a paper's study, its figures, and a verdict on each of its claims."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from wifair.cli.options import Json, Out, Store, Threads
from wifair.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wifair.claims import Judgement
    from wifair.papers import Reproduction, Sensitivity

EXAMPLE = "Example: wifair paper arf-aware-tcp --figure 2 --full --out results/anomaly"

PaperId = Annotated[str, typer.Argument(metavar="ID", help="The paper, as adaptive-pushout.", show_default=False)]
Figure = Annotated[str | None, typer.Option(help="Only this figure and its claims.", show_default=False)]
Full = Annotated[
    bool,
    typer.Option("--full/--quick", help="At least ten replications and every other reading, or a few replications."),
]
Replications = Annotated[
    int | None, typer.Option(min=2, help="Replications; the form's own number by default.", show_default=False)
]

Reading = Annotated[
    str | None,
    typer.Option(
        metavar="ID[+ID]",
        help="This reading alone against the baseline: what it changes in each claim. Several joined by + are taken together.",
        show_default=False,
    ),
]

Page = Annotated[
    list[Path] | None,
    typer.Option(
        help="A Markdown page: verdicts are written between the marks that it has; may be repeated.", show_default=False
    ),
]


def paper(
    paper_id: PaperId,
    figure: Figure = None,
    full: Full = False,
    seeds: Replications = None,
    threads: Threads = None,
    out: Out = None,
    store: Store = None,
    page: Page = None,
    reading: Reading = None,
    json: Json = False,
) -> None:
    """Run a paper's study and say which of its published results are reproduced."""
    from wifair.cli.output import kept, print_json, progress, say, say_of, stdout
    from wifair.papers import find
    from wifair.papers.page import verdicts, write
    from wifair.results import versions
    from wifair.store import opened

    study = find(paper_id)
    folder = out or Path("results") / paper_id
    began = monotonic()
    form = "full" if full else "quick"
    if page and (figure or reading):
        raise InputError(
            "page: a page has every claim and reading; allowed here: neither --figure nor --reading with it."
        )
    title = ", ".join([paper_id, form, *([f"figure {figure}"] if figure else [])])
    kept_in = opened(store)
    with kept(folder, json, kept_in), progress(f"{paper_id}: simulating") as report:
        found = study.reproduce(form, figure, seeds, threads, report, kept_in, title, reading)
    say_of(kept_in)
    found.results.save(folder)
    figures = found.draw(folder)
    document = {
        "paper": paper_id,
        "title": study.TITLE,
        "proposes": study.PROPOSES,
        "conditions": dict(found.conditions),
        "claims": [judgement.to_dict() for judgement in found.judgements],
        "dropped": [asdict(claim) for claim in found.dropped],
        "alternatives": [other.to_dict() for other in found.sensitivities],
        "figures": {name: [str(path) for path in paths] for name, paths in figures.items()},
        "results": str(folder),
        "versions": versions(),
        "wall_s": round(monotonic() - began, 1),
    }
    with (folder / "claims.json").open("w", encoding="utf-8") as file:
        print_json(document, file)
    (folder / "verdicts.md").write_text(f"# {study.TITLE}\n\n{verdicts(document)}", encoding="utf-8")
    for one in page or ():
        write(one, document)
    if json:
        print_json(document)
        return
    console = stdout()
    console.print(f"{study.TITLE}\n", markup=False)
    if reading:
        print_reading(found.sensitivities[0])
    else:
        print_claims(found.judgements)
    if found.sensitivities and not reading:
        print_sensitivities(found.sensitivities)
    elif not reading and figure is None:
        console.print("Which verdicts depend on what the paper leaves open: --full runs the other readings.\n")
    print_conditions(found, figures, folder)
    say(f"{document['wall_s']} s")


def print_claims(judgements: list[Judgement]) -> None:
    """One entry a claim, in the order of the paper, and the count of the verdicts."""
    from rich.table import Table

    from wifair.cli.output import stdout

    colours = {"reproduced": "green", "trend only": "yellow", "not reproduced": "red"}
    table = Table(title="Claims", title_justify="left", show_lines=True)
    table.add_column("section\nfigure")
    table.add_column("claim", ratio=5)
    table.add_column("measured", ratio=3)
    table.add_column("verdict", ratio=4)
    for found in judgements:
        colour = colours.get(found.verdict.value, "default")
        place = found.section + (f"\nFig. {found.figure}" if found.figure else "")
        verdict = f"[{colour}]{found.verdict.value}[/{colour}]\n{found.why}"
        table.add_row(place, f"{found.statement}\n[dim]{found.id}[/dim]", measured_text(found), verdict)
    console = stdout()
    console.print(table)
    counts = Counter(found.verdict.value for found in judgements)
    console.print(", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()), markup=False)
    console.print()


def measured_text(found: Judgement) -> str:
    """Measured value with its interval and unit."""
    if found.measured is None:
        return "–"
    interval = "" if found.ci_low is None else f" [{found.ci_low:.4g}, {found.ci_high:.4g}]".replace("[", r"\[")
    published = "" if found.published is None else f"\npublished: {found.published:g}"
    return f"{found.measured:.4g}{interval}\n{found.unit}{published}"


def print_sensitivities(sensitivities: list[Sensitivity]) -> None:
    """A table of each kind of reading, one line each, with the verdicts that it changes."""
    from rich.table import Table

    from wifair.cli.output import stdout
    from wifair.papers.page import changes

    console = stdout()
    for kind in dict.fromkeys(other.kind for other in sensitivities):
        table = Table(title=kind, title_justify="left", show_lines=True)
        for heading in ("--reading", "question", "here", "verdicts that change (same seeds)"):
            table.add_column(heading)
        for other in sensitivities:
            if other.kind == kind:
                told = "\n".join(changes(other.to_dict())).replace("`", "")
                table.add_row(other.id, other.question, other.choice, told)
        console.print(table)
        console.print()


def print_reading(other: Sensitivity) -> None:
    """One line a claim that looks at something that the reading changes: the value that decides, in the baseline and here."""
    from rich.table import Table

    from wifair.cli.output import stdout

    console = stdout()
    console.print(f"{other.question} {other.choice}", markup=False)
    table = Table(title="Claims that look at what it changes", title_justify="left")
    for heading in ("claim", "baseline", "here", "change", "verdict"):
        table.add_column(heading)
    for name, outcome in other.outcomes.items():
        values = ("–" if found is None else f"{found}" for found in (outcome.before, outcome.measured, outcome.change))
        verdict = f"{outcome.baseline} → {outcome.here}" if outcome.changed else outcome.here
        table.add_row(name, *(value.replace("[", r"\[") for value in values), verdict)
    console.print(table if other.outcomes else "It changes nothing that a claim looks at.")
    console.print()


def print_conditions(found: Reproduction, figures: Mapping[str, list[Path]], folder: Path) -> None:
    """What was run, and where things lie."""
    from wifair.cli.output import stdout

    console = stdout()
    told = ", ".join(f"{key} {value}" for key, value in found.conditions.items() if key != "schemes")
    console.print(f"Conditions: {told}", markup=False)
    for name, paths in figures.items():
        console.print(f"Figure {name}: {paths[0]}", markup=False, soft_wrap=True)
    console.print(f"Tables, plans, verdicts: {folder}", markup=False, soft_wrap=True)
