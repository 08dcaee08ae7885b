"""`wifair paper`: a paper's study, its figures, and a verdict on each of its claims."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from wifair.cli.options import Formats, Json, Out, Store, Threads, Verbose, formats
from wifair.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wifair.papers import Reproduction, Sensitivity
    from wifair.papers.claims import Judgement

EXAMPLE = "Example: wifair paper arf-aware-tcp --figure 2 --full --out results/anomaly"

PaperId = Annotated[
    str, typer.Argument(metavar="ID", help="The paper's id, such as adaptive-pushout.", show_default=False)
]
Figure = Annotated[str | None, typer.Option(help="Run only this figure and its claims.", show_default=False)]
Full = Annotated[
    bool,
    typer.Option("--full/--quick", help="At least ten replications and all readings, or only a few replications."),
]
Replications = Annotated[
    int | None,
    typer.Option(min=2, help="Number of replications; by default as many as the form has.", show_default=False),
]

Reading = Annotated[
    str | None,
    typer.Option(
        metavar="ID[+ID]",
        help="Compare this reading with the baseline, claim by claim. Join several with + to combine them.",
        show_default=False,
    ),
]

Page = Annotated[
    list[Path] | None,
    typer.Option(
        help="Write the verdicts, or a figure's text, between the marks of this Markdown page; may be repeated.",
        show_default=False,
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
    format: Formats = "",
    verbose: Verbose = False,
    json: Json = False,
) -> None:
    """Repeat a paper's experiments, and judge each of its claims."""
    from wifair.cli.output import print_json, print_lines, print_text, progress, say, say_of
    from wifair.cli.printed import kept
    from wifair.papers import Asked, find
    from wifair.papers.page import verdicts, write
    from wifair.results.results import versions
    from wifair.study.store import opened

    study, endings = find(paper_id), formats(format)
    folder = out or Path("results") / paper_id
    began = monotonic()
    form = "full" if full else "quick"
    if page and reading:
        raise InputError("page: a page has every reading; allowed here: no --reading with it.")
    title = ", ".join([paper_id, form, *([f"figure {figure}"] if figure else [])])
    kept_in = opened(store)
    with kept(folder, json, kept_in), progress(f"{paper_id}: simulating") as report:
        found = study.reproduce(Asked(form, figure, seeds, threads, report, kept_in, title, reading))
    say_of(kept_in)
    found.results.save(folder)
    figures = found.draw(folder, endings)
    document = {
        "paper": paper_id,
        "figure": figure,
        "title": study.TITLE,
        "proposes": study.PROPOSES,
        "conditions": dict(found.conditions),
        "claims": [judgement.to_dict() for judgement in found.judgements],
        "dropped": [asdict(claim) for claim in found.dropped],
        "alternatives": [other.to_dict() for other in found.sensitivities],
        "texts": dict(found.texts()),
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
    print_text(study.TITLE)
    print_lines([""])
    if reading:
        print_reading(found.sensitivities[0])
    elif found.shown and not verbose:
        print_shown(found)
    else:
        print_claims(found.judgements, verbose)
    if found.sensitivities and not reading:
        print_sensitivities(found.sensitivities)
    elif not full and not reading:
        readings = ", and the other readings of what the paper leaves open" if figure is None else ""
        print_text(f"--full runs more replications, after which verdicts may be others{readings}.")
        print_lines([""])
    print_conditions(found, figures, folder)
    say(f"{document['wall_s']} s")


def print_shown(found: Reproduction) -> None:
    """Prints the count of the verdicts and the table that sums them up."""
    from wifair.cli.output import print_lines, print_table
    from wifair.cli.tables import columns

    print_counts(found.judgements)
    headings, _, *rows = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in found.texts()[found.shown].splitlines()
    )
    print_table("Verdicts", columns(headings, rows, left=len(headings)))
    print_lines(["--verbose shows every claim with its numbers.", ""])


def print_counts(judgements: list[Judgement]) -> Counter[str]:
    """Prints, and returns, the number of claims per verdict."""
    from wifair.cli.output import print_lines, print_text

    counts = Counter(found.verdict.value for found in judgements)
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    print_text(f"{len(judgements)} claims: {told}.")
    print_lines([""])
    return counts


