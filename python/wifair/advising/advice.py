"""The advice: a search among changes, its best confirmed on fresh seeds, and the assumptions varied."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair.advising import line, measurable, rule
from wifair.advising.changes import Change, equipment, settable, unsettable
from wifair.advising.doubts import Doubt, Unvaried, doubts
from wifair.advising.yardsticks import Yardstick, found, judging, of_flows, total, yardsticks
from wifair.analysis.comparison import Differences
from wifair.errors import InputError, Interrupted
from wifair.everything.criteria import Criterion
from wifair.everything.side_effects import side_effects
from wifair.everything.verdict import Standing, Verdict
from wifair.observed.origins import Mark
from wifair.papers.runs import Runs
from wifair.planned import bsss_of, others_of
from wifair.population.place import Place, place
from wifair.prediction.as_it_is import as_it_is, check, read_flows
from wifair.scenario.scenario import Scenario
from wifair.stats import Interval
from wifair.study.job import Bars, Cell, no_bars
from wifair.study.store import Store
from wifair.study.study import Study, StudyInterrupted, run_studies
from wifair.tuning.goals import Goal
from wifair.tuning.probes import judged_plan, with_probes

if TYPE_CHECKING:
    from wifair.prediction.as_it_is import AsItIs
    from wifair.prediction.measurement import Measurement
    from wifair.results.results import Results
    from wifair.stats import Values

# The scenario without a change.
OWN = "as it is"
# Seeds of each other value of an assumption: the first of the fresh ones.
DOUBT_SEEDS = 6
# Seeds of the scenario as it is next to a measurement: the first ones of the search, as many as `wifair explain` takes.
MEASURED_SEEDS = range(1, rule.STAGES[1] + 1)
# So many networks of a population are tried, the nearest ones.
NEAREST = 5
# The first fresh seed. The search has those below it.
FIRST_FRESH = 1001


@dataclass(frozen=True)
class Doubted:
    """An assumption with another value, and the verdict on the change then."""

    doubt: Doubt
    verdict: Verdict | None
    # Why the change does not apply with this value.
    refused: str = ""
    # Values that no bound has cut, by change and criterion.
    values: Mapping[str, Mapping[str, Values]] = field(default_factory=dict)
    # The runs behind them.
    results: Results | None = None

    def effect(self, change: Change, criterion: Criterion) -> Interval:
        """What the change is worth then."""
        return criterion.effect(self.values[change.name][criterion.id], self.values[OWN][criterion.id])


@dataclass(frozen=True)
class Tried:
    """A network of a population that is near this one, and the verdict on the change there."""

    name: str
    verdict: Verdict | None
    # Why the change was not tried there.
    refused: str = ""


@dataclass
class Advice:
    """What is known so far; all of it after the end.

    `search` is the verdict on the settable changes, `beyond` that on the schemes that no command sets. `best` is the best change, or None;
    `best_beyond` the best of these schemes. `confirmed` is the verdict on fresh seeds, by goal, and `flows` by group of flows; `fresh` are the
    runs behind them. The mean effects in `search` are too good for the best. `place` is where the scenario lies in a population, and `tried` what the change
    is worth in its nearest networks. `total` is the goodput of all TCP flows where no goal asks for it, so that a gain by the goals does not hide its price.
    `undoubted` is the number of other values of assumptions that did not run to the end. `as_it_is` compares the scenario, without flows that were added, with a
    measurement, if there is one.
    """

    scenario: Scenario
    yardsticks: tuple[Yardstick, ...]
    changes: Mapping[str, Change]
    remarks: Sequence[str] = ()
    total: Yardstick | None = None
    as_it_is: AsItIs | None = None
    search: Verdict | None = None
    beyond: Verdict | None = None
    best: Change | None = None
    best_beyond: Change | None = None
    # Of several BSSs the one whose owner is advised. By name of the others their criteria; by change and BSS their values by
    # criterion, on the seeds of the search and on fresh ones.
    bss: str = ""
    others: Mapping[str, tuple[Yardstick, ...]] = field(default_factory=dict)
    others_searched: dict[str, dict[str, dict[str, Values]]] = field(default_factory=dict)
    others_fresh: Mapping[str, Mapping[str, Mapping[str, Values]]] = field(default_factory=dict)
    confirmed: Verdict | None = None
    flows: Verdict | None = None
    fresh: Results | None = None
    # Values that no bound has cut, by change and criterion: on the seeds of the search, and on fresh seeds.
    searched: dict[str, Mapping[str, Values]] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Values]] = field(default_factory=dict)
    doubted: list[Doubted] = field(default_factory=list)
    undoubted: int = 0
    unvaried: Sequence[Unvaried] = ()
    marks: Sequence[Mark] = ()
    place: Place | None = None
    tried: list[Tried] = field(default_factory=list)
    runs: int = 0

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria of the goals."""
        return tuple(each.criterion for each in self.yardsticks)

    @property
    def shown(self) -> tuple[Yardstick, ...]:
        """The goals, and the total if it is not one of them."""
        return (*self.yardsticks, *([self.total] if self.total else []))

    @property
    def plan(self) -> dict[str, Any]:
        """The plan of the BSS that is judged."""
        return judged_plan(self.scenario, self.bss)

    def others_standings(self, change: Change) -> dict[str, Standing]:
        """How each of the other BSSs fares with a change by the criteria of its applications: on fresh seeds, or by those of the search.

        Each is judged alone, since what one gains hides what another loses. One that is worse by a criterion loses, and one that is better
        gains, although others are open. The error of 5 % is that of all BSSs and criteria together.
        """
        found = {}
        for name, wanted in self.others.items():
            of_change = self.others_fresh or self.others_searched
            if change.name not in of_change:
                of_change = self.others_searched
            if change.name not in of_change:
                return {}
            values = {each: of_change[each][name] for each in (OWN, change.name)}
            stages = len(self.others) * (len(rule.STAGES) if of_change is self.others_searched else 1)
            criteria = [each.criterion for each in wanted]
            found[name] = _shown(rule.verdict(values, criteria, stages=stages), change.name)
        return found

    def side_effects(self, change: Change) -> Differences:
        """What a change does to the other BSSs on fresh seeds, all together and each alone."""
        if self.fresh is None or not self.bss:
            return Differences()
        return side_effects(self.fresh, self.bss, [(change.name, OWN)])

    def standing(self, change: Change) -> Standing:
        """How a change compares with the scenario as it is on fresh seeds."""
        assert self.confirmed is not None
        return self.confirmed.standing(change.name, OWN)

    def standing_by(self, change: Change, each: Yardstick) -> Standing:
        """How it compares by one goal, or by the total."""
        if self.total is not each:
            assert self.confirmed is not None
            return self.confirmed.standing(change.name, OWN, [each.criterion])
        return rule.verdict(self.values, [each.criterion]).standing(change.name, OWN)

    def predicted(self, change: Change, criterion: Criterion) -> Interval:
        """The effect of a change by a criterion with an interval for chance and for what is assumed together.

        Each assumption moves the effect at most as far down, and as far up, as its other values do. These distances and that of the seeds' interval are
        added as independent ones, by the root of the sum of their squares, since several assumptions may be wrong at once. Factors are added by their logarithms:
        a replication whose value is zero moves a factor without a bound, so the interval then ends at zero or at infinity.
        """
        mine = self.effect(change, criterion)
        if mine.low is None or mine.high is None:
            return mine
        of, back = (_log, _exp) if criterion.scale == "ratio" else (float, float)
        center = of(mine.estimate)
        moved: dict[tuple[str, str], list[float]] = {}
        for each in self.doubted:
            if change.name in each.values:
                found = moved.setdefault((each.doubt.family, each.doubt.why), [])
                found += _beyond(each.values, change, criterion)
                other = each.effect(change, criterion)
                if other.n and math.isfinite(other.estimate):
                    found.append(of(other.estimate) - center)
        chance = _beyond(self.values, change, criterion)
        below = [of(mine.low) - center, *chance, *(min(0.0, *found) for found in moved.values() if found)]
        above = [of(mine.high) - center, *chance, *(max(0.0, *found) for found in moved.values() if found)]
        low, high = (math.hypot(*(by for by in ends if by * sign > 0)) for ends, sign in ((below, -1), (above, 1)))
        return Interval(mine.estimate, back(center - low), back(center + high), mine.n)

    def effect(self, change: Change, criterion: Criterion) -> Interval:
        """What a change is worth on fresh seeds by a criterion: a difference or a factor with its 95 % interval, without a bound."""
        return criterion.effect(self.values[change.name][criterion.id], self.values[OWN][criterion.id])


