"""The runs of every scheme in every setting with the same seeds, stage by stage, and the verdict on each setting."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from wifair.analysis.sweep import label
from wifair.errors import InputError
from wifair.everything.contenders import REFERENCE, Contender, contenders, with_defaults
from wifair.everything.criteria import UNFINISHED, Plan, criteria, measured
from wifair.everything.scenarios import FULL, Own, Staged, staged
from wifair.everything.senders import Senders
from wifair.everything.verdict import Standing, Verdict
from wifair.papers.runs import Runs
from wifair.results.results import merged
from wifair.scenario.overrides import parse_assignments
from wifair.stats import t_interval
from wifair.study.job import Bars, Cell, no_bars
from wifair.study.study import Study

if TYPE_CHECKING:
    from wifair.results.results import Results
    from wifair.scenario.scenario import Scenario
    from wifair.stats import Values
    from wifair.study.store import Store

# The planned stages of each form, in replications. With 19 schemes and 4 criteria the rule's intervals are 3 times as wide with
# 6 as with 20.
STAGES = {"full": (20, 40, 64), "quick": (6,)}
# No more replications are run once at most this share of the schemes' standings against the reference is undecided.
UNDECIDED = 0.1
# A scheme under which a larger share of transfers is shown not to end cannot be recommended.
MANY_UNFINISHED = 0.05

# By scheme, what was measured (`wifair.everything.criteria.measured`).
Measured: TypeAlias = Mapping[str, Mapping[str, "Values"]]


@dataclass(frozen=True)
class Setting:
    """A setting: a scenario with its hosts."""

    staged: Staged
    senders: Senders
    plan: Plan
    cells: Mapping[str, Cell]
    # The reasons of rejected schemes, as in the error message.
    refused: Mapping[str, str]
    # The scheme that is there before any change.
    own: str = REFERENCE

    @property
    def hardware(self) -> str:
        """What lies below the AP's scheme."""
        return str(self.plan["bss"]["ap"]["hardware"]["name"])

    @property
    def id(self) -> str:
        """Its name in tables and in the store."""
        return f"{self.staged.id}/{self.senders.id}"


@dataclass(frozen=True)
class Judged:
    """A setting with its verdict, and remarks on single schemes."""

    setting: Setting
    verdict: Verdict
    cautions: Mapping[str, str]
    measured: Measured = field(default_factory=dict)

    @property
    def undecided(self) -> list[str]:
        """The schemes whose standing against the reference is undecided."""
        verdict = self.verdict
        if REFERENCE not in verdict.contenders or not verdict.judged:
            return []
        others = [name for name in verdict.contenders if name != REFERENCE]
        return [name for name in others if verdict.standing(name, REFERENCE) is Standing.OPEN]

    @property
    def undecided_with_reference(self) -> list[str]:
        """These, and the reference if there are any."""
        return [*self.undecided, REFERENCE] if self.undecided else []

    @property
    def standings(self) -> int:
        """The number of schemes that have a standing against the reference."""
        return len(self.verdict.contenders) - 1 if REFERENCE in self.verdict.contenders else 0


def undecided_share(settings: Sequence[Judged]) -> float:
    """The share of undecided standings against the reference."""
    return sum(len(judged.undecided) for judged in settings) / max(sum(judged.standings for judged in settings), 1)


