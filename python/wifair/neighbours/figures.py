"""The study's figures and tables: what to change first, what it does to the neighbours, what adoption does to the house, and the papers' findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wifair import plots
from wifair.everything.criteria import Criterion
from wifair.everything.shares import WORDS
from wifair.markdown import sentence, table
from wifair.neighbours.claims import ADOPTERS, BUSY_EVENING, NEGLIGIBLE, NEIGHBOURS, PAPERS, RANKING, effect, losers
from wifair.neighbours.findings import FINDINGS
from wifair.neighbours.houses import ALONE, AMONG, AS_IT_IS, BY_20_MHZ, CHANGE_IDS, ONE, PLANS, SHARES, THREE, TITLES
from wifair.neighbours.measured import (
    ADOPTION,
    BUSY,
    CRITERIA,
    DELAY,
    GOODPUT,
    HOUSES,
    ONE_HOUSE,
    Measured,
    Place,
    verdict,
)
from wifair.papers.claims import weigh_effect
from wifair.stats import Interval, Values, t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# A row of a figure: its name, and by series an interval.
Rows: TypeAlias = Sequence[tuple[str, Mapping[str, Interval]]]

# What a table shows in addition.
OF_SEEDS, OF_NEIGHBOURS = "seeds", "neighbours"
HEADS: Mapping[str, str] = {DELAY.id: "delay", GOODPUT.id: "goodput"}


def factor(gained: Values, criterion: Criterion) -> Interval:
    """What a gain in units of what matters is as a factor of the delay or goodput, with its interval."""
    sign = 1.0 if criterion.better == "more" else -1.0
    logs = t_interval(sign * criterion.margin * gained)
    ends = [None if end is None else float(np.exp(end)) for end in (logs.low, logs.high)]
    return Interval(float(np.exp(logs.estimate)), ends[0], ends[1], logs.n, logs.identical)


def told(found: Interval) -> str:
    """A factor with its interval."""
    if not found.n or not np.isfinite(found.estimate):
        return "–"
    ends = "" if found.low is None or found.high is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.estimate:.2f}{ends}"


def _of(m: Measured, part: str, plan: str, change: str, criterion: Criterion) -> Interval:
    """The resident's factor by a change."""
    return factor(m.mine(Place(part, plan, change), Place(part, plan, AS_IT_IS.id), criterion), criterion)


def _ranked(m: Measured, part: str, plan: str) -> list[str]:
    """The changes by the resident's gain in delay, the largest first."""
    as_is = Place(part, plan, AS_IT_IS.id)
    there = [change for change in CHANGE_IDS if m.has(Place(part, plan, change))]
    gains = {change: m.mine(Place(part, plan, change), as_is, DELAY).mean() for change in there}
    return sorted(gains, key=lambda change: -gains[change])


def _absolute(m: Measured, part: str, plan: str) -> str:
    """The delay and goodput as it is."""
    at = Place(part, plan, AS_IT_IS.id)
    delay, goodput = (t_interval(m.values[at, criterion.id][:, 0]).short() for criterion in CRITERIA)
    return f"{TITLES[AS_IT_IS.id]}: {delay} ms and {goodput} Mbps"


def _rank(m: Measured, part: str, plan: str, beyond: Sequence[str] = ()) -> str:
    """A table with the changes in the order of the resident's gain in delay. `beyond` is what is shown more: of seeds, of neighbours."""
    ranked = _ranked(m, part, plan)
    judged = verdict(m.values, part, plan, (AS_IT_IS.id, *ranked))
    lines = []
    for change in ranked:
        as_is, place = Place(part, plan, AS_IT_IS.id), Place(part, plan, change)
        line = [TITLES[change], told(_of(m, part, plan, change, DELAY))]
        line += [told(_of(m, ONE_HOUSE, plan, change, DELAY))] if OF_SEEDS in beyond else []
        line += [told(_of(m, part, plan, change, GOODPUT)), WORDS[judged.standing(change, AS_IT_IS.id)]]
        if OF_NEIGHBOURS in beyond:
            line += [told(factor(m.others(place, as_is, criterion), criterion)) for criterion in CRITERIA]
        lines.append(line)
    headings = ["change", "delay ×", "goodput ×", "standing"]
    headings[2:2] = ["delay ×, first house"] if OF_SEEDS in beyond else []
    headings += ["neighbours' delay ×", "neighbours' goodput ×"] if OF_NEIGHBOURS in beyond else []
    return f"**{sentence(PLANS[plan])}** ({_absolute(m, part, plan)}):\n\n{table(headings, lines)}"


