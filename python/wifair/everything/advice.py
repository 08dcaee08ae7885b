"""What to do in one setting: leave the reference, change it, or choose by what counts most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from wifair.everything.contenders import REFERENCE
from wifair.everything.contest import Judged
from wifair.everything.criteria import Criterion
from wifair.everything.findings import conclusion, listed, over_reference
from wifair.everything.verdict import Standing

# At most so many trade-offs are named.
MOST_TRADES = 3


class Advice(Enum):
    """What the rule says about the reference."""

    LEAVE = "leave it"
    CHANGE = "change it"
    CHOOSE = "a trade-off"


@dataclass(frozen=True)
class Trade:
    """A scheme against the reference in a setting: the criteria by which it is better and worse, the clearest first."""

    judged: Judged
    name: str

    @property
    def gains(self) -> list[Criterion]:
        """The criteria by which it is better."""
        return self._by(Standing.BETTER, 1.0)

    @property
    def losses(self) -> list[Criterion]:
        """The criteria by which it is worse."""
        return self._by(Standing.WORSE, -1.0)

    def _by(self, standing: Standing, sign: float) -> list[Criterion]:
        verdict = self.judged.verdict
        found = [c for c in verdict.judged if verdict.standing(self.name, REFERENCE, [c]) is standing]
        return sorted(found, key=lambda c: -sign * verdict.gap(self.name, REFERENCE, c))

    def told(self, criteria: Sequence[Criterion]) -> str:
        """Its effects by some criteria, in words."""
        return "; ".join(f"{c.title} {over_reference(self.judged, c, self.name)}" for c in criteria)


def better(judged: Judged) -> list[str]:
    """The schemes that are better than the reference by something and worse by nothing, the best compromise first."""
    verdict = judged.verdict
    found = [name for name in _others(judged) if verdict.standing(name, REFERENCE) is Standing.BETTER]
    return sorted(found, key=verdict.shortfall)


def trades(judged: Judged) -> list[Trade]:
    """For each criterion by which the reference is not among the best, the leader, if it is better than the reference by that."""
    verdict = judged.verdict
    found: dict[str, Trade] = {}
    for criterion in verdict.judged:
        leader = next(iter(verdict.best(criterion)), REFERENCE)
        if leader != REFERENCE and verdict.standing(leader, REFERENCE, [criterion]) is Standing.BETTER:
            found.setdefault(leader, Trade(judged, leader))
    return list(found.values())


def advice(judged: Judged) -> Advice:
    """What the rule says about the reference."""
    if REFERENCE in judged.verdict.winners:
        return Advice.LEAVE
    if better(judged) or REFERENCE in judged.verdict.out:
        return Advice.CHANGE
    return Advice.CHOOSE if trades(judged) else Advice.LEAVE


def told(judged: Judged) -> list[str]:
    """The advice in sentences, the conclusion first."""
    verdict = judged.verdict
    if REFERENCE not in verdict.contenders or not verdict.judged or not verdict.valued or not _others(judged):
        return [conclusion(judged)]
    found = advice(judged)
    if found is Advice.LEAVE:
        sentences = [f"Leave `{REFERENCE}`: no scheme is shown to be better by any criterion."]
        if REFERENCE in verdict.winners:
            sentences[0] = f"Leave `{REFERENCE}`: no scheme is better by any criterion by more than matters."
    elif found is Advice.CHANGE:
        sentences = _change(judged)
    else:
        sentences = [
            f"Leave `{REFERENCE}`, unless one thing counts most. No other scheme is shown to be better by something and worse by nothing."
        ]
        sentences += [_traded(trade) for trade in trades(judged)[:MOST_TRADES]]
    if verdict.out:
        sentences.append(f"Not to be recommended, because transfers do not end: {listed(sorted(verdict.out))}.")
    if judged.undecided:
        sentences.append(
            f"Undecided against `{REFERENCE}`: {listed(judged.undecided)}. More replications would decide."
        )
    return sentences


def _change(judged: Judged) -> list[str]:
    names = better(judged)
    if not names:
        return [f"Change `{REFERENCE}`, under which transfers do not end. {conclusion(judged)}"]
    first, *others = names
    trade = Trade(judged, first)
    sentences = [
        f"Change to `{first}`: it is better than `{REFERENCE}` by {trade.told(trade.gains)}, and worse by nothing that matters."
    ]
    return sentences + ([f"Also better, and worse by nothing: {listed(others)}."] if others else [])


def _traded(trade: Trade) -> str:
    costs = trade.told(trade.losses[:2])
    return f"`{trade.name}` gains {trade.told(trade.gains[:2])}. " + (
        f"It costs {costs}." if costs else "Its cost is undecided."
    )


def _others(judged: Judged) -> list[str]:
    return [name for name in judged.verdict.contenders if name != REFERENCE]
