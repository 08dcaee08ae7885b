"""Captures in fields: tshark reads what a radio receives there, with its power and channel, and it agrees with the results."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from test_traces import BAD, GOOD, tshark
from wifair import Scenario, Traces
from wifair.errors import ScenarioError
from wifair.observed import observe

Table = dict[str, Any]


def field(name: str = "802.11ax", channels: tuple[Table, Table] = ({}, {}), **keys: Any) -> Scenario:
    """Two BSSs 20 m apart, whose datagrams and TCP meet on the air."""
    mine, other = channels
    udp = {"name": "udp", "rate_mbps": 20}
    tables: Table = {
        "run": {"warmup_s": 0, "duration_s": 2},
        "phy": {"name": name, "width_mhz": 80},
        "field": {},
        "mac": {"edca": {}, "rts_threshold_bytes": 2000, "beacons": {"interval_tu": 50}},
        "bss": [
            {"name": "mine", **mine},
            {"name": "other", "ap": {"position_m": [20, 0]}, "wire": {"one_way_delay_ms": 20}, **other},
        ],
        "station": {"mcs": 5},
        "stations": [
            {"name": "laptop", "position_m": [0, 5]},
            {"name": "phone", "position_m": [5, 0]},
            {"name": "theirs", "bss": "other", "position_m": [22, 3]},
        ],
        "flows": [
            {"name": "down", "station": "laptop", "direction": "down", "application": udp, "stop_s": 1.5},
            {"name": "up", "station": "phone", "direction": "up"},
            {"name": "their-down", "station": "theirs", "direction": "down"},
            {"name": "their-up", "station": "theirs", "direction": "up", "application": udp, "stop_s": 1.5},
        ],
    }
    return Scenario(**{**tables, **keys})


# In part on the same channels of 20 MHz.
OVERLAPPING: tuple[Table, Table] = ({"channel": 42, "primary": 36}, {"channel": 46, "width_mhz": 40, "primary": 44})
FIELDS = {
    "a": field("802.11a", phy={"name": "802.11a"}, station={"rate_mbps": 24.0}),
    "n": field("802.11n", phy={"name": "802.11n", "width_mhz": 40}),
    "ac": field("802.11ac", ({"channel": 42}, {"channel": 42, "primary": 48})),
    "ax": field(),
    "be, punctured": field("802.11be", OVERLAPPING, mac={"edca": {}, "width": "punctured"}),
    "one BSS": Scenario(
        run={"warmup_s": 0, "duration_s": 2},
        phy={"name": "802.11g"},
        field={"hidden": [["a", "b"]]},
        flows=[{"name": name, "station": name, "direction": "up"} for name in ("a", "b")],
        stations=[{"name": name, "position_m": [3, 0]} for name in ("a", "b")],
    ),
}
MINE, OTHER = "02:00:00:00:00:00", "02:00:00:00:00:01"
LAPTOP, PHONE, THEIRS = (f"02:00:0a:00:00:0{number}" for number in (1, 2, 3))


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("name", FIELDS)
def test_tshark_finds_nothing_wrong(name: str, tmp_path: Path) -> None:
    aps = [] if name == "one BSS" else ["other"]
    FIELDS[name].run([1], traces=Traces(tmp_path, servers=True, full_frames=True, aps=aps))
    captures = {path.stem: path for path in (tmp_path / "seed-1").glob("*.pcapng")}
    others = {"ap-other-air", "ap-other-wire"} if aps else set()
    assert set(captures) == {"ap-air", "ap-wire", "servers"} | others
    fcs, ip, tcp, damaged = "wlan.fcs.status", "ip.checksum.status", "tcp.checksum.status", "radiotap.flags.badfcs"
    signal, sender = "radiotap.dbm_antsignal", "wlan.ta"
    for stem, capture in captures.items():
        on_air = stem.endswith("air")
        packets = tshark(capture, "_ws.malformed", fcs, ip, tcp, damaged, signal, sender)
        assert len(packets) > 500
        assert not [
            packet for packet in packets if packet["_ws.malformed"] or BAD in (packet[fcs], packet[ip], packet[tcp])
        ]
        whole = [packet for packet in packets if packet[damaged] != "1"]
        assert {packet[fcs] for packet in whole} == ({GOOD} if on_air else {""})
        if on_air:
            # Each frame of another node has its power, and none of the radio's.
            own = OTHER if "other" in stem else MINE
            assert {packet[sender] for packet in packets if packet[sender] and not packet[signal]} == {own}
            assert own not in {packet[sender] for packet in packets if packet[signal]}
            assert all(-82 <= float(packet[signal]) <= -10 for packet in packets if packet[signal])


@pytest.mark.needs("tshark")
def test_a_capture_says_power_channel_and_width(tmp_path: Path) -> None:
    """20 MHz of 80 are busy where the other BSS has its primary channel, so the width changes from exchange to exchange."""
    scenario = field("802.11ax", OVERLAPPING, mac={"edca": {}, "width": "dynamic", "beacons": {"interval_tu": 50}})
    results = scenario.run([1], traces=Traces(tmp_path, stations=["laptop"], aps=["other"]))
    air, signal, mhz = tmp_path / "seed-1", "radiotap.dbm_antsignal", "radiotap.channel.freq"
    sender, kind = "wlan.ta", "wlan.fc.type_subtype"
    width, ssid, bssid = "radiotap.he.data_5.data_bw_ru_allocation", "wlan.ssid", "wlan.bssid"
    laptop = tshark(air / "station-laptop-air.pcapng", signal, mhz, sender, kind, width)
    assert {frame[mhz] for frame in laptop} == {"5180"}
    # By distance alone: the loss at 1 m, and 3.5 decades per factor of ten.
    channel = scenario.plan()["bss"]["channel"]
    loss_db = channel["reference_loss_db"] + 10 * channel["path_loss_exponent"] * math.log10(5)
    received = {float(frame[signal]) for frame in laptop if frame[sender] == MINE and int(frame[kind], 0) == 0x28}
    assert received == {round(channel["tx_power_dbm"] - loss_db)}
    widths = Counter(int(frame[width], 0) for frame in laptop if frame[sender] == MINE and frame[width])
    assert set(widths) == {1, 2}  # 40 MHz and 80
    theirs = tshark(air / "ap-other-air.pcapng", mhz, ssid, bssid, kind, sender, show="wlan.fc.type_subtype == 8")
    # The beacons of each access point are in its primary channel, where the other receives nothing.
    assert {(frame[mhz], frame[bssid], frame[sender]) for frame in theirs} == {("5220", OTHER, OTHER)}
    assert {frame[ssid] for frame in theirs} <= {"other", b"other".hex()}
    assert len(theirs) == results.bsss.filter(bss="other")["beacons"].item()


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("name", ["a", "n", "ac", "ax"])
def test_each_datagram_is_in_the_capture_of_its_receiver(name: str, tmp_path: Path) -> None:
    """Flows stop before the end. What the radio of the receiver decodes is what the host gets; and of what another node
    sends, no two frames overlap."""
    results = FIELDS[name].run([1], traces=Traces(tmp_path, stations=["laptop", "theirs"], aps=["other"]))
    datagrams = {row["label"]: row for row in results.datagrams.iter_rows(named=True)}
    air = tmp_path / "seed-1"
    for label, stem, sender in (
        ("down", "station-laptop-air", MINE),
        ("their-up", "ap-other-air", THEIRS),
    ):
        fields = "wlan.seq", "wlan.qos.tid", "radiotap.flags.badfcs"
        show = f"udp && wlan.ta == {sender} && radiotap.flags.badfcs == 0"
        received = tshark(air / f"{stem}.pcapng", *fields, "udp.checksum", "ip.id", show=show)
        again = tshark(air / f"{stem}.pcapng", "wlan.seq", show=show + " && wlan.fc.retry == 1")
        count = datagrams[label]["received_packets"]
        assert count > 1000
        assert count <= len(received) <= count + len(again)
        numbers = [int(frame["wlan.seq"]) for frame in received]
        assert len(set(numbers)) == min(count, 4096)


def test_only_what_a_radio_receives_is_there(tmp_path: Path) -> None:
    """Nobody receives the other BSS, so that the capture is the same whatever that sends."""
    far = {"bss[other].ap.position_m": [20_000, 0], "stations[theirs].position_m": [20_002, 3]}
    for name, more in (("busy", {}), ("silent", {"flows[their-down].start_s": 1.9, "flows[their-up].start_s": 1.4})):
        field().override({**far, **more}).run([1], traces=Traces(tmp_path / name))
    busy, silent = [(tmp_path / each / "seed-1" / "ap-air.pcapng").read_bytes() for each in ("busy", "silent")]
    assert busy == silent


def test_traces_of_a_field_change_nothing(tmp_path: Path) -> None:
    scenario = FIELDS["be, punctured"]
    traced = scenario.run([1], traces=Traces(tmp_path, tmp_path, ["laptop", "theirs"], True, True, ["other", "mine"]))
    for name, frame in scenario.run([1]).frames.items():
        assert frame.equals(traced.frames[name]), name


def test_refusals(here: Cli, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"there is no BSS 'othr'.*did you mean other\?"):
        FIELDS["ax"].run([1], traces=Traces(tmp_path, aps=["othr"]))
    with pytest.raises(ScenarioError, match=r"there is no station 'their'.*did you mean theirs\?"):
        FIELDS["ax"].run([1], traces=Traces(tmp_path, stations=["their"]))
    done = here("run", "neighbours", "--seeds", "1", "--pcap-ap", "left")
    assert (done.returncode, done.stdout) == (2, "")
    assert "need a folder for captures" in done.stderr


@pytest.mark.whole
def test_an_import_takes_the_network_of_the_radio(tmp_path: Path) -> None:
    """The other network has more frames, but those of one's own have no power."""
    few = {"flows[down].application.rate_mbps": 2, "flows[up].stop_s": 0.1}
    field().override(few).run([1], traces=Traces(tmp_path, aps=["other"], stations=["phone"]))
    for stem, stations in (
        ("ap-air", {LAPTOP, PHONE}),
        ("station-phone-air", {LAPTOP, PHONE}),
        ("ap-other-air", {THEIRS}),
    ):
        seen = observe([tmp_path / "seed-1" / f"{stem}.pcapng"])
        assert set(seen.stations) == stations
        [remark] = seen.remarks
        assert re.search(r"1 other networks on the channel are left out, which have \d+ of the \d+ data frames", remark)
        # 20 ms to the servers of the other network, and less to those of one's own.
        [wire] = [value.value for key, value in seen.keys.items() if key == "wire.one_way_delay_ms"] or [None]
        assert (wire is not None and wire > 19) == (stem == "ap-other-air")
