"""The figure and the table of docs/rates.md: `python docs/figures/rates.py`, a minute."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import polars as pl
from wifair import Scenario
from wifair.markdown import Marks, table
from wifair.plots import figure, lines, save
from wifair.stats import t_interval
from wifair.study import Cell, Study, run_studies

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "rates.md"
MARKS = Marks("rates", "python docs/figures/rates.py")
SEEDS = 5
DISTANCES_M = (2.0, 5.0, 8.0, 11.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0, 80.0)
ADAPTATIONS = ("ideal", "minstrel-ht", "aarf", "arf")
# Width, and more than the fastest mode carries, in Mbps.
PHYS = {"802.11n": (20, 80.0), "802.11ac": (80, 450.0), "802.11ax": (80, 620.0)}
TRAFFIC = {"down": "a download", "up": "ten stations upload"}


class Point(NamedTuple):
    """What one simulation is about."""

    phy: str
    direction: str
    adaptation: str
    distance_m: float

    @property
    def name(self) -> str:
        """Its name in the study."""
        return " ".join(map(str, self))

    @property
    def scenario(self) -> Scenario:
        """Saturating UDP, down to one station or up from ten, on a channel at rest."""
        width_mhz, offered_mbps = PHYS[self.phy]
        names = [f"sta-{n}" for n in range(10 if self.direction == "up" else 1)]
        return Scenario(
            run={"warmup_s": 2, "duration_s": 3},
            phy={"name": self.phy, "width_mhz": width_mhz},
            mac={"rate_adaptation": self.adaptation},
            wire={"rate_mbps": 10_000.0},
            stations=[{"name": name, "position_m": [self.distance_m, 0.0]} for name in names],
            flows=[
                {
                    "direction": self.direction,
                    "station": name,
                    "application": {"name": "udp", "rate_mbps": offered_mbps / len(names)},
                }
                for name in names
            ],
        )


def main() -> None:
    """Runs them, draws the figure and writes the table."""
    panels = [(direction, phy) for direction in TRAFFIC for phy in PHYS]
    points = [Point(p, d, a, m) for d, p in panels for a in ADAPTATIONS for m in DISTANCES_M]
    (results,) = run_studies([Study([Cell(point.name, point.scenario) for point in points], SEEDS)])
    sums = results.flows.group_by("scenario", "seed").agg(pl.col("goodput_mbps").sum()).sort("seed")
    found = {point: sums.filter(scenario=point.name)["goodput_mbps"].to_list() for point in points}
    made, axes = figure(panels=len(panels), width=4.4, height=3.2, columns=len(PHYS))
    rows = []
    for axis, (direction, phy) in zip(axes, panels, strict=True):
        series = {a: [found[Point(phy, direction, a, m)] for m in DISTANCES_M] for a in ADAPTATIONS}
        lines(axis, DISTANCES_M, series, x_label="Distance [m]", y_label="Goodput [Mbps]")
        axis.set_title(f"{phy}, {PHYS[phy][0]} MHz: {TRAFFIC[direction]}", fontsize="medium")
        axis.set_xticks(range(0, 81, 20))
        # Over all distances, by seed.
        whole = {name: [sum(values) for values in zip(*of, strict=True)] for name, of in series.items()}
        bound = whole.pop("ideal")
        shares = [[100 * own / best for own, best in zip(of, bound, strict=True)] for of in whole.values()]
        rows.append([f"{phy}, {TRAFFIC[direction]}", *(t_interval(share).short() for share in shares)])
    save(made, ROOT / "docs" / "images", "rates")
    MARKS.write(PAGE, table(("cell", *ADAPTATIONS[1:]), rows))


if __name__ == "__main__":
    main()
