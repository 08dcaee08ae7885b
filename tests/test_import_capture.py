"""`wifair import` of captures: rates, flows and round-trip times of a run are read back, and damaged captures give errors."""

from __future__ import annotations

import gzip
import re
import resource
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import dpkt  # type: ignore[import-untyped]
import polars as pl
import pytest
from conftest import ROOT, new_file
from observing import BRIEF, DAMAGED, check_damaged, damaged, simulated_once
from wifair import Scenario, Traces
from wifair.errors import InputError
from wifair.observed import calibration, capture, conversations, document, imported, observe
from wifair.observed.as_ap import write
from wifair.observed.bitrate import Bitrate
from wifair.observed.conversations import LEAST_ANSWERS, TCP, UDP, Connection, Way
from wifair.observed.network import Observed, given
from wifair.observed.radio_header import frame
from wifair.observed.written import text
from wifair.study.job import Progress

CELL: dict[str, Any] = {
    "run": {"warmup_s": 0, "duration_s": 5},
    "phy": {"name": "802.11ax", "width_mhz": 40, "streams": 2},
    "ap": {"scheme": "mac80211", "hardware": "firmware"},
    "wire": {"rate_mbps": 500, "one_way_delay_ms": 12},
    "tcp": {"profile": "today"},
    "stations": [
        {"name": "near", "mcs": 9},
        {"name": "far", "mcs": 3, "mcs_down": 2, "streams": 1},
        {"name": "old", "mcs": 7, "phy": {"name": "802.11ac", "width_mhz": 40, "guard_interval_ns": 400}},
        {"name": "older", "mcs": 12, "phy": {"name": "802.11n", "width_mhz": 20, "guard_interval_ns": 400}},
    ],
    "flows": [
        {"name": "a", "station": "near", "direction": "down"},
        {"name": "b", "station": "far", "direction": "down", "start_s": 1.5, "tcp": {"dscp": 8}},
        {"name": "c", "station": "old", "direction": "up"},
        {
            "name": "d",
            "station": "older",
            "direction": "down",
            "application": {"name": "udp", "rate_mbps": 2, "dscp": 34},
        },
        {"name": "e", "station": "near", "direction": "up", "application": "ping"},
    ],
}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scenario, Any, Path]:
    """A run of the cell, its results, and the folder of its captures."""
    folder, scenario = tmp_path_factory.mktemp("run"), Scenario.from_settings(CELL)
    results = scenario.run(seeds=1, traces=Traces(folder))
    return scenario, results, folder / "seed-1"


@pytest.fixture(scope="module")
def seen(run: tuple[Scenario, Any, Path]) -> Observed:
    """What its capture on the air shows."""
    return observe([run[2] / "ap-air.pcapng"])


@contextmanager
def brief_runs() -> Iterator[None]:
    """Runs of calibration are short: of a capture, they change error rates and think times alone, which no test here reads."""
    with pytest.MonkeyPatch.context() as patch:
        for name, number in BRIEF.items():
            patch.setattr(calibration, name, number)
        yield


@pytest.fixture(scope="module")
def from_air(seen: Observed) -> Any:
    """What that gives."""
    with brief_runs():
        return document(seen, "ap-air")


def goodput(made: Any) -> dict[tuple[int, str], float]:
    """By station and direction, the payload in Mbps of the flows that a capture gave."""
    found = {}
    for table in made.tables:
        if table.header == "[[flows]]" and "Mbps" in table.remark:
            station, way = table.keys["station"].value, table.keys["direction"].value
            number = float(table.remark.split()[0])
            found[int(station.removeprefix("station-")), way] = number
    return found


