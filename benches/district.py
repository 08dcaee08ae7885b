"""What a district of 10,000 BSSs costs as one sweep on Dask, and how its flats fare; into docs/sweeps.md.

`python benches/district.py --houses 30 --page docs/sweeps.md` runs the first houses of scenarios/studies/district.toml in worker
processes of this machine, as `wifair sweep --dask local` does, with a new store. With `--store DIR` it goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from load_point import peak_bytes
from matplotlib.figure import Figure
from wifair import Results, Sweep
from wifair.cli.output import progress
from wifair.markdown import Marks, table
from wifair.plots import STYLES

ROOT = Path(__file__).resolve().parents[1]
STUDY = ROOT / "scenarios/studies/district.toml"
FIGURE = ROOT / "docs/images/district.png"
MARKS = Marks("cost of a district", "benches/district.py")
MARKS_OF_FLATS = Marks("flats of a district", "benches/district.py")
HOUSES = "building.seed"
# `ru_maxrss` is in kB, on macOS in bytes.
RSS_BYTES = 1 if sys.platform == "darwin" else 1024
HEADINGS = (
    "BSSs",
    "stations",
    "worker processes",
    "time, s",
    "CPU s of the workers",
    "per simulated s and house",
    "CPU s of the command",
    "memory of a worker, MB",
    "memory of the command, MB",
    "store, MB",
)
PICTURE = "picture-(up|down)$"
# Bounds of the share of the time in which an access point senses others.
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)
QUANTILES = {"half of the flats": 0.5, "95 %": 0.95, "99 %": 0.99}


def sweep(houses: int) -> Sweep:
    """The study with its first houses alone."""
    study = tomllib.loads(STUDY.read_text(encoding="utf-8"))
    drawn = study["product"].pop(HOUSES)[:houses]
    return Sweep(study.pop("scenario"), **{**study, "product": {HOUSES: drawn}})


def measured(made: Sweep, processes: int, store: Path) -> tuple[Results, dict[str, Any]]:
    """The district's results, and what they took."""
    began = time.perf_counter()
    with progress("simulating") as report:
        results = made.run(processes, report, store, dask="local")
    took_s = time.perf_counter() - began
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    return results, {
        "s": took_s,
        "cpu_s": workers.ru_utime + workers.ru_stime,
        "own_cpu_s": time.process_time(),
        "worker_bytes": workers.ru_maxrss * RSS_BYTES,
        "own_bytes": peak_bytes(),
        "stored_bytes": sum(file.stat().st_size for file in store.rglob("*") if file.is_file()),
    }


def of_flats(results: Results) -> pl.DataFrame:
    """By flat: the greater 95th percentile of the delay of its picture's directions, and the air that others hold at its access point."""
    of_picture = pl.col("label").str.contains(PICTURE)
    station = pl.col("label").str.replace(f"-{PICTURE}", "").alias("station")
    delays = results.datagrams.filter(of_picture).with_columns(station)
    by_station = delays.group_by("scenario", "station").agg(pl.col("delay_p95_ms").max())
    bss = results.stations.select("scenario", "station", "bss").unique()
    shares = results.bsss.select("scenario", "bss", "busy_others_share")
    return by_station.join(bss, on=["scenario", "station"]).join(shares, on=["scenario", "bss"])


def table_of_flats(flats: pl.DataFrame) -> str:
    """The delays of flats by the air of others at their access points."""
    rows = []
    for least, most in [*pairwise(SHARES), (SHARES[0], SHARES[-1])]:
        delays = flats.filter(pl.col("busy_others_share").is_between(least, most, closed="left"))["delay_p95_ms"]
        told = (
            [f"{delays.quantile(share, 'linear'):.1f}" for share in QUANTILES.values()] if len(delays) else ["", "", ""]
        )
        rows.append((f"{least:g} to {most:g}", f"{len(delays):,}", *told))
    return table(("air of others at the access point", "flats", *(f"{name}, ms" for name in QUANTILES)), rows)


def draw(flats: pl.DataFrame) -> None:
    """By the air of others: the delay that a flat's picture has at most, for half, 95 % and 99 % of the flats."""
    made = Figure(figsize=(6.4, 4), layout="constrained")
    axes = made.subplots()
    edges = np.linspace(0, flats["busy_others_share"].quantile(0.995) or 1.0, 13)
    middles = (edges[1:] + edges[:-1]) / 2
    for (name, share), style in zip(QUANTILES.items(), STYLES, strict=False):
        inside = [flats.filter(pl.col("busy_others_share").is_between(a, b)) for a, b in pairwise(edges)]
        delays = [each["delay_p95_ms"].quantile(share, "linear") for each in inside]
        axes.plot(middles, delays, label=name, markersize=4, **style)
    axes.set(
        xlabel="share of the time in which the access point senses others",
        ylabel="95th percentile of the picture's delay, ms",
    )
    axes.set(yscale="log", xlim=(0, None))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.grid(alpha=0.3)
    axes.legend(title="not exceeded by")
    made.savefig(FIGURE, dpi=150)


def main() -> None:
    """Runs the district, and prints or writes its tables and its figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--houses", type=int, default=100, help="the first houses alone")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--store", type=Path, help="keep finished houses here; by default in a folder that is deleted")
    parser.add_argument("--page", type=Path, help="write the tables into this page, and the figure beside it")
    asked = parser.parse_args()
    made = sweep(asked.houses)
    with tempfile.TemporaryDirectory() as folder:
        results, cost = measured(made, asked.processes, asked.store or Path(folder))
    run = made.base.settings()["run"]
    simulated_s = asked.houses * (run["warmup_s"] + run["duration_s"])
    row = (
        f"{results.bsss.height:,}",
        f"{results.stations['station'].len() // 2:,}",
        f"{asked.processes}",
        f"{cost['s']:.0f}",
        f"{cost['cpu_s']:.0f}",
        f"{cost['cpu_s'] / simulated_s:.2f}",
        f"{cost['own_cpu_s']:.0f}",
        f"{cost['worker_bytes'] / 1e6:.0f}",
        f"{cost['own_bytes'] / 1e6:.0f}",
        f"{cost['stored_bytes'] / 1e6:.1f}",
    )
    flats = of_flats(results)
    texts = {MARKS: table(HEADINGS, [row]), MARKS_OF_FLATS: table_of_flats(flats)}
    for marks, text in texts.items():
        print(text)
        if asked.page:
            marks.write(asked.page, text)
    if asked.page:
        draw(flats)


if __name__ == "__main__":
    main()
