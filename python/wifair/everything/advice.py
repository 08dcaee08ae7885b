"""Advice for one setting: keep the present scheme, change it, or choose by the quantity that counts most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from wifair.everything.contenders import REFERENCE
from wifair.everything.contest import Judged
from wifair.everything.criteria import Criterion
from wifair.everything.findings import conclusion, listed, over_reference
from wifair.everything.verdict import Standing

# At most so many trade-offs, and so many undecided schemes, are listed one by one.
MOST_TRADES = 3
MOST_UNDECIDED = 3


class Advice(Enum):
    """What the rule says about the reference."""

    LEAVE = "leave it"
    CHANGE = "change it"
    CHOOSE = "a trade-off"


@dataclass(frozen=True)
class Trade:
    """A scheme in place of another in a setting: the criteria by which it is better and worse, the clearest first."""

    judged: Judged
    name: str
    base: str = REFERENCE

    @property
    def gains(self) -> list[Criterion]:
        """The criteria by which it is better."""
        return self._by(Standing.BETTER, 1.0)

    @property
    def losses(self) -> list[Criterion]:
        """The criteria by which it is worse."""
        return self._by(Standing.WORSE, -1.0)

    @property
    def may_gain(self) -> list[Criterion]:
        """The criteria by which it is open whether it is better."""
        return self._open(self.name, self.base)

    @property
    def may_lose(self) -> list[Criterion]:
        """The criteria by which it is open whether it is worse."""
        return self._open(self.base, self.name)

    def _by(self, standing: Standing, sign: float) -> list[Criterion]:
        verdict = self.judged.verdict
        found = [c for c in verdict.judged if verdict.standing(self.name, self.base, [c]) is standing]
        return sorted(found, key=lambda c: -sign * verdict.gap(self.name, self.base, c))

    def _open(self, better: str, worse: str) -> list[Criterion]:
        verdict = self.judged.verdict
        i, j = verdict.contenders.index(better), verdict.contenders.index(worse)
        return [c for c in verdict.judged if verdict.orders[c.id].may_be_better(i, j)]

    def told(self, criteria: Sequence[Criterion]) -> str:
        """Its effects by some criteria, in words."""
        return "; ".join(f"{c.title} {over_reference(self.judged, c, self.name, self.base)}" for c in criteria)

    def costs(self) -> str:
        """What it costs, and what it may cost."""
        may = _titles(self.may_lose)
        if self.losses:
            return f"it costs {self.told(self.losses)}" + (
                f"; whether it is also worse by {may} is open" if may else ""
            )
        return f"whether it is worse by {may} is open" if may else "it costs nothing that matters"

    def undecided(self) -> str:
        """What is shown of a scheme whose standing is open, and what is open."""
        for shown, word, other, left in (
            (self.losses, "worse", "better", self.may_gain),
            (self.gains, "better", "worse", self.may_lose),
        ):
            if shown:
                return f"{_counted(shown)} {word}, and whether it is {other} by {_titles(left)} is open"
        left = [c for c in self.judged.verdict.judged if c in self.may_gain or c in self.may_lose]
        return f"whether it differs by {_titles(left)} is open"


def better(judged: Judged, base: str = REFERENCE) -> list[str]:
    """The schemes that are better than another by something and worse by nothing, the best compromise first."""
    verdict = judged.verdict
    found = [name for name in _others(judged, base) if verdict.standing(name, base) is Standing.BETTER]
    return sorted(found, key=verdict.shortfall)


def trades(judged: Judged, base: str = REFERENCE) -> list[Trade]:
    """For each criterion by which a scheme is not among the best, the leader, if it is better than the scheme by that."""
    verdict = judged.verdict
    found: dict[str, Trade] = {}
    for criterion in verdict.judged:
        leader = next(iter(verdict.best(criterion)), base)
        if leader != base and verdict.standing(leader, base, [criterion]) is Standing.BETTER:
            found.setdefault(leader, Trade(judged, leader, base))
    return list(found.values())


def advice(judged: Judged) -> Advice:
    """What the rule says about the reference."""
    if REFERENCE in judged.verdict.winners:
        return Advice.LEAVE
    if better(judged) or REFERENCE in judged.verdict.out:
        return Advice.CHANGE
    return Advice.CHOOSE if trades(judged) else Advice.LEAVE


def recommended(judged: Judged) -> str:
    """The scheme to use: what is better than the reference and worse by nothing, or else the reference.

    Without a reference it is the best compromise. Where neither that nor another scheme is worth the change, it is the setting's own.
    """
    verdict, own = judged.verdict, judged.setting.own
    usual = [*better(judged)[:1], REFERENCE] if REFERENCE in verdict.contenders else []
    candidates = [name for name in usual if name not in verdict.out] or [*better(judged, own), *verdict.nearest]
    for name in (*candidates[:1], *better(judged, own)):
        if name == own or _worth(Trade(judged, name, own)):
            return name
    return own


def _worth(trade: Trade) -> bool:
    """Whether to change: to a scheme that is better by something, and worse by nothing or the better compromise."""
    verdict = trade.judged.verdict
    if trade.base in verdict.out or verdict.standing(trade.name, trade.base) is Standing.BETTER:
        return True
    return bool(trade.gains) and verdict.shortfall(trade.name) < verdict.shortfall(trade.base)


def told(judged: Judged) -> list[str]:
    """The advice in sentences, the conclusion first."""
    verdict, own = judged.verdict, judged.setting.own
    if own not in verdict.contenders or not verdict.judged or not verdict.valued or not _others(judged, own):
        return [conclusion(judged)]
    chosen = recommended(judged)
    if chosen in verdict.out:
        return [f"`{own}` is not to be recommended, because transfers do not end. {conclusion(judged)}"]
    offered = trades(judged, chosen)
    sentences = [_leave(judged, bool(offered)) if chosen == own else _change(Trade(judged, chosen, own))]
    if own != chosen and not offered:
        sentences.append(f"No other scheme is shown to be better than `{chosen}` by any criterion.")
    if verdict.nearest and verdict.nearest[0] != chosen:
        sentences.append(_nearest(Trade(judged, verdict.nearest[0], chosen)))
    sentences += [_traded(trade) for trade in offered[:MOST_TRADES]]
    if more := [trade.name for trade in offered[MOST_TRADES:]]:
        sentences.append(f"Also better than `{chosen}` by something, see the report: {listed(more)}.")
    if verdict.out:
        sentences.append(f"Not to be recommended, because transfers do not end: {listed(sorted(verdict.out))}.")
    return sentences + _undecided(judged, chosen)


def _leave(judged: Judged, offered: bool) -> str:
    own = judged.setting.own
    if own in judged.verdict.winners:
        return f"Leave `{own}`: no scheme is better by any criterion by more than matters."
    if not offered:
        return f"Leave `{own}`: no scheme is shown to be better by any criterion."
    return f"Leave `{own}`, unless one thing counts most. No other scheme is shown to be better by something and worse by nothing."


def _change(trade: Trade) -> str:
    ends = ", under which transfers do not end," if trade.base in trade.judged.verdict.out else ""
    effects = [*([trade.told(trade.gains)] if trade.gains else []), trade.costs()]
    return f"Change from `{trade.base}`{ends} to `{trade.name}`: {'; '.join(effects)}."


def _nearest(trade: Trade) -> str:
    """Why the best compromise is not the recommended scheme."""
    if trade.losses:
        reason = f"it is worse than `{trade.base}` by {_titles(trade.losses)}"
    elif trade.may_lose:
        reason = f"whether it is worse than `{trade.base}` by {_titles(trade.may_lose)} is open"
    else:
        reason = f"it is not shown to be better than `{REFERENCE}` by something and worse by nothing"
    return (
        f"`{trade.name}`, the best compromise (it is least behind the best in what it is worst at), is not recommended, "
        f"because {reason}."
    )


def _traded(trade: Trade) -> str:
    return f"`{trade.name}` instead of `{trade.base}`: {trade.told(trade.gains)}; {trade.costs()}."


def _undecided(judged: Judged, chosen: str) -> list[str]:
    """What is shown and what is open of the undecided schemes. The change from one's own scheme is described elsewhere."""
    verdict = judged.verdict
    names = [
        name
        for name in _others(judged, chosen)
        if name != judged.setting.own and verdict.standing(name, chosen) is Standing.OPEN
    ]
    first, more = names[:MOST_UNDECIDED], names[MOST_UNDECIDED:]
    sentences = [f"`{name}` against `{chosen}`: {Trade(judged, name, chosen).undecided()}." for name in first]
    if more:
        sentences.append(f"Also undecided against `{chosen}`, see the report: {listed(more)}.")
    return sentences + (["More replications would decide what is open."] if names else [])


def _counted(criteria: Sequence[Criterion]) -> str:
    return f"by {len(criteria)} criteria it is" if len(criteria) > 1 else f"by {criteria[0].title} it is"


def _titles(criteria: Sequence[Criterion]) -> str:
    *others, last = [c.title for c in criteria] or [""]
    return f"{'; '.join(others)} and {last}" if others else last


def _others(judged: Judged, base: str) -> list[str]:
    return [name for name in judged.verdict.contenders if name != base]
