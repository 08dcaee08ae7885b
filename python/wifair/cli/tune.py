"""`wifair tune`: the settings of a scenario that are best by one or several goals."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wifair.cli.options import DEFAULT_STORE, Bss, Dask, Json, Out, ScenarioFile, Set, StoreFolder, Threads

if TYPE_CHECKING:
    from wifair.tuning import Point, Tuned

EXAMPLE = "Example: wifair tune cafe --over ap.limit_packets=20..2000:log --goal total_mbps --seeds 2 --runs 40"

# Rows of the table of points without --verbose.
SHOWN = 10

Over = Annotated[
    list[str],
    typer.Option(
        metavar="KEY=RANGE",
        help="A key of the scenario to vary; repeat it for several. RANGE: LOW..HIGH, LOW..HIGH:STEP, LOW..HIGH:log, or choices as A,B,C.",
        show_default=False,
    ),
]
Goals = Annotated[
    list[str],
    typer.Option(
        "--goal",
        metavar="METRIC",
        help="What decides: jain, total_mbps, ping_p95_ms, …, or METRIC=highest, METRIC=lowest. Several goals give a Pareto front.",
        show_default=False,
    ),
]
Seeds = Annotated[int, typer.Option(min=2, help="Number of replications of a point that is not stopped early.")]
Runs = Annotated[
    int, typer.Option(min=1, help="Largest number of replications in all, those of the verification included.")
]
Batch = Annotated[
    int, typer.Option(min=1, help="Points asked together. It belongs to the search: another one asks other points.")
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print every point.")]


def tune(
    scenario: ScenarioFile,
    over: Over = [],  # noqa: B006 -- typer copies the default
    goal: Goals = [],  # noqa: B006
    seeds: Seeds = 10,
    runs: Runs = 600,
    batch: Batch = 8,
    store: StoreFolder = DEFAULT_STORE,
    threads: Threads = None,
    dask: Dask = None,
    out: Out = None,
    json: Json = False,
    set: Set = [],  # noqa: B006
    bss: Bss = "",
    verbose: Verbose = False,
) -> None:
    """Search the settings that are best by one or several goals, and verify them on fresh seeds.

    All points run with the same random numbers, and hopeless ones stop early. After an interruption the same command continues to the
    same answer.
    """
    from wifair.cli.output import print_json, progress, say, say_of
    from wifair.cli.printed_bsss import say_judged
    from wifair.cli.schemes_of_files import assignments
    from wifair.results.results import writable_folder
    from wifair.scenario.scenario import Scenario
    from wifair.study.store import Store
    from wifair.tuning import Tuning, TuningInterrupted

    loaded = Scenario.from_toml(scenario, assignments(set))
    loaded.check_bss(bss)
    title = loaded.title or scenario.stem
    asked = _ranges(over)
    name = f"{title}: tuned {', '.join(asked)}{f' for {bss}' if bss else ''}"
    tuning = Tuning(loaded, asked, goal, seeds=seeds, runs=runs, batch=batch, title=name, bss=bss)
    if out:
        writable_folder(out)
    folder = Store(store)
    words = _words(scenario, set)
    try:
        with progress("tuning") as report:
            tuned = tuning.run(threads, report, folder, dask)
    except TuningInterrupted as interruption:
        if interruption.tuned.best:
            _print(interruption.tuned, title, words, json, verbose)
        interruption.args = (
            f"{interruption}; they are in {folder.folder}, and the same command continues from there.",
        )
        raise
    saved = tuned.verified.save(out) if out and tuned.verified else None  # before printing, which may fail
    if out:
        tuned.frame().write_parquet(out / "points.parquet")
    _print(tuned, title, words, json, verbose)
    say_judged(loaded.plan(), bss)
    say_of(folder)
    if saved:
        say(f"the verification and points.parquet are in {saved}")
    if json:
        print_json(tuned.to_dict())


def _ranges(texts: list[str]) -> dict[str, Any]:
    """The ranges by key. Choices of a scheme may be files and have parameters, as for `--schemes`."""
    from wifair.cli.schemes_of_files import schemes
    from wifair.errors import InputError
    from wifair.tuning.ranges import is_range, parse

    found: dict[str, Any] = {}
    for key, told in map(parse, texts):
        if key in found:
            raise InputError(f"--over {key}: is given twice; allowed here: each key once.")
        listed = key.endswith("scheme") and not is_range(told) and not told.startswith("[")
        found[key] = schemes(told, f"--over {key}") if listed else told
    return found


def _words(scenario: Path, settings: list[str]) -> list[str]:
    return ["wifair", "run", str(scenario), *(word for text in settings for word in ("--set", text))]


def _print(tuned: Tuned, title: str, words: list[str], json: bool, verbose: bool) -> None:
    """Prints the answer, what it changes on fresh seeds, and the best points of the search."""
    from wifair.cli.output import print_lines, print_text

    if json:
        return
    goals = " and ".join(map(str, tuned.goals)) + (f" of {tuned.bss}" if tuned.bss else "")
    if tuned.verified is None:
        print_text(f"{title}: so far, by {goals}, not verified:")
    elif len(tuned.best) > 1:
        print_text(f"{title}: {len(tuned.best)} points on the Pareto front of {goals}")
    elif tuned.settings:
        print_text(f"{title}: best by {goals}: {tuned.best[0].name}")
    else:
        print_text(f"{title}: no point is better than the scenario as it is, by {goals}")
    if tuned.settings:
        print_text(command(words, tuned.best[0]), indent="    ", first="  ")
    for remark in tuned.remarks:
        print_text(f"{remark}.", indent="  ", first="- ")
    print_lines([""])
    if tuned.verified is not None:
        _print_verified(tuned)
        _print_side_effects(tuned)
    _print_points(tuned, verbose)
    states = [point.state for point in tuned.points]
    parts = [f"{len(states) - 1} points, {states.count('stopped')} of them stopped early", f"{tuned.runs} replications"]
    if tuned.refused:
        parts.append(f"{tuned.refused} combinations refused, since their settings do not go together")
    if tuned.exhausted:
        parts.append("nothing new was left to try")
    print_text(f"{'; '.join(parts)}.")


def command(words: list[str], point: Point) -> str:
    """The command that runs a point."""
    from wifair.analysis.sweep import label

    return shlex.join(
        [*words, *(w for key, value in point.settings.items() for w in ("--set", f"{key}={label(value)}"))]
    )


def _print_verified(tuned: Tuned) -> None:
    from wifair.cli.output import print_table
    from wifair.cli.printed import heading, means
    from wifair.cli.tables import columns
    from wifair.study.study import seeds_text

    results = tuned.judged
    assert results is not None
    gains = {(row["scenario"], row["metric"]): row for row in tuned.gains()}
    rows = []
    for cell in results.cells:
        row = [cell.name]
        for metric in tuned.metrics:
            row += [results.interval(cell.name, metric).short(), _gain(gains.get((cell.name, metric)))]
        rows.append(row)
    headings = [
        "point",
        *(text for metric in tuned.metrics for text in (heading(metric, results.units), "change [95 %]")),
    ]
    about = f"On fresh seeds ({seeds_text(results.seeds)}), change against the scenario as it is, paired by seed"
    print_table(
        f"{about}. {means((told for row in rows for told in row[1::2]), results)}", columns(headings, rows, prose=(0,))
    )


def _print_side_effects(tuned: Tuned) -> None:
    """Prints what the best point changes for the BSSs that are not judged; of a front, each of its points."""
    from wifair.cli.output import print_lines, print_text
    from wifair.everything.side_effects import sentences

    best = [pair for pair in tuned.pairs() if pair[0] in {point.name for point in tuned.best}]
    told = sentences(tuned.side_effects(), best, {name: name for pair in best for name in pair}) if tuned.bss else []
    for sentence in told:
        print_text(sentence, indent="  ", first="- ")
    if told:
        print_lines([""])


def _gain(row: Any) -> str:
    if row is None:
        return "–"
    if row["ci_low"] is None:
        return f"{row['difference']:+.4g}"
    return f"{row['difference']:+.4g} [{row['ci_low']:+.4g}, {row['ci_high']:+.4g}]"


def _print_points(tuned: Tuned, verbose: bool) -> None:
    """Prints the finished points of the search, the best by the first goal first; with `verbose` all points."""
    from wifair.cli.output import print_table
    from wifair.cli.printed import heading
    from wifair.cli.tables import columns, marked

    shown = [point for point in tuned.points if len(point.values) and (verbose or point.state == "finished")]
    goal = tuned.goals[0]
    shown.sort(key=lambda point: (point.state != "finished", -goal.sign * tuned.interval(point, goal).estimate))
    rest = 0 if verbose else len(shown) - SHOWN
    shown = shown if verbose else shown[:SHOWN]
    if not shown:
        return
    rows = [
        (
            point.name,
            point.state,
            f"{len(point.values)}",
            *(tuned.interval(point, goal).short() for goal in tuned.goals),
        )
        for point in shown
    ]
    units = {goal.metric: goal.own.unit for goal in tuned.goals if goal.own}
    headings = (
        "point",
        "state",
        "seeds",
        *(heading(metric, units) if units else heading(metric) for metric in tuned.metrics),
    )
    more = f"; {rest} more with --verbose" if rest > 0 else ""
    star = ", * on the Pareto front" if len(tuned.goals) > 1 else ""
    table = columns(headings, rows, left=2, prose=(0,))
    if len(tuned.goals) > 1:
        table[0] = marked(table[0], [point in tuned.best for point in shown])
    print_table(f"Points of the search, by the seeds of the search{star}{more}", table)
