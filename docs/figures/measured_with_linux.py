"""Section 4 of `spm-af-las` with the TCP of this machine's kernel, next to the simulation: Figs. 2, 3 and 4 and a table.

    .venv/bin/python docs/figures/measured_with_linux.py --runs 5 --keep FILE.json [--parallel 3]

The scenarios are the study's, measured for a minute in place of five. Finished runs are kept in the file and not repeated. A run in
which more than 1 % of the exchanges were over 1 ms late is repeated, at most twice per wanted run. Wants Linux (docs/emulate.md).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
from wifair import plots
from wifair.emulate import replay
from wifair.emulate.kept import Kept
from wifair.emulate.session import Settings
from wifair.markdown import Marks, table
from wifair.papers.spm_af_las.study import measured
from wifair.scenario.scenario import Scenario
from wifair.stats import t_interval

DOCS = Path(__file__).parent.parent
MARKS = Marks("kernel", "docs/figures/measured_with_linux.py")
WARMUP_S, DURATION_S = 20, 60
SIMULATED = 20
# By case of the study: figure, and by flow its title and the throughput that the paper has (of Fig. 4 the mean by direction).
CASES: Mapping[str, tuple[str, Mapping[str, tuple[str, float]]]] = {
    "near and far": ("2", {"flow-1": ("Flow 1 (near)", 3.64), "flow-2": ("Flow 2 (far)", 1.44)}),
    "1 up, 1 down": ("3", {"up": ("Upstream", 2.41), "down": ("Downstream", 2.86)}),
    "2 up, 2 down": (
        "4",
        {
            "up-1": ("Upstream 1", 1.5),
            "up-2": ("Upstream 2", 1.5),
            "down-1": ("Downstream 1", 1.0),
            "down-2": ("Downstream 2", 1.0),
        },
    ),
}
SECONDS = range(1, WARMUP_S + DURATION_S + 1)
KERNEL, OURS = "Linux", "simulated"


def scenario(case: str) -> Scenario:
    """The study's, shorter."""
    [found] = [cell.scenario for cell in measured() if cell.keys["case"] == case]
    assert isinstance(found, Scenario)
    return found.override({"run.warmup_s": WARMUP_S, "run.duration_s": DURATION_S})


def by_second(samples: Sequence[Sequence[float]]) -> dict[str, list[float]]:
    """Goodput in Mbps and smoothed RTT in ms of each second, from samples of `TCP_INFO` and of the bytes received."""
    at = np.array([sample[0] for sample in samples])
    seconds = np.arange(WARMUP_S + DURATION_S + 1)
    received = np.interp(seconds, at, [sample[5] for sample in samples], left=0.0)
    rtt = np.interp(seconds[1:], at, [sample[3] * 1e-3 for sample in samples], left=0.0)
    return {"goodput_mbps": (np.diff(received) * 8e-6).tolist(), "rtt_ms": rtt.tolist()}


def emulate(case: str, wanted: int, kept: Kept) -> None:
    """Runs what is missing of a case."""
    plan = scenario(case).plan()
    while len(kept.valid(case)) < wanted and len(kept.of(case)) < 3 * wanted:
        seed = len(kept.of(case)) + 1
        outcome = replay.emulated(Settings(plan, case, [], realtime=os.geteuid() == 0), seed)
        flows = {
            row["label"]: {"goodput_mbps": row["goodput_mbps"], "by_second": by_second(row["tcp_info"])}
            for row in outcome.measured
        }
        kept.add(case, {"valid": outcome.report["lateness"]["valid"], "flows": flows})
        goodput = ", ".join(f"{label} {flow['goodput_mbps']:.2f}" for label, flow in flows.items())
        print(f"{case}: run {seed}: {goodput}; valid {outcome.report['lateness']['valid']}", flush=True)


def draw(case: str, kept: Kept) -> list[list[str]]:
    """The figure of a case, and its rows of the table."""
    number, flows = CASES[case]
    results = scenario(case).run(SIMULATED)
    series = results.frames["series"].sort("seed", "time_s")
    made, axes = plots.figure(2 * len(flows), width=3.4, height=2.7, columns=len(flows))
    rows = []
    for column, (flow, (title, published)) in enumerate(flows.items()):
        runs = [run["flows"][flow] for run in kept.valid(case)]
        for row, (metric, label) in enumerate((("goodput_mbps", "Goodput [Mbps]"), ("rtt_ms", "Smoothed RTT [ms]"))):
            panel = axes[row * len(flows) + column]
            of_flow = series.filter((pl.col("metric") == metric) & (pl.col("entity") == flow))
            by_seed = of_flow.select("seed", "time_s", "value").rows()
            simulated = [[0.0] * len(SECONDS) for _ in range(SIMULATED)]
            for seed, at, value in by_seed:
                simulated[seed - 1][round(at) - 1] = value or 0.0
            kernel = [run["by_second"][metric] for run in runs]
            courses = {KERNEL: kernel, OURS: simulated}
            plots.courses(panel, SECONDS, courses, x_label="Time [s]", y_label=label)
            panel.set_title(title, fontsize="medium")
        goodput = results.flows.filter(pl.col("label") == flow)["goodput_mbps"].to_numpy()
        mine = t_interval(np.array([run["goodput_mbps"] for run in runs]))
        rows.append([f"Fig. {number}", title, f"{published:g}", mine.short(), t_interval(goodput).short()])
    for row in range(2):
        same = axes[row * len(flows) : (row + 1) * len(flows)]
        top = max(panel.get_ylim()[1] for panel in same)
        for panel in same:
            panel.set_ylim(0, top)
    made.savefig(DOCS / "images" / f"spm-af-las-linux-fig{number}.png")
    return rows


def main() -> None:
    """Emulates, simulates, draws, and writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--keep", type=Path, required=True)
    given = parser.parse_args()
    kept = Kept(given.keep)
    with ThreadPoolExecutor(given.parallel) as pool:
        list(pool.map(lambda case: emulate(case, given.runs, kept), CASES))
    rows = [row for case in CASES for row in draw(case, kept)]
    heads = ("", "flow", "paper", "Linux", "simulated")
    count = min(len(kept.valid(case)) for case in CASES)
    text = (
        f"Goodput in Mbps, means with 95 % intervals over at least {count} runs with the kernel and {SIMULATED} simulated ones, of "
        f"{DURATION_S} s.\n\n{table(heads, rows)}"
    )
    print(text)
    MARKS.write(DOCS / "spm-af-las.md", text)


if __name__ == "__main__":
    main()
