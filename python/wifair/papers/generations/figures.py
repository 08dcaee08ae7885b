"""Figures and tables: findings by generation, causes switched off, and the goodput of each generation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from wifair import plots
from wifair.markdown import table
from wifair.papers.claims import Verdict, weigh_effect
from wifair.papers.generations.air import AGGREGATING, GENERATIONS, PACKETS, SCALINGS, TIME, Generation
from wifair.papers.generations.causes import CAUSES, Cause
from wifair.papers.generations.claims import FINDINGS, IN_WORDS, NEGLIGIBLE, Finding, effect
from wifair.papers.generations.findings import findings
from wifair.papers.generations.measured import Air, Measured
from wifair.papers.generations.study import (
    ADAPTIVE,
    AF,
    ALT,
    DQM,
    FILES,
    FIVE_AND_FIVE,
    FIVE_AND_FIVE_ECN,
    LAS,
    SPM_AF,
    T_LAS,
    TAIL_DROP,
    TEN_AND_TEN,
    TEN_DOWNLOADS,
    home,
)
from wifair.stats import Interval, Values, ratio, t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LETTERS = {
    Verdict.SURVIVES: "S",
    Verdict.FADES: "F",
    Verdict.NOTHING_TO_CURE: "N",
    Verdict.GONE: "G",
    Verdict.REVERSED: "R",
    Verdict.UNDETERMINED: "?",
}
# Colours of a tile and its letter; a darker tile means that more of the effect is left.
COLOURS = {
    Verdict.SURVIVES: ("#08519c", "#ffffff"),
    Verdict.FADES: ("#9ecae1", "#000000"),
    Verdict.NOTHING_TO_CURE: ("#e8e8e8", "#000000"),
    Verdict.GONE: ("#ffffff", "#000000"),
    Verdict.REVERSED: ("#f4a582", "#000000"),
    Verdict.UNDETERMINED: ("#ffffff", "#999999"),
}
SERIES = {PACKETS: plots.STYLES[0], TIME: plots.STYLES[1]}
LOWEST, HIGHEST = -0.5, 1.05


def _short(generation: Generation) -> str:
    return generation.name.removeprefix("802.11")


def _survival(m: Measured) -> Figure:
    """A panel per finding: its size by generation in both scalings, and the verdicts as tiles above."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    made, panels = plots.figure(len(FINDINGS) + 1, width=2.75, height=2.5, columns=5)
    for axes, finding in zip(panels, FINDINGS, strict=False):
        _panel(axes, finding, m)
    last = panels[-1]
    last.set_axis_off()
    lines = [Line2D([], [], **SERIES[scaling], markersize=4.5, label=IN_WORDS[scaling]) for scaling in SCALINGS]
    tiles = [
        Patch(facecolor=COLOURS[verdict][0], edgecolor="#777777", label=f"{LETTERS[verdict]}  {verdict.value}")
        for verdict in LETTERS
    ]
    none = Patch(facecolor="#dddddd", label=f"counts as none (±{NEGLIGIBLE:g})")
    half = Line2D([], [], color="#777777", linestyle=":", label="half of what the paper's air has")
    last.legend(
        handles=[*lines, half, none, *tiles],
        loc="center",
        fontsize="small",
        frameon=False,
        title="tiles: upper row printed, lower scaled;\nax and be: no triggered uplink",
        title_fontsize="small",
    )
    return made


