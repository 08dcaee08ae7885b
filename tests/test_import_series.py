"""`wifair import` of a series of station dumps, and `wifair run --as-ap`, which writes one: what it shows of the applications."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT, Cli
from observing import counters, shorten, station
from wifair import Scenario, load
from wifair.observed import calibration, document, imported, loads, observe, station_dump
from wifair.observed.as_ap import INFO, STATION, SURVEY, dumps, files, sampled, write
from wifair.observed.network import Counters, Observed, Station, Survey, read

FRAME = 1500 + loads.FRAME_BYTES
ACK = 52 + loads.FRAME_BYTES
SHOWN = (STATION, SURVEY, INFO)


def series(*intervals: tuple[int, int], interval_s: float = 1.0) -> Station:
    """A station whose dumps are so far apart, with full packets down and ACKs up in each interval."""
    made: list[Counters] = [counters(elapsed_s=0, down_bytes=0, down_packets=0, up_bytes=0, up_packets=0)]
    packets, acks = 0, 0
    for number, (more, more_acks) in enumerate(intervals, 1):
        packets, acks = packets + more, acks + more_acks
        counted = {"down_bytes": packets * FRAME, "down_packets": packets, "up_bytes": acks * ACK, "up_packets": acks}
        made.append(counters(elapsed_s=number * interval_s, **counted))
    return Station("a", "", dumps=tuple(made))


def test_a_flow_that_pauses_is_documents_and_one_that_does_not_is_bulk() -> None:
    """Whatever their rates: in a saturated cell a film may have more than its share, and bulk data less."""
    film = series(*[(1000, 500), (1000, 500), (0, 0), (0, 1)] * 10)
    [load_] = loads.of_station(film)
    assert load_.pauses is not None
    assert (load_.pauses.share, load_.pauses.cycle_s) == (0.5, 4.0)
    flow, rule = loads.flow(load_, 20.0, 10, True, 0.03)
    application = flow["application"]
    assert (application["name"], rule) == ("web", loads.PAUSES)
    size = (application["min_bytes"] + application["max_bytes"]) / 2
    assert size == pytest.approx(2000 * 1448, rel=0.001)

    slow = series(*[(10, 5)] * 40)
    [load_] = loads.of_station(slow)
    assert load_.pauses is not None
    assert load_.pauses.share == 0
    assert loads.flow(load_, 20.0, 2, True, 0.03) == ({"application": "bulk"}, loads.NO_PAUSES)


def test_seconds_with_acks_or_next_to_nothing_are_pauses() -> None:
    [load_] = loads.of_station(series(*[(100, 50), (5, 3)] * 20))
    assert load_.pauses is not None
    assert (load_.pauses.share, load_.pauses.cycle_s) == (0.5, 2.0)
    both: list[Counters] = []
    for number in range(41):
        up = [number * 100 * FRAME, number * 100]
        down = [(number // 2) * 30 * FRAME + number * 50 * ACK, (number // 2) * 30 + number * 50]
        counted = {"down_bytes": down[0], "down_packets": down[1], "up_bytes": up[0], "up_packets": up[1]}
        both.append(counters(elapsed_s=number, **counted))
    found = {each.direction: each.pauses for each in loads.of_station(Station("a", "", dumps=tuple(both)))}
    assert found["up"] is not None
    assert found["up"].share == 0
    assert found["down"] is not None
    assert found["down"].share == 0.5


@pytest.mark.parametrize(
    ("number", "interval_s", "is_told"), [(40, 1.0, True), (40, 2.0, True), (20, 1.0, False), (40, 5.0, False)]
)
def test_few_or_rare_dumps_tell_nothing_of_pauses(number: int, interval_s: float, is_told: bool) -> None:
    """Every segment of a film comes within five seconds."""
    pairs = [(1000, 500), (0, 1)] * (number // 2)
    [load_] = loads.of_station(series(*pairs, interval_s=interval_s))
    assert (load_.pauses is not None) is is_told


def test_an_upload_and_a_download_that_pause_are_no_call() -> None:
    """Each second has 30 packets both ways, or only every other second has 60."""
    for per_second in ([30] * 40, [60, 0] * 20):
        made, packets = [counters(elapsed_s=0, down_bytes=0, down_packets=0, up_bytes=0, up_packets=0)], 0
        for number, more in enumerate(per_second, 1):
            packets += more
            size = (950 + loads.FRAME_BYTES) * packets
            counted = {"down_bytes": size, "down_packets": packets, "up_bytes": size, "up_packets": packets}
            made.append(counters(elapsed_s=number, **counted))
        found = loads.of_station(Station("a", "", dumps=tuple(made)))
        assert [each.is_call for each in found] == [0 not in per_second] * 2


CELL: dict[str, Any] = {
    "run": {"warmup_s": 5, "duration_s": 60, "record_transfers": False},
    "phy": {"name": "802.11ax", "width_mhz": 40},
    "ap": {"scheme": "mac80211", "hardware": "firmware"},
    "mac": {"edca": {"classify": "dscp"}},
    "tcp": {"profile": "today"},
    "wire": {"rate_mbps": 500, "one_way_delay_ms": 15},
    "station": {"tx_queue": {"limit_packets": 1000}},
}


@pytest.mark.whole
def test_rates_of_uploads_in_a_full_cell_tell_errors_of_frames_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their retries are not counted. With errors at one of three the others have more, and so they have in runs of what is imported; without, none has errors."""
    monkeypatch.setattr(calibration, "SEEDS", 4)
    names = [f"upload-{number}" for number in range(1, 4)]
    flows: list[dict[str, Any]] = [{"name": name, "station": name, "direction": "up"} for name in names]
    for error in (0.12, 0.0):
        stations: list[dict[str, Any]] = [{"name": name, "mcs": 4, "streams": 1} for name in names]
        stations[0]["frame_error_rate"] = {"data_down": 0.0, "data_up": error}
        cell = Scenario.from_settings({**CELL, "phy": {"name": "802.11ax"}, "stations": stations, "flows": flows})
        results = sampled(cell).run(seeds=1)
        write(results, tmp_path / f"{error}")
        made = imported([tmp_path / f"{error}" / "seed-1" / name for name in SHOWN])
        found = [each.get("frame_error_rate", {}).get("data_up", 0.0) for each in made.settings()["stations"]]
        assert max(found[1:]) <= 0.03
        assert found[0] == pytest.approx(error, abs=0.05)
        assert [each.startswith("upload-1-up") or "station-1-up" in each for each in made.remarks] == [True] * bool(
            error
        )
        rates = [
            runs.flows.group_by("flow", maintain_order=True).agg(pl.mean("goodput_mbps"))["goodput_mbps"].to_list()
            for runs in (results, made.scenario().run(seeds=6))
        ]
        assert rates[1] == pytest.approx(rates[0], rel=0.2)


