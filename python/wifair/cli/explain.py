"""`wifair explain`: what limited each flow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wifair.cli.options import Bss, Formats, Json, Measured, ScenarioFile, Set, Store, Threads, Verbose, formats

if TYPE_CHECKING:
    from wifair.analysis.explain import Sentence
    from wifair.prediction.as_it_is import AsItIs
    from wifair.results.results import Results

EXAMPLE = "Example: wifair explain cafe --seeds 3 --figure why.png"

# Replications by default, without a measurement and with one, whose comparison needs their variance.
SEEDS, SEEDS_MEASURED = 3, 12

Seeds = Annotated[
    int | None,
    typer.Option(
        min=1,
        help=f"Number of replications, with seeds 1, 2, …; {SEEDS} by default, {SEEDS_MEASURED} with --measured. A single replication has no interval.",
        show_default=False,
    ),
]
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
    measured: Measured = [],  # noqa: B006 -- typer copies the default
    seeds: Seeds = None,
    threads: Threads = None,
    store: Store = None,
    figure: Figure = None,
    format: Formats = "",
    verbose: Verbose = False,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
    bss: Bss = "",
) -> None:
    """Explain what limits a network, and why each flow got its goodput, from counters.

    Losses by reason, airtime, the states of TCP senders and what limited them; all are means over the runs. Of several BSSs, the flows are those of
    all, or of --bss.
    """
    from wifair import gallery
    from wifair.analysis import explain as why
    from wifair.analysis import warmup
    from wifair.cli.output import print_json, progress, say, say_of
    from wifair.cli.printed_measured import measurement_of
    from wifair.observed.origins import marks
    from wifair.prediction.as_it_is import as_it_is, read_flows
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
    shown_by_ap = measurement_of(loaded, measured)
    folder, count = opened(store), seeds or (SEEDS_MEASURED if measured else SEEDS)
    with progress("simulating") as report:
        results = why.results_of(loaded, count, threads, report, folder)
    judged = results.of_bss(bss) if bss else results
    drawn = [why.draw(judged, path) for path in warmup.figure_paths(figure, endings)] if figure else []
    title, found = loaded.title or scenario.stem, None
    if shown_by_ap:
        told = {each.partition("=")[0].strip() for each in set}
        assumed = [mark for mark in marks(gallery.file_of(scenario).read_text("utf-8")) if mark.path not in told]
        found = as_it_is(judged, shown_by_ap, read_flows(loaded, assumed))
    if json:
        print_json(document(judged, found, title))
    else:
        print_explanation(results, judged, found, title, bss, verbose)
    for path in drawn:
        say(f"drawn in {path}")
    say_of(folder)


def document(judged: Results, measured: AsItIs | None, title: str) -> dict[str, Any]:
    """The explanation as the content of a JSON document."""
    from wifair.analysis import explain as why
    from wifair.analysis import explain_groups
    from wifair.analysis.conclusion import conclusion
    from wifair.prediction import as_it_is_wording

    groups = explain_groups.groups(judged)
    return {
        "title": title,
        "conclusion": conclusion(judged).to_dict(),
        "measured": as_it_is_wording.document(measured) if measured else None,
        "lead": [sentence.to_dict() for sentence in explain_groups.lead(judged, groups)],
        "groups": [explain_groups.to_dict(group) for group in groups],
        "sentences": [sentence.to_dict() for sentence in why.explain(judged)],
    }


def print_explanation(
    results: Results, judged: Results, measured: AsItIs | None, title: str, bss: str, verbose: bool
) -> None:
    """Prints the conclusion, what was measured, the groups, and with `verbose` every flow."""
    from wifair.analysis import explain as why
    from wifair.analysis import explain_groups
    from wifair.analysis.conclusion import conclusion
    from wifair.cli.output import print_lines, print_table, print_text, say
    from wifair.cli.printed import print_run
    from wifair.cli.printed_bsss import of_shown, say_shown
    from wifair.cli.printed_measured import print_measured
    from wifair.cli.tables import columns

    print_text(conclusion(judged).text)
    if measured:
        print_lines([""])
        print_measured(measured, verbose)
    print_run(judged, title)
    for sentence in explain_groups.lead(judged, explain_groups.groups(judged)):
        print_text(sentence.text, indent="  ", first="- ")
    print_lines([""])
    shown = of_shown(results, bss, verbose)
    groups = explain_groups.groups(shown)
    print_table(explain_groups.note(groups), columns(explain_groups.HEADINGS, explain_groups.rows(groups)))
    if verbose:
        print_flows(why.explain(judged))
    say_shown(results, shown, bss)
    if not verbose:
        print_text("--verbose explains every flow.")
    for warning in judged.warnings():
        say(f"warning: {warning}")


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