def _panel(axes: Axes, finding: Finding, m: Measured) -> None:
    from matplotlib.patches import Rectangle

    axes.axhspan(-NEGLIGIBLE, NEGLIGIBLE, color="#dddddd", linewidth=0)
    origin = home(finding.part)
    was = t_interval(finding.effect(m.at(origin, PACKETS))).estimate
    axes.axhline(was / 2, color="#777777", linestyle=":", linewidth=0.9)
    for row, scaling in enumerate(SCALINGS):
        found = [t_interval(finding.effect(m.at(generation, scaling))) for generation in GENERATIONS]
        sizes = [max(f.estimate, LOWEST) for f in found]
        below = [
            max(0.0, size - max(f.low, LOWEST)) if f.low is not None else 0.0
            for f, size in zip(found, sizes, strict=True)
        ]
        above = [
            max(0.0, min(f.high, HIGHEST) - size) if f.high is not None else 0.0
            for f, size in zip(found, sizes, strict=True)
        ]
        x = [place + 0.12 * (row - 0.5) for place in range(len(GENERATIONS))]
        axes.errorbar(x, sizes, yerr=[below, above], capsize=2, markersize=4, linewidth=1.2, **SERIES[scaling])
        for place, size in zip(x, sizes, strict=True):
            if size == LOWEST:
                axes.annotate("↓", (place, LOWEST), ha="center", va="top", fontsize="small")
        for place, generation in enumerate(GENERATIONS):
            if generation is origin:
                continue
            verdict = weigh_effect(effect(finding, m.at(generation, scaling))).verdict
            tile, letter = COLOURS[verdict]
            top = 1.40 - 0.16 * row
            axes.add_patch(
                Rectangle((place - 0.5, top - 0.16), 1, 0.16, facecolor=tile, edgecolor="#777777", linewidth=0.6)
            )
            axes.text(place, top - 0.085, LETTERS[verdict], color=letter, ha="center", va="center", fontsize=6.5)
    axes.set_xticks(range(len(GENERATIONS)), [_short(generation) for generation in GENERATIONS])
    axes.set_xlim(-0.5, len(GENERATIONS) - 0.5)
    axes.set_ylim(LOWEST - 0.12, 1.40)
    axes.set_yticks([LOWEST, 0.0, 0.5, 1.0])
    axes.tick_params(labelsize="x-small")
    axes.set_ylabel(finding.unit, fontsize=5.5)
    axes.set_title(finding.title, fontsize=7)


# Panels of the figure of causes: finding, scaling, and the causes switched off in turn.
CAUSE_PANELS = (
    ("directions", PACKETS, ("single-frames", "long-acks", "open-windows", "today")),
    ("directions", TIME, ("queues-per-station", "ap-first", "queues-and-ap-first")),
    ("anomaly-down", TIME, ("queues-per-station", "window-64")),
    ("anomaly-up", TIME, ("queues-per-station", "window-64")),
)


def finding_of(name: str) -> Finding:
    """The finding with that id."""
    return next(finding for finding in FINDINGS if finding.id == name)


def _causes(m: Measured) -> Figure:
    """A panel per finding and scaling: its size in the baseline, and with each cause switched off."""
    made, panels = plots.figure(len(CAUSE_PANELS), width=3.9, height=3.5, columns=2)
    for axes, (name, scaling, switched) in zip(panels, CAUSE_PANELS, strict=True):
        finding = finding_of(name)
        axes.axhspan(-NEGLIGIBLE, NEGLIGIBLE, color="#dddddd", linewidth=0)
        drawn: list[tuple[str, str, Sequence[Generation]]] = [("", "as it is", AGGREGATING)]
        drawn += [(c.id, c.label, c.generations) for c in CAUSES if c.id in switched]
        for row, (cause, label, generations) in enumerate(drawn):
            shift = 0.07 * (row - (len(drawn) - 1) / 2)
            places = [(i + shift, g) for i, g in enumerate(AGGREGATING) if g in generations]
            found = [t_interval(finding.effect(m.at(g, scaling).without(cause))) for _, g in places]
            x, sizes = [place for place, _ in places], [f.estimate for f in found]
            bars = [_bars(found, LEAST_SHOWN), [0.0 if f.high is None else f.high - f.estimate for f in found]]
            axes.errorbar(
                x, sizes, yerr=bars, capsize=2, markersize=4.5, linewidth=1.3, label=label, **plots.STYLES[row]
            )
        axes.set_xticks(range(len(AGGREGATING)), [generation.name for generation in AGGREGATING])
        axes.set_ylim(LEAST_SHOWN, 1.1)
        axes.grid(alpha=0.25)
        axes.set_ylabel(finding.unit, fontsize="small")
        axes.set_title(f"{finding.title}\n{IN_WORDS[scaling]}", fontsize="small")
        axes.tick_params(labelsize="small")
        axes.legend(fontsize="x-small")
    return made


