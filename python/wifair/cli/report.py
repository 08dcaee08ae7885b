"""`wifair report`: a scenario, a study or a paper as one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wifair.cli.options import DEFAULT_STORE, Set, Store, Threads

if TYPE_CHECKING:
    from wifair.report.parts import Report

EXAMPLE = "Example: wifair report home --schemes droptail,adaptive-pushout --out home.html"

File = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE.toml", help="A scenario file, or a study file as for `wifair sweep`.", show_default=False
    ),
]
Schemes = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        help="Run each of these schemes: names from `wifair schemes`, or FILE.py:CLASS.",
        show_default=False,
    ),
]
PaperId = Annotated[
    str | None, typer.Option("--paper", metavar="ID", help="Report on a paper instead of a file.", show_default=False)
]
Full = Annotated[bool, typer.Option("--full/--quick", help="With --paper: its full form, or only a few replications.")]
Title = Annotated[
    str | None,
    typer.Option(
        "--study", metavar="TITLE", help="Report on a study in the store instead of a file.", show_default=False
    ),
]
Replications = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of replications; by default 10, or as many as the study or the paper's form has.",
        show_default=False,
    ),
]
Page = Annotated[
    Path | None,
    typer.Option(metavar="FILE.html", help="The file to write; by default in results/.", show_default=False),
]


def report(
    context: typer.Context,
    file: File = None,
    schemes: Schemes = None,
    paper: PaperId = None,
    full: Full = False,
    study: Title = None,
    seeds: Replications = None,
    threads: Threads = None,
    store: Store = None,
    out: Page = None,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
) -> None:
    """Write one HTML file with charts, tables and verdicts.

    The file says how to run everything again, and opens without a network.
    """
    from wifair.cli.output import say
    from wifair.errors import InputError
    from wifair.report.page import write

    if sum(given is not None for given in (file, paper, study)) != 1:
        raise InputError("report: nothing to report; give one of FILE.toml, --paper ID, --study TITLE.")
    _check(
        {"--schemes": schemes, "--set": set or None, "--full": full or None},
        allowed={"--schemes", "--set"} if file else {"--full"} if paper else frozenset(),
        what="a file" if file else "a paper" if paper else "a study from a store",
    )
    if out and out.suffix != ".html":
        raise InputError(f"--out: {out} is not allowed; allowed here: FILE.html.")
    arguments: list[str] = context.obj
    if paper is not None:
        name, made = paper, _paper(paper, full, seeds, threads, store, arguments)
    elif study is not None:
        _check({"--seeds": seeds, "--threads": threads}, frozenset(), "a study from a store")
        name, made = study, _stored(study, store or DEFAULT_STORE, arguments)
    else:
        assert file is not None
        name = file.stem
        if _is_study(file):
            _check({"--seeds": seeds}, frozenset(), "a study file")
            made = _study(file, schemes, set, threads, store, arguments)
        else:
            made = _scenario(file, schemes, set, seeds, threads, store, arguments)
    from wifair.study.store import slug

    say(f"the report is in {write(made, out or Path('results') / f'{slug(name)}.html')}")


def _check(given: dict[str, Any], allowed: frozenset[str] | set[str], what: str) -> None:
    """Rejects options that would have no effect."""
    from wifair.errors import InputError

    for option, value in given.items():
        if value is not None and option not in allowed:
            raise InputError(f"{option}: has no effect on the report of {what}.")


def _is_study(file: Path) -> bool:
    """Whether the file is a study, which names its scenario. Unreadable files are reported by their reader."""
    from wifair.errors import InputError
    from wifair.files import read_toml

    try:
        return "scenario" in read_toml(file)
    except InputError:
        return False


def _scenario(
    file: Path,
    schemes: str | None,
    set: list[str],
    seeds: int | None,
    threads: int | None,
    store: Path | None,
    arguments: list[str],
) -> Report:
    from wifair import gallery
    from wifair.analysis.comparison import decided
    from wifair.api import comparison
    from wifair.cli.output import progress, say_of
    from wifair.cli.printed import kept
    from wifair.cli.schemes_of_files import assignments
    from wifair.cli.schemes_of_files import schemes as named
    from wifair.report.scenario import of_scenario
    from wifair.scenario.scenario import Scenario
    from wifair.study import Cell, Study
    from wifair.study.store import opened

    loaded = Scenario.from_toml(file, assignments(set))
    title = loaded.title or file.stem
    count = 10 if seeds is None else seeds
    if schemes is None:
        study = Study([Cell(title, loaded)], count, title)
    else:
        names = named(schemes)
        study = comparison(loaded, names, count)
        study.title = f"{title}: {', '.join(cell.name for cell in study.cells)}"
    folder = opened(store)
    with kept(None, store=folder), progress("simulating") as bar:
        results = study.run(threads, bar, folder)
    say_of(folder)
    return of_scenario(title, gallery.file_of(file), loaded, results, arguments, decided(results))


def _study(
    file: Path, schemes: str | None, set: list[str], threads: int | None, store: Path | None, arguments: list[str]
) -> Report:
    from wifair.analysis.sweep import Sweep
    from wifair.cli.output import progress, say_of
    from wifair.cli.printed import kept
    from wifair.cli.schemes_of_files import assignments
    from wifair.cli.schemes_of_files import schemes as named
    from wifair.report.study import of_study
    from wifair.study.store import Store as OpenStore

    loaded = Sweep.from_toml(file, assignments(set), named(schemes) or None)
    folder = OpenStore(store or DEFAULT_STORE)
    with kept(None, store=folder), progress(loaded.title) as bar:
        results = loaded.run(threads, bar, folder)
    say_of(folder)
    text = file.read_text(encoding="utf-8")
    return of_study(loaded.title, results, loaded.metrics, arguments, loaded.compared, text)


def _stored(title: str, store: Path, arguments: list[str]) -> Report:
    from wifair.analysis.sweep import METRICS
    from wifair.report.study import of_study
    from wifair.study.store import stored_results

    return of_study(title, stored_results(store, title), METRICS, arguments)


def _paper(
    paper_id: str, full: bool, seeds: int | None, threads: int | None, store: Path | None, arguments: list[str]
) -> Report:
    from wifair.cli.output import progress, say_of
    from wifair.cli.printed import kept
    from wifair.papers import Asked, find
    from wifair.report.paper import of_paper
    from wifair.study.store import opened

    paper = find(paper_id)
    form = "full" if full else "quick"
    folder = opened(store)
    with kept(None, store=folder), progress(f"{paper_id}: simulating") as bar:
        found = paper.reproduce(Asked(form, None, seeds, threads, bar, folder, f"{paper_id}, {form}"))
    say_of(folder)
    return of_paper(paper_id, paper, found, arguments)
