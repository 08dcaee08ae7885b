"""A paper's verdicts as Markdown, for pages whose rest is written by hand.

Each part is written to pages that have its marks: a summary for the paper's page, every claim and reading for its
appendix, the paper's row in a table of all papers, and each figure that exists as Markdown, by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from wifair.errors import InputError
from wifair.markdown import Marks, table

COMMAND = "wifair paper --page"
SUMMARY = Marks("summary", COMMAND)
VERDICTS = Marks("verdicts", COMMAND)
PAPERS = Marks("papers", COMMAND)

# The verdicts with their headings in the table of all papers, in its order of columns.
COLUMNS = {
    "reproduced": "reproduced",
    "trend only": "trend only",
    "not reproduced": "not",
    "undetermined": "open",
    "calibrated": "fitted",
}


def write(page: Path, document: Mapping[str, Any]) -> None:
    """Writes the parts that the page has marks for, from the JSON document of `wifair paper`."""
    texts = {Marks(name, COMMAND): text for name, text in document.get("texts", {}).items()}
    every = (SUMMARY, VERDICTS, PAPERS, *texts)
    found = {marks: old for marks in every if (old := marks.between(page)) is not None}
    if not found:
        wanted = ", ".join(repr(marks.begin) for marks in every)
        raise InputError(f"{page}: has no place for a paper's verdicts; write one of {wanted} and its end there.")
    for marks, old in found.items():
        if marks in texts:
            text = texts[marks]
        elif marks is PAPERS:
            text = papers(old, document)
        else:
            text = summary(document) if marks is SUMMARY else verdicts(document)
        marks.write(page, text)


def counted(document: Mapping[str, Any]) -> str:
    """The number of claims, and the number per verdict."""
    counts = Counter(claim["verdict"] for claim in document["claims"])
    return f"{len(document['claims'])} claims: {', '.join(f'{n} {verdict}' for verdict, n in counts.most_common())}."


def summary(document: Mapping[str, Any]) -> str:
    """The counts, and a link to the list of all claims."""
    paper = document["paper"]
    return (
        f"{counted(document)}\n\n[Every claim with its rule, measured value and verdict, and what each reading "
        f"changes]({paper}-verdicts.md).\n"
    )


def papers(old: str, document: Mapping[str, Any]) -> str:
    """The table of all papers with this paper's row replaced; papers in the order in which they are listed, new ones last."""
    paper = document["paper"]
    counts = Counter(claim["verdict"] for claim in document["claims"])
    row = [
        f"[{paper}](docs/{paper}.md)",
        document["proposes"],
        f"{len(document['claims'])}",
        *(f"{counts[verdict] or ''}" for verdict in COLUMNS),
    ]
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in old.splitlines()[2:]]
    places = [i for i, other in enumerate(rows) if other[0] == row[0]]
    if places:
        rows[places[0]] = row
    else:
        rows.append(row)
    return table(("paper", "what it proposes", "claims", *COLUMNS.values()), rows) + "\n"


def verdicts(document: Mapping[str, Any]) -> str:
    """Every claim, the rules that were rewritten, the claims that were dropped, and every other reading."""
    conditions = "; ".join(
        f"{name.replace('_', ' ')} {_plain(value)}" for name, value in document["conditions"].items()
    )
    parts = [
        counted(document),
        f"Conditions: {conditions}.",
        "`measured` is the value that decides, with its 95 % interval: of a relation the smallest margin, of a number the "
        "value farthest from it.",
        table(
            ("section", "figure", "claim", "published", "measured", "verdict"),
            (_claim_row(claim) for claim in document["claims"]),
        ),
    ]
    rewritten = [claim for claim in document["claims"] if claim["formerly"]]
    if rewritten:
        parts += [
            "## Rules that were rewritten",
            'The verdict before is that of the rule before on the runs of its time; "on these runs" applies the rule before to '
            "the runs of this page (–: the rule cannot be computed from them).",
            table(
                ("claim", "rule before", "verdict before", "on these runs", "rule", "verdict"),
                (
                    (
                        f"`{claim['id']}`",
                        claim["formerly"]["reading"],
                        claim["formerly"]["verdict"],
                        claim["formerly"]["here"] or "–",
                        claim["reading"],
                        claim["verdict"],
                    )
                    for claim in rewritten
                ),
            ),
        ]
    if document["dropped"]:
        parts += [
            "## Claims that are no longer judged",
            table(
                ("claim", "rule before", "verdict before", "why it was dropped"),
                (
                    (f"`{claim['id']}`: {claim['statement']}", claim["reading"], claim["verdict"], claim["why"])
                    for claim in document["dropped"]
                ),
            ),
        ]
    for kind in dict.fromkeys(other["kind"] for other in document["alternatives"]):
        parts += [
            f"## {kind}",
            "Verdicts that change, with the same seeds; in brackets the value that decides, in the baseline and here. "
            '"None": every claim has a verdict in both, and the same one.',
            table(
                ("`--reading`", "question", "here", "replications", "verdicts that change"),
                (_reading_row(other) for other in document["alternatives"] if other["kind"] == kind),
            ),
        ]
    return "\n\n".join(parts) + "\n"


def changes(other: Mapping[str, Any]) -> list[str]:
    """The effects of a reading, one entry per claim; claims that stay undetermined come last."""
    found = [
        f"`{name}`: {pair['baseline']} → {pair['here']}{_values(pair)}"
        for name, pair in other["changed_verdicts"].items()
    ]
    still = other["undetermined_in_both"]
    if still:
        found.append(f"undetermined in both: {', '.join(f'`{name}`' for name in still)}")
    return found or ["none"]


def _values(pair: Mapping[str, Any]) -> str:
    means = [found and found["mean"] for found in (pair["baseline_measured"], pair["measured"])]
    # The mean is missing if nothing was measured, such as the RTT of a flow that delivers nothing.
    known = all(mean is not None and isfinite(mean) for mean in means)
    return f" ({', '.join(f'{mean:.3g}' for mean in means)})" if known else ""


def _claim_row(claim: Mapping[str, Any]) -> Sequence[str]:
    measured = "–"
    if claim["measured"] is not None:
        measured = f"{claim['measured']:.3g}"
        if claim["ci_low"] is not None:
            measured += f" [{claim['ci_low']:.3g}, {claim['ci_high']:.3g}]"
        measured += f" {claim['unit']}"
    published = "–" if claim["published"] is None else f"{claim['published']:g}"
    over = f" (on {claim['over']})" if claim["over"] else ""
    verdict = f"**{claim['verdict']}**{over}: {claim['why']}"
    statement = f"`{claim['id']}`: {claim['statement']}"
    return claim["section"], claim["figure"] or "", statement, published, measured, verdict


def _reading_row(other: Mapping[str, Any]) -> Sequence[str]:
    count = f"{other['replications']}" if other["replications"] else "–"
    return f"`{other['id']}`", other["question"], other["choice"], count, "; ".join(changes(other))


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else f"{value}"
