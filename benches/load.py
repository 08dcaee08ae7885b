"""Time and memory against size: stations, buffers, connections, simulated time. Each point is a separate process.

`python benches/load.py --page docs/load.md` writes the figure and the tables of that page. Costs are seconds of the processor, of
each point the best of some rounds, in which all points take turns. Building is what comes before the first event; running is
the measured part alone, so that the one does not count for the other. Instructions are counted where valgrind is.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from wifair import Scenario
from wifair.markdown import Marks, table
from wifair.plots import STYLES, figure, save

CHILD = Path(__file__).with_name("load_point.py")
MARKS = Marks("measurements", "make load")
Settings = Mapping[str, Any]

ROOMY = {"phy": {"name": "802.11g"}, "stations": [{"name": "sta", "count": 100}]}
SCHEMES: Mapping[str, Any] = {
    "droptail": "droptail",
    "ack-filtering": "ack-filtering",
    "ack-pushout, random": {"name": "ack-pushout", "redundant": "random"},
    "adaptive-pushout": "adaptive-pushout",
    "las": "las",
    "dqm": "dqm",
    "mac80211": {"name": "mac80211", "limit_bytes": 1_000_000_000},
}


@dataclass(frozen=True)
class Point:
    """One run: its family, series, size and scenario; the last `duration_s` are measured."""

    family: str
    series: str
    size: int
    settings: Settings
    warmup_s: float
    duration_s: float
    recorded: Settings = field(default_factory=dict)


def stations() -> Iterator[Point]:
    """Bulk flows at all stations, or at twenty of them while the others are silent or nearly so."""
    for size in (20, 100, 1_000, 10_000):
        half = {"count": size // 2}
        busy = [{**half, "direction": "up"}, {**half, "direction": "down"}]
        yield Point("stations", "all busy", size, {"flows": busy}, 60, 1_000)
        others = {"count": size - 20, "direction": "up", "start_spread_s": 60.0}
        ping = {"name": "ping", "interval_ms": 60_000}
        for series, more in (
            ("20 busy, the others silent", {**others, "start_s": 1e5, "application": ping}),
            ("20 busy, the others ping each minute", {**others, "application": ping}),
        ):
            ten = {"count": 10}
            flows = [{**ten, "direction": "up"}, {**ten, "direction": "down"}, *([more] if size > 20 else [])]
            yield Point("stations", series, size, {"flows": flows}, 120, 1_000)


def buffers() -> Iterator[Point]:
    """The access point's buffer kept full: UDP towards a hundred stations beyond what the air carries, and ACKs of 500 uploads."""
    uploads = {"count": 500, "direction": "up", "station": "sta", "tcp": {"receiver_window_segments": 2_000}}
    udp = {"count": 100, "direction": "down", "station": "sta", "start_spread_s": 1.0}
    udp["application"] = {"name": "udp", "rate_mbps": 0.5}
    for size in (100, 1_000, 10_000, 100_000):
        for series, scheme in SCHEMES.items():
            ap = {"scheme": scheme, "limit_packets": size}
            yield Point("buffers", series, size, {**ROOMY, "ap": ap, "flows": [uploads, udp]}, 120, 300)


