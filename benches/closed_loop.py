"""The closed loop without hardware: does the gain that is predicted from what an access point shows hold in the network that was only observed?

    .venv/bin/python benches/closed_loop.py [--only N…] [--kept] [--as-imported] [--seed N] [--rows DIR] [--store DIR] [--threads N] [--page docs/advise.md]

1. The network runs, and its access point shows it three times (`run --as-ap`, 60 s each, with a station dump per second).
2. `import` makes a scenario of the first time. `fit` searches what it assumes, with two of the times, and the third decides; without a fit the scenario stays as
   it was imported. `--as-imported` leaves this step out, and writes a table apart, with the number of quantities in which `advise --measured` says that runs of the
   scenario differ from the first time.
3. `advise` says what to change in that scenario, and what that is worth.
4. The change is made in the network itself, which runs with 24 seeds before and after it.

The prediction holds if the network's gain lies within the predicted interval, which is for chance and for what is assumed together, widened by what the interval of
the network's gain leaves open. Whether it also holds by chance alone is listed as well, and how many of the changes make the network better and worse. Where the advice is to leave the network as it is, the change that led the search, or that with the largest
gain in it, is made all the same: the advice was wrong if that gains more than what matters.

Networks are those of the gallery, and those of `wifair population --seed 7`, kind by kind in turn, in this order until ten networks have a predicted gain. The order and the
goal of each were written down before the first of them was run. `--seed N` takes those of another seed instead, without the gallery: networks that nobody has looked
at. Each row is kept in DIR; `--only N` runs these networks again, and a row of another N stays. `--kept`
runs none, and writes the rows that are there. Finished replications are in the store, so that the same command continues where it was stopped.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from wifair import Scenario, Traces, load
from wifair.advising import OWN, Advice, Advising, rule
from wifair.advising.changes import Change
from wifair.advising.wording import is_advised
from wifair.errors import InputError
from wifair.everything.criteria import Criterion
from wifair.everything.verdict import Standing
from wifair.fitting import Fitting, measurement
from wifair.fitting.wording import missed
from wifair.fitting.written import text as fitted_text
from wifair.markdown import Marks, table
from wifair.observed import imported
from wifair.observed.as_ap import INFO, STATION, SURVEY, sampled, write
from wifair.observed.calibration import NEIGHBOURS
from wifair.observed.origins import marks
from wifair.observed.written import text
from wifair.population import Population
from wifair.stats import Interval, Values
from wifair.study.job import Cell
from wifair.study.store import Store
from wifair.study.study import Study
from wifair.tuning.goals import parsed

MARK, COMMAND = "closed-loop", "benches/closed_loop.py"
AP = {"ap.scheme": "mac80211", "ap.hardware": "firmware", "mac.edca.classify": "dscp", "run.duration_s": 60}
# Seeds of what the access point shows, and of what the change does in the network.
SHOWN = range(5001, 5004)
TRUTH = range(6001, 6025)
RUNS = 120
CAPTURE = "ap-air.pcapng"
FIRST = f"seed-{SHOWN[0]}"
# So many networks shall have a predicted gain.
ENOUGH = 10
# Drawn networks: their seed, how many of each kind may be needed, next to the gallery or alone, and their goals in turn.
DRAWN_SEED, DRAWN, DRAWN_ALONE = 7, 6, 12
DRAWN_KINDS = ("home", "cafe", "office", "classroom")
DRAWN_WANTS = ("fair shares", "round trips", "total")


@dataclass(frozen=True)
class Network:
    """A network of the gallery, or one drawn with `seed`, with other settings, and the goal of its owner.

    `others_mbps` is a load of other networks, in datagrams at MCS 0. With `captured`, the access point's radio was captured as well: counters do not show how
    many flows a station has.
    """

    name: str
    about: str
    want: str
    settings: dict[str, Any]
    others_mbps: float = 0.0
    captured: bool = False
    seed: int | None = None

    def scenario(self) -> Scenario:
        """The network itself."""
        base = load(self.name) if self.seed is None else _population(self.seed).scenarios[self.name]
        settings = base.override({**AP, **self.settings}).settings()
        if self.others_mbps:
            udp = {"name": "udp", "rate_mbps": self.others_mbps, "arrivals": "poisson"}
            station = {"name": NEIGHBOURS, "streams": 1, "mcs": 0}
            flow = {"name": NEIGHBOURS, "station": NEIGHBOURS, "direction": "up", "application": udp}
            settings["stations"] = [*settings["stations"], station]
            settings["flows"] = [*settings["flows"], flow]
        return Scenario.from_settings(settings)


@cache
def _population(seed: int) -> Population:
    return Population(DRAWN_KINDS, DRAWN_ALONE, seed)


THIRTY = {"stations[0].count": 18, "stations[1].count": 12, "flows[0].count": 16, "flows[1].count": 8}
ERRORS = {"stations[1].frame_error_rate": {"data_down": 0.08, "data_up": 0.08}}
GALLERY = (
    Network("cafe", "`cafe`", "fair shares", {}),
    Network("cafe", "`cafe` with 30 stations, other networks", "fair shares", THIRTY, others_mbps=0.7),
    Network("cafe", "`cafe` with MCS 1 and errors outside", "fair airtime", {"stations[1].mcs": 1, **ERRORS}),
    Network("home", "`home`", "total", {}),
    Network("home", "`home` with MCS 3 and errors at one", "round trips", {"stations[3].mcs": 3, **ERRORS}),
    Network("update-night", "`update-night`", "round trips", {}),
    Network("update-night", "`update-night`", "fair shares", {}),
    Network("tcp_8up", "`tcp_8up`, captured", "fair shares", {}, captured=True),
    Network("tcp_8down", "`tcp_8down`, captured", "round trips", {}, captured=True),
    Network("rrul_be", "`rrul_be`, captured", "fair shares", {}, captured=True),
)


def drawn(seed: int, count: int) -> list[Network]:
    """So many networks of each kind, kind by kind in turn, with the goals in turn."""
    names = [f"{kind}-{number:03}" for number in range(1, count + 1) for kind in DRAWN_KINDS]
    wants = itertools.cycle(DRAWN_WANTS)
    return [Network(name, f"drawn `{name}`", next(wants), {}, seed=seed) for name in names]


NETWORKS = (*GALLERY, *drawn(DRAWN_SEED, DRAWN))


def observed(network: Network, folder: Path, store: Store, threads: int | None) -> str:
    """Writes what the access point shows into `folder`; the scenario file that `import` makes of the first time."""
    scenario = network.scenario()
    write(Study([Cell("network", sampled(scenario))], SHOWN).run(threads, store=store), folder)
    first = folder / FIRST
    files = [first / name for name in (STATION, SURVEY, INFO)]
    if network.captured:
        with tempfile.TemporaryDirectory() as captures:
            scenario.run(seeds=[SHOWN[0]], traces=Traces(captures))
            return text(imported([*files, Path(captures) / first.name / CAPTURE]))
    return text(imported(files))


def fitted(content: str, folder: Path, store: Store, threads: int | None) -> tuple[str, str]:
    """The scenario file after `fit`, and what it found."""
    fitting = Fitting(Scenario.from_settings(tomllib.loads(content)), marks(content), measurement(folder), RUNS)
    found = fitting.run(threads, store=store)
    if not found.is_fit:
        return content, f"no fit: {missed(found)}"
    pairs = zip(found.freedoms, found.estimates, strict=True)
    known = dict.fromkeys(freedom.family for freedom, each in pairs if each.is_known)
    return fitted_text(found, content, "the measurement"), f"fitted: {', '.join(known) or 'nothing'}"


def agree(predicted: Interval, true: Interval) -> bool:
    """Whether the two differ by no more than both intervals allow together, on the side where the true one lies."""
    ends = [end for each in (predicted, true) for end in (each.low, each.high) if end is not None]
    if len(ends) < 4:
        return False
    low, high, true_low, true_high = ends
    own = high - predicted.estimate if true.estimate > predicted.estimate else predicted.estimate - low
    return abs(predicted.estimate - true.estimate) <= math.hypot(own, (true_high - true_low) / 2)


@dataclass(frozen=True)
class Outcome:
    """A row of the table. `holds` and `by_chance` are None without a prediction, `is_left` without the advice to change nothing, `differs` without a comparison.

    `stands` is how the network with the advised change compares with itself without, by its goal.
    """

    row: tuple[str, ...]
    holds: bool | None = None
    by_chance: bool | None = None
    is_left: bool | None = None
    is_fit: bool = False
    # Whether runs of the scenario differ from what was measured.
    differs: bool | None = None
    stands: str | None = None

    @property
    def is_wrong(self) -> bool:
        """Whether the gain is not within the predicted interval, or the network was wrongly left."""
        return self.holds is False or self.is_left is False


def outcome(network: Network, given: argparse.Namespace, store: Store) -> Outcome:
    """Closes the loop for a network."""
    with tempfile.TemporaryDirectory() as folder:
        content, how, measured = observed(network, Path(folder), store, given.threads), "", None
        if given.as_imported:
            measured = measurement(Path(folder) / FIRST)
        else:
            content, how = fitted(content, Path(folder), store, given.threads)
    about, differs = f"{network.about}, `{network.want}`", None
    try:
        scenario = Scenario.from_settings(tomllib.loads(content))
        advising = Advising(scenario, parsed([network.want]), "linux", marks(content), measured=measured)
        advice = advising.run(given.threads, store=store)
    except InputError as error:
        made = Outcome((f"none: {str(error).partition(';')[0]}", "", "", "", ""))
    else:
        made = judged(network, advising, advice, given.threads, store)
        if found := advice.as_it_is:
            differs = bool(found.missed)
            how = f"{len(found.missed) or 'none'} of {len(found.judged)}"
    return replace(made, row=(about, how, *made.row), is_fit=how.startswith("fitted"), differs=differs)


def judged(network: Network, advising: Advising, advice: Advice, threads: int | None, store: Store) -> Outcome:
    """What the advised change does in the network; of the row, the change and what follows."""
    [criterion] = advice.criteria
    is_left = not is_advised(advice)
    change = advice.best or nearest(advice, advising.settable, criterion)
    scenario = network.scenario()
    try:
        cells = [Cell(OWN, scenario), Cell(change.name, change.applied(scenario))]
    except InputError as error:
        return Outcome((change.name, "", "", f"refused: {error}", ""))
    results = Study(cells, TRUTH).run(threads, store=store)
    truth = results.with_metrics(*(goal.own for goal in advising.goals if goal.own))
    without, with_it = (truth.values(cell.name, advising.goals[0].metric).to_numpy() for cell in cells)
    true = criterion.effect(with_it, without)
    title = f"leave it; nearest: {change.name}" if is_left else change.name
    if not true.n:
        return Outcome((title, "", "", "no value of this goal", ""))
    stands = standing(criterion, with_it, without)
    if is_left:
        is_right = stands is not Standing.BETTER
        words = "rightly left" if is_right else "**wrongly left**"
        row = (title, "", "", criterion.effect_text(true), words)
        return Outcome(row, is_left=is_right)
    predicted, assumed = advice.effect(change, criterion), advice.predicted(change, criterion)
    by_chance, holds = agree(predicted, true), agree(assumed, true)
    verdict = "chance alone" if by_chance else "with what is assumed" if holds else "**no**"
    effects = tuple(map(criterion.effect_text, (predicted, assumed, true)))
    return Outcome((title, *effects, verdict), holds, by_chance, stands=stands.value)


def standing(criterion: Criterion, with_it: Values, without: Values) -> Standing:
    """How the network with a change compares with itself without."""
    values = {OWN: {criterion.id: without}, "changed": {criterion.id: with_it}}
    return rule.verdict(values, [criterion]).standing("changed", OWN)


def nearest(advice: Advice, changes: Sequence[Change], criterion: Criterion) -> Change:
    """The change with the largest mean gain in the search."""

    def gain(change: Change) -> float:
        mine, own = (advice.searched[name][criterion.id] for name in (change.name, OWN))
        found = criterion.merit(mine) - criterion.merit(own[: len(mine)])
        there = found[np.isfinite(found)]
        return float(there.mean()) if len(there) else -math.inf

    return max(changes, key=gain)


class Rows:
    """Finished rows, one file per network."""

    def __init__(self, folder: Path, as_imported: bool, seed: int | None) -> None:
        self._folder = folder / ("as-imported" if as_imported else "fitted") / ("" if seed is None else f"seed-{seed}")
        self._folder.mkdir(parents=True, exist_ok=True)

    def of(self, number: int) -> Outcome | None:
        """The row of a network by its number, if it was run."""
        path = self._path(number)
        if not path.exists():
            return None
        found = json.loads(path.read_text(encoding="utf-8"))
        return Outcome(**{**found, "row": tuple(found["row"])})

    def add(self, number: int, found: Outcome) -> None:
        """Keeps a row."""
        self._path(number).write_text(json.dumps(asdict(found), indent=1), encoding="utf-8")

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:02}.json"


def rows(given: argparse.Namespace) -> Iterator[Outcome]:
    """The rows in order, until enough networks have a predicted gain. With `--only` those of these numbers alone are run, with `--kept` none."""
    store, kept, predicted = Store(given.store), Rows(given.rows, given.as_imported, given.seed), 0
    for number, network in enumerate(NETWORKS if given.seed is None else drawn(given.seed, DRAWN_ALONE), 1):
        if network.seed is not None and predicted >= ENOUGH:
            return
        found = kept.of(number)
        if number in given.only or (found is None and not given.only and not given.kept):
            began = time.perf_counter()
            found = outcome(network, given, store)
            kept.add(number, found)
            print(f"{number}: {'; '.join(found.row)}; {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)
        if found:
            predicted += found.holds is not None
            yield found


def summary(found: Sequence[Outcome]) -> str:
    """What the table shows in sentences."""
    predicted = [each for each in found if each.holds is not None]
    left = [each for each in found if each.is_left is not None]
    text = (
        f"Of {len(predicted)} predicted gains, {sum(bool(each.holds) for each in predicted)} hold within the interval for chance and what is assumed, "
        f"{sum(bool(each.by_chance) for each in predicted)} of them within that for chance alone."
    )
    stand = [each.stands for each in predicted if each.stands is not None]
    if stand:
        better, worse = (stand.count(each.value) for each in (Standing.BETTER, Standing.WORSE))
        text += f" Made in the network, {better} of {len(stand)} advised changes make it better by its goal, and {worse} worse, by what matters and beyond chance."
    if left:
        right = sum(bool(each.is_left) for each in left)
        text += f" In {right} of the {len(left)} networks that are left as they are, the nearest change gains no more than what matters."
    compared = [each for each in (*predicted, *left) if each.differs is not None]
    if compared:
        wrong, rest = ([each for each in compared if each.is_wrong is is_wrong] for is_wrong in (True, False))
        text += (
            f" `advise --measured` says of {sum(bool(each.differs) for each in wrong)} of the {len(wrong)} where the prediction or the advice is wrong that runs differ from what "
            f"was measured, and of {sum(bool(each.differs) for each in rest)} of the {len(rest)} others."
        )
    return text


def marks_of(given: argparse.Namespace) -> Marks:
    """Where the table is on a page."""
    seed = "" if given.seed is None else f"-seed-{given.seed}"
    return Marks(f"{MARK}{'-as-imported' if given.as_imported else ''}{seed}", COMMAND)


def main() -> None:
    """Closes the loop of each network, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=int, nargs="*", default=[], help="numbers of networks, from 1 on")
    parser.add_argument("--kept", action="store_true", help="without a run: the rows that are kept")
    parser.add_argument("--as-imported", action="store_true", help="without fit")
    parser.add_argument("--seed", type=int, help="networks drawn with this seed alone")
    parser.add_argument("--rows", type=Path, default=Path("results/closed-loop"))
    parser.add_argument("--store", type=Path, default=Path("results/store"))
    parser.add_argument("--threads", type=int)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    found = list(rows(given))
    heads = (
        "network, goal",
        "quantities that differ" if given.as_imported else "scenario",
        "change",
        "predicted, by chance",
        "with what is assumed",
        "in the network",
        "within",
    )
    fits = f" `fit` accepts {sum(each.is_fit for each in found)} of {len(found)} networks."
    made = f"{table(heads, [each.row for each in found])}\n\n{summary(found)}{'' if given.as_imported else fits}"
    print(made)
    if given.page:
        marks_of(given).write(given.page, made)


if __name__ == "__main__":
    main()