@pytest.mark.whole
@pytest.mark.parametrize("name", ["ap-air", "ap-wire"])
def test_flows_of_a_run_are_read_from_its_capture(name: str, run: tuple[Scenario, Any, Path], from_air: Any) -> None:
    _, results, folder = run
    made = from_air if name == "ap-air" else imported([folder / f"{name}.pcapng"])
    ways = sorted(table.keys["direction"].value for table in made.tables if table.header == "[[flows]]")
    assert ways == ["down", "down", "down", "up", "up"]
    tcp = sorted(results.flows.filter(transport="tcp")["goodput_mbps"].to_list())
    for one, two in zip(sorted(goodput(made).values()), tcp, strict=True):
        assert one == pytest.approx(two, rel=0.02)
    starts = [table.keys["start_s"].value for table in made.tables if "start_s" in table.keys]
    assert starts == [pytest.approx(1.5, abs=0.11)]
    [udp] = [table.keys["application"].value for table in made.tables if "datagrams" in table.remark]
    assert udp["rate_mbps"] == pytest.approx(2, rel=0.03)
    assert udp["dscp"] == 34
    assert [each["tcp"] for each in made.settings()["flows"] if "tcp" in each] == [{"dscp": 8}]
    assert made.settings()["wire"]["one_way_delay_ms"] == pytest.approx(12, rel=0.1)