def ranking_text(m: Measured) -> str:
    """By plan of channels, the changes in the order of the resident's gain in delay."""
    plans = (ONE, BY_20_MHZ, THREE, ALONE)
    return "\n\n".join(_rank(m, HOUSES, plan, (OF_SEEDS,) if plan == ONE else ()) for plan in plans) + "\n"


def busy_text(m: Measured) -> str:
    """The same on a busy evening of the resident, with what the neighbours have of it."""
    return "\n\n".join(_rank(m, BUSY, plan, (OF_NEIGHBOURS,) if plan == ONE else ()) for plan in (ONE, ALONE)) + "\n"


def neighbours_text(m: Measured) -> str:
    """By change, what all neighbours together have of their delay and goodput, and what is shown of each in the first house."""
    parts = []
    for plan in (ONE, BY_20_MHZ, THREE):
        headings = ["change at one flat", "neighbours' delay ×", "neighbours' goodput ×"]
        as_is = Place(HOUSES, plan, AS_IT_IS.id)
        lines = []
        for change in [id for id in CHANGE_IDS if m.has(Place(HOUSES, plan, id))]:
            cells = [
                factor(m.others(Place(HOUSES, plan, change), as_is, criterion), criterion) for criterion in CRITERIA
            ]
            line = [TITLES[change], *(told(each) for each in cells)]
            if plan == ONE:
                count = losers(m, change)
                line.append(f"{count.found:g}, {count.total - count.found - count.open:g}, {count.open}")
            lines.append(line)
        if plan == ONE:
            headings.append("of the first house's: lose, do not lose, open")
        parts.append(f"**{sentence(PLANS[plan])}:**\n\n{table(headings, lines)}")
    return "\n\n".join(parts) + "\n"


def _by_share(m: Measured) -> dict[str, Callable[[int, Criterion], Values]]:
    """Those who adopt, those who do not, and all, by share of adopters: what they gain."""
    as_is = Place(HOUSES, ONE, AS_IT_IS.id)

    def at(percent: int) -> Place:
        return Place(ADOPTION, ONE, percent)

    return {
        "the resident": lambda percent, c: m.mine(at(percent), as_is, c),
        "adopters": lambda percent, c: m.among(at(percent), as_is, c, m.adopters[percent]),
        "the others": lambda percent, c: m.among(at(percent), as_is, c, ~m.adopters[percent]),
        "the whole house": lambda percent, c: m.house(at(percent), as_is, c),
    }


def _flats(m: Measured, percent: int) -> str:
    adopting = m.adopters[percent]
    return f"{adopting[0].sum()} of {adopting.shape[1]}"


def adoption_text(m: Measured) -> str:
    """By share of adopters, the factors of delay and goodput of those who adopt, of those who do not, and of all."""
    of = _by_share(m)
    parts = [f"The best scheme by the rule is: {TITLES[m.best]}."]
    for criterion in CRITERIA:
        lines = [
            (
                f"{percent} %",
                _flats(m, percent),
                *(told(factor(gained(percent, criterion), criterion)) for gained in of.values()),
            )
            for percent in SHARES
        ]
        headings = ("at least", "flats", *(f"{name}, {HEADS[criterion.id]} ×" for name in of))
        parts.append(table(headings, lines))
    return "\n\n".join(parts) + "\n"


def papers_text(m: Measured) -> str:
    """Each finding without neighbours and among them, with its verdict."""
    lines = []
    for finding in FINDINGS:
        found = effect(finding, m)
        there, here = (t_interval(point.values) for point in (found.there, found.here))
        verdict_here = weigh_effect(found).verdict.value
        lines.append((finding.title, finding.unit, told(there), told(here), verdict_here))
    return table(("finding", "size in", PLANS[ALONE], PLANS[ONE], "verdict"), lines) + "\n"


