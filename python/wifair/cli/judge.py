"""`wifair compare FILE --judge`: every scheme in one scenario, and which of them to use there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wifair.errors import InputError

if TYPE_CHECKING:
    from wifair.everything.contest import Judged
    from wifair.everything.findings import Overview
    from wifair.everything.scenarios import Own


def judge(
    path: Path,
    schemes: Sequence[str | Mapping[str, Any]],
    seeds: int | None,
    threads: int | None,
    out: Path | None,
    store: Path | None,
    json: bool,
    settings: list[str],
    arguments: Sequence[str],
) -> None:
    """Runs the schemes in the scenario stage by stage, and prints the advice. With `out` it writes the report too."""
    from wifair.cli.everything import written
    from wifair.cli.output import print_json, progress, say, say_of
    from wifair.cli.printed import kept
    from wifair.cli.schemes_of_files import assignments
    from wifair.everything.contest import Contest
    from wifair.everything.document import document
    from wifair.everything.findings import Overview
    from wifair.everything.scenarios import Own
    from wifair.results.results import writable_folder
    from wifair.scenario.scenario import Scenario
    from wifair.study.store import Store

    if seeds == 1:
        raise InputError(
            "seeds: 1 is not allowed with --judge; allowed here: 2 or more, since one run has no interval."
        )
    scenario = Own(path.stem, Scenario.from_toml(path, assignments(settings)))
    contest = Contest.on(scenario, schemes, seeds, settings)
    folder = writable_folder(out) if out else None
    chosen = store or (folder / "store" if folder else None)
    kept_in = Store(chosen) if chosen else None
    with kept(None, json, kept_in):
        outcome = contest.run(threads, kept_in, progress)
    say_of(kept_in)
    overview = Overview(outcome.settings)
    if json:
        print_json(document(contest, outcome.settings))
    else:
        print_advice(scenario, overview, outcome.settings[0], arguments)
    if folder:
        say(f"the report is in {written(folder, contest, outcome, (), arguments)}")


def print_advice(scenario: Own, overview: Overview, judged: Judged, arguments: Sequence[str]) -> None:
    """Prints the advice, a row per scheme, and how sure the advice is, on one screen."""
    from wifair.cli.everything import plain
    from wifair.cli.output import print_lines, print_table, print_text
    from wifair.cli.printed import SCOPE
    from wifair.cli.tables import columns
    from wifair.everything.advice import told

    verdict = judged.verdict
    first, *rest = told(judged)
    print_text(f"{judged.setting.staged.title}: {plain(first)}")
    for sentence in rest:
        print_text(plain(sentence), indent="  ", first="- ")
    print_lines([""])
    rows = [
        (name, verdict.place(name).value, *(_mean(judged, name, index) for index in range(len(verdict.judged))))
        for name in sorted(verdict.contenders, key=lambda name: (name in verdict.out, verdict.shortfall(name)))
    ]
    headings = ("scheme", "place", *(f"{criterion.title}, {criterion.unit}" for criterion in verdict.judged))
    print_table("Means, the best compromise first", columns(headings, rows, left=2))
    for name, reason in judged.setting.refused.items():
        print_text(f"{name} cannot run: {reason}", indent="  ", first="- ")
    sure = f"{overview.replications} replications; the rule misses a best scheme in at most 5 of 100 such studies."
    print_text(sure, first="")
    print_text(f"{SCOPE} {below(scenario, arguments)}", indent="  ", first="")


def below(scenario: Own, arguments: Sequence[str]) -> str:
    """What lies below the scheme, and how to try something else. Only A-MPDUs wait there."""
    from wifair.report.provenance import command

    if not scenario.allows_hardware:
        return ""
    name = scenario.given.plan()["bss"]["ap"]["hardware"]["name"]
    if name != "ideal":
        return f'Below the scheme: ap.hardware = "{name}", so a scheme decides only on what waits above that.'
    said = 'Below the scheme: no queue (ap.hardware = "ideal"). With one, as drivers and firmware have it, a scheme can gain much less.'
    if scenario.sets_hardware:
        return said
    return f"{said} The file does not set it; try: {command([*arguments, '--set', 'ap.hardware=firmware'])}"


def _mean(judged: Judged, name: str, index: int) -> str:
    from wifair.everything.criteria import number

    found = judged.verdict.mean(name, judged.verdict.judged[index])
    return number(found.estimate) if found.n else "–"
