"""The conclusion as Markdown: for the page of the documentation, and its findings for the front page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from wifair.errors import InputError
from wifair.everything import summary
from wifair.everything.contenders import REFERENCE
from wifair.everything.contest import Contest, Judged
from wifair.everything.document import OTHER_MARGINS
from wifair.everything.figures import draw
from wifair.everything.findings import Overview, best_by, conclusion, listed, over_reference, standings
from wifair.everything.scenarios import Staged
from wifair.everything.values import beside
from wifair.everything.values import write as write_values
from wifair.everything.verdict import Standing
from wifair.markdown import Marks, sentence, table
from wifair.results.results import versions

COMMAND = "wifair compare --all --page"
SCREEN = Marks("what to do", COMMAND)
COMPARISON = Marks("comparison", COMMAND)
FINDINGS = Marks("findings", COMMAND)
# What a setting is, for readers of several.
SETTINGS = (
    " A setting is a scenario with one kind of senders: `/paper` those of the paper, `/today` those of today, `/ax` those of today on "
    "802.11ax."
)
# Captions by figure.
CAPTIONS = {
    "conclusions": "Who is best by everything, unbeaten, or beaten; open where neither is shown.",
    f"against-{REFERENCE}": f"How every scheme compares with `{REFERENCE}`, by kind of criterion.",
}


def check(page: Path) -> list[Marks]:
    """The parts that the page has marks for. Raises `InputError` if there is none; called before the runs."""
    there = [marks for marks in (SCREEN, COMPARISON, FINDINGS) if marks.between(page) is not None]
    if not there:
        raise InputError(
            f"{page}: has no place for a comparison; write {COMPARISON.begin!r} and below it {COMPARISON.end!r} there, or "
            f"{FINDINGS.begin!r} and {FINDINGS.end!r}."
        )
    return there


def write(page: Path, contest: Contest, overview: Overview) -> None:
    """Writes the parts that the page has marks for; next to a comparison its figures, and the values from which it is written."""
    there = check(page)
    if COMPARISON in there:
        images = page.parent / "images"
        images.mkdir(exist_ok=True)
        draw(overview, images)
        write_values(beside(page), overview.settings)
    for marks, text in texts(contest, overview, f"values/{beside(page).name}").items():
        if marks in there:
            marks.write(page, text)


def texts(contest: Contest, overview: Overview, values: str = "") -> dict[Marks, str]:
    """The parts of pages; `values` is the link to the file of values."""
    pictures = {name: [Path(f"comparison-{name}.png")] for name in CAPTIONS}
    return {
        SCREEN: f"{summary.screen(overview)}\n\n{conditions(contest, overview)}\n",
        COMPARISON: comparison(contest, overview, pictures, "images/", values),
        FINDINGS: findings(contest, overview),
    }


def findings(contest: Contest, overview: Overview) -> str:
    """The findings with the conditions of the runs."""
    told = "\n".join(f"- {finding}" for finding in summary.findings(overview))
    return f"{told}\n\n{conditions(contest, overview)}\n"


def conditions(contest: Contest, overview: Overview) -> str:
    """What the numbers mean, and the command that makes exactly these."""
    one = len(overview.settings) == 1
    stages = f", in stages of {listed_numbers(contest.stages)} replications" if len(contest.stages) > 1 else ""
    return (
        f"*× 0.5 means half as much as under the other scheme, +0.1 means 0.1 more; in brackets the 95 % interval of the paired difference. "
        f"`{contest.command}` makes these numbers: {len(overview.contenders)} schemes{'' if one else f' in {len(overview.settings)} settings'}"
        f"{stages}; {overview.replications} replications of each.{'' if one else SETTINGS}*"
    )


def listed_numbers(numbers: Sequence[int]) -> str:
    """Numbers as a list in a sentence."""
    *others, last = map(str, numbers)
    return f"{', '.join(others)} and {last}" if others else last


def comparison(
    contest: Contest, overview: Overview, pictures: Mapping[str, Sequence[Path]], images: str, values: str = ""
) -> str:
    """The whole comparison: matrices, the record of each scheme, a section per scenario. `images` is the prefix of the pictures' names."""
    parts = [conditions(contest, overview), f"Engine `{versions()['engine']}`."]
    if values:
        parts[-1] += f" The value of every run is in [{Path(values).name}]({values})."
    for name, paths in pictures.items():
        parts.append(f"![{CAPTIONS[name]}]({images}{paths[0].name})\n\n*{CAPTIONS[name]}*")
    if len(overview.settings) > 1:
        parts += ["### The schemes", records(overview)]
    for mine in overview.by_scenario:
        staged = mine[0].setting.staged
        parts.append(f"### {staged.id}\n\n{about(staged)}")
        parts += [_setting(judged) for judged in mine]
    return "\n\n".join(parts) + "\n"


