"""`wifair compare --all`: every scheme in every scenario, judged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from wifair.errors import InputError

if TYPE_CHECKING:
    from wifair.everything.findings import Overview

# Where the report goes, and next to it the store, unless an option says otherwise.
FOLDER = Path("results/comparison")


def everything(
    form: str,
    scenarios: Sequence[str],
    schemes: Sequence[str],
    seeds: int | None,
    threads: int | None,
    out: Path | None,
    store: Path | None,
    pages: Sequence[Path],
    json: bool,
    arguments: Sequence[str],
) -> None:
    """Runs it, judges it, and writes the report; finished replications are kept, so a killed run can be continued."""
    from wifair.cli.output import kept, print_json, progress, say, say_of
    from wifair.everything.contest import Contest
    from wifair.everything.document import document
    from wifair.everything.figures import draw
    from wifair.everything.findings import Overview
    from wifair.everything.page import check, comparison, write
    from wifair.report.everything import of_contest
    from wifair.report.page import write as write_report
    from wifair.results import writable_folder
    from wifair.store import Store

    began = monotonic()
    if seeds == 1:
        raise InputError(
            "seeds: 1 is not allowed with --all; allowed here: 2 or more, since one run tells nothing apart."
        )
    for page in pages:
        check(page)
    folder = writable_folder(out or FOLDER)
    contest = Contest.of(form, scenarios, schemes, seeds)
    kept_in = Store(store or folder / "store")
    with kept(None, json, kept_in), progress("everything against everything") as bar:
        results = contest.run(threads, bar, kept_in)
    say_of(kept_in)
    settings = contest.judge(results)
    overview = Overview(settings)
    found = document(contest, settings)
    pictures = draw(overview, folder)
    with (folder / "comparison.json").open("w", encoding="utf-8") as file:
        print_json(found, file)
    text = f"# Everything against everything\n\n{comparison(contest, overview, pictures, '')}"
    (folder / "comparison.md").write_text(text, encoding="utf-8")
    for page in pages:
        write(page, contest, overview)
    report = write_report(of_contest(contest, overview, pictures, results, arguments), folder / "comparison.html")
    if json:
        print_json(found)
    else:
        print_overview(overview)
    say(f"the report is in {report}; {monotonic() - began:.0f} s")


def print_overview(overview: Overview) -> None:
    """The findings, and the results of each setting."""
    from rich.markdown import Markdown
    from rich.table import Table

    from wifair.cli.output import stdout
    from wifair.everything.findings import conclusion

    console = stdout()
    table = Table(title="Who is best by everything, or left unbeaten", title_justify="left", show_lines=True)
    table.add_column("scenario / senders", no_wrap=True)
    table.add_column("conclusion")
    for judged in overview.settings:
        table.add_row(judged.setting.id, conclusion(judged).replace("`", ""))
    console.print(table)
    console.print(Markdown("\n".join(f"- {finding}" for finding in overview.findings)))
