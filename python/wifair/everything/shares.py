"""A contest in many scenarios, answered in shares: in how many a scheme is better than the reference, or worse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair.analysis.sweep import label
from wifair.everything.contenders import REFERENCE
from wifair.everything.contest import Contest, Judged, undecided_share
from wifair.everything.document import document
from wifair.everything.findings import listed
from wifair.everything.scenarios import FULL
from wifair.everything.verdict import Standing
from wifair.population.properties import PROPERTIES, kinds_of, properties
from wifair.stats import LEVEL, Interval, holm, permutation_p, share_interval

if TYPE_CHECKING:
    import polars as pl

# What a standing is called in a count of scenarios, in the order of the output.
WORDS: Mapping[Standing, str] = {
    Standing.BETTER: "better",
    Standing.WORSE: "worse",
    Standing.TRADE: "a trade",
    Standing.EQUAL: "no difference that matters",
    Standing.THRESHOLD: "on the threshold",
    Standing.OPEN: "undecided",
    Standing.UNFINISHED: "not recommended, because transfers do not end",
}
# Where a scheme costs something, and where it does not.
COSTLY = (Standing.WORSE, Standing.TRADE, Standing.UNFINISHED)
HARMLESS = (Standing.BETTER, Standing.EQUAL, Standing.THRESHOLD)
# Groups of fewer scenarios are not compared.
LEAST = 2


@dataclass(frozen=True)
class Share:
    """In how many scenarios a scheme has which standing against the reference."""

    scheme: str
    counts: Mapping[Standing, int]
    # Scenarios in which it cannot run.
    refused: int

    @property
    def total(self) -> int:
        """The number of scenarios in which it ran."""
        return sum(self.counts.values())

    @property
    def net(self) -> int:
        """Scenarios in which it is better, less those in which it is worse."""
        return self.counts[Standing.BETTER] - self.counts[Standing.WORSE]

    def interval(self, *standings: Standing) -> Interval:
        """The share of scenarios with one of these standings, with its 95 % interval for the population that they are drawn from."""
        return share_interval(sum(self.counts[standing] for standing in standings), self.total)


@dataclass(frozen=True)
class Gain:
    """What a scheme has over the reference by one criterion, in the scenarios that are judged by it.

    Gains are differences of means in units of the smallest difference that matters.
    """

    criterion: str
    title: str
    gains: tuple[float, ...]
    better: int
    worse: int

    @property
    def median(self) -> float:
        """The median gain."""
        return float(np.median(self.gains))


@dataclass(frozen=True)
class Contrast:
    """A property of the scenarios in which a scheme costs something, and of those in which it does not.

    `above` is the probability that it is larger in one of the former than in one of the latter, ties counted half. `p` is
    corrected by Holm over all properties.
    """

    name: str
    costly: float
    harmless: float
    above: float
    p: float


@dataclass(frozen=True)
class Shares:
    """The answer of a contest in many scenarios."""

    contest: Contest
    settings: Sequence[Judged]

    @cached_property
    def schemes(self) -> list[Share]:
        """Each other scheme; first the one that is better in the most scenarios, less those in which it is worse."""
        names = dict.fromkeys(
            name for judged in self.settings for name in (*judged.verdict.contenders, *judged.setting.refused)
        )
        found = [self.of(name) for name in names if name != REFERENCE]
        return sorted((share for share in found if share.total), key=lambda share: (-share.net, share.scheme))

    def of(self, scheme: str, kind: str = "") -> Share:
        """A scheme's share, in all scenarios or in those of a kind."""
        mine = [judged for judged in self.settings if not kind or judged.setting.staged.id in self.kinds[kind]]
        counts = Counter(standing for judged in mine if (standing := standing_of(judged, scheme)) is not None)
        return Share(
            scheme,
            {standing: counts[standing] for standing in Standing},
            sum(scheme in judged.setting.refused for judged in mine),
        )

    @cached_property
    def kinds(self) -> Mapping[str, Sequence[str]]:
        """The scenarios of each kind, by their names without numbers."""
        return kinds_of(judged.setting.staged.id for judged in self.settings)

    @cached_property
    def replications(self) -> str:
        """The number of replications of a scheme in a scenario, as a range if it varies."""
        counts = {j.verdict.replications(name) for j in self.settings for name in j.verdict.contenders}
        return f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{next(iter(counts), 0)}"

    @cached_property
    def properties(self) -> Mapping[str, Mapping[str, float]]:
        """What each scenario is like."""
        return {j.setting.staged.id: properties(j.setting.staged.scenario(FULL)) for j in self.settings}

    def standings(self, scheme: str) -> dict[str, Standing]:
        """A scheme's standing in each scenario in which it ran with the reference."""
        found = {judged.setting.staged.id: standing_of(judged, scheme) for judged in self.settings}
        return {name: standing for name, standing in found.items() if standing is not None}

    def gains(self, scheme: str) -> list[Gain]:
        """What a scheme has over the reference, by criterion."""
        found: dict[str, list[tuple[float, Standing]]] = {}
        titles: dict[str, str] = {}
        for judged in self.settings:
            verdict = judged.verdict
            if standing_of(judged, scheme) is None:
                continue
            for criterion in verdict.judged:
                id, _, several = criterion.id.partition(":")
                titles.setdefault(id, "time of a transfer" if several else criterion.title)
                one = verdict.gap(scheme, REFERENCE, criterion), verdict.standing(scheme, REFERENCE, [criterion])
                found.setdefault(id, []).append(one)
        return [
            Gain(
                id,
                titles[id],
                tuple(gain for gain, _ in mine),
                sum(standing is Standing.BETTER for _, standing in mine),
                sum(standing is Standing.WORSE for _, standing in mine),
            )
            for id, mine in found.items()
        ]

    def contrasts(self, scheme: str) -> list[Contrast]:
        """How the scenarios in which a scheme costs something differ from those in which it does not, the clearest first.

        Undecided scenarios are in neither group. Empty if a group has fewer than two.
        """
        stands = self.standings(scheme)
        groups = [[name for name, each in stands.items() if each in group] for group in (COSTLY, HARMLESS)]
        if min(map(len, groups)) < LEAST:
            return []
        raw = []
        for each in PROPERTIES:
            costly, harmless = (np.array([self.properties[name][each.name] for name in group]) for group in groups)
            if np.ptp(np.concatenate([costly, harmless])) > 0:
                raw.append((each.heading, costly, harmless, permutation_p(costly, harmless)))
        corrected = holm([p for *_, p in raw])
        found = [
            Contrast(name, float(np.median(costly)), float(np.median(harmless)), _above(costly, harmless), p)
            for (name, costly, harmless, _), p in zip(raw, corrected, strict=True)
        ]
        return sorted(found, key=lambda contrast: (contrast.p, -abs(contrast.above - 0.5)))

    def answer(self) -> list[str]:
        """The answer in sentences, the conclusion first."""
        if not self.schemes:
            return [f"There is nothing to compare: no other scheme ran with `{REFERENCE}`."]
        first = self.schemes[0]
        head = (
            f"`{first.scheme}` instead of `{REFERENCE}`"
            if first.net > 0
            else f"Leave `{REFERENCE}`: no scheme is better in more scenarios than it is worse in. The nearest is `{first.scheme}`"
        )
        kinds = [self.of(first.scheme, kind) for kind in self.kinds] if len(self.kinds) > 1 else []
        told = ", ".join(
            f"{share.counts[Standing.BETTER]} of {share.total} {kind}"
            for kind, share in zip(self.kinds, kinds, strict=bool(kinds))
        )
        noun = next(iter(self.kinds)) if len(self.kinds) == 1 else "scenarios"
        rest = [
            f"{WORDS[standing]} in {first.counts[standing]}"
            for standing in WORDS
            if standing is not Standing.BETTER and first.counts[standing]
        ]
        sentences = [
            f"{head}: better in {first.counts[Standing.BETTER]} of {first.total} {noun}{f' ({told})' if told else ''}"
            f"{''.join(f', {part}' for part in rest)}."
        ]
        if costly := [name for name, standing in self.standings(first.scheme).items() if standing in COSTLY]:
            sentences.append(self._in_common(first.scheme, len(costly)))
        return sentences

    def _in_common(self, scheme: str, count: int) -> str:
        contrasts = self.contrasts(scheme)
        many = count > 1
        where = f"The {f'{count} scenarios' if many else 'scenario'} in which `{scheme}` is worse, a trade or not recommended"
        differ = "differ" if many else "differs"
        if not contrasts:
            return f"{where} cannot be set apart from the others: a group has fewer than {LEAST} scenarios."
        if clear := [contrast for contrast in contrasts if contrast.p < 1 - LEVEL]:
            told = "; ".join(
                f"{c.name}: median {short(c.costly)} against {short(c.harmless)} (p = {c.p:.2g})" for c in clear[:3]
            )
            return f"{where} {differ} from those in which it costs nothing. {told[:1].upper()}{told[1:]}."
        return f"{where} {differ} from those in which it costs nothing by no property more than by chance (p ≥ 0.05 after Holm's correction)."

    def sure(self) -> str:
        """What the answer rests on."""
        return (
            f"{len(self.settings)} scenarios, {self.replications} replications of each scheme; {100 * undecided_share(self.settings):.0f} % of the "
            f"comparisons with `{REFERENCE}` are undecided. Intervals of shares are 95 % intervals for the population that the scenarios are drawn "
            "from. In a scenario, the rule misses a best scheme with a probability of at most 5 %."
        )

    def table(self) -> pl.DataFrame:
        """A row per scenario and scheme: the standing against the reference."""
        import polars as pl

        rows = [
            {"scenario": name, "scheme": share.scheme, "standing": standing.value}
            for share in self.schemes
            for name, standing in self.standings(share.scheme).items()
        ]
        return pl.DataFrame(rows, schema={"scenario": pl.String, "scheme": pl.String, "standing": pl.String})

    def to_dict(self) -> dict[str, Any]:
        """Everything as the content of one JSON document: the contest's, with the shares."""
        told = document(self.contest, self.settings)
        told["findings"] = self.answer()
        told["shares"] = [
            {
                "scheme": share.scheme,
                "scenarios": share.total,
                "cannot_run": share.refused,
                "counts": {standing.value: count for standing, count in share.counts.items()},
                "better": _ends(share.interval(Standing.BETTER)),
                "worse_or_trade": _ends(share.interval(*COSTLY)),
                "kinds": {
                    kind: {
                        standing.value: count for standing, count in self.of(share.scheme, kind).counts.items() if count
                    }
                    for kind in self.kinds
                },
                "gains_in_what_matters": [
                    {"criterion": gain.criterion, "scenarios": len(gain.gains), "median": gain.median}
                    | {"better": gain.better, "worse": gain.worse}
                    for gain in self.gains(share.scheme)
                ],
                "contrasts": [
                    {
                        "property": c.name,
                        "costly_median": c.costly,
                        "harmless_median": c.harmless,
                        "above": c.above,
                        "p_holm": c.p,
                    }
                    for c in self.contrasts(share.scheme)
                ],
            }
            for share in self.schemes
        ]
        told["properties"] = {name: dict(found) for name, found in self.properties.items()}
        return told

    def told(self) -> str:
        """Everything as Markdown: the answer, the shares, the gains, what costly scenarios have in common, every standing."""
        return "\n\n".join(_pages(self)) + "\n"


