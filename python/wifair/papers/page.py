"""A paper's verdicts as Markdown, for pages whose rest is written by hand.

Each part is written to pages that have its marks: a summary for the paper's page, how many claims each reading moves,
one reading next to the baseline ("reading" and its id), the printed numbers under several ("numbers" and their ids), every
claim and reading for its appendix, the paper's row in a table of all papers, and each figure that exists as Markdown, by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from wifair.errors import InputError
from wifair.markdown import Marks, table

COMMAND = "wifair paper --page"
SUMMARY = Marks("summary", COMMAND)
VERDICTS = Marks("verdicts", COMMAND)
MOVES = Marks("moves", COMMAND)
PAPERS = Marks("papers", COMMAND)

# The verdicts with their headings in the table of all papers, in its order of columns.
COLUMNS = {
    "reproduced": "reproduced",
    "trend only": "trend only",
    "not reproduced": "not",
    "undetermined": "open",
    "calibrated": "fitted",
}
# How near a verdict is to the paper: first those of its claims, then those of an effect on other air. Verdicts of one rank are
# not ordered.
NEARNESS = {"reproduced": 2, "trend only": 1, "not reproduced": 0}
NEARNESS |= {"survives": 2, "fades": 1, "nothing to cure": 0, "gone": 0, "reversed": -1, "undetermined": 1}
NEARNESS |= {"holds": 2, "fails": 0}


def write(page: Path, document: Mapping[str, Any]) -> None:
    """Writes the parts that the page has marks for, from the JSON document of `wifair paper`; of one figure its text alone."""
    texts = {Marks(name, COMMAND): text for name, text in document.get("texts", {}).items()}
    readings = {Marks(f"reading {other['id']}", COMMAND): other for other in document["alternatives"]}
    listed = Marks.listing("numbers", COMMAND, page)
    every = (*texts,) if document.get("figure") else (SUMMARY, MOVES, VERDICTS, PAPERS, *readings, *listed, *texts)
    if not every:
        raise InputError(f"{page}: figure {document['figure']} has no text for a page; its picture is in the results.")
    found = {marks: old for marks in every if (old := marks.between(page)) is not None}
    if not found:
        wanted = ", ".join(repr(marks.begin) for marks in every)
        raise InputError(f"{page}: has no place for a paper's verdicts; write one of {wanted} and its end there.")
    for marks, old in found.items():
        if marks in texts:
            text = texts[marks]
        elif marks in readings:
            text = side_by_side(document, readings[marks])
        elif marks in listed:
            text = numbers(document, marks.what.split()[1:])
        elif marks is PAPERS:
            text = papers(old, document)
        else:
            text = {SUMMARY: summary, MOVES: moves, VERDICTS: verdicts}[marks](document)
        marks.write(page, text)


def counted(document: Mapping[str, Any]) -> str:
    """The number of claims, and the number per verdict."""
    counts = Counter(claim["verdict"] for claim in document["claims"])
    return f"{len(document['claims'])} claims: {', '.join(f'{n} {verdict}' for verdict, n in counts.most_common())}."


def summary(document: Mapping[str, Any]) -> str:
    """The counts, and a link to the list of all claims."""
    paper = document["paper"]
    return (
        f"{counted(document)}\n\n[Every claim with its measured value and verdict, and what each reading "
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


def moves(document: Mapping[str, Any]) -> str:
    """The number of claims that each reading moves nearer to the paper or farther from it, and the verdicts under it."""
    verdict_of = {claim["id"]: claim["verdict"] for claim in document["claims"]}
    moved_to = {pair["here"] for other in document["alternatives"] for pair in other["changed_verdicts"].values()}
    judged = [verdict for verdict in NEARNESS if verdict in {*verdict_of.values(), *moved_to}]
    ranks = sorted({NEARNESS[verdict] for verdict in judged}, reverse=True)
    order = ", then ".join(" or ".join(one for one in judged if NEARNESS[one] == rank) for rank in ranks)

    def row(name: str, changed: Mapping[str, Any]) -> Sequence[str]:
        steps = [NEARNESS[pair["here"]] - NEARNESS[pair["baseline"]] for pair in changed.values()]
        by_direction = [sum(step > 0 for step in steps), sum(step < 0 for step in steps), steps.count(0)]
        counts = Counter({**verdict_of, **{claim: pair["here"] for claim, pair in changed.items()}}.values())
        return name, *(f"{n or ''}" for n in (*by_direction, *(counts[verdict] for verdict in judged)))

    rows = [row("baseline", {})]
    rows += [row(f"`{other['id']}`", other["changed_verdicts"]) for other in document["alternatives"]]
    explained = (
        f'Claims that a reading moves, and the verdicts under it. "Nearer" and "farther" follow the order {order}; "between" is '
        "from one verdict to another of the same rank."
    )
    headings = ("`--reading`", "nearer", "farther", "between", *(COLUMNS.get(verdict, verdict) for verdict in judged))
    return f"{explained}\n\n{table(headings, rows)}\n"


def side_by_side(document: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The claims whose value a reading changes, with value and verdict in the baseline and under the reading."""
    pairs = {**other["changed_verdicts"], **other["same_verdicts"]}

    def shown(found: Mapping[str, Any] | None, verdict: str, unit: str) -> str:
        known = found is not None and found["mean"] is not None and isfinite(found["mean"])
        return f"**{verdict}**" + (
            f": {_with_interval(found['mean'], found['ci_low'], found['ci_high'])} {unit}" if known and found else ""
        )

    rows = [
        (
            f"`{claim['id']}`",
            "–" if claim["published"] is None else f"{claim['published']:g}",
            shown(pair["baseline_measured"], pair["baseline"], claim["unit"]),
            shown(pair["measured"], pair["here"], claim["unit"]),
        )
        for claim in document["claims"]
        if (pair := pairs.get(claim["id"]))
    ]
    explained = (
        f"Every claim whose value differs, with the value that decides under `{other['id']}` ({other['choice']}) and the "
        "same value in the baseline, with the same seeds."
    )
    headings = ("claim", "published", "baseline", f"`{other['id']}`")
    return f"{explained}\n\n{table(headings, rows)}\n"