def _beyond(values: Mapping[str, Mapping[str, Values]], change: Change, criterion: Criterion) -> list[float]:
    """How far replications with a value of zero, which has no logarithm, move a factor: without a bound."""
    if criterion.scale != "ratio":
        return []
    with_it, own = (values[name][criterion.id] for name in (change.name, OWN))
    ends = [-math.inf] if bool(np.any((with_it == 0) & (own > 0))) else []
    return ends + ([math.inf] if bool(np.any((with_it > 0) & (own == 0))) else [])


def _log(factor: float) -> float:
    return math.log(factor) if factor > 0 else -math.inf


def _exp(logarithm: float) -> float:
    return math.exp(logarithm) if logarithm < math.log(sys.float_info.max) else math.inf


def _shown(verdict: Verdict, change: str) -> Standing:
    """What is shown of a change by any criterion; open if nothing is and a criterion is open."""
    whole = verdict.standing(change, OWN)
    each = {verdict.standing(change, OWN, [criterion]) for criterion in verdict.criteria}
    shown = each & {Standing.BETTER, Standing.WORSE}
    if whole is Standing.UNFINISHED or not shown:
        return whole
    return Standing.TRADE if len(shown) > 1 else shown.pop()


class AdviceInterrupted(Interrupted):
    """Ctrl-C; `advice` is what is known."""

    def __init__(self, advice: Advice) -> None:
        self.advice = advice
        super().__init__(f"interrupted: {advice.runs} replications were finished")


