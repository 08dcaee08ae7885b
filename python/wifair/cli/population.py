"""`wifair population`: plausible scenarios, drawn from distributions with sources."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wifair.cli.options import Formats, Json, formats

EXAMPLE = "Example: wifair population --kinds home,cafe --count 3 --out results/population"

# The default folder.
FOLDER = Path("results/population")
# The names of the summary and of the figure in it.
SUMMARY, FIGURE = "population.md", "population"

Kinds = Annotated[
    str, typer.Option(metavar="A,B,C", help="The kinds of scenario: home, cafe, office, classroom; by default all.")
]
Count = Annotated[int, typer.Option(metavar="N", help="Scenarios of each kind: numbers 1 to N, 10,000 at most.")]
Seed = Annotated[
    str, typer.Option(metavar="N", help="The seed, decimal or hexadecimal (0x…): another one draws other scenarios.")
]
Distributions = Annotated[
    bool, typer.Option("--distributions", help="Only list what is drawn, from which distributions, with their sources.")
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="The folder for the scenario files, a summary and a figure.")]


def population(
    kinds: Kinds = "",
    count: Count = 25,
    seed: Seed = "1",
    out: Out = FOLDER,
    format: Formats = "",
    distributions: Distributions = False,
    json: Json = False,
) -> None:
    """Draw scenarios of homes, cafes, offices and classrooms.

    Each is a commented file. `wifair compare DIR` then compares schemes in all of them.
    """
    from wifair.cli.output import print_json, print_table, print_text, say
    from wifair.cli.tables import columns
    from wifair.plots import save
    from wifair.population import Population
    from wifair.population.look import as_markdown, figure, frame, summary
    from wifair.population.quantities import KINDS, version

    if distributions:
        print_distributions(json)
        return
    endings = formats(format) or ("png",)
    wanted = [kind.strip() for kind in kinds.split(",") if kind.strip()] or list(KINDS)
    made = Population(wanted, count, seed_of(seed))
    paths = made.write(out)
    found = frame(made.scenarios)
    line = f"{len(made)} scenarios of population {version()}, seed {made.seed}: {', '.join(f'{count} of {kind}' for kind in wanted)}"
    (out / SUMMARY).write_text(f"# {line}\n\n{TITLE}:\n\n{as_markdown(found)}\n", encoding="utf-8")
    save(figure(found), out, FIGURE, endings)
    if json:
        print_json(
            {
                "version": version(),
                "seed": made.seed,
                "kinds": wanted,
                "count": count,
                "files": [str(path) for path in paths],
                "properties": found.to_dicts(),
            }
        )
    else:
        print_text(f"{line}.")
        headings, rows = summary(found)
        print_table(TITLE, columns(headings, rows), turn=False)
    say(f"the files, {SUMMARY} and the figure are in {out}; now: wifair compare {out} --schemes droptail,mac80211,las")


def print_distributions(as_json: bool) -> None:
    """Prints every quantity with its distribution and source."""
    from wifair.cli.output import print_json, print_lines, print_text
    from wifair.population.quantities import quantities, version

    if as_json:
        fields = ("name", "what", "unit", "source", "assumed")
        told = [
            {**{f: getattr(each, f) for f in fields}, "distribution": each.told()} for each in quantities().values()
        ]
        print_json({"version": version(), "quantities": told})
        return
    print_text(f"Population {version()}: what is drawn, from which distribution, with its source.")
    for name, each in quantities().items():
        print_lines([""])
        print_text(f"{name}: {each.what} ({each.unit}).")
        for text in (each.told(), each.source, each.assumed and f"Assumed: {each.assumed}"):
            if text:
                print_text(text, indent="    ", first="    ")


TITLE = "Median, with the 10 and 90 % quantiles in brackets"


def seed_of(text: str) -> int:
    """The seed that a text gives."""
    from wifair.errors import InputError
    from wifair.population.population import MOST_SEED

    try:
        given = int(text, 16) if text.lower().startswith("0x") else int(text)
        if 0 <= given <= MOST_SEED:
            return given
    except ValueError:
        pass
    hexadecimal = text and all(letter in "0123456789abcdefABCDEF" for letter in text) and not text.isdigit()
    hint = f" Did you mean 0x{text}?" if hexadecimal else ""
    raise InputError(
        f"--seed: {text!r} is not allowed.{hint} Allowed here: a whole number from 0 to {MOST_SEED:,}, or as 0x and hexadecimal digits."
    )
