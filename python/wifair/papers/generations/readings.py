"""Other readings of the layers below the AP's scheme, for the cells with packets as printed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wifair.papers.generations.air import AC, AGGREGATING, AX, BE, PACKETS, Generation, N
from wifair.papers.generations.study import FIVE_AND_FIVE, MOSTLY_DOWN, PAIR_DOWN, TEN_AND_TEN
from wifair.papers.readings import Alternative


def _below(
    name: str, choice: str, settings: dict[str, Any], generations: Sequence[Generation] = AGGREGATING
) -> Alternative:
    only = {
        "part": (TEN_AND_TEN, MOSTLY_DOWN, FIVE_AND_FIVE, PAIR_DOWN),
        "generation": tuple(generation.name for generation in generations),
        "scaling": (PACKETS,),
        "cause": (None,),
    }
    return Alternative(name, "What lies below the scheme?", choice, settings, only)


IDEAL = {"ap.hardware": "ideal"}
READINGS = (
    _below("ideal", "nothing: the scheme decides on every packet until it is sent", IDEAL),
    _below(
        "head-run",
        "nothing, and an A-MPDU ends at the first packet for another station",
        {**IDEAL, "mac.aggregation.fill": "head-run"},
    ),
    _below(
        "driver-queue",
        "a driver's queues per station, of 123 packets in all",
        {**IDEAL, "mac.aggregation.fill": "driver-queue"},
    ),
    _below("ath9k", "two A-MPDUs per category, formed ahead", {"ap.hardware": "ath9k"}, (AC, AX, BE)),
    _below("firmware", "a firmware's queues per station, bounded by their airtime", {"ap.hardware": "firmware"}, (N,)),
)