LEAST_SHOWN = -0.5


def _bars(found: Sequence[Interval], least: float) -> list[float]:
    """The lower halves of the intervals' error bars, cut at `least`."""
    return [0.0 if f.low is None else max(0.0, f.estimate - max(f.low, least)) for f in found]


def _mpdus(way: str, air: Air) -> Values:
    return air.mpdus_per_ppdu(TEN_AND_TEN, TAIL_DROP, way)


def _air(m: Measured) -> Figure:
    made, panels = plots.figure(3, width=3.4, height=3.2)
    x = [float(place) for place in range(len(GENERATIONS))]
    names = [_short(generation) for generation in GENERATIONS]
    quantities: Sequence[tuple[str, Mapping[str, Callable[[Air], Values]]]] = (
        ("Goodput of all flows [Mbps]", {"": lambda air: air.total_mbps(TEN_AND_TEN, TAIL_DROP)}),
        (
            "MPDUs per PPDU",
            {way: partial(_mpdus, way) for way in ("up", "down")},
        ),
        ("Wait of data in the AP's buffer [ms]", {"": lambda air: air.wait_ms(TEN_AND_TEN, TAIL_DROP)}),
    )
    for axes, (y_label, series) in zip(panels, quantities, strict=True):
        lines = {
            ", ".join(filter(None, (way, IN_WORDS[scaling]))): [quantity(m.at(g, scaling)) for g in GENERATIONS]
            for scaling in SCALINGS
            for way, quantity in series.items()
        }
        plots.lines(axes, x, lines, x_label="802.11", y_label=y_label)
        axes.set_xticks(x, names)
        axes.autoscale(axis="y")
        axes.set_yscale("log")
    return made


# The reference of a cure is tail drop in the same cell.
CURES = (
    ("ACK filtering", TEN_AND_TEN, AF),
    ("adaptive pushout", TEN_AND_TEN, ADAPTIVE),
    ("SPM-AF", FIVE_AND_FIVE, SPM_AF),
    ("LAS", FIVE_AND_FIVE, LAS),
    ("T-LAS", FILES, T_LAS),
    ("ALT", TEN_DOWNLOADS, ALT),
    ("DQM", FIVE_AND_FIVE_ECN, DQM),
)
# Cures whose cost is also measured with a cause switched off: scaling and cause.
COST_WITHOUT = (
    (("LAS, one MPDU per PPDU", FIVE_AND_FIVE, LAS), PACKETS, "single-frames"),
    (("DQM, a tenth of the gains", FIVE_AND_FIVE_ECN, DQM), TIME, "slow-controller"),
)


def _kept(air: Air, part: str, scheme: str) -> Values:
    """The ratio of the goodput under a cure to that under tail drop."""
    return ratio(air.total_mbps(part, scheme), air.total_mbps(part, TAIL_DROP))


def _cost(m: Measured) -> Figure:
    made, panels = plots.figure(len(SCALINGS), width=4.6, height=3.6)
    x = [float(place) for place in range(len(GENERATIONS))]
    for axes, scaling in zip(panels, SCALINGS, strict=True):
        series = {name: [_kept(m.at(g, scaling), part, scheme) for g in GENERATIONS] for name, part, scheme in CURES}
        plots.lines(axes, x, series, x_label="802.11", y_label="Goodput over that under tail drop")
        axes.set_xticks(x, [_short(generation) for generation in GENERATIONS])
        axes.set_title(IN_WORDS[scaling], fontsize="medium")
        axes.legend(fontsize="x-small")
    return made


