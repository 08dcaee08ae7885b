"""`wifair run --as-ap`, and the scenario that `wifair import` makes of it: links, goodput, errors, collisions and others."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from conftest import ROOT, Cli
from observing import BUSY, imported_text, shorten, station
from wifair import Scenario, load
from wifair.advising.doubts import doubts
from wifair.observed import calibration, document, drafting, imported, loads, observe
from wifair.observed.as_ap import mode_of, write
from wifair.observed.origins import marks
from wifair.observed.written import text
from wifair.stats import t_interval
from wifair.study import study
from wifair.study.job import Progress


@pytest.fixture(autouse=True)
def brief(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs, except where something is tested that they do not show."""
    if not any(word in request.node.name for word in ("imported_from", "told_from")):
        shorten(monkeypatch)


# A run as the access point shows it.


@pytest.mark.parametrize("name", ["cafe", "home", "update-night"])
def test_the_mode_of_every_link_of_the_gallery_is_the_one_of_its_keys(name: str) -> None:
    scenario = load(name).override({"run.warmup_s": 0, "run.duration_s": 0.1})
    bss = scenario.plan()["bss"]
    rows = scenario.run(seeds=1).stations.filter(direction="up")
    rates = dict(rows.select("station", "link_rate_mbps").iter_rows())
    for each in bss["stations"]:
        mode = mode_of(bss, each, rates[each["label"]], "up")
        assert mode.mcs == each["mcs"]
        assert mode.mbps == pytest.approx(rates[each["label"]], abs=0.01)


ROUND_TRIP = """
title = "cell"
[run]
warmup_s = 3
duration_s = 10
[phy]
name = "802.11ax"
width_mhz = 40
streams = 2
[mac.edca]
classify = "dscp"
[ap]
scheme = "mac80211"
hardware = "firmware"
[wire]
rate_mbps = 500
one_way_delay_ms = 15
[tcp]
profile = "today"
[station]
tx_queue.limit_packets = 1000
[[stations]]
name = "near"
count = 2
mcs = 9
[[stations]]
name = "far"
mcs = 3
mcs_down = 2
streams = 1
[[stations]]
name = "old"
phy = { name = "802.11ac", guard_interval_ns = 400 }
mcs = 7
[[flows]]
name = "a"
station = "near"
count = 2
direction = "down"
[[flows]]
name = "b"
station = "far"
direction = "down"
[[flows]]
name = "c"
station = "old"
direction = "up"
"""


FULL_LINE = """
[run]
warmup_s = 3
duration_s = 10
[phy]
name = "802.11ax"
[wire]
rate_mbps = 10
limit_packets = 20
[tcp]
profile = "today"
[[stations]]
name = "up"
mcs = 7
[[stations]]
name = "call"
mcs = 5
[[flows]]
station = "up"
direction = "up"
[[flows]]
station = "call"
direction = "up"
application = { name = "udp", rate_mbps = 1, payload_bytes = 172 }
[[events]]
at_s = 9
station.name = "call"
station.mcs = 2
"""


def test_a_dump_of_a_run_counts_packets_at_the_radio_and_has_the_last_rates(tmp_path: Path) -> None:
    """What the line loses afterwards was received, and a rate is not the mean over a change."""
    (tmp_path / "cell.toml").write_text(FULL_LINE)
    results = Scenario.from_toml(tmp_path / "cell.toml").run(seeds=1)
    write(results, tmp_path)
    up, call = observe([tmp_path / "seed-1" / "station.txt"]).stations.values()
    [lost] = results.frames["wire"].filter(direction="up")["dropped_packets"]
    assert lost > 20
    sizes = [each.counters.up_bytes.value / each.counters.up_packets.value for each in (up, call)]  # type: ignore[union-attr]
    assert sizes[0] == pytest.approx(1500 + loads.FRAME_BYTES, rel=0.001)
    assert sizes[1] == 172 + loads.UDP_BYTES + loads.FRAME_BYTES
    assert [each.up.value.mcs for each in (up, call)] == [7, 2]  # type: ignore[union-attr]


