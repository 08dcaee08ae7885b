"""`wifair compare`: one scenario under several schemes with the same seeds, a folder of scenarios, or every scheme in every scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from wifair.cli.options import Bss, Formats, Json, Out, Set, Store, Threads, Verbose, Wishes, formats

EXAMPLE = "Example: wifair compare cafe --schemes droptail,ack-pushout,adaptive-pushout"

File = Annotated[
    Path | None,
    typer.Argument(
        metavar="SCENARIO.toml|DIR",
        help="The scenario: a file, or a name that `wifair new` lists; or a folder of scenarios.",
        show_default=False,
    ),
]
Schemes = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        help="The schemes: names that `wifair schemes` or results have, also with parameters as 'las,mac80211(signal=drop)', "
        "FILE.py:CLASS. By default droptail, mac80211 and the scenario's own; with --all or a folder every one.",
        show_default=False,
    ),
]
Replications = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of replications, with seeds 1, 2, …; by default 10, with --all as many as the form has, with a folder 20 to 64.",
        show_default=False,
    ),
]
All = Annotated[
    bool,
    typer.Option("--all", help="Run every scheme in the scenarios of the papers and of today, and judge the schemes."),
]
Judge = Annotated[
    bool,
    typer.Option(
        "--judge",
        help="Judge the schemes by the rule of --all, and recommend one: by default every scheme, 20 to 64 replications.",
    ),
]
Full = Annotated[
    bool,
    typer.Option("--full/--quick", help="With --all: runs as long as in the papers, or a short form of two minutes."),
]
Scenarios = Annotated[
    str, typer.Option(metavar="A,B,C", help="With --all: only these scenarios, by name.", show_default=False)
]
Pages = Annotated[
    list[Path],
    typer.Option(
        "--page",
        help="With --all: a Markdown page with marks for the comparison or its findings; may be repeated.",
        show_default=False,
    ),
]


def compare(
    context: typer.Context,
    scenario: File = None,
    schemes: Schemes = None,
    seeds: Replications = None,
    threads: Threads = None,
    out: Out = None,
    store: Store = None,
    precision: Wishes = [],  # noqa: B006 -- typer copies the default
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
    bss: Bss = "",
    all: All = False,
    judge: Judge = False,
    full: Full = False,
    scenarios: Scenarios = "",
    verbose: Verbose = False,
    page: Pages = [],  # noqa: B006 -- typer copies the default
    format: Formats = "",
) -> None:
    """Run a scenario under several schemes, and compare them.

    All schemes run with the same random numbers, so differences are taken seed by seed.

    With --judge, say which scheme to use in this scenario.

    With a folder of scenarios, such as one that `wifair population` writes, judge the schemes in all of them, and answer in shares.

    With --all (as in `wifair compare --all --quick`), run every scheme in every scenario, and say who is best by what.
    """
    from wifair.cli.schemes_of_files import schemes as named
    from wifair.errors import InputError

    if bss and (all or judge or (scenario and scenario.is_dir())):
        raise InputError("--bss: is for one scenario, without --all and --judge; allowed here: leave one of them out.")
    if all:
        from wifair.cli.everything import everything

        if scenario or precision or judge:
            raise InputError("--all has fixed scenarios and judges: leave out SCENARIO.toml, --precision, --judge.")
        wanted = [name.strip() for name in scenarios.split(",") if name.strip()]
        everything(
            "full" if full else "quick",
            wanted,
            named(schemes),
            seeds,
            threads,
            out,
            store,
            page,
            formats(format),
            json,
            set,
            context.obj,
        )
        return
    if scenario is None:
        raise InputError("a scenario is missing: give SCENARIO.toml, or --all for every scheme in every scenario.")
    if full or scenarios or page:
        raise InputError("--full, --scenarios and --page need --all.")
    if scenario.is_dir():
        from wifair.cli.shares import shares

        if precision:
            raise InputError("a folder has a rule for the number of replications: leave out --precision.")
        shares(scenario, named(schemes), seeds, threads, out, store, formats(format), json, set, verbose)
        return
    if format:
        raise InputError("--format needs --all or a folder of scenarios.")
    if judge:
        from wifair.cli.judge import judge as judged

        if precision:
            raise InputError("--judge has a rule for the number of replications: leave out --precision, or --judge.")
        judged(scenario, named(schemes), seeds, threads, out, store, json, set, context.obj)
        return
    count = 10 if seeds is None else seeds
    one_scenario(scenario, named(schemes), count, threads, out, store, precision, json, set, bss, verbose)


def one_scenario(
    scenario: Path,
    names: list[str | dict[str, Any]],
    seeds: int,
    threads: int | None,
    out: Path | None,
    store: Path | None,
    precision: list[str],
    json: bool,
    set: list[str],
    bss: str,
    verbose: bool,
) -> None:
    """Compares the schemes in one scenario, all pairs."""
    from wifair.analysis.comparison import decided
    from wifair.analysis.precision import Precision
    from wifair.api import comparison
    from wifair.cli.output import print_json, progress, say, say_of
    from wifair.cli.printed import kept, print_differences, print_results, print_verdicts
    from wifair.cli.printed_bsss import print_side_effects, say_judged
    from wifair.cli.schemes_of_files import assignments
    from wifair.everything.side_effects import side_effects
    from wifair.scenario.scenario import Scenario
    from wifair.study.store import opened

    wishes = [Precision.parse(text) for text in precision]
    loaded = Scenario.from_toml(scenario, assignments(set))
    title = loaded.title or scenario.stem
    study = comparison(loaded, names or None, seeds, bss=bss)
    study.title = f"{title}: {', '.join(cell.name for cell in study.cells)}"
    folder = opened(store)
    with kept(out, json, folder), progress("simulating") as report:
        results = study.run(threads, report, folder)
    saved = results.save(out) if out else None  # before printing, which may fail
    judged = results.of_bss(bss) if bss else results
    differences = decided(judged, wishes=wishes)
    others = side_effects(results, bss) if bss else []
    if json:
        more = {"bss": bss, "others": others} if bss else {}
        print_json({**judged.to_dict(), "differences": differences, **more})
    else:
        print_results(judged, title, differences)
        print_verdicts(judged, differences, bss)
        print_side_effects(results, bss, others)
        print_differences(differences, judged, verbose or bool(wishes))
    say_judged(loaded.plan(), bss)
    say_of(folder)
    if saved:
        say(f"results are in {saved}")
