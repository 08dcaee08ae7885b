"""The figures of docs/modern-ap.md, and its table of waits below the scheme: `python docs/figures/modern_ap.py`, a minute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from wifair import Scenario, load
from wifair.markdown import Marks, table
from wifair.plots import figure, save
from wifair.stats import plus_minus, t_interval

ROOT = Path(__file__).resolve().parents[2]
SEEDS = 10
# Tail drop with a buffer as small as the papers have it, and as large as a router's.
SCHEMES: Mapping[str, Mapping[str, object]] = {
    "droptail, 100": {"ap.scheme": "droptail"},
    "droptail, 1000": {"ap.scheme": "droptail", "ap.limit_packets": 1000},
    "codel": {"ap.scheme": "codel", "ap.limit_packets": 1000},
    "pie": {"ap.scheme": "pie", "ap.limit_packets": 1000},
    "fq-codel": {"ap.scheme": "fq-codel"},
    "mac80211": {"ap.scheme": "mac80211"},
}
PAGE = ROOT / "docs" / "modern-ap.md"
BELOW = Marks("waits below the scheme", "docs/figures/modern_ap.py")
# MCS and streams of HE80.
MODES = ((7, 1), (11, 1), (7, 2), (11, 2))
GREYS = ("#000000", "#7f7f7f", "#d0d0d0", "#ffffff")


def bars(axes: Axes, groups: Sequence[str], series: Mapping[str, Sequence[Sequence[float]]], y_label: str) -> None:
    """Bars in groups: the mean over the seeds with its 95 % interval."""
    width = 0.8 / len(series)
    for i, (name, points) in enumerate(series.items()):
        found = [t_interval(values) for values in points]
        errors = [
            [f.estimate - (f.low or f.estimate) for f in found],
            [(f.high or f.estimate) - f.estimate for f in found],
        ]
        places = [g + (i - (len(series) - 1) / 2) * width for g in range(len(groups))]
        style: dict[str, Any] = {
            "color": GREYS[i],
            "edgecolor": "black",
            "linewidth": 0.6,
            "ecolor": "#D55E00",
            "capsize": 2.5,
        }
        axes.bar(places, [f.estimate for f in found], width, yerr=errors, label=name, **style)
    axes.set_xticks(range(len(groups)), groups)
    axes.set_ylabel(y_label)
    axes.grid(axis="y", alpha=0.25)
    axes.legend(fontsize="small")


def mean(column: pl.Series) -> float:
    """Of numbers that are there."""
    return float(sum(column) / len(column))


def airtime(axes: Axes) -> None:
    """Who uses the air in the home with one slow station."""
    stations = ["near-1", "near-2", "near-3", "far", "up"]
    series = {}
    for scheme in ("droptail", "fq-codel", "mac80211"):
        home = load(ROOT / "scenarios" / "home-with-one-slow-station.toml").override({"ap.scheme": scheme})
        used = home.run(seeds=SEEDS).frames["stations"]
        sums = used.group_by("station", "seed").agg(pl.col("airtime_share").sum()).sort("seed")
        series[scheme] = [sums.filter(station=name)["airtime_share"].to_list() for name in stations]
    bars(axes, stations, series, "share of the air")


def waits(axes: Axes) -> None:
    """How long packets wait at the AP: ten downloads by CUBIC with SACK, 802.11g at 54 Mbps. Prints the sums as well."""
    tcp = {"congestion_control": "cubic", "sack": {}, "window_scale": 7, "receiver_window_segments": 2000}
    run = {"warmup_s": 10, "duration_s": 60}
    flows = [{"count": 10, "direction": "down"}]
    base = Scenario(
        phy={"name": "802.11g"}, tcp=tcp, run=run, flows=flows, wire={"rate_mbps": 100, "one_way_delay_ms": 10}
    )
    quantiles: dict[str, list[list[float]]] = {"median": [], "95th percentile": []}
    for name, settings in SCHEMES.items():
        results = base.override(settings).run(seeds=SEEDS)
        everything = results.queues.filter((pl.col("node") == "ap") & (pl.col("class") == "all"))
        down = results.flows.filter(direction="down").group_by("seed").agg(pl.col("goodput_mbps").sum())
        least = min(results.flows["goodput_mbps"].to_list())
        quantiles["median"].append(everything["sojourn_p50_ms"].to_list())
        quantiles["95th percentile"].append(everything["sojourn_p95_ms"].to_list())
        print(
            f"{name:15} median {mean(everything['sojourn_p50_ms']):.1f} ms, mean {mean(everything['sojourn_mean_ms']):.1f} ms, "
            f"p95 {mean(everything['sojourn_p95_ms']):.1f} ms, together {mean(down['goodput_mbps']):.2f} Mbps, "
            f"the least {least:.2f} Mbps"
        )
    bars(axes, list(SCHEMES), quantiles, "wait at the AP [ms], logarithmic")
    axes.set_yscale("log")
    axes.set_ylim(1, 1500)
    axes.tick_params(axis="x", labelrotation=20, labelsize="small")


def below() -> None:
    """How long packets wait below the scheme, with airtime queue limits: ten downloads over HE80, into the page."""
    rows = []
    for mcs, streams in MODES:
        base = Scenario(
            phy={"name": "802.11ax", "width_mhz": 80, "streams": streams},
            station={"mcs": mcs},
            mac={"edca": {}, "aggregation": {}},
            ap={"scheme": "mac80211"},
            wire={"one_way_delay_ms": 5, "rate_mbps": 10_000},
            tcp={"profile": "today"},
            run={"warmup_s": 5, "duration_s": 10},
            flows=[{"count": 10, "direction": "down"}],
        )
        for hardware in ("firmware", "ath10k"):
            results = base.override({"ap.hardware": hardware}).run(seeds=SEEDS)
            queues = results.queues.filter((pl.col("node") == "ap") & (pl.col("class") == "all"))
            mbps = results.flows.group_by("seed").agg(pl.col("goodput_mbps").sum())["goodput_mbps"].to_list()
            waits = [plus_minus(queues[f"below_{what}_ms"].to_list(), 1) for what in ("mean", "p95")]
            rows.append(
                [
                    f"MCS {mcs}, {streams} stream{'s' if streams > 1 else ''}",
                    f"`{hardware}`",
                    *waits,
                    plus_minus(mbps, 0),
                ]
            )
            print(rows[-1])
    BELOW.write(PAGE, table(["HE80", "`ap.hardware`", "mean wait, ms", "95th percentile, ms", "Mbps together"], rows))


def main() -> None:
    """Draws the figures, and writes the table."""
    below()
    made, (left, right) = figure(panels=2, width=5.4)
    airtime(left)
    waits(right)
    save(made, ROOT / "docs" / "images", "modern-ap")


if __name__ == "__main__":
    main()
