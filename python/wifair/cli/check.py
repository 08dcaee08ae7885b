"""`wifair check`: likely mistakes in a scenario, or in the scenarios of a study."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from wifair.cli.options import Json, ScenarioFile, Set

if TYPE_CHECKING:
    from wifair.analysis.check import Finding
    from wifair.scenario.scenario import Scenario

EXAMPLE = "Example: wifair check cafe"

Schemes = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        help="With a study: check it with each of these schemes in place of `ap.scheme`, as `wifair sweep` would run it.",
        show_default=False,
    ),
]


def check(
    scenario: ScenarioFile,
    schemes: Schemes = None,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
) -> None:
    """Find likely mistakes in a scenario or a study, by arithmetic.

    Each finding shows the calculation behind it. Nothing is simulated.
    """
    from wifair.analysis.check import check as findings_of
    from wifair.analysis.check import check_study
    from wifair.analysis.sweep import Sweep, is_study
    from wifair.cli.output import print_json, print_text
    from wifair.cli.schemes_of_files import assignments
    from wifair.cli.schemes_of_files import schemes as named
    from wifair.errors import InputError
    from wifair.scenario.scenario import Scenario

    if is_study(scenario):
        study = Sweep.from_toml(scenario, assignments(set), named(schemes) or None)
        shared = check_study(study.cells)
        events = max(events_of(each.scenario) for each in study.cells if isinstance(each.scenario, Scenario))
        if json:
            count = len(study.cells)
            told = [found.to_dict() for found in shared]
            print_json({"title": study.title, "scenarios": count, "findings": told, "events_left_out": events})
            return
        for found in shared:
            _print(found.finding)
            print_text(f"in {found.scenarios} of {len(study.cells)} scenarios, such as {found.example}", indent="    ")
        findings = [found.finding for found in shared]
    else:
        if schemes is not None:
            raise InputError("--schemes: has an effect on studies only. Use --set ap.scheme=NAME.")
        loaded = Scenario.from_toml(scenario, assignments(set))
        findings, events = findings_of(loaded), events_of(loaded)
        if json:
            title = loaded.title or scenario.stem
            told = [finding.to_dict() for finding in findings]
            print_json({"title": title, "findings": told, "events_left_out": events})
            return
        for finding in findings:
            _print(finding)
    if not findings:
        print_text("no likely mistakes found")
    if events:
        print_text(f"{events} event{'s' if events > 1 else ''} left out: all of this is about the values at the start.")


def events_of(scenario: Scenario) -> int:
    """The number of events of a scenario, which no rule looks at."""
    return len(scenario.settings().get("events", []))


def _print(finding: Finding) -> None:
    """Prints a finding, with the BSSs that it is about, of several."""
    from wifair.analysis.check import listed
    from wifair.cli.output import print_text

    of, *others = finding.bsss or ("",)
    where = "" if not of or f"[{of}]" in finding.key else f"{of}: "
    print_text(f"{finding.key}: {where}{finding.finding}.")
    print_text(finding.arithmetic, indent="    ")
    if others:
        print_text(f"likewise at {listed(others)}", indent="    ")