@dataclass(frozen=True)
class Contest:
    """The settings, schemes and planned stages, in replications."""

    form: str
    stages: tuple[int, ...]
    contenders: tuple[Contender, ...]
    settings: tuple[Setting, ...]
    # The command that runs it.
    command: str

    @classmethod
    def of(
        cls,
        form: str,
        scenarios: Sequence[str] = (),
        schemes: Sequence[str | Mapping[str, Any]] = (),
        seeds: int | None = None,
        settings: Sequence[str] = (),
    ) -> Contest:
        """The contest of a form; every scenario and scheme, or those named. `seeds` fixes the number of replications.

        `settings` are the options `--set`, which change every scenario.
        """
        among = tuple(contenders(schemes))
        changes = dict(parse_assignments(settings))
        made = [
            setting_of(
                scenario, senders, with_defaults(senders.applied(scenario.scenario(form)).override(changes)), among
            )
            for scenario in staged(scenarios)
            for senders in scenario.senders
        ]
        words = ["wifair", "compare", "--all", f"--{form}", *_sets(settings), *_options(scenarios, schemes, seeds)]
        return cls(form, STAGES[form] if seeds is None else (seeds,), among, tuple(made), shlex.join(words))

    @classmethod
    def on(
        cls,
        scenario: Own,
        schemes: Sequence[str | Mapping[str, Any]] = (),
        seeds: int | None = None,
        settings: Sequence[str] = (),
    ) -> Contest:
        """The contest on one scenario of the user's, with the scheme that it has among them. A limit that it sets holds under every scheme.

        `settings` are the options `--set` with which the scenario was read.
        """
        return cls.on_all([scenario], [f"{scenario.id}.toml", "--judge"], schemes, seeds, settings)

    @classmethod
    def on_all(
        cls,
        scenarios: Sequence[Own],
        named: Sequence[str],
        schemes: Sequence[str | Mapping[str, Any]] = (),
        seeds: int | None = None,
        settings: Sequence[str] = (),
    ) -> Contest:
        """The contest on several scenarios of the user's, which the command names as `named`. Otherwise as `on`."""
        among = contenders(schemes)
        for own in (scenario.scheme for scenario in scenarios):
            if label(own) not in {contender.name for contender in among}:
                among += contenders([own])
        made = [
            replace(setting_of(scenario, senders, scenario.given, among), own=label(scenario.scheme))
            for scenario in scenarios
            for senders in scenario.senders
        ]
        words = ["wifair", "compare", *named, *_sets(settings), *_options((), schemes, seeds)]
        return cls(FULL, STAGES[FULL] if seeds is None else (seeds,), tuple(among), tuple(made), shlex.join(words))

    def run(self, threads: int | None = None, store: Store | None = None, bars: Bars = no_bars) -> Outcome:
        """Runs the replications that the store does not have, stage by stage.

        After each stage, only schemes whose standing against the reference is undecided get more replications, and so does the
        reference in their settings. It ends when few standings are undecided (`UNDECIDED`), or after the last stage.
        """
        wanted = {(setting.id, name) for setting in self.settings for name in setting.cells}
        parts: list[Results] = []
        done = 0
        for stage in self.stages:
            with bars(f"replications {done + 1} to {stage} of {len(wanted)} cells") as bar:
                parts.append(self._study(wanted, range(done + 1, stage + 1)).run(threads, bar, store))
            done, results = stage, merged(parts)
            settings = self.judge(results)
            if undecided_share(settings) <= UNDECIDED:
                break
            wanted &= {(judged.setting.id, name) for judged in settings for name in judged.undecided_with_reference}
        return Outcome(settings, results)

    def judge(self, results: Results) -> list[Judged]:
        """The verdict on each setting."""
        runs = Runs.of(results)
        found = [
            {name: measured(setting.plan, runs.cell(**cell.keys)) for name, cell in setting.cells.items()}
            for setting in self.settings
        ]
        return [judged(setting, mine, len(self.stages)) for setting, mine in zip(self.settings, found, strict=True)]

    def _study(self, wanted: Set[tuple[str, str]], seeds: range) -> Study:
        cells = [
            Cell(f"{setting.id}/{name}", cell.scenario, cell.keys)
            for setting in self.settings
            for name, cell in setting.cells.items()
            if (setting.id, name) in wanted
        ]
        return Study(cells, seeds, f"everything against everything, {self.form}, from seed {seeds[0]}")


@dataclass(frozen=True)
class Outcome:
    """The verdicts, and the runs behind them."""

    settings: Sequence[Judged]
    results: Results


def _sets(settings: Sequence[str]) -> list[str]:
    """The options `--set` of a command."""
    return [word for each in settings for word in ("--set", each)]


def _options(scenarios: Sequence[str], schemes: Sequence[str | Mapping[str, Any]], seeds: int | None) -> list[str]:
    """The options of a command that names less than everything."""
    given = {"--scenarios": scenarios, "--schemes": [label(scheme) for scheme in schemes]}
    told = [word for option, names in given.items() if names for word in (option, ",".join(names))]
    return told + (["--seeds", f"{seeds}"] if seeds is not None else [])


def setting_of(scenario: Staged, senders: Senders, base: Scenario, among: Sequence[Contender]) -> Setting:
    """The setting with a cell per scheme, or the reason why it cannot run there."""
    cells: dict[str, Cell] = {}
    refused: dict[str, str] = {}
    for contender in among:
        keys = {"scenario": scenario.id, "senders": senders.id, "scheme": contender.name}
        try:
            cells[contender.name] = Cell(contender.name, contender.applied(base, senders.ack_filter), keys)
        except InputError as error:
            refused[contender.name] = str(error)
    return Setting(scenario, senders, base.plan(), cells, refused)


def judged(setting: Setting, found: Measured, stages: int) -> Judged:
    """The verdict on a setting from what was measured there."""
    wanted = criteria(setting.plan)
    counts = tuple(len(next(iter(own.values()))) for own in found.values())
    most = max(counts, default=0)
    values = {c.id: np.stack([filled(own[c.id], most) for own in found.values()]) for c in wanted} if found else {}
    cautions = {name: caution for name, own in found.items() if (caution := unfinished(own))}
    verdict = Verdict(tuple(found), tuple(wanted), values, counts, frozenset(cautions), stages)
    return Judged(setting, verdict, cautions, found)


def unfinished(found: Mapping[str, Values]) -> str:
    """The transfers of which many do not end, with their share; empty if there are none. `found` is what was measured of a scheme."""
    shares = {what: t_interval(each) for what, each in found.items() if what.startswith(UNFINISHED)}
    many = {what: share for what, share in shares.items() if (share.low or 0.0) > MANY_UNFINISHED}
    told = (f"{100 * share.estimate:.0f} % of `{what.removeprefix(UNFINISHED)}`" for what, share in many.items())
    return ", ".join(told)


def filled(values: Values, count: int) -> Values:
    """The values, with NaN for the replications that others have in addition."""
    return np.append(values, np.full(count - len(values), np.nan))
