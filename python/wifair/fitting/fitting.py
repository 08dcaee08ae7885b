"""The fit of a scenario to a measurement: what the file marks as assumed or unknown takes the values with which runs show what was measured."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

from wifair.advising.doubts import Freedom, Unvaried, freedoms
from wifair.errors import InputError, Interrupted
from wifair.fitting.estimates import Alike, Estimate, estimates
from wifair.fitting.held_back import flow_of, held_back, may_be_held_back
from wifair.fitting.held_out import Split, loads, split
from wifair.fitting.objective import Objective, Runs
from wifair.fitting.search import ALL, BATCH, FINALISTS, FIRST, Parameter, Point, Search, Searched, key
from wifair.observed.origins import Mark
from wifair.observed.shown import Quantity, network, of_runs, with_cell
from wifair.prediction.as_it_is import Judged, judged, read_loads
from wifair.prediction.measurement import Measurement, measurement, named, short_runs
from wifair.scenario.scenario import Scenario
from wifair.study.job import Bars, Cell, no_bars
from wifair.study.store import Store
from wifair.study.study import Study, StudyInterrupted

__all__ = ["Fitted", "Fitting", "FittingInterrupted", "measurement"]

RUNS = 300
# The fewest replications of a search: the scenario as it is, a batch, and the finalists.
LEAST_RUNS = ALL + BATCH * FIRST + FINALISTS * (ALL - FIRST)
# How often the interval of what fits as well is halved at its ends.
HALVINGS = 2
# Seeds of the verdict, which the search has not seen.
FRESH = range(1001, 1013)


@dataclass
class Fitted:
    """What is known of a fit; all of it after the end.

    `searched` has the best point and the profiles. `held` are the held-out quantities with runs of the best point on fresh seeds, `seen` those that
    were fitted. `estimates` and `alike` say what the measurement tells of the parameters.
    """

    split: Split
    freedoms: Sequence[Freedom]
    unvaried: Sequence[Unvaried]
    searched: Searched
    scenario: Scenario
    held: list[Judged] = field(default_factory=list)
    seen: list[Judged] = field(default_factory=list)
    estimates: list[Estimate] = field(default_factory=list)
    alike: list[Alike] = field(default_factory=list)
    # A remark if runs are much shorter than the measurement.
    short: str | None = None

    @property
    def is_fit(self) -> bool:
        """Whether runs with the values show the part of the measurement that was held out."""
        return bool(self.held) and all(each.is_within for each in self.held)

    @property
    def objectives(self) -> tuple[float, float]:
        """The objective of the scenario as it is, and of the best point."""
        objective, found = self.searched.objective, self.searched
        assert isinstance(objective, Objective)
        return objective(found.of(found.start)), objective(found.of(found.best))


class FittingInterrupted(Interrupted):
    """Ctrl-C; `fitted` is what is known."""

    def __init__(self, fitted: Fitted) -> None:
        self.fitted = fitted
        super().__init__(f"interrupted: {fitted.searched.runs} replications were finished")


class Fitting:
    """A fit of a scenario to a measurement. `marks` are the values that may vary, `runs` is the number of replications of the search.

    Bad input raises `InputError` before any run.
    """

    def __init__(self, scenario: Scenario, marks: Sequence[Mark], measured: Measurement, runs: int = RUNS) -> None:
        if runs < LEAST_RUNS:
            raise InputError(f"runs: {runs} is not allowed; allowed here: {LEAST_RUNS} or more.")
        self.scenario, self.marks = scenario, marks
        self.freedoms, self.unvaried = freedoms(scenario, marks)
        # Flows that may be held back, once runs have shown them.
        self._held: Freedom | None = None
        if not self.freedoms and not may_be_held_back(scenario, marks):
            raise InputError(
                "the scenario has no value that may vary; allowed here: a file with comments `# assumed:` or `# unknown:`, as `wifair import` writes."
            )
        plan = scenario.plan()
        self.duration_s: float = plan["run"]["duration_s"]
        stations, flows = network(plan)
        self.split = split(measured, named(stations, measured, "the scenario"), flows)
        self.loads = loads(self.split, measured, scenario, marks)
        self.short = short_runs(measured.name, self.split.fitted, self.duration_s)
        self.runs = runs
        self._changed: dict[str, Scenario] = {}

    def parameters(self) -> list[Parameter]:
        """The parameters of the search."""
        families = [each.family for each in self.freedoms]
        names = [
            each.family if families.count(each.family) == 1 else f"{each.family} ({each.why})" for each in self.freedoms
        ]
        return [Parameter(name, each.values, each.kept) for name, each in zip(names, self.freedoms, strict=True)]

    def changed(self, point: Point) -> Scenario:
        """The scenario with these values. Raises `InputError` if they do not go together."""
        if key(point) in self._changed:
            return self._changed[key(point)]
        settings = copy.deepcopy(self.scenario.settings())
        for freedom, value in zip(self.freedoms, point.values(), strict=True):
            if value != freedom.kept:
                freedom.applied(settings, value)
        made = self._changed[key(point)] = Scenario.from_settings(settings)
        return made

    def run(
        self,
        threads: int | None = None,
        bars: Bars = no_bars,
        store: Store | None = None,
        dask: str | None = None,
    ) -> Fitted:
        """Runs it. Replications in the store are not run again. Ctrl-C raises `FittingInterrupted`.

        The first runs, of the scenario as it is, tell which flows may be held back by their applications.

        `dask` is a scheduler's address or "local", to run on that cluster.
        """
        start = {each.name: each.kept for each in self.parameters()}
        found = Searched(self.parameters(), start, start)
        fitted = Fitted(self.split, self.freedoms, self.unvaried, found, self.scenario, short=self.short)

        def measure(points: Sequence[Point], seeds: range) -> list[Runs]:
            cells = [Cell(f"{i}", self.changed(point)) for i, point in enumerate(points)]
            title = f"{fitted.searched.runs} replications done; {len(cells)} scenarios, seeds {seeds[0]} to {seeds[-1]}"
            with bars(title) as bar:
                results = Study(cells, seeds).run(threads, bar, store, dask=dask)
            return [with_cell(of_runs(results, cell.name), set(self.split.flows)) for cell in cells]

        try:
            [own] = measure([start], range(1, ALL + 1))
            self._add_held_back(own)
            search = Search(
                self.parameters(), self.split.fitted, self.duration_s, own, measure, self._is_possible, self.runs
            )
            fitted.freedoms, fitted.searched = self.freedoms, search.found
            search.run()
            fitted.scenario = self.changed(search.found.best)
            fitted.estimates, fitted.alike = estimates(search.found, self.duration_s)
            for _ in range(HALVINGS):
                search.profile([(each.parameter.name, value) for each in fitted.estimates for value in each.open_ends])
                fitted.estimates, fitted.alike = estimates(search.found, self.duration_s)
            [fresh] = measure([search.found.best], FRESH)
        except (StudyInterrupted, KeyboardInterrupt):
            raise FittingInterrupted(fitted) from None
        search.found.runs += len(FRESH)
        known = {**self.loads, **self._fitted_loads(search.found.best)}
        fitted.held = judged(self.split.held, fresh, self.duration_s, known)
        fitted.seen = judged(self.split.fitted, fresh, self.duration_s)
        return fitted

    def _add_held_back(self, own: Runs) -> None:
        """Adds the number of flows that may be held back to what may vary."""
        if self._held:
            self.freedoms = self.freedoms[:-1]
        self._held = held_back(self.scenario, self.marks, judged(self.split.fitted, own, self.duration_s))
        if self._held:
            self.freedoms = [*self.freedoms, self._held]

    def _fitted_loads(self, best: Point) -> dict[Quantity, float]:
        """The quantities of flows that are held back, whose load is what was measured in the fitted part, with the seconds of that."""
        if not self._held:
            return {}
        *_, count = best.values()
        flows = frozenset(flow_of(self.scenario, mark) for mark in self._held.marks[:count])
        fitted = self.split.fitted
        return {what: seconds for what in read_loads(fitted, flows) if (seconds := fitted[what].elapsed_s)}

    def _is_possible(self, point: Point) -> bool:
        try:
            self.changed(point)
        except InputError:
            return False
        return True