class Advising:
    """Advice for a scenario.

    `goals` are those of `wifair.tuning.goals`; without goals the criteria of the scenario decide. `has` is the equipment: "openwrt", "linux", or "any",
    with which schemes are tried that no command sets. `marks` are the values that are assumed or unknown, and `population` are networks to compare with.
    Of several BSSs, `bss` names the one whose owner is advised. With `measured` the scenario as it is is compared with a measurement of the network.
    Bad input raises `InputError` before any run.
    """

    def __init__(
        self,
        scenario: Scenario,
        goals: Sequence[Goal],
        has: str = "any",
        marks: Sequence[Mark] = (),
        population: Mapping[str, Scenario] | None = None,
        bss: str = "",
        measured: Measurement | None = None,
    ) -> None:
        equipment(has)
        if measured:
            check(scenario, measured)
        scenario.check_bss(bss)
        several = bsss_of(scenario.plan())
        if len(several) > 1 and not bss:
            raise InputError(f"--bss: advice is for one BSS of several; allowed here: {', '.join(several)}.")
        if bss and population:
            raise InputError("--population: its networks have one BSS each; allowed here: a scenario of one BSS.")
        self.bss = bss
        self.given, self.measured = scenario, measured
        self.goals, self.population = tuple(goals), population
        self.place = place(scenario, population) if population else None
        self.scenario, self.remarks = with_probes(scenario, goals, bss)
        plan = judged_plan(self.scenario, bss)
        measurable.check(plan, goals)
        self.yardsticks = yardsticks(plan, goals)
        if not self.yardsticks:
            raise InputError(
                "goals: the scenario has nothing that advice could be judged by; allowed here: a goal, such as --want total."
            )
        self.total = total(plan, self.yardsticks)
        others = others_of(scenario.plan(), bss) if bss else []
        wanted = {name: yardsticks(judged_plan(self.scenario, name), ()) for name in others}
        self.others = {name: found for name, found in wanted.items() if found}
        self.settable = settable(self.scenario, has, bss)
        self.unsettable = unsettable(self.scenario, has, self.settable, bss)
        if not self.settable and not self.unsettable:
            raise InputError(f"--has: {has} has no setting that changes this scenario; allowed here: any.")
        self.marks = tuple(marks)
        self.doubts, self.unvaried = doubts(self.scenario, marks)
        self.flows = of_flows(plan)

    def run(
        self,
        threads: int | None = None,
        bars: Bars = no_bars,
        store: Store | None = None,
        dask: str | None = None,
    ) -> Advice:
        """Runs it. Replications in the store are not run again. Ctrl-C raises `AdviceInterrupted`.

        `dask` is a scheduler's address or "local", to run on that cluster.
        """
        changes = {change.name: change for change in (*self.settable, *self.unsettable)}
        advice = Advice(
            self.scenario,
            self.yardsticks,
            changes,
            self.remarks,
            self.total,
            bss=self.bss,
            others=self.others,
            unvaried=self.unvaried,
            marks=self.marks,
            place=self.place,
        )
        try:
            _Run(self, advice, threads, bars, store, dask).run()
        except (StudyInterrupted, KeyboardInterrupt):
            raise AdviceInterrupted(advice) from None
        return advice


