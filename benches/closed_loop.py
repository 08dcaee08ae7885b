"""The closed loop without hardware: does the gain that is predicted from what an access point shows hold in the network that was only observed?

    .venv/bin/python benches/closed_loop.py [--only N…] [--as-imported] [--store DIR] [--threads N] [--page docs/advise.md]

1. The network runs, and its access point shows it three times (`run --as-ap`, 60 s each).
2. `import` makes a scenario of the first time. `fit` searches what it assumes, with two of the times, and the third decides; without a fit the scenario stays as
   it was imported. `--as-imported` leaves this step out.
3. `advise` says what to change in that scenario, and what that is worth.
4. The change is made in the network itself, which runs with 24 seeds before and after it.

The prediction holds if the network's gain lies within the predicted interval, which is for chance and for what is assumed together, widened by what the interval of
the network's gain leaves open. Whether it also holds by chance alone is listed as well. Finished replications are in the store, so that the same command continues
where it was stopped.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wifair import Scenario, Traces, load
from wifair.advising import OWN, Advising
from wifair.errors import InputError
from wifair.fitting import Fitting, measurement
from wifair.fitting.written import text as fitted_text
from wifair.markdown import Marks, table
from wifair.observed import imported
from wifair.observed.as_ap import INFO, STATION, SURVEY, write
from wifair.observed.calibration import NEIGHBOURS
from wifair.observed.origins import marks
from wifair.observed.written import text
from wifair.stats import Interval
from wifair.study.job import Cell
from wifair.study.store import Store
from wifair.study.study import Study
from wifair.tuning.goals import parsed

MARKS = Marks("closed-loop", "benches/closed_loop.py")
AP = {"ap.scheme": "mac80211", "ap.hardware": "firmware", "mac.edca.classify": "dscp", "run.duration_s": 60}
# Seeds of what the access point shows, and of what the change does in the network.
SHOWN = range(5001, 5004)
TRUTH = range(6001, 6025)
RUNS = 120
CAPTURE = "ap-air.pcapng"


@dataclass(frozen=True)
class Network:
    """A network of the gallery with other settings, and the goal of its owner.

    `others_mbps` is a load of other networks, in datagrams at MCS 0. With `captured`, the access point's radio was captured as well: counters do not show how
    many flows a station has.
    """

    name: str
    about: str
    want: str
    settings: dict[str, Any]
    others_mbps: float = 0.0
    captured: bool = False

    def scenario(self) -> Scenario:
        """The network itself."""
        settings = load(self.name).override({**AP, **self.settings}).settings()
        if self.others_mbps:
            udp = {"name": "udp", "rate_mbps": self.others_mbps, "arrivals": "poisson"}
            station = {"name": NEIGHBOURS, "streams": 1, "mcs": 0}
            flow = {"name": NEIGHBOURS, "station": NEIGHBOURS, "direction": "up", "application": udp}
            settings["stations"] = [*settings["stations"], station]
            settings["flows"] = [*settings["flows"], flow]
        return Scenario.from_settings(settings)


THIRTY = {"stations[0].count": 18, "stations[1].count": 12, "flows[0].count": 16, "flows[1].count": 8}
ERRORS = {"stations[1].frame_error_rate": {"data_down": 0.08, "data_up": 0.08}}
NETWORKS = (
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


def observed(network: Network, folder: Path, store: Store, threads: int | None) -> str:
    """Writes what the access point shows into `folder`; the scenario file that `import` makes of the first time."""
    scenario = network.scenario()
    write(Study([Cell("network", scenario)], SHOWN).run(threads, store=store), folder)
    first = folder / f"seed-{SHOWN[0]}"
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
        return content, "no fit"
    known = [each.parameter.name for each in found.estimates if each.is_known]
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
    """A row of the table. `holds` and `by_chance` are None without a prediction."""

    row: tuple[str, ...]
    holds: bool | None = None
    by_chance: bool | None = None


def outcome(network: Network, given: argparse.Namespace, store: Store) -> Outcome:
    """Closes the loop for a network."""
    with tempfile.TemporaryDirectory() as folder:
        content, how = observed(network, Path(folder), store, given.threads), "as imported"
        if not given.as_imported:
            content, how = fitted(content, Path(folder), store, given.threads)
    goals, head = parsed([network.want]), (f"{network.about}, `{network.want}`", how)
    try:
        advising = Advising(Scenario.from_settings(tomllib.loads(content)), goals, "linux", marks(content))
        advice = advising.run(given.threads, store=store)
    except InputError as error:
        return Outcome((*head, str(error), "", "", "", ""))
    if advice.best is None:
        return Outcome((*head, "leave it", "", "", "", ""))
    [criterion] = advice.criteria
    predicted = advice.effect(advice.best, criterion)
    assumed = advice.predicted(advice.best, criterion)
    scenario = network.scenario()
    cells = [Cell(OWN, scenario), Cell(advice.best.name, advice.best.applied(scenario))]
    results = Study(cells, TRUTH).run(given.threads, store=store)
    truth = results.with_metrics(*(goal.own for goal in goals if goal.own))
    with_it, without = (truth.values(cell.name, goals[0].metric).to_numpy() for cell in (cells[1], cells[0]))
    true = criterion.effect(with_it, without)
    by_chance, holds = agree(predicted, true), agree(assumed, true)
    verdict = "chance alone" if by_chance else "with what is assumed" if holds else "**no**"
    effects = tuple(map(criterion.effect_text, (predicted, assumed, true)))
    return Outcome((*head, advice.best.name, *effects, verdict), holds, by_chance)


def main() -> None:
    """Closes the loop of each network, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of networks, from 1 on")
    parser.add_argument("--as-imported", action="store_true", help="without fit")
    parser.add_argument("--store", type=Path, default=Path("results/store"))
    parser.add_argument("--threads", type=int)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    store, found = Store(given.store), []
    for number, network in enumerate(NETWORKS, 1):
        if given.only and number not in given.only:
            continue
        began = time.perf_counter()
        found.append(outcome(network, given, store))
        print(f"{number}: {'; '.join(found[-1].row)}; {time.perf_counter() - began:.0f} s", flush=True)
    predicted = [each for each in found if each.holds is not None]
    summary = (
        f"Of {len(predicted)} predicted gains, {sum(bool(each.holds) for each in predicted)} hold within the interval for chance and what is assumed, "
        f"{sum(bool(each.by_chance) for each in predicted)} of them within that for chance alone."
    )
    heads = (
        "network, goal",
        "scenario",
        "change",
        "predicted, by chance",
        "with what is assumed",
        "in the network",
        "within",
    )
    made = f"{table(heads, [each.row for each in found])}\n\n{summary}"
    print(made)
    if given.page:
        MARKS.write(given.page, made)


if __name__ == "__main__":
    main()