def flows() -> Iterator[Point]:
    """TCP connections side by side, half of them each way."""
    for size in (100, 1_000, 10_000, 100_000):
        half = {"count": size // 2, "station": "sta", "start_spread_s": 30.0}
        both = [{**half, "direction": "up"}, {**half, "direction": "down"}]
        for series in ("droptail", "adaptive-pushout", "mac80211"):
            ap = {"scheme": series, "limit_packets": 1_000}
            yield Point("connections at once", series, size, {**ROOMY, "ap": ap, "flows": both}, 60, 200)


def transfers() -> Iterator[Point]:
    """Short transfers over twenty flows, one connection after the other. The size that counts is how many there were."""
    for size in (100, 1_000, 10_000, 100_000):
        ten = {"count": 10, "application": {"name": "transfers", "transfer_bytes": 14_600}}
        both = [{**ten, "direction": "up"}, {**ten, "direction": "down"}]
        for series, keep in (("a row each", True), ("sums alone", False)):
            settings = {"phy": {"name": "802.11g"}, "flows": both}
            recorded = {"record_transfers": keep}
            yield Point("connections in turn", series, size, settings, 0, max(round(size / 150), 2), recorded)


def horizons() -> Iterator[Point]:
    """Twenty bulk flows for a minute to ten hours."""
    ten = {"count": 10}
    both = [{**ten, "direction": "up"}, {**ten, "direction": "down"}]
    for size in (60, 600, 3_600, 36_000):
        for series, recorded in (
            ("scalars and quantiles", {"state_interval_s": 0.1}),
            ("time series too, each 10 s", {"state_interval_s": 0.1, "sample_interval_s": 10.0}),
        ):
            yield Point("simulated seconds", series, size, {"flows": both}, 0, size, recorded)


def points() -> list[Point]:
    """All points, by family."""
    return [point for family in (stations, buffers, flows, transfers, horizons) for point in family()]


# The sizes of a quick look.
LOOKED_AT = (20, 60, 100, 3_600, 10_000)


def shortened(point: Point) -> Point:
    """A tenth of the measurement, where its length is not what counts."""
    if point.family in ("simulated seconds", "connections in turn"):
        return point
    return replace(point, duration_s=point.duration_s / 10)


def plan_of(point: Point) -> tuple[str, float]:
    """The plan, and how long Python took for it."""
    began = time.process_time()
    run = {"warmup_s": point.warmup_s, "duration_s": point.duration_s, **point.recorded}
    plan = Scenario(**point.settings, run=run).plan_json
    return plan, time.process_time() - began


def measure(point: Point, before: Sequence[str] = (), after: Sequence[str] = ()) -> tuple[dict[str, Any], str]:
    """The child's measurements, and its standard error."""
    plan, plan_s = plan_of(point)
    command = [*before, sys.executable, str(CHILD), str(point.warmup_s), str(point.duration_s), *after]
    done = subprocess.run(command, input=plan, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{point.family}, {point.series}, {point.size}: {done.stderr}")
    return {**json.loads(done.stdout), "plan_s": plan_s}, done.stderr


def best(rounds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The least of each time and size; everything else is the same in all rounds."""
    low = ("plan_s", "build_s", "run_s", "built_bytes", "ended_bytes", "told_bytes")
    found = {**rounds[0], **{key: min(one[key] for one in rounds) for key in low}}
    found["ns"] = 1e9 * found["run_s"] / found["run_exchanges"]
    return found


Measured = list[tuple[Point, dict[str, Any]]]


def sweep(wanted: Sequence[Point], rounds: int) -> Measured:
    """Measures all points in turn, `rounds` times."""
    found: list[list[dict[str, Any]]] = [[] for _ in wanted]
    for turn in range(rounds):
        for point, own in zip(wanted, found, strict=True):
            if turn and own[0]["run_s"] + own[0]["build_s"] > 4:
                continue  # long, and so not noisy
            own.append(measure(point)[0])
            told = best(own)
            print(
                f"{turn + 1}/{rounds} {point.family:20} {point.series:38} {point.size:>7} built {told['build_s']:7.3f} s, "
                f"{told['ns']:7.0f} ns/exchange, {told['told_bytes'] / 1e6:7.1f} MB",
                flush=True,
            )
    return [(point, best(own)) for point, own in zip(wanted, found, strict=True)]


# Where instructions are counted, each against the smaller one: what is left of a rise in time is the caches' doing.
COUNTED = (
    ("stations", "all busy", (20, 1_000)),
    ("stations", "20 busy, the others silent", (20, 1_000)),
    ("buffers", "droptail", (100, 100_000)),
    ("buffers", "adaptive-pushout", (100, 100_000)),
    ("buffers", "mac80211", (100, 100_000)),
    ("connections at once", "droptail", (100, 1_000)),
)


def instructions(point: Point) -> float:
    """Instructions per exchange: the slope between two lengths of the measurement."""
    counts, exchanges = [], []
    for duration_s in (20, 60):
        shorter = replace(point, duration_s=duration_s)
        exchanges.append(measure(shorter)[0]["exchanges"])
        valgrind = ("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null")
        told = measure(shorter, valgrind, ("--instructions",))[1]
        collected = re.search(r"Collected\s*:\s*(\d+)", told)
        if collected is None:
            raise SystemExit(f"valgrind said nothing of instructions: {told}")
        counts.append(int(collected.group(1)))
    return (counts[1] - counts[0]) / (exchanges[1] - exchanges[0])


def counted() -> list[list[str]]:
    """Rows of the table of instructions; none without valgrind."""
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: instructions are not counted", file=sys.stderr)
        return []
    known = {(point.family, point.series, point.size): point for point in points()}
    rows = []
    for family, series, sizes in COUNTED:
        small, large = (instructions(known[family, series, size]) for size in sizes)
        numbers = (f"{sizes[0]:,}", f"{small:,.0f}", f"{sizes[1]:,}", f"{large:,.0f}", f"{large / small:.2f}")
        rows.append([family, series, *numbers])
        print("instructions", *rows[-1], flush=True)
    return rows


def ordered(found: Measured, family: str) -> dict[str, list[tuple[int, dict[str, Any]]]]:
    """By series, the sizes and what was found there. Of connections in turn the size is how many there were."""
    series: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for point, values in found:
        if point.family == family:
            size = values["transfers"] if family == "connections in turn" else point.size
            series.setdefault(point.series, []).append((size, values))
    return series


def tables(found: Measured, rows: Sequence[Sequence[str]]) -> str:
    """The tables as Markdown."""
    parts = []
    for family in dict.fromkeys(point.family for point, _ in found):
        series = ordered(found, family)
        sizes = [f"{size:,}" for size, _ in next(iter(series.values()))]
        lines = [
            [name, *(f"{values['ns']:,.0f} ns, {values['told_bytes'] / 1e6:,.1f} MB" for _, values in own)]
            for name, own in series.items()
        ]
        if family in ("stations", "connections at once"):
            first = next(iter(series.values()))
            lines.append(["building, of the first", *(f"{values['build_s']:.3f} s" for _, values in first)])
            lines.append(["plan in Python, of the first", *(f"{values['plan_s']:.2f} s" for _, values in first)])
        if family == "buffers":
            first = next(iter(series.values()))
            lines.append(["packets queued, of the first", *(f"{values['queued']:,.0f}" for _, values in first)])
        if family in ("connections in turn", "simulated seconds"):
            for name, own in series.items():
                lines.append([f"rows of tables, {name}", *(f"{sum(values['rows'].values()):,}" for _, values in own)])
        parts.append(f"**{family[0].upper()}{family[1:]}**\n\n" + table(["", *sizes], lines))
    if rows:
        headings = ("", "", "small", "instructions", "large", "instructions", "ratio")
        parts.append("**Instructions of an exchange**\n\n" + table(headings, rows))
    return "\n\n".join(parts)


def panel(axes: Axes, series: Mapping[str, Sequence[tuple[int, float]]], x_label: str, y_label: str) -> None:
    """Lines on logarithmic axes."""
    for style, (name, own) in zip(STYLES, series.items(), strict=False):
        axes.plot(*zip(*own, strict=True), label=name, markersize=4, linewidth=1.2, **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(alpha=0.25)
    low, high = axes.get_ylim()
    axes.set_ylim(min(low, high / 30), high * 8)  # room for the legend; differences of a few percent stay small
    axes.legend(fontsize="x-small", loc="upper left")


def draw(found: Measured, folder: Path) -> None:
    """The figure: cost of an exchange above, memory and building below."""
    made, axes = figure(6, width=4.4, height=3.5, columns=3)
    labels = {
        "stations": "Stations",
        "buffers": "Limit of the buffer, kept full [packets]",
        "connections at once": "TCP connections at once",
    }
    for place, (family, x_label) in enumerate(labels.items()):
        cost = {name: [(size, values["ns"]) for size, values in own] for name, own in ordered(found, family).items()}
        panel(axes[place], cost, x_label, "Cost of a frame exchange [ns]")

    def column(family: str, key: str, scale: float) -> dict[str, list[tuple[int, float]]]:
        return {
            name: [(size, values[key] * scale) for size, values in own] for name, own in ordered(found, family).items()
        }

    building = {"stations": column("stations", "build_s", 1e3)["all busy"]}
    building["connections, 100 stations"] = column("connections at once", "build_s", 1e3)["droptail"]
    panel(axes[3], building, "Stations or connections", "Building [ms]")
    memory = {"stations, all busy": column("stations", "told_bytes", 1e-6)["all busy"]}
    memory["packets of a full buffer"] = column("buffers", "told_bytes", 1e-6)["droptail"]
    memory["connections at once"] = column("connections at once", "told_bytes", 1e-6)["droptail"]
    panel(axes[4], memory, "Stations, packets or connections", "Peak memory [MB]")
    spans = {f"seconds: {name}": own for name, own in column("simulated seconds", "told_bytes", 1e-6).items()}
    spans |= {f"connections: {name}": own for name, own in column("connections in turn", "told_bytes", 1e-6).items()}
    panel(axes[5], spans, "Simulated seconds, or connections in turn", "Peak memory [MB]")
    save(made, folder, "load")


def main() -> None:
    """Measures, prints, and with `--page` writes the figure and the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="the page to write into; the figure goes into images beside it")
    parser.add_argument("--rounds", type=int, default=2, help="how often each point is measured; the least counts")
    parser.add_argument("--family", action="append", help="only these, as stations or buffers")
    parser.add_argument(
        "--quick", action="store_true", help="a look: every other size, up to 10,000, and a tenth of the exchanges"
    )
    parser.add_argument("--no-instructions", action="store_true", help="count none")
    asked = parser.parse_args()
    wanted = [point for point in points() if not asked.family or point.family in asked.family]
    if asked.quick:
        wanted = [shortened(point) for point in wanted if point.size in LOOKED_AT]
    if asked.page:
        if asked.family:
            raise SystemExit("--page takes all families: the page has a place for each.")
        if MARKS.between(asked.page) is None:
            raise SystemExit(f"{asked.page}: has no place for the {MARKS.what}: {MARKS.begin}")
    began, load = time.perf_counter(), os.getloadavg()[0]
    found = sweep(wanted, asked.rounds)
    rows = [] if asked.no_instructions else counted()
    took = time.perf_counter() - began
    look = "A look: every other size, a tenth of the exchanges. " if asked.quick else ""
    conditions = (
        f"{look}Rounds, of which the least counts: {asked.rounds}; {took / 60:.0f} minutes in all; other work on the machine when it began: "
        f"{load:.1f} of {os.cpu_count()} processors."
    )
    text = f"{tables(found, rows)}\n\n{conditions}\n"
    print(text)
    if asked.page:
        draw(found, asked.page.parent / "images")
        MARKS.write(asked.page, text)


if __name__ == "__main__":
    main()