def title(overview: Overview) -> str:
    """The title of a report."""
    if len(overview.settings) > 1:
        return "Everything against everything"
    return f"Which scheme for {overview.settings[0].setting.staged.title}"


def about(staged: Staged) -> str:
    """What a scenario is, and why it is there."""
    return f"{sentence(staged.title)} ({staged.source}).{f' Why: {staged.why}.' if staged.why else ''}"


def records(overview: Overview) -> str:
    """A row per scheme: the number of settings for each outcome."""
    kinds = [f"best by {kind}" for kind in overview.kinds]
    against = [f"{standing.value} than {REFERENCE}" for standing in (Standing.BETTER, Standing.WORSE)]
    outcomes = ("shown to be unbeaten", "not beaten", "best by everything", *kinds, *against, "trade")
    headings = ("scheme", "ran", *outcomes, "worst shortfall")
    rows = [
        (
            f"`{record.name}`",
            f"{record.ran}",
            f"{record.shown}",
            f"{record.unbeaten}",
            f"{record.winner}",
            *(f"{record.best[kind]}" for kind in overview.kinds),
            *(
                "–" if record.name == REFERENCE else f"{record.standings[standing]}"
                for standing in (Standing.BETTER, Standing.WORSE, Standing.TRADE)
            ),
            f"{record.shortfall:.1f}",
        )
        for record in overview.records
    ]
    return (
        "In how many settings each scheme is what. The worst shortfall is the median over settings of how far it is behind the best in what "
        "it is worst at, in units of the difference that matters:\n\n" + table(headings, rows)
    )


def _setting(judged: Judged) -> str:
    verdict = judged.verdict
    parts = [f"#### With {judged.setting.senders.title}\n\n{conclusion(judged)}"]
    rows = []
    for criterion in verdict.criteria:
        leader = next(iter(verdict.best(criterion)), "")
        over = over_reference(judged, criterion, leader) if leader else "–"
        judged_too = "" if criterion.judged else " (not judged: links differ)"
        rows.append((f"{criterion.title}{judged_too}", criterion.unit, best_by(judged, criterion), over))
    parts.append(table(("by", "unit", "best", f"the first of them against `{REFERENCE}`"), rows))
    return "\n\n".join([*parts, "\n".join(f"- {line}" for line in remarks(judged))])


def remarks(judged: Judged) -> list[str]:
    """Remarks on a setting: standings against the reference, sensitivity to the margins, cautions, rejected schemes."""
    stands = standings(judged)
    words = {
        Standing.BETTER: f"Better than `{REFERENCE}` and worse by nothing",
        Standing.TRADE: f"A trade against `{REFERENCE}`",
        Standing.EQUAL: f"No difference that matters from `{REFERENCE}`",
    }
    told = [f"{text}: {listed(stands[standing])}." for standing, text in words.items() if stands[standing]]
    told += [text for text in [_if_margins_differed(judged)] if text]
    if judged.cautions:
        told.append(
            "Not to be recommended, because transfers do not end: "
            + "; ".join(f"`{name}`, {text}" for name, text in judged.cautions.items())
            + "."
        )
    for reason, names in _reasons(judged.setting.refused).items():
        told.append(f"Cannot run: {listed(names)} ({reason.rstrip('.')}).")
    return told


def _if_margins_differed(judged: Judged) -> str:
    verdict = judged.verdict
    now = set(verdict.unbeaten)
    told = []
    for factor in OTHER_MARGINS:
        other = set(verdict.with_margins(factor).unbeaten)
        changes = [f"{listed(sorted(other - now))} join"] if other - now else []
        changes += [f"{listed(sorted(now - other))} drop out"] if now - other else []
        if changes:
            told.append(f"times {factor:g}, {' and '.join(changes)}")
    return f"If what matters were {'; '.join(told)}." if told else ""


def _reasons(refused: Mapping[str, str]) -> dict[str, list[str]]:
    """The rejected schemes by reason."""
    found: dict[str, list[str]] = {}
    for name, reason in refused.items():
        found.setdefault(reason.replace(name, "it"), []).append(name)
    return found
