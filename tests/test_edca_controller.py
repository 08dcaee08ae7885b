"""The access point's controller of CWmin at the stations (docs/medium.md, section 10), through the user's keys."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from wifair import Results, Scenario
from wifair.errors import ScenarioError

UPLOADS_END_S = 10


def scenario(**edca: Any) -> Scenario:
    """Five uploads that end in mid-run, and three downloads."""
    return Scenario(
        run={"warmup_s": 0, "duration_s": 20, "sample_interval_s": 1},
        phy={"name": "802.11ax"},
        mac={"edca": edca},
        tcp={"profile": "today"},
        flows=[
            {"name": "up", "count": 5, "direction": "up", "stop_s": UPLOADS_END_S},
            {"name": "down", "count": 3, "direction": "down"},
        ],
    )


def cw_mins(results: Results) -> list[float]:
    """CWmin at the stations, second by second."""
    return results.frames["series"].filter(pl.col("metric") == "stations_cw_min")["value"].to_list()


def test_stations_yield_while_uploads_crowd_out_downloads() -> None:
    for seed in range(1, 4):
        found = cw_mins(scenario(controller={}).run([seed]))
        assert found[0] == 15
        assert max(found[:UPLOADS_END_S]) == 63
        assert found[-1] == 15  # the downloads alone are not held back by anybody


def test_a_controller_without_room_changes_nothing() -> None:
    bound = scenario(controller={"max_cw_min": 15}).run(1)
    assert set(cw_mins(bound)) == {15}
    assert bound.flows.drop("scenario").equals(scenario().run(1).flows.drop("scenario"))


def test_a_limit_outside_the_stations_window_is_refused() -> None:
    with pytest.raises(
        ScenarioError, match=r"mac\.edca\.controller\.max_cw_min: 40 is not allowed; allowed here: a power"
    ):
        scenario(controller={"max_cw_min": 40}).run(1)
    with pytest.raises(ScenarioError, match=r"mac\.edca\.controller\.samples: 0"):
        scenario(controller={"samples": 0}).run(1)
