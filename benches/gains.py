"""How far predicted gains are from those in networks that were only observed: by one dump, by a dump per second, and with captures as well.

    .venv/bin/python benches/gains.py --seed N [--count N] [--rows DIR] [--threads N] [--page docs/advise.md]

1. The networks are those of `wifair population` with this seed, kind by kind in turn, as in benches/closed_loop.py: the first `--count` of each kind.
2. Each runs for 60 s, as its access point shows it: with one station dump, with a dump per second, with a capture of its interface as well, and with one of its radio besides. `import` makes a scenario of each.
3. Each of `CHANGES` is made in the network and in these scenarios, which run with ten seeds before and after it. Its gain is the mean difference of the goal's value, or of
   its logarithm if gains are factors.

The error is the absolute difference between the gain in the scenario and in the network, a mean over the changes of a network. The table has means over networks with 95 % intervals, and in
the last columns the error without any prediction: the absolute gain itself, and by how much the capture of the interface makes the error smaller than the dump per second has it. Networks in which a goal has no value in one of the five do not count for it. Rows are kept in DIR, and
the same command continues where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from closed_loop import CAPTURE, DRAWN_WANTS, SHOWN, Network, drawn
from numpy.typing import ArrayLike
from wifair import Scenario, Traces
from wifair.advising import OWN, Advising
from wifair.advising.yardsticks import yardsticks
from wifair.errors import InputError
from wifair.everything.criteria import Criterion
from wifair.markdown import Marks, table
from wifair.observed import imported
from wifair.observed.as_ap import INFO, STATION, SURVEY, sampled, write
from wifair.stats import t_interval
from wifair.study.job import Cell
from wifair.study.study import Study
from wifair.tuning.goals import parsed

COMMAND = "benches/gains.py"
CHANGES = ("stations' CWmin 63", "stations' AIFSN 7 and CWmin 31", "256 packets", "AP's AIFSN 2 and CWmin 7")
SEEDS, DURATION_S = 10, 30
ONE, MANY, INTERFACE, RADIO, TRUE = (
    "one dump",
    "a dump per second",
    "a capture of the interface",
    "one of the radio as well",
    "the network",
)
WIRE = "ap-wire.pcapng"
DUMPS = (STATION, SURVEY, INFO)
# By what is observed: whether the station dump is one per second, and the files.
SHOWN_BY = {
    ONE: (False, DUMPS),
    MANY: (True, DUMPS),
    INTERFACE: (True, (*DUMPS, WIRE)),
    RADIO: (True, (*DUMPS, CAPTURE, WIRE)),
}
# By scenario, goal and change, the gain.
Gains = dict[str, dict[str, dict[str, float]]]


def scenarios(network: Network) -> dict[str, Scenario]:
    """The network, and what `import` makes of it."""
    true = network.scenario()
    found = {TRUE: true}
    for name, (is_series, files) in SHOWN_BY.items():
        shown = sampled(true) if is_series else true
        with tempfile.TemporaryDirectory() as folder:
            write(shown.run(seeds=[SHOWN[0]], traces=Traces(folder) if WIRE in files else None), folder)
            found[name] = imported([Path(folder) / f"seed-{SHOWN[0]}" / file for file in files]).scenario()
    return found


def gains(scenario: Scenario, want: str, threads: int | None) -> dict[str, float]:
    """The gain of each change, on the scale on which the goal is compared; none for a goal without a value."""
    try:
        advising = Advising(scenario, parsed([want]), "linux", [])
        cells = [Cell(OWN, scenario.override({"run.duration_s": DURATION_S}))]
        changes = {change.name: change for change in advising.settable}
        cells += [Cell(name, changes[name].applied(cells[0].scenario)) for name in CHANGES if name in changes]
        results = Study(cells, range(1, SEEDS + 1)).run(threads)
    except InputError:
        return {}
    [goal] = advising.goals
    criterion = _criterion(scenario, want)
    results = results.with_metrics(*([goal.own] if goal.own else []))
    merit = {cell.name: criterion.merit(results.values(cell.name, goal.metric).to_numpy()) for cell in cells}
    found = {name: float(np.nanmean(each) - np.nanmean(merit[OWN])) for name, each in merit.items() if name != OWN}
    return {name: gain for name, gain in found.items() if np.isfinite(gain)}


def _criterion(scenario: Scenario, want: str) -> Criterion:
    return yardsticks(scenario.plan(), parsed([want]))[0].criterion


def row(network: Network, threads: int | None) -> Gains:
    """The gains in a network and in its imported scenarios."""
    try:
        made = scenarios(network)
    except InputError:
        return {}
    return {name: {want: gains(each, want, threads) for want in DRAWN_WANTS} for name, each in made.items()}


def errors(found: Sequence[Gains], want: str) -> dict[str, list[float]]:
    """The error of each network, by what was observed; without a prediction by the name of the network."""
    by: dict[str, list[float]] = {name: [] for name in (*SHOWN_BY, TRUE)}
    for each in found:
        mine = {name: each.get(name, {}).get(want, {}) for name in by}
        common = set.intersection(*(set(gain) for gain in mine.values()))
        if not common:
            continue
        true = {name: mine[TRUE][name] for name in common}
        for name in SHOWN_BY:
            by[name].append(_error(mine[name], true))
        by[TRUE].append(_error(dict.fromkeys(true, 0.0), true))
    return by


def _error(predicted: Mapping[str, float], true: Mapping[str, float]) -> float:
    return float(np.mean([abs(predicted[name] - true[name]) for name in true]))


def written(values: ArrayLike, criterion: Criterion) -> str:
    """A mean error with its interval: a difference, or a factor."""
    found = t_interval(values)
    ends = [found.estimate, found.low or 0.0, found.high or 0.0]
    if criterion.scale == "ratio":
        return "× {:.2f} [{:.2f}, {:.2f}]".format(*np.exp(ends))
    return "{:.3f} [{:.3f}, {:.3f}]".format(*ends)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=6)
    parser.add_argument("--rows", type=Path, default=Path("results/gains"))
    parser.add_argument("--threads", type=int)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    folder = given.rows / f"seed-{given.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    found: list[Gains] = []
    networks = drawn(given.seed, given.count)
    for number, network in enumerate(networks, 1):
        path = folder / f"{number:02}.json"
        if not path.exists():
            began = time.perf_counter()
            path.write_text(json.dumps(row(network, given.threads)), encoding="utf-8")
            print(
                f"{number} of {len(networks)}: {network.name}, {time.perf_counter() - began:.0f} s",
                file=sys.stderr,
                flush=True,
            )
        found.append(json.loads(path.read_text(encoding="utf-8")))
    any_scenario = networks[0].scenario()
    rows = []
    for want in DRAWN_WANTS:
        by = errors(found, want)
        if len(by[TRUE]) < 2:
            continue
        criterion = _criterion(any_scenario, want)
        rows.append(
            (
                f"`{want}`",
                f"{len(by[TRUE])}",
                *(written(values, criterion) for values in by.values()),
                written(np.array(by[MANY]) - by[INTERFACE], criterion),
            )
        )
    heads = (
        "goal",
        "networks",
        *(f"error by {name}" for name in (ONE, MANY)),
        f"with {INTERFACE}",
        f"with {RADIO}",
        "without a prediction",
        "less by the interface",
    )
    made = table(heads, rows)
    print(made)
    if given.page:
        Marks(f"gains-seed-{given.seed}", COMMAND).write(given.page, made)


if __name__ == "__main__":
    main()
