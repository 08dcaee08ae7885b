"""`wifair fit`: values of what a scenario assumes, so that its runs show what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wifair.cli.options import DEFAULT_STORE, Dask, Json, ScenarioFile, Set, StoreFolder, Threads

if TYPE_CHECKING:
    from wifair.fitting import Fitted

EXAMPLE = (
    "Example: wifair fit results/mine.toml results/ap/seed-1 --runs 80 --set ap.scheme=droptail --set tcp.profile=linux"
)

# Rows of the table of quantities without --verbose.
SHOWN = 6

Measured = Annotated[
    Path,
    typer.Argument(
        metavar="MEASURED",
        help="The measurement: a file that `wifair import` reads, a folder with such files, or a folder with such folders, one per measurement.",
        show_default=False,
    ),
]
Runs = Annotated[int, typer.Option(min=1, help="Replications of the search. Profiles and the verdict need some more.")]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml", help="Write the scenario with the fitted values, if it is a fit.", show_default=False
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print every quantity.")]


def fit(
    scenario: ScenarioFile,
    measured: Measured,
    runs: Runs = 300,
    out: Out = None,
    store: StoreFolder = DEFAULT_STORE,
    threads: Threads = None,
    dask: Dask = None,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- typer copies the default
    verbose: Verbose = False,
) -> None:
    """Search the values of what the scenario assumes with which its runs show what was measured.

    A part of the measurement is held out, and decides whether it is a fit. What the measurement cannot tell apart is named. After an interruption the same
    command continues.
    """
    from wifair import gallery
    from wifair.cli.output import print_json, progress, say, say_of
    from wifair.cli.schemes_of_files import assignments
    from wifair.files import check_folder
    from wifair.fitting import Fitting, FittingInterrupted, measurement
    from wifair.fitting.wording import document
    from wifair.observed.origins import marks
    from wifair.results.results import writable_folder
    from wifair.scenario.scenario import Scenario
    from wifair.study.store import Store

    if out:
        check_folder(out, f"--out {out}")
    loaded = Scenario.from_toml(scenario, assignments(set))
    given = {told.partition("=")[0].strip() for told in set}
    text = gallery.file_of(scenario).read_text(encoding="utf-8")
    fitting = Fitting(
        loaded, [mark for mark in marks(text) if mark.path not in given], measurement(measured, progress), runs
    )
    if out:
        writable_folder(out.parent)
    folder = Store(store)
    try:
        fitted = fitting.run(threads, progress, folder, dask)
    except FittingInterrupted as interruption:
        if not json:
            print_best(interruption.fitted)
        interruption.args = (
            f"{interruption}; they are in {folder.folder}, and the same command continues from there.",
        )
        raise
    if out and fitted.is_fit:
        write(fitted, text, measured, out)  # before printing, which may fail
    if json:
        print_json(document(fitted))
    else:
        print_fitted(fitted, verbose)
    say_of(folder)
    if not fitted.is_fit:
        raise typer.Exit(1)
    if out:
        say(f"the scenario is in {out}; now: wifair advise {out}")


def write(fitted: Fitted, text: str, measured: Path, out: Path) -> None:
    """Writes the scenario."""
    from wifair.files import write_scenario
    from wifair.fitting import written

    write_scenario(out, written.text(fitted, text, str(measured)))


def print_best(fitted: Fitted) -> None:
    """Prints that the fit was stopped early, and the best point so far."""
    from wifair.cli.output import print_text
    from wifair.fitting import wording

    told = wording.so_far(fitted) if fitted.searched.objective else "no other value was tried"
    print_text(f"Stopped early, so it is not judged whether there is a fit: {told}.")


def print_fitted(fitted: Fitted, verbose: bool) -> None:
    """Prints the answer, the values, what is not determined, and the quantities."""
    from wifair.cli.output import print_lines, print_table, print_text
    from wifair.cli.tables import columns
    from wifair.fitting import wording

    print_text(wording.headline(fitted))
    print_lines([""])
    for told in wording.remarks(fitted):
        print_text(f"{told}.", indent="  ", first="- ")
    print_lines([""])
    rows = [wording.row(fitted, each) for each in fitted.estimates]
    if rows:
        print_table(
            "Values, each with the others that the measurement does not exclude",
            columns(wording.HEADINGS, rows, left=5, prose=(2, 3, 4)),
        )
    for about, judged in (("Held out", fitted.held), ("Fitted", fitted.seen)):
        shown = judged if verbose else judged[:SHOWN]
        rest = f"; {len(judged) - len(shown)} more with --verbose" if len(judged) > len(shown) else ""
        table = columns(wording.QUANTITIES, [wording.quantity(each) for each in shown], prose=(0,))
        print_table(f"{about}, on fresh seeds, the most missed first{rest}", table)
    print_text(f"{fitted.searched.runs} replications.")