def test_an_upload_at_a_steady_rate_or_in_a_cell_that_is_not_full_has_no_errors() -> None:
    """Its application or its line sets it."""
    rates = {"competing": [60, 100, 80, 120] * 10, "steady": [99, 100, 101, 100] * 10}
    for name, per_second in rates.items():
        made, packets = [counters(elapsed_s=0, up_bytes=0, up_packets=0, up_airtime_us=0)], 0
        for number, more in enumerate(per_second, 1):
            packets += more
            used = {"up_airtime_us": number * 900_000}
            made.append(counters(elapsed_s=number, up_bytes=packets * FRAME, up_packets=packets, **used))
        for busy in (900, 500):
            survey = Survey(read(1000, "active", ""), read(busy, "busy", ""))
            observed = Observed({"a": Station("a", "", dumps=tuple(made))}, surveys=[survey])
            found = loads.competing_uploads(observed, loads.of_station(observed.stations["a"]))
            assert len(found) == (name == "competing" and busy == 900)


@pytest.mark.whole
def test_a_film_is_told_from_bulk_data_in_a_saturated_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever its mean rate is. A slow wire holds a flow back that never pauses: it becomes documents of a second each."""
    monkeypatch.setattr(calibration, "SEEDS", 6)
    film = {"name": "web", "min_bytes": 2_000_000, "max_bytes": 3_200_000, "step_bytes": 400_000, "think_mean_s": 6.0}
    names = ["bulk-1", "bulk-2", "bulk-3", "held", "film-1", "film-2"]
    flows: list[dict[str, Any]] = [{"name": name, "station": name, "direction": "down"} for name in names]
    flows[3]["wire_rate_mbps"] = 1.5
    for flow in flows[4:]:
        flow["application"] = film
    cell = Scenario.from_settings(
        {**CELL, "stations": [{"name": name, "mcs": 4, "streams": 1} for name in names], "flows": flows}
    )
    results = sampled(cell).run(seeds=1)
    write(results, tmp_path)
    observed = observe([tmp_path / "seed-1" / name for name in SHOWN])
    assert loads.saturated(observed)
    made = document(observed, "x")
    tables = [each.keys for each in made.tables if each.header == "[[flows]]"]
    rules = [each["application"].what for each in tables]
    assert rules == [loads.NO_PAUSES] * 3 + [loads.HELD_BACK] + [loads.PAUSES] * 2
    steady, *films = [each["application"].value for each in tables[3:]]
    assert (steady["min_bytes"] + steady["max_bytes"]) / 2 == pytest.approx(1.5e6 / 8, rel=0.1)
    for each in films:
        assert (each["min_bytes"] + each["max_bytes"]) / 2 == pytest.approx(2.6e6, rel=0.3)
    after = (
        made.scenario()
        .override({"run.duration_s": 60})
        .run(seeds=12)
        .flows.group_by("flow")
        .agg(pl.mean("goodput_mbps"))
    )
    rates = dict(after.select("flow", "goodput_mbps").iter_rows())
    before = dict(results.flows.select("flow", "goodput_mbps").iter_rows())
    for number, mbps in before.items():
        assert rates[number] == pytest.approx(mbps, rel=0.15), names[number]


def test_a_run_as_an_access_point_shows_it_has_a_dump_per_second(here: Cli, tmp_path: Path) -> None:
    """Their last one has the counters of the run, and the first one none."""
    cell = load("plain").override({"run.warmup_s": 2, "run.duration_s": 5})
    short = ["--set", "run.warmup_s=2", "--set", "run.duration_s=5"]
    made = here("run", "plain", *short, "--seeds", "1", "--as-ap", str(tmp_path / "ap"))
    assert made.returncode == 0
    write(cell.run(seeds=1), tmp_path / "sums")
    many, one = (observe([tmp_path / each / "seed-1" / STATION]).stations.values() for each in ("ap", "sums"))
    for series_, single in zip(many, one, strict=True):
        assert [each.elapsed_s.value for each in series_.dumps if each.elapsed_s] == [0, 1, 2, 3, 4, 5]
        assert len(single.dumps) == 1
        assert (series_.down, series_.up) != (None, None)
        for name in series_.counters.counted:
            whole, sum_ = getattr(single.counters, name), getattr(series_.counters, name)
            assert sum_.value == pytest.approx(whole.value, abs=1), name


def test_an_interval_of_the_scenario_is_kept_and_one_longer_than_the_run_gives_sums(tmp_path: Path) -> None:
    cell = load("plain").override({"run.warmup_s": 1, "run.duration_s": 2, "run.sample_interval_s": 0.5})
    results = sampled(cell).run(seeds=1)
    plan = results.cells[0].scenario.plan()
    found = list(dumps(results, plan, results.cells[0].name, 1))
    assert [each.count("current time") for each in found] == [4] * 5
    (tmp_path / "series.txt").write_text("".join(found))
    first, *_ = observe([tmp_path / "series.txt"]).stations.values()
    assert [each.elapsed_s.value for each in first.dumps if each.elapsed_s] == [0, 0.5, 1, 1.5, 2]
    assert sampled(brief := load("plain").override({"run.warmup_s": 0.1, "run.duration_s": 0.5})) == brief
    long = cell.override({"run.sample_interval_s": 2.5}).run(seeds=1)
    assert not list(dumps(long, plan, long.cells[0].name, 1))


def test_dumps_in_one_file_are_those_of_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Output of iw 5.19 on Linux 6.12, 20 s apart."""
    shorten(monkeypatch)
    folder = ROOT / "tests" / "data" / "ap-of-linux"
    parts = [folder / f"station-{when}.txt" for when in ("begin", "end")]
    rest = [folder / f"{name}-{when}.txt" for name in ("survey", "info") for when in ("begin", "end")]
    for name, several in (("series.txt", parts), ("surveys.txt", rest[:2])):
        (tmp_path / name).write_text("".join(each.read_text() for each in several))
    whole = [tmp_path / "series.txt", tmp_path / "surveys.txt", *rest[2:]]
    assert imported(whole, "x").settings() == imported([*parts, *rest], "x").settings()


