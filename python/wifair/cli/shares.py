"""`wifair compare DIR`: every scheme in the scenarios of a folder, answered in shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wifair.errors import InputError

if TYPE_CHECKING:
    from wifair.everything.shares import Shares

# The folder for the folders of results.
RESULTS = Path("results")
# The names of the files in it.
PAGE, DOCUMENT, FIGURE = "shares.md", "shares.json", "shares"
# The largest number of properties that are printed.
MOST_PROPERTIES = 4


def shares(
    folder: Path,
    schemes: Sequence[str | Mapping[str, Any]],
    seeds: int | None,
    threads: int | None,
    out: Path | None,
    store: Path | None,
    formats: Sequence[str],
    json: bool,
    settings: list[str],
    verbose: bool,
) -> None:
    """Runs the schemes in all scenarios stage by stage, and prints the answer. Finished replications are stored."""
    from wifair.cli.output import print_json, progress, say, say_of
    from wifair.cli.printed import kept
    from wifair.cli.schemes_of_files import assignments
    from wifair.everything.contest import Contest
    from wifair.everything.scenarios import in_folder
    from wifair.everything.share_figure import shares_figure
    from wifair.everything.shares import Shares, with_reference
    from wifair.plots import save
    from wifair.results.results import writable_folder
    from wifair.study.store import Store

    if seeds == 1:
        raise InputError(
            "seeds: 1 is not allowed with a folder; allowed here: 2 or more, since one run has no interval."
        )
    among = with_reference(schemes)
    contest = Contest.on_all(in_folder(folder, assignments(settings)), [str(folder)], among, seeds, settings)
    to = writable_folder(out or RESULTS / f"{folder.resolve().name}-comparison")
    kept_in = Store(store or to / "store")
    with kept(None, json, kept_in):
        outcome = contest.run(threads, kept_in, progress)
    say_of(kept_in)
    found = Shares(contest, outcome.settings)
    (to / PAGE).write_text(found.told(), encoding="utf-8")
    with (to / DOCUMENT).open("w", encoding="utf-8") as file:
        print_json(found.to_dict(), file)
    if found.schemes:
        save(shares_figure(found), to, FIGURE, tuple(formats) or ("png",))
    if json:
        print_json(found.to_dict())
    else:
        print_shares(found, verbose)
    say(f"every scenario, the gains and the figure are in {to}")


def print_shares(found: Shares, verbose: bool) -> None:
    """Prints the answer, a row per scheme, and what the scenarios have in common in which the first one costs something."""
    from wifair.cli.everything import plain
    from wifair.cli.output import print_lines, print_table, print_text
    from wifair.cli.printed import SCOPE
    from wifair.cli.tables import columns
    from wifair.everything.contenders import REFERENCE
    from wifair.everything.shares import COSTLY, percent, short
    from wifair.everything.verdict import Standing

    if verbose:
        print_lines(found.told().splitlines())
        return
    first, *rest = found.answer()
    print_text(plain(first))
    for sentence in rest:
        print_text(plain(sentence), indent="  ", first="- ")
    print_lines([""])
    stands = (Standing.WORSE, Standing.TRADE, Standing.EQUAL, Standing.THRESHOLD, Standing.OPEN, Standing.UNFINISHED)
    rows = [
        (share.scheme, percent(share.interval(Standing.BETTER)), *(f"{share.counts[each]}" for each in stands))
        for share in found.schemes
    ]
    headings = ("scheme", "better, %", "worse", "trade", "equal", "threshold", "undecided", "unended")
    title = f"Against {REFERENCE}: the share of scenarios in which a scheme is better, with its 95 % interval, and the numbers of the others"
    print_table(title, columns(headings, rows))
    if found.schemes and (contrasts := found.contrasts(found.schemes[0].scheme)):
        name = found.schemes[0].scheme
        costly = sum(found.schemes[0].counts[standing] for standing in COSTLY)
        rows = [
            (c.name, short(c.costly), short(c.harmless), f"{c.above:.2f}", f"{c.p:.2g}")
            for c in contrasts[:MOST_PROPERTIES]
        ]
        title = f"Medians where {name} is worse, a trade or not recommended ({costly} scenarios), and where it costs nothing"
        print_table(title, columns(("property", "where it costs", "elsewhere", "probability above", "p, Holm"), rows))
    print_text(plain(found.sure()), first="")
    print_text(SCOPE, indent="  ", first="")
