"""The closed loop of `wifair advise` without hardware: does a predicted gain hold in the network that was only observed?

Each network runs once as its access point shows it (`run --as-ap`, one replication of 60 s). `import` makes a scenario of the dumps, and `advise` says what to
change there, with which gain on 12 fresh seeds, and in which range over other values of what `import` has assumed. Then the change is made in the network itself, 24 replications with it and without it. A gain holds if the network's
lies within the prediction's 95 % interval, widened by that of the network's own mean (both are measured), or within the range.
"""

import argparse
import math
import tempfile
import time
from pathlib import Path
from typing import Any

from wifair import Scenario, load
from wifair.advising import OWN, Advising
from wifair.errors import InputError
from wifair.observed import imported
from wifair.observed.as_ap import write
from wifair.observed.origins import marks
from wifair.observed.written import text
from wifair.stats import Interval
from wifair.study.job import Cell
from wifair.study.study import Study
from wifair.tuning.goals import parsed

# The access point's scheme is what `import` assumes where no file has it, since a dump does not show it.
AP = {"ap.scheme": "mac80211", "ap.hardware": "firmware", "mac.edca.classify": "dscp"}
NETWORKS: list[tuple[str, dict[str, Any], str]] = [
    ("cafe", {}, "fair shares"),
    (
        "cafe",
        {"stations[0].count": 18, "stations[1].count": 12, "flows[0].count": 16, "flows[1].count": 8},
        "fair shares",
    ),
    ("cafe", {"stations[1].mcs": 1}, "fair airtime"),
    ("home", {}, "total"),
    ("home", {"stations[3].mcs": 3}, "round trips"),
    ("update-night", {}, "round trips"),
    ("update-night", {}, "fair shares"),
    ("tcp_8up", {}, "fair shares"),
    ("tcp_8down", {}, "round trips"),
    ("rrul_be", {}, "fair shares"),
]
SEED = 5001
TRUTH = range(6001, 6025)


def observed(network: Scenario) -> tuple[Scenario, list[Any]]:
    """The scenario that `import` makes of what the network's access point shows, and what it has assumed."""
    results = Study([Cell("network", network)], [SEED]).run()
    with tempfile.TemporaryDirectory() as folder:
        write(results, folder)
        made = imported([Path(folder) / f"seed-{SEED}" / name for name in ("station.txt", "survey.txt", "info.txt")])
    return made.scenario(), marks(text(made))


def held(predicted: Interval, true: Interval) -> bool:
    """Whether the two agree within both intervals."""
    assert predicted.high is not None
    assert predicted.low is not None
    assert true.high is not None
    assert true.low is not None
    half = math.hypot((predicted.high - predicted.low) / 2, (true.high - true.low) / 2)
    return abs(predicted.estimate - true.estimate) <= half


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of networks, from 1 on")
    parser.add_argument("--threads", type=int)
    asked = parser.parse_args()
    tried = good = exact = alike = 0
    for number, (name, settings, want) in enumerate(NETWORKS, 1):
        if asked.only and number not in asked.only:
            continue
        began = time.perf_counter()
        network = load(name).override({**AP, **settings, "run.duration_s": 60})
        goals = parsed(want)
        scenario, assumed = observed(network)
        try:
            advice = Advising(scenario, goals, "linux", assumed).run(asked.threads)
        except InputError as error:
            print(f"{number:2} {name}, {want}: {error}", flush=True)
            continue
        if advice.best is None:
            print(f"{number:2} {name}, {want}: leave it", flush=True)
            continue
        [criterion] = advice.criteria
        predicted = advice.effect(advice.best, criterion)
        cells = [Cell(OWN, network), Cell(advice.best.name, advice.best.applied(network))]
        truth = Study(cells, TRUTH).run(asked.threads).with_metrics(*(goal.own for goal in goals if goal.own))
        with_it, without = (truth.values(cell.name, goals[0].metric).to_numpy() for cell in (cells[1], cells[0]))
        true = criterion.effect(with_it, without)
        tried += 1
        low, high = advice.effects(advice.best, criterion)
        by_chance = held(predicted, true)
        exact += by_chance
        within = by_chance or low <= true.estimate <= high
        good += within
        neutral = 0 if criterion.scale == "difference" else 1
        alike += (predicted.estimate > neutral) == (true.estimate > neutral)
        print(
            f"{number:2} {name}, {want}: {advice.best.name}: predicted {criterion.effect_text(predicted)}, in the network "
            f"{criterion.effect_text(true)}: {'within the interval' if by_chance else f'within the range {low:.3g} to {high:.3g}' if within else 'MISSED'}; {time.perf_counter() - began:.0f} s",
            flush=True,
        )
    print(
        f"{good} of {tried} predicted gains held, {exact} of them within the interval; the direction was right in {alike}"
    )


if __name__ == "__main__":
    main()
