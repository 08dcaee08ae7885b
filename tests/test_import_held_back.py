"""`wifair import` of flows that something else than the air holds back: they have much more in runs as bulk data than was read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from wifair import Scenario
from wifair.advising.doubts import doubts
from wifair.observed import document, loads
from wifair.observed.as_ap import write
from wifair.observed.bitrate import Bitrate, mbps
from wifair.observed.network import Change, Counters, Observed, Station, Traffic, read
from wifair.observed.origins import marks

CELL: dict[str, Any] = {
    "run": {"warmup_s": 5, "duration_s": 60},
    "phy": {"name": "802.11ax", "width_mhz": 20, "streams": 1},
    "mac": {"edca": {"classify": "dscp"}},
    "ap": {"scheme": "mac80211", "hardware": "firmware"},
    "wire": {"rate_mbps": 500, "one_way_delay_ms": 15},
    "tcp": {"profile": "today"},
    "station": {"tx_queue": {"limit_packets": 1000}},
    "stations": [{"name": name, "mcs": 7} for name in ("one", "two", "held")],
}
# Some 5 Mbps among downloads that have 20 each: more than a tenth of a fair part of a full air.
HELD = {"name": "web", "min_bytes": 2_000_000, "max_bytes": 4_000_000, "step_bytes": 500_000, "think_mean_s": 3.0}
DOWN = [{"name": name, "station": name, "direction": "down"} for name in ("one", "two", "held")]


def imported(here: Cli, folder: Path, *options: str, **settings: Any) -> tuple[str, str]:
    """The file that `import` makes of a run of the cell, and what it says."""
    write(Scenario(**{**CELL, **settings}).run(seeds=1), folder)
    done = here("import", *sorted((folder / "seed-1").iterdir()), "--out", folder / "mine.toml", *options)
    assert done.returncode == 0, done.stderr
    return (folder / "mine.toml").read_text(), " ".join((done.stdout + done.stderr).split())


@pytest.mark.whole
def test_a_flow_that_its_application_holds_back_becomes_documents(here: Cli, tmp_path: Path) -> None:
    flows = [*DOWN[:2], {**DOWN[2], "application": HELD}]
    made, said = imported(here, tmp_path, flows=flows)
    assert made.count(f"# assumed: {loads.HELD_BACK}") == 1
    read = Scenario.from_settings(tomllib.loads(made))
    applications = {flow["name"]: flow["application"] for flow in read.settings()["flows"]}
    assert [applications["station-1-down"], applications["station-2-down"]] == ["bulk", "bulk"]
    assert applications["station-3-down"]["name"] == "web"
    assert "station-3-down: documents, since as bulk data they would have more than twice the rate" in said
    assert "give --set wire.rate_mbps=RATE" in said
    after = read.run(seeds=6).flows
    told = re.findall(r'^\[\[flows\]\]  # (\S+) Mbps of payload.*\nname = "(\S+)"', made, re.MULTILINE)
    assert len(told) == 3
    for rate, name in told:
        assert after.filter(label=name)["goodput_mbps"].mean() == pytest.approx(float(rate), rel=0.15)
    found, _ = doubts(read, marks(made))
    [bulk] = [each.scenario for each in found if each.other == "bulk data that nothing holds back"]
    assert [flow["application"] for flow in bulk.settings()["flows"]] == ["bulk"] * 3


@pytest.mark.whole
def test_a_flow_that_a_slow_line_holds_back_is_bulk_if_the_line_is_given(here: Cli, tmp_path: Path) -> None:
    """It has more than half of a fair part of the air next to another flow, which uses little of its own."""
    page = {"name": "web", "min_bytes": 50_000, "max_bytes": 150_000, "step_bytes": 50_000, "think_mean_s": 1.0}
    slow = {
        "wire": {"rate_mbps": 12, "one_way_delay_ms": 15},
        "stations": [{"name": name, "mcs": 3} for name in ("one", "two")],
        "flows": [DOWN[0], {**DOWN[1], "application": page}],
    }
    made, said = imported(here, tmp_path, **slow)
    assert made.count(f"# assumed: {loads.HELD_BACK}") == 1
    assert "station-1-down: documents" in said
    assert "a line slower than the 500 Mbps that are assumed" in said
    known, said = imported(here, tmp_path / "known", "--set", "wire.rate_mbps=12", **slow)
    assert loads.HELD_BACK not in known
    assert "more than twice" not in said
    assert tomllib.loads(known)["flows"][0]["application"] == "bulk"


@pytest.mark.whole
def test_flows_that_have_what_bulk_data_has_stay_bulk(here: Cli, tmp_path: Path) -> None:
    """However unequal their shares are: uploads have several times as much as downloads in a FIFO."""
    ups = [{"name": f"{name}-up", "station": name, "direction": "up"} for name in ("two", "held")]
    fifo = {"ap": {"scheme": "droptail", "limit_packets": 100, "hardware": "firmware"}}
    made, said = imported(
        here, tmp_path, "--set", "ap.scheme=droptail", "--set", "ap.limit_packets=100", flows=[DOWN[0], *ups], **fifo
    )
    assert {flow["application"] for flow in tomllib.loads(made)["flows"]} == {"bulk"}
    assert "more than twice" not in said


def test_bulk_flows_of_a_dump_are_compared_over_the_time_in_which_links_change() -> None:
    """A change after the time of other runs, at a station of the capture; the bulk flow is one of the dump alone."""
    modes = [Bitrate(mbps("802.11ax", mcs, 1, 20, 800), "802.11ax", mcs, 1, 20, 800) for mcs in (7, 2)]
    link = [read(mode, "", "") for mode in modes]
    data = Traffic("down", read({}, "", ""), mbps=5.0)
    walks = Station("walks", "", down=link[0], up=link[0], changes=(Change(50.0, "down", link[1]),), traffic=(data,))
    counted = {
        "elapsed_s": 60.0,
        "down_bytes": 400_000_000,
        "down_packets": 260_000,
        "up_bytes": 9_000_000,
        "up_packets": 100_000,
    }
    counters = Counters(**{name: read(value, name, "") for name, value in counted.items()})  # type: ignore[arg-type]
    stays = Station("stays", "", down=link[0], up=link[0], dumps=(counters,))
    observed = Observed({each.key: each for each in (walks, stays)}, captured_s=read(60.0, "", ""))
    settings = document(observed, "both").settings()
    assert [event["at_s"] for event in settings["events"]] == [50.0]
    assert settings["flows"][1]["application"] == "bulk"
