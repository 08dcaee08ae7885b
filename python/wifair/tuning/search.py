"""The search: batches of points, a race in each, and the verification of the best on fresh seeds.

    1. The scenario as it is runs with all seeds.
    2. Optuna proposes a batch of points. All of them run with the first seeds, and those that are beaten stop. The others
       run with further seeds, and so on, until the rest has all seeds.
    3. Optuna receives each point's mean difference from the scenario as it is, over the seeds that the point has. Then 2 again.
    4. The best point, or the Pareto front, and the scenario as it is run with fresh seeds.

All points have the same seeds (common random numbers). What is asked next depends on the values alone, and the batch belongs to the
search, not to the number of workers. So a search that was killed and starts again with the same store asks the same points, finds
their replications there, and comes to the same answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from wifair.analysis.comparison import Differences, Pair, paired
from wifair.analysis.sweep import coordinate, label
from wifair.errors import InputError, Interrupted, ScenarioError
from wifair.everything.side_effects import side_effects
from wifair.results.metric import Metric
from wifair.results.quantiles import interval_of
from wifair.scenario.scenario import Scenario
from wifair.stats import Interval, Values
from wifair.study.job import Cell
from wifair.study.store import Store, opened
from wifair.study.study import MOST_SEEDS, Study, StudyInterrupted
from wifair.tuning.asked import Asker
from wifair.tuning.goals import Goal, parsed
from wifair.tuning.probes import with_probes
from wifair.tuning.race import front, rungs, survivors
from wifair.tuning.ranges import Range, ranges

if TYPE_CHECKING:
    from optuna import Trial

    from wifair.results.results import Results
    from wifair.study.job import Progress

SEEDS = 10
RUNS = 600
BATCH = 8

# Points that are verified on fresh seeds: with one goal the best and the two next, of a Pareto front so many of its points.
VERIFIED = 3
VERIFIED_FRONT = 8

# The name of the scenario without changes.
START = "as it is"

State = Literal["finished", "stopped", "no value", "no budget"]


@dataclass
class Point:
    """A point of the search: its name, its settings by key, and its values, one row per seed (1, 2, …) and one column per goal.

    A `finished` point has all seeds. The others have fewer: a better one was certain (`stopped`), a goal has `no value`, or the
    search had `no budget` left for more.
    """

    name: str
    settings: Mapping[str, Any]
    scenario: Scenario
    values: Values
    state: State = "no budget"

    @property
    def cell(self) -> Cell:
        """The point as a scenario of a study."""
        return Cell(self.name, self.scenario, {key: coordinate(value) for key, value in self.settings.items()})


@dataclass(frozen=True)
class Tuned:
    """What a search has found.

    `points` are all points in the order in which they were asked, the scenario as it is first. `best` are the best points: one, or
    the Pareto front of several goals. `verified` are the results on fresh seeds of the scenario as it is, of `best` and, with
    one goal, of the two next. `runs` counts the replications of the search and of the verification. `exhausted` says that no new point was
    left to try. `bss` is the BSS whose flows are judged; without a name they are those of all. `remarks` say which flows were added to
    measure a goal; they are in the scenarios of the points.
    """

    goals: tuple[Goal, ...]
    seeds: int
    points: tuple[Point, ...]
    best: tuple[Point, ...]
    runs: int
    refused: int
    exhausted: bool
    verified: Results | None = None
    bss: str = ""
    remarks: Sequence[str] = ()

    @property
    def judged(self) -> Results | None:
        """The results on fresh seeds of the BSS that is judged."""
        return self.verified.of_bss(self.bss) if self.verified is not None and self.bss else self.verified

    @property
    def scenario(self) -> Scenario:
        """The scenario with the settings of the best point (the first of a front)."""
        return self.best[0].scenario

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of the best point (the first of a front) by key; none if nothing is better than the scenario as it is."""
        return self.best[0].settings

    @property
    def metrics(self) -> list[str]:
        """The metrics of the goals."""
        return [goal.metric for goal in self.goals]

    def gains(self) -> Differences:
        """What each verified point changes against the scenario as it is on fresh seeds, paired by seed."""
        return paired(self.judged, self.pairs(), self.metrics) if self.judged is not None else Differences()

    def side_effects(self) -> Differences:
        """What each verified point changes for the BSSs that are not judged; empty if all are."""
        return side_effects(self.verified, self.bss, self.pairs()) if self.verified and self.bss else Differences()

    def pairs(self) -> list[Pair]:
        """Each verified point, and the scenario as it is."""
        return [(cell.name, START) for cell in (self.verified.cells if self.verified else ()) if cell.name != START]

    def interval(self, point: Point, goal: Goal) -> Interval:
        """The mean of a goal over the seeds of the search. That of the best is too good: it was chosen by these seeds."""
        return interval_of(goal.metric, point.values[:, self.goals.index(goal)])

    def frame(self) -> pl.DataFrame:
        """One row per point: its name, settings, number of seeds, state, and the mean of each goal."""
        keys = list(dict.fromkeys(key for point in self.points for key in point.settings))
        rows = []
        for point in self.points:
            row: dict[str, Any] = {"point": point.name}
            row |= {key: coordinate(point.settings[key]) if key in point.settings else None for key in keys}
            row |= {"seeds": len(point.values), "state": point.state, "best": point in self.best}
            rows.append(row | {goal.metric: _mean(point.values[:, i]) for i, goal in enumerate(self.goals)})
        texts = {key for key in keys if any(isinstance(row[key], str) for row in rows)}
        for row in rows:
            row |= {key: str(row[key]) for key in texts if row[key] is not None}
        return pl.DataFrame(rows, infer_schema_length=None)

    def to_dict(self) -> dict[str, Any]:
        """All that was found as the content of one JSON document."""
        shown = {"settings": [dict(_plain(point)) for point in self.best], "best": [point.name for point in self.best]}
        told = [
            {"metric": goal.metric, "better": goal.better, "unit": goal.unit, "bound": goal.bound}
            for goal in self.goals
        ]
        counts = {"seeds": self.seeds, "replications": self.runs, "refused": self.refused, "exhausted": self.exhausted}
        found = {**shown, "goals": told, **counts, "points": self.frame().to_dicts(), "gains": list(self.gains())}
        found["remarks"] = list(self.remarks)
        if self.bss:
            found |= {"bss": self.bss, "others": list(self.side_effects())}
        if self.judged is not None:
            wanted = set(self.metrics)
            found["verified"] = [row for row in self.judged.summary().to_dicts() if row["metric"] in wanted]
        return found


