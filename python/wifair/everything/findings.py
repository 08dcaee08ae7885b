"""The conclusion on a setting as generated sentences, and the record of each scheme over all settings."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from wifair.everything.contenders import REFERENCE
from wifair.everything.contest import Judged
from wifair.everything.criteria import KINDS, Criterion, Kind, number
from wifair.everything.verdict import Standing


def conclusion(judged: Judged) -> str:
    """The winners of a setting, or the unbeaten schemes."""
    verdict = judged.verdict
    if not verdict.judged or len(verdict.contenders) < 2:
        return "There is nothing to compare."
    if not verdict.valued:
        return "No scheme has a value by any criterion." if not verdict.out else "Transfers end under no scheme."
    if len(verdict.winners) == 1:
        return f"{listed(verdict.winners)} is the best by every criterion."
    if verdict.winners:
        return f"{listed(verdict.winners)} are equally good, and the best by every criterion."
    told = "No scheme is shown to be the best by every criterion."
    if verdict.candidates:
        told += f" More replications may show that {listed(verdict.candidates, ' or ')} is."
    if not verdict.nearest:
        return f"{told} None has a value by every criterion in all replications."
    first = verdict.nearest[0]
    criterion, best = verdict.weakest(first)
    told += f" The best compromise is {listed(verdict.nearest, ' or ')}"
    if best != first:
        told += f"; the worst of `{first}` is {criterion.title}: {over_reference(judged, criterion, first, best)} against `{best}`"
    told += f". A trade-off among: {listed(verdict.shown)}." if verdict.shown else "."
    rest = [name for name in verdict.unbeaten if name not in verdict.shown]
    return f"{told} Undecided: {listed(rest)}." if rest else told


def best_by(judged: Judged, criterion: Criterion) -> str:
    """The best by a criterion, with the first one's mean and its effect against the reference."""
    verdict = judged.verdict
    leader, *others = verdict.best(criterion) or [""]
    if not leader:
        return "nobody has a value"
    told = f"`{leader}` {number(verdict.mean(leader, criterion).estimate)}"
    if others:
        told += f"; not told apart: {listed(others)}"
    return told


def over_reference(judged: Judged, criterion: Criterion, name: str, reference: str = REFERENCE) -> str:
    """The effect of a scheme against the reference by a criterion, with its interval."""
    verdict = judged.verdict
    if reference not in verdict.contenders or name == reference:
        return "–"
    rows = verdict.values[criterion.id]
    found = criterion.effect(rows[verdict.contenders.index(name)], rows[verdict.contenders.index(reference)])
    if found.identical and found.estimate == (1.0 if criterion.scale == "ratio" else 0.0):
        return "no difference in any run"
    return criterion.effect_text(found)


def standings(judged: Judged, reference: str = REFERENCE) -> dict[Standing, list[str]]:
    """The other schemes by their standing against the reference, by all criteria."""
    verdict = judged.verdict
    found: dict[Standing, list[str]] = {standing: [] for standing in Standing}
    if reference in verdict.contenders:
        for name in verdict.contenders:
            if name != reference:
                found[verdict.standing(name, reference)].append(name)
    return found


@dataclass(frozen=True)
class Record:
    """A scheme's record over all settings: the numbers in which it ran, was shown unbeaten, was left unbeaten, was best, and its standings against the reference.

    `shortfall` is the median over settings of how far it is behind the best in what it is worst at, in units of what matters.
    """

    name: str
    ran: int
    shown: int
    unbeaten: int
    winner: int
    best: dict[Kind, int]
    standings: dict[Standing, int]
    shortfall: float

    @property
    def net(self) -> int:
        """The number of settings in which it is better than the reference, less those in which it is worse by something."""
        costly = (Standing.WORSE, Standing.TRADE, Standing.UNFINISHED)
        return self.standings[Standing.BETTER] - sum(self.standings[standing] for standing in costly)


@dataclass(frozen=True)
class Example:
    """A scheme against another in a setting by a criterion; `gap` is in units of the difference that matters."""

    judged: Judged
    criterion: Criterion
    gap: float

    def told(self, name: str, other: str) -> str:
        """The example in words, with the interval."""
        effect = over_reference(self.judged, self.criterion, name, other)
        return f"{self.criterion.title} in `{self.judged.setting.id}`: {effect}"


def median(examples: Sequence[Example]) -> Example:
    """The example in the middle."""
    return examples[(len(examples) - 1) // 2]


@dataclass(frozen=True)
class Overview:
    """All settings together."""

    settings: Sequence[Judged]

    @cached_property
    def contenders(self) -> list[str]:
        """The schemes that ran in any setting, in order."""
        every = (name for judged in self.settings for name in (*judged.verdict.contenders, *judged.setting.refused))
        ran = {name for judged in self.settings for name in judged.verdict.contenders}
        return [name for name in dict.fromkeys(every) if name in ran]

    @cached_property
    def replications(self) -> str:
        """The number of replications of a scheme in a setting, as a range if it varies."""
        counts = {v.replications(name) for v in (judged.verdict for judged in self.settings) for name in v.contenders}
        return f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{next(iter(counts), 0)}"

    @property
    def by_scenario(self) -> list[list[Judged]]:
        """The settings of each scenario."""
        found: dict[str, list[Judged]] = {}
        for judged in self.settings:
            found.setdefault(judged.setting.staged.id, []).append(judged)
        return list(found.values())

    @cached_property
    def kinds(self) -> list[Kind]:
        """The kinds of criteria that are judged in any setting."""
        there = {criterion.kind for judged in self.settings for criterion in judged.verdict.judged}
        return [kind for kind in KINDS if kind in there]

    def record(self, name: str, reference: str = REFERENCE) -> Record:
        """A scheme's record."""
        mine = [judged.verdict for judged in self.settings if name in judged.verdict.contenders]
        best: Counter[Kind] = Counter()
        for verdict in mine:
            for kind in {criterion.kind for criterion in verdict.judged}:
                best[kind] += all(name in verdict.best(c) for c in verdict.judged if c.kind == kind)
        stands = Counter(v.standing(name, reference) for v in mine if reference in v.contenders and name != reference)
        return Record(
            name,
            len(mine),
            sum(name in verdict.shown for verdict in mine),
            sum(name in verdict.unbeaten for verdict in mine),
            sum(name in verdict.winners for verdict in mine),
            {kind: best[kind] for kind in self.kinds},
            {standing: stands[standing] for standing in Standing},
            statistics.median([verdict.shortfall(name) for verdict in mine]),
        )

    @cached_property
    def records(self) -> list[Record]:
        """The record of each scheme, most often shown to be unbeaten first."""
        return sorted((self.record(name) for name in self.contenders), key=lambda r: (-r.shown, -r.unbeaten))

    def examples(self, name: str, other: str) -> list[Example]:
        """The settings and criteria in which one scheme is shown to be better than the other, the smallest gap first."""
        found = [
            Example(judged, criterion, judged.verdict.gap(name, other, criterion))
            for judged in self.settings
            if {name, other} <= set(judged.verdict.contenders) - judged.verdict.out
            for criterion in judged.verdict.judged
            if judged.verdict.standing(name, other, [criterion]) is Standing.BETTER
        ]
        return sorted(found, key=lambda example: example.gap)


def listed(names: Iterable[str], last: str = ", ") -> str:
    """A list of names as Markdown code."""
    *others, final = [f"`{name}`" for name in names] or [""]
    return f"{', '.join(others)}{last}{final}" if others else final
