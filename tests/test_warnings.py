"""What runs warn of: over several seeds, only what holds for all of them."""

from __future__ import annotations

from typing import Any

import pytest
from wifair import Scenario
from wifair.results.warnings import warnings

PAGES = {"name": "web", "min_bytes": 10_000, "max_bytes": 200_000, "step_bytes": 1000, "think_mean_s": 0.5}
BSSS = {"my flat": 36, "left": 40}
# Two BSSs on two channels: some runs of each overflow a buffer of 12 packets, and others do not.
FLATS: dict[str, Any] = {
    "run": {"warmup_s": 0, "duration_s": 1},
    "phy": {"name": "802.11a"},
    "field": {},
    "ap": {"scheme": "droptail", "limit_packets": 12},
    "bss": [{"name": name, "channel": channel} for name, channel in BSSS.items()],
    "stations": [{"name": f"at {name}", "bss": name} for name in BSSS],
    "flows": [
        {
            "name": f"pages of {name}",
            "station": f"at {name}",
            "direction": "down",
            "start_spread_s": 0.5,
            "application": PAGES,
        }
        for name in BSSS
    ],
}
LIMIT = "the AP's limit of 12 packets was never reached: droptail had nothing to decide"
EMPTY = "the AP's buffer never queued a packet: droptail had nothing to decide"


@pytest.mark.parametrize(
    ("seeds", "told"),
    [([1, 3, 7], f"scenario: my flat: {LIMIT}"), ([7], f"scenario: my flat, left: {LIMIT}"), (3, "")],
)
def test_a_limit_that_one_run_reached_is_no_warning(seeds: Any, told: str) -> None:
    results = Scenario(**FLATS).run(seeds=seeds)
    drops = results.queues.filter(results.queues["class"] == "all").group_by("bss").agg(lost="tail_drop_packets")
    reached = {bss for bss, lost in drops.iter_rows() if sum(lost)}
    assert results.warnings() == ([told] if told else [])
    assert {bss for bss in BSSS if bss in told} == BSSS.keys() - reached
    of_left = results.of_bss("left").warnings()
    assert of_left == ([f"scenario: left: {LIMIT}"] if "left" in told else [])


def told(*texts: str, runs: int | None = None) -> list[str]:
    return warnings([("one", text) for text in texts], {"one": runs or len(texts)}, {}, [])


def test_each_kind_of_warning() -> None:
    wire = (
        "the wire is a bottleneck down: on the mean packets waited 20 ms for its 5 Mbps, and 0.1 ms in the AP's buffer"
    )
    assert told(f"{LIMIT}; {wire}", LIMIT) == [f"one: {LIMIT}", f"one: {wire}"]
    assert told(f"{LIMIT}; {wire}", runs=2) == [f"one: {wire}"], "a wire was the bottleneck in that run"
    assert told(EMPTY, LIMIT) == [f"one: {LIMIT}"], "an empty buffer reaches no limit either"
    assert told(EMPTY, EMPTY) == [f"one: {EMPTY}"]
    assert told(EMPTY, LIMIT, runs=3) == []
