"""Claims on a number of settings, and how they are judged.

An undecided setting may turn out either way. So "at least n" holds if n settings are shown, fails if n could not be reached with every
undecided one, and is undetermined otherwise; "at most n" accordingly. What is on the threshold of what matters counts as decided: the
difference is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

from wifair.everything.contest import Judged
from wifair.papers.claims import Judgement, Verdict

Data = TypeVar("Data")

# By part that ran and by scheme: the verdicts on the settings, of the scheme next to `mac80211`, and of a variant next to both.
Outcomes: TypeAlias = Mapping[str, Mapping[str, Sequence[Judged]]]


@dataclass(frozen=True)
class Count:
    """The number of settings `found`, and of those that are `open`, of `total`; `least` and `most` are the claim."""

    found: float
    open: int
    total: int
    least: float | None = None
    most: float | None = None

    @property
    def verdict(self) -> Verdict:
        """Holds or fails whatever the open settings are; undetermined otherwise, and if nothing ran."""
        if not self.total:
            return Verdict.UNDETERMINED
        shown, possible = self.found, self.found + self.open
        if self.least is not None:
            return _decided(shown >= self.least, possible < self.least)
        assert self.most is not None, "a claim has a bound"
        return _decided(possible <= self.most, shown > self.most)

    @property
    def why(self) -> str:
        """The count and the bound in words."""
        bound = f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"
        undecided = f", {self.open} undecided" if self.open else ""
        return f"{self.found:g} of {self.total}{undecided}; claimed: {bound}"


def _decided(holds: bool, fails: bool) -> Verdict:
    if holds:
        return Verdict.HOLDS
    return Verdict.FAILS if fails else Verdict.UNDETERMINED


@dataclass(frozen=True)
class CountClaim(Generic[Data]):
    """A claim on a number of settings, or of what else is judged, in one part of a study."""

    id: str
    part: str
    statement: str
    reading: str
    unit: str
    count: Callable[[Data], Count]

    def judge(self, outcomes: Data) -> Judgement:
        """The claim with its verdict."""
        found = self.count(outcomes)
        return Judgement(
            id=self.id,
            section=self.part,
            figure=None,
            statement=self.statement,
            reading=self.reading,
            unit=self.unit,
            published=found.least if found.least is not None else found.most,
            measured=found.found,
            ci_low=None,
            ci_high=None,
            verdict=found.verdict,
            why=found.why,
        )