class TuningInterrupted(Interrupted):
    """Ctrl-C during a search; `tuned` is what is known."""

    def __init__(self, tuned: Tuned) -> None:
        self.tuned = tuned
        tried = len(tuned.points) - 1
        super().__init__(f"interrupted: {tuned.runs} replications of {tried} points were finished")


class Tuning:
    """A search for the settings of a scenario that are best by one or several goals.

    `scenario` is a `Scenario` or a file. `over` maps paths of keys to ranges, as texts (`"20..2000:log"`, `"droptail,codel"`) or as lists of
    choices. `goals` are names of metrics, `"METRIC=highest"` or `"METRIC=lowest"`, or user-defined metrics (`wifair.Metric`). `seeds` is the
    number of replications of a point that is not stopped, `runs` the largest number of replications in all, `batch` the number of
    points that are asked together: at least a third of the workers keeps all of them busy. `title` names the verification in a store. With
    `bss` the goals are those of the flows of that BSS alone. If nothing in the scenario measures a goal such as `pings`, a flow is added that
    does (`remarks`).

    Bad input raises `InputError` before any run.
    """

    def __init__(
        self,
        scenario: Scenario | str | Path,
        over: Mapping[str, Any],
        goals: str | Metric | Sequence[str | Metric],
        *,
        seeds: int = SEEDS,
        runs: int = RUNS,
        batch: int = BATCH,
        title: str = "",
        bss: str = "",
    ) -> None:
        loaded = scenario if isinstance(scenario, Scenario) else Scenario.from_toml(scenario)
        loaded.check_bss(bss, "bss")
        self.bss = bss
        self.over = ranges(over)
        self.goals = parsed(goals)
        self.start, self.remarks = with_probes(loaded, self.goals, bss)
        self.seeds = _count("seeds", seeds, 2, MOST_SEEDS)
        self.batch = _count("batch", batch, 1, MOST_SEEDS)
        self.reserve = (1 + (VERIFIED if len(self.goals) == 1 else VERIFIED_FRONT)) * self.seeds
        first = self.batch * rungs(self.seeds)[0]
        why = f"{self.seeds} of the scenario as it is, {first} of a first batch, {self.reserve} of the verification"
        self.runs = _count("runs", runs, self.seeds + first + self.reserve, None, why)
        self.title = title
        # Checked here, so that a missing package is not found after the first runs.
        self.asker()
        _check(self.start, self.over)

    def asker(self) -> Asker:
        """A new optimiser."""
        return Asker(self.over, len(self.goals))

    def run(
        self,
        threads: int | None = None,
        progress: Progress | None = None,
        store: Store | str | Path | None = None,
        dask: str | None = None,
    ) -> Tuned:
        """Searches. With a store, replications that it has are not run again. Ctrl-C raises `TuningInterrupted`.

        `dask` is a scheduler's address or "local", to run on that cluster.
        """
        return _Search(self, threads, progress, opened(store), dask).run()

    def point(self, settings: Mapping[str, Any]) -> Point:
        """A point without values. Raises `ScenarioError` if its settings do not go together."""
        return Point(_name(settings), settings, _changed(self.start, settings), np.empty((0, len(self.goals))))


