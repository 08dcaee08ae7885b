"""The functions that most scripts need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from wifair.analysis.comparison import Differences, decided, paired
from wifair.analysis.precision import Precision, needed
from wifair.analysis.sweep import label
from wifair.errors import InputError
from wifair.everything.contenders import PLAIN, REFERENCE, contenders
from wifair.keys import nearest, unknown
from wifair.papers import Asked, Reproduction, find
from wifair.results.results import Results
from wifair.scenario.components import components
from wifair.scenario.scenario import Scenario
from wifair.scheme import Scheme
from wifair.scheme.python import PythonScheme, named
from wifair.study.job import Cell
from wifair.study.store import Store, opened
from wifair.study.study import Study
from wifair.study.traces import Traces

if TYPE_CHECKING:
    from wifair.everything.shares import Shares
    from wifair.population import Population

SchemeLike: TypeAlias = str | Mapping[str, Any] | type[Scheme] | Scheme


def load(path: str | Path) -> Scenario:
    """The scenario in a TOML file."""
    return Scenario.from_toml(path)


def run(
    scenario: Scenario,
    seeds: int | Iterable[int] = 10,
    threads: int | None = None,
    store: Store | str | Path | None = None,
    traces: Traces | None = None,
) -> Results:
    """Runs replications of one scenario. Those in the store are not run again, unless `traces` is given."""
    return scenario.run(seeds, threads, store, traces)


def compare(
    scenario: Scenario,
    schemes: Sequence[SchemeLike] | None = None,
    seeds: int | Iterable[int] = 10,
    threads: int | None = None,
    store: Store | str | Path | None = None,
    bss: str = "",
) -> Results:
    """Runs the scenario under each of the schemes with common random numbers (the same seeds).

    A scheme is a name, a table of a name and parameters, or the class (or an instance) of a scheme written in Python.
    Default: tail drop, `mac80211` and the scenario's own scheme. Of several BSSs the schemes are those of the access point of `bss`, by default of
    the first. `Results.of_bss(bss)` are the results of its flows, and `side_effects` says what the others get.
    """
    return comparison(scenario, schemes, seeds, bss=bss).run(threads, store=store)


def judge(
    scenarios: Population | Mapping[str, Scenario] | Scenario | str | Path,
    schemes: Sequence[SchemeLike] | None = None,
    seeds: int | None = None,
    threads: int | None = None,
    store: Store | str | Path | None = None,
) -> Shares:
    """Runs schemes in many scenarios, and judges each by the rule of `wifair compare --all`: the answer in shares.

    `scenarios` are a population, scenarios by name, a folder of scenario files, or one scenario or file. Default: every scheme;
    20 replications, and 40 or 64 of what is undecided then. `seeds` fixes the number of replications (2 or more).
    """
    from wifair.everything.contest import Contest  # slow to import, and only needed here
    from wifair.everything.scenarios import Own, in_folder
    from wifair.everything.shares import Shares, with_reference
    from wifair.population import Population

    if seeds is not None and seeds < 2:
        raise InputError(f"seeds: {seeds} is not allowed; allowed here: 2 or more, since one run has no interval.")
    if isinstance(scenarios, (str, Path)):
        path, words = Path(scenarios), [str(scenarios)]
        found = in_folder(path) if path.is_dir() else [Own(path.stem, Scenario.from_toml(path))]
    else:
        given = scenarios.scenarios if isinstance(scenarios, Population) else scenarios
        named_ones = {given.title or "scenario": given} if isinstance(given, Scenario) else given
        found, words = [Own(name, each) for name, each in named_ones.items()], ["DIR"]
    contest = Contest.on_all(found, words, with_reference([named(scheme) for scheme in schemes or ()]), seeds)
    return Shares(contest, contest.run(threads, opened(store)).settings)


def differences(results: Results, metrics: Sequence[str] = (), against: str | None = None) -> Differences:
    """Paired differences of every scenario against the first one (or `against`).

    Without `metrics`: by all that are compared, with Holm's correction over all pairs of scenarios, as the marks of the
    best follow it. With `metrics`: by these, with Holm's correction over the rows returned.
    """
    names = [cell.name for cell in results.cells]
    reference = against or names[0]
    if reference not in names:
        hint = nearest(reference, names)
        asked = f" Did you mean {hint}?" if hint else ""
        raise InputError(
            f"there is no scenario {reference!r} in these results.{asked} Allowed here: {', '.join(names)}."
        )
    pairs = [(name, reference) for name in names if name != reference]
    return paired(results, pairs, metrics) if metrics else decided(results).only(pairs)


def seeds_needed(results: Results, *precision: str) -> pl.DataFrame:
    """The number of seeds for 95 % intervals of these half-widths, as "jain=0.01" or "total_mbps=2%": a row per scenario.

    User-defined metrics in `results` have their names, too.
    """
    return needed(results, [Precision.parse(wish, list(results.units)) for wish in precision])


def paper(
    paper_id: str,
    form: Literal["quick", "full"] = "quick",
    figure: str | None = None,
    seeds: int | None = None,
    threads: int | None = None,
    store: Store | str | Path | None = None,
    reading: str | None = None,
) -> Reproduction:
    """Runs a paper's study, one figure's part of it, or one reading against the baseline: verdicts, figures, results."""
    title = f"{paper_id}, {form}"
    return find(paper_id).reproduce(Asked(form, figure, seeds, threads, None, opened(store), title, reading))


def usual_schemes(scenario: Scenario, bss: str = "") -> list[Any]:
    """Tail drop, Linux's `mac80211`, and the scenario's own scheme."""
    own = scenario.own_scheme(bss) or PLAIN
    return list({label(value): value for value in (PLAIN, REFERENCE, own)}.values())


def comparison(
    scenario: Scenario, schemes: Sequence[SchemeLike] | None, seeds: int | Iterable[int], title: str = "", bss: str = ""
) -> Study:
    """The study behind `compare`: one cell per scheme, named after it. Without `schemes`, the usual ones."""
    scenario.check_bss(bss, "bss")
    schemes = usual_schemes(scenario, bss) if schemes is None else schemes
    chosen = {label(value): value for value in map(named, schemes)}
    if len(chosen) < max(len(schemes), 1):
        listed = ",".join(label(named(value)) for value in schemes)
        raise InputError(f"schemes: {listed!r} must name at least one scheme, and none twice.")
    cells = [Cell(name, _under(scenario, value, bss), {"scheme": name}) for name, value in chosen.items()]
    return Study(cells, seeds, title)


def _under(scenario: Scenario, value: Any, bss: str) -> Scenario:
    """The scenario under a scheme, a limit controller, or a contender that also changes the senders."""
    name = value if isinstance(value, str) else value.get("name")
    schemes = [listed["name"] for listed in components("schemes")]
    if isinstance(name, PythonScheme) or name in schemes or not isinstance(name, str):
        # The scenario's own scheme keeps its parameters; the others run with their defaults.
        return scenario.override({scenario.scheme_key(bss): value})
    known = {contender.name: contender for contender in contenders()}
    if name not in known:
        raise unknown("scheme", name, [*known, "FILE.py:CLASS"], "schemes: ")
    [contender] = contenders([value])
    return contender.applied(scenario, bss=bss)
