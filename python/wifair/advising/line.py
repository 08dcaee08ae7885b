"""The line of all servers, whose queue is not at the access point's radio."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wifair.results.wire import METRICS

if TYPE_CHECKING:
    from wifair.results.results import Results

# From this mean wait on, in milliseconds, the advice says so.
LONG_WAIT_MS = 20.0


def waits(results: Results) -> list[str]:
    """That packets wait long for the line, by direction, since no change is about that."""
    found = {way: results.metrics[metric].mean() for way, metric in METRICS.items()}
    return [
        f"Packets wait {waited:.0f} ms on the mean for the line on the way {way}; no change that is tried here is at that queue"
        for way, waited in found.items()
        if isinstance(waited, float) and waited >= LONG_WAIT_MS
    ]