@dataclass
class _Run:
    advising: Advising
    advice: Advice
    threads: int | None
    bars: Bars
    store: Store | None
    dask: str | None

    def run(self) -> None:
        advising, advice = self.advising, self.advice
        if advice.changes:
            self._look()
        if advising.measured:
            self._compare(advising.measured)
        advice.search = self._search("changes", advising.settable, "search")
        advice.best = self._best(advice.search)
        advice.beyond = self._search("schemes", advising.unsettable, "beyond")
        advice.best_beyond = self._best(advice.beyond)
        chosen = [change for change in (advice.best, advice.best_beyond) if change]
        if not chosen:
            return
        self._confirm(chosen)
        if advice.standing(chosen[0]) in (Standing.BETTER, Standing.TRADE):
            self._doubt(advising.doubts, chosen[0])
            for name in advice.place.nearest(NEAREST) if advice.place else ():
                self._try(name, chosen[0])

    def _search(self, what: str, changes: Sequence[Change], into: str) -> Verdict | None:
        """The verdict after the last stage."""
        if not changes:
            return None
        by_name = {change.name: change for change in changes}
        verdict = None
        race = rule.Race(OWN, list(by_name), self.advice.criteria, judging(self.advice.yardsticks))
        for verdict in race.run(lambda names, seeds: self._measure(what, names, seeds)):
            setattr(self.advice, into, verdict)
            self.advice.searched |= race.values
        return verdict

    def _look(self) -> None:
        """Nothing can be compared by a goal that has no value in the scenario as it is, so that is seen before any change runs.

        One replication tells. Only where it has no value the others of the first stage run too, and one of them may have one.
        """
        missing = list(self.advice.yardsticks)
        cells = self._cells([OWN], self.advice.scenario)
        for seeds in (range(1, 2), range(2, rule.STAGES[0] + 1)):
            if missing:
                with self.bars("the goals in the scenario as it is") as bar:
                    results = Study(cells, seeds).run(self.threads, bar, self.store, dask=self.dask)
                judged = self._judged(results)
                self.advice.remarks = (*self.advising.remarks, *line.waits(judged))
                own = found(judged, self.advice.plan, missing)[OWN]
                missing = [each for each in missing if not np.isfinite(own[each.criterion.id]).any()]
        for each in missing:
            raise InputError(
                f"goals: {each.title} has no value in any replication of the scenario as it is; allowed here: other goals (--want), or a "
                f"run.duration_s in which it is measured."
            )

    def _compare(self, measured: Measurement) -> None:
        """Compares the scenario as it was given with what was measured, since a flow that was added to it was not there."""
        given, seeds = self.advising.given, MEASURED_SEEDS
        with self.bars(f"the scenario as it is, seeds {seeds[0]} to {seeds[-1]}, next to what was measured") as bar:
            results = Study([Cell(OWN, given)], seeds).run(self.threads, bar, self.store, dask=self.dask)
        self.advice.runs += len(seeds)
        self.advice.as_it_is = as_it_is(results, measured, read_flows(given, self.advising.marks))

    def _best(self, verdict: Verdict | None) -> Change | None:
        name = rule.best(verdict, OWN) if verdict else None
        return self.advice.changes[name] if name else None

    def _cells(self, names: Sequence[str], scenario: Scenario) -> list[Cell]:
        """Raises `InputError` if a change does not go together with the scenario."""
        changes = self.advice.changes
        return [
            Cell(name, scenario if name == OWN else changes[name].applied(scenario), {"change": name}) for name in names
        ]

    def _results(self, title: str, cells: Sequence[Cell], seeds: Sequence[int]) -> Results:
        with self.bars(f"{title}, seeds {seeds[0]} to {seeds[-1]} of {len(cells)} scenarios") as bar:
            results = Study(cells, seeds).run(self.threads, bar, self.store, dask=self.dask)
        self.advice.runs += len(cells) * len(seeds)
        return results

    def _measure(self, title: str, names: Sequence[str], seeds: range) -> Mapping[str, Mapping[str, Values]]:
        advice = self.advice
        results = self._results(title, self._cells(names, advice.scenario), seeds)
        for name, by_bss in self._of_others(results).items():
            for bss, values in by_bss.items():
                mine = advice.others_searched.setdefault(name, {}).setdefault(bss, {})
                for key, more in values.items():
                    mine[key] = np.concatenate([mine[key], more]) if key in mine else more
        return found(self._judged(results), advice.plan, advice.shown)

    def _judged(self, results: Results) -> Results:
        """The results of the BSS that is judged."""
        return results.of_bss(self.advice.bss) if self.advice.bss else results

    def _of_others(self, results: Results) -> dict[str, dict[str, dict[str, Values]]]:
        """The values of the others, by scenario, BSS and criterion."""
        by_name: dict[str, dict[str, dict[str, Values]]] = {}
        for bss, wanted in self.advice.others.items():
            values = found(results.of_bss(bss), judged_plan(self.advice.scenario, bss), wanted)
            for name, mine in values.items():
                by_name.setdefault(name, {})[bss] = mine
        return by_name

    def _confirm(self, chosen: Sequence[Change]) -> None:
        advice, plan = self.advice, self.advice.plan
        seeds = range(FIRST_FRESH, FIRST_FRESH + rule.FRESH)
        names = [OWN, *(change.name for change in chosen)]
        results = self._results("confirmation", self._cells(names, advice.scenario), seeds)
        advice.values = found(self._judged(results), plan, advice.shown)
        advice.others_fresh = self._of_others(results)
        advice.confirmed = rule.verdict(advice.values, advice.criteria, judging(advice.yardsticks))
        advice.fresh = results
        runs = Runs.of(self._judged(results))
        of_flows = {name: {c.id: c.values(runs.cell(change=name)) for c in self.advising.flows} for name in names}
        advice.flows = rule.verdict(of_flows, self.advising.flows)

    def _doubt(self, doubts: Sequence[Doubt], change: Change) -> None:
        """All other values run as one batch, so that no processor waits for the last run of each."""
        seeds = range(FIRST_FRESH, FIRST_FRESH + DOUBT_SEEDS)
        studies: dict[int, Study] = {}
        refused: dict[int, str] = {}
        for i, doubt in enumerate(doubts):
            try:
                studies[i] = Study(self._cells([OWN, change.name], doubt.scenario), seeds)
            except InputError as error:
                refused[i] = str(error)
        unfinished: StudyInterrupted | None = None
        with self.bars(f"{len(studies)} other values of what is assumed") as bar:
            try:
                results = run_studies([*studies.values()], self.threads, bar, self.store, dask=self.dask)
            except StudyInterrupted as interruption:
                unfinished, results = interruption, interruption.results
        shown = dict(zip(studies, results, strict=True))
        for i, doubt in enumerate(doubts):
            if i in refused:
                self.advice.doubted.append(Doubted(doubt, None, refused[i]))
            elif shown[i].missing:
                self.advice.undoubted += 1
            else:
                self.advice.doubted.append(self._doubted(doubt, shown[i]))
        self.advice.runs += sum(2 * DOUBT_SEEDS - each.missing for each in results)
        if unfinished:
            raise unfinished

    def _doubted(self, doubt: Doubt, results: Results) -> Doubted:
        """What the runs with another value of an assumption show."""
        advice = self.advice
        values = found(self._judged(results), judged_plan(doubt.scenario, advice.bss), advice.shown)
        verdict = rule.verdict(values, advice.criteria, judging(advice.yardsticks))
        return Doubted(doubt, verdict, values=values, results=results)

    def _try(self, name: str, change: Change) -> None:
        """The change in a network of the population, by the goals that can be measured there."""
        assert self.advising.population is not None
        goals = self.advising.goals
        try:
            scenario, _ = with_probes(self.advising.population[name], goals)
            wanted = yardsticks(scenario.plan(), goals)
            cells = self._cells([OWN, change.name], scenario)
        except InputError as error:
            self.advice.tried.append(Tried(name, None, str(error)))
            return
        results = self._results(f"near this one: {name}", cells, range(FIRST_FRESH, FIRST_FRESH + rule.FRESH))
        values = found(results, scenario.plan(), wanted)
        there = tuple(each for each in wanted if np.isfinite(values[OWN][each.criterion.id]).any())
        criteria = [each.criterion for each in there]
        verdict = rule.verdict(values, criteria, judging(there)) if there else None
        self.advice.tried.append(Tried(name, verdict, "" if there else "no goal has a value there"))
