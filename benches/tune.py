"""`tune` against a grid of 400 points, in ten problems.

The grid runs every point with all seeds. The search may use at most 15 % of the grid's replications, verification included. Then the
answer of the search and the ten best points of the grid run with fresh seeds, which neither has seen. The best of these ten there is
the best of the grid. The search succeeds if its answer is worse than that by less than what matters: 10 % of a delay or time, 5 % of goodput,
0.02 of an index, 0.1 of a rating (`wifair.everything.criteria`).
"""

import argparse
import math
import os
import time
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from wifair import Scenario, ScenarioError, Tuning, load
from wifair.everything.criteria import INDEX_MATTERS, RATING_MATTERS, SHARE_MATTERS, THROUGHPUT_MATTERS
from wifair.results.results import BETTER
from wifair.study.job import Cell
from wifair.study.study import Study

SEEDS = 6
SHARE = 0.15
BEST = 10
FRESH = range(1001, 1013)

# By goal: what matters, and whether it is a share of the best value.
MATTERS = {
    "jain": (INDEX_MATTERS, False),
    "mos_least": (RATING_MATTERS, False),
    "total_mbps": (THROUGHPUT_MATTERS, True),
    "ping_p95_ms": (SHARE_MATTERS, True),
}

SCHEMES = ["droptail", "codel", "red", "mac80211", "las", "adaptive-pushout", "ack-pushout", "pie"]


@dataclass(frozen=True)
class Axis:
    """A key with the range that the search gets, and the values of the grid."""

    key: str
    told: Any
    values: list[Any]


def steps(key: str, low: float, high: float, count: int = 20) -> Axis:
    """Numbers of a range that is uniform in the logarithm."""
    values = np.geomspace(low, high, count).tolist()
    whole = isinstance(low, int)
    return Axis(key, f"{low}..{high}:log", sorted({round(value) for value in values}) if whole else values)


def limits(key: str = "ap.limit_packets", count: int = 20) -> Axis:
    """Limits of a buffer."""
    return steps(key, 20, 2000, count)


TARGET, INTERVAL = steps("ap.scheme.target_ms", 0.5, 50.0), steps("ap.scheme.interval_ms", 10.0, 500.0)
CODEL = {"ap.scheme": "codel"}
CHOICES = Axis("ap.scheme", SCHEMES, SCHEMES)

# A scenario of the gallery, settings, goal, axes.
PROBLEMS: list[tuple[str, dict[str, Any], str, list[Axis]]] = [
    ("plain", {}, "jain", [limits(), limits("station.tx_queue.limit_packets")]),
    ("plain", CODEL, "ping_p95_ms", [TARGET, INTERVAL]),
    (
        "plain",
        {"ap.scheme": "red"},
        "total_mbps",
        [steps("ap.scheme.max_probability", 0.01, 1.0), steps("ap.scheme.max_packets", 10.0, 400.0)],
    ),
    ("cafe", CODEL, "ping_p95_ms", [TARGET, INTERVAL]),
    ("home", CODEL, "mos_least", [TARGET, limits()]),
    ("rrul_be", {}, "jain", [limits(), steps("tcp.receiver_window_segments", 10, 4000)]),
    ("video-call", CODEL, "ping_p95_ms", [TARGET, limits("station.tx_queue.limit_packets")]),
    (
        "tcp_8up",
        {},
        "total_mbps",
        [limits("station.tx_queue.limit_packets"), steps("tcp.receiver_window_segments", 10, 4000)],
    ),
    ("plain", {}, "jain", [CHOICES, limits(count=50)]),
    ("update-night", {}, "ping_p95_ms", [CHOICES, limits(count=50)]),
]


def scenario(name: str, settings: dict[str, Any]) -> Scenario:
    """A scenario of the gallery, shortened, since 24,000 replications of it run."""
    return load(name).override({"run.warmup_s": 2, "run.duration_s": 6, **settings})


def grid(base: Scenario, axes: list[Axis]) -> list[Cell]:
    """The points of the grid that the engine accepts."""
    cells = []
    for values in product(*(axis.values for axis in axes)):
        point = {axis.key: value for axis, value in zip(axes, values, strict=True)}
        try:
            made = base.override(dict(sorted(point.items(), key=lambda entry: entry[0].count("."))))
        except ScenarioError:
            continue
        cells.append(Cell(f"{len(cells)}: {point}", made))
    return cells


def merits(cells: list[Cell], seeds: Any, goal: str, threads: int | None) -> list[float]:
    """The mean of the goal by cell, with the sign that makes more better; −∞ where it has no value."""
    results = Study(cells, seeds).run(threads)
    sign = 1 if BETTER[goal] == "highest" else -1
    found = [results.values(cell.name, goal).fill_null(math.nan).mean() for cell in cells]
    return [sign * value if isinstance(value, float) and math.isfinite(value) else -math.inf for value in found]


def shortfall(mine: float, best: float, goal: str) -> float:
    """How much worse `mine` is, as a part of what matters."""
    matters, share = MATTERS[goal]
    return (best - mine) / (matters * abs(best) if share else matters)


def main() -> None:
    """Prints one line per problem, then in how many the search succeeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of problems, from 1 on")
    parser.add_argument("--threads", type=int)
    asked = parser.parse_args()
    reached = tried = 0
    for number, (name, settings, goal, axes) in enumerate(PROBLEMS, 1):
        if asked.only and number not in asked.only:
            continue
        base, began = scenario(name, settings), time.perf_counter()
        cells = grid(base, axes)
        found = merits(cells, SEEDS, goal, asked.threads)
        tops = [cells[i] for i in np.argsort([-merit for merit in found], kind="stable")[:BEST]]
        middle = time.perf_counter()
        runs = int(SHARE * len(cells) * SEEDS)
        tuned = Tuning(base, {axis.key: axis.told for axis in axes}, goal, seeds=SEEDS, runs=runs).run(asked.threads)
        ended = time.perf_counter()
        judged = merits([Cell("tuned", tuned.scenario), *tops, Cell("start", base)], FRESH, goal, asked.threads)
        mine, best, start = judged[0], max(judged[1:-1]), judged[-1]
        missed = shortfall(mine, best, goal)
        tried += 1
        reached += missed < 1
        sign = 1 if BETTER[goal] == "highest" else -1
        keys = " × ".join(axis.key for axis in axes)
        print(
            f"{number:2} {name}, {goal} over {keys}: grid {sign * best:.4g} ({len(cells)} points), search {sign * mine:.4g}, "
            f"as it is {sign * start:.4g}; {tuned.runs} of {len(cells) * SEEDS} replications ({tuned.runs / len(cells) / SEEDS:.1%}); "
            f"shortfall {missed:+.2f} of what matters; {middle - began:.0f} s against {ended - middle:.0f} s; {tuned.best[0].name}",
            flush=True,
        )
    print(f"within what matters of the grid's best in {reached} of {tried} problems (load {os.getloadavg()[0]:.1f})")


if __name__ == "__main__":
    main()
