"""`wifair check` on the buffers of stations, against runs."""

from __future__ import annotations

from typing import Any

import pytest
from wifair import Scenario
from wifair.analysis.check import Finding, check

KEY = "station.tx_queue.limit_packets"
UP: dict[str, Any] = {
    "run": {"warmup_s": 0, "duration_s": 1},
    "phy": {"name": "802.11ax"},
    "tcp": {"receiver_window_segments": 500},
    "flows": [{"count": 2, "direction": "up"}],
}


def found(**settings: Any) -> list[Finding]:
    return [finding for finding in check(Scenario(**UP | settings)) if finding.key == KEY]


def dropped(**settings: Any) -> int:
    """Packets that the stations' own buffers have dropped."""
    return int(Scenario(**UP | settings).run(seeds=1, threads=1).stations["buffer_lost_packets"].sum())


def test_an_upload_whose_window_exceeds_its_stations_buffer() -> None:
    [finding] = found()
    assert finding.values == {"window_segments": 500, "limit_packets": 100, "flows": 2}
    assert "before the AP's scheme matters" in finding.finding
    assert "up-1, up-2" in finding.finding
    assert dropped() > 0
    assert dropped(station={"tx_queue": {"limit_packets": 500}}) == 0


def test_a_small_queue_at_a_fast_link_exceeds_a_buffer_of_100_packets() -> None:
    """It may hold 8 ms of data: 191 segments at 287 Mbps."""
    fast: dict[str, Any] = {
        "run": {"warmup_s": 0, "duration_s": 5},
        "phy": {"name": "802.11ax", "width_mhz": 40, "streams": 2},
        "stations": [{"name": "near", "mcs": 11}, {"name": "far", "mcs": 2}],
        "flows": [{"station": name, "direction": "up"} for name in ("near", "far")],
        "tcp": {"profile": "today"},
    }
    [finding] = found(**fast)
    assert finding.values["window_segments"] > 150
    assert finding.values["flows"] == 1
    assert "small queues of up to" in finding.arithmetic
    assert dropped(**fast) > 0
    assert dropped(**fast, station={"tx_queue": {"limit_packets": 1000}}) == 0


@pytest.mark.parametrize(
    "settings",
    [
        {"tcp": {"receiver_window_segments": 100}},
        {"station": {"tx_queue": {"limit_packets": 100}}},
        {"flows": [{"direction": "up", "station": {"tx_queue": {"limit_packets": 50}}}]},
        {
            "stations": [{"name": "a", "tx_queue": {"limit_packets": 50}}],
            "flows": [{"direction": "up", "station": "a"}],
        },
        {"station": {"categories": {"best_effort": {"limit_packets": 50}}}},
        {"station": {"tx_queue": {"scheme": "mac80211"}}},
        {"flows": [{"direction": "down"}]},
        {"wire": {"rate_mbps": 5}},
        {"tcp": {"receiver_window_segments": 500, "small_queue": {}}, "phy": {"name": "802.11g"}},
    ],
    ids=str,
)
def test_it_is_not_said_where_it_is_not_so_or_where_the_limit_is_written(settings: dict[str, Any]) -> None:
    assert not found(**settings)
