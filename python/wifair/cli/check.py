"""`wifair check`: likely mistakes in a scenario."""

from __future__ import annotations

from wifair.cli.options import Json, ScenarioFile, Set

EXAMPLE = "Example: wifair check cafe"


def check(
    scenario: ScenarioFile,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
) -> None:
    """Find settings that do not have the effect that they suggest.

    Each finding shows the calculation behind it. Nothing is simulated.
    """
    from wifair.analysis.check import check as findings_of
    from wifair.cli.output import print_json, print_text
    from wifair.scenario.overrides import parse_assignments
    from wifair.scenario.scenario import Scenario

    loaded = Scenario.from_toml(scenario, parse_assignments(set))
    findings = findings_of(loaded)
    if json:
        print_json({"title": loaded.title or scenario.stem, "findings": [finding.to_dict() for finding in findings]})
        return
    for finding in findings:
        print_text(f"{finding.key}: {finding.finding}.")
        print_text(finding.arithmetic, indent="    ")
    if not findings:
        print_text("no likely mistakes found")
