"""What the settings say, for readers who know neither the rule nor the schemes: sentences for the README, a screen for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from wifair.everything.advice import Advice, Trade, advice, better, told
from wifair.everything.contenders import PLAIN, REFERENCE
from wifair.everything.contest import Judged, undecided_share
from wifair.everything.criteria import Kind
from wifair.everything.findings import Example, Overview, listed, median
from wifair.everything.senders import PAPERS, TODAYS_ON_AX
from wifair.everything.verdict import Standing
from wifair.markdown import table

# What each kind of criterion is to a user.
COUNTS: Mapping[Kind, str] = {
    "fairness": "equal shares",
    "throughput": "the sum of all throughput",
    "delay": "short delays",
    "completion": "short waits for pages and files",
}
# A scheme is named for a kind of criterion from this share of the settings on: those in which it is better, less those in which
# it is worse.
OFTEN = 0.2
# The setting of the question with which the README begins.
CAFE = "cafe"
# The hardware without a queue below the scheme.
IDEAL = "ideal"


def findings(overview: Overview) -> list[str]:
    """The findings, the conclusion first. Of one setting they are its advice."""
    if len(overview.settings) == 1 and overview.settings[0].setting.own in overview.contenders:
        return told(overview.settings[0])
    if REFERENCE not in overview.contenders:
        return [f"`{REFERENCE}` is not among the schemes, so nothing is said of what Linux has."]
    found = [_leads(overview), _leave(overview), *_cafe(overview), _counts_most(overview), _papers(overview)]
    return [text for text in found if text]


def screen(overview: Overview) -> str:
    """What to leave, what to change for which traffic, and how sure that is."""
    if REFERENCE not in overview.contenders:
        return findings(overview)[0]
    if len(overview.settings) == 1:
        return f"{' '.join(told(overview.settings[0]))}\n\n**How sure.** {sure(overview)}"
    todays = of_today(overview)
    change = [judged for judged in todays if better(judged)]
    parts = [
        *([leads] if (leads := _leads(overview)) else []),
        "**For whom.** You choose how an access point queues what it sends: you build or configure its firmware, or develop a queue for it. "
        "The hosts are not yours to choose, so this part is about the settings with the senders of today.",
        f"**What to leave.** {_leave(overview)}",
    ]
    if change:
        parts += [
            "**What to change.** Here another scheme is better and worse by nothing that matters:",
            _changes(change),
        ]
    if rows := _rows(todays):
        headings = ("what counts most", "scheme", f"better than `{REFERENCE}`", "typical gain", "typical cost")
        parts += [
            f"**For which traffic.** If one thing counts most, take the scheme that is better than `{REFERENCE}` by it in the most settings, net of "
            "those in which it is worse. This is its price:",
            table(headings, rows),
        ]
    parts.append(f"**How sure.** {sure(overview)}")
    return "\n\n".join(parts)


def of_today(overview: Overview) -> list[Judged]:
    """The settings with today's senders that have the reference."""
    there = [judged for judged in overview.settings if REFERENCE in judged.verdict.contenders]
    return [judged for judged in there if judged.setting.senders.id != PAPERS.id]


def sure(overview: Overview) -> str:
    """What the statements rest on."""
    stands = Counter(
        judged.verdict.standing(name, REFERENCE)
        for judged in overview.settings
        if REFERENCE in judged.verdict.contenders
        for name in judged.verdict.contenders
        if name != REFERENCE
    )
    return (
        f"Each scheme ran in each setting with the same random numbers, {overview.replications} times. In a setting, the rule misses a scheme "
        f"that belongs to the best with a probability of at most 5 %. Of {stands.total()} comparisons of a scheme with `{REFERENCE}`, "
        f"{stands[Standing.OPEN]} ({100 * undecided_share(overview.settings):.0f} %) are undecided and {stands[Standing.THRESHOLD]} are on the threshold "
        f"of what matters. {below(overview)} These are simulations of one cell without neighbours or hidden stations, not measurements; "
        "[scope](scope.md) lists what the model leaves out."
    )