@pytest.mark.whole
def test_reading_a_capture_shows_progress(run: tuple[Scenario, Any, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capture, "RECORDS_PER_REPORT", 100)
    shares: dict[str, list[float]] = {}

    @contextmanager
    def bars(title: str) -> Iterator[Progress]:
        yield shares.setdefault(title, []).append

    observe([run[2] / "ap-wire.pcapng"], bars)
    [(title, shown)] = shares.items()
    assert title == "reading ap-wire.pcapng"
    assert shown == sorted(shown)
    assert 0 < shown[0] < 0.2
    assert 0.8 < shown[-1] <= 1


@pytest.mark.whole
def test_links_of_a_run_are_read_from_its_capture_on_the_air(
    run: tuple[Scenario, Any, Path], seen: Observed, from_air: Any
) -> None:
    scenario, results, _ = run
    made = from_air.scenario().plan()
    of_name = {"near": "10.0.0.1", "far": "10.0.0.2", "old": "10.0.0.3", "older": "10.0.0.4"}
    order = list(seen.stations)
    for number, each in enumerate(scenario.plan()["bss"]["stations"]):
        address = "02:00:" + bytes(map(int, of_name[each["label"]].split("."))).hex(":")
        back = made["bss"]["stations"][order.index(address)]
        assert (back["mcs"], back["mcs_down"]) == (each["mcs"], each["mcs_down"] or each["mcs"])
        assert (back["phy"] or {}).get("name") == (each["phy"] or {}).get("name")
        rates = results.stations.filter(station=each["label"])
        found = seen.stations[address]
        for way, rate in (("down", found.down), ("up", found.up)):
            [own] = rates.filter(direction=way)["link_rate_mbps"].to_list()
            assert rate or (each["label"], way) == ("older", "up")  # which sends nothing
            assert not rate or rate.value.mbps == pytest.approx(own, abs=0.01), number


@pytest.mark.whole
def test_dumps_and_capture_of_one_run_have_the_same_stations(
    run: tuple[Scenario, Any, Path], from_air: Any, tmp_path: Path
) -> None:
    """The dump has the counters, the capture the flows."""
    _, results, folder = run
    write(results, tmp_path)
    dumps = [tmp_path / "seed-1" / name for name in ("station.txt", "survey.txt", "info.txt")]
    alone, both = observe(dumps), observe([*dumps, folder / "ap-air.pcapng"])
    assert list(both.stations) == list(alone.stations)
    assert [each.counters for each in both.stations.values()] == [each.counters for each in alone.stations.values()]
    made = document(both, "station")
    flows = [each.settings()["flows"] for each in (made, from_air)]
    ways = [sorted((flow["direction"], str(flow.get("application"))) for flow in each) for each in flows]
    assert ways[0] == ways[1]


@pytest.mark.whole
def test_datagrams_count_whose_first_frame_was_not_received(tmp_path: Path) -> None:
    """A fifth of the frames from the station have errors, so that the access point receives their retries only."""
    cell = Scenario(
        run={"warmup_s": 0, "duration_s": 10},
        phy={"name": "802.11a"},
        stations=[{"name": "one", "rate_mbps": 54, "frame_error_rate": {"data_up": 0.2, "data_down": 0.2}}],
        flows=[
            {"station": "one", "direction": way, "application": {"name": "udp", "rate_mbps": 2}}
            for way in ("up", "down")
        ],
    )
    cell.run(seeds=1, traces=Traces(tmp_path))
    observed = observe([tmp_path / "seed-1" / "ap-air.pcapng"])
    [station] = observed.stations.values()
    assert [each.mbps for each in station.traffic] == [pytest.approx(2, rel=0.03)] * 2


DOCUMENTS: dict[str, Any] = {"name": "web", "min_bytes": 400_000, "max_bytes": 1_200_000, "step_bytes": 400_000}


@pytest.mark.whole
def test_documents_and_errors_each_way_are_those_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files one after another, pages over four connections, and errors of one station whose uploads would be starved by collisions alone."""
    monkeypatch.setattr(calibration, "WARMUP_S", 5.0)
    monkeypatch.setattr(calibration, "DURATION_S", 12.0)
    pages = {**DOCUMENTS, "connections": 4, "think_mean_s": 2.0}
    backup = {"name": "transfers", "transfer_bytes": 1_000_000}
    scenario = Scenario(
        run={"warmup_s": 0, "duration_s": 40},
        phy={"name": "802.11ax", "width_mhz": 20},
        ap={"scheme": "mac80211", "hardware": "firmware"},
        mac={"edca": {"classify": "dscp"}},
        tcp={"profile": "today"},
        wire={"rate_mbps": 500, "one_way_delay_ms": 12},
        station={"tx_queue": {"limit_packets": 1000}},
        stations=[
            {"name": "pages", "mcs": 3, "streams": 1},
            {"name": "files", "mcs": 3, "streams": 1, "frame_error_rate": {"data_down": 0.0, "data_up": 0.12}},
            {"name": "upload", "mcs": 3, "streams": 1},
        ],
        flows=[
            {"name": "pages", "station": "pages", "direction": "down", "application": pages},
            {"name": "files", "station": "files", "direction": "up", "application": backup},
            {"name": "upload", "station": "upload", "direction": "up", "one_way_delay_ms": 40},
        ],
    )
    results = scenario.run(seeds=1, traces=Traces(tmp_path))
    observed = observe([tmp_path / "seed-1" / "ap-air.pcapng"])
    made = document(observed, "run")
    settings = made.settings()
    bulk, documents, web = (flow["application"] for flow in settings["flows"])  # in the order of their first frames
    assert (web["connections"], bulk) == (4, "bulk")
    assert (web["min_bytes"] + web["max_bytes"]) / 2 == pytest.approx(800_000, rel=0.2)
    assert web["max_bytes"] - web["min_bytes"] == pytest.approx(800_000, rel=0.4)
    assert (documents["min_bytes"] + documents["max_bytes"]) / 2 == pytest.approx(1_000_000, rel=0.05)
    assert "connections" not in documents
    errors = [each.get("frame_error_rate", {}) for each in settings["stations"]]
    assert [each.get("data_down", 0.0) for each in errors] == pytest.approx([0.0] * 3, abs=0.04)
    upload, files, few_frames = (each.get("data_up", 0.0) for each in errors)
    assert (upload, files) == pytest.approx((0.0, 0.12), abs=0.04)
    assert few_frames < 0.1
    assert settings["flows"][0]["one_way_delay_ms"] == pytest.approx(40, abs=8)
    with brief_runs():
        # Known, or with one queue for all, in which each waits for the packets of the others.
        for path, value in {"wire.one_way_delay_ms": 12, "ap.scheme": "droptail"}.items():
            other = replace(observed, keys={**observed.keys, path: given(value, "--set")})
            assert not any("one_way_delay_ms" in flow for flow in document(other, "run").settings()["flows"])
    run = {"run.warmup_s": 5, "run.duration_s": 40}
    rates = [
        each.flows.group_by("flow", maintain_order=True).agg(pl.mean("goodput_mbps"))["goodput_mbps"].to_list()
        for each in (results, made.scenario().override(run).run(seeds=4))
    ]
    assert rates[1] == pytest.approx(rates[0][::-1], rel=0.15)


@pytest.mark.whole
@pytest.mark.parametrize("scheme", ["mac80211", "droptail"])
def test_delays_to_servers_are_exact_at_the_interface_of_the_access_point(scheme: str, tmp_path: Path) -> None:
    """At its radio they have the wait in its queue as well: documents have none then, and bulk flows where stations do not wait for each other."""
    flows: list[dict[str, Any]] = [
        {"name": "upload", "station": "near", "direction": "up", "one_way_delay_ms": 40},
        {"name": "pages", "station": "far", "direction": "down", "one_way_delay_ms": 30, "application": DOCUMENTS},
        {"name": "news", "station": "near", "direction": "down", "application": DOCUMENTS},
    ]
    stations = [{"name": "near", "mcs": 0}, {"name": "far", "mcs": 0}]
    scenario = Scenario.from_settings(
        CELL
        | {
            "run": {"warmup_s": 0, "duration_s": 12},
            "ap": {"scheme": scheme, "limit_packets": 50},
            "stations": stations,
            "flows": flows,
        }
    )
    scenario.run(seeds=1, traces=Traces(tmp_path))
    for name, expected, most in (
        ("ap-wire", {"upload": 40, "pages": 30}, 0.02),
        ("ap-air", {"upload": 40} if scheme == "mac80211" else {}, 0.5),
    ):
        seen = observe([tmp_path / "seed-1" / f"{name}.pcapng"])
        seen.keys["ap.scheme"] = given(scheme, "--set")
        with brief_runs():
            settings = document(seen, "run").settings()
        delays = [
            ("upload" if flow["direction"] == "up" else "pages", flow["one_way_delay_ms"])
            for flow in settings["flows"]
            if "one_way_delay_ms" in flow
        ]
        assert dict(delays) == pytest.approx(expected, rel=most)
        assert len(delays) == len(expected)
        assert settings["wire"]["one_way_delay_ms"] == pytest.approx(12, rel=most)


def carrying(*ways: tuple[float, float, int]) -> list[Way]:
    """Directions of connections with their first and last time, and bytes."""
    return [Way(payload_bytes=size, first_at=first, last_at=last) for first, last, size in ways]


def test_data_that_overlaps_in_time_is_of_one_document() -> None:
    pages = [(0.0, 2.0, 60_000), (0.1, 1.0, 60_000), (0.1, 3.0, 60_000), (9.0, 9.5, 20_000), (9.1, 9.4, 20_000)]
    found = conversations._documents(carrying(*pages), 60.0)
    assert found is not None
    assert (found.count, found.mean_bytes, found.deviation_bytes, found.connections) == (2, 110_000, 70_000, 2)
    assert found.think_mean_s == pytest.approx((60 - 3.0 - 0.5) / 2)
    opened = [
        replace(way, opened_at=begin) for way, begin in zip(carrying(*pages), (-1.0, 0.0, 0.0, 8.0, 9.0), strict=True)
    ]
    with_handshakes = conversations._documents(opened, 60.0)
    assert with_handshakes == replace(found, think_mean_s=(60 - 4.0 - 1.5) / 2)
    idle_before = conversations._documents([replace(way, opened_at=-20.0) for way in carrying(*pages)], 60.0)
    assert idle_before == found  # as of browsers, which open connections before they want them
    assert conversations._documents(carrying((0.0, 1.0, 9_999), (2.0, 3.0, 9_999)), 60.0) is None
    [alone] = [conversations._documents(carrying((5.0, 6.0, 50_000), (7.0, 8.0, 500)), 60.0)]
    assert alone is not None
    assert (alone.count, alone.connections) == (1, 1)
    starved = carrying((5.0, 50.0, 50_000))
    assert conversations._documents(starved, 60.0) is None
    assert conversations._documents(starved, 600.0) is not None


def both_ways(name: str, station: str, told: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"name": f"{name}-{way}", "station": station, "direction": way, "application": told} for way in ("up", "down")
    ]


# Two calls of different codecs and marks next to an upload, and datagrams that are no call.
WITH_CALLS: dict[str, Any] = {
    **CELL,
    "run": {"warmup_s": 0, "duration_s": 6},
    "stations": [{"name": name, "mcs": 7} for name in ("phone", "desk", "console", "camera")],
    "flows": [
        {"name": "call", "station": "phone", "direction": "down", "application": "voip"},
        {
            "name": "other-call",
            "station": "desk",
            "direction": "up",
            "application": {"name": "voip", "packet_ms": 30, "voice_bytes": 24, "dscp": 0},
        },
        {"name": "game", "station": "console", "direction": "down", "application": "game"},
        *both_ways("voice", "camera", {"name": "udp", "rate_mbps": 0.0688, "payload_bytes": 172}),
        {"name": "upload", "station": "desk", "direction": "up"},
    ],
}


@pytest.mark.whole
@pytest.mark.parametrize("name", ["ap-air", "ap-wire"])
def test_calls_of_a_run_are_read_from_its_capture(name: str, tmp_path: Path) -> None:
    """The dumps of the same access point give the counters, and the capture the flows."""
    results = Scenario.from_settings(WITH_CALLS).run(seeds=1, traces=Traces(tmp_path))
    write(results, tmp_path)
    folder = tmp_path / "seed-1"
    dumps = [folder / file for file in ("station.txt", "survey.txt", "info.txt")] if name == "ap-air" else []
    observed = observe([*dumps, folder / f"{name}.pcapng"])
    told: dict[str, list[dict[str, Any]]] = {"voip": [], "udp": []}
    for each in (traffic for station in observed.stations.values() for traffic in station.traffic):
        application = each.keys.value.get("application", {})
        if application:
            told[application["name"]].append({**application, "mbps": (each.mbps, each.back_mbps), "by": each.keys.what})
    first, second = sorted(told["voip"], key=lambda call: call["packet_ms"])
    assert (first["packet_ms"], first["voice_bytes"], first["dscp"]) == (20, 160, 46)
    assert (second["packet_ms"], second["voice_bytes"], second["dscp"]) == (30, 24, 0)
    assert first["by"] == "datagrams, taken for a call: 172 bytes every 20 ms both ways"
    assert first["mbps"] == (pytest.approx(172 * 8 / 20e3, rel=0.05),) * 2
    sizes = sorted(each["payload_bytes"] for each in told["udp"])
    assert sizes == [pytest.approx(141, abs=5), 172, 172], "a game's server, and two flows, each with a port for itself"
    if dumps:
        with brief_runs():
            made = document(observed, "calls")
        [call, *_] = [flow for flow in made.scenario().plan()["flows"] if flow["application"]["name"] == "voip"]
        assert (call["application"]["packet_ms"], call["direction"]) == (20, "down")
        lines = text(made).splitlines()
        at = next(i for i, line in enumerate(lines) if '"voip", packet_ms = 20' in line)
        assert "taken for a call: 172 bytes every 20 ms both ways" in lines[at - 1]


def spoken(packets: int = 500, every_ms: float = 20, **changes: Any) -> int | None:
    """The interval of a direction's packets as those of a call. `changes`: bytes and time by the number of the packet, and which are lost."""
    way = Way()
    for i in range(packets):
        at = changes.get("at", lambda i: i * every_ms / 1000)(i)
        if not changes.get("lost", lambda i: False)(i):
            way.data(at, None, changes.get("size", lambda i: 172)(i))
    return way.call_ms


def test_a_call_has_packets_of_one_size_at_a_steady_interval() -> None:
    assert spoken() == 20
    assert [spoken(every_ms=ms) for ms in (10, 30, 40, 60)] == [10, 30, 40, 60]
    assert [spoken(every_ms=ms) for ms in (5, 25, 35, 100)] == [None] * 4
    assert spoken(90) is None, "too few"
    assert spoken(size=lambda i: 301) is None
    assert spoken(size=lambda i: 12) is None, "RTP's header alone"
    assert spoken(size=lambda i: 60 + i % 40) is None, "as of games, and of codecs with a variable rate"
    assert spoken(size=lambda i: 80 if i % 100 == 0 else 172) == 20, "RTCP among them"
    assert spoken(lost=lambda i: i % 20 == 0) == 20
    assert spoken(at=lambda i: i * 0.02 + (0.2 if i % 50 > 25 else 0)) == 20, "queues delay some"
    assert spoken(lost=lambda i: i % 100 < 40) is None, "pauses, which a call of `voip` does not have"
    assert spoken(at=lambda i: i // 150 * 3 + i % 150 * 0.001) is None, "bursts"


def test_two_directions_that_differ_are_no_call() -> None:
    def application(up: tuple[int, int, int], down: tuple[int, int, int]) -> set[str]:
        connection = Connection("station", UDP, (b"", 1))
        for is_up, (every_ms, size, dscp) in ((True, up), (False, down)):
            for i in range(10_000 // every_ms):
                connection.ways[is_up].data(i * every_ms / 1000, None, size, dscp)
        flows, rest = conversations._traffic(connection, "file", 0.0, 10.0, has_wait=False)
        assert not rest
        return {each.keys.value["application"]["name"] for each in flows}

    assert application((20, 172, 46), (20, 172, 46)) == {"voip"}
    assert application((20, 172, 46), (40, 172, 46)) == {"udp"}
    assert application((20, 172, 46), (20, 160, 46)) == {"udp"}
    assert application((20, 172, 46), (20, 172, 0)) == {"udp"}, "a call has one mark"


def encrypted(plain: Path, path: Path) -> Path:
    """A capture of a radio, with every data frame marked as encrypted."""
    with plain.open("rb") as read, path.open("wb") as file:
        writer = dpkt.pcap.Writer(file, linktype=capture.RADIOTAP)
        for at, record in dpkt.pcapng.Reader(read):
            start = struct.unpack_from("<H", record, 2)[0]
            protected = record[: start + 1] + bytes([record[start + 1] | 0x40]) + record[start + 2 :]
            writer.writepkt(protected if record[start] & 0x0C == 0x08 else record, ts=at)
    return path


@pytest.mark.whole
def test_encrypted_frames_count_by_their_length(run: tuple[Scenario, Any, Path], from_air: Any, tmp_path: Path) -> None:
    scenario, _, _ = run
    scenario.run(seeds=1, traces=Traces(tmp_path, full_frames=True))
    with brief_runs():
        made = imported([encrypted(tmp_path / "seed-1" / "ap-air.pcapng", tmp_path / "encrypted.pcap")])
    directions = [
        {
            (table.keys["station"].value, table.keys["direction"].value)
            for table in each.tables
            if table.header == "[[flows]]"
        }
        for each in (made, from_air)
    ]
    assert directions[0] == directions[1] - {("station-1", "up")}  # the ping is below the least rate


@pytest.mark.whole
def test_flows_of_two_captures_are_those_of_the_later_one(tmp_path: Path) -> None:
    """Retries and rates stay those of the radio, whose capture has no flows if it is encrypted."""
    scenario = Scenario.from_settings(CELL | {"run": {"warmup_s": 0, "duration_s": 0.8}})
    scenario.run(seeds=1, traces=Traces(tmp_path, full_frames=True))
    air, wire = tmp_path / "seed-1" / "ap-air.pcapng", tmp_path / "seed-1" / "ap-wire.pcapng"
    of_wire = observe([wire])
    for radio in (air, encrypted(air, tmp_path / "encrypted.pcap")):
        of_radio, both = observe([radio]), observe([radio, wire])
        for key, mine in both.stations.items():
            other = of_wire.stations.get(key, of_radio.stations[key])
            assert (mine.traffic, mine.down_mbps, mine.up_mbps) == (other.traffic, other.down_mbps, other.up_mbps)
            assert mine.documents == other.documents
            assert mine.up_retries == of_radio.stations[key].up_retries
            assert mine.counters == of_radio.stations[key].counters
        told = [each for each in both.remarks if each.startswith("ap-wire.pcapng: has flows of stations")]
        assert bool(told) is (radio == air)
        assert both.keys["wire.one_way_delay_ms"] == of_wire.keys["wire.one_way_delay_ms"]


def test_payload_is_counted_once_whatever_is_sent_again() -> None:
    way = Way()
    for sequence in (2**32 - 1000, 0, 2**32 - 1000, 1000, 0, 1000, 2000):
        way.data(0.0, sequence, 1000)
    assert way.payload_bytes == 4000
    way.data(0.0, 2**31, 1000)  # damage
    assert way.payload_bytes == 4000


@pytest.mark.parametrize(
    ("again_s", "seconds"),
    [((), 2), ((0.51,), 2), ((0.8, 1.4, 2.6), 11), ((9.9,), 11)],
    ids=["no data at all", "out of order on the air", "by the timer, again and again", "by the timer"],
)
def test_a_pause_in_which_lost_data_comes_again_is_none_of_the_application(
    again_s: tuple[float, ...], seconds: int
) -> None:
    """New data until 0.5 s and from 10 s on: a starved sender waits for its timer in between, an application may have nothing to send."""
    way = Way()
    for number in range(50):
        way.data(number / 100, number * 1000, 1000)
    for at_s in again_s:
        way.data(at_s, 40_000, 1000)
    way.data(10.0, 50_000, 1000)
    assert way.seconds == seconds
    way.data(11.0, 51_000, 1000)
    assert way.seconds == seconds + 1


RADIOTAP = {
    "54 Mbps": ("00000a000400000000006c00", None),
    "HT MCS 12, short": (
        struct.pack("<BBHI", 0, 0, 11, 1 << 19).hex() + "1f040c",
        Bitrate(86.67, "802.11n", 12, 2, 20, 400),
    ),
    "VHT 9, 80 MHz, 2": (
        struct.pack("<BBHIHBBBBBBBBH", 0, 0, 20, 1 << 21, 0x45, 4, 4, 0x92, 0, 0, 0, 0, 0, 0).hex(),
        Bitrate(866.67, "802.11ac", 9, 2, 80, 400),
    ),
    "HE 11, 40 MHz, 1": (
        struct.pack("<BBHI6H", 0, 0, 20, 1 << 23, 0x42E0, 2, 11 << 8, 0, 1, 1).hex(),
        Bitrate(286.76, "802.11ax", 11, 1, 40, 800),
    ),
}


def test_the_delay_of_a_connection_without_a_handshake_is_in_its_timestamps() -> None:
    """Two seconds of an upload of Linux 6.12 over a wire with 24 ms each way (`wifair emulate --test tcp-up-down --pcap`), from the second one on."""
    path = ROOT / "tests" / "data" / "observed" / "linux-upload.pcapng"
    assert observe([path]).keys["wire.one_way_delay_ms"].value == pytest.approx(24, rel=0.02)


def test_timestamps_give_the_shortest_round_trip_of_ten_answers() -> None:
    """The first packet with a value counts, and the first answer to it. Values begin again at 0."""
    connection, at = Connection("x", TCP, (b"x", 1)), 0.0
    for number in range(20):
        assert (connection.wire_rtt_s is None) is (number < LEAST_ANSWERS)
        value = (number - 10) & 0xFFFFFFFF
        for later in (0.0, 0.3):
            connection.stamp(at + later, value, 0, is_up=True)
        connection.stamp(at + 0.4, 0, (value - 1) & 0xFFFFFFFF, is_up=False)  # an answer to what went before
        for later in (0.5 + 0.01 * (number % 7), 0.9):
            connection.stamp(at + later, 0, value, is_up=False)
        at += 1.0
    assert connection.wire_rtt_s == pytest.approx(0.5)
    skipped = Connection("x", TCP, (b"x", 1))
    for number in range(20):
        skipped.stamp(2.0 * number, 2 * number, 0, is_up=True)
        skipped.stamp(2.0 * number + 1, 0, 2 * number + 1, is_up=False)  # to a packet that was not captured
    assert skipped.wire_rtt_s is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("0101080a0000000100000002", (1, 2)),
        ("020405b40402080a00000003000000040103030a", (3, 4)),
        ("0101050a0000000100000002080a0000000500000006", (5, 6)),
        ("", None),
        ("020405b4", None),
        ("00080a0000000100000002", None),
        ("0101080a00000001", None),
        ("080b000000010000000200", None),
        ("0200080a0000000100000002", None),
        ("02", None),
    ],
)
def test_timestamps_are_found_among_other_options(options: str, expected: tuple[int, int] | None) -> None:
    assert capture._timestamps(bytes.fromhex(options)) == expected


DATA_FRAME = "0801" + "0000" + "020000000000" + "020000000001" + "020000000002" + "0000"


@pytest.mark.parametrize("name", list(RADIOTAP)[1:])
def test_a_mode_of_radiotap_is_read(name: str) -> None:
    header, mode = RADIOTAP[name]
    found = frame(bytes.fromhex(header + DATA_FRAME), True)
    assert found
    assert mode
    assert found.rate
    assert (found.station, found.bssid, found.is_up) == ("02:00:00:00:00:01", "02:00:00:00:00:00", True)
    assert found.rate.mbps == pytest.approx(mode.mbps, abs=0.01)
    assert Bitrate(mode.mbps, *list(vars(found.rate).values())[1:]) == mode


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Short captures, by name."""
    folder = tmp_path_factory.mktemp("small")
    Scenario.from_settings(CELL | {"run": {"warmup_s": 0, "duration_s": 0.3}}).run(seeds=1, traces=Traces(folder))
    found = {name: (folder / "seed-1" / f"{name}.pcapng").read_bytes()[:60_000] for name in ("ap-air", "ap-wire")}
    for name, link in (("ap-air", capture.RADIOTAP), ("ap-wire", capture.ETHERNET)):
        path = folder / f"{name}.pcap"
        with (folder / "seed-1" / f"{name}.pcapng").open("rb") as file, path.open("wb") as out:
            writer = dpkt.pcap.Writer(out, linktype=link)
            for number, (at, record) in enumerate(dpkt.pcapng.Reader(file)):
                if number < 300:
                    writer.writepkt(record, ts=at)
        found[f"{name}.pcap"] = path.read_bytes()
    return found


@pytest.mark.whole
@pytest.mark.parametrize("name", ["ap-air", "ap-wire", "ap-air.pcap", "ap-wire.pcap"])
def test_a_damaged_capture_gives_a_scenario_or_an_error_that_names_it(
    name: str, small: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated_once(monkeypatch)
    path, accepted = tmp_path / "x.pcap", 0
    for seed in range(DAMAGED):
        accepted += check_damaged(new_file(path, small[name][:4] + damaged(small[name][4:], seed)))
    assert accepted < DAMAGED
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2**20  # KiB


WRONG = [
    (b"\xd4\xc3\xb2\xa1", "is no capture"),
    (struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 147), "link type: 147 is not allowed"),
    (struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1), "none of its 0 records is a packet of a station"),
    (
        struct.pack("<IHHiIIIIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1, 0, 0, 2**32 - 1, 2**32 - 1),
        "record 1 is damaged: a block has 4294967295 bytes",
    ),
]


@pytest.mark.parametrize(("content", "message"), WRONG)
def test_an_error_names_record_and_reason(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.pcap").write_bytes(content)
    with pytest.raises(InputError, match=message):
        imported([tmp_path / "x.pcap"])


@pytest.mark.whole
def test_memory_does_not_grow_with_the_capture(small: dict[str, bytes], tmp_path: Path) -> None:
    packed, path = small["ap-wire.pcap"], tmp_path / "x.pcap"
    with path.open("wb") as file:
        file.write(packed[:24])
        for _ in range(300):
            file.write(packed[24:])
    assert path.stat().st_size > 5e6
    observe([path])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    capture.read_into(Observed(), str(path), path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4_000  # KiB


def test_a_capture_that_is_cut_within_a_record_says_so(small: dict[str, bytes], tmp_path: Path) -> None:
    path = new_file(tmp_path / "x.pcapng", small["ap-air"][:-6])
    with pytest.raises(InputError, match=r"record \d+ is damaged: the file ends in it\.$"):
        imported([path])


def test_gzip_is_no_capture(small: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "x.pcap.gz").write_bytes(gzip.compress(small["ap-wire.pcap"]))
    with pytest.raises(InputError, match="is no JSON"):
        imported([tmp_path / "x.pcap.gz"])


def test_without_dpkt_an_error_says_what_to_install(
    small: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "dpkt", None)
    (tmp_path / "x.pcap").write_bytes(small["ap-wire.pcap"])
    with pytest.raises(InputError, match=re.escape("captures need the package dpkt: pip install 'wifair[capture]'")):
        imported([tmp_path / "x.pcap"])
