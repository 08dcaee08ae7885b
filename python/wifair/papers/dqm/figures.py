"""Figures 2 to 5 in the paper's arrangement with RED and PI added, and two that are not the paper's: `empty-turn`, `channel-time`.

Tables compare readings: `uniform` (Figs. 2 and 3), `rate-change`, `delays`, `late-uplinks` (Figs. 4 and 5) and `base-index`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from wifair import plots
from wifair.markdown import table
from wifair.papers.dqm.measured import AFTER, BEFORE, Measured
from wifair.papers.dqm.study import (
    BASE,
    BLIND,
    CASES,
    CHANGE_S,
    DELAY_REF_MS,
    DQM,
    EMPTY_TURN,
    FLOWS,
    HARD_TO_KNOW,
    LATE_UPLINKS,
    MIXES,
    OTHER_BASE,
    PI,
    PI_ECHO,
    RATE_CHANGE,
    RED,
    SCHEMES,
    SHOWN_IN_TIME,
    TURNS,
    VARIOUS_RATES,
    Mix,
)
from wifair.stats import t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from wifair.stats import Values

TITLES = {BASE: "BASE (tail drop)", RED: "RED", PI: "PI", PI_ECHO: "PI, ECE on ACKs", DQM: "DQM"}
STYLES = {TITLES[scheme]: plots.STYLES[i] for i, scheme in enumerate(SCHEMES)}
X = [float(n) for n in FLOWS]
X_LABEL = "N, total number of flows"
THROUGHPUT = "Mbps of payload"


def _fig_2(m: Measured) -> Figure:
    """A row per case: BASE and DQM by direction, and the aggregate of all."""
    made, panels = plots.figure(6, width=3.6, height=3.0, columns=3)
    for row, case in enumerate(CASES):
        mixes = [Mix(case, n) for n in FLOWS]
        by_direction = ((panels[3 * row], BASE), (panels[3 * row + 1], DQM))
        for axes, scheme in by_direction:
            series = {
                "uplink": [m.up(mix, scheme) for mix in mixes],
                "downlink": [m.down(mix, scheme) for mix in mixes],
            }
            plots.lines(axes, X, series, x_label=X_LABEL, y_label=f"Per flow [{THROUGHPUT}]")
            axes.set_title(f"{TITLES[scheme]}, Case {case}", fontsize="medium")
        _same_height([axes for axes, _ in by_direction])
        totals = {TITLES[scheme]: [m.total(mix, scheme) for mix in mixes] for scheme in SCHEMES}
        axes = panels[3 * row + 2]
        plots.lines(axes, X, totals, x_label=X_LABEL, y_label=f"All flows [{THROUGHPUT}]", styles=STYLES)
        axes.set_title(f"Aggregate, Case {case}", fontsize="medium")
    return made


def _fig_3(m: Measured) -> Figure:
    """A row per case: the ratio, on a logarithmic scale, and the index."""
    made, panels = plots.figure(4, width=4.4, height=3.2, columns=2)
    for row, case in enumerate(CASES):
        mixes = [Mix(case, n) for n in FLOWS]
        gammas = {TITLES[scheme]: [m.gamma(mix, scheme) for mix in mixes] for scheme in SCHEMES}
        axes = panels[2 * row]
        plots.lines(axes, X, gammas, x_label=X_LABEL, y_label="R_up / R_dn", styles=STYLES)
        axes.set_yscale("log")
        axes.set_ylim(0.05, None)
        axes.legend(loc="lower center", ncols=2, fontsize="x-small")
        axes.set_title(f"Case {case}", fontsize="medium")
        indices = {TITLES[scheme]: [m.index(mix, scheme) for mix in mixes] for scheme in SCHEMES}
        axes = panels[2 * row + 1]
        plots.lines(axes, X, indices, x_label=X_LABEL, y_label="Fairness index", styles=STYLES, bounds=(0, 1))
        axes.set_ylim(0, 1.05)
        axes.legend().set_visible(False)  # it is in the next panel
        axes.set_title(f"Case {case}", fontsize="medium")
    return made


def _course(axes: Axes, m: Measured, part: str, series: Mapping[str, Values], y_label: str) -> None:
    """Time series of the first run: a mean over runs would hide the fluctuation."""
    times = m.times(part, DQM)
    for i, (name, values) in enumerate(series.items()):
        style = plots.STYLES[i]
        axes.plot(times, values[0], label=name, color=style["color"], linestyle=style["linestyle"], linewidth=1.1)
    axes.axvline(CHANGE_S, color="#888888", linewidth=0.8)
    axes.set_xlabel("Time [s]")
    axes.set_ylabel(y_label)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.legend(fontsize="small")


def _fig_4(m: Measured, part: str) -> Figure:
    made, panels = plots.figure(len(SHOWN_IN_TIME), width=4.2, height=3.2)
    for axes, scheme in zip(panels, SHOWN_IN_TIME, strict=True):
        series = {f"{way}link": m.throughput_series(part, scheme, way) for way in ("up", "down")}
        _course(axes, m, part, series, f"Per flow [{THROUGHPUT}]")
        axes.set_title(f"{TITLES[scheme]}, {m.flows // 2} + {m.flows // 2} flows", fontsize="medium")
    return made


def _fig_5(m: Measured, part: str) -> Figure:
    made, panels = plots.figure(3, width=4.2, height=3.2)
    lengths = {"queue": m.series(part, DQM, "queue_packets"), "reference": m.series(part, DQM, "queue_ref_packets")}
    _course(panels[0], m, part, lengths, "Packets")
    delay = m.series(part, DQM, "sojourn_ms")
    _course(panels[1], m, part, {"delay": delay, "reference": 0 * delay + DELAY_REF_MS}, "Queueing delay [ms]")
    _course(panels[2], m, part, {"marking": m.series(part, DQM, "mark_probability")}, "Probability")
    panels[1].set_title(f"DQM, {m.flows // 2} + {m.flows // 2} flows", fontsize="medium")
    return made


def _fig_empty_turn(m: Measured) -> Figure:
    """Not in the paper: what all flows together get, by what is sent if the queue to be served is empty."""
    made, (axes,) = plots.figure(1, width=6.4, height=3.6)
    times = m.times(EMPTY_TURN, next(iter(TURNS)))
    every = [name for name in TURNS if name.endswith("nothing")]
    for style, name in zip(plots.STYLES, every, strict=False):
        totals = sum(m.throughput_series(EMPTY_TURN, name, way).mean(axis=0) for way in ("up", "down")) * (m.flows // 2)
        label = name.partition(";")[0]
        axes.plot(times, totals, label=label, color=style["color"], linestyle=style["linestyle"], linewidth=1.1)
    axes.axvline(CHANGE_S, color="#888888", linewidth=0.8)
    axes.set_xlabel("Time [s]")
    axes.set_ylabel(f"All flows [{THROUGHPUT}]")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.25)
    axes.legend(fontsize="small", loc="lower right")
    return made


def _empty_turn(m: Measured) -> str:
    """A table of the throughput of all flows before and after the uplinks start."""
    cells = []
    for name in TURNS:
        sent, _, counts = name.partition("; T/0 counts as ")
        before, after = (m.total_in(EMPTY_TURN, name, window) for window in (BEFORE, AFTER))
        cells.append((sent, counts, *(t_interval(values).short() for values in (before, after, after / before))))
    headings = ("what is sent", "T/0 counts as", "downlinks alone, Mbps", "all flows, Mbps", "all over downlinks alone")
    return table(headings, cells) + "\n"


def _fig_channel_time(m: Measured) -> Figure:
    """Not in the paper: DQM's estimate of channel times over the true ones."""
    made, panels = plots.figure(2, width=4.4, height=3.2)
    for axes, case in zip(panels, CASES, strict=True):
        mixes = [Mix(case, n) for n in FLOWS]
        series = {f"{way}link flows": [m.believed(mix, way) for mix in mixes] for way in ("up", "down")}
        plots.lines(axes, X, series, x_label=X_LABEL, y_label="Channel time, the AP's over the true")
        axes.set_ylim(0.85, 1.05)
        axes.axhspan(0.95, 1.05, color="#dddddd", zorder=0)
        axes.set_title(f"DQM, Case {case}", fontsize="medium")
    return made