def with_reference(schemes: Sequence[str | Mapping[str, Any]]) -> list[str | Mapping[str, Any]]:
    """The schemes, and the reference, with which each is compared; none, which stands for every scheme, stays none."""
    there = not schemes or REFERENCE in map(label, schemes)
    return [*schemes, *([] if there else [REFERENCE])]


def standing_of(judged: Judged, scheme: str) -> Standing | None:
    """A scheme's standing against the reference in a scenario; None if one of them did not run there."""
    verdict = judged.verdict
    if scheme == REFERENCE or not {scheme, REFERENCE} <= set(verdict.contenders) or not verdict.judged:
        return None
    return verdict.standing(scheme, REFERENCE)


def short(value: float) -> str:
    """Three digits, without an exponent."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:g}"


def percent(found: Interval) -> str:
    """A share with its interval."""
    if found.low is None or found.high is None:
        return "–"
    return f"{100 * found.estimate:.0f} % [{100 * found.low:.0f}, {100 * found.high:.0f}]"


def _pages(shares: Shares) -> list[str]:
    from wifair.markdown import table

    parts = [
        f"# Schemes in {len(shares.settings)} scenarios",
        "\n".join(f"- {sentence}" for sentence in shares.answer()),
        f"*{shares.sure()} `{shares.contest.command}` makes these numbers.*",
        "## In how many scenarios",
    ]
    rows = [
        (
            f"`{share.scheme}`",
            percent(share.interval(Standing.BETTER)),
            percent(share.interval(*COSTLY)),
            *(f"{share.counts[standing]}" for standing in WORDS),
            f"{share.refused}",
        )
        for share in shares.schemes
    ]
    headings = ("scheme", "better, share", "worse, a trade or not recommended, share", *WORDS.values(), "cannot run")
    parts.append(table(headings, rows))
    for share in shares.schemes:
        parts.append(f"## `{share.scheme}` instead of `{REFERENCE}`")
        kinds = [(kind, shares.of(share.scheme, kind)) for kind in shares.kinds]
        parts.append(
            table(
                ("kind", *WORDS.values()),
                [(kind, *(f"{mine.counts[standing]}" for standing in WORDS)) for kind, mine in kinds],
            )
        )
        gains = shares.gains(share.scheme)
        parts.append("Gain in units of the smallest difference that matters:")
        parts.append(
            table(
                ("by", "scenarios", "median gain", "better in", "worse in"),
                [(g.title, f"{len(g.gains)}", f"{g.median:+.2f}", f"{g.better}", f"{g.worse}") for g in gains],
            )
        )
        if contrasts := shares.contrasts(share.scheme):
            parts.append(
                "What the scenarios have in common in which it is worse, a trade or not recommended, against those in which it costs nothing. "
                "*Above*: the probability that the property is larger in one of the former than in one of the latter."
            )
            parts.append(
                table(
                    ("property", "median where it costs", "median elsewhere", "above", "p (Holm)"),
                    [(c.name, short(c.costly), short(c.harmless), f"{c.above:.2f}", f"{c.p:.2g}") for c in contrasts],
                )
            )
    parts.append("## Every scenario")
    names = [share.scheme for share in shares.schemes]
    stands = {name: shares.standings(name) for name in names}
    parts.append(
        table(
            ("scenario", *(f"`{name}`" for name in names)),
            [
                (j.setting.staged.id, *(_word(stands[name].get(j.setting.staged.id)) for name in names))
                for j in shares.settings
            ],
        )
    )
    if refused := {name: reason for j in shares.settings for name, reason in j.setting.refused.items()}:
        parts.append(f"Cannot run in some scenarios: {listed(sorted(refused))}.")
    return parts


def _word(standing: Standing | None) -> str:
    return "cannot run" if standing is None else standing.value


def _above(first: Any, second: Any) -> float:
    differences = np.asarray(first)[:, None] - np.asarray(second)[None, :]
    return float((differences > 0).mean() + (differences == 0).mean() / 2)


def _ends(found: Interval) -> dict[str, float | None]:
    return {"share": found.estimate, "ci_low": found.low, "ci_high": found.high}
