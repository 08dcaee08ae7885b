"""The simulations of Sections III to V: scenarios and forms.

Baseline. The paper names no simulator, so the MAC and TCP are those of the standards with the values of Table I and
Section III. What it does not say:

- Whether every segment is acknowledged: it is. Section V-A says that standard TCP increases the window "by one packet per
  RTT" and chooses a by that rate; with an ACK for every second segment the window of RFC 5681 grows by half a packet per RTT.
  No other sentence of the paper bears on the question. That deployed receivers delay ACKs speaks for the other reading, which
  is therefore run over Figs. 2 to 6. A third, delayed ACKs with growth by the bytes acknowledged (RFC 3465), keeps both; it is
  run for one download with 0 and 10 uploads.
- The stations' buffers and the AP's for ACKs: 400 packets, the paper's own example of a large one.
- TXOP limits: none, a frame at a time, since the paper gives CWmin, CWmax and AIFS alone.
- ALT's initial limit: q_min. From below, the limit of one download rises to q_max within a minute (a = 10 packets/s of idle time)
  and is back where it stays when the measurement begins. From 400 the limit with ten uploads falls by one packet per second at
  most and would still be falling then.
- When the buffer is idle: while no packet is queued (`crates/wifair-queue/src/limits/alt.rs`).

The other readings are in `wifair.papers.alt.readings`. Runs last 500 s, of which 200 are warm-up (the paper's own: 400 s),
and half of that with ten downloads. In runs of 2,000 s, ALT's mean limit over that measurement lies within 5 % of that over all
that follows, with delayed ACKs too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from wifair.papers.reproduction import Form
from wifair.scenario.scenario import Scenario
from wifair.study.job import Cell

ALT = "alt"
EBDP = "ebdp"  # the companion scheme, which the paper's introduction refers to

# "Each has a payload of 1000 bytes."
PAYLOAD_BYTES = 1000
Q_MIN, Q_MAX = 30, 400
# a and b of V-A, in packets per second.
INCREASE, DECREASE = 10.0, 1.0
# "Values collected in simulations run for 400 seconds" (Fig. 3).
COUNTED_S = 400.0
# The windows of ten downloads need less time to grow to their size than that of one.
WITHOUT_ONE_DOWNLOAD = 0.5
# Factor on the measurement's length if uploads come and go: ALT falls by one packet per second.
STEP_DURATIONS = 3
SAMPLE_S = 2.0

BUFFERS = (10, 30, 50, 70, 100, 200, 300, 400)
UPLOADS = (0, 2, 5, 10)
RTTS_MS = (50, 200, 300)
RTT_MS = 200


class Mix(NamedTuple):
    """The numbers of flows by direction, and the RTT of the wired part.

    Uploads that come and go are active in the middle third of the run. Without a separate category, TCP ACKs are queued
    and contend together with the data.
    """

    down: int
    up: int
    rtt_ms: int = RTT_MS
    come_and_go: bool = False
    own_category: bool = True

    def __str__(self) -> str:
        downloads = ["1 download" if self.down == 1 else f"{self.down} downloads"] if self.down else []
        uploads = [f"{self.up} uploads"] if self.up else []
        return " + ".join(downloads + uploads) + ("" if self.rtt_ms == RTT_MS else f", {self.rtt_ms} ms")


ONE, TEN, BUSY = Mix(1, 0), Mix(10, 0), Mix(1, 10)
STEP = Mix(1, 10, come_and_go=True)
# Section III: "n stations each carrying one TCP upload flow", by "the basic 802.11 DCF", with the smallest and the largest of
# the buffers that Section IV compares.
PREMISE = Mix(0, 10, own_category=False)
ENDS = (Q_MIN, Q_MAX)
FIG_2 = tuple(Mix(1, up) for up in UPLOADS)
FIG_4 = (ONE, TEN)
FIG_5 = (ONE, TEN, BUSY)
FIG_6 = {down: tuple(Mix(down, up) for up in UPLOADS) for down in (1, 10)}
# "As the wired RTT is varied": for the mixes of Fig. 5.
FIG_7 = {(mix.down, mix.up): tuple(Mix(mix.down, mix.up, rtt) for rtt in RTTS_MS) for mix in FIG_5}

Buffer = int | str
Place = tuple[Mix, Buffer]

_FIXED_2: tuple[Place, ...] = tuple((mix, packets) for mix in FIG_2 for packets in BUFFERS)
_FIXED_4: tuple[Place, ...] = tuple((mix, packets) for mix in FIG_4 for packets in BUFFERS)
_PREMISE: tuple[Place, ...] = (
    *((PREMISE, packets) for packets in ENDS),
    (PREMISE._replace(own_category=True), Q_MAX),
)


def _against_400(mixes: Mapping[Any, tuple[Mix, ...]]) -> tuple[Place, ...]:
    every = [mix for some in mixes.values() for mix in some]
    return tuple((mix, buffer) for mix in every for buffer in (ALT, Q_MAX))


# The cells of each figure. The last figure is not the paper's.
FIGURES: Mapping[str, tuple[Place, ...]] = {
    "2": _FIXED_2,
    "3": _FIXED_2,
    "4": _FIXED_4,
    "5": tuple((mix, ALT) for mix in FIG_5),
    "6": _against_400(FIG_6),
    "7": _against_400(FIG_7),
    "step": ((STEP, ALT), (STEP, EBDP)),
}

FORMS = {
    "full": Form(10, 4, 200.0, 300.0, figure_formats=("png", "pdf")),
    "quick": Form(2, 0, 100.0, 150.0),
}

SECTION_III: Mapping[str, Any] = {
    "phy": {"name": "802.11g", "control_rate_mbps": 6.0},
    "mac": {
        "retry_limit_short": 11,
        "retry_limit_long": 11,
        "edca": {
            "tcp_acks": "voice",
            "voice": {"cw_min": 3, "cw_max": 7, "aifsn": 2, "txop_limit_us": 0.0},
            "best_effort": {"cw_min": 31, "cw_max": 1023, "aifsn": 6, "txop_limit_us": 0.0},
        },
    },
    "station": {"rate_mbps": 54.0, "tx_queue": {"limit_packets": Q_MAX}},
    "tcp": {
        "congestion_control": {"name": "reno"},
        "sack": {},
        "mss_bytes": PAYLOAD_BYTES,
        "initial_ssthresh_segments": 64,
        "receiver_window_segments": 4096,
        "delayed_ack": {"segments": 1},
    },
}

# Without a category for ACKs the other one is unused.
_MAC = SECTION_III["mac"]
ONE_CATEGORY: Mapping[str, Any] = {
    **SECTION_III,
    "mac": {**_MAC, "edca": {**_MAC["edca"], "tcp_acks": "best-effort"}},
}


def scenario(mix: Mix, buffer: Buffer, form: Form) -> Scenario:
    """The scenario of a cell: a fixed buffer in packets, or a limit controller by name."""
    controlled = isinstance(buffer, str)
    data_tx_queue: dict[str, Any] = {"limit_packets": buffer}
    if controlled:
        data_tx_queue = {"limit_packets": Q_MIN, "limit_controller": {"name": buffer}}
    share = 1.0 if mix.down == 1 else WITHOUT_ONE_DOWNLOAD
    warmup_s = share * form.warmup_s
    duration_s = STEP_DURATIONS * form.duration_s if mix.come_and_go else share * form.duration_s
    third_s = (warmup_s + duration_s) / 3
    there = {"start_s": third_s, "stop_s": 2 * third_s} if mix.come_and_go else {}
    downloads = [{"count": mix.down, "direction": "down", "name": "down"}] if mix.down else []
    uploads = [{"count": mix.up, "direction": "up", "name": "up", **there}] if mix.up else []
    run: dict[str, Any] = {"warmup_s": warmup_s, "duration_s": duration_s}
    if controlled:
        run["sample_interval_s"] = SAMPLE_S
    return Scenario.from_settings(
        {
            **(SECTION_III if mix.own_category else ONE_CATEGORY),
            "title": f"{buffer}, {mix}",
            "ap": {"limit_packets": Q_MAX, "categories": {"best_effort": data_tx_queue}},
            "wire": {"rate_mbps": 100.0, "one_way_delay_ms": mix.rtt_ms / 2},
            "run": run,
            "flows": [*uploads, *downloads],
        }
    )


def coordinates(mix: Mix, buffer: Buffer) -> dict[str, int | str]:
    """The coordinates of a cell."""
    return {
        "down": mix.down,
        "up": "come and go" if mix.come_and_go else mix.up,
        "rtt_ms": mix.rtt_ms,
        "acks": "own category" if mix.own_category else "data's category",
        "buffer": buffer,
    }


def cells(form: Form, figure: str | None) -> list[Cell]:
    """The baseline's grid, or the cells of one figure."""
    places = FIGURES[figure] if figure else [*_PREMISE, *(place for some in FIGURES.values() for place in some)]
    return [
        Cell(
            f"{buffer}/{mix.down}+{mix.up}/{mix.rtt_ms}ms"
            + ("/step" if mix.come_and_go else "")
            + ("" if mix.own_category else "/one-category"),
            scenario(mix, buffer, form),
            coordinates(mix, buffer),
        )
        for mix, buffer in dict.fromkeys(places)
    ]