def below(overview: Overview) -> str:
    """What lies below the scheme, and what that does to the answer."""
    counts = Counter(judged.setting.hardware for judged in overview.settings)
    if counts.keys() == {IDEAL}:
        return (
            f'The access points have no queue below the scheme (`ap.hardware = "{IDEAL}"`). Where a driver or a firmware has one, a scheme '
            "can gain much less ([below the scheme](modern-ap.md#below-the-scheme))."
        )
    if len(counts) == 1:
        return f"The setting of `ap.hardware`, what lies below the scheme, is {listed(counts, ' or ')}."
    told = " and ".join(f"`{name}` in {count}" for name, count in counts.most_common())
    return f"What lies [below the scheme](modern-ap.md#below-the-scheme), `ap.hardware`, is {told} settings; with `{IDEAL}` nothing does."


def _leads(overview: Overview) -> str:
    """The scheme that is better than the reference in the most settings, net of those in which it is worse by something; none if that is seldom."""
    rivals = [record for record in overview.records if record.name != REFERENCE]
    first = max(rivals, key=lambda record: record.net, default=None)
    if first is None or first.net < OFTEN * first.ran:
        return ""
    own = overview.record(REFERENCE)
    rest = first.ran - sum(
        first.standings[standing]
        for standing in (Standing.BETTER, Standing.EQUAL, Standing.TRADE, Standing.WORSE, Standing.UNFINISHED)
    )
    unfinished = first.standings[Standing.UNFINISHED]
    return (
        f"**`{first.name}` is better than `{REFERENCE}` in {first.standings[Standing.BETTER]} of {first.ran} settings** and worse by nothing "
        f"there. In {first.standings[Standing.EQUAL]} no difference matters, in {first.standings[Standing.TRADE]} it is better by one criterion "
        f"and worse by another, in {first.standings[Standing.WORSE]} only worse; {rest} are undecided or on the threshold of what matters."
        f"{f' In {unfinished} it is not recommended, since transfers do not end.' if unfinished else ''} In what it is worst at, it is behind "
        f"the best scheme for that by {first.shortfall:.1f} times what matters in the median setting, `{REFERENCE}` by "
        f"{own.shortfall:.1f}."
    )


def _leave(overview: Overview) -> str:
    todays = of_today(overview) or list(overview.settings)
    changed = sum(advice(judged) is Advice.CHANGE for judged in todays)
    head = f"Leave `{REFERENCE}` as it is" if 2 * changed < len(todays) else f"`{REFERENCE}` can be improved on"
    said = (
        f"**{head}{', unless one thing counts most' if 2 * changed < len(todays) else ' in most settings'}.** `{REFERENCE}` is what "
        "access points with Linux do: a queue per flow, and equal airtime for the stations. "
        f"In {len(todays) - changed} of {len(todays)} settings with today's senders, no other scheme is shown to be better by something that "
        "matters without being worse by something else."
    )
    if PLAIN not in overview.contenders:
        return said
    stands = Counter({Standing(k): n for k, n in overview.record(REFERENCE, PLAIN).standings.items()})
    return said + (
        f" Over all {stands.total()} settings it is better than `{PLAIN}`, one queue that drops what does not fit, in {stands[Standing.BETTER]} "
        f"without being worse by anything; in {stands[Standing.TRADE]} it is better by one criterion and worse by another, in "
        f"{stands[Standing.WORSE]} only worse."
    )


def _cafe(overview: Overview) -> list[str]:
    """The answer to the README's question."""
    for judged in overview.settings:
        verdict = judged.verdict
        times = [criterion for criterion in verdict.judged if criterion.kind == "completion"]
        if judged.setting.staged.id == CAFE and times and REFERENCE in verdict.contenders:
            names = [name for name in (PLAIN, REFERENCE, *verdict.best(times[0])[:1]) if name in verdict.contenders]
            waits = ", ".join(
                f"{verdict.mean(name, times[0]).short()} s under `{name}`" for name in dict.fromkeys(names)
            )
            return [f"**In the café**, a page takes {waits}. {' '.join(told(judged)[:4])}"]
    return []


