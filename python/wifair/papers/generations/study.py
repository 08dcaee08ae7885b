"""The simulations: the cell behind each paper's headline, on six generations of 802.11 in two scalings.

Unchanged. Each cell has its paper's number of flows, TCP, buffer, window, packet, wired delay and rates, as the paper's
own study has them. Changed in every cell:

- The MAC is the standard's: ns-2's deviations concern 802.11b.
- The wire is faster than the air by the papers' factor (100 to 11 Mbps), "so that no congestion would occur in the wired
  link"; its delay is the paper's.
- Flows start within one second.
- `spm-af-las`: the five hosts with small files and the five with large ones load them over and over for a fixed time.

The scalings (`air.py`). In packets: every number as printed. In time: buffers, windows, stations' buffers, the initial threshold of slow
start, sizes of files, T-LAS's threshold, the bounds and gains of ALT and the gains of DQM's controller are multiplied (DQM's gains:
divided) by the ratio of the link's rate to the paper's. Not scaled: delays, minimum timeouts, initial windows, and SPM's
threshold of 4 packets, below which three duplicate ACKs cannot come.

What lies below the scheme. The baseline has what Linux's access points of the generation have (`air.py`); without anything
below the scheme, and with other hardware, are readings (`readings.py`). The driver ath9k fills an A-MPDU by `gather`: with all
packets for the station at the head, wherever they are in the buffer; LAS, T-LAS and DQM fill it with the station's packets in
their order. A firmware has its own queues per station.

Run length. A run is as long as its windows and buffers need to settle: TCP counts in packets, so with packets as
printed a fast link settles sooner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from wifair.papers.alt.study import DECREASE, INCREASE, Q_MAX, Q_MIN, RTT_MS, SECTION_III
from wifair.papers.arf_aware_tcp.study import CAPPED
from wifair.papers.generations.air import GENERATIONS, PACKETS, SCALINGS, TIME, B, G, Generation, factor
from wifair.papers.reproduction import Form
from wifair.papers.spm_af_las.study import LARGE_PACKETS, MARKED, MSS_BYTES, SMALL_PACKETS, SPM_SENDER, WINDOW
from wifair.scenario.scenario import Scenario

TAIL_DROP = "droptail"
AF = "ack-filtering"
ADAPTIVE = "adaptive-pushout"
SPM_AF = "spm-af"
LAS = "las"
T_LAS = "t-las"
ALT = "alt"
DQM = "dqm"
NEWRENO = "newreno"
ARF_AWARE = "arf-aware"

# Parts of the grid, each a cell of a paper.
TEN_AND_TEN = "ten-and-ten"
MOSTLY_DOWN = "mostly-down"
FIVE_AND_FIVE = "five-and-five"
FILES = "files"
TEN_DOWNLOADS = "ten-downloads"
FIVE_AND_FIVE_ECN = "five-and-five-ecn"
PAIR_DOWN = "pair-down"
PAIR_UP = "pair-up"
# A pair of stations: the second as fast as the first, or slow.
FAST, SLOW = "fast", "slow"

SCHEMES: Mapping[str, Sequence[str]] = {
    TEN_AND_TEN: (TAIL_DROP, AF, ADAPTIVE),
    MOSTLY_DOWN: (AF, ADAPTIVE),
    FIVE_AND_FIVE: (TAIL_DROP, SPM_AF, LAS),
    FILES: (TAIL_DROP, SPM_AF, T_LAS),
    TEN_DOWNLOADS: (TAIL_DROP, ALT),
    FIVE_AND_FIVE_ECN: (TAIL_DROP, DQM),
    PAIR_DOWN: (FAST, SLOW, ARF_AWARE),
    PAIR_UP: (FAST, SLOW),
}
# The generation of each paper, whose link rate is the base of the scaling: 802.11b except for `alt`.
HOME: Mapping[str, Generation] = {TEN_DOWNLOADS: G}


def home(part: str) -> Generation:
    """The generation of the part's paper."""
    return HOME.get(part, B)


class Span(NamedTuple):
    """Seconds of warm-up and of measurement."""

    warmup_s: float
    duration_s: float


@dataclass(frozen=True)
class Size(Form):
    """The length of a run by scaling and generation."""

    spans: Mapping[str, Mapping[str, Span]] = field(default_factory=dict)


class Setting(NamedTuple):
    """The coordinates of a simulation in the grid."""

    part: str
    scheme: str
    generation: Generation
    scaling: str

    @property
    def factor(self) -> float:
        """The factor on numbers of packets."""
        return factor(self.scaling, self.generation, home(self.part))

    def count(self, packets: float) -> int:
        """A number of packets in this scaling."""
        return max(1, round(packets * self.factor))

    @property
    def name(self) -> str:
        """Its name in the grid."""
        return f"{self.part}/{self.scheme}/{self.generation}/{self.scaling}"

    @property
    def keys(self) -> dict[str, str | int | float]:
        """Its coordinates."""
        return {
            "part": self.part,
            "scheme": self.scheme,
            "generation": self.generation.name,
            "scaling": self.scaling,
        }