@dataclass
class _Search:
    """One run of a search."""

    tuning: Tuning
    threads: int | None
    progress: Progress | None
    store: Store | None
    dask: str | None
    points: dict[str, Point] = field(default_factory=dict)
    runs: int = 0
    refused: int = 0
    exhausted: bool = False
    verified: Results | None = None

    def run(self) -> Tuned:
        try:
            self._search()
            found = self._tuned()
            chosen = list({point.name: point for point in self._to_verify(found)}.values())
            self.verified = self._verify(chosen)
        except (KeyboardInterrupt, StudyInterrupted):
            raise TuningInterrupted(self._tuned()) from None
        return self._tuned()

    def _search(self) -> None:
        tuning, asker = self.tuning, self.tuning.asker()
        start = Point(START, {}, tuning.start, np.empty((0, len(tuning.goals))))
        self.points[start.scenario.plan_json] = start
        for seeds in (1, tuning.seeds):  # a goal without a value is found after the first replication
            self._check_start(self._more([start], seeds))
        start.state = "finished"
        first = rungs(tuning.seeds)[0]
        while not self.exhausted and self._left() >= tuning.batch * first:
            batch: list[tuple[Trial, Point]] = []
            while len(batch) < tuning.batch:
                asked = asker.ask(self._is_new)
                if asked is None:
                    self.exhausted = True
                    break
                trial, settings = asked
                point = tuning.point(settings)
                self.points[point.scenario.plan_json] = point
                batch.append((trial, point))
            self._race([point for _, point in batch])
            for trial, point in batch:
                merits = _merits(point, tuning.goals)
                asker.tell(trial, (merits - _merits(start, tuning.goals)[: len(merits)]).mean(axis=0).tolist())

    def _is_new(self, settings: Mapping[str, Any]) -> bool | None:
        try:
            return self.tuning.point(settings).scenario.plan_json not in self.points
        except ScenarioError:
            self.refused += 1
            return None

    def _race(self, racing: list[Point]) -> None:
        """Runs the points with more and more seeds, and stops those that are beaten. What the budget does not reach stays unfinished."""
        wanted = self.tuning.goals
        for seeds in rungs(self.tuning.seeds):
            more = seeds - (len(racing[0].values) if racing else 0)
            racing = racing[: self._left() // more]
            if racing:
                self._more(racing, seeds)
            finished = [_merits(point, wanted) for point in self.points.values() if point.state == "finished"]
            merits = [_merits(point, wanted) for point in racing]
            going = survivors(merits, finished)
            for i, point in enumerate(racing):
                if i not in going:
                    point.state = "stopped" if np.isfinite(merits[i]).all() else "no value"
            # The best by the first goal come first, in case that the budget ends.
            going.sort(key=lambda i: -merits[i][:, 0].mean())
            racing = [racing[i] for i in going]
        for point in racing:
            if len(point.values) == self.tuning.seeds:
                point.state = "finished"

    def _left(self) -> int:
        return self.tuning.runs - self.tuning.reserve - self.runs

    def _more(self, points: Sequence[Point], seeds: int) -> Results:
        """Runs points, which have equally many seeds, with the seeds up to `seeds`. The results are those of the BSS that is judged."""
        new = range(len(points[0].values) + 1, seeds + 1)
        results = self._results(points, new, "")
        judged = results.of_bss(self.tuning.bss) if self.tuning.bss else results
        for point in points:
            columns = [judged.values(point.name, goal.metric) for goal in self.tuning.goals]
            values = np.column_stack([column.fill_null(math.nan).to_numpy() for column in columns])
            point.values = np.vstack([point.values, values])
        self.runs += len(points) * len(new)
        return judged

    def _results(self, points: Sequence[Point], seeds: Sequence[int], title: str) -> Results:
        study = Study([point.cell for point in points], seeds, title)
        own = [goal.own for goal in self.tuning.goals if goal.own]
        results = study.run(self.threads, self._reporting(len(points) * len(seeds)), self.store, dask=self.dask)
        return results.with_metrics(*own)

    def _reporting(self, runs: int) -> Progress | None:
        """The progress of so many replications as a part of the whole."""
        report, done, total = self.progress, self.runs, self.tuning.runs
        return report and (lambda share: report(min((done + share * runs) / total, 1.0)))

    def _check_start(self, results: Results) -> None:
        """Nothing can be compared by a goal that has no value in a replication of the scenario as it is."""
        values = {metric: results.values(START, metric) for metric in results.units}
        there = [metric for metric, found in values.items() if found.is_finite().fill_null(False).all()]
        for goal in self.tuning.goals:
            if goal.metric not in there:
                raise InputError(
                    f"goals: {goal.metric} has no value in some replications of the scenario as it is, so nothing can be compared by it; "
                    f"allowed here: metrics that have one: {', '.join(there)}."
                )

    def _tuned(self) -> Tuned:
        points = tuple(self.points.values())
        finished = [point for point in points if point.state == "finished"]
        merits = [_merits(point, self.tuning.goals) for point in finished]
        best = [finished[i] for i in front(merits)]
        best.sort(key=lambda point: -_merits(point, self.tuning.goals)[:, 0].mean())
        counts = (self.runs, self.refused, self.exhausted, self.verified, self.tuning.bss, self.tuning.remarks)
        return Tuned(self.tuning.goals, self.tuning.seeds, points, tuple(best), *counts)

    def _to_verify(self, found: Tuned) -> Iterator[Point]:
        """The best and the next ones, or points of the front in equal distances along the first goal."""
        if len(found.goals) > 1:
            count = min(VERIFIED_FRONT, len(found.best))
            yield from (found.best[round(i)] for i in np.linspace(0, len(found.best) - 1, count))
            return
        finished = [point for point in found.points if point.state == "finished"]
        finished.sort(key=lambda point: -_merits(point, found.goals)[:, 0].mean())
        yield from finished[:VERIFIED]

    def _verify(self, points: Sequence[Point]) -> Results:
        start = next(iter(self.points.values()))
        cells = [start, *(point for point in points if point is not start)]
        seeds = range(self.tuning.seeds + 1, 2 * self.tuning.seeds + 1)
        results = self._results(cells, seeds, self.tuning.title)
        self.runs += len(cells) * len(seeds)
        return results


def tune(
    scenario: Scenario | str | Path,
    over: Mapping[str, Any],
    goals: str | Metric | Sequence[str | Metric],
    *,
    seeds: int = SEEDS,
    runs: int = RUNS,
    threads: int | None = None,
    store: Store | str | Path | None = None,
    bss: str = "",
) -> Tuned:
    """Searches for the settings of a scenario that are best by the goals, and verifies them on fresh seeds (`wifair.Tuning`)."""
    return Tuning(scenario, over, goals, seeds=seeds, runs=runs, bss=bss).run(threads, store=store)


def _merits(point: Point, wanted: Sequence[Goal]) -> Values:
    """The values with signs such that more is better; −∞ where there is none."""
    columns = [goal.merit(point.values[:, i]) for i, goal in enumerate(wanted)]
    signed = np.column_stack(columns)
    return np.where(np.isfinite(signed), signed, -np.inf)


def _mean(values: Values) -> float | None:
    return float(values.mean()) if len(values) and np.isfinite(values).all() else None


def _plain(point: Point) -> Iterator[tuple[str, Any]]:
    for key, value in point.settings.items():
        yield key, value if isinstance(value, (bool, int, float)) else label(value)


def _name(settings: Mapping[str, Any]) -> str:
    heads = {key: key.rpartition(".")[2] for key in settings}
    several = [head for head in heads.values() if list(heads.values()).count(head) > 1]
    return ", ".join(
        f"{key if heads[key] in several else heads[key]}={label(value)}" for key, value in settings.items()
    )


def _count(key: str, value: int, least: int, most: int | None, why: str = "") -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least or (most is not None and value > most):
        allowed = f"{least} to {most}" if most else f"{least} or more"
        told = f", for {why}" if why else ""
        raise InputError(f"{key}: {value!r} is not allowed; allowed here: {allowed}{told}.")
    return value


def _check(start: Scenario, over: Mapping[str, Range]) -> None:
    """Tries values of each range, so that a wrong key or value is found before any run.

    A value may need another key, as a scheme's parameter needs the scheme. So each is tried alone and with values of the others.
    """
    values = {key: found.values() for key, found in over.items()}
    most = max(len(listed) for listed in values.values())
    others = [{}, *({key: listed[i % len(listed)] for key, listed in values.items()} for i in range(most))]
    for key, listed in values.items():
        for value in listed:
            problems = [
                _problem(start, {**{k: v for k, v in other.items() if k != key}, key: value}) for other in others
            ]
            if all(problems):
                about = [problem for problem in problems if problem and problem.key.startswith(key)]
                raise (about or [problem for problem in problems[1:] if problem])[0]


def _problem(start: Scenario, settings: Mapping[str, Any]) -> ScenarioError | None:
    try:
        _changed(start, settings)
    except ScenarioError as error:
        return error
    return None


def _changed(start: Scenario, settings: Mapping[str, Any]) -> Scenario:
    """The scenario with these settings. A scheme is set before its parameters."""
    return start.override({key: settings[key] for key in sorted(settings, key=lambda key: (key.count("."), key))})
