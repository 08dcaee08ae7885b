"""Claims: published statements held against what was measured, with the rules that give the verdict.

A claim's evidence is a list of points, one for each comparison or value that the statement covers; a point has one
value a replication. Two kinds of statement exist.

*Relation* ("A is above B"): a point's value is a margin, positive where the statement holds, paired by seed. Holm's
correction covers all points of a claim.

- reproduced: every margin is positive and clear of zero;
- not reproduced: some margin is clearly negative, and the mean over the points is not clearly positive;
- trend only: some margin is clearly negative, but the mean over the points is clearly positive;
- undetermined: no margin is clearly negative, and some are not clear of zero.

A point at which the two sides are identical in every replication decides nothing and is named; if all are, the
relation does not hold. `measured` is the smallest margin, with its unadjusted 95 % interval.

*Number* ("A is x", "A and B are almost the same"): a point's value is held against `target` ± `tolerance`.

- reproduced: every interval lies within the tolerance;
- not reproduced: some interval lies wholly outside;
- undetermined: otherwise.

There is no trend of a number: points that err on both sides have a mean that says nothing.

`measured` is the value farthest from the target.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from wifair.stats import Interval, holm, p_value, t_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ALPHA = 0.05
Data = TypeVar("Data")


class Verdict(StrEnum):
    """How a claim came out."""

    REPRODUCED = "reproduced"
    TREND_ONLY = "trend only"
    NOT_REPRODUCED = "not reproduced"
    UNDETERMINED = "undetermined"
    CALIBRATED = "calibrated"


@dataclass(frozen=True)
class Point:
    """One comparison or value that a statement covers; `values` has one entry a replication (NaN: none there)."""

    label: str
    values: ArrayLike


@dataclass(frozen=True)
class Relation:
    """Margins, positive where the statement holds."""

    points: Sequence[Point]


@dataclass(frozen=True)
class Number:
    """Values to be held against `target` ± `tolerance`, absolute. `fitted`: the scenario was fitted to this number."""

    points: Sequence[Point]
    target: float
    tolerance: float
    fitted: bool = False


Evidence = Relation | Number


@dataclass(frozen=True)
class Claim(Generic[Data]):
    """A sentence (or table cell) of a paper that states a result, and how it is tested.

    `statement` is the paper's own line; `reading` says what is compared, where and by which tolerance; `published` is
    the number that the text prints, if it prints one.
    """

    id: str
    section: str
    figure: str | None
    statement: str
    reading: str
    unit: str
    evidence: Callable[[Data], Evidence]
    published: float | None = None


@dataclass(frozen=True)
class Judgement:
    """A claim with its verdict, as it goes out."""

    id: str
    section: str
    figure: str | None
    statement: str
    reading: str
    unit: str
    published: float | None
    measured: float | None
    ci_low: float | None
    ci_high: float | None
    verdict: Verdict
    why: str

    def to_dict(self) -> dict[str, Any]:
        """The judgement as JSON takes it."""
        return {**asdict(self), "verdict": self.verdict.value}

    def _repr_html_(self) -> str:
        from wifair.report.notebook import judgement

        return judgement(self)


def judge(claim: Claim[Data], data: Data) -> Judgement:
    """The verdict on a claim."""
    evidence = claim.evidence(data)
    if isinstance(evidence, Relation):
        verdict, deciding, why = judge_relation(evidence)
    else:
        verdict, deciding, why = judge_number(evidence)
    measured = deciding.estimate if deciding is not None and np.isfinite(deciding.estimate) else None
    return Judgement(
        id=claim.id,
        section=claim.section,
        figure=claim.figure,
        statement=claim.statement,
        reading=claim.reading,
        unit=claim.unit,
        published=claim.published,
        measured=measured,
        ci_low=deciding.low if deciding else None,
        ci_high=deciding.high if deciding else None,
        verdict=verdict,
        why=why,
    )


def judge_relation(evidence: Relation) -> tuple[Verdict, Interval | None, str]:
    """Verdict, the smallest margin, and the reason."""
    measured = [(point, t_interval(point.values)) for point in evidence.points]
    identical = [point.label for point, found in measured if found.identical and found.estimate == 0.0]
    told = [(point, found) for point, found in measured if point.label not in identical]
    aside = f"; identical, so deciding nothing: {_some(identical)}" if identical else ""
    if not told:
        zero = measured[0][1] if measured else None
        return Verdict.NOT_REPRODUCED, zero, "both sides are identical in every replication"
    adjusted = holm([p_value(point.values) for point, _ in told])
    clear = [p < ALPHA for p in adjusted]
    against = [point.label for (point, found), sure in zip(told, clear, strict=True) if sure and found.estimate < 0]
    open_points = [point.label for (point, _), sure in zip(told, clear, strict=True) if not sure]
    least_point, least = min(told, key=lambda item: _or_lowest(item[1].estimate))
    at = f"smallest margin at {least_point.label}"
    if against:
        if mean_is_positive([point for point, _ in told]):
            why = f"holds on the mean of {len(told)} points, clearly reversed at {_some(against)}{aside}"
            return Verdict.TREND_ONLY, least, why
        return Verdict.NOT_REPRODUCED, least, f"clearly reversed at {_some(against)} (of {len(told)}){aside}"
    if open_points:
        why = f"not clear of equality at {_some(open_points)} (of {len(told)}){aside}"
        return Verdict.UNDETERMINED, least, why
    worst = max(adjusted)
    correction = f" after Holm over {len(told)}" if len(told) > 1 else ""
    return Verdict.REPRODUCED, least, f"{at}, p = {worst:.2g}{correction}{aside}"


def mean_is_positive(points: Sequence[Point]) -> bool:
    """Whether the mean over the points is clearly positive: the trend."""
    found = t_interval(_mean_over(points))
    return found.low is not None and found.low > 0


def judge_number(evidence: Number) -> tuple[Verdict, Interval | None, str]:
    """Verdict, the value farthest from the target, and the reason."""
    low, high = evidence.target - evidence.tolerance, evidence.target + evidence.tolerance
    band = f"{low:.4g} to {high:.4g}"
    measured = [(point, t_interval(point.values)) for point in evidence.points]
    if not measured:
        return Verdict.UNDETERMINED, None, "nothing was measured"
    far_point, far = max(measured, key=lambda item: _or_highest(abs(item[1].estimate - evidence.target)))
    at = f"farthest at {far_point.label}" if len(measured) > 1 else far_point.label
    if evidence.fitted:
        return Verdict.CALIBRATED, far, f"the scenario was fitted to this number; {at}"
    outside = [point.label for point, found in measured if _apart(found, low, high)]
    if all(_within(found, low, high) for _, found in measured):
        return Verdict.REPRODUCED, far, f"within {band}; {at}"
    if outside:
        return Verdict.NOT_REPRODUCED, far, f"outside {band}: {_some(outside)} (of {len(measured)})"
    return Verdict.UNDETERMINED, far, f"the interval straddles {band}; {at}"


def _mean_over(points: Sequence[Point]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The mean over the points, replication by replication."""
    columns = [np.asarray(point.values, dtype=np.float64) for point in points]
    shortest = min(column.size for column in columns)
    stacked = np.stack([column[:shortest] for column in columns])
    mean: np.ndarray[Any, np.dtype[np.float64]] = np.mean(stacked, axis=0)
    return mean


def _within(found: Interval, low: float, high: float) -> bool:
    return found.low is not None and found.high is not None and low <= found.low and found.high <= high


def _apart(found: Interval, low: float, high: float) -> bool:
    return found.low is not None and found.high is not None and (found.high < low or found.low > high)


def _or_lowest(value: float) -> float:
    return value if np.isfinite(value) else -np.inf


def _or_highest(value: float) -> float:
    return value if np.isfinite(value) else np.inf


def _some(labels: Sequence[str], most: int = 3) -> str:
    """The first few labels, and how many more there are."""
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more
