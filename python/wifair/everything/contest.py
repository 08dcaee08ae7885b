"""The runs of every scheme in every setting with the same seeds, and the verdict on each setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wifair.errors import InputError
from wifair.everything.contenders import Contender, contenders
from wifair.everything.criteria import Plan, criteria, unfinished
from wifair.everything.scenarios import Staged, staged
from wifair.everything.senders import Senders
from wifair.everything.verdict import Verdict
from wifair.papers.runs import Runs
from wifair.study.job import Cell
from wifair.study.study import Study

if TYPE_CHECKING:
    from wifair.results.results import Results
    from wifair.study.job import Progress
    from wifair.study.store import Store

# Replications of each form. With 19 schemes and 4 criteria the rule's intervals are 3 times as wide with 6 as with 20, and 19
# times with 3.
SEEDS = {"full": 20, "quick": 6}
# Groups with a larger share of unfinished transfers are reported, because their mean time is too short.
MANY_UNFINISHED = 0.05


@dataclass(frozen=True)
class Setting:
    """A setting: a scenario with its hosts."""

    staged: Staged
    senders: Senders
    plan: Plan
    cells: Mapping[str, Cell]
    # The reasons of rejected schemes, as in the error message.
    refused: Mapping[str, str]

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


@dataclass(frozen=True)
class Contest:
    """The settings, schemes and seeds to run."""

    form: str
    seeds: int
    contenders: tuple[Contender, ...]
    settings: tuple[Setting, ...]

    @classmethod
    def of(
        cls,
        form: str,
        scenarios: Sequence[str] = (),
        schemes: Sequence[str | Mapping[str, Any]] = (),
        seeds: int | None = None,
    ) -> Contest:
        """The contest of a form; every scenario and scheme, or those named."""
        among = tuple(contenders(schemes))
        settings = [
            _setting(scenario, senders, form, among) for scenario in staged(scenarios) for senders in scenario.senders
        ]
        return cls(form, SEEDS[form] if seeds is None else seeds, among, tuple(settings))

    def study(self) -> Study:
        """All runs as one study."""
        cells = [
            Cell(f"{setting.id}/{name}", cell.scenario, cell.keys)
            for setting in self.settings
            for name, cell in setting.cells.items()
        ]
        return Study(cells, self.seeds, f"everything against everything, {self.form}")

    def run(self, threads: int | None = None, progress: Progress | None = None, store: Store | None = None) -> Results:
        """Runs the replications that the store does not have."""
        return self.study().run(threads, progress, store)

    def judge(self, results: Results) -> list[Judged]:
        """The verdict on each setting."""
        runs = Runs.of(results)
        return [_judged(setting, runs) for setting in self.settings]


def _setting(scenario: Staged, senders: Senders, form: str, among: Sequence[Contender]) -> Setting:
    base = senders.applied(scenario.scenario(form))
    cells: dict[str, Cell] = {}
    refused: dict[str, str] = {}
    for contender in among:
        keys = {"scenario": scenario.id, "senders": senders.id, "scheme": contender.name}
        try:
            cells[contender.name] = Cell(contender.name, contender.applied(base, senders.ack_filter), keys)
        except InputError as error:
            refused[contender.name] = str(error)
    return Setting(scenario, senders, base.plan(), cells, refused)


def _judged(setting: Setting, runs: Runs) -> Judged:
    found = {name: runs.cell(**cell.keys) for name, cell in setting.cells.items()}
    wanted = criteria(setting.plan)
    values = {c.id: np.stack([c.values(own) for own in found.values()]) for c in wanted}
    cautions = {}
    for name, own in found.items():
        shares = {group: share for group, share in unfinished(own).items() if share > MANY_UNFINISHED}
        if shares:
            told = ", ".join(f"{100 * share:.0f} % of `{group}`" for group, share in shares.items())
            cautions[name] = f"transfers that did not end: {told}"
    return Judged(setting, Verdict(tuple(found), tuple(wanted), values), cautions)
