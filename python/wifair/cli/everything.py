"""`wifair compare --all`: every scheme in every scenario, judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

from wifair.errors import InputError

if TYPE_CHECKING:
    from wifair.everything.contest import Contest, Outcome
    from wifair.everything.findings import Overview

# Default folder of the report; the store is next to it.
FOLDER = Path("results/comparison")
# The largest number of settings whose conclusions are printed one by one.
FEW_SETTINGS = 4


def everything(
    form: str,
    scenarios: Sequence[str],
    schemes: Sequence[str | Mapping[str, Any]],
    seeds: int | None,
    threads: int | None,
    out: Path | None,
    store: Path | None,
    pages: Sequence[Path],
    formats: Sequence[str],
    json: bool,
    sets: Sequence[str],
    arguments: Sequence[str],
) -> None:
    """Runs and judges the contest and writes the report. Finished replications are stored, so an interrupted run can continue."""
    from wifair.cli.output import print_json, progress, say, say_of
    from wifair.cli.printed import kept
    from wifair.everything.contest import Contest
    from wifair.everything.document import document
    from wifair.everything.findings import Overview
    from wifair.everything.page import check, write
    from wifair.results.results import writable_folder
    from wifair.study.store import Store

    began = monotonic()
    if seeds == 1:
        raise InputError("seeds: 1 is not allowed with --all; allowed here: 2 or more, since one run has no interval.")
    for page in pages:
        check(page)
    folder = writable_folder(out or FOLDER)
    contest = Contest.of(form, scenarios, schemes, seeds, sets)
    kept_in = Store(store or folder / "store")
    with kept(None, json, kept_in):
        outcome = contest.run(threads, kept_in, progress)
    say_of(kept_in)
    overview = Overview(outcome.settings)
    report = written(folder, contest, outcome, formats, arguments)
    for page in pages:
        write(page, contest, overview)
    if json:
        print_json(document(contest, outcome.settings))
    else:
        print_overview(contest, overview, report)
    say(f"the report is in {report}; {monotonic() - began:.0f} s")


def written(folder: Path, contest: Contest, outcome: Outcome, formats: Sequence[str], arguments: Sequence[str]) -> Path:
    """Writes the figures, the values, the page's text and the report, whose path it returns."""
    from wifair.cli.output import print_json
    from wifair.everything.document import document
    from wifair.everything.figures import draw
    from wifair.everything.findings import Overview
    from wifair.everything.page import comparison, title
    from wifair.everything.summary import findings
    from wifair.report.everything import of_contest
    from wifair.report.page import write

    overview = Overview(outcome.settings)
    pictures = draw(overview, folder, tuple(dict.fromkeys(("png", *formats))))  # the report embeds PNG
    with (folder / "comparison.json").open("w", encoding="utf-8") as file:
        print_json(document(contest, outcome.settings), file)
    told = "\n".join(f"- {finding}" for finding in findings(overview))
    text = f"# {title(overview)}\n\n{told}\n\n{comparison(contest, overview, pictures, '')}"
    (folder / "comparison.md").write_text(text, encoding="utf-8")
    return write(of_contest(contest, overview, pictures, outcome.results, arguments), folder / "comparison.html")


def print_overview(contest: Contest, overview: Overview, report: Path) -> None:
    """Prints the findings, the tally of each scheme, and, for few settings, the conclusion of each."""
    from wifair.cli.output import print_lines, print_table, print_text
    from wifair.cli.printed import SCOPE
    from wifair.cli.tables import columns
    from wifair.everything.contenders import REFERENCE
    from wifair.everything.findings import conclusion
    from wifair.everything.summary import findings
    from wifair.everything.verdict import Standing

    count = len(overview.settings)
    ran = f"{len(overview.contenders)} schemes in {count} {'settings' if count > 1 else 'setting'}"
    print_text(
        f"{ran}, {overview.replications} replications of each ({contest.form} form); 95 % intervals in brackets."
    )
    print_lines([""])
    for finding in findings(overview):
        print_text(plain(finding), indent="  ", first="- ")
    print_text(SCOPE, indent="  ", first="")
    print_lines([""])
    stands = (Standing.BETTER, Standing.WORSE, Standing.TRADE)
    rows = [
        (
            record.name,
            f"{record.ran}",
            f"{record.winner}",
            f"{record.shown}",
            *("–" if record.name == REFERENCE else f"{record.standings[standing]}" for standing in stands),
        )
        for record in overview.records
    ]
    headings = ("scheme", "settings", "best", "unbeaten", "better", "worse", "trade-off")
    title = f"In how many settings each scheme is best by every criterion, is shown to be unbeaten, and is better or worse than {REFERENCE}"
    print_table(title, columns(headings, rows))
    if len(overview.settings) <= FEW_SETTINGS:
        for judged in overview.settings:
            print_text(f"{judged.setting.id}: {plain(conclusion(judged))}", indent="  ", first="")
    else:
        print_text(f"Every setting, with figures: {report}")


def plain(text: str) -> str:
    """The sentence without Markdown markup."""
    return text.replace("`", "").replace("**", "")