Table = dict[str, Any]
BOTH_WAYS = {"direction": "up", "name": "up"}, {"direction": "down", "name": "down"}


def _both(up: int, down: int) -> list[Table]:
    return [{**way, "count": count} for way, count in zip(BOTH_WAYS, (up, down), strict=True)]


def _adaptive_pushout(s: Setting) -> Table:
    """`adaptive-pushout`, Section IV-A: Reno, windows of 42 packets, a buffer of 100."""
    up, down = (10, 10) if s.part == TEN_AND_TEN else (6, 14)
    return {
        "ap": {"scheme": s.scheme, "limit_packets": s.count(100)},
        "tcp": {
            "congestion_control": "reno",
            "receiver_window_segments": s.count(42),
            "delayed_ack": {"segments": 1},
        },
        "wire": {"one_way_delay_ms": 5.0},
        "flows": _both(up, down),
    }


def _spm_af_las(s: Setting) -> Table:
    """`spm-af-las`, Sections 5 and 7: NewReno, windows of 20 packets, delayed ACKs, a buffer of 50."""
    window = s.count(WINDOW)
    growth = {"limit_segments": window, "limit_after_timeout_segments": window, "segment_by_segment": True}
    senders = {**SPM_SENDER, "byte_counting": growth} if s.scheme == SPM_AF else {}
    schemes = {SPM_AF: MARKED, T_LAS: {"name": T_LAS, "threshold_packets": s.count(50)}}
    return {
        "ap": {"scheme": schemes.get(s.scheme, s.scheme), "limit_packets": s.count(50)},
        "tcp": {
            "congestion_control": "newreno",
            "receiver_window_segments": window,
            "delayed_ack": {"segments": 2},
            **senders,
        },
        "wire": {"one_way_delay_ms": 5.0},
        "flows": _both(5, 5) if s.part == FIVE_AND_FIVE else [_files(s, "small"), _files(s, "large")],
    }


def _files(s: Setting, name: str) -> Table:
    """Five hosts that repeatedly load files of one size."""
    packets = {"small": SMALL_PACKETS, "large": LARGE_PACKETS}[name]
    transfers = {"name": "transfers", "transfer_bytes": s.count(packets) * MSS_BYTES}
    return {"name": name, "direction": "down", "count": 5, "application": transfers}


# Windows with SACK have at most 2²⁴ bytes. Ten of these fill 200 ms at 6 Gbps, so no link here is bound by them.
MOST_SEGMENTS = 16_000


def _alt(s: Setting) -> Table:
    """`alt`, Section III and Fig. 6: ten downloads over 200 ms, ACKs in a separate category, a buffer of 400 packets or ALT's."""
    limit = {
        "name": ALT,
        "increase_packets_per_s": INCREASE * s.factor,
        "decrease_packets_per_s": DECREASE * s.factor,
        "min_packets": s.count(Q_MIN),
        "max_packets": s.count(Q_MAX),
    }
    data: Table = {"limit_packets": s.count(Q_MAX)}
    if s.scheme == ALT:
        data = {"limit_packets": s.count(Q_MIN), "limit_controller": limit}
    tcp = {
        **SECTION_III["tcp"],
        "initial_ssthresh_segments": s.count(64),
        "receiver_window_segments": min(s.count(4096), MOST_SEGMENTS),
    }
    return {
        "mac": SECTION_III["mac"],
        "ap": {"limit_packets": s.count(Q_MAX), "categories": {"best_effort": data}},
        "station": {"tx_queue": {"limit_packets": s.count(Q_MAX)}},
        "tcp": tcp,
        "wire": {"one_way_delay_ms": RTT_MS / 2},
        "flows": [{"direction": "down", "name": "down", "count": 10}],
    }


# The PI controller's gains (`dqm`, III-B), per packet.
DQM_GAINS = {"a": 1.822e-5, "b": 1.816e-5}


def _dqm(s: Setting) -> Table:
    """`dqm`, Section IV, Case 1 with ten flows: NewReno with ECN, packets of 1,000 bytes, a buffer of 100."""
    gains = {name: gain / s.factor for name, gain in DQM_GAINS.items()}
    return {
        "ap": {
            "scheme": {"name": DQM, **gains} if s.scheme == DQM else s.scheme,
            "limit_packets": s.count(100),
        },
        "tcp": {
            "congestion_control": "newreno",
            "mss_bytes": 960,
            "receiver_window_segments": s.count(43),
            "delayed_ack": {"segments": 1},
            "ecn": True,
        },
        "wire": {"one_way_delay_ms": 25.0},
        "flows": _both(5, 5),
    }