def test_the_rate_of_a_link_is_that_of_most_dumps(tmp_path: Path) -> None:
    """Not that of the last frame, nor of frames without an MCS, such as those of the management."""
    fast, slow, old = "65.0 MBit/s MCS 7", "39.0 MBit/s MCS 4", "6.0 MBit/s"
    down, up = [fast] * 3 + [slow] * 2, [old] * 4 + [slow]
    (tmp_path / "series.txt").write_text(
        "".join(
            station(1, tx_bitrate=down[i], rx_bitrate=up[i], connected_time=f"{i} seconds") + station(2)
            for i in range(5)
        )
    )
    first, second = observe([tmp_path / "series.txt"]).stations.values()
    assert [each.value.mcs for each in (first.down, first.up) if each] == [7, 4]
    assert (second.down, second.up) == (None, None)


def test_a_series_counts_no_more_retries_than_its_sum() -> None:
    """At an end of an interval MPDUs are on the air, of which no retry is known yet."""
    results = sampled(load("cafe").override({"ap.scheme": "mac80211", "ap.hardware": "firmware"})).run(seeds=1)
    plan, name = results.cells[0].scenario.plan(), results.cells[0].name
    found = []
    for content in ("".join(dumps(results, plan, name, 1)), dict(files(results, plan, name, 1))[STATION]):
        observed = Observed()
        station_dump.read_into(observed, STATION, content)
        found.append([each.counters.retries.value for each in observed.stations.values() if each.counters.retries])
    assert sum(found[1]) > 1000
    # One A-MPDU may be on the air when the run ends.
    assert all(abs(many - one) <= 64 for many, one in zip(*found, strict=True))
    assert sum(found[0]) <= sum(found[1]) + 64