def _channel_time(m: Measured) -> str:
    """A table of the figure's first and last points, and of conditions in which more frames fail."""
    most = Mix(1, FLOWS[-1])
    rows = {f"Case {mix.case}, N = {mix.n}": (mix, DQM) for mix in (Mix(1, FLOWS[0]), most, Mix(2, FLOWS[-1]))}
    rows |= {f"Case 1, N = {most.n}, {name}": (most, name) for name in HARD_TO_KNOW}
    cells = []
    for label, (mix, under) in rows.items():
        up, down = (m.believed(mix, way, under) for way in ("up", "down"))
        cells.append((label, *(t_interval(values).short() for values in (up, down, up / down))))
    return table(("", "uplink flows", "downlink flows", "up over down"), cells) + "\n"


TEXTS: Mapping[str, Callable[[Measured], str]] = {"empty-turn": _empty_turn, "channel-time": _channel_time}


# A reading's measurements by its id; the baseline's by "baseline".
Readings = Mapping[str, Measured]
BASELINE = "baseline"
# The readings of a window's end and of equal bit rates, but for windows that do not end.
OF_WINDOWS = ("window-clock", "window-used", "window-carry-used", "equal-rates")
OF_WINDOWS_TOGETHER = ("window-clock+equal-rates", "window-carry-used+equal-rates")
# The first twentieth of a run in which the late uplinks are active: 10 s, or more in a longer run.
BEGINNING = (0.5, 0.55)


