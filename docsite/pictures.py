"""Pictures of each component's effect in a standard cell. `draw` makes them; `PICTURES` describes those of each kind.

Schemes: goodput by flow and the fates of the AP's packets, next to tail drop. Limit controllers, congestion controls
and rate adaptations: the quantity that they control, over time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from wifair import Scenario, load, plots
from wifair.scenario.components import engine_schema
from wifair.stats import t_interval
from wifair.study import Cell, run_studies
from wifair.study import Study as Runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from wifair.results import Results

ROOT = Path(__file__).parent.parent
REFERENCE = "droptail"
# Fates of packets offered to the AP's buffer: column, legend, grey, hatch.
FATES = (
    ("delivered_packets", "delivered", "#ffffff", None),
    ("filtered_packets", "redundant, removed", "#cccccc", "///"),
    ("evicted_packets", "pushed out", "#888888", None),
    ("tail_drop_packets", "refused", "#444444", None),
    ("aqm_drop_packets", "dropped by rule", "#bbbbbb", "xxx"),
)


@dataclass(frozen=True)
class Picture:
    """A kind's picture: the scenario, the key for the component's name, seeds, and the caption.

    A course is a time series: metric, entity and axis label. Without courses, flows and packets are shown.
    """

    scenario: Scenario
    key: str
    seeds: int
    caption: str
    courses: Sequence[tuple[str, str, str]] = ()


UP_AND_DOWN = Scenario(
    run={"warmup_s": 20, "duration_s": 60},
    wire={"rate_mbps": 100},
    tcp={"ecn": True},
    flows=[{"count": 5, "direction": "up"}, {"count": 5, "direction": "down"}],
)
ONE_UPLOAD = Scenario(
    run={"warmup_s": 0, "duration_s": 90, "sample_interval_s": 0.1},
    wire={"rate_mbps": 100, "one_way_delay_ms": 20},
    tcp={"receiver_window_segments": 400},
    flows=[{"name": "upload", "direction": "up"}],
    events=[{"at_s": 45, "station": {"name": "upload", "rate_mbps": 2.0}}],
)
# Of a congestion control that needs RACK, as overrides of its kind's scenario.
WITH_RACK: Mapping[str, object] = {"tcp.sack": {}, "tcp.loss_detection": {"name": "rack"}}
PICTURES: Mapping[str, Picture] = {
    "schemes": Picture(
        UP_AND_DOWN,
        "ap.scheme",
        5,
        "Five uploads (1 to 5) and five downloads (6 to 10) in one 802.11b cell, each scheme with its own limit, ECN at the hosts, "
        "60 s, five seeds; bars are means with 95 % intervals, dots single runs, strokes tail drop's means. On the right, what becomes of the "
        "packets that the access point is offered, under tail drop and under this scheme.",
    ),
    "limit_controllers": Picture(
        load(ROOT / "scenarios" / "uploads-come-and-go.toml"),
        "ap.limit_controller",
        3,
        "The limit in `scenarios/uploads-come-and-go.toml`: two downloads, and six uploads from 100 s to 300 s. Mean of three "
        "seeds, shaded by its 95 % interval.",
        [("limit_packets", "ap", "Buffer limit [packets]")],
    ),
    "congestion_controls": Picture(
        ONE_UPLOAD,
        "tcp.congestion_control",
        1,
        "Window and round trip of one upload, 40 ms of wired round trip, 802.11b; at 45 s its link falls from 11 to 2 Mbps. One run, as an "
        "example: a mean over runs would hide the sawtooth.",
        [("cwnd_segments", "upload", "Congestion window [segments]"), ("srtt_ms", "upload", "Smoothed RTT [ms]")],
    ),
    "rate_adaptations": Picture(
        load(ROOT / "scenarios" / "walking-away.toml"),
        "mac.rate_adaptation",
        3,
        "The rate of a station that walks 170 m away and back (`scenarios/walking-away.toml`), averaged over each second. "
        "Mean of three seeds, shaded by its 95 % interval.",
        [("link_rate_up_mbps", "walker", "Link rate, uplink [Mbps]")],
    ),
}


def draw(folder: Path) -> None:
    """Draws one picture per component, `<kind>/<name>.png`, for the kinds that have pictures."""
    listed = {kind: [component["name"] for component in engine_schema()[kind]] for kind in PICTURES}
    needed = {found["name"]: WITH_RACK for found in engine_schema()["congestion_controls"] if found["needs_rack"]}
    studies = [
        Runs([Cell(name, p.scenario.override({p.key: name, **needed.get(name, {})})) for name in listed[kind]], p.seeds)
        for kind, p in PICTURES.items()
    ]
    for (kind, picture), results in zip(PICTURES.items(), run_studies(studies), strict=True):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for name in listed[kind]:
            if picture.courses:
                made, panels = plots.figure(
                    len(picture.courses), width=6.4 if len(picture.courses) == 1 else 4.4, height=3.0
                )
                for axes, course in zip(panels, picture.courses, strict=True):
                    _course(axes, results, name, *course)
            else:
                made, (flows, fates) = plots.figure(2, width=4.4, height=3.2)
                _flows(flows, results, name)
                _fates(fates, results, list(dict.fromkeys([REFERENCE, name])))
            plots.save(made, folder / kind, name)


def _course(axes: Axes, results: Results, name: str, metric: str, entity: str, label: str) -> None:
    only = (pl.col("scenario") == name, pl.col("metric") == metric, pl.col("entity") == entity)
    own = results.frames["series"].filter(*only).sort("seed", "time_s")
    values = own["value"].to_numpy().reshape(own["seed"].n_unique(), -1)
    times = own["time_s"].to_numpy().reshape(values.shape)[0]
    plots.courses(axes, times, {name: values}, x_label="Time [s]", y_label=label)


def _flows(axes: Axes, results: Results, scheme: str) -> None:
    means = _goodputs(results, REFERENCE)
    own = results.flows.filter(pl.col("scenario") == scheme)
    uplinks = own.filter(pl.col("direction") == "up")["label"].n_unique()
    plots.flow_shares(
        axes, _goodputs(results, scheme), uplinks, title=scheme, x_label="Flow", y_label="Goodput [Mbps of payload]"
    )
    if scheme != REFERENCE:
        strokes = [t_interval(values).estimate for values in means]
        axes.plot(range(1, len(strokes) + 1), strokes, "_", color="#D55E00", markersize=13, label=f"under {REFERENCE}")
    axes.set_ylim(0, 1.35 * max(*(values.max() for values in means), axes.get_ylim()[1] / 1.2))
    axes.legend(fontsize="x-small", loc="upper right")


def _goodputs(results: Results, scheme: str) -> Sequence[Any]:
    own = results.flows.filter(pl.col("scenario") == scheme)
    return [group["goodput_mbps"].to_numpy() for _, group in own.group_by("label", maintain_order=True)]


def _fates(axes: Axes, results: Results, schemes: Sequence[str]) -> None:
    """A bar per class of packets: shares of what was offered, means over the seeds."""
    at_ap = results.queues.filter(pl.col("node") == "ap")
    for place, (scheme, kind) in enumerate((scheme, kind) for scheme in schemes for kind in ("ack", "data")):
        own = at_ap.filter((pl.col("scenario") == scheme) & (pl.col("class") == kind))
        reached = 0.0
        for column, fate, colour, hatch in FATES:
            share = t_interval((own[column] / own["offered_packets"]).to_numpy()).estimate
            look: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "#000000", "linewidth": 0.7}
            axes.bar(place, share, bottom=reached, width=0.6, label=None if place else fate, **look)
            reached += share
    labels = [f"{'ACKs' if kind == 'ack' else 'data'}\n{scheme}" for scheme in schemes for kind in ("ack", "data")]
    axes.set_xticks(range(len(labels)), labels, fontsize="x-small")
    axes.set_ylabel("Share of the packets offered")
    axes.set_ylim(0, 1.4)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.legend(fontsize="x-small", loc="upper center", ncols=3)