def test_a_call_with_a_picture_has_as_many_packets_again(tmp_path: Path) -> None:
    """Each is sent alone, so they collide more often than documents of the same rate. Data of TCP at other rates each way is no call, though it is as slow."""
    picture: dict[str, Any] = {"name": "udp", "rate_mbps": 0.8, "payload_bytes": 1200}
    both: list[dict[str, Any]] = [
        {"station": "call", "direction": way, "application": picture} for way in ("down", "up")
    ]
    data = [{"station": "data", "direction": way, "wire_rate_mbps": rate} for way, rate in (("down", 2), ("up", 1))]
    voice = {"station": "call", "direction": "down", "application": {"name": "voip", "dscp": 0}}
    flows = [{"name": f"flow-{number}", **flow} for number, flow in enumerate([*both, *data, voice])]
    cell = Scenario(
        run={"warmup_s": 2, "duration_s": 10},
        phy={"name": "802.11ax"},
        tcp={"profile": "today"},
        stations=[{"name": "call"}, {"name": "data"}],
        flows=flows,
    )
    write(cell.run(seeds=1), tmp_path)
    made = imported([tmp_path / "seed-1" / "station.txt"]).settings()["flows"]
    apps = {(flow["station"], flow["direction"]): flow["application"] for flow in made}
    for way in ("down", "up"):
        udp = apps.pop(("station-1", way))
        packets = udp["rate_mbps"] * 1e6 / 8 / udp["payload_bytes"]
        assert udp["name"] == "udp"
        assert packets == pytest.approx(50 + 0.8e6 / 8 / 1200, rel=0.02)
    assert len(apps) == 2
    assert all(app == "bulk" or app["name"] == "web" for app in apps.values())