def _pair(s: Setting) -> Table:
    """`arf-aware-tcp`, Section 4, as calibrated, but without RTS: two stations, NewReno, packets of 1,000 bytes, a buffer of 50.

    One of them slows down in the middle of the warm-up (`events`).
    """
    direction = "down" if s.part == PAIR_DOWN else "up"
    aware = {
        "name": ARF_AWARE,
        "over": {"name": NEWRENO},
        "window": CAPPED,
        "max_rate_mbps": s.generation.rate_mbps,
    }
    flow = {"direction": direction, "server_notified_of_link_rate": s.part == PAIR_DOWN}
    return {
        "ap": {"limit_packets": s.count(50)},
        "tcp": {
            "congestion_control": aware if s.scheme == ARF_AWARE else NEWRENO,
            "mss_bytes": 1000,
            "receiver_window_segments": s.count(20),
            "initial_ssthresh_segments": s.count(20),
            "delayed_ack": {"segments": 1},
        },
        "wire": {"one_way_delay_ms": 5.0},
        "flows": [{**flow, "name": "fast"}, {**flow, "name": "other"}],
    }


def _events(s: Setting, warmup_s: float) -> list[Table]:
    slows = s.part in (PAIR_DOWN, PAIR_UP) and s.scheme != FAST
    return [{"at_s": warmup_s / 2, "station": {"name": "other", **s.generation.slow}}] if slows else []


SETTINGS: Mapping[str, Callable[[Setting], Table]] = {
    TEN_AND_TEN: _adaptive_pushout,
    MOSTLY_DOWN: _adaptive_pushout,
    FIVE_AND_FIVE: _spm_af_las,
    FILES: _spm_af_las,
    TEN_DOWNLOADS: _alt,
    FIVE_AND_FIVE_ECN: _dqm,
    PAIR_DOWN: _pair,
    PAIR_UP: _pair,
}


# Factor on the warm-up for ALT and DQM, which need tens of seconds to settle on any link.
SETTLING = {TEN_DOWNLOADS: 5.0, FIVE_AND_FIVE_ECN: 2.0}


def scenario(s: Setting, form: Size) -> Scenario:
    """The scenario of a simulation."""
    settings = SETTINGS[s.part](s)
    span = form.spans[s.scaling][s.generation.name]
    warmup_s = SETTLING.get(s.part, 1.0) * span.warmup_s
    # In the papers' simulations the stations' buffers hold a window and lose no packet.
    window = settings["tcp"]["receiver_window_segments"]
    station = {"tx_queue": {"limit_packets": max(window, 100)}, **settings.get("station", {}), **s.generation.link}
    wire_mbps = 100.0 * s.generation.rate_mbps / home(s.part).rate_mbps
    return Scenario.from_settings(
        {
            **settings,
            "title": s.name,
            "phy": s.generation.phy,
            "mac": settings.get("mac", s.generation.mac),
            "station": station,
            "ap": {**settings["ap"], "hardware": s.generation.hardware},
            "wire": {"rate_mbps": wire_mbps, **settings["wire"]},
            "run": {
                "warmup_s": warmup_s,
                "duration_s": span.duration_s,
                "record_transfers": False,
            },
            "flows": [{"start_spread_s": 1.0, **flow} for flow in settings["flows"]],
            "events": _events(s, warmup_s),
        }
    )


def _spans(b: float, g: float, n: float, later: float, scaled: float) -> Mapping[str, Mapping[str, Span]]:
    """Warm-up and measurement of each generation with packets as printed, and of the fast ones scaled in time."""
    slow = {"802.11b": Span(b, 2 * b), "802.11g": Span(g, 2 * g)}
    fast = ("802.11ac", "802.11ax", "802.11be")
    return {
        PACKETS: {**slow, "802.11n": Span(n, 2 * n), **dict.fromkeys(fast, Span(later, 2 * later))},
        TIME: {**slow, "802.11n": Span(2 * scaled, 2 * scaled), **dict.fromkeys(fast, Span(scaled, scaled))},
    }


# In seconds. Where packets are as printed, a faster link settles sooner; scaled in time, windows take as long as at 11 Mbps.
FORMS = {
    "full": Size(10, 4, 0.0, 0.0, figure_formats=("png", "pdf"), spans=_spans(60.0, 30.0, 15.0, 8.0, 12.0)),
    "quick": Size(2, 0, 0.0, 0.0, spans=_spans(15.0, 6.0, 3.0, 1.5, 2.5)),
}

GRID = tuple(
    Setting(part, scheme, generation, scaling)
    for scaling in SCALINGS
    for generation in GENERATIONS
    for part, schemes in SCHEMES.items()
    for scheme in schemes
)