def _counts_most(overview: Overview) -> str:
    todays = of_today(overview)
    rows = _rows(todays)
    if not rows:
        return ""
    told = [
        f"for {counts}, {scheme} (better than `{REFERENCE}` in {wins} settings)" for counts, scheme, wins, *_ in rows
    ]
    there = Overview(todays).kinds
    none = [COUNTS[kind] for kind in there if COUNTS[kind] not in {row[0] for row in rows}]
    rest = (
        f" For {' and '.join(none)}, no scheme is better in many more settings than it is worse: leave `{REFERENCE}`."
        if none
        else ""
    )
    return f"**If one thing counts most**, take with today's senders {'; '.join(told)}. Each has its price.{rest}"


def _papers(overview: Overview) -> str:
    """How often the reference can be improved on, by senders."""
    found: dict[str, list[bool]] = {}
    for judged in overview.settings:
        if REFERENCE in judged.verdict.contenders:
            found.setdefault(judged.setting.senders.id, []).append(bool(better(judged)))
    if PAPERS.id not in found:
        return ""
    counts = {id: f"{sum(each)} of {len(each)}" for id, each in found.items()}
    said = (
        "**The cells of the papers** have 802.11b and g. With the senders that the papers have, some scheme is better than "
        f"`{REFERENCE}` and worse by nothing in {counts.pop(PAPERS.id)} settings."
    )
    if TODAYS_ON_AX.id in counts:
        said += f" With today's senders on 802.11ax it is {counts[TODAYS_ON_AX.id]}."
    return said


def _title(judged: Judged) -> str:
    """The scenario's title, which speaks of the paper's rates."""
    carried = judged.setting.senders.id == TODAYS_ON_AX.id
    return f"{judged.setting.staged.title}{', carried to 802.11ax' if carried else ''}"


def _changes(settings: Sequence[Judged]) -> str:
    rows = []
    for judged in settings:
        trade = Trade(judged, better(judged)[0])
        rows.append((f"`{judged.setting.id}`: {_title(judged)}", f"`{trade.name}`", trade.told(trade.gains)))
    return table(("setting", "change to", f"gain over `{REFERENCE}`"), rows)


def _rows(settings: Sequence[Judged]) -> list[tuple[str, str, str, str, str]]:
    """By kind of criterion: the scheme that is better than the reference by it most often, net of where it is worse; none if that is seldom."""
    overview = Overview(settings)
    names = [name for name in overview.contenders if name != REFERENCE]
    rows = []
    for kind in overview.kinds:
        wins = {name: _places(overview, name, REFERENCE, kind) for name in names}
        net = {name: len(wins[name]) - len(_places(overview, REFERENCE, name, kind)) for name in names}
        first = max(names, key=lambda name: (net[name], len(wins[name])), default="")
        of = sum(first in j.verdict.contenders and any(c.kind == kind for c in j.verdict.judged) for j in settings)
        if not first or net[first] < OFTEN * of:
            continue
        gains = [example for example in overview.examples(first, REFERENCE) if example.criterion.kind == kind]
        cost = _cost(overview.examples(REFERENCE, first), first)
        rows.append((COUNTS[kind], f"`{first}`", f"{len(wins[first])} of {of}", _typical(gains, first), cost))
    return rows


def _places(overview: Overview, name: str, other: str, kind: Kind) -> set[str]:
    """The settings in which one scheme is better than another by a criterion of that kind."""
    found = overview.examples(name, other)
    return {example.judged.setting.id for example in found if example.criterion.kind == kind}


def _typical(examples: Sequence[Example], name: str) -> str:
    return median(examples).told(name, REFERENCE)


def _cost(losses: Sequence[Example], name: str) -> str:
    if not losses:
        return "none shown"
    settings = len({example.judged.setting.id for example in losses})
    return f"{_typical(losses, name)}; worse by something in {settings}"
