"""Claims: published statements, and the rules that compare them with measurements and give the verdict.

A claim's evidence is a list of points, one for each comparison or value that the statement covers; a point has one
value per replication. There are three kinds of evidence.

*Relation* ("A is above B"): a point's value is a margin, positive where the statement holds, paired by seed. Holm's
correction covers all points of a claim.

- reproduced: every margin is positive and clear of zero;
- not reproduced: some margin is clearly negative, and the mean over the points is not clearly positive;
- trend only: some margin is clearly negative, but the mean over the points is clearly positive;
- undetermined: no margin is clearly negative, and some are not clear of zero.

A point at which the two sides are identical in every replication is named and does not count; if all are, the relation
does not hold. `measured` is the smallest margin, with its unadjusted 95 % interval.

*Number* ("A is x", "A and B are almost the same"): a point's value is compared with `target` ± `tolerance`.

- reproduced: every interval lies within the tolerance;
- not reproduced: some interval lies wholly outside;
- undetermined: otherwise.

A number has no "trend only": the mean of points that err on both sides is meaningless.

`measured` is the value farthest from the target.

*Effect* ("A does x here, as it does there"): the two points are the sizes of an effect here and in the original
setting. A size up to `negligible` counts as none.

- reversed: the effect is clearly negative by more than `negligible`;
- nothing to cure: otherwise, clearly at most `negligible`, and what there is to cure, if it was measured, is so too;
- gone: otherwise, clearly at most `negligible`;
- survives: clearly more than `negligible`, and clearly more than half of the original size;
- fades: clearly positive, and clearly less than half of the original size;
- undetermined: otherwise.

"Clearly" means by the confidence interval. Each verdict needs all of its conditions, so no correction is needed.
`measured` is the effect here.

A relation or number to which the scenario was fitted, or which follows from numbers that it was fitted to, is *calibrated*,
whatever its rule gives: it is no evidence.

A verdict is *settled* if each of its conditions is shown at the level at which it was judged; "undetermined" never is.
Neither is "not reproduced" if the sign of the mean over the points is open, because it may still become "trend only".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from wifair.drawn import Drawn
from wifair.keys import some_of
from wifair.stats import LEVEL, Interval, holm, p_value, t_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Data = TypeVar("Data")


class Verdict(StrEnum):
    """The verdict on a claim."""

    REPRODUCED = "reproduced"
    TREND_ONLY = "trend only"
    NOT_REPRODUCED = "not reproduced"
    UNDETERMINED = "undetermined"
    CALIBRATED = "calibrated"
    SURVIVES = "survives"
    FADES = "fades"
    NOTHING_TO_CURE = "nothing to cure"
    GONE = "gone"
    REVERSED = "reversed"
    HOLDS = "holds"
    FAILS = "fails"


@dataclass(frozen=True)
class Point:
    """One comparison or value that a statement covers; `values` has one entry per replication (NaN: no value)."""

    label: str
    values: ArrayLike


@dataclass(frozen=True)
class Relation:
    """Margins, positive where the statement holds.

    `over` names what each margin is the mean of, if the points are not those that the paper plots: "the mean of ten mixes".
    `fitted`: the scenario was fitted to numbers from which the relation follows.
    """

    points: Sequence[Point]
    over: str = ""
    fitted: bool = False


@dataclass(frozen=True)
class Number:
    """Values to compare with `target` ± `tolerance` (absolute). `fitted`: the scenario was fitted to this number, or to others that imply it."""

    points: Sequence[Point]
    target: float
    tolerance: float
    fitted: bool = False


@dataclass(frozen=True)
class Effect:
    """The size of an effect `here` and in its original setting `there`, with equally many replications. Up to `negligible` it counts as none.

    `to_cure`, of an effect that is a cure's, is what there is to cure here: the most that the effect can be.
    """

    here: Point
    there: Point
    negligible: float
    to_cure: Point | None = None

    @property
    def points(self) -> Sequence[Point]:
        """Both points."""
        return (self.here, self.there)


Evidence = Relation | Number | Effect


@dataclass(frozen=True)
class Formerly(Generic[Data]):
    """The rule by which a claim was judged before its present one, and the verdict that it gave on the runs of its time.

    `evidence` is that rule as code, so that it can be applied to the present runs.
    """

    verdict: str
    reading: str
    evidence: Callable[[Data], Evidence] | None = None


@dataclass(frozen=True)
class Former:
    """A former rule with its verdict then, and on the present runs (`here`, if the rule is known as code)."""

    verdict: str
    reading: str
    here: Verdict | None = None


@dataclass(frozen=True)
class Dropped:
    """A claim that is no longer judged: its statement, its former rule and verdict, and why no rule can test the statement."""

    id: str
    statement: str
    reading: str
    verdict: str
    why: str


@dataclass(frozen=True)
class Claim(Generic[Data]):
    """A sentence (or table cell) of a paper that states a result, and how it is tested.

    `statement` is the paper's own line; `reading` says what is compared, where and by which tolerance; `published` is
    the number that the text prints, if it prints one. `formerly` is the rule that `reading` replaced, if it did.
    """

    id: str
    section: str
    figure: str | None
    statement: str
    reading: str
    unit: str
    evidence: Callable[[Data], Evidence]
    published: float | None = None
    formerly: Formerly[Data] | None = None


@dataclass(frozen=True)
class Weighed:
    """The verdict on evidence at a confidence level: the deciding point, its interval, the reason, whether it is settled."""

    verdict: Verdict
    point: Point | None
    measured: Interval | None
    why: str
    settled: bool


@dataclass(frozen=True)
class Judgement(Drawn):
    """A claim with its verdict, for output. `over` labels a relation of means (see `Relation`)."""

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
    over: str = ""
    formerly: Former | None = None

    def to_dict(self) -> dict[str, Any]:
        """The judgement for JSON."""
        return {**asdict(self), "verdict": self.verdict.value}


def judge(claim: Claim[Data], data: Data) -> Judgement:
    """The verdict on a claim, at 95 %."""
    evidence = claim.evidence(data)
    found = weigh(evidence)
    interval = found.measured
    if interval and claim.unit == "index" and isinstance(evidence, Number):
        interval = interval.within(0.0, 1.0)
    return Judgement(
        id=claim.id,
        section=claim.section,
        figure=claim.figure,
        statement=claim.statement,
        reading=claim.reading,
        unit=claim.unit,
        published=claim.published,
        measured=interval.estimate if interval and np.isfinite(interval.estimate) else None,
        ci_low=interval.low if interval else None,
        ci_high=interval.high if interval else None,
        verdict=found.verdict,
        why=found.why,
        over=evidence.over if isinstance(evidence, Relation) else "",
        formerly=_former(claim.formerly, data) if claim.formerly else None,
    )


def _former(rule: Formerly[Data], data: Data) -> Former:
    here = weigh(rule.evidence(data)).verdict if rule.evidence else None
    return Former(rule.verdict, rule.reading, here)


def weigh(evidence: Evidence, level: float = LEVEL) -> Weighed:
    """The verdict on evidence, with intervals and tests at `level`."""
    if isinstance(evidence, Effect):
        return weigh_effect(evidence, level)
    found = weigh_relation(evidence, level) if isinstance(evidence, Relation) else weigh_number(evidence, level)
    if not evidence.fitted:
        return found
    why = f"the scenario was fitted to this, or to numbers that imply it; its rule gives {found.verdict.value}: {found.why}"
    return Weighed(Verdict.CALIBRATED, found.point, found.measured, why, True)


def weigh_relation(evidence: Relation, level: float = LEVEL) -> Weighed:
    """The verdict on margins. `point` is the smallest one."""
    measured = [(point, t_interval(point.values, level)) for point in evidence.points]
    identical = [point.label for point, found in measured if found.identical and found.estimate == 0.0]
    varied = [(point, found) for point, found in measured if point.label not in identical]
    aside = f"; identical, so deciding nothing: {_some(identical)}" if identical else ""
    if not varied:
        point, zero = measured[0] if measured else (None, None)
        return Weighed(Verdict.NOT_REPRODUCED, point, zero, "both sides are identical in every replication", True)
    adjusted = holm([p_value(point.values) for point, _ in varied])
    clear = [value < 1.0 - level for value in adjusted]
    against = [point.label for (point, found), sure in zip(varied, clear, strict=True) if sure and found.estimate < 0]
    open_points = [point.label for (point, _), sure in zip(varied, clear, strict=True) if not sure]
    (least_point, least), p = min(zip(varied, adjusted, strict=True), key=lambda item: _or_lowest(item[0][1].estimate))
    if against:
        mean = t_interval(_mean_over([point for point, _ in varied]), level)
        if mean.low is not None and mean.low > 0:
            why = f"holds on the mean of {len(varied)} points, clearly reversed at {_some(against)}{aside}"
            return Weighed(Verdict.TREND_ONLY, least_point, least, why, True)
        why = f"clearly reversed at {_some(against)} (of {len(varied)}){aside}"
        below = mean.high is not None and mean.high < 0
        return Weighed(Verdict.NOT_REPRODUCED, least_point, least, why, below)
    if open_points:
        why = f"not clear of equality at {_some(open_points)} (of {len(varied)}){aside}"
        return Weighed(Verdict.UNDETERMINED, least_point, least, why, False)
    correction = f" after Holm over {len(varied)}" if len(varied) > 1 else ""
    why = f"smallest margin at {least_point.label}, p = {p:.2g}{correction}{aside}"
    return Weighed(Verdict.REPRODUCED, least_point, least, why, True)


def weigh_number(evidence: Number, level: float = LEVEL) -> Weighed:
    """The verdict on values. `point` is the one farthest from the target."""
    low, high = evidence.target - evidence.tolerance, evidence.target + evidence.tolerance
    band = f"{low:.4g} to {high:.4g}"
    measured = [(point, t_interval(point.values, level)) for point in evidence.points]
    if not measured:
        return Weighed(Verdict.UNDETERMINED, None, None, "nothing was measured", False)
    point, far = max(measured, key=lambda item: _or_highest(abs(item[1].estimate - evidence.target)))
    at = f"farthest at {point.label}" if len(measured) > 1 else point.label
    outside = [one.label for one, found in measured if _apart(found, low, high)]
    if all(_within(found, low, high) for _, found in measured):
        return Weighed(Verdict.REPRODUCED, point, far, f"within {band}; {at}", True)
    if outside:
        why = f"outside {band}: {_some(outside)} (of {len(measured)})"
        return Weighed(Verdict.NOT_REPRODUCED, point, far, why, True)
    return Weighed(Verdict.UNDETERMINED, point, far, f"the interval straddles {band}; {at}", False)


def weigh_effect(evidence: Effect, level: float = LEVEL) -> Weighed:
    """The verdict on an effect, from its sizes here and in the original setting."""
    here, there = (np.asarray(point.values, dtype=np.float64) for point in evidence.points)
    none = evidence.negligible
    size, was = t_interval(here, level), t_interval(there, level).estimate
    excess = t_interval(here - there / 2.0, level)
    compared = f"{size.estimate:.3g} against {was:.3g} {evidence.there.label}"

    def weighed(verdict: Verdict, why: str) -> Weighed:
        return Weighed(verdict, evidence.here, size, why, verdict is not Verdict.UNDETERMINED)

    if size.low is None or size.high is None or excess.low is None or excess.high is None:
        return weighed(Verdict.UNDETERMINED, "nothing was measured, or once only")
    if size.high < -none:
        return weighed(Verdict.REVERSED, f"below −{none:g}: {compared}")
    if size.high < none:
        if most := evidence.to_cure:
            room = t_interval(most.values, level)
            if room.high is not None and room.high < none:
                return weighed(Verdict.NOTHING_TO_CURE, f"{room.estimate:.3g} {most.label}: {compared}")
        return weighed(Verdict.GONE, f"below {none:g}: {compared}")
    if size.low > none and excess.low > 0.0:
        return weighed(Verdict.SURVIVES, f"more than half: {compared}")
    if size.low > 0.0 and excess.high < 0.0:
        return weighed(Verdict.FADES, f"less than half: {compared}")
    return weighed(Verdict.UNDETERMINED, f"the interval decides nothing: {compared}")


def _mean_over(points: Sequence[Point]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The mean over the points, per replication: (replications,)."""
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


def _some(labels: Sequence[str]) -> str:
    return some_of(labels, 3)