def print_claims(judgements: list[Judgement], verbose: bool) -> None:
    """Prints the count of the verdicts, then the claims by verdict; with `verbose` each with its numbers, in the order of the paper."""
    from wifair.cli.output import print_lines, print_text

    counts = print_counts(judgements)
    if verbose:
        for found in judgements:
            place = found.section + (f", Fig. {found.figure}" if found.figure else "")
            print_text(f"{found.verdict.value.upper()}  {place}: {found.statement} ({found.id})", indent="  ", first="")
            print_text(f"measured {measured_text(found)}; {found.why}", indent="    ")
        print_lines([""])
        return
    statements = Counter(found.statement for found in judgements)
    for verdict in sorted(counts, key=["reproduced", "trend only", "not reproduced"].__contains__, reverse=True):
        mine = [found for found in judgements if found.verdict.value == verdict]
        if verdict in ("not reproduced", "trend only"):
            print_text(f"{verdict.capitalize()}:")
            for found in mine:
                read = f" {found.reading}" if statements[found.statement] > 1 else ""  # told apart by it
                print_text(f"{found.statement}{read} ({found.id})", indent="    ", first="  ")
        else:
            print_text(f"{verdict.capitalize()}: {', '.join(found.id for found in mine)}.", indent="  ", first="")
    print_text("--verbose shows every claim with its numbers.")
    print_lines([""])


def measured_text(found: Judgement) -> str:
    """The measured value with its interval and unit."""
    if found.measured is None:
        return "–"
    interval = "" if found.ci_low is None else f" [{found.ci_low:.4g}, {found.ci_high:.4g}]"
    published = "" if found.published is None else f", published {found.published:g}"
    return f"{found.measured:.4g}{interval} {found.unit}{published}"


def print_sensitivities(sensitivities: list[Sensitivity]) -> None:
    """Prints the readings by kind, with the verdicts that each changes."""
    from wifair.cli.output import print_lines, print_text
    from wifair.papers.page import changes

    for kind in dict.fromkeys(other.kind for other in sensitivities):
        print_text(kind)
        for other in sensitivities:
            if other.kind == kind:
                print_text(f"{other.id}: {other.question} {other.choice}", indent="    ", first="  ")
                for told in changes(other.to_dict()):
                    print_text(told.replace("`", ""), indent="      ", first="    ")
        print_lines([""])


def print_reading(other: Sensitivity) -> None:
    """Prints one line per claim that the reading affects: the deciding value in the baseline and under the reading."""
    from wifair.cli.output import print_table, print_text
    from wifair.cli.tables import columns

    print_text(f"{other.question} {other.choice}")
    rows = []
    for name, outcome in other.outcomes.items():
        values = ("–" if found is None else f"{found}" for found in (outcome.before, outcome.measured, outcome.change))
        verdict = f"{outcome.baseline} → {outcome.here}" if outcome.changed else outcome.here
        rows.append((name, *values, verdict))
    if not rows:
        print_text("No claim depends on what it changes.")
        return
    headings = ("claim", "baseline", "here", "change", "verdict")
    print_table("Claims that depend on what it changes", columns(headings, rows, left=1, prose=(4,)))


def _condition(key: str, value: object) -> str:
    """A condition of the study in words."""
    number = f"{value:g}" if isinstance(value, float) else f"{value}"
    words = {"warmup_s": "{} s of warm-up", "duration_s": "{} s measured", "form": "{} form"}
    if key in words:
        return words[key].format(number)
    counted = isinstance(value, int) and key.startswith("replications")
    return f"{number} {key.replace('_', ' ')}" if counted else f"{key.replace('_', ' ')} {number}"


def print_conditions(found: Reproduction, figures: Mapping[str, list[Path]], folder: Path) -> None:
    """Prints the conditions of the study and the paths of the output."""
    from wifair.cli.output import print_lines, print_text

    told = ", ".join(
        _condition(key, value) for key, value in found.conditions.items() if key != "schemes" and value != 0
    )
    print_text(f"Conditions: {told}")
    for name, paths in figures.items():
        others = ", ".join(path.suffix for path in paths[1:])
        print_lines([f"Figure {name}: {paths[0]}{f' (and {others})' if others else ''}"])
    print_lines([f"Tables, plans, verdicts: {folder}"])