FIGURES: Mapping[str, Callable[[Measured], Figure]] = {
    "survival": _survival,
    "causes": _causes,
    "cost": _cost,
    "air": _air,
}


# Printed in place of a verdict on the air of the paper.
HOME_CELL = "the paper's"


def _verdict_table(m: Measured) -> str:
    """A row per finding: its verdicts, packets as printed / scaled in time."""
    rows = []
    for finding in FINDINGS:
        cells = []
        for generation in GENERATIONS:
            words = [weigh_effect(effect(finding, m.at(generation, scaling))).verdict for scaling in SCALINGS]
            told = ["open" if word is Verdict.UNDETERMINED else word.value for word in words]
            same = told[0] if told[0] == told[1] else " / ".join(told)
            cells.append(HOME_CELL if generation is home(finding.part) else same)
        rows.append((finding.title, *cells))
    return table(("finding", *(generation.heading for generation in GENERATIONS)), rows) + "\n"


def _cause_table(m: Measured) -> str:
    """A row per cause, finding and scaling: the effect with the cause switched off, and in brackets its change, paired by seed."""
    rows: list[Sequence[str]] = []
    for cause in CAUSES:
        for name in cause.findings:
            for scaling in cause.scalings:
                cells = [_without(m.at(g, scaling), cause, finding_of(name)) for g in GENERATIONS]
                rows.append((cause.label, f"`{name}`", IN_WORDS[scaling], *cells))
    headings = ("changed", "finding", "scaling", *(generation.heading for generation in GENERATIONS))
    return table(headings, rows) + "\n"


def _without(air: Air, cause: Cause, finding: Finding) -> str:
    if air.generation not in cause.generations:
        return "–"
    here, before = finding.effect(air.without(cause.id)), finding.effect(air)
    return f"{t_interval(here).short()} ({t_interval(here - before).short()})"


def _cost_table(m: Measured) -> str:
    """A row per cure and scaling: the ratio of goodput to that under tail drop."""

    def row(cure: tuple[str, str, str], scaling: str, cause: str = "") -> Sequence[str]:
        name, part, scheme = cure
        airs = [m.at(generation, scaling).without(cause) for generation in GENERATIONS]
        kept = [t_interval(_kept(air, part, scheme)).short() if air.is_changed(part, scheme) else "–" for air in airs]
        return name, IN_WORDS[scaling], *kept

    rows = [row(cure, scaling) for cure in CURES for scaling in SCALINGS]
    rows += [row(*without) for without in COST_WITHOUT]
    return table(("cure", "scaling", *(generation.heading for generation in GENERATIONS)), rows) + "\n"


def _air_table(m: Measured) -> str:
    """A row per generation: its configuration, and the scaled size of a window of 42 packets."""
    rows = [
        (
            generation.heading,
            generation.about,
            _mode(generation.link, generation.rate_mbps),
            _mode(generation.slow, generation.slow_rate_mbps),
            generation.ampdu,
            f"`{generation.hardware}`" if generation.aggregates else "–",
            f"{generation.rate_mbps / GENERATIONS[0].rate_mbps:.3g}",
        )
        for generation in GENERATIONS
    ]
    headings = (
        "",
        "band, channel, access",
        "link",
        "slow station",
        "largest A-MPDU",
        "below the scheme",
        "packets scaled by",
    )
    return table(headings, rows) + "\n"


def _mode(mode: Mapping[str, Any], rate_mbps: float) -> str:
    mcs = f"MCS {mode['mcs']}, " if "mcs" in mode else ""
    return f"{mcs}{rate_mbps:.4g} Mbps"


TEXTS: Mapping[str, Callable[[Measured], str]] = {
    "survival": _verdict_table,
    "causes": lambda m: f"{findings(m)}\n{_cause_table(m)}",
    "cost": _cost_table,
    "air": _air_table,
}
