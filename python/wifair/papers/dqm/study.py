"""The simulations of Section IV: the baseline, its scenarios and forms.

Baseline. The paper says ns-2 (version 2.29.3), so the baseline is the `ns-2` dialect with what Sections III-A and IV and
Table II say. They do not say how long a run is; "uplink flows start in the middle (at t0 = 100 second)" makes it 200 s,
and nothing is said of a warm-up, so averages are over all of it. Nor do they say how many flows Figs. 4 and 5 have: Case
1 with N = 10, the middle of Figs. 2 and 3; a view of 2 is added. RTS is off, since the parameters are "the
default settings of the IEEE 802.11b PHY/MAC"; ns-2's own default, RTS on every frame, is run as an alternative. The
packet of 1000 bytes is taken as a whole, headers included.

The observation window. The paper does not say what happens to T_up and T_dn when a window ends. The baseline carries
over what a direction used beyond its share, for three reasons. The text gives the windows a purpose: "in each
observation window, neither uplink flows nor downlink flows can consume more bandwidth than their fair share". A
direction is served as long as it is below its share, so it ends most windows above it, by up to an exchange, and the AP
cannot hold back a station's own frame at all; counters that start at 0 forget this, window after window, and cannot
meet the purpose. Algorithm 1 has no reset, so starting at 0 is an addition to it, as carrying over is. Counters that
never end contradict "current observation window", and Fig. 4(b): uplinks that begin at 100 s would have the channel
alone until they had caught up with 100 s of the downlinks. Unused shares are not carried over: the text bounds what is
used and promises nothing later. Both other treatments are readings. This argument was made after the first runs, in
which both counters started at 0.

The turn of an empty queue. Algorithm 1 does not say what is sent if the queue that it chooses is empty. The baseline sends
the head of the other. To send nothing, as a queue of ns-2 would, is a reading.

The uplink stations' bit rate falls by script, as Section IV-B describes; rate adaptation by AARF is an alternative.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from wifair.papers.reproduction import Form
from wifair.scenario.scenario import Scenario
from wifair.study.job import Cell

BASE = "droptail"  # "the baseline scheme used in current WLANs"
RED = "red"
PI = "pi"
PI_ECHO = "pi-echo"
DQM = "dqm"
BLIND = "dqm-blind"  # DQM that ignores bit rates
# In addition to the paper's two: RED and PI as RFC 3168 has them, and PI with DQM's marking but one queue, which shows
# what the two queues and the channel times add.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    BASE: {"name": "droptail"},
    RED: {"name": "red"},
    PI: {"name": "pi"},
    PI_ECHO: {"name": "pi", "signal": "mark-and-echo"},
    DQM: {"name": "dqm"},
    BLIND: {"name": "dqm", "opportunistic": False},
}
SCHEMES = (BASE, RED, PI, PI_ECHO, DQM)
# Of the evolution in time the paper shows DQM; BASE and DQM's marking without its channel times are added.
SHOWN_IN_TIME = (BASE, PI_ECHO, DQM)

UNIFORM = "uniform"
RATE_CHANGE = "rate-change"
AFTER_CHANGE = "after-change"  # only the last 50 s of RATE_CHANGE, for quantities that are sums over a run
LATE_UPLINKS = "late-uplinks"
VARIOUS_RATES = "various-rates"  # as many slow stations as after RATE_CHANGE, spread over both directions
OTHER_INDEX = "other-index"
KNOWLEDGE = "knowledge"
EMPTY_TURN = "empty-turn"  # LATE_UPLINKS by what is sent if the queue to be served is empty
UPLINKS_FIRST = "uplinks-first"  # the buffer is full of ACKs when the downlinks begin

FLOWS = tuple(range(2, 21, 2))
CASES = (1, 2)
# Total number of flows in Figs. 4 and 5: the baseline's, and those of the other readings.
FLOWS_IN_TIME = 10
OTHER_FLOWS_IN_TIME = (2,)

CHANGE_S = 100.0  # "at the time of t0 (100 second here)"
RUN_S = 200.0
DELAY_REF_MS = 50.0  # D_ref of Table II


class Mix(NamedTuple):
    """A case of Section IV-A with N flows."""

    case: int
    n: int

    @property
    def up(self) -> int:
        """N_up: N/2 in Case 1, 1 in Case 2."""
        return self.n // 2 if self.case == 1 else 1

    @property
    def down(self) -> int:
        """N_dn."""
        return self.n - self.up

    def __str__(self) -> str:
        return f"case {self.case}, N = {self.n}"


MIXES = tuple(Mix(case, n) for case in CASES for n in FLOWS)

_MIDDLE = (Mix(1, FLOWS_IN_TIME),)
_OTHERS = tuple(Mix(1, n) for n in OTHER_FLOWS_IN_TIME)
# BASE with buffers and windows other than Table II's and the largest number of flows, to find an index of 0.203.
OTHER_BASE: Mapping[str, Mapping[str, Any]] = {
    **{f"buffer-{packets}": {"ap.limit_packets": packets} for packets in (25, 50, 75, 150)},
    **{f"window-{segments}": {"tcp.receiver_window_segments": segments} for segments in (21, 64, 130)},
}
# DQM in cells that test its estimate of channel times.
HARD_TO_KNOW: Mapping[str, Mapping[str, Any]] = {
    "RTS on every frame": {"mac.rts_threshold_bytes": 0},
    "without ECN, so that the uplinks collide more": {"tcp.ecn": False},
    "frame error rate 0.1 both ways": {"station.frame_error_rate": {"data_up": 0.1, "data_down": 0.1}},
    "frame error rate 0.3 from the stations": {"station.frame_error_rate": {"data_up": 0.3}},
}
# DQM by what is sent if the queue to be served is empty, and by what T/0 counts as.
TURNS: Mapping[str, Mapping[str, Any]] = {
    f"{sent}; T/0 counts as {counts}": {"ap.scheme.empty_turn": turn, "ap.scheme.no_active_flows": no_flows}
    for turn, sent in (
        ("other", "the other queue's head"),
        ("wait", "nothing until the next arrival or the end of the exchange"),
        ("poll", "nothing until then or the next tick"),
    )
    for no_flows, counts in (("zero", "nothing"), ("infinite", "infinite"))
}
# Parts whose cells are not named by a scheme: the scheme, and the settings of each name.
VARIED: Mapping[str, tuple[str, Mapping[str, Mapping[str, Any]]]] = {
    OTHER_INDEX: (BASE, OTHER_BASE),
    KNOWLEDGE: (DQM, HARD_TO_KNOW),
    EMPTY_TURN: (DQM, TURNS),
}

# Each part's mixes, and the schemes that run them.
GRID: Mapping[str, Sequence[tuple[Sequence[Mix], Sequence[str]]]] = {
    UNIFORM: ((MIXES, SCHEMES),),
    RATE_CHANGE: ((_MIDDLE + _OTHERS, (*SHOWN_IN_TIME, BLIND)),),
    AFTER_CHANGE: ((_MIDDLE + _OTHERS, (DQM,)),),
    LATE_UPLINKS: ((_MIDDLE + _OTHERS, SHOWN_IN_TIME),),
    EMPTY_TURN: ((_MIDDLE, tuple(TURNS)),),
    VARIOUS_RATES: ((_MIDDLE + _OTHERS, (BASE, DQM)),),
    UPLINKS_FIRST: (((Mix(1, FLOWS[-1]),), (BASE,)),),
    OTHER_INDEX: ((tuple(Mix(case, FLOWS[-1]) for case in CASES), tuple(OTHER_BASE)),),
    KNOWLEDGE: (((Mix(1, FLOWS[-1]),), tuple(HARD_TO_KNOW)),),
}
IN_TIME = (RATE_CHANGE, LATE_UPLINKS, EMPTY_TURN, VARIOUS_RATES)

# The parts of the grid for each figure. The last two are not the paper's: the turns of an empty queue, and the accuracy of
# DQM's estimate.
FIGURES: Mapping[str, tuple[str, ...]] = {
    "2": (UNIFORM,),
    "3": (UNIFORM,),
    "4a": (RATE_CHANGE, AFTER_CHANGE),
    "4b": (LATE_UPLINKS,),
    "5a": (RATE_CHANGE,),
    "5b": (LATE_UPLINKS,),
    "empty-turn": (EMPTY_TURN,),
    "channel-time": (UNIFORM, KNOWLEDGE),
}

FORMS = {
    "full": Form(10, 5, 0.0, RUN_S, figure_formats=("png", "pdf")),
    "quick": Form(3, 0, 0.0, RUN_S),
}

SECTION_IV: Mapping[str, Any] = {
    "dialect": "ns-2",
    "phy": {"name": "802.11b", "preamble": "long"},
    "ap": {"limit_packets": 100},
    "station": {"rate_mbps": 11.0},
    "wire": {"rate_mbps": 100.0, "one_way_delay_ms": 25.0},
    "tcp": {
        "congestion_control": {"name": "newreno"},
        "mss_bytes": 960,  # "TCP Packet size 1000 Bytes"
        "header_bytes": 40,
        "receiver_window_segments": 43,
        "delayed_ack": {"segments": 1},  # ns-2's sink
        "ecn": True,  # "We assume all nodes are ECN capable"
    },
}


def scenario(part: str, mix: Mix, scheme: str, form: Form) -> Scenario:
    """One simulation of Section IV."""
    uplinks: dict[str, Any] = {"count": mix.up, "direction": "up", "name": "up"}
    downlinks: dict[str, Any] = {"count": mix.down, "direction": "down", "name": "down"}
    name, changes = (VARIED[part][0], VARIED[part][1][scheme]) if part in VARIED else (scheme, {})
    run: dict[str, Any] = {"warmup_s": form.warmup_s, "duration_s": form.duration_s}
    settings: dict[str, Any] = {
        **SECTION_IV,
        "title": f"{scheme}, {part}, {mix}",
        "ap": {**SECTION_IV["ap"], "scheme": SETTINGS[name]},
        "run": run,
        "flows": [uplinks, downlinks],
    }
    if part in IN_TIME:
        run["sample_interval_s"] = 1.0
    if part in (RATE_CHANGE, AFTER_CHANGE):
        settings["events"] = [_slows_down("up")]
    if part == AFTER_CHANGE:
        run |= {"warmup_s": 0.75 * form.duration_s, "duration_s": 0.25 * form.duration_s}
    if part in (LATE_UPLINKS, EMPTY_TURN):
        uplinks["start_s"] = CHANGE_S
    if part == VARIOUS_RATES:
        slow = {"up": (mix.up + 1) // 2, "down": mix.down // 2}
        settings["flows"] = [
            {"count": count, "direction": way, "name": name}
            for way, of_way in (("up", mix.up), ("down", mix.down))
            for name, count in ((way, of_way - slow[way]), (f"{way}-slow", slow[way]))
            if count
        ]
        settings["events"] = [_slows_down(f"{way}-slow") for way, count in slow.items() if count]
    if part == UPLINKS_FIRST:
        downlinks["start_s"] = 5.0
    return Scenario.from_settings(settings).override(changes)


def _slows_down(stations: str) -> Mapping[str, Any]:
    return {"at_s": CHANGE_S, "station": {"name": stations, "rate_mbps": 2.0}}


def cells(form: Form, figure: str | None) -> list[Cell]:
    """The grid, or the part for one figure."""
    return [
        Cell(
            f"{part}/{scheme}/{mix.up}+{mix.down}-case-{mix.case}",
            scenario(part, mix, scheme, form),
            {"part": part, "scheme": scheme, "case": mix.case, "n": mix.n},
        )
        for part in (FIGURES[figure] if figure else GRID)
        for mixes, schemes in GRID[part]
        for mix in mixes
        for scheme in schemes
    ]
