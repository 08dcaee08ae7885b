"""What a scheme does in one standard cell, drawn: what each flow gets, and what becomes of the access point's packets.

The cell: five uploads and five downloads over 802.11b, a buffer of 50 packets, 20 s + 60 s, five seeds; ECN at the hosts, so that
schemes that mark have something to do. Tail drop stands beside each scheme.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from wifair import Scenario, plots
from wifair.stats import t_interval
from wifair.study import Cell, Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from wifair.results import Results

SEEDS = 5
REFERENCE = "droptail"
CELL = Scenario(
    title="the standard cell",
    run={"warmup_s": 20, "duration_s": 60},
    ap={"limit_packets": 50},
    tcp={"ecn": True},
    flows=[{"count": 5, "direction": "up"}, {"count": 5, "direction": "down"}],
)
# What becomes of a packet that is offered to the access point's buffer: column, legend, grey, hatch.
FATES = (
    ("delivered_packets", "delivered", "#ffffff", None),
    ("filtered_packets", "redundant, removed", "#cccccc", "///"),
    ("evicted_packets", "pushed out", "#888888", None),
    ("tail_drop_packets", "refused", "#444444", None),
    ("aqm_drop_packets", "dropped by rule", "#bbbbbb", "xxx"),
)


def draw(schemes: Sequence[str], folder: Path) -> None:
    """One picture a scheme, `<name>.png`."""
    names = list(dict.fromkeys([REFERENCE, *schemes]))
    results = Study([Cell(name, CELL.override({"ap.scheme": name})) for name in names], SEEDS).run()
    folder.mkdir(parents=True, exist_ok=True)
    top = 1.15 * float(results.flows["goodput_mbps"].max())  # type: ignore[arg-type]
    for scheme in schemes:
        shown = list(dict.fromkeys([REFERENCE, scheme]))
        made, panels = plots.figure(2 * len(shown), width=4.2, height=2.8, columns=2)
        for i, name in enumerate(shown):
            _flows(panels[2 * i], results, name, top)
            _fates(panels[2 * i + 1], results, name)
        panels[1].legend(fontsize="x-small", loc="upper center", ncols=3)
        plots.save(made, folder, scheme)


def _flows(axes: Axes, results: Results, scheme: str, top: float) -> None:
    own = results.flows.filter(pl.col("scenario") == scheme)
    flows = [group["goodput_mbps"].to_numpy() for _, group in own.group_by("label", maintain_order=True)]
    uplinks = own.filter(pl.col("direction") == "up")["label"].n_unique()
    plots.flow_shares(axes, flows, uplinks, title=scheme, x_label="Flow", y_label="Goodput [Mbps of payload]")
    axes.set_ylim(0, top)


def _fates(axes: Axes, results: Results, scheme: str) -> None:
    """A bar a class of packets: shares of what was offered, means over the seeds."""
    axes.set_title(scheme, fontsize="medium")
    for place, (kind, label) in enumerate((("ack", "ACKs"), ("data", "data"))):
        own = results.queues.filter(
            (pl.col("scenario") == scheme) & (pl.col("node") == "ap") & (pl.col("class") == kind)
        )
        reached = 0.0
        for column, fate, colour, hatch in FATES:
            share = t_interval((own[column] / own["offered_packets"]).to_numpy()).estimate
            axes.bar(
                label,
                share,
                bottom=reached,
                color=colour,
                hatch=hatch,
                edgecolor="#000000",
                linewidth=0.7,
                width=0.6,
                label=None if place else fate,
            )
            reached += share
    axes.set_ylabel("Share of the packets offered")
    axes.set_ylim(0, 1.4)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axes.tick_params(labelsize="small")