def _panel(axes: Axes, rows: Rows, series: Sequence[str], band: tuple[float, float] | None, line: float) -> None:
    """A row per name with an interval per series, a line where nothing changes, and a band of what does not matter."""
    if band:
        axes.axvspan(*band, color="#eeeeee", zorder=0)
    axes.axvline(line, color="#777777", linewidth=0.8, zorder=1)
    for place, name in enumerate(series):
        offset = min(0.22, 0.76 / len(series)) * (place - (len(series) - 1) / 2)
        points = [(row + offset, found[name]) for row, (_, found) in enumerate(rows) if name in found]
        means = [each.estimate for _, each in points]
        below = [0.0 if each.low is None else each.estimate - each.low for _, each in points]
        above = [0.0 if each.high is None else each.high - each.estimate for _, each in points]
        style = {**plots.STYLES[place], "linestyle": "none"}
        axes.errorbar(
            means, [at for at, _ in points], xerr=[below, above], label=name, capsize=2.5, markersize=4, **style
        )
    axes.set_yticks(range(len(rows)), [name.replace("`", "") for name, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.tick_params(labelsize="small")
    axes.grid(alpha=0.25, axis="x")


# Ticks of a ratio.
TICKS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
# Those that are left on a wide axis.
FEW_TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
# The ratio of the ends from which an axis is wide.
WIDE = 4.0


def _logarithmic(axes: Axes, name: str) -> None:
    """Makes one axis of ratios, "x" or "y", logarithmic, with ticks within its ends."""
    axes.set(**{f"{name}scale": "log"})
    axis, (low, high) = (axes.xaxis, axes.get_xlim()) if name == "x" else (axes.yaxis, axes.get_ylim())
    among = FEW_TICKS if high / low > WIDE else TICKS
    shown = [tick for tick in among if low <= tick <= high]
    axis.set_ticks(shown, [f"{tick:g}" for tick in shown])
    axis.set_ticks([], minor=True)


def _factors(
    title: str, changes: Sequence[str], series: Sequence[str], found: Callable[[str, str, Criterion], Interval | None]
) -> Figure:
    """A panel for the delay and one for the goodput; a row per change."""
    made, panels = plots.figure(2, width=4.6, height=1.4 + 0.42 * len(changes))
    for axes, criterion in zip(panels, CRITERIA, strict=True):
        rows = [
            (
                TITLES[change],
                {name: each for name in series if (each := found(change, name, criterion)) is not None},
            )
            for change in changes
        ]
        matters = np.exp(criterion.margin)
        _panel(axes, rows, series, (1 / matters, matters), 1.0)
        _logarithmic(axes, "x")
        axes.set_xlabel(f"{title}{HEADS[criterion.id]}, ratio to that before", fontsize="small")
    panels[1].set_yticklabels([])
    plots.shared(made, panels, 2)
    return made


BY_NEIGHBOURS = "neighbours, all on one channel"
SEEDS = f"{PLANS[ONE]}, seeds of one house"


def ranking(m: Measured) -> Figure:
    """What the resident has of his delay and goodput after each change."""

    def found(change: str, series: str, criterion: Criterion) -> Interval | None:
        part, plan = (ONE_HOUSE, ONE) if series == SEEDS else (HOUSES, _plan(series))
        return _of(m, part, plan, change, criterion) if m.has(Place(part, plan, change)) else None

    series = (PLANS[ONE], SEEDS, PLANS[THREE], PLANS[ALONE], PLANS[BY_20_MHZ])
    return _factors("resident's ", CHANGE_IDS, series, found)


def busy(m: Measured) -> Figure:
    """What the resident, and his neighbours, have of their delay and goodput after each change on a busy evening of his."""

    def found(change: str, series: str, criterion: Criterion) -> Interval | None:
        if series == BY_NEIGHBOURS:
            place, as_is = Place(BUSY, ONE, change), Place(BUSY, ONE, AS_IT_IS.id)
            return factor(m.others(place, as_is, criterion), criterion)
        plan = _plan(series)
        return _of(m, BUSY, plan, change, criterion) if m.has(Place(BUSY, plan, change)) else None

    changes = [change for change in CHANGE_IDS if m.has(Place(BUSY, ONE, change))]
    return _factors("", changes, (PLANS[ONE], PLANS[ALONE], BY_NEIGHBOURS), found)


def _plan(title: str) -> str:
    return next(plan for plan, own in PLANS.items() if own == title)


def neighbours(m: Measured) -> Figure:
    """What the neighbours together have of their delay and goodput after each change of one."""

    def found(change: str, series: str, criterion: Criterion) -> Interval | None:
        plan = _plan(series)
        if not m.has(Place(HOUSES, plan, change)):
            return None
        gained = m.others(Place(HOUSES, plan, change), Place(HOUSES, plan, AS_IT_IS.id), criterion)
        return factor(gained, criterion)

    return _factors("neighbours' ", CHANGE_IDS, [PLANS[plan] for plan in (*AMONG, BY_20_MHZ)], found)


def adoption(m: Measured) -> Figure:
    """Delay and goodput by share of adopters, against none."""
    made, panels = plots.figure(2, width=4.2, height=3.4)
    of = _by_share(m)
    places = range(len(SHARES) + 1)
    for axes, criterion in zip(panels, CRITERIA, strict=True):
        matters = np.exp(criterion.margin)
        axes.axhspan(1 / matters, matters, color="#eeeeee", zorder=0)
        axes.axhline(1.0, color="#777777", linewidth=0.8)
        for number, (name, gained) in enumerate(of.items()):
            points = [
                (place + 1 + 0.09 * (number - 1.5), factor(values, criterion))
                for place, percent in enumerate(SHARES)
                if np.isfinite(values := gained(percent, criterion)).any()
            ]
            means = [each.estimate for _, each in points]
            below = [0.0 if each.low is None else each.estimate - each.low for _, each in points]
            above = [0.0 if each.high is None else each.high - each.estimate for _, each in points]
            axes.errorbar(
                [at for at, _ in points],
                means,
                yerr=[below, above],
                label=name,
                capsize=2.5,
                markersize=4,
                **plots.STYLES[number],
            )
        labels = ["none", *(f"{percent} %\n({_flats(m, percent).split()[0]})" for percent in SHARES)]
        axes.set_xticks(places, labels)
        axes.set_xlabel("flats that adopt it, at least (number)")
        _logarithmic(axes, "y")
        axes.set_ylabel(f"{HEADS[criterion.id]}, ratio to no adopter")
        axes.tick_params(labelsize="small")
        axes.grid(alpha=0.25)
    plots.shared(made, panels, 2)
    return made


def papers(m: Measured) -> Figure:
    """The papers' findings without neighbours and among them."""
    series = (PLANS[ALONE], PLANS[ONE])
    rows = []
    for finding in FINDINGS:
        found = effect(finding, m)
        intervals = (t_interval(point.values) for point in (found.there, found.here))
        rows.append((finding.title, dict(zip(series, intervals, strict=True))))
    made, [axes] = plots.figure(width=7.0, height=3.2)
    _panel(axes, rows, series, (-NEGLIGIBLE, NEGLIGIBLE), 0.0)
    axes.set_xlabel("size of the effect, at most 1 (grey: counts as none)")
    axes.legend(fontsize="small")
    return made


DRAWN: Mapping[str, Callable[[Measured], Figure]] = {
    RANKING: ranking,
    NEIGHBOURS: neighbours,
    BUSY_EVENING: busy,
    ADOPTERS: adoption,
    PAPERS: papers,
}
TEXTS: Mapping[str, Callable[[Measured], str]] = {
    RANKING: ranking_text,
    NEIGHBOURS: neighbours_text,
    BUSY_EVENING: busy_text,
    ADOPTERS: adoption_text,
    PAPERS: papers_text,
}
FIGURES = tuple(DRAWN)


def drawn(m: Measured, figure: str | None) -> Iterator[tuple[str, Figure]]:
    """The figures, one by one, or the one that is asked for."""
    return ((name, draw(m)) for name, draw in DRAWN.items() if figure in (None, name))


def texts(m: Measured, figure: str | None) -> dict[str, str]:
    """The same as Markdown, by name."""
    return {name: write(m) for name, write in TEXTS.items() if figure in (None, name)}
