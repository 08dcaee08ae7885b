"""The study's figure and tables: the standings against `mac80211` by part and by variant, and what each network of a population gains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from wifair import plots
from wifair.analysis.sweep import label
from wifair.everything.contenders import REFERENCE
from wifair.everything.contest import Judged
from wifair.everything.shares import WORDS
from wifair.everything.verdict import Standing, Verdict
from wifair.markdown import table
from wifair.shipping.access import ACCESSES, CONTROLLED, name
from wifair.shipping.claims import COSTS, FINAL, LOOKED_AT, POPULATIONS, median_gains, standings
from wifair.shipping.counts import Outcomes
from wifair.shipping.parts import (
    ACCESS,
    AS_THEY_ARE,
    FACTORS,
    HARDWARE,
    HOSTS,
    INGREDIENTS,
    PARAMETERS,
    SCHEME,
    scaled,
    without,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONDITIONS = tuple(condition.id for condition in (*HARDWARE, *HOSTS))
# The parts that each figure shows.
PARTS: Mapping[str, Sequence[str]] = {
    "settings": (AS_THEY_ARE.id,),
    "conditions": CONDITIONS,
    "access": (ACCESS.id,),
    LOOKED_AT: (LOOKED_AT,),
    FINAL: (FINAL,),
}
FIGURES = tuple(PARTS)
# Share of a bar below which a part has no room for its count.
NARROWEST_NAMED = 0.03
# What meets `mac80211` in populations.
IN_POPULATIONS = (SCHEME, name(REFERENCE, CONTROLLED), name(SCHEME, CONTROLLED))
# Fill and hatch of a bar's part: what it gains is dark, what it costs is hatched.
FILLS: Mapping[Standing, tuple[str, str]] = {
    Standing.BETTER: ("#0072B2", ""),
    Standing.EQUAL: ("#d9d9d9", ""),
    Standing.THRESHOLD: ("#f0f0f0", ""),
    Standing.OPEN: ("#ffffff", ""),
    Standing.TRADE: ("#E69F00", "//"),
    Standing.WORSE: ("#D55E00", "xx"),
    Standing.UNFINISHED: ("#000000", ""),
}


def rows(outcomes: Outcomes, figure: str) -> list[tuple[str, list[Standing]]]:
    """A row per variant or part that ran, with the standings against `mac80211`."""
    if figure == "settings":
        part = AS_THEY_ARE.id
        found = [(f"`{SCHEME}`", standings(part, SCHEME, outcomes))]
        found += [(f"without {name}", standings(part, label(without(name)), outcomes)) for name in INGREDIENTS]
        found += [
            (f"{factor} `{parameter}`", standings(part, label(scaled(parameter, factor)), outcomes))
            for parameter in PARAMETERS
            for factor in FACTORS
        ]
    elif figure == "conditions":
        titles = {condition.id: condition.title for condition in (*HARDWARE, *HOSTS)}
        found = [(titles[part], standings(part, SCHEME, outcomes)) for part in CONDITIONS]
    elif figure == "access":
        names = [SCHEME, *(name(scheme, access) for access in ACCESSES for scheme in (REFERENCE, SCHEME))]
        found = [(each, standings(ACCESS.id, each, outcomes)) for each in names]
    else:
        found = [(each, standings(figure, each, outcomes)) for each in IN_POPULATIONS]
    return [(told, each) for told, each in found if each]


def _bars(outcomes: Outcomes, figure: str) -> Figure:
    """A bar per row, divided by standing."""
    from matplotlib.patches import Patch

    found = rows(outcomes, figure)
    made, [axes] = plots.figure(width=7.0, height=1.6 + 0.3 * len(found))
    for row, (_, each) in enumerate(found):
        left = 0
        for standing, (fill, hatch) in FILLS.items():
            count = each.count(standing)
            if count:
                axes.barh(row, count, left=left, color=fill, hatch=hatch, edgecolor="#555555", linewidth=0.6)
            if count >= NARROWEST_NAMED * len(each):
                dark = standing in (Standing.BETTER, Standing.UNFINISHED)
                colour = "#ffffff" if dark else "#000000"
                axes.text(left + count / 2, row, f"{count}", ha="center", va="center", fontsize="small", color=colour)
            left += count
    axes.set_yticks(range(len(found)), [name.replace("`", "") for name, _ in found])
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.set_xlabel(f"{'networks' if figure in POPULATIONS else 'settings'}, by standing against {REFERENCE}")
    axes.tick_params(labelsize="small")
    there = [standing for standing in FILLS if any(standing in each for _, each in found)]
    patches = [
        Patch(facecolor=FILLS[s][0], hatch=FILLS[s][1], edgecolor="#555555", label=WORDS[s].split(",")[0])
        for s in there
    ]
    made.legend(handles=patches, loc="outside lower center", ncols=4, fontsize="small", frameon=False)
    return made


def _table(outcomes: Outcomes, figure: str) -> str:
    """The counts of the figure, and of populations the median gains."""
    headings = (f"against `{REFERENCE}`", *WORDS.values())
    counts = [(name, *(f"{each.count(standing)}" for standing in WORDS)) for name, each in rows(outcomes, figure)]
    text = table(headings, counts)
    if figure == "access":
        return f"{text}\n\n{_by_setting(outcomes)}\n"
    if figure not in POPULATIONS:
        return f"{text}\n"
    there = outcomes[figure]
    gains = {each: median_gains(there[each], each) for each in IN_POPULATIONS if each in there}
    ids = list(dict.fromkeys(id for each in gains.values() for id in each))
    lines = [(told, *(signed(each[id]) if id in each else "–" for id in ids)) for told, each in gains.items()]
    return f"{text}\n\nMedian gain in units of what matters:\n\n{table(('', *ids), lines)}\n{_costly(there[SCHEME])}"


def _costly(networks: Sequence[Judged]) -> str:
    """The networks in which the scheme costs something, with what is shown to be better and worse, in units of what matters."""
    lines = [
        (
            f"`{judged.setting.staged.id}`",
            *(_shown(judged.verdict, *each) for each in ((SCHEME, REFERENCE), (REFERENCE, SCHEME))),
        )
        for judged in networks
        if judged.verdict.standing(SCHEME, REFERENCE) in COSTS
    ]
    if not lines:
        return ""
    told = table(("network", "better by", "worse by"), lines)
    return f"\nWhere `{SCHEME}` costs something, in units of what matters:\n\n{told}\n"


def _shown(verdict: Verdict, better: str, worse: str) -> str:
    """By how much one scheme is better than another by each criterion by which it is shown to be, the largest first."""
    i, j = (verdict.contenders.index(each) for each in (better, worse))
    gaps = {c.id: verdict.gap(better, worse, c) for c in verdict.judged if verdict.orders[c.id].better[i, j]}
    return ", ".join(f"{id} {abs(gaps[id]):.1f}" for id in sorted(gaps, key=lambda id: -abs(gaps[id])))


def signed(units: float) -> str:
    """A gain or a loss in units of what matters."""
    return f"{units:+.1f}".replace("-", "−")


def _by_setting(outcomes: Outcomes) -> str:
    """By setting, the standing of the scheme and of each access with the largest gain and loss, in units of what matters."""
    names = [SCHEME, *(name(scheme, access) for access in ACCESSES for scheme in (REFERENCE, SCHEME))]
    found = outcomes[ACCESS.id]
    lines = [
        (
            f"`{own.setting.staged.id}/{own.setting.senders.id.partition(',')[0]}`",
            *(_told(found[each][row].verdict, each) for each in names),
        )
        for row, own in enumerate(found[SCHEME])
    ]
    return table(("setting", *(f"{each}" for each in names)), lines)


def _told(verdict: Verdict, scheme: str) -> str:
    """The standing against `mac80211`, the largest gain and the largest loss."""
    if not {scheme, REFERENCE} <= set(verdict.contenders):
        return "–"
    gaps = {criterion.id: verdict.gap(scheme, REFERENCE, criterion) for criterion in verdict.judged}
    best, worst = max(gaps, key=lambda id: gaps[id]), min(gaps, key=lambda id: gaps[id])
    parts = [f"{each} {signed(gaps[each])}" for each in dict.fromkeys((best, worst)) if abs(gaps[each]) >= 0.5]
    word = WORDS[verdict.standing(scheme, REFERENCE)].split(",")[0]
    return f"{word} ({', '.join(parts)})" if parts else word


def _ran(outcomes: Outcomes, figure: str | None) -> list[str]:
    """The figures that have something to show, or the one that is asked for."""
    return [name for name in FIGURES if figure in (None, name) and rows(outcomes, name)]


def drawn(outcomes: Outcomes, figure: str | None) -> Iterator[tuple[str, Figure]]:
    """The figures, one by one."""
    return ((name, _bars(outcomes, name)) for name in _ran(outcomes, figure))


def texts(outcomes: Outcomes, figure: str | None) -> dict[str, str]:
    """The same as Markdown, by name."""
    return {name: _table(outcomes, name) for name in _ran(outcomes, figure)}
