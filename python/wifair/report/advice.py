"""The page of `wifair advise`: the advice, a figure, the commands, flows, assumptions, the ranking."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from wifair.advising import measured, rule, wording
from wifair.advising.advice import OWN
from wifair.everything.verdict import Standing
from wifair.report import as_it_is, charts
from wifair.report.parts import Cell, Chart, Code, Details, Findings, Part, Report, Section, Table, Text
from wifair.report.provenance import again, command, made_by
from wifair.scenario.described import described
from wifair.stats import Interval

if TYPE_CHECKING:
    from wifair.advising import Advice, Change

BADGES = {Standing.BETTER: "reproduced", Standing.TRADE: "calibrated", Standing.OPEN: "trend-only"}

# Flows that are named in short; all are under "Flow by flow".
NAMED = 5


def of_advice(advice: Advice, title: str, arguments: Sequence[str]) -> Report:
    """The whole page."""
    lead = f"{measured.headline(advice)} {'; '.join(described([advice.plan]))}. {advice.runs} replications."
    sections = [Section("In short", _short(advice))]
    best = advice.best
    if best and wording.is_advised(advice) and best.commands:
        kind = "until the next restart" if not best.commands.lasting else "lasting"
        sections.append(
            Section(
                "The commands",
                [
                    Code("\n".join(best.commands.do), f"Set {best.name} ({kind}):"),
                    Code("\n".join(best.commands.undo), "Undo it:"),
                    Findings([wording.of_commands(best.commands)]),
                ],
            )
        )
    if found := wording.beyond(advice):
        sections.append(Section("Better, but no command sets it", [Findings(found)]))
    if shown := advice.best or advice.best_beyond:
        if advice.flows is not None:
            sections.append(Section("Flow by flow", [_flows(advice, shown)]))
        if wording.doubted(advice):
            sections.append(Section("What is assumed", _assumed(advice, shown)))
    if advice.as_it_is:
        sections.append(Section("Next to what was measured", as_it_is.parts(advice.as_it_is)))
    if told := wording.placed(advice):
        sections.append(Section("Networks like this one", [Findings(told)]))
    sections.append(Section("All changes", _ranking(advice)))
    paragraphs = (" ".join(part.split()) for part in (rule.__doc__ or "").split("\n\n"))
    sections.append(Section("The rule", [Text([*paragraphs, wording.not_tried(advice)])]))
    if advice.fresh is not None:
        sections.append(again(arguments, advice.fresh))
        return Report(f"Advice: {title}", lead, sections, made_by(advice.fresh))
    sections.append(Section("How to run it again", [Code(command(arguments), "The command that wrote this page:")]))
    return Report(f"Advice: {title}", lead, sections, "Made with wifair.")


def _short(advice: Advice) -> list[Part]:
    told = [*measured.sentences(advice), *(f"{remark}." for remark in (*advice.remarks, *wording.indexes(advice)))]
    told += wording.bounds(advice, OWN) if advice.searched else []
    best = advice.best
    shown = best or advice.best_beyond
    if best and advice.confirmed and wording.is_advised(advice):
        told += wording.bounds(advice, best.name)
        told += (*wording.others_by_goal(advice, best), *wording.chosen(advice))
        for word, flows in (("gain", wording.winners(advice, best)), ("lose", wording.losers(advice, best))):
            more = f"; {len(flows) - NAMED} more below" if len(flows) > NAMED else ""
            told.append(f"Flows that {word}: {'; '.join(flows[:NAMED]) or 'none'}{more}.")
        told += wording.of_others(advice, best)
    told += (*wording.doubted(advice)[:1], *wording.no_gain(advice), *measured.not_compared(advice))
    parts: list[Part] = [Findings(told)] if told else []
    if shown and advice.confirmed:
        parts.append(_figure(advice))
    return parts


def _figure(advice: Advice) -> Chart:
    """Each goal on fresh seeds, before and after, with a dot per replication."""
    names = list(advice.values)
    panels = []
    for each in advice.shown:
        key = each.criterion.id
        means = [(name, _mean(advice.values[name][key])) for name in names]
        runs = [
            (name, seed, float(value))
            for name in names
            for seed, value in enumerate(advice.values[name][key], 1)
            if np.isfinite(value)
        ]
        least = None if each.goal and each.goal.is_user_defined else 0.0
        there = [(name, found) for name, found in means if found.n]
        panels.append(charts.by_name(there, runs, title=each.title, x_title=each.criterion.unit, least=least))
    rows = [[name, *(_mean(advice.values[name][each.criterion.id]) for each in advice.shown)] for name in names]
    table = Table.of(("scenario", *map(wording.heading, advice.shown)), rows)
    return Chart(panels, "Means on fresh seeds with 95 % intervals; a dot per replication.", table)


def _mean(values: object) -> Interval:
    from wifair.stats import t_interval

    return t_interval(np.asarray(values, dtype=float))


def _flows(advice: Advice, change: Change) -> Table:
    flows = advice.flows
    assert flows is not None
    i, j = flows.contenders.index(change.name), flows.contenders.index(OWN)
    rows = []
    for each in flows.criteria:
        standing = flows.standing(change.name, OWN, [each])
        values = flows.values[each.id]
        rows.append(
            [
                each.title,
                each.unit,
                _mean(values[j]),
                _mean(values[i]),
                _unbroken(each.effect_text(each.effect(values[i], values[j]))),
                Cell(wording.STANDINGS[standing], badge=BADGES.get(standing, "undetermined")),
            ]
        )
    caption = f"What each group of flows gets on fresh seeds, as it is and with {change.name}.{_on_open(rows)}"
    return Table.of(("flows", "unit", OWN, "changed", "effect", "the rule says"), rows, caption)


def _on_open(rows: Sequence[Sequence[object]]) -> str:
    """What an open row means, if there is one."""
    words = wording.STANDINGS[Standing.OPEN]
    is_there = any(isinstance(cell, Cell) and cell.text == words for row in rows for cell in row)
    return (
        f" {words.capitalize()}: the rule has wider intervals than these of 95 %, since it makes all comparisons together."
        if is_there
        else ""
    )


def _assumed(advice: Advice, change: Change) -> list[Part]:
    rows = []
    for each in advice.doubted:
        effects = []
        for yardstick in advice.shown:
            criterion = yardstick.criterion
            if each.verdict is None:
                effects.append("–")
                continue
            effects.append(_unbroken(criterion.effect_text(each.effect(change, criterion))))
        standing = each.verdict.standing(change.name, OWN) if each.verdict else None
        said = wording.STANDINGS[standing] if standing else "does not apply"
        badge = BADGES.get(standing, "undetermined") if standing else ""
        key = Cell(f"`{each.doubt.family}`", note=each.doubt.why)
        rows.append([key, each.doubt.other, Cell(said, badge=badge), *effects])
    parts: list[Part] = [Findings(wording.doubted(advice)[:2])]
    if rows:
        headings = ("key", "other value", "the rule says", *(each.title for each in advice.shown))
        caption = f"The effect of {change.name} with another value of each assumption.{_on_open(rows)}"
        parts.append(Table.of(headings, rows, caption))
    return parts


def _ranking(advice: Advice) -> list[Part]:
    rows, parts = [], []
    for change in wording.ranking(advice):
        state, seeds, effects = wording.searched(advice, change)
        others = [wording.others_in_short(advice, change)] if advice.bss else []
        by_goal = [Cell(_unbroken(means), note=_unbroken(effect)) for means, effect in effects]
        rows.append([Cell(change.name, note=change.about), state, seeds, *by_goal, *others])
        if change.commands:
            parts.append(Code("\n".join(change.commands.do), f"Set {change.name}:"))
            parts.append(Code("\n".join(change.commands.undo), "Undo it:"))
    headings = (
        "change",
        "search says",
        "seeds",
        *map(wording.heading, advice.shown),
        *(["the others"] if advice.bss else []),
    )
    caption = "By the seeds of the search. Effects of the best are too good here, since these seeds chose it."
    folded = [Details("The commands of each change, and those that undo it", parts)] if parts else []
    return [Table.of(headings, rows, caption), *folded]


def _unbroken(text: str) -> str:
    """A number with its interval as a table has it in one line."""
    return text.replace(" ", "\u00a0")