def _uniform(data: Readings) -> str:
    """A table of Figs. 2 and 3: the schemes, DQM by reading, and BASE without losses; over every N of both cases."""
    rows = {TITLES[scheme]: (BASELINE, scheme) for scheme in SCHEMES}
    of_dqm = (*OF_WINDOWS, *OF_WINDOWS_TOGETHER, "window-none", "empty-turn-wait", "empty-turn-poll", "no-marking")
    rows |= {f"DQM, `{name}`": (name, DQM) for name in of_dqm}
    rows["BASE, `base-without-loss`"] = ("base-without-loss", BASE)
    cells = []
    for label, (name, scheme) in rows.items():
        m = data[name]
        quantities = (m.gamma, m.index, m.total)
        means = ([float(quantity(mix, scheme).mean()) for mix in MIXES] for quantity in quantities)
        cells.append((label, *(f"{min(each):.3g} to {max(each):.3g}" for each in means)))
    return table(("scheme, `--reading`", "R_up / R_dn", "FI", "R_total, Mbps"), cells) + "\n"


def _rate_change(data: Readings) -> str:
    """A table of what all flows get after the uplinks' rate has fallen, and with as many slow stations in both directions."""
    cells = []
    for name in (BASELINE, *OF_WINDOWS, *OF_WINDOWS_TOGETHER, "flows-2", "gains-10"):
        m = data[name]
        shown = [(RATE_CHANGE, scheme) for scheme in (BASE, DQM, BLIND)] + [(VARIOUS_RATES, one) for one in (BASE, DQM)]
        cells.append((f"`{name}`", *(t_interval(m.total_in(part, scheme, AFTER)).short() for part, scheme in shown)))
    headings = ("BASE", "DQM", "DQM without regard to bit rates", "slow both ways: BASE", "slow both ways: DQM")
    return table(("`--reading`", *headings), cells) + "\n"


def _delays(data: Readings) -> str:
    """A table of waits before and after the uplinks' rate falls, and of the time and air that the directions then have."""
    cells = []
    for name in (BASELINE, "flows-2", "later-change", "gains-10", "rts", "channel-time", "standard"):
        m = data[name]
        waits = [
            m.mean(RATE_CHANGE, scheme, "sojourn_ms", part)
            for scheme, part in ((DQM, BEFORE), (DQM, AFTER), (PI_ECHO, AFTER))
        ]
        # The time and the air are of other cells, some of which a reading leaves as they are.
        ratios = [m.channel_time_ratio(), m.airtime_ratio()]
        cells.append((f"`{name}`", *(t_interval(values).short() for values in (*waits, *ratios))))
    headings = (
        "DQM before, ms",
        "DQM after, ms",
        "PI, ECE on ACKs, after, ms",
        "channel time, up over down",
        "air, up over down",
    )
    return table(("`--reading`", *headings), cells) + "\n"


def _late_uplinks(data: Readings) -> str:
    """A table of Fig. 5(b), and of what a downlink flow gets when the uplinks have just begun."""
    cells = []
    for name in (BASELINE, "flows-2", "later-uplinks", "gains-10", "window-clock", "window-none", "empty-turn-wait"):
        m = data[name]
        metrics = ("sojourn_ms", "queue_packets", "queue_ref_packets")
        values = [m.mean(LATE_UPLINKS, DQM, metric, part) for part in (BEFORE, AFTER) for metric in metrics]
        first = m.throughput(LATE_UPLINKS, DQM, "down", BEGINNING)
        cells.append((f"`{name}`", *(t_interval(one).short() for one in (*values, first))))
    headings = [f"{what}, {when}" for when in ("alone", "all") for what in ("wait in ms", "queue", "reference")]
    return table(("`--reading`", *headings, "a downlink flow at first, Mbps"), cells) + "\n"


def _base_index(data: Readings) -> str:
    """A table of the fairness index of BASE with the most flows, by buffer and window."""
    m = data[BASELINE]
    named = {"Table II": BASE} | {f"`{name}`": name for name in OTHER_BASE}
    cells = [
        (label, *(t_interval(m.with_base(name).base_index(case)).short() for case in CASES))
        for label, name in named.items()
    ]
    return table(("BASE", *(f"Case {case}" for case in CASES)), cells) + "\n"


TABLES: Mapping[str, Callable[[Readings], str]] = {
    "uniform": _uniform,
    "rate-change": _rate_change,
    "delays": _delays,
    "late-uplinks": _late_uplinks,
    "base-index": _base_index,
}


def _same_height(panels: Sequence[Axes]) -> None:
    top = max(axes.get_ylim()[1] for axes in panels)
    for axes in panels:
        axes.set_ylim(0, top)


FIGURES: Mapping[str, Callable[[Measured], Figure]] = {
    "2": _fig_2,
    "3": _fig_3,
    "4a": lambda m: _fig_4(m, RATE_CHANGE),
    "4b": lambda m: _fig_4(m, LATE_UPLINKS),
    "5a": lambda m: _fig_5(m, RATE_CHANGE),
    "5b": lambda m: _fig_5(m, LATE_UPLINKS),
    "empty-turn": _fig_empty_turn,
    "channel-time": _fig_channel_time,
}
