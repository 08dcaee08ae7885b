"""Whether an emulated run is valid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

INVALID = "INVALID"
# Exit status of a run that is not valid, if its command's is 0.
STATUS = 3


def is_valid(report: Mapping[str, Any]) -> bool:
    """Whether there were exchanges, and few enough of them, and little enough time, were late."""
    return bool(report["lateness"]["valid"])


def word(report: Mapping[str, Any]) -> str:
    """The verdict as a word."""
    return "valid" if is_valid(report) else INVALID


def verdict(report: Mapping[str, Any]) -> str:
    """The sentence on the validity of a run."""
    lateness = report["lateness"]
    if not report["measured_s"]:
        return f"{INVALID}: the run ended before its warm-up."
    if not lateness["exchanges"]:
        return f"{INVALID}: no frame exchange was measured in {report['measured_s']:.1f} s."
    tolerance = lateness["tolerance"]
    share = lateness["late"] / lateness["exchanges"]
    return (
        f"{word(report)}: {share:.2%} of {lateness['exchanges']} exchanges and "
        f"{lateness['late_time_share']:.2%} of the time were over {tolerance['late_ms']:g} ms late (at most "
        f"{tolerance['share']:.0%} of each); exchanges: median {lateness['p50_us']:.0f} µs, 99 % {lateness['p99_us']:.0f} µs, "
        f"most {lateness['max_us']:.0f} µs"
    )
