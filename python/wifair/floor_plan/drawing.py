"""A floor plan as a figure: one panel per floor, channels by colour and marker."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.lines import Line2D

from wifair import plots
from wifair.floor_plan.plan import FloorPlan, Node

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Names of BSSs and stations are written if there are at most so many per floor.
NAMED_BSSS, NAMED_STATIONS = 24, 8
# Hidden pairs are drawn if there are at most so many.
DRAWN_PAIRS = 12
# Hidden pairs are arches, and so is a link that passes an access point closer than `PASSING`, a share of the figure's width.
# How much they are bent is matplotlib's `rad`; a link's arch stays within the edge.
HIDDEN_ARCH, LINK_ARCH, PASSING = 0.12, 0.08, 0.012
WALL: dict[str, Any] = {"color": "#BDBDBD", "linewidth": 3.5}
HIDDEN: dict[str, Any] = {"color": "#D55E00", "linewidth": 1.1, "linestyle": (0, (2, 2)), "zorder": 3}
# Room around the outermost nodes and walls, in metres.
EDGE_M = 1.0
WIDTH_IN = 8.0


def draw(plan: FloorPlan, path: Path) -> Path:
    """Draws a floor plan in a file, whose ending says the format."""
    made = figure(plan)
    [written] = plots.save(made, path.parent, path.stem, [path.suffix[1:]])
    return written


def figure(plan: FloorPlan) -> Figure:
    """The figure: the lowest floor is the lowest panel."""
    floors = sorted({node.floor for node in plan.nodes if node.place_m}, reverse=True)
    left, right, low, high = _extent(plan)
    height_in = min(max(WIDTH_IN * (high - low) / (right - left), 1.2), 6.5) + 0.55
    made, panels = plots.figure(len(floors), WIDTH_IN, height_in, columns=1)
    styles = _styles(plan)
    for axes, floor in zip(panels, floors, strict=True):
        _floor(axes, plan, floor, styles, PASSING * (right - left))
        axes.set_xlim(left, right)
        axes.set_ylim(low, high)
        axes.set_aspect("equal")
        axes.set_ylabel("y, m")
        if len(floors) > 1:
            axes.set_title(f"floor {floor}", loc="left", fontsize="medium")
    panels[-1].set_xlabel("x, m")
    made.legend(handles=_legend(plan, styles), loc="outside lower center", ncols=3, fontsize="small", frameon=False)
    return made


def _extent(plan: FloorPlan) -> tuple[float, float, float, float]:
    places = [node.place_m for node in plan.nodes if node.place_m]
    places += [end for wall in plan.walls for end in wall[:2]]
    xs, ys = zip(*places, strict=True)
    edge = max(EDGE_M, 0.04 * (max(xs) - min(xs)))
    return min(xs) - edge, max(xs) + edge, min(ys) - edge, max(ys) + edge


def _styles(plan: FloorPlan) -> dict[int | None, dict[str, Any]]:
    """Colour and marker of each channel."""
    channels = sorted(set(plan.channels.values()), key=lambda channel: channel or 0)
    looks = [plots.STYLES[1:][i % (len(plots.STYLES) - 1)] for i in range(len(channels))]
    return {
        channel: {key: look[key] for key in ("color", "marker")} for channel, look in zip(channels, looks, strict=True)
    }


def _floor(axes: Axes, plan: FloorPlan, floor: int, styles: dict[int | None, dict[str, Any]], passing_m: float) -> None:
    """The walls of all floors, and the nodes of one. Weak links are drawn above strong ones, whose lines are thicker."""
    for (x1, y1), (x2, y2), _ in plan.walls:
        axes.plot([x1, x2], [y1, y2], solid_capstyle="round", zorder=1, **WALL)
    here = {node.name: node for node in plan.nodes if node.floor == floor and node.place_m}
    for a, b, dbm in sorted(plan.links, key=lambda link: -link[2]):
        if a in here and b in here:
            strong = dbm >= plan.preamble_detection_dbm + 20
            look = {"linewidth": 1.6 if strong else 0.7, "alpha": 0.75, "zorder": 2}
            look["color"] = styles[plan.channels[plan.bss_of[a]]]["color"]
            others = [node for node in here.values() if node.is_ap and node.name not in (a, b)]
            if any(_passes(here[a], here[b], other, passing_m) for other in others):
                _arch(axes, here[a], here[b], LINK_ARCH, **look)
            else:
                _join(axes, here[a], here[b], **look)
    if len(plan.hidden) <= DRAWN_PAIRS:
        for a, b in plan.hidden:
            if a in here and b in here:
                _arch(axes, here[a], here[b], HIDDEN_ARCH, shrink=3, **HIDDEN)
    bsss = {node.bss for node in here.values()}
    stations = [node for node in here.values() if not node.is_ap]
    for node in here.values():
        _node(axes, plan, node, styles, len(bsss) <= NAMED_BSSS if node.is_ap else len(stations) <= NAMED_STATIONS)


def _join(axes: Axes, a: Node, b: Node, **look: Any) -> None:
    assert a.place_m is not None
    assert b.place_m is not None
    axes.plot(*zip(a.place_m, b.place_m, strict=True), **look)


def _passes(a: Node, b: Node, other: Node, within_m: float) -> bool:
    """Whether a straight line between two nodes passes another one."""
    assert a.place_m is not None
    assert b.place_m is not None
    assert other.place_m is not None
    along = (b.place_m[0] - a.place_m[0], b.place_m[1] - a.place_m[1])
    away = (other.place_m[0] - a.place_m[0], other.place_m[1] - a.place_m[1])
    length = math.hypot(*along)
    reached = along[0] * away[0] + along[1] * away[1]
    aside = abs(along[0] * away[1] - along[1] * away[0])
    return 0 < reached < length**2 and aside < within_m * length


def _arch(axes: Axes, a: Node, b: Node, height: float, shrink: float = 0, **look: Any) -> None:
    """Joins two nodes by an arch, which passes by nodes between the two."""
    assert a.place_m is not None
    assert b.place_m is not None
    left, right = sorted((a.place_m, b.place_m))
    arch = {"arrowstyle": "-", "connectionstyle": f"arc3,rad={height}", "shrinkA": shrink, "shrinkB": shrink}
    axes.annotate("", left, right, arrowprops={**arch, **look}, zorder=look["zorder"])


def _node(axes: Axes, plan: FloorPlan, node: Node, styles: dict[int | None, dict[str, Any]], is_named: bool) -> None:
    assert node.place_m is not None
    look = styles[plan.channels[node.bss]]
    x, y = node.place_m
    if node.is_ap:
        axes.plot(x, y, markersize=8.5, markeredgecolor="black", markeredgewidth=0.8, zorder=5, linestyle="", **look)
        if node.bss == plan.own and len(plan.channels) > 1:
            axes.plot(x, y, "o", markersize=15, markerfacecolor="none", markeredgecolor="black", zorder=5)
    else:
        hollow: dict[str, Any] = {"markerfacecolor": "white", "markeredgewidth": 0.8}
        axes.plot(x, y, markersize=3.6, linestyle="", zorder=4, **hollow, **look)
    if is_named:
        offset = (0, 9) if node.is_ap else (0, 4)
        axes.annotate(
            node.name,
            (x, y),
            xytext=offset,
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize="small" if node.is_ap else "x-small",
            fontweight="bold" if node.is_ap and node.bss == plan.own else "normal",
            zorder=7 if node.is_ap else 6,
            bbox={"boxstyle": "square,pad=0.05", "facecolor": "white", "edgecolor": "none", "alpha": 0.75},
        )


def _legend(plan: FloorPlan, styles: dict[int | None, dict[str, Any]]) -> Sequence[Line2D]:
    def entry(label: str, **look: Any) -> Line2D:
        return Line2D([], [], label=label, **look)

    found = []
    for channel, look in styles.items():
        named = "access point" if channel is None else f"access point, channel {channel}"
        found.append(entry(named, linestyle="", markersize=7, markeredgecolor="black", **look))
    first = next(iter(styles.values()))
    found.append(entry("station", linestyle="", markersize=3.6, markerfacecolor="white", **first))
    if len(plan.channels) > 1:
        found.append(
            entry(
                f"{plan.own}, the first BSS",
                linestyle="",
                marker="o",
                markersize=11,
                markerfacecolor="none",
                color="black",
            )
        )
        limit = plan.preamble_detection_dbm
        found.append(
            entry(
                f"access points of one floor that hear each other ({limit:g} dBm)".replace("-", "\u2212"),
                color="#525252",
                linewidth=0.7,
            )
        )
        found.append(
            entry(f"the same, {limit + 20:g} dBm or more".replace("-", "\u2212"), color="#525252", linewidth=1.6)
        )
    if plan.walls:
        found.append(entry("wall", **WALL))
    if 0 < len(plan.hidden) <= DRAWN_PAIRS:
        found.append(entry("stations that do not hear each other", **HIDDEN))
    return found
