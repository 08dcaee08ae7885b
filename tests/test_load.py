"""Memory grows with live state, not with simulated time; building time grows linearly with the plan's length."""

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from wifair import Scenario, ScenarioError, _native

POINT = Path(__file__).parent.parent / "benches" / "load_point.py"
TEN_AND_TEN: list[dict[str, Any]] = [{"count": 10, "direction": "up"}, {"count": 10, "direction": "down"}]
SHORT = {"name": "transfers", "transfer_bytes": 2_000}
SIX_SIDE_BY_SIDE = {"name": "web", "connections": 6}
KEEPS_NOTHING: dict[str, Any] = {"warmup_s": 0, "record_transfers": False, "state_interval_s": 0.1}


def found(
    duration_s: float,
    *,
    flows: list[dict[str, Any]],
    ap: dict[str, Any],
    stations: Sequence[dict[str, Any]] = (),
    **run: Any,
) -> dict[str, Any]:
    """The cost of one run in a separate process."""
    run_keys = {"duration_s": duration_s, **run}
    scenario = Scenario(flows=flows, ap=ap, phy={"name": "802.11g"}, stations=[*stations], run=run_keys)
    command = [sys.executable, str(POINT), str(run["warmup_s"]), str(duration_s)]
    done = subprocess.run(command, input=scenario.plan_json, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("scheme", ["droptail", "adaptive-pushout", "mac80211"])
def test_memory_does_not_grow_with_simulated_time(scheme: str) -> None:
    """Ten times as long, with quantiles and sums by state: not a megabyte more, where 24 bytes per exchange would be ten."""
    ap = {"scheme": scheme, "limit_packets": 100}
    short, long = (found(duration_s, flows=TEN_AND_TEN, ap=ap, **KEEPS_NOTHING) for duration_s in (30, 300))
    assert long["exchanges"] > 9 * short["exchanges"] > 9 * 40_000
    assert long["ended_bytes"] - short["ended_bytes"] < 1_000_000
    assert long["rows"] == short["rows"]


@pytest.mark.parametrize("scheme", ["droptail", "adaptive-pushout", "mac80211"])
def test_memory_does_not_grow_with_finished_connections(scheme: str) -> None:
    """Each has another 5-tuple, so the monitor and the scheme see another flow: they forget it, and its place is used again."""
    ap = {"scheme": scheme, "limit_packets": 100, "flows": {"idle_timeout_s": 1.0}}
    flows = [{**flow, "application": SHORT} for flow in TEN_AND_TEN]
    short, long = (found(duration_s, flows=flows, ap=ap, **KEEPS_NOTHING) for duration_s in (15, 90))
    assert long["transfers"] > 5 * short["transfers"] > 5 * 3_000
    assert long["ended_bytes"] - short["ended_bytes"] < 1_000_000


def test_a_table_that_is_asked_for_grows_with_what_it_tells_of() -> None:
    """Shows that the tests above can fail: the same with a row per transfer."""
    flows = [{**flow, "application": SHORT} for flow in TEN_AND_TEN]
    kept = found(60, flows=flows, ap={}, warmup_s=0)
    assert kept["rows"]["transfers"] >= kept["transfers"]
    sums = found(60, flows=flows, ap={}, warmup_s=0, record_transfers=False)
    assert kept["told_bytes"] - sums["told_bytes"] > 50 * kept["transfers"]


def distances_of_their_own(flow: dict[str, Any], number: int) -> dict[str, Any]:
    """Each flow's server is elsewhere."""
    return {**flow, "one_way_delay_ms": 1 + number * 1e-3}


def groups_of_their_own(flow: dict[str, Any], number: int) -> dict[str, Any]:
    """Each flow is a group."""
    return {**flow, "group": f"group-{number}"}


def awaited_groups(flow: dict[str, Any], number: int) -> dict[str, Any]:
    """Each flow is a group and stops after another."""
    flow = {**groups_of_their_own(flow, number), "stop_s": 6.0}
    return flow if number == 0 else {**flow, "stop_after_group": f"group-{number - 1}"}


@pytest.mark.parametrize("change", [distances_of_their_own, groups_of_their_own, awaited_groups])
def test_building_grows_with_the_plan_and_not_with_its_square(change: Callable[..., dict[str, Any]]) -> None:
    """Eight times the flows take eight times as long, and not sixty-four: seconds of the processor, the best of some tries."""

    def seconds(count: int) -> float:
        flows = [
            change({"label": f"flow-{i}", "station": "station", "direction": "up", "start_s": 5.0}, i)
            for i in range(count)
        ]
        cell = {"stations": [{"label": "station", "rate_mbps": 11}]}
        plan = json.dumps({"bss": cell, "flows": flows, "run": {"warmup_s": 0, "duration_s": 0.001}})
        times = []
        for _ in range(3):
            began = time.process_time()
            _native.fingerprint(plan, 1, {})
            times.append(time.process_time() - began)
        return min(times)

    assert seconds(24_000) < 24 * seconds(3_000)


def test_a_full_buffer_of_many_queues_costs_what_one_queue_costs() -> None:
    """Three thousand of 65,536 queues in use, an overflow at every other arrival: what is longest is not looked for among all.

    The tables of so many queues leave the caches, which alone is two to three times the cost of one queue, by machine. A walk over
    all of them in `buffer/longest.rs` in place of the tree makes it 34 times. The two take turns, so that other work meets both.
    """
    flow = {"count": 3_000, "direction": "down", "station": "s", "start_spread_s": 1.0}
    flows = [{**flow, "application": {"name": "udp", "rate_mbps": 0.02}}]
    cost = {"droptail": math.inf, "fq-codel": math.inf}
    for name in [*cost] * 4:
        scheme = {"name": name, "queues": 65_536} if name == "fq-codel" else name
        ap = {"scheme": scheme, "limit_packets": 2_000}
        one = found(20, flows=flows, ap=ap, stations=[{"name": "s"}], warmup_s=5)
        cost[name] = min(cost[name], one["run_s"] / one["run_exchanges"])
    assert cost["fq-codel"] < 6 * cost["droptail"], cost


def test_too_many_are_refused() -> None:
    """Excessive counts are rejected before groups are expanded."""
    for settings, key in (
        ({"flows": [{"count": 20_001, "direction": "up"}]}, "stations"),
        ({"flows": [{"count": 100_001, "direction": "up", "station": "s"}], "stations": [{"name": "s"}]}, "flows"),
        (
            {
                "flows": [{"count": 20_000, "direction": "down", "station": "s", "application": SIX_SIDE_BY_SIDE}],
                "stations": [{"name": "s"}],
            },
            "flows",
        ),
        ({"flows": TEN_AND_TEN, "ap": {"limit_packets": 100_001}}, "ap.limit_packets"),
        ({"flows": TEN_AND_TEN, "run": {"duration_s": 1e6 + 1}}, "run.duration_s"),
    ):
        with pytest.raises(ScenarioError) as refused:
            Scenario(**settings)
        assert refused.value.key == key