@pytest.mark.whole
def test_a_run_imported_from_its_access_point_has_the_same_links_and_goodput(
    here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every eighth MPDU collides with a frame of the upload, and none has errors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cell.toml").write_text(ROUND_TRIP)
    assert here("run", "cell.toml", "--seeds", "1", "--out", "one", "--as-ap", "ap").returncode == 0
    files = [f"ap/seed-1/{name}.txt" for name in ("station", "survey", "info")]
    assert here("import", *files, "--out", "back.toml").returncode == 0
    before, after = Scenario.from_toml(tmp_path / "cell.toml"), Scenario.from_toml(tmp_path / "back.toml")
    links = [
        [
            (each["mcs"], each["mcs_down"] or each["mcs"], each["streams"] or 2, (each["phy"] or {}).get("name"))
            for each in made.plan()["bss"]["stations"]
        ]
        for made in (before, after)
    ]
    assert links[0] == links[1]
    ways = [[flow["direction"] for flow in made.plan()["flows"]] for made in (before, after)]
    assert ways[0] == ways[1] == ["down", "down", "down", "up"]
    errors = [[each["frame_error_rate"] for each in made.plan()["bss"]["stations"]] for made in (before, after)]
    assert errors[0] == errors[1]
    assert_same_goodput(before, after)


def assert_same_goodput(before: Scenario, after: Scenario) -> None:
    """The goodput of each flow is the same within 5 %, and what the seeds leave open."""
    run = {"run.warmup_s": 3, "run.duration_s": 30}
    found = [made.override(run).run(seeds=10).flows for made in (before, after)]
    for number in range(len(before.plan()["flows"])):
        one, two = (t_interval(rows.filter(flow=number)["goodput_mbps"].to_numpy()) for rows in found)
        open_mbps = ((one.estimate - (one.low or 0)) ** 2 + (two.estimate - (two.low or 0)) ** 2) ** 0.5
        assert abs(two.estimate - one.estimate) < 0.05 * one.estimate + open_mbps, (number, one, two)
        assert open_mbps < 0.15 * one.estimate, (number, one, two)


@pytest.mark.whole
def test_errors_are_told_from_collisions(tmp_path: Path) -> None:
    """Of a link with two stations and of one with a single station, whose rates differ."""
    rates = {"stations[0]": 0.04, "stations[1]": 0.1}
    errors = {f"{at}.frame_error_rate": {"data_down": rate, "data_up": rate} for at, rate in rates.items()}
    before = Scenario.from_settings(tomllib.loads(ROUND_TRIP)).override({**errors, "run.duration_s": 60})
    write(before.run(seeds=1), tmp_path)
    made = imported([tmp_path / "seed-1" / f"{name}.txt" for name in ("station", "survey", "info")])
    assert made.remarks == (drafting.NO_SERIES,)
    found = [each.get("frame_error_rate", {"data_down": 0.0})["data_down"] for each in made.settings()["stations"]]
    assert found == [pytest.approx(rate, abs=0.02) for rate in (0.04, 0.04, 0.1, 0.0)]
    varied = {doubt.family for doubt in doubts(made.scenario(), marks(text(made)))[0]}
    assert {f"stations.frame_error_rate.data_{way}" for way in ("down", "up")} <= varied, "each way varies alone"
    assert_same_goodput(before, made.scenario())


@pytest.mark.whole
def test_progress_is_shown_by_time_that_runs_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error rate takes several comparisons: each has a bar, which begins at the left and is nearly full at the end."""
    for name, number in {"WARMUP_S": 10.0, "DURATION_S": 20.0, "SEEDS": 4}.items():
        monkeypatch.setattr(calibration, name, number)
    monkeypatch.setattr(study, "POLL_MS", 5)  # so that a comparison of a fraction of a second is seen often enough
    shares: dict[str, list[float]] = {}

    @contextmanager
    def bars(title: str) -> Iterator[Progress]:
        yield shares.setdefault(title, []).append

    scenario = Scenario.from_settings(tomllib.loads(ROUND_TRIP))

    def made(found: calibration.Calibrated) -> Scenario:
        rate = found.errors.get("far", 0.0)
        return scenario.override({"stations[1].frame_error_rate": {"data_down": rate, "data_up": rate}})

    calibration.calibrated(made, calibration.Readings({"far": calibration.Share(0.3, 1e6)}), bars)
    assert len(shares) > 1
    for number, (title, shown) in enumerate(shares.items(), 1):
        assert f"{number} of 7" in title
        assert shown == sorted(shown)
        assert 0 <= shown[0] < 0.9
        assert 0.5 < shown[-1] <= 1


@pytest.mark.whole
def test_errors_at_stations_with_one_link_are_told_from_collisions_together() -> None:
    """Few frames of one station tell little, those of eight stations tell enough: documents at eight stations far away, which have errors, and at ten near ones.

    Errors at all of them are found even if no two have the same link.
    """
    web = {"name": "web", "min_bytes": 200_000, "max_bytes": 800_000, "step_bytes": 100_000, "think_mean_s": 3.0}

    def made(found: calibration.Calibrated) -> Scenario:
        stations = [{"name": f"near-{i}", "mcs": 9} for i in range(10)] + [
            {"name": f"far-{i}", "mcs": 1} for i in range(8)
        ]
        for each in stations:
            rate = found.errors.get(str(each["name"]), 0.0)
            each["frame_error_rate"] = {"data_down": rate, "data_up": rate}
        flows: list[dict[str, Any]] = [
            {"station": each["name"], "direction": "down", "application": web} for each in stations
        ]
        flows += [{"station": f"near-{i}", "direction": "up"} for i in range(2)]
        return Scenario(
            run={"warmup_s": 10, "duration_s": 60, "record_transfers": False},
            phy={"name": "802.11ax", "width_mhz": 40},
            ap={"scheme": "mac80211", "hardware": "firmware"},
            mac={"edca": {"classify": "dscp"}},
            tcp={"profile": "today"},
            wire={"rate_mbps": 500, "one_way_delay_ms": 15},
            stations=stations,
            flows=flows,
        )

    far, near = [f"far-{i}" for i in range(8)], [f"near-{i}" for i in range(10)]
    none: list[str] = []
    for errors, where, links in ((0.08, far, [far, near]), (0.06, [*far, *near], none), (0.0, none, [far, near])):
        before = made(calibration.Calibrated(dict.fromkeys(where, errors)))
        stations = before.run(seeds=[7]).stations.filter(pl.col("direction") == "down")
        shares = dict(
            stations.select(
                "station", calibration.RETRIES / (calibration.RETRIES + pl.col("frames_delivered"))
            ).iter_rows()
        )
        readings = calibration.Readings(
            {name: calibration.Share(share, 60) for name, share in shares.items()}, alike=links
        )
        found = calibration.calibrated(made, readings)
        assert set(found.errors) == set(where)
        assert all(rate == pytest.approx(errors, abs=0.03) for rate in found.errors.values())


def test_the_queues_of_the_hosts_are_those_of_linux_and_unknown(tmp_path: Path) -> None:
    """With a queue of 100 packets, the default of a scenario, an upload behind A-MPDUs gets less than with that of Linux."""
    settings = imported_text(tmp_path, station(1, **BUSY))
    assert settings["station"] == {"tx_queue": {"limit_packets": 1000}}
    content = text(imported([tmp_path / "0.txt"]))
    assert ("station.tx_queue.limit_packets", "unknown") in [(mark.path, mark.origin) for mark in marks(content)]


@pytest.mark.whole
def test_readings_that_no_scenario_shows_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of two short runs the interval is too wide to tell anything.
    monkeypatch.setattr(calibration, "SEEDS", 4)
    monkeypatch.setattr(calibration, "DURATION_S", 2.0)
    scenario = Scenario.from_settings(tomllib.loads(ROUND_TRIP))
    readings = calibration.Readings({"far": calibration.Share(0.9, 1e6)})

    def made(found: calibration.Calibrated) -> Scenario:
        rate = found.errors.get("far", 0.0)
        return scenario.override({"stations[1].frame_error_rate": {"data_down": rate, "data_up": rate}})

    found = calibration.calibrated(made, readings)
    assert found.errors == {"far": calibration.MOST_ERRORS}
    assert re.search("far: a share of retries of 0.9 was read, and the scenario has 0.[56]", found.missed[0])


def test_the_counters_of_the_access_point_are_those_of_the_run(tmp_path: Path) -> None:
    scenario = Scenario.from_settings(tomllib.loads(ROUND_TRIP))
    results = scenario.run(seeds=1)
    write(results, tmp_path)
    seen = observe([tmp_path / "seed-1" / "station.txt"])
    for number, each in enumerate(seen.stations.values()):
        [flow] = results.flows.filter(station=scenario.plan()["bss"]["stations"][number]["label"]).to_dicts()
        [load_] = [load for load in loads.of_station(each) if load.direction == flow["direction"]]
        assert load_.mbps == pytest.approx(flow["goodput_mbps"], rel=0.01)


def test_retries_of_single_frames_are_those_of_collisions(tmp_path: Path) -> None:
    cell = Scenario(
        run={"warmup_s": 2, "duration_s": 10},
        phy={"name": "802.11a"},
        ap={"scheme": "mac80211"},
        tcp={"profile": "today"},
        wire={"rate_mbps": 500, "one_way_delay_ms": 15},
        flows=[{"direction": "down", "count": 2}, {"direction": "up"}],
    )
    results = cell.run(seeds=1)
    write(results, tmp_path)
    files = [tmp_path / "seed-1" / name for name in ("station.txt", "survey.txt", "info.txt")]
    counted = [each.counters.retries for each in observe(files).stations.values()]
    assert [each.value for each in counted if each] == results.stations.filter(direction="down")["retries"].to_list()
    made = imported(files)
    assert made.remarks == (drafting.NO_SERIES,)
    assert [each for each in made.settings()["stations"] if "frame_error_rate" in each] == []


@pytest.mark.whole
def test_the_think_time_of_documents_is_told_from_the_time_of_transfers(tmp_path: Path) -> None:
    """Among downloads a document takes several times as long as alone."""
    web = {"name": "web", "min_bytes": 400_000, "max_bytes": 800_000, "step_bytes": 100_000, "think_mean_s": 4.0}
    cell = Scenario(
        run={"warmup_s": 5, "duration_s": 60, "record_transfers": False},
        phy={"name": "802.11a"},
        ap={"scheme": "mac80211"},
        tcp={"profile": "today"},
        wire={"rate_mbps": 500, "one_way_delay_ms": 15},
        stations=[{"name": "reader", "count": 2, "rate_mbps": 54}, {"name": "other", "count": 6, "rate_mbps": 54}],
        flows=[
            {"station": "reader", "count": 2, "direction": "down", "application": web},
            {"station": "other", "count": 6, "direction": "down"},
        ],
    )
    write(cell.run(seeds=1), tmp_path)
    files = [tmp_path / "seed-1" / name for name in ("station.txt", "survey.txt", "info.txt")]
    made = document(observe(files), "x")
    documents = [
        each for each in made.tables if "application" in each.keys and each.keys["application"].value != "bulk"
    ]
    settings = made.scenario().override({"run.duration_s": 200, "run.record_transfers": False})
    goodput = settings.run(seeds=4).flows.group_by("label").agg(pl.mean("goodput_mbps"))
    rates = dict(goodput.select("label", "goodput_mbps").iter_rows())
    assert len(documents) == 2
    for each in documents:
        assert rates[each.keys["name"].value] == pytest.approx(float(each.remark.split()[0]), rel=0.1)


@pytest.mark.parametrize(("think_s", "is_less"), [(loads.LEAST_THINK_S, True), (0.02, False)])
def test_documents_that_reach_less_than_was_read_say_so(
    think_s: float, is_less: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    few = BUSY | {"tx_bytes": "9120000", "tx_packets": "6100"}
    monkeypatch.setattr(
        "wifair.observed.drafting.calibrated",
        lambda *_: calibration.Calibrated(thinks={"station-1-down": think_s}, within={"station-1": 0.12}),
    )
    (tmp_path / "dump.txt").write_text(station(1, **few, tx_retries="12"))
    made = text(imported([tmp_path / "dump.txt"]))
    assert f"think_mean_s = {think_s}" in made
    assert ("of which the documents reach less, even with the shortest think time" in made) is is_less
    assert "# assumed: documents, with think times by the mean rate that was read" in made
    assert "12 retries of 6100 packets down, which collisions alone explain, give or take a share of 0.12" in made


def test_errors_are_told_from_the_collisions_of_a_minute() -> None:
    """With round-trip times of 0.7 s the shares of the first 13 s, and so the collisions, are not those of a minute.

    The readings are those of a capture of `plain` over 70 s, which has no errors.
    """
    together = {f"flows[{i}].start_spread_s": 0 for i in range(2)}
    scenario = load("plain").override({**together, "run.record_transfers": False})
    read_shares = {"download-1": 4163 / 43036, "download-2": 2664 / 23823, "upload": 5340 / 44151, "ping": 38 / 384}
    shares = {name: calibration.Share(share, 70.0) for name, share in read_shares.items()}
    assert calibration.calibrated(lambda _: scenario, calibration.Readings(shares)).errors == {}


def test_dumps_of_the_kernel_give_the_goodput_of_its_sockets() -> None:
    """Output of iw 5.19 on Linux 6.12 under `benches/closed_loop_linux.py`: four downloads, four uploads and a ping, 20 s apart, with a survey that the medium has filled."""
    folder = ROOT / "tests" / "data" / "ap-of-linux"
    files = [folder / f"{name}-{when}.txt" for name in ("station", "survey", "info") for when in ("begin", "end")]
    observed = observe(files)
    assert observed.survey
    times = [getattr(observed.survey, name) for name in ("active_ms", "busy_ms", "receive_ms", "transmit_ms")]
    assert [each.value for each in times] == [20000, 19615, 16291, 3324]
    of_sockets = {"down": [2.02, 2.16, 2.21, 2.21], "up": [10.88, 10.45, 8.65, 6.98]}
    found: dict[str, list[float]] = {"down": [], "up": []}
    for table in document(observed, "x").tables:
        if table.header == "[[flows]]":
            found[str(table.keys["direction"].value)].append(float(table.remark.split()[0]))
    for way, rates in of_sockets.items():
        assert found[way] == pytest.approx(rates, rel=0.01)


def test_the_time_of_others_is_judged_by_its_own_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """The few frames of most stations vary by 0.15 and hide nothing of what others take: of the whole cell the runs vary by 0.005."""
    rng = np.random.default_rng(2)
    stations = [f"station-{number}" for number in range(1, 21)]
    read = {name: calibration.Share(0.1, 60.0) for name in stations} | {
        calibration.NEIGHBOURS: calibration.Share(0.27, 60.0)
    }

    def shown(scenario: Scenario, *_: object) -> calibration.Present:
        others = float(scenario.settings()["title"])
        found = {name: np.clip(0.1 + 0.15 * rng.normal(size=10), 0, 1) for name in stations}
        return calibration.Present(found | {calibration.NEIGHBOURS: 0.15 + others + 0.005 * rng.normal(size=10)})

    def made(found: calibration.Calibrated) -> Scenario:
        return Scenario.from_settings({**tomllib.loads(ROUND_TRIP), "title": f"{found.others}"})

    monkeypatch.setattr(calibration, "shown", shown)
    found = calibration.calibrated(made, calibration.Readings(read))
    assert found.others == pytest.approx(0.12, abs=0.02)
    assert found.errors == {}


def test_the_station_for_other_networks_is_in_the_survey_alone(tmp_path: Path) -> None:
    cell = Scenario.from_settings(tomllib.loads(ROUND_TRIP)).settings()
    cell["run"] |= {"warmup_s": 0, "duration_s": 1}
    others = {"name": "neighbours", "streams": 1, "mcs": 0}
    flow = {"station": "neighbours", "direction": "up", "application": {"name": "udp", "rate_mbps": 2.0}}
    made = Scenario.from_settings({**cell, "stations": [others, *cell["stations"]], "flows": [*cell["flows"], flow]})
    results = made.run(seeds=1)
    write(results, tmp_path)
    seen = observe([tmp_path / "seed-1" / name for name in ("station.txt", "survey.txt")])
    assert list(seen.stations) == [f"02:00:0a:00:00:0{number}" for number in range(2, 6)]
    [used] = results.stations.filter(station="neighbours", direction="up")["airtime_share"]
    others_share = loads.others(seen)
    assert others_share
    assert others_share[0] == pytest.approx(used + results.runs["collision_share"][0], abs=0.01)
    assert used > 0.05
