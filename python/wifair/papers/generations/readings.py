"""Other readings of the layers below the AP's scheme, for the cells with packets as printed."""

from __future__ import annotations

from typing import Any

from wifair.papers.generations.air import AGGREGATING, PACKETS
from wifair.papers.generations.study import FIVE_AND_FIVE, MOSTLY_DOWN, PAIR_DOWN, TEN_AND_TEN
from wifair.papers.readings import Alternative


def _below(name: str, choice: str, settings: dict[str, Any]) -> Alternative:
    only = {
        "part": (TEN_AND_TEN, MOSTLY_DOWN, FIVE_AND_FIVE, PAIR_DOWN),
        "generation": tuple(generation.name for generation in AGGREGATING),
        "scaling": (PACKETS,),
        "cause": (None,),
    }
    return Alternative(name, "How do packets come from the buffer into an A-MPDU?", choice, settings, only)


READINGS = (
    _below(
        "head-run",
        "those at its head, up to the first one for another station",
        {"mac.aggregation.fill": "head-run"},
    ),
    _below(
        "driver-queue",
        "through a driver's queues per station, of 123 packets in all",
        {"mac.aggregation.fill": "driver-queue"},
    ),
    _below("ath9k", "two A-MPDUs per category are formed ahead", {"ap.hardware": "ath9k"}),
    _below(
        "firmware", "through a firmware's queues per station, bounded by their airtime", {"ap.hardware": "firmware"}
    ),
)
