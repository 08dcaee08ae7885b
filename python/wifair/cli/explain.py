"""`wifair explain`: why each flow got what it got."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wifair.cli.options import Json, ScenarioFile, Seeds, Set, Store, Threads

EXAMPLE = "Example: wifair explain scenarios/five-lines.toml --seeds 3 --figure why.png"

Scheme = Annotated[
    str | None, typer.Option(metavar="NAME", help="Under this scheme; the scenario's by default.", show_default=False)
]
Figure = Annotated[Path | None, typer.Option(metavar="FIGURE", help="Draw it there, too.", show_default=False)]


def explain(
    scenario: ScenarioFile,
    scheme: Scheme = None,
    seeds: Seeds = 3,
    threads: Threads = None,
    store: Store = None,
    figure: Figure = None,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
) -> None:
    """Say why each flow got what it got: losses by reason, the air, TCP's states, what held it back. Means over the runs."""
    from wifair import explain as why
    from wifair import warmup
    from wifair.cli.output import print_json, progress, say, say_of, stdout
    from wifair.overrides import parse_assignments
    from wifair.results import writable_folder
    from wifair.scenario import Scenario
    from wifair.store import opened

    loaded = Scenario.from_toml(scenario, parse_assignments(set))
    if scheme:
        loaded = loaded.override({"ap.scheme": scheme})
    if figure:
        writable_folder(warmup.figure_path(figure).parent)
    folder = opened(store)
    with progress("simulating") as report:
        results = why.results_of(loaded, seeds, threads, report, folder)
    sentences = why.explain(results)
    if json:
        print_json({"title": loaded.title or scenario.stem, "sentences": [told.to_dict() for told in sentences]})
    else:
        console, before = stdout(), ""
        for told in sentences:
            if told.flow != before:
                console.print()
            console.print(told.text if not told.flow or told.flow != before else f"  {told.text}", markup=False)
            before = told.flow
    if figure:
        say(f"drawn in {why.draw(results, figure)}")
    say_of(folder)
