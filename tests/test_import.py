"""`wifair import`: readers, rules, and errors for damaged input."""

from __future__ import annotations

import gzip
import json
import re
import resource
import tomllib
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli, new_file
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from observing import (
    BUSY,
    DAMAGED,
    DATA,
    FILES,
    SURVEY,
    check_damaged,
    counters,
    damaged,
    imported_text,
    scenario_of,
    shorten,
    simulated_once,
    station,
)
from wifair import Scenario
from wifair.errors import InputError
from wifair.observed import Names, bitrate, document, imported, loads, observe
from wifair.observed.bitrate import GENERATIONS, PHYS, Bitrate
from wifair.observed.network import DATAGRAMS, Observed, Station
from wifair.observed.origins import marks
from wifair.observed.written import summary, text


@pytest.fixture(autouse=True)
def brief(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs, except where something is tested that they do not show."""
    if "becomes_a_neighbour" not in request.node.name:
        shorten(monkeypatch)


# Bit rates.


@st.composite
def modes(draw: st.DrawFn) -> Bitrate:
    prefix = draw(st.sampled_from(list(PHYS)))
    generation, most, widest = PHYS[prefix]
    width = draw(st.sampled_from([mhz for mhz in (20, 40, 80, 160, 320) if mhz <= widest]))
    he = GENERATIONS.index(generation) >= GENERATIONS.index("802.11ax")
    gi = draw(st.sampled_from(bitrate.HE_GI_NS if he else (400, 800)))
    mcs = draw(st.integers(0, most))
    streams = mcs // 8 + 1 if prefix == "" else draw(st.integers(1, bitrate.MOST_STREAMS[generation]))
    rate = bitrate.mbps(generation, mcs % 8 if prefix == "" else mcs, streams, width, gi)
    return Bitrate(rate, generation, mcs, streams, width, gi)


@given(modes())
def test_a_printed_bit_rate_is_read_as_the_same_mode(mode: Bitrate) -> None:
    found = bitrate.parse(bitrate.text(mode))
    assert found
    assert found.mbps == pytest.approx(mode.mbps, abs=0.1)
    assert found == Bitrate(found.mbps, *(getattr(mode, name) for name in list(Bitrate.__annotations__)[1:]))


# Tables 19-27 to 19-38, 21-29 to 21-60 and 27-111 of 802.11: rate, PHY, MCS per stream, streams, width, guard interval.
PUBLISHED = [
    (65.0, "802.11n", 7, 1, 20, 800),
    (300.0, "802.11n", 7, 2, 40, 400),
    (866.7, "802.11ac", 9, 2, 80, 400),
    (1560.0, "802.11ac", 9, 2, 160, 800),
    (143.4, "802.11ax", 11, 1, 20, 800),
    (1201.0, "802.11ax", 11, 2, 80, 800),
    (2882.4, "802.11be", 13, 2, 160, 800),
]


@pytest.mark.parametrize("row", PUBLISHED)
def test_rates_of_modes_are_those_of_the_standard(row: tuple[float, str, int, int, int, int]) -> None:
    assert bitrate.mbps(*row[1:]) == pytest.approx(row[0], abs=0.06)


@pytest.mark.parametrize(
    "told",
    [
        "54.0",
        "5.5 MBit/s MCS",
        "866.7 MBit/s VHT-MCS 99",
        "65.0 MBit/s MCS 32",
        "7.0 MBit/s",
        "0.0 MBit/s MCS 1",
        "1.0 MBit/s S1G-MCS 1",
    ],
)
def test_a_wrong_bit_rate_is_refused(told: str) -> None:
    with pytest.raises(ValueError, match=r"such as|MCS 0 to"):
        bitrate.parse(told)


def test_an_unknown_bit_rate_is_none() -> None:
    assert bitrate.parse("(unknown)") is None


# Readers.


def test_a_station_dump_gives_links_and_flows_with_their_origins() -> None:
    found, made = scenario_of("station.txt", "survey.txt", "info.txt")
    first, second = found["stations"][:2]
    assert first["phy"] == {"name": "802.11ac", "guard_interval_ns": 400}
    assert (first["mcs"], first["mcs_down"]) == (8, 9)
    assert second["phy"] == {"name": "802.11ax", "width_mhz": 40}
    assert (second["streams"], second["mcs"], second["mcs_down"]) == (1, 11, 11)
    assert [(flow["name"], flow["direction"]) for flow in found["flows"][:2]] == [
        ("station-1-down", "down"),
        ("station-2-up", "up"),
    ]
    assert found["phy"] == {"name": "802.11ax", "band_ghz": 5, "width_mhz": 80, "streams": 2, "guard_interval_ns": 800}
    assert re.search(r"^mcs_down = 9 +# read: station.txt:12, tx bitrate$", made, re.MULTILINE)
    assert re.search(r"^mcs = 11 +# assumed: as in the other direction$", made, re.MULTILINE)
    assert re.search(r"^profile = .* # unknown: ", made, re.MULTILINE)
    assert re.search(r"^# stations.mcs_down +read +2 +tx bitrate$", made, re.MULTILINE)
    assert Scenario.from_settings(found).plan()


@pytest.mark.parametrize("name", ["hwsim-station.txt", "hwsim-station-v.txt"])
def test_a_dump_of_the_kernel_gives_its_stations(name: str) -> None:
    """Three stations of mac80211_hwsim in user-mode Linux 6.12, HT MCS 7, 20 TCP flows; iw 5.19. The last received frame was a response."""
    found, made = scenario_of(name, "hwsim-info.txt")
    assert found["phy"] == {"name": "802.11n", "band_ghz": 5, "width_mhz": 20, "streams": 1, "guard_interval_ns": 800}
    assert [(each["mcs"], each["mcs_down"]) for each in found["stations"]] == [(7, 7)] * 3
    assert [flow["direction"] for flow in found["flows"]] == ["down", "up"] * 3
    assert {flow["application"] for flow in found["flows"]} == {"bulk"}
    assert "current time - associated at 3.136 s" in made


def test_addresses_are_hashed_with_a_key_of_the_run() -> None:
    texts = [scenario_of("station.txt")[1] for _ in range(2)]
    shown = [re.findall(r"^\[\[stations\]\]  # (\w{8}),", made, re.MULTILINE) for made in texts]
    assert len(shown[0]) == len(set(shown[0])) == 2
    assert not set(shown[0]) & set(shown[1])
    assert "02:00" not in texts[0]
    assert "# 02:00:00:00:01:00," in scenario_of("station.txt", names=Names(keep=True))[1]


def test_the_scenario_does_not_depend_on_the_key() -> None:
    first, second = (scenario_of("station.txt", "survey.txt")[0] for _ in range(2))
    assert first == second


def test_two_dumps_give_what_was_counted_between_them(tmp_path: Path) -> None:
    later = {name: str(2 * int(told.split()[0])) + told[len(told.split()[0]) :] for name, told in BUSY.items()}
    once = imported_text(tmp_path, station(1, **BUSY))
    both = imported_text(tmp_path, station(1, **BUSY), station(1, **later))
    assert both == {**once, "title": both["title"]}


def test_what_was_read_of_a_key_has_one_row(tmp_path: Path) -> None:
    """Directions of flows are read from two fields."""
    up = {"rx_bytes": "912000000", "rx_packets": "601000", "tx_bytes": "34120000", "tx_packets": "610000"}
    (tmp_path / "dump.txt").write_text(station(1, **BUSY) + station(2, **BUSY | up))
    rows = [row for row in summary(imported([tmp_path / "dump.txt"])) if row[0] == "flows.direction"]
    assert rows == [("flows.direction", "read", "2", "tx bytes; rx bytes")]


def test_a_folder_is_its_files_in_the_order_of_their_names(here: Cli, tmp_path: Path) -> None:
    monday = tmp_path / "monday"
    monday.mkdir()
    for name, told in (("b.txt", SURVEY.replace("TIME", "120")), ("a.txt", station(1, **BUSY)), (".hidden", "?")):
        (monday / name).write_text(told)
    names = Names(keep=True)
    assert text(imported([monday], names=names)) == text(
        imported([monday / "a.txt", monday / "b.txt"], "monday", names)
    )
    done = here("import", monday)
    assert done.returncode == 0, done.stderr
    assert "# Imported from a.txt, b.txt." in done.stdout
    done = here("import", tmp_path)
    assert done.returncode == 2
    assert "has folders (monday); allowed here: files, or a folder with the files of one network." in done.stderr
    (tmp_path / "empty").mkdir()
    assert "empty: is empty; allowed here: a folder with" in here("import", tmp_path / "empty").stderr


def test_a_dump_that_is_cut_within_its_last_station_is_named(tmp_path: Path) -> None:
    """At the end of a line, so that every line is right."""
    whole = station(1, **BUSY) + station(2, **BUSY)
    for lines, lacking in ((0, ""), (1, "connected time"), (3, "tx bytes, tx packets, connected time")):
        dump = tmp_path / "dump.txt"
        dump.write_text("".join(whole.splitlines(keepends=True)[: -lines or None]))
        told = observe([dump]).remarks
        assert bool(told) is bool(lacking)
        if told:
            assert told[0].startswith(f"dump.txt:7: the last station has no {lacking}, which all others have: the dump")
    dump.write_text(station(1, **BUSY) + station(2, **{k: v for k, v in BUSY.items() if k != "rx_bytes"}))
    assert not observe([dump]).remarks  # a field in the middle that a driver does not count


def test_after_a_new_association_the_later_dump_counts_alone(tmp_path: Path) -> None:
    many = BUSY | {"rx_packets": "900000000"}
    assert imported_text(tmp_path, station(1, **many), station(1, **BUSY)) == imported_text(
        tmp_path, station(1, **BUSY)
    )


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 0)])
def test_a_later_dump_that_counts_alone_is_named(order: tuple[int, int], tmp_path: Path) -> None:
    """In the wrong order, or twice the same time, as two measurements of a minute each have."""
    told = station(1, **BUSY), station(1, **{name: f"9{rest}" for name, rest in BUSY.items()})
    dumps = [told[number] for number in order]
    active = [SURVEY.replace("TIME", f"{number + 1}") for number in order]
    paths = [tmp_path / name for name in ("a.txt", "b.txt", "c.txt", "d.txt")]
    for path, content in zip(paths, [dumps[0], active[0], dumps[1], active[1]], strict=True):
        path.write_text(content)
    found = observe(paths)
    if order == (0, 1):
        assert not found.remarks
        return
    [remark] = found.remarks
    assert remark.startswith("c.txt:1, d.txt:3: counts alone and does not continue an earlier file")
    assert found.survey == observe([paths[3]]).survey


def test_a_rate_before_80211n_of_a_management_frame_is_left_out(tmp_path: Path) -> None:
    rates = {"tx_bitrate": "300.0 MBit/s MCS 15 40MHz short GI", "rx_bitrate": "6.0 MBit/s"}
    [only] = imported_text(tmp_path, station(1, **BUSY, **rates))["stations"]
    assert (only["mcs"], only["mcs_down"]) == (15, 15)


def test_an_older_station_is_one_of_its_phy(tmp_path: Path) -> None:
    old = {"tx_bitrate": "54.0 MBit/s", "rx_bitrate": "48.0 MBit/s"}
    new = {"tx_bitrate": "866.7 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 2"}
    found = imported_text(tmp_path, station(1, **BUSY, **old) + station(2, **BUSY, **new))
    assert (found["stations"][0]["phy"], found["stations"][0]["rate_mbps"]) == ("802.11a", 48)
    assert found["stations"][0]["rate_down_mbps"] == 54
    assert found["ap"]["hardware"] == "ideal"
    Scenario.from_settings(found)


def test_an_mcs_that_80211ac_does_not_have_becomes_the_next_lower_one(tmp_path: Path) -> None:
    [only] = imported_text(tmp_path, station(1, **BUSY, tx_bitrate="86.7 MBit/s VHT-MCS 9 short GI VHT-NSS 1"))[
        "stations"
    ]
    assert only["mcs"] == 8


def test_vht_at_24_ghz_becomes_ht(tmp_path: Path) -> None:
    rate = "86.7 MBit/s VHT-MCS 8 short GI VHT-NSS 1"
    survey = "Survey data from wlan0\n\tfrequency:\t\t\t2437 MHz [in use]\n"
    found = imported_text(tmp_path, station(1, **BUSY, tx_bitrate=rate), survey)
    assert (found["phy"]["name"], found["phy"]["band_ghz"], found["stations"][0]["mcs"]) == ("802.11n", 2.4, 7)


def test_the_band_follows_from_the_frequency(tmp_path: Path) -> None:
    for mhz, band in ((2412, 2.4), (5180, 5), (5885, 5), (5955, 6)):
        survey = f"Survey data from wlan0\n\tfrequency:\t\t\t{mhz} MHz [in use]\n"
        rate = "143.4 MBit/s HE-MCS 11 HE-NSS 1 HE-GI 0 HE-DCM 0"
        assert imported_text(tmp_path, station(1, **BUSY, tx_bitrate=rate), survey)["phy"]["band_ghz"] == band


def test_a_configuration_of_hostapd_gives_phy_band_and_width() -> None:
    seen = observe([DATA / "hostapd.txt"])
    assert (value(seen.generation), value(seen.band_ghz), value(seen.frequency_mhz)) == ("802.11ax", 5, 5180)
    assert value(seen.width_mhz) == 80


HOSTAPD = [
    ("hw_mode=g\nchannel=11\nieee80211n=1\nht_capab=[HT40-]\n", ("802.11n", 2.4, 2462, 40)),
    ("hw_mode=g\nchannel=14\n", ("802.11g", 2.4, 2484, None)),
    ("hw_mode=a\nchannel=0\nieee80211ac=1\nvht_oper_chwidth=2\n", ("802.11ac", 5, None, 160)),
    ("hw_mode=a\nop_class=134\nchannel=1\nieee80211be=1\neht_oper_chwidth=9\n", ("802.11be", 6, 5955, 320)),
    ("hw_mode=a\nchannel=36\nieee80211ac=0\n", ("802.11a", 5, 5180, None)),
]


@pytest.mark.parametrize(("content", "found"), HOSTAPD)
def test_band_channel_and_width_of_hostapd(content: str, found: tuple[Any, ...], tmp_path: Path) -> None:
    (tmp_path / "x").write_text(content)
    seen = observe([tmp_path / "x"])
    assert tuple(map(value, (seen.generation, seen.band_ghz, seen.frequency_mhz, seen.width_mhz))) == found


def value(found: Any) -> Any:
    """The value without its origin."""
    return found and found.value


def test_of_two_radios_of_openwrt_the_one_in_the_band_of_the_survey_counts() -> None:
    seen = observe([DATA / "survey.txt", DATA / "uci.txt"])
    assert (value(seen.generation), value(seen.band_ghz), value(seen.width_mhz)) == ("802.11ax", 5, 80)
    with pytest.raises(InputError, match="2 radios could be meant"):
        observe([DATA / "uci.txt"])


def test_the_newest_phy_is_that_of_the_configuration_unless_a_station_has_a_newer_one(tmp_path: Path) -> None:
    old = station(1, **BUSY, tx_bitrate="65.0 MBit/s MCS 7")
    assert imported_text(tmp_path, old, (DATA / "hostapd.txt").read_text())["phy"]["name"] == "802.11ax"
    newer = station(1, **BUSY, tx_bitrate="172.1 MBit/s EHT-MCS 13 EHT-NSS 1 EHT-GI 0")
    assert imported_text(tmp_path, newer, (DATA / "hostapd.txt").read_text())["phy"]["name"] == "802.11be"


@pytest.mark.parametrize("name", ["hwsim-txq.txt", "hwsim-aqm.txt"])
def test_the_kernel_shows_its_queues_and_their_limit(name: str) -> None:
    found, _ = scenario_of("station.txt", name)
    assert (found["ap"]["scheme"], found["ap"]["limit_packets"]) == ("mac80211", 8192)
    Scenario.from_settings(found)


def test_clients_of_openwrt_are_stations() -> None:
    found, _ = scenario_of("ubus.txt", "hostapd.txt")
    rates = [(each["mcs"], each["mcs_down"]) for each in found["stations"]]
    assert rates == [(7, 8), (0, 3)]
    assert [(flow["direction"], flow["application"]) for flow in found["flows"]] == [("down", "bulk"), ("up", "bulk")]


def test_a_dump_with_a_time_counts_before_one_without() -> None:
    alone = scenario_of("station.txt")[0]
    for names in (("ubus.txt", "station.txt"), ("station.txt", "ubus.txt")):
        assert [flow["name"] for flow in scenario_of(*names)[0]["flows"]] == [flow["name"] for flow in alone["flows"]]


def test_a_list_of_stations_gives_their_links_and_traffic() -> None:
    found, made = scenario_of("stations.csv")
    assert [(flow["station"], flow["direction"]) for flow in found["flows"]] == [
        *(("station-1", "down"), ("station-1", "up"), ("station-2", "down"), ("station-3", "up"), ("station-4", "down"))
    ]
    assert "[[stations]]  # camera\n" in made
    Scenario.from_settings(found)


def test_a_file_of_flent_gives_its_test() -> None:
    found, _ = scenario_of("rrul.flent.gz")
    marks = [flow["tcp"]["dscp"] if "tcp" in flow else 0 for flow in found["flows"] if "application" not in flow]
    assert sorted(marks) == [0, 0, 8, 8, 40, 40, 46, 46]
    assert [flow["direction"] for flow in found["flows"][:8]] == ["up"] * 4 + ["down"] * 4
    assert found["run"]["duration_s"] == 10
    Scenario.from_settings(found)


def test_flent_adds_flows_to_the_only_station_of_a_dump(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text(station(1, tx_bitrate="65.0 MBit/s MCS 7"))
    found = imported([tmp_path / "s.txt", DATA / "rrul.flent.gz"]).settings()
    assert [each["mcs"] for each in found["stations"]] == [7]
    assert len(found["flows"]) == 12
    with pytest.raises(InputError, match="which of 3 stations has the flows of flent"):
        imported([DATA / "station.txt", DATA / "rrul.flent.gz"])


# Rules.

APPLICATIONS = ROOT / "crates" / "wifair-sim" / "src" / "application"
# Files of that folder that are no application.
NO_APPLICATIONS = ("contract", "datagrams", "mod")


def test_acks_of_a_download_are_no_flow() -> None:
    both = counters(elapsed_s=10, down_bytes=15_340_000, down_packets=10_000, up_bytes=430_000, up_packets=5_000)
    assert [load.direction for load in loads.of_station(Station("a", "", dumps=(both,)))] == ["down"]


def test_the_rate_of_payload_is_without_headers() -> None:
    one = counters(elapsed_s=10, down_bytes=10_000 * (1500 + 34), down_packets=10_000)
    [load] = loads.of_station(Station("a", "", dumps=(one,)))
    assert load.mbps == pytest.approx(10_000 * 1448 * 8 / 1e6 / 10)


def test_a_call_is_datagrams_both_ways() -> None:
    size = 200 + 34
    call = counters(elapsed_s=10, down_bytes=500 * size, down_packets=500, up_bytes=490 * size, up_packets=490)
    found = loads.of_station(Station("a", "", dumps=(call,)))
    assert [load.is_call for load in found] == [True, True]
    flow, _ = loads.flow(found[0], 100, 2, False, 0.03)
    assert flow["application"] == {"name": "udp", "rate_mbps": 0.0688, "payload_bytes": 172}


@pytest.mark.parametrize(
    ("size", "ratio", "packets", "is_call"),
    [
        (950, 1.0, 1_000, True),
        (950, 1.25, 1_000, True),
        (950, 1.5, 1_000, False),  # a camera that sends more than it receives
        (1_300, 1.0, 1_000, False),  # data of TCP both ways, with an ACK for some segments
        (950, 1.0, 10_000, False),  # faster than pictures are
    ],
)
def test_a_call_with_a_picture_is_datagrams_both_ways(size: int, ratio: float, packets: int, is_call: bool) -> None:
    frame = size + 34
    up = round(packets * ratio)
    both = counters(elapsed_s=10, down_bytes=packets * frame, down_packets=packets, up_bytes=up * frame, up_packets=up)
    found = loads.of_station(Station("a", "", dumps=(both,)))
    assert [load.is_call for load in found] == [is_call, is_call]
    timeless = loads.of_station(Station("a", "", dumps=(replace(both, elapsed_s=None),)))
    assert not any(load.is_call for load in timeless), "no time was read, so the rate is unknown"
    if is_call:
        flow, rule = loads.flow(found[0], 100, 2, True, 0.03)
        assert (flow["application"]["name"], flow["application"]["payload_bytes"], rule) == (
            "udp",
            size - 28,
            loads.PICTURE,
        )


def test_of_many_dumps_what_was_counted_between_the_first_and_the_last_is_the_traffic(tmp_path: Path) -> None:
    """A minute of a download after hours without one; of dumps after a new association those before it do not count."""
    fields = {"tx_bitrate": "130.0 MBit/s MCS 15", "rx_bitrate": "130.0 MBit/s MCS 15"}

    def dump(at_s: int, packets: int) -> Path:
        path = tmp_path / f"{at_s:05}-{packets}.txt"
        counted = {"rx_bytes": "8600", "rx_packets": "100", "tx_bytes": f"{1534 * packets}", "tx_packets": f"{packets}"}
        path.write_text(station(1, **counted, **fields, connected_time=f"{at_s} seconds"))
        return path

    dumps = [dump(20_000 + i * 20, i * 20_000) for i in range(4)]
    for paths in (dumps, dumps[1:], dumps[::3], [dump(20_100, 90_000), *dumps]):
        [each] = observe(paths).stations.values()
        elapsed_s = each.counters.elapsed_s
        assert elapsed_s is not None
        assert elapsed_s.value == 20 * (3 if paths != dumps[1:] else 2)
        [load] = loads.of_station(each)
        assert load.mbps == pytest.approx(1_000 * 1448 * 8 / 1e6)


def test_of_many_surveys_the_first_and_the_last_count(tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.txt" for number in range(3)]
    for number, path in enumerate(paths):
        active_ms, busy_ms = 500_000 + 20_000 * number, 10_000 + 16_000 * number
        path.write_text(
            f"Survey data from wlan0\n\tfrequency:\t5180 MHz [in use]\n\tchannel active time:\t{active_ms} ms\n\tchannel busy time:\t{busy_ms} ms\n"
        )
    for seen, runs in ((paths, 2), (paths[1:], 1)):
        survey = observe(seen).survey
        assert survey is not None
        assert survey.active_ms is not None
        assert survey.busy_ms is not None
        assert (survey.active_ms.value, survey.busy_ms.value) == (20_000 * runs, 16_000 * runs)


@pytest.mark.parametrize(
    "name", [path.stem for path in sorted(APPLICATIONS.glob("*.rs")) if path.stem not in NO_APPLICATIONS]
)
def test_applications_without_tcp_are_those_that_refuse_its_keys(name: str) -> None:
    settings = {"tcp": {"profile": "today"}, "flows": [{"direction": "down", "application": name}]}
    if name not in DATAGRAMS:
        Scenario.from_settings(settings)
        return
    with pytest.raises(InputError, match="no flow is carried by TCP"):
        Scenario.from_settings(settings)


def test_a_network_of_calls_alone_is_a_scenario(tmp_path: Path) -> None:
    """It has no hosts with TCP, whose keys would have no effect."""
    call = {"rx_bytes": "1170000", "rx_packets": "5000", "tx_bytes": "1170000", "tx_packets": "5000"}
    found = imported_text(tmp_path, station(1, **call, connected_time="100 seconds"))
    assert "tcp" not in found
    assert [flow["application"]["name"] for flow in found["flows"]] == ["udp", "udp"]


@pytest.mark.parametrize(("mbps", "cycle_s"), [(0.05, 5.0), (0.5, 5.0), (5.0, 5.0), (5.0, 20.0), (5.0, 1.0)])
def test_documents_carry_the_mean_rate_that_was_read(mbps: float, cycle_s: float) -> None:
    application = loads.web(mbps, 150.0, 0.03, cycle_s)
    flow = {"name": "a", "direction": "down", "one_way_delay_ms": 15, "application": application}
    scenario = Scenario(
        run={"warmup_s": 10, "duration_s": 600, "record_transfers": False},
        phy={"name": "802.11ax"},
        wire={"rate_mbps": 500},
        tcp={"profile": "today"},
        flows=[flow],
    )
    found = scenario.run(seeds=20).flows["goodput_mbps"]
    standard_error = float(found.std() or 0) / 20**0.5  # type: ignore[arg-type]
    assert abs(float(found.mean() or 0) / mbps - 1) < 0.05 + 3 * standard_error / mbps  # type: ignore[arg-type]


def test_time_that_nobody_here_uses_becomes_a_neighbour(tmp_path: Path) -> None:
    survey = (
        "\tchannel active time:\t\t100000 ms\n\tchannel busy time:\t\t50000 ms\n\tchannel transmit time:\t\t20000 ms\n"
    )
    head = "Survey data from wlan0\n\tfrequency:\t\t\t5180 MHz [in use]\n"
    rate = "65.0 MBit/s MCS 7"
    found = imported_text(tmp_path, station(1, **BUSY, tx_bitrate=rate), head + survey)
    results = Scenario.from_settings(found | {"run": {"warmup_s": 1, "duration_s": 20}}).run(seeds=4)
    own = results.stations.filter(station="neighbours", direction="up")["airtime_share"].to_list()
    # MPDUs that wait share a PPDU, which takes less than the airtime of each alone.
    assert 0.15 < sum(own) / 4 < 0.31


# Errors.

WRONG = [
    ("Station zz (on wlan0)\n", ":1: Station: 'zz' is not allowed; allowed here: a MAC address"),
    (station(1, tx_bytes="-4"), ":2: tx bytes: '-4' is not allowed; allowed here: a whole number"),
    (station(1, tx_duration="4"), ":2: tx duration: '4' is not allowed; allowed here: a whole number and us"),
    (station(1, tx_bitrate="fast"), ":2: tx bitrate: 'fast' is not allowed; allowed here: such as 866.7 MBit/s"),
    (station(1, signal="loud dBm"), ":2: signal: 'loud' is not allowed; allowed here: a number from -128 to 127 dBm"),
    (station(1) + station(2).replace("wlan0", "wlan1"), "device: 'wlan1' is not allowed; allowed here: wlan0"),
    (station(1, tx_bitrate="65.0 MBit/s MCS 7"), "no station sends or receives"),
    ("Survey data from wlan0\n\tfrequency:\t5180 MHz\n", "no channel is marked"),
    (
        "".join(f"Survey data from wlan{number}\n\tfrequency:\t5180 MHz [in use]\n" for number in (0, 1)),
        ":4: frequency: '5180 MHz .in use.' is not allowed; allowed here: channels in use of one device",
    ),
    ("Survey data from wlan0\n\tfrequency:\tmuch\n", ":2: frequency: 'much' is not allowed"),
    ("Interface wlan0\n\tchannel 36\n", ":2: channel: 'channel 36' is not allowed"),
    ("hw_mode=x\n", ":1: hw_mode: 'x' is not allowed; allowed here: a, g, b"),
    ("hw_mode=a\nchannel=999\n", ":2: channel: '999' is not allowed; allowed here: 1 to 177 at 5 GHz, 0 or auto"),
    ("hw_mode=a\nieee80211n=yes\n", ":2: ieee80211n: 'yes' is not allowed; allowed here: 0 or 1"),
    ("config wifi-device a\n option band 7g\n", ":2: band: '7g' is not allowed; allowed here: 2g, 5g, 6g"),
    ("config wifi-device a\n option htmode HE7\n", ":2: htmode: 'HE7' is not allowed"),
    ("config wifi-device 'a\n", ":1: line: .* is not allowed; allowed here: words of UCI"),
    ("Packet limit:\t\tx pkts\n", ":1: Packet limit: 'x' is not allowed; allowed here: a whole number"),
    ("access name value\n", "has no limit"),
    ('{"freq": 5180}', "clients: has no station"),
    ('{"freq": "x", "clients": {"a": 1}}', "freq: 'x' is not allowed; allowed here: a whole number from 1000 to 10000"),
    ('{"freq": 5180, "clients": {"a": 1}}', "clients: 'a' is not allowed; allowed here: a MAC address"),
    ("name,rate\nx,1\n", ":1: column: 'rate' is not allowed; allowed here: .*; did you mean rate_mbps?"),
    (
        "name,rate_mbps\nx,fast\n",
        ":2: rate_mbps: 'fast' is not allowed; allowed here: a number from 0.1 to 100000 Mbps",
    ),
    ("name,traffic\nx,downlod\n", ":2: traffic: 'downlod' is not allowed; allowed here: .*did you mean download?"),
    ("name,traffic\nx,web\nx,web\n", ":3: name: 'x' is not allowed"),
    ("name,traffic\nx\n", ":2: row: 'x' is not allowed; allowed here: 2 cells"),
    ('name,traffic\n"x\n', "is no line of CSV"),
    ("hello\n", "its beginning is that of no known file; allowed here: iw station dump, iw survey dump"),
    ("", "its beginning is that of no known file"),
]


@pytest.mark.parametrize(("content", "message"), WRONG)
def test_an_error_names_line_field_value_and_what_is_allowed(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.sub(r"([?()])", r"\\\1", message)):
        imported_text(tmp_path, content)


def packed(document: Any) -> bytes:
    return gzip.compress(json.dumps(document).encode(), mtime=0)


WRONG_FLENT = [
    (b"\x1f\x8b nothing", "cannot be unpacked"),
    (gzip.compress(b"[", mtime=0), "is no JSON"),
    (gzip.compress(b"[" * 100_000, mtime=0), "is no JSON"),
    (packed([]), "is no table of JSON"),
    (packed({}), "metadata, results: are no tables"),
    (packed({"metadata": {"LENGTH": "long"}, "results": {}}), "metadata.LENGTH: 'long' is not allowed"),
    (packed({"metadata": {"LENGTH": 60}, "results": {"x": []}}), "has no series"),
    (packed({"metadata": {"LENGTH": 60}, "results": {"TCP upload": 4}}), "results.TCP upload: '4' is not allowed"),
]


@pytest.mark.parametrize(("content", "message"), WRONG_FLENT)
def test_an_error_in_a_file_of_flent_names_the_field(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.flent.gz").write_bytes(content)
    with pytest.raises(InputError, match=message):
        imported([tmp_path / "x.flent.gz"])


@pytest.mark.whole
def test_a_file_that_unpacks_to_gigabytes_is_refused_without_its_memory(tmp_path: Path) -> None:
    stream = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)  # of gzip
    head, more = (stream.compress(bytes(2**20)) + stream.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    (tmp_path / "x.flent.gz").write_bytes(head + 1023 * more)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match="has more than 24 MB unpacked"):
        imported([tmp_path / "x.flent.gz"])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000  # KiB


# Damaged input.

UNPACKED: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress}
PACKED: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress}


@pytest.mark.whole
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_damaged_file_gives_a_scenario_or_an_error_that_names_it(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulated_once(monkeypatch)
    whole = path.read_bytes()
    inner = UNPACKED.get(path.suffix, bytes)(whole)
    others = [DATA / "station.txt"] if "station" not in path.stem and path.suffix in (".txt", ".json") else []
    accepted = 0
    for seed in range(DAMAGED):
        content = (
            PACKED[path.suffix](damaged(inner, seed)) if path.suffix in PACKED and seed % 3 else damaged(whole, seed)
        )
        accepted += check_damaged(new_file(tmp_path / path.name, content), *others)
    assert accepted > 0
    assert accepted < DAMAGED
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2**20  # KiB


@pytest.mark.whole
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)),
    head=st.sampled_from([b"", b"Station ", b"name,", b"Survey data from ", b"\x1f\x8b"]),
)
def test_any_bytes_give_an_error_or_a_scenario(content: bytes, head: bytes, tmp_path: Path) -> None:
    check_damaged(new_file(tmp_path / "x", head + content))


def test_what_is_known_besides_is_given(here: Cli) -> None:
    files = [str(DATA / name) for name in ("station.txt", "survey.txt")]
    told = ["--set", "ap.scheme={name='codel', target_ms=10}", "--set", "wire.rate_mbps=50"]
    printed = here("import", *files, *told)
    plan = Scenario.from_settings(tomllib.loads(printed.stdout)).plan()
    assert plan["bss"]["ap"]["tx_queue"]["scheme"]["target_ms"] == 10
    assert plan["wire"]["rate_mbps"] == 50
    assert [mark.path for mark in marks(printed.stdout) if mark.table in ("ap", "wire")] == [
        "ap.hardware",
        "wire.one_way_delay_ms",
    ]
    assert "rate_mbps = 50  # given: --set\n" in printed.stdout
    rows = [line.split()[1:3] for line in printed.stdout.splitlines() if line.startswith(("# ap.scheme ", "# wire.r"))]
    assert rows == [["ap.scheme", "given"], ["wire.rate_mbps", "given"]]
    for wrong, told_so in (
        ("stations[0].mcs=3", "'stations[0].mcs' is not allowed; allowed here: a key of a table that is no list"),
        ("wire.rate=3", "did you mean rate_mbps"),
    ):
        failed = here("import", *files, "--set", wrong)
        assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)
        assert told_so in failed.stderr


def test_packets_that_are_not_full_on_average_are_those_of_documents() -> None:
    """In a saturated cell, at a fifth of the fair part: 200 packets of a document are smaller on average than those of a bulk flow."""

    def counted(key: str, size: int, back: int) -> Station:
        down, up = 10_000, 5_000
        both = counters(
            elapsed_s=60, down_bytes=down * (size + 34), down_packets=down, up_bytes=up * (back + 34), up_packets=up
        )
        return Station(key, "", dumps=(both,))

    stations = [counted("bulk", 1500, 52), counted("pages", 1480, 52), counted("both", 1480, 1400)]
    found = [load for each in stations for load in loads.of_station(each)]
    full = loads.full_packets(found)
    assert full == {("bulk", "down"): True, ("pages", "down"): False}
    rules = {
        load.station: loads.flow(load, 40.0, 4, True, 0.03, full.get((load.station, load.direction)))[0]
        for load in found
        if load.direction == "down"
    }
    assert rules["bulk"] == rules["both"] == {"application": "bulk"}
    assert rules["pages"]["application"]["name"] == "web"


def test_an_empty_network_is_refused() -> None:
    with pytest.raises(InputError, match="no file has a station"):
        document(Observed(), "x")


def test_the_command_prints_the_scenario_or_json(here: Cli, tmp_path: Path) -> None:
    files = [str(DATA / name) for name in ("station.txt", "survey.txt")]
    printed = here("import", *files)
    assert Scenario.from_settings(tomllib.loads(printed.stdout))
    told = json.loads(here("import", *files, "--json").stdout)
    assert (
        Scenario.from_settings(told["scenario"]).plan() == Scenario.from_settings(tomllib.loads(printed.stdout)).plan()
    )
    assert {row["origin"] for row in told["values"]} == {"read", "assumed", "unknown"}
    out = tmp_path / "cafe.toml"
    written = here("import", *files, "--out", out)
    assert 'title = "cafe"' in out.read_text()
    measured = " ".join(f"--measured {file}" for file in files)
    assert written.stderr.endswith(f"now:\n  wifair explain {out} {measured}\n  wifair advise {out} {measured}\n")
    again = here("import", *files, "--out", out)
    assert again.returncode == 0, again.stderr  # the same but for the hashes of addresses
    edited = out.read_text().replace('scheme = "mac80211"', 'scheme = "droptail"')
    out.write_text(edited)
    refused = here("import", *files, "--out", out)
    assert (refused.returncode, out.read_text()) == (2, edited)
    assert f"--out {out}: is there with another text, and is not overwritten" in refused.stderr
    failed = here("import", files[0], "/nowhere/x.txt")
    assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)