def numbers(document: Mapping[str, Any], ids: Sequence[str]) -> str:
    """The claims with a printed number: the value that decides in the baseline and under each of these readings."""
    known = {other["id"]: {**other["same_verdicts"], **other["changed_verdicts"]} for other in document["alternatives"]}
    for name in ids:
        if name not in known:
            raise InputError(f"numbers of reading {name!r}: not run here; allowed: {', '.join(known) or 'none'}.")

    def shown(verdict: str, mean: float | None, low: float | None, high: float | None) -> str:
        value = "–" if mean is None or not isfinite(mean) else _with_interval(mean, low, high)
        return f"**{value}**" if verdict == "reproduced" else value

    def row(claim: Mapping[str, Any]) -> Iterator[str]:
        yield f"`{claim['id']}`, {claim['unit']}"
        yield f"{claim['published']:g}"
        yield shown(claim["verdict"], claim["measured"], claim["ci_low"], claim["ci_high"])
        for name in ids:
            pair = known[name].get(claim["id"])
            measured = (pair and pair["measured"]) or {"mean": None, "ci_low": None, "ci_high": None}
            yield shown(pair["here"], **_ends(measured)) if pair else "the same"

    rows = [[*row(claim)] for claim in document["claims"] if claim["published"] is not None]
    explained = (
        "Bold: reproduced by the claim's rule. The value is the one that decides, with its 95 % interval; of a bound it is the "
        "margin."
    )
    return f"{explained}\n\n{table(('claim', 'printed', 'baseline', *(f'`{name}`' for name in ids)), rows)}\n"


def _ends(found: Mapping[str, float | None]) -> dict[str, float | None]:
    return {"mean": found["mean"], "low": found["ci_low"], "high": found["ci_high"]}


def verdicts(document: Mapping[str, Any]) -> str:
    """Every claim, the rules that were rewritten, the claims that were dropped, and every other reading."""
    conditions = "; ".join(
        f"{name.replace('_', ' ')} {_plain(value)}" for name, value in document["conditions"].items()
    )
    parts = [
        counted(document),
        f"Conditions: {conditions}.",
        "`rule` says what is compared, and by which tolerance. `measured` is the value that decides, with its 95 % interval: of a "
        "relation the smallest margin, of a number the value farthest from it.",
        table(
            ("section", "figure", "claim", "rule", "published", "measured", "verdict"),
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
    failed = [claim["id"] for claim in document["claims"] if claim["verdict"] == "not reproduced"]
    if failed and document["alternatives"]:
        rows = (_reason_row(name, document["alternatives"]) for name in failed)
        parts += [
            "## Claims that are not reproduced",
            'The readings under which each of them has another verdict. "None": no reading changes it.',
            table(("claim", "verdict under readings"), rows),
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


def _with_interval(mean: float, low: float | None, high: float | None) -> str:
    return f"{mean:.3g}" if low is None else f"{mean:.3g} [{low:.3g}, {high:.3g}]"


def _claim_row(claim: Mapping[str, Any]) -> Sequence[str]:
    measured = "–"
    if claim["measured"] is not None:
        measured = f"{_with_interval(claim['measured'], claim['ci_low'], claim['ci_high'])} {claim['unit']}"
    published = "–" if claim["published"] is None else f"{claim['published']:g}"
    over = f" (on {claim['over']})" if claim["over"] else ""
    verdict = f"**{claim['verdict']}**{over}: {claim['why']}"
    statement = f"`{claim['id']}`: {claim['statement']}"
    return claim["section"], claim["figure"] or "", statement, claim["reading"], published, measured, verdict


def _reading_row(other: Mapping[str, Any]) -> Sequence[str]:
    count = f"{other['replications']}" if other["replications"] else "–"
    return f"`{other['id']}`", other["question"], other["choice"], count, "; ".join(changes(other))


def _reason_row(name: str, readings: Sequence[Mapping[str, Any]]) -> Sequence[str]:
    """A claim that is not reproduced, with the readings that change its verdict, by verdict."""
    found: dict[str, list[str]] = {}
    for other in readings:
        if pair := other["changed_verdicts"].get(name):
            found.setdefault(pair["here"], []).append(f"`{other['id']}`")
    return f"`{name}`", "; ".join(f"{verdict}: {', '.join(ids)}" for verdict, ids in found.items()) or "none"


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else f"{value}"