def test_a_series_that_was_stopped_within_a_dump_ends_with_the_one_before() -> None:
    """As by Ctrl-C: whatever the place in its last station, and whatever is left of the line."""
    blocks = [
        "".join(
            f"Station 02:00:00:00:00:0{name} (on wlan0)\n\trx bytes:\t{100 * at}\n\trx packets:\t{at}\n\ttx bytes:\t{1000 * at}\n\ttx packets:\t{at}\n"
            f"\ttx retries:\t{at}\n\ttx bitrate:\t65.0 MBit/s MCS 7\n\tconnected time:\t{at} seconds\n"
            for name in "12"
        )
        for at in (10, 11, 12)
    ]
    whole = "".join(blocks)
    begin = whole.rindex("Station")
    for end in range(begin + 1, len(whole) - 1):
        observed = Observed()
        station_dump.read_into(observed, "station.txt", whole[:end])
        one, other = observed.stations.values()
        assert (len(one.dumps), len(other.dumps)) == (3, 2), whole[begin:end]
        assert len(observed.remarks) == 1
        assert observed.remarks[0].startswith("station.txt:41: the last dump is cut in this station")
    for complete in (whole, whole.rstrip("\n")):  # an editor may have removed the last newline
        observed = Observed()
        station_dump.read_into(observed, "station.txt", complete)
        assert [len(each.dumps) for each in observed.stations.values()] == [3, 3]
        assert not observed.remarks
