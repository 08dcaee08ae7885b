"""The tables of results as Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from cases import Case, FieldCase
from peers import Outcome
from scipy.stats import ttest_ind
from wifair.markdown import table
from wifair.stats import Interval, t_interval

REFERENCE = "wifair"


@dataclass(frozen=True)
class Metric:
    """A metric of an outcome."""

    name: str
    unit: str
    field: str

    @property
    def title(self) -> str:
        return f"{self.name}, {self.unit}" if self.unit else self.name

    def values(self, outcomes: Sequence[Outcome]) -> list[float]:
        """Its values in all runs that have it."""
        return [value for one in outcomes if (value := getattr(one, self.field)) is not None]


@dataclass(frozen=True)
class GroupMetric(Metric):
    """Throughput of a BSS, averaged over a group of those of a field."""

    bsss: tuple[int, ...]

    def values(self, outcomes: Sequence[Outcome]) -> list[float]:
        return [statistics.fmean(getattr(one, self.field)[bss] for bss in self.bsss) for one in outcomes]


UP = Metric("up", "Mbps", "up_mbps")
DOWN = Metric("down", "Mbps", "down_mbps")
FAILED = Metric("failed attempts", "%", "failed")
MPDUS = Metric("MPDUs in a PPDU", "", "mpdus")


def metrics(case: Case) -> tuple[Metric, ...]:
    """The metrics of a case."""
    if isinstance(case, FieldCase):
        of_groups = (
            GroupMetric(f"{group}, {way}", "Mbps", f"bss_{way}_mbps", bsss)
            for group, bsss in case.groups.items()
            for way in case.directions
        )
        return (*of_groups, FAILED, MPDUS)
    ways = [metric for metric in (UP, DOWN) if metric.name in case.directions]
    return (*ways, FAILED, MPDUS) if case.aggregates else (*ways, FAILED)


def in_unit(values: Sequence[float], metric: Metric) -> list[float]:
    return [100 * value if metric.unit == "%" else value for value in values]


def difference(peer: Sequence[float], reference: Sequence[float]) -> Interval:
    """Of the means, peer − reference, with Welch's 95 % interval: two independent sets of runs of unequal variance."""
    estimate = statistics.fmean(peer) - statistics.fmean(reference)
    if min(len(peer), len(reference)) < 2 or statistics.variance(peer) + statistics.variance(reference) == 0:
        return Interval(estimate, None, None, len(peer))
    bounds = ttest_ind(peer, reference, equal_var=False).confidence_interval()
    return Interval(estimate, float(bounds.low), float(bounds.high), len(peer))


def beyond(found: Interval) -> bool:
    """Whether the interval excludes zero."""
    return found.low is not None and found.high is not None and not found.low <= 0 <= found.high


def told(found: Interval) -> str:
    """A difference for a cell; bold where it lies beyond its interval."""
    text = found.short()
    text = text if text.startswith("-") else f"+{text}"
    return f"**{text}**" if beyond(found) else text


@dataclass(frozen=True)
class Spread:
    """A median between the smallest and the largest."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), min(values), max(values))

    def told(self, form: str) -> str:
        return f"{self.median:{form}} ({self.low:{form}}–{self.high:{form}})"


def ratios(mine: Sequence[float], reference: Sequence[float]) -> Spread:
    """Ratios per repetition: a slow machine slows both."""
    return Spread.of([a / b for a, b in zip(mine, reference, strict=True)])


Found = dict[tuple[str, int, str], list[Outcome]]


def outcomes(case: Case, peers: Sequence[str], found: Found) -> str:
    """Throughputs and collisions of one case: means with 95 % intervals, differences to wifair."""
    others = [name for name in peers if name in case.peers and name != REFERENCE]
    heading = [case.size_is, "", REFERENCE]
    for name in others:
        heading += [name, f"{name} − {REFERENCE}"]
    rows = []
    for size in case.sizes:
        if (case.name, size, REFERENCE) not in found:
            continue
        for metric in metrics(case):
            mine = in_unit(metric.values(found[case.name, size, REFERENCE]), metric)
            row = [str(size), metric.title, t_interval(mine).short()]
            for name in others:
                theirs = in_unit(metric.values(found[case.name, size, name]), metric)
                row += [t_interval(theirs).short(), told(difference(theirs, mine))]
            rows.append(row)
    return table(heading, rows)


@dataclass
class Costs:
    """All repetitions of one simulator at one size of a case."""

    slopes: list[float]  # CPU seconds per simulated second
    peaks_mib: list[float]


def costs(case: Case, peers: Sequence[str], found: dict[tuple[str, int, str], Costs]) -> str:
    """CPU time and memory of one case, and the ratios to wifair."""
    present = [name for name in peers if name in case.peers]
    others = [name for name in present if name != REFERENCE]
    heading = [case.size_is, *(f"CPU ms a simulated s, {name}" for name in present)]
    heading += [*(f"{name} / {REFERENCE}" for name in others), *(f"MiB, {name}" for name in present)]
    rows = []
    for size in case.sizes:
        if not all((case.name, size, name) in found for name in present):
            continue
        at = {name: found[case.name, size, name] for name in present}
        row = [str(size), *(Spread.of([1000 * s for s in at[name].slopes]).told(".3g") for name in present)]
        row += [
            f"**{ratios(at[name].slopes, at[REFERENCE].slopes).told('.3g')}**" for name in others if REFERENCE in at
        ]
        row += [f"{Spread.of(at[name].peaks_mib).median:.0f}" for name in present]
        rows.append(row)
    return table(heading, rows)
