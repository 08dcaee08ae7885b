"""The report of `wifair compare --all`: the conclusion, the matrix, a section per scenario, the rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wifair.everything import summary
from wifair.everything import verdict as rule
from wifair.everything.contenders import REFERENCE
from wifair.everything.findings import conclusion
from wifair.everything.page import CAPTIONS, about, remarks, title
from wifair.everything.verdict import Effect, Place, Standing
from wifair.report import charts
from wifair.report.parts import Cell, Chart, Findings, Part, Picture, Report, Section, Table, Text
from wifair.report.provenance import again, made_by

if TYPE_CHECKING:
    from wifair.everything.contest import Contest, Judged
    from wifair.everything.findings import Overview
    from wifair.results.results import Results

# The badge for a scheme's place in a setting.
BADGES = {
    Place.BEST: "reproduced",
    Place.UNBEATEN: "calibrated",
    Place.OPEN: "trend-only",
    Place.BEATEN: "undetermined",
    Place.UNFINISHED: "undetermined",
}


def of_contest(
    contest: Contest,
    overview: Overview,
    pictures: Mapping[str, Sequence[Path]],
    results: Results,
    arguments: Sequence[str],
) -> Report:
    """The whole report; `pictures` are the matrices by name."""
    one = len(overview.settings) == 1
    where = f"`{overview.settings[0].setting.staged.id}`" if one else f"{len(overview.settings)} settings"
    lead = (
        f"{len(overview.contenders)} schemes in {where}, {overview.replications} replications of each: "
        f"{'which to use there, and who is best by what.' if one else f'who is best by what, and what beats `{REFERENCE}`, which ships.'}"
    )
    matrix = [Picture(paths[0].read_bytes(), CAPTIONS[name], CAPTIONS[name]) for name, paths in pictures.items()]
    short = Findings([found.replace("**", "") for found in summary.findings(overview)])
    sections = [
        Section("In short", [short, *([] if one else [records(overview)])]),
        Section("The matrix", [*matrix, *([] if one else [conclusions(overview)])]),
    ]
    for mine in overview.by_scenario:
        staged = mine[0].setting.staged
        sections.append(
            Section(staged.id, [Text([about(staged)]), *(part for judged in mine for part in setting(judged))])
        )
    sections.append(Section("The rule", [Text(_paragraphs(rule.__doc__ or ""))]))
    sections.append(Section("The schemes", [schemes(contest)]))
    return Report(title(overview), lead, [*sections, again(arguments, results)], made_by(results), "comparison")


def _paragraphs(text: str) -> list[str]:
    return [" ".join(paragraph.split()).replace("*", "") for paragraph in text.split("\n\n") if paragraph.strip()]


def records(overview: Overview) -> Table:
    """A row per scheme: the number of settings for each outcome."""
    headings = [
        "scheme",
        "ran",
        "shown to be unbeaten",
        "not beaten",
        "best by everything",
        *(f"best by\n{kind}" for kind in overview.kinds),
    ]
    headings += [f"{standing.value}\nagainst {REFERENCE}" for standing in Standing]
    rows = [
        [
            Cell(f"`{record.name}`", record.name),
            record.ran,
            record.shown,
            record.unbeaten,
            record.winner,
            *(record.best[kind] for kind in overview.kinds),
            *(None if record.name == REFERENCE else record.standings[standing] for standing in Standing),
        ]
        for record in overview.records
    ]
    return Table.of(headings, rows, "In how many settings each scheme is what.")


def conclusions(overview: Overview) -> Table:
    """A row per setting: its winners, in words."""
    rows = [[judged.setting.id, conclusion(judged)] for judged in overview.settings]
    return Table.of(("scenario / senders", "conclusion"), rows)


def setting(judged: Judged) -> list[Part]:
    """The results of one setting."""
    verdict = judged.verdict
    begin = Text([f"With {judged.setting.senders.title}. {conclusion(judged)}"])
    effects = {(effect.contender, effect.criterion.id): effect for effect in verdict.against(REFERENCE)}
    headings = [
        "scheme",
        "place",
        *(f"{c.title}{'' if c.judged else ' (not judged)'}\n{c.unit}" for c in verdict.criteria),
    ]
    rows: list[list[object]] = []
    for name in verdict.contenders:
        place = verdict.place(name)
        row: list[object] = [Cell(f"`{name}`", name), Cell(place.value, badge=BADGES[place])]
        for criterion in verdict.criteria:
            found = verdict.mean(name, criterion)
            row.append(
                Cell(found.short(), found.estimate if found.n else None, note=_note(effects.get((name, criterion.id))))
            )
        rows.append(row)
    caption = (
        f"Means ± half-widths of their 95 % intervals; below them the difference from `{REFERENCE}`, or the factor, with its "
        "paired 95 % interval, and p after Holm's correction over this table where it is above 0.001."
    )
    panels = [
        charts.by_name(
            [(name, verdict.mean(name, criterion)) for name in verdict.contenders if verdict.mean(name, criterion).n],
            [],
            title=criterion.title,
            x_title=criterion.unit,
            domain=(0.0, 1.0) if criterion.kind == "fairness" else None,
            least=0.0,
        )
        for criterion in verdict.judged
    ]
    return [
        begin,
        Findings(remarks(judged)),
        Chart(panels, "Means with 95 % intervals.", Table.of(headings, rows, caption)),
    ]


def _note(effect: Effect | None) -> str:
    if effect is None or not effect.effect.n:
        return ""
    told = f"{effect.criterion.effect_text(effect.effect)}, {effect.standing.value}"
    return told if effect.p < 0.001 else f"{told}, p = {effect.p:.2g}"


def schemes(contest: Contest) -> Table:
    """The schemes that took part."""
    rows = [[Cell(f"`{contender.name}`", contender.name), contender.about] for contender in contest.contenders]
    return Table.of(("scheme", "idea"), rows)
