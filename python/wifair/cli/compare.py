"""`wifair compare`: one scenario under several schemes, with the same seeds."""

from __future__ import annotations

from typing import Annotated

import typer

from wifair.cli.options import Json, Out, ScenarioFile, Seeds, Set, Store, Threads, Wishes

EXAMPLE = "Example: wifair compare scenarios/five-lines.toml --schemes droptail,ack-pushout,adaptive-pushout"

Schemes = Annotated[
    str,
    typer.Option(metavar="A,B,C", help="The schemes: names from `wifair schemes`, FILE.py:CLASS.", show_default=False),
]


def compare(
    scenario: ScenarioFile,
    schemes: Schemes,
    seeds: Seeds = 10,
    threads: Threads = None,
    out: Out = None,
    store: Store = None,
    precision: Wishes = [],  # noqa: B006 -- typer copies the default
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
) -> None:
    """Run a scenario under several schemes with common random numbers, and compare them pair by pair."""
    from wifair.api import comparison
    from wifair.cli.output import kept, print_differences, print_json, print_results, progress, say, say_of
    from wifair.cli.schemes_of_files import assignments
    from wifair.cli.schemes_of_files import schemes as named
    from wifair.comparison import COMPARED, against_first, paired
    from wifair.precision import Precision
    from wifair.scenario import Scenario
    from wifair.store import opened

    names = named(schemes)
    wishes = [Precision.parse(text) for text in precision]
    loaded = Scenario.from_toml(scenario, assignments(set))
    study = comparison(loaded, names, seeds, f"{loaded.title or scenario.stem}: {', '.join(names)}")
    folder = opened(store)
    with kept(out, json, folder), progress("simulating") as report:
        results = study.run(threads, report, folder)
    differences = paired(results, against_first(results.cells), COMPARED, wishes)
    if json:
        print_json({**results.to_dict(), "differences": differences})
    else:
        print_results(results)
        print_differences(differences)
    say_of(folder)
    if out:
        say(f"results are in {results.save(out)}")
