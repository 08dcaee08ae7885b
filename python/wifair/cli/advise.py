"""`wifair advise`: what to change at an access point, what that is worth, and the commands."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wifair.cli.options import (
    DEFAULT_STORE,
    Bss,
    Dask,
    Json,
    Measured,
    ScenarioFile,
    Set,
    StoreFolder,
    Threads,
    Verbose,
)

if TYPE_CHECKING:
    from wifair.advising import Advice, Change

EXAMPLE = """Example: wifair advise cafe --want "pings below 100 ms" --want total --has linux --out results/advice.html

Example: wifair advise mostly-uploads --want total --has linux --out results/advice.json"""

# Rows of the ranking, and flows that lose, without --verbose.
SHOWN = 6

Wants = Annotated[
    list[str],
    typer.Option(
        "--want",
        metavar="GOAL",
        help='A goal: "fair shares", total, "calls below 100 ms", pages, or a metric. Repeat it for several; without it the scenario\'s criteria decide.',
        show_default=False,
    ),
]
Has = Annotated[
    str,
    typer.Option(
        "--has",
        metavar="EQUIPMENT",
        help="openwrt, linux, or any: Linux, and schemes are tried that no command sets.",
    ),
]
WithPopulation = Annotated[
    bool,
    typer.Option(
        "--population",
        help="Say where the network lies among the 100 of `wifair population`, and try the best change in the five nearest.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.html|FILE.json",
        help="Write a page with a figure, or all of it as JSON, which `wifair check-prediction` reads.",
        show_default=False,
    ),
]


def advise(
    context: typer.Context,
    scenario: ScenarioFile,
    want: Wants = [],  # noqa: B006 -- typer copies the default
    has: Has = "any",
    measured: Measured = [],  # noqa: B006
    population: WithPopulation = False,
    out: Out = None,
    store: StoreFolder = DEFAULT_STORE,
    threads: Threads = None,
    dask: Dask = None,
    json: Json = False,
    set: Set = [],  # noqa: B006
    bss: Bss = "",
    verbose: Verbose = False,
) -> None:
    """Say what to change at the access point, what that is worth, and with which commands.

    The best of many changes is measured again on fresh seeds, and what the scenario file marks as assumed or unknown is varied. With --measured it says whether
    the scenario shows what was measured.
    """
    from wifair import gallery
    from wifair.advising import AdviceInterrupted, Advising
    from wifair.advising.document import document
    from wifair.cli.output import print_json, progress, say, say_of
    from wifair.cli.printed_measured import measurement_of
    from wifair.cli.schemes_of_files import assignments
    from wifair.observed.origins import marks
    from wifair.population import Population
    from wifair.results.results import writable_folder
    from wifair.scenario.scenario import Scenario
    from wifair.study.store import Store
    from wifair.tuning.goals import parsed

    loaded = Scenario.from_toml(scenario, assignments(set))
    title = f"{loaded.title or scenario.stem}{f', {bss}' if bss else ''}"
    given = {text.partition("=")[0].strip() for text in set}
    text = gallery.file_of(scenario).read_text(encoding="utf-8")
    assumptions = [mark for mark in marks(text) if mark.path not in given]
    others = Population().scenarios if population else None
    wanted = parsed(want, "--want") if want else ()
    advising = Advising(loaded, wanted, has, assumptions, others, bss, measurement_of(loaded, measured))
    if out:
        check_name(out)
        writable_folder(out.parent)
    folder = Store(store)
    try:
        advice = advising.run(threads, progress, folder, dask)
    except AdviceInterrupted as interruption:
        if interruption.advice.search or interruption.advice.as_it_is:
            if json:
                print_json(document(interruption.advice))
            else:
                print_advice(interruption.advice, title, verbose)
        interruption.args = (
            f"{interruption}; they are in {folder.folder}, and the same command continues from there.",
        )
        raise
    if out:
        write(advice, title, context.obj, out)  # before printing, which may fail
    if json:
        print_json(document(advice))
    else:
        print_advice(advice, title, verbose)
    say_of(folder)
    if out:
        say(f"the advice is in {out}")


def check_name(out: Path) -> None:
    """Raises `InputError` for a file of another kind."""
    from wifair.errors import InputError

    if out.suffix not in (".html", ".json"):
        raise InputError(f"--out: {out} is not allowed; allowed here: FILE.html, FILE.json.")


def write(advice: Advice, title: str, command: list[str], out: Path) -> None:
    """Writes the page, or the JSON document."""
    from wifair.advising.document import document
    from wifair.cli.output import print_json
    from wifair.errors import InputError
    from wifair.report import page
    from wifair.report.advice import of_advice

    if out.suffix == ".html":
        page.write(of_advice(advice, title, command), out)
        return
    try:
        with out.open("w", encoding="utf-8") as file:
            print_json(document(advice), file)
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written: {error.strerror}.") from None


def print_advice(advice: Advice, title: str, verbose: bool) -> None:
    """Prints the advice, the commands, what loses, the ranking and the assumptions."""
    from wifair.advising import OWN, measured, wording
    from wifair.cli.output import print_lines, print_text
    from wifair.cli.printed_measured import print_quantities

    print_text(f"{title}: {measured.headline(advice)}")
    for told in measured.sentences(advice):
        print_text(told, indent="  ", first="- ")
    for remark in (*advice.remarks, *wording.indexes(advice)):
        print_text(f"{remark}.", indent="  ", first="- ")
    print_lines([""])
    best = advice.best
    for told in wording.bounds(advice, OWN) if advice.searched else []:
        print_text(told, indent="  ", first="- ")
    if best and advice.confirmed and wording.is_advised(advice):
        _print_best(advice, best, verbose)
    if found := wording.beyond(advice):
        print_lines(["Better, but no command sets it:"])
        for told in found:
            print_text(told, indent="  ", first="- ")
        print_lines([""])
    _print_ranking(advice, verbose)
    if advice.as_it_is and verbose:
        print_quantities(advice.as_it_is, verbose)
    assumed = wording.doubted(advice)
    for told in assumed if verbose else assumed[:SHOWN]:
        print_text(told, indent="  ", first="- ")
    if len(assumed) > SHOWN and not verbose:
        print_text(f"{len(assumed) - SHOWN} more with --verbose", indent="  ", first="- ")
    for told in (*measured.not_compared(advice), *wording.placed(advice)):
        print_text(told, indent="  ", first="- ")
    print_text(f"{advice.runs} replications. {wording.not_tried(advice)}")


def _print_best(advice: Advice, best: Change, verbose: bool) -> None:
    """Prints what the advised change does, and its commands."""
    from wifair.advising import wording
    from wifair.cli.output import print_text

    for told in (*wording.bounds(advice, best.name), *wording.others_by_goal(advice, best)):
        print_text(told, indent="  ", first="- ")
    for told in (*wording.chosen(advice), *wording.no_gain(advice)):
        print_text(told, indent="  ", first="- ")
    _print_flows(advice, best, verbose)
    for told in wording.of_others(advice, best):
        print_text(told, indent="  ", first="- ")
    if advice.bss:
        print_text(f"{best.name}: {best.about}.", indent="  ", first="- ")
    _print_commands(best)


def _print_flows(advice: Advice, best: Change, verbose: bool) -> None:
    from wifair.advising import wording
    from wifair.cli.output import print_text

    for word, flows in (("gain", wording.winners(advice, best)), ("lose", wording.losers(advice, best))):
        shown = flows if verbose else flows[:SHOWN]
        rest = f"; {len(flows) - len(shown)} more with --verbose" if len(flows) > len(shown) else ""
        told = f"Flows that {word}: {'; '.join(shown) or 'none'}{rest}"
        print_text(told, indent="  ", first="- ")


def _print_commands(best: Change) -> None:
    from wifair.advising import wording
    from wifair.cli.output import print_lines, print_text

    if best.commands is None:
        return
    lasting = "" if best.commands.lasting else " (until the next restart)"
    print_lines(["", f"Set it{lasting}:", *(f"    {line}" for line in best.commands.do)])
    print_lines(["Undo it:", *(f"    {line}" for line in best.commands.undo)])
    print_text(wording.of_commands(best.commands))
    print_lines([""])


def _print_ranking(advice: Advice, verbose: bool) -> None:
    from wifair.advising import OWN, wording
    from wifair.cli.output import print_table
    from wifair.cli.tables import columns

    changes = wording.ranking(advice)
    if not changes:
        return
    count, own = wording.searched_as_it_is(advice)
    rows = [(OWN, "", f"{count}", *own, *([""] if advice.bss else []))]
    listed = changes if verbose else changes[:SHOWN]
    for change in listed:
        state, seeds, effects = wording.searched_in_short(advice, change)
        others = [wording.others_in_short(advice, change)] if advice.bss else []
        rows.append((change.name, state, f"{seeds}", *effects, *others))
    rest = f"; {len(changes) - len(listed)} more with --verbose" if len(changes) > len(listed) else ""
    headings = ("change", "search says", "seeds", *map(wording.heading, advice.shown))
    headings += ("the others",) if advice.bss else ()
    about = "Changes by the seeds of the search, the best first. Effects of the best are too good here, since these seeds chose it"
    if any(row[2] != f"{count}" for row in rows):
        about += ". A change with fewer seeds than the scenario as it is has no mean, since the two would not compare"
    print_table(f"{about}{rest}", columns(headings, rows, left=2, prose=(0, len(headings) - 1) if advice.bss else (0,)))
