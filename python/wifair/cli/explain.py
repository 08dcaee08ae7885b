"""`wifair explain`: what limited each flow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wifair.cli.options import Bss, Formats, Json, ScenarioFile, Seeds, Set, Store, Threads, Verbose, formats

if TYPE_CHECKING:
    from wifair.analysis.explain import Sentence

EXAMPLE = "Example: wifair explain cafe --seeds 3 --figure why.png"

Scheme = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Explain the scenario under this scheme; by default its own.", show_default=False
    ),
]
Figure = Annotated[
    Path | None, typer.Option(metavar="FIGURE", help="Also draw the explanation in FIGURE.", show_default=False)
]


def explain(
    scenario: ScenarioFile,
    scheme: Scheme = None,
    seeds: Seeds = 3,
    threads: Threads = None,
    store: Store = None,
    figure: Figure = None,
    format: Formats = "",
    verbose: Verbose = False,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
    bss: Bss = "",
) -> None:
    """Explain why each flow got its goodput, from counters.

    Losses by reason, airtime, the states of TCP senders and what limited them; all are means over the runs. Of several BSSs, the flows are those of
    the first, or of --bss.
    """
    from wifair.analysis import explain as why
    from wifair.analysis import explain_groups, warmup
    from wifair.cli.output import print_json, print_lines, print_table, print_text, progress, say, say_of
    from wifair.cli.printed import print_run
    from wifair.cli.printed_bsss import of_shown, say_shown
    from wifair.cli.tables import columns
    from wifair.results.results import writable_folder
    from wifair.scenario.overrides import parse_assignments
    from wifair.scenario.scenario import Scenario
    from wifair.study.store import opened

    endings = formats(format)
    loaded = Scenario.from_toml(scenario, parse_assignments(set))
    loaded.check_bss(bss)
    if scheme:
        loaded = loaded.override({loaded.scheme_key(bss): scheme})
    if figure:
        writable_folder(warmup.figure_paths(figure, endings)[0].parent)
    folder = opened(store)
    with progress("simulating") as report:
        results = why.results_of(loaded, seeds, threads, report, folder)
    judged, shown = results.of_bss(bss) if bss else results, of_shown(results, bss, verbose)
    drawn = [why.draw(judged, path) for path in warmup.figure_paths(figure, endings)] if figure else []
    found = explain_groups.groups(judged)
    leading, sentences = explain_groups.lead(judged, found), why.explain(judged) if json or verbose else []
    if json:
        told = {"title": loaded.title or scenario.stem, "lead": [sentence.to_dict() for sentence in leading]}
        told |= {"groups": [explain_groups.to_dict(group) for group in found]}
        print_json(told | {"sentences": [sentence.to_dict() for sentence in sentences]})
    else:
        print_run(results, loaded.title or scenario.stem)
        for sentence in leading:
            print_text(sentence.text, indent="  ", first="- ")
        print_lines([""])
        table = columns(explain_groups.HEADINGS, explain_groups.rows(explain_groups.groups(shown)))
        print_table(explain_groups.NOTE, table)
        print_flows(sentences)
        say_shown(results, shown, bss)
        if not verbose:
            print_text("--verbose explains every flow.")
        for warning in judged.warnings():
            say(f"warning: {warning}")
    for path in drawn:
        say(f"drawn in {path}")
    say_of(folder)


def print_flows(sentences: list[Sentence]) -> None:
    """Prints all sentences, flow by flow."""
    from wifair.cli.output import print_lines, print_text

    before = ""
    for told in sentences:
        if told.flow != before:
            print_lines([""])
        indent = "  " if told.flow and told.flow == before else ""
        print_text(told.text, indent=f"{indent}  ", first=indent)
        before = told.flow
