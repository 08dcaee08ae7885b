"""A paper's verdicts as Markdown: every claim in a table, and what depends on what the paper leaves open.

A page of the documentation holds them between two marks; what stands around them is written by hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from wifair.markdown import Marks, table

VERDICTS = Marks("verdicts", "wifair paper --page")


def verdicts(document: Mapping[str, Any]) -> str:
    """The verdicts of one run of `wifair paper`, from what it gives out as JSON."""
    counts = Counter(claim["verdict"] for claim in document["claims"])
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    conditions = "; ".join(
        f"{name.replace('_', ' ')} {_plain(value)}" for name, value in document["conditions"].items()
    )
    parts = [
        f"{len(document['claims'])} claims: {told}.",
        f"Conditions: {conditions}.",
        "`measured` is the value that decides: of a relation the smallest margin, of a number the one farthest from it, "
        "with its 95 % interval.",
        table(
            ("section", "figure", "claim", "published", "measured", "verdict"),
            (_claim_row(claim) for claim in document["claims"]),
        ),
    ]
    if document["alternatives"]:
        parts += [
            "What the paper leaves open, read otherwise: verdicts that change, same seeds, those to or from *undetermined* "
            "left out.",
            table(
                ("open question", "other choice", "verdicts that change"),
                (_alternative_row(other) for other in document["alternatives"]),
            ),
        ]
    return "\n\n".join(parts) + "\n"


def _claim_row(claim: Mapping[str, Any]) -> Sequence[str]:
    measured = "–"
    if claim["measured"] is not None:
        measured = f"{claim['measured']:.3g}"
        if claim["ci_low"] is not None:
            measured += f" [{claim['ci_low']:.3g}, {claim['ci_high']:.3g}]"
        measured += f" {claim['unit']}"
    published = "–" if claim["published"] is None else f"{claim['published']:g}"
    verdict = f"**{claim['verdict']}**: {claim['why']}"
    statement = f"`{claim['id']}`: {claim['statement']}"
    return claim["section"], claim["figure"] or "", statement, published, measured, verdict


def _alternative_row(other: Mapping[str, Any]) -> Sequence[str]:
    changes = [
        f"`{name}`: {pair['baseline']} → {pair['here']}"
        for name, pair in other["changed_verdicts"].items()
        if "undetermined" not in pair.values()
    ]
    return other["question"], other["choice"], "; ".join(changes) or "none"


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else f"{value}"
