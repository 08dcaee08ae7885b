"""Possible causes of a change, switched off one at a time in further cells of the grid.

A cause is switched off only in the cells of the findings that the page explains by it; the other cells of a finding are
the baseline's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wifair.papers.generations.air import AC, AGGREGATING, AX, BE, GENERATIONS, PACKETS, SCALINGS, TIME, Generation
from wifair.papers.generations.study import (
    ADAPTIVE,
    AF,
    DQM,
    DQM_GAINS,
    FAST,
    FIVE_AND_FIVE,
    FIVE_AND_FIVE_ECN,
    LAS,
    PAIR_DOWN,
    PAIR_UP,
    SLOW,
    TAIL_DROP,
    TEN_AND_TEN,
    Setting,
)

# The cells of each finding (part and scheme) that a cause may change, by its id.
CELLS: Mapping[str, Sequence[tuple[str, str]]] = {
    "directions": ((TEN_AND_TEN, TAIL_DROP),),
    "ack-filtering": ((TEN_AND_TEN, TAIL_DROP), (TEN_AND_TEN, AF)),
    "adaptive-pushout": ((TEN_AND_TEN, TAIL_DROP), (TEN_AND_TEN, ADAPTIVE)),
    "las": ((FIVE_AND_FIVE, TAIL_DROP), (FIVE_AND_FIVE, LAS)),
    "anomaly-down": ((PAIR_DOWN, FAST), (PAIR_DOWN, SLOW)),
    "anomaly-up": ((PAIR_UP, FAST), (PAIR_UP, SLOW)),
    "dqm": ((FIVE_AND_FIVE_ECN, DQM),),
}
# Linux's default limit.
MAC80211: Mapping[str, Any] = {"ap.scheme": "mac80211", "ap.limit_packets": 8192}
AP_FIRST: Mapping[str, Any] = {"mac.edca.ap.best_effort": {"aifsn": 1, "cw_min": 1, "cw_max": 1}}


@dataclass(frozen=True)
class Cause:
    """A cause: the settings that switch it off, and the findings, generations and scalings concerned; `label` names the replacement."""

    id: str
    label: str
    off: str
    findings: Sequence[str]
    settings: Callable[[Setting], Mapping[str, Any]]
    generations: Sequence[Generation] = AGGREGATING
    scalings: Sequence[str] = SCALINGS

    def places(self) -> list[Setting]:
        """The cells in which the cause is switched off."""
        cells = dict.fromkeys(cell for finding in self.findings for cell in CELLS[finding])
        return [
            Setting(part, scheme, generation, scaling)
            for scaling in self.scalings
            for generation in self.generations
            for part, scheme in cells
        ]


# The windows of the papers' cells, in packets.
WINDOWS = {TEN_AND_TEN: 42, PAIR_DOWN: 20}


def _open_windows(s: Setting) -> Mapping[str, Any]:
    window = s._replace(scaling=TIME).count(WINDOWS[s.part])
    return {"tcp.receiver_window_segments": window, "station.tx_queue.limit_packets": window}


def _today(s: Setting) -> Mapping[str, Any]:
    # ACKs with SACK carry blocks, which the papers' filters ignore.
    scheme = s.scheme if s.scheme == TAIL_DROP else {"name": s.scheme, "filter": "safe"}
    return {
        "tcp": {"profile": "today"},
        "ap.scheme": scheme,
        "ap.limit_packets": 1000,
        "station.tx_queue.limit_packets": 1000,
    }


def _slow_controller(s: Setting) -> Mapping[str, Any]:
    return {f"ap.scheme.{name}": gain / s.factor / 10 for name, gain in DQM_GAINS.items()}


CAUSES = (
    Cause(
        "single-frames",
        "one MPDU per PPDU",
        "aggregation: `mac.aggregation.max_mpdus = 1`",
        ("directions", "las"),
        lambda s: {"mac.aggregation.max_mpdus": 1},
        scalings=(PACKETS,),
    ),
    Cause(
        "long-acks",
        "MPDUs 16 µs apart",
        "short ACKs in one A-MPDU: `mac.aggregation.min_mpdu_spacing_us = 16`",
        ("directions",),
        lambda s: {"mac.aggregation.min_mpdu_spacing_us": 16.0},
    ),
    Cause(
        "open-windows",
        "windows scaled in time",
        "windows that bound the flows: they are scaled in time, the buffer is as printed",
        ("directions", "anomaly-down"),
        _open_windows,
        scalings=(PACKETS,),
    ),
    Cause(
        "window-64",
        "Block Ack windows of 64",
        "more than 64 MPDUs in a PPDU: `mac.aggregation.window = 64`",
        ("directions", "anomaly-down", "anomaly-up"),
        lambda s: {"mac.aggregation.window": 64},
        (AX, BE),
        (TIME,),
    ),
    Cause(
        "queues-per-station",
        "queues per station",
        "the queue that all stations share: `mac80211` with 8,192 packets",
        ("directions", "anomaly-down", "anomaly-up"),
        lambda s: MAC80211,
        GENERATIONS,
    ),
    Cause(
        "ap-first",
        "the AP goes first",
        "equal access: the AP has AIFSN 1 and a contention window of 1",
        ("directions",),
        lambda s: AP_FIRST,
    ),
    Cause(
        "queues-and-ap-first",
        "both of these",
        "the shared queue and equal access",
        ("directions",),
        lambda s: {**MAC80211, **AP_FIRST},
    ),
    Cause(
        "today",
        "today's hosts, 1,000 packets",
        'the papers\' hosts: `tcp.profile = "today"`, 1,000 packets at the AP',
        ("directions", "ack-filtering", "adaptive-pushout"),
        _today,
        GENERATIONS,
        (PACKETS,),
    ),
    Cause(
        "slow-controller",
        "a tenth of DQM's gains",
        "the speed of DQM's controller: a tenth of both gains, `ap.scheme.a` and `ap.scheme.b`",
        ("dqm",),
        _slow_controller,
        (AC, AX, BE),
        (TIME,),
    ),
    Cause(
        "today-queues-per-station",
        "today's hosts, queues per station",
        "both the papers' hosts and the shared queue",
        ("directions",),
        lambda s: {**_today(s), **MAC80211},
        GENERATIONS,
        (PACKETS,),
    ),
)
