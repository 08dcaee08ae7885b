"""Readings of points that the paper leaves open, causes switched off, and explorations beyond it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from wifair.papers.dqm.measured import Measured
from wifair.papers.dqm.study import (
    AFTER_CHANGE,
    BASE,
    BLIND,
    CHANGE_S,
    DQM,
    FLOWS_IN_TIME,
    LATE_UPLINKS,
    OTHER_BASE,
    PI_ECHO,
    RATE_CHANGE,
    UNIFORM,
)
from wifair.papers.readings import Alternative, Joint, Kind, Reading, View

_OF_DQM: Mapping[str, tuple[str, ...]] = {"scheme": (DQM, BLIND)}
_DQM_ALONE: Mapping[str, tuple[str, ...]] = {"part": (UNIFORM,), "scheme": (DQM,)}
# Few, some and many flows in place of all twenty numbers, to save time.
_SOME_N: Mapping[str, tuple[object, ...]] = {"n": (2, 10, 20)}
_DQM_ALONE_AT_SOME_N: Mapping[str, tuple[object, ...]] = {**_DQM_ALONE, **_SOME_N}
_ALL_JUDGED_AT_SOME_N: Mapping[str, tuple[object, ...]] = {"scheme": (BASE, PI_ECHO, DQM, BLIND), **_SOME_N}
_BOTH: Mapping[str, tuple[str, ...]] = {"scheme": (BASE, DQM, BLIND)}

# Long enough for the controller to settle with ten flows.
LATER_S = 1_000.0
_WINDOW = "What becomes of T_up and T_dn at a window's end?"

_CLOCK = Alternative(
    "window-clock", _WINDOW, "both start at 0: overshoot is forgotten", {"ap.scheme.window": "clock"}, _OF_DQM
)
_CARRY_USED = Alternative(
    "window-carry-used",
    _WINDOW,
    "overshoot is carried over, but a window ends when both together have used T_w",
    {"ap.scheme.window": "carry-used"},
    _OF_DQM,
)
_EQUAL_RATES = Alternative(
    "equal-rates",
    "Which queue is served when both are below their shares and their bit rates are equal?",
    "that of the flows with less channel time, not the printed one of ACKs",
    {"ap.scheme.equal_rates": "less-time"},
    _OF_DQM,
)

_TURN = "What is sent if the queue to be served is empty?"
_WAIT = Alternative(
    "empty-turn-wait",
    _TURN,
    "nothing until the next arrival or the end of the AP's next exchange, as printed",
    {"ap.scheme.empty_turn": "wait"},
    _OF_DQM,
)
_POLL = Alternative(
    "empty-turn-poll",
    _TURN,
    "nothing until then or until the controller's next tick",
    {"ap.scheme.empty_turn": "poll"},
    _OF_DQM,
)
# In other cells both directions have flows from the first second on.
_LATE_DQM: Mapping[str, tuple[str, ...]] = {"part": (LATE_UPLINKS,), "scheme": (DQM,)}
_INFINITE = Alternative(
    "no-active-flows-infinite",
    "How does T/N compare where N is 0?",
    "as infinite, 0/0 too",
    {"ap.scheme.no_active_flows": "infinite"},
    _LATE_DQM,
)

READINGS: tuple[Reading[Measured], ...] = (
    _CLOCK,
    Alternative(
        "window-used",
        _WINDOW,
        "both start at 0, and a window ends when both together have used T_w",
        {"ap.scheme.window": "used"},
        _OF_DQM,
    ),
    _CARRY_USED,
    Alternative("window-none", _WINDOW, "windows do not end", {"ap.scheme.window": "none"}, _OF_DQM),
    _EQUAL_RATES,
    Joint("window-clock+equal-rates", (_CLOCK, _EQUAL_RATES)),
    Joint("window-carry-used+equal-rates", (_CARRY_USED, _EQUAL_RATES)),
    Alternative(
        "standard",
        "Whose MAC and TCP?",
        "802.11 and the RFCs instead of ns-2's (N = 2, 10 and 20)",
        {"dialect": "standard"},
        _ALL_JUDGED_AT_SOME_N,
    ),
    Alternative(
        "rts",
        "Are MAC parameters at ns-2's default?",
        "RTS on every frame (N = 2, 10 and 20)",
        {"mac.rts_threshold_bytes": 0},
        _ALL_JUDGED_AT_SOME_N,
    ),
    Alternative(
        "channel-time",
        "Does the backoff in T_pkt include the time for which it is frozen?",
        "it does not",
        {"ap.scheme.packet_time": "channel-time"},
        _OF_DQM,
    ),
    Alternative(
        "fast-average",
        "Which weight has the newest T_pkt?",
        "0.1 in place of 0.01 (N = 2, 10 and 20)",
        {"ap.scheme.packet_time_weight": 0.1},
        _DQM_ALONE_AT_SOME_N,
    ),
    Alternative(
        "empty-pick",
        "What is marked when the queue to mark from is empty?",
        "nothing, not the printed arrival (N = 2, 10 and 20)",
        {"ap.scheme.empty_pick": "nothing"},
        _DQM_ALONE_AT_SOME_N,
    ),
    Alternative(
        "unmarkable",
        "What becomes of a head that cannot be marked?",
        "it is dropped (N = 2, 10 and 20)",
        {"ap.scheme.unmarkable": "drop"},
        _DQM_ALONE_AT_SOME_N,
    ),
    Alternative(
        "no-active-flows",
        "How does T/N compare where N is 0?",
        "as nothing",
        {"ap.scheme.no_active_flows": "zero"},
        _LATE_DQM,
    ),
    _INFINITE,
    _WAIT,
    Joint("empty-turn-wait+no-active-flows-infinite", (_WAIT, _INFINITE)),
    _POLL,
    Joint("empty-turn-poll+no-active-flows-infinite", (_POLL, _INFINITE)),
    Alternative(
        "aarf",
        "What lowers the uplink stations' rates?",
        "AARF, when frames above 2 Mbps begin to fail",
        {
            "mac.rate_adaptation": {"name": "aarf"},
            "events": [
                {
                    "at_s": CHANGE_S,
                    "station": {
                        "name": "up",
                        "frame_error_rate": {
                            "by_rate": [{"rate_mbps": 5.5, "data": 1.0}, {"rate_mbps": 11.0, "data": 1.0}]
                        },
                    },
                }
            ],
        },
        {"part": (RATE_CHANGE, AFTER_CHANGE)},
    ),
    View("flows-2", "How many flows do Figs. 4 and 5 have?", "1 + 1", lambda m: m.with_flows(2)),
    Alternative(
        "later-change",
        "When does the rate change in Figs. 4(a) and 5(a), if the controller is to have settled?",
        "after 1000 s of 2000",
        {
            "run.duration_s": 2 * LATER_S,
            "run.sample_interval_s": 10.0,
            "events": [{"at_s": LATER_S, "station": {"name": "up", "rate_mbps": 2.0}}],
        },
        {"part": (RATE_CHANGE,), "n": (FLOWS_IN_TIME,), "scheme": (PI_ECHO, DQM, BLIND)},
    ),
    Alternative(
        "later-uplinks",
        "When do the uplinks start in Figs. 4(b) and 5(b), if the controller is to have settled?",
        "after 1000 s of 2000",
        {"run.duration_s": 2 * LATER_S, "run.sample_interval_s": 10.0, "flows.0.start_s": LATER_S},
        {"part": (LATE_UPLINKS,), "n": (FLOWS_IN_TIME,), "scheme": (DQM,)},
    ),
    Alternative(
        "no-marking",
        "Does the controller's marking matter?",
        "switched off: nothing is marked, the two queues stay",
        {"ap.scheme.a": 0.0, "ap.scheme.b": 0.0},
        _DQM_ALONE,
        Kind.ABLATION,
    ),
    Alternative(
        "settled",
        "Does the time in which the controller winds up matter to losses and timeouts?",
        "switched off: 200 s after a warm-up of 300 s",
        {"run.warmup_s": 300.0},
        {"part": (UNIFORM,), **_BOTH},
        Kind.ABLATION,
    ),
    Alternative(
        "base-without-loss",
        "Do losses in the AP's buffer matter to BASE?",
        "switched off: a buffer of 5000 packets",
        {"ap.limit_packets": 5_000},
        {"part": (UNIFORM,), "scheme": (BASE,)},
        Kind.ABLATION,
    ),
    Alternative(
        "gains-10",
        "What if the controller were ten times as fast?",
        "a and b of Table II times 10",
        {"ap.scheme.a": 1.822e-4, "ap.scheme.b": 1.816e-4},
        _OF_DQM,
        Kind.EXPLORATION,
    ),
    *(
        View(
            name,
            "With which buffer or window is BASE's index 0.203, if not with those of Table II?",
            f"{name.replace('-', ' of ')} {'packets' if 'buffer' in name else 'segments'}",
            partial(Measured.with_base, base=name),
            Kind.EXPLORATION,
        )
        for name in OTHER_BASE
    ),
)
