"""Other readings of what lies below a FIFO."""

from __future__ import annotations

from wifair.papers.generations.air import AGGREGATING, PACKETS
from wifair.papers.generations.study import FIVE_AND_FIVE, MOSTLY_DOWN, PAIR_DOWN, TEN_AND_TEN
from wifair.papers.readings import Alternative

FIFO_PARTS = (TEN_AND_TEN, MOSTLY_DOWN, FIVE_AND_FIVE, PAIR_DOWN)
BELOW = "How does a FIFO fill an A-MPDU?"

READINGS = (
    Alternative(
        "head-run",
        BELOW,
        "with the packets at its head, up to the first one for another station",
        {"mac.aggregation.fill": "head-run"},
        {"part": FIFO_PARTS, "generation": tuple(g.name for g in AGGREGATING), "scaling": (PACKETS,), "cause": (None,)},
    ),
)
