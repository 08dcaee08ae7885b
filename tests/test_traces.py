"""Traces agree with the results, and tshark reads them like captures of real networks."""

from __future__ import annotations

import operator
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT, Cli
from wifair import Scenario, Traces, WifairError, load

FLOWS: list[dict[str, Any]] = [
    {"count": 2, "direction": "up", "name": "up"},
    {"count": 3, "direction": "down", "name": "down"},
]
# A small buffer, a lossy wire, a slow and noisy station: everything that makes packets go twice.
SETTINGS: dict[str, Any] = {
    "run": {"warmup_s": 0, "duration_s": 20},
    "ap": {"scheme": "droptail", "limit_packets": 15},
    "wire": {"loss_rate": 0.004},
    "flows": FLOWS,
    "stations": [{"name": "far", "rate_mbps": 2.0, "frame_error_rate": {"data_up": 0.2, "ack_down": 0.1}}],
}


def cell(**more: Any) -> Scenario:
    flows = [*FLOWS, {"direction": "up", "name": "far-up", "station": "far"}]
    return Scenario(**{**SETTINGS, "flows": flows, **more})


def aggregating(name: str, mcs: int, aggregation: dict[str, Any], **phy: Any) -> Scenario:
    errors = {"data_up": 0.2, "data_down": 0.2, "ack_up": 0.1, "ack_down": 0.1}
    return cell(
        phy={"name": name, **phy},
        mac={"edca": {}, "aggregation": aggregation},
        ap={"scheme": "droptail", "limit_packets": 200},
        tcp={"receiver_window_segments": 300},
        stations=[{"name": "far", "mcs": mcs, "frame_error_rate": errors}],
    )


# A-MPDUs, with windows of all lengths of a bitmap.
AGGREGATES = {
    "n": aggregating("802.11n", 9, {"max_attempts": 2}, width_mhz=40, streams=2, guard_interval_ns=400),
    "ac": aggregating("802.11ac", 1, {"window": 40}),
    "ax": aggregating("802.11ax", 2, {"max_attempts": 3}),
    "be": aggregating("802.11be", 2, {"window": 500}, width_mhz=160),
    "n, A-MSDU": aggregating("802.11n", 9, {"max_amsdu_bytes": 4065}, width_mhz=40, streams=2),
    "ax, A-MSDU": aggregating("802.11ax", 2, {"max_amsdu_bytes": 11424, "max_attempts": 3}),
    "be, 1024": aggregating("802.11be", 2, {"max_attempts": 2}, width_mhz=320, band_ghz=6),
}

# Bytes of the Block Acks: 24 and a bitmap of 64 to 1,024 bits.
BLOCK_ACKS = {"n": 32, "n, A-MSDU": 32, "ac": 32, "ax": 56, "ax, A-MSDU": 56, "be": 88, "be, 1024": 152}
AP, FAR = "02:00:00:00:00:00", "02:00:0a:00:00:01"

# Every kind of header and frame that there is.
SCENARIOS = {
    "plain": cell(),
    "options": cell(
        tcp={"sack": {}, "ecn": True, "receiver_window_segments": 200, "congestion_control": {"name": "cubic"}},
        ap={"scheme": {"name": "red"}, "limit_packets": 60},
    ),
    "rts": cell(mac={"rts_threshold_bytes": 500}, tcp={"header_bytes": 52}),
    "edca": cell(mac={"edca": {"classify": "dscp"}}, tcp={"dscp": 46}),
    "g": cell(
        phy={"name": "802.11g", "erp_protection": "cts-to-self"},
        stations=[{"name": "far", "rate_mbps": 6.0, "frame_error_rate": {"data_up": 0.2}}],
    ),
    "datagrams": Scenario(
        **{
            **SETTINGS,
            "flows": [
                {"direction": "up", "application": {"name": "ping"}},
                {"direction": "down", "application": {"name": "voip"}},
                {"direction": "up", "application": {"name": "udp"}},
                {"direction": "down", "station": "far", "application": {"name": "web", "connections": 3}},
            ],
        }
    ),
    "one-way": cell(tcp={"handshake": "none", "mss_bytes": 536}),
    "beacons": cell(mac={"beacons": {"interval_tu": 50, "bytes": 600}}),
    **AGGREGATES,
}

CHECKED = [word for protocol in ("tcp", "ip", "udp", "wlan") for word in ("-o", f"{protocol}.check_checksum:TRUE")]
# tshark's status of a checksum.
GOOD, BAD = "Good", "Bad"


def tshark(capture: Path, *fields: str, show: str = "frame") -> list[dict[str, str]]:
    """What tshark says of each packet that `show` lets through.

    Fields are columns of its list of packets, with texts in quotes: with `-T fields` it builds whole trees, which takes twice as long.
    """
    columns = ",".join(f'"{number}","%Cus:{field}:0:U"' for number, field in enumerate(fields))
    shown = ["-o", f"gui.column.format:{columns}", "-T", "tabs", "-Y", show]
    command = ["tshark", "-n", "-r", str(capture), *CHECKED, *shown]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [dict(zip(fields, line.replace('"', "").split("\t"), strict=True)) for line in done.stdout.splitlines()]


@dataclass
class Ppdu:
    """The MPDUs of a PPDU in a capture, and what its response acknowledges of them."""

    sequences: list[int] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    retries: list[bool] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    last: list[bool | None] = field(default_factory=list)
    acknowledged: list[bool] = field(default_factory=list)
    block_acks: list[int] = field(default_factory=list)


def ppdus_on_air(capture: Path) -> tuple[dict[str, list[Ppdu]], list[int]]:
    """The PPDUs of a capture by transmitter, and the starting sequence numbers of the AP's Block Ack Requests."""
    kind, damaged, sender, retry = "wlan.fc.type_subtype", "radiotap.flags.badfcs", "wlan.ta", "wlan.fc.retry"
    reference, last = "radiotap.ampdu.reference", "radiotap.ampdu.flags.last"
    sequence, start, bitmap, rate = "wlan.seq", "wlan.fixed.ssc.sequence", "wlan.ba.bm", "wlan_radio.data_rate"
    head, length = "radiotap.length", "frame.len"
    fields = (kind, damaged, sender, retry, reference, last, sequence, start, bitmap, rate, head, length)
    ppdus: dict[str, list[Ppdu]] = {}
    requests: list[int] = []
    ppdu, before = Ppdu(), None
    for frame in tshark(capture, *fields):
        match int(frame[kind], 0):
            case 0x28:
                if not frame[reference] or frame[reference] != before:
                    ppdu = Ppdu()
                    ppdus.setdefault(frame[sender], []).append(ppdu)
                before = frame[reference]
                ppdu.sequences.append(int(frame[sequence]))
                ppdu.whole.append(frame[damaged] == "0")
                ppdu.retries.append(frame[retry] == "1")
                ppdu.last.append(frame[last] == "1" if frame[last] else None)
                ppdu.rates += [float(frame[rate])] if frame[rate] else []
            case 0x18:
                requests += [int(frame[start])] if frame[sender] == AP else []
                ppdu = Ppdu()
            case 0x1D:
                assert len(ppdu.sequences) == 1
                ppdu.acknowledged = [True]
            case 0x19 if frame[start]:
                ppdu.block_acks.append(int(frame[length]) - int(frame[head]))
                bits = int.from_bytes(bytes.fromhex(frame[bitmap]), "little")
                ppdu.acknowledged = [bool(bits >> (n - int(frame[start])) % 4096 & 1) for n in ppdu.sequences]
    return ppdus, requests


def events(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "seed-1" / "events" / "*.parquet")


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("name", SCENARIOS)
def test_tshark_finds_nothing_wrong(name: str, tmp_path: Path) -> None:
    scenario = SCENARIOS[name].override({"run.duration_s": 4})
    traces = Traces(tmp_path, full_frames=True)
    if name == "plain":
        traces = Traces(tmp_path, stations=["far", "up-1"], servers=True, full_frames=True)
    scenario.run([1], traces=traces)
    captures = {capture.stem: capture for capture in (tmp_path / "seed-1").glob("*.pcapng")}
    of_stations = {f"station-{label}-{side}" for label in ("far", "up-1") for side in ("air", "host")}
    assert set(captures) == {"ap-air", "ap-wire"} | (of_stations | {"servers"} if name == "plain" else set())
    ip, fcs, damaged = "ip.checksum.status", "wlan.fcs.status", "radiotap.flags.badfcs"
    transports = ["tcp.checksum.status"]
    if name == "datagrams":
        transports += ["udp.checksum.status", "icmp.checksum.status"]
    for stem, capture in captures.items():
        packets = tshark(capture, "_ws.malformed", ip, fcs, damaged, *transports)
        checked = (ip, fcs, *transports)
        assert not [packet for packet in packets if packet["_ws.malformed"] or BAD in (packet[key] for key in checked)]
        # Whatever could be checked was: all but what collided or was lost to noise, of which there is the MAC header alone.
        on_air = stem.endswith("air")
        whole = [packet for packet in packets if packet[damaged] != "1"]
        assert (len(whole) < len(packets)) == on_air
        assert {packet[fcs] for packet in whole} == ({GOOD} if on_air else {""})
        with_ip = [packet for packet in whole if packet[ip]]
        # A record of an A-MSDU has a status per packet.
        by_packet = [status for packet in with_ip for status in packet[ip].split(",")]
        assert set(by_packet) == {GOOD}
        found = Counter(key for packet in with_ip for key in transports for _ in packet[key].split(",") if packet[key])
        assert sum(found.values()) == len(by_packet)
        assert set(found) == set(transports)
        assert len(with_ip) > len(packets) / 4
        assert on_air or len(with_ip) == len(packets)


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("name", ["plain", "options", "one-way"])
def test_retransmissions_at_the_sender(name: str, tmp_path: Path) -> None:
    """tshark finds as many as the sender counts. It takes those that follow within 3 ms of a later segment for reordering."""
    flows = SCENARIOS[name].run([1], traces=Traces(tmp_path, stations=["far", "up-1"], servers=True)).flows
    again = "tcp.analysis.retransmission", "tcp.analysis.out_of_order"
    source, destination, quick = "tcp.srcport", "tcp.dstport", "tcp.analysis.fast_retransmission"
    found: dict[int, Counter[str]] = {}
    for stem in ("station-far-host", "station-up-1-host", "servers"):
        shown = f"({' || '.join(again)}) && tcp.len > 0"
        for packet in tshark(tmp_path / "seed-1" / f"{stem}.pcapng", source, destination, quick, show=shown):
            # The server's port, the lower one, names the flow.
            from_server = int(packet[source]) < int(packet[destination])
            if from_server == (stem == "servers"):
                port = int(packet[source if from_server else destination])
                found.setdefault(port, Counter()).update(all=1, fast=int(packet[quick] != ""))
    total = 0
    told = flows.select("label", "retransmissions", "fast_retransmits").iter_rows()
    for slot, (label, count, fast) in enumerate(told):
        if label == "up-2":
            continue  # its host is not captured
        seen = found.get(5001 + slot, Counter())
        assert seen["all"] == count, label
        # A fast retransmission by tshark's rule comes after two duplicate ACKs; by the sender's after three, or by its
        # scoreboard: nearly the same ones without selective ACKs.
        if name != "options":
            assert seen["fast"] == pytest.approx(fast, abs=0.1 * fast + 1), label
        total += count
    assert total > 50


@pytest.mark.needs("tshark")
def test_headers_say_what_was_agreed(tmp_path: Path) -> None:
    SCENARIOS["options"].run([1], traces=Traces(tmp_path, servers=True))
    ecn = "ip.dsfield.ecn"
    flags = "tcp.flags.syn", "tcp.flags.ece", "tcp.flags.cwr", "tcp.len", "tcp.window_size"
    mss, scale, permitted, blocks = (
        f"tcp.options.{name}" for name in ("mss_val", "wscale.shift", "sack_perm", "sack.count")
    )
    packets = tshark(tmp_path / "seed-1" / "servers.pcapng", ecn, *flags, mss, scale, permitted, blocks)
    opening = [packet for packet in packets if packet["tcp.flags.syn"] == "1"]
    # 200 segments of 1460 bytes need units of 8 bytes.
    assert {(packet[mss], packet[scale]) for packet in opening} == {("1460", "3")}
    assert all(packet[permitted] for packet in opening)
    later = [packet for packet in packets if packet["tcp.flags.syn"] == "0"]
    assert {packet["tcp.window_size"] for packet in later} == {"292000"}
    assert any(packet[blocks] for packet in later)
    data = [packet for packet in later if packet["tcp.len"] != "0"]
    # What is sent again is not ECN-capable; the AP has marked some of the rest on its way up.
    assert {"0", "2"} <= {packet[ecn] for packet in data}
    assert any(packet["tcp.flags.ece"] == "1" for packet in later)
    assert any(packet["tcp.flags.cwr"] == "1" for packet in data)
    # Downlink data gets its marks between the wire and the air.
    shown = f"{ecn} == 3 && ip.src == 172.16.0.1"
    marked = {stem: tshark(tmp_path / "seed-1" / f"{stem}.pcapng", ecn, show=shown) for stem in ("ap-air", "ap-wire")}
    assert marked["ap-air"]
    assert not marked["ap-wire"]


BEACONS = [
    ({"name": "802.11b"}, 70, [2, 4, 11, 22], 1.0),
    ({"name": "802.11g"}, 313, [12, 18, 24, 36, 48, 72, 96, 108], 6.0),
    ({"name": "802.11g", "erp_protection": "cts-to-self"}, 317, [2, 4, 11, 22], 1.0),
    ({"name": "802.11ax"}, 2332, [12, 18, 24, 36, 48, 72, 96, 108], 6.0),
    ({"name": "802.11ax", "band_ghz": 2.4}, 300, [2, 4, 11, 22], 1.0),
]


@pytest.mark.needs("tshark")
@pytest.mark.parametrize(("phy", "length", "rates", "mbps"), BEACONS)
def test_tshark_dissects_beacons(
    phy: dict[str, Any], length: int, rates: list[int], mbps: float, tmp_path: Path
) -> None:
    mac = {"beacons": {"interval_tu": 20, "bytes": length, "rate_mbps": mbps}}
    scenario = Scenario(**{**SETTINGS, "phy": phy, "mac": mac, "stations": [], "run": {"warmup_s": 0, "duration_s": 3}})
    results = scenario.run([1], traces=Traces(tmp_path, tmp_path))
    run = results.runs.row(0, named=True)
    assert run["beacons"] == 3_000_000 // 20_480
    log = events(tmp_path).filter(event="beacon")
    assert log.height == run["beacons"]
    assert log.filter(detail="collided").height == run["beacons_collided"]
    assert set(log["node"]) == {"ap"}
    assert log.filter(detail="sent")["airtime_ns"].sum() == pytest.approx(3e9 * run["beacon_share"])

    bssid, sequence, rate, head = "wlan.bssid", "wlan.seq", "radiotap.datarate", "radiotap.length"
    fields = ("wlan.da", "wlan.ta", bssid, sequence, rate, head, "frame.len", "radiotap.mactime", "_ws.malformed")
    fixed = ("wlan.fixed.timestamp", "wlan.fixed.beacon", "wlan.ssid", "wlan.supported_rates", "wlan.duration")
    beacons = tshark(tmp_path / "seed-1" / "ap-air.pcapng", *fields, *fixed, show="wlan.fc.type_subtype == 8")
    assert len(beacons) == log.height
    for beacon in beacons:
        assert (beacon["wlan.da"], beacon["wlan.ta"], beacon[bssid]) == ("ff:ff:ff:ff:ff:ff", AP, AP)
        assert beacon["_ws.malformed"] == ""
        assert beacon["wlan.duration"] == "0"
        assert int(beacon["frame.len"]) - int(beacon[head]) == length
        assert float(beacon[rate]) == mbps
        assert beacon["wlan.ssid"] in ("wifair", b"wifair".hex())
        assert float(beacon["wlan.fixed.beacon"]) in (20.0, 0.02048)
        assert [int(value, 0) & 0x7F for value in beacon["wlan.supported_rates"].split(",")] == rates
        # 24 bytes of MAC header precede it.
        timestamp = int(beacon["wlan.fixed.timestamp"]) - int(beacon["radiotap.mactime"])
        assert timestamp == pytest.approx(8 * 24 / mbps, abs=1)
    assert len({beacon[sequence] for beacon in beacons}) == log.height


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("name", ["rts", "edca", "g"])
def test_the_air_is_the_events(name: str, tmp_path: Path) -> None:
    """Frames at the AP's radio against the log of events: each kind as often as it must be."""
    scenario = SCENARIOS[name].override({"run.duration_s": 5})
    scenario.run([1], traces=Traces(tmp_path, tmp_path, stations=["far"]))
    log = events(tmp_path).filter(event="exchange")
    kind, damaged = "wlan.fc.type_subtype", "radiotap.flags.badfcs"
    air = tshark(tmp_path / "seed-1" / "ap-air.pcapng", kind, damaged, "wlan.duration", "wlan.qos.tid")
    kinds = Counter((int(frame[kind], 0), frame[damaged] == "1") for frame in air)
    alone = log.filter(pl.col("detail") != "collided")
    rts, cts, ack, data = 0x1B, 0x1C, 0x1D, 0x28 if name == "edca" else 0x20
    # What collides while the AP transmits itself, it cannot hear; of its own frames it knows all.
    transmits = log.filter(detail="collided").group_by("time_ns").agg(ap=(pl.col("node") == "ap").any(), n=pl.len())
    heard = int(transmits.filter(~pl.col("ap"))["n"].sum())
    own = transmits.filter("ap").height
    noise = log.filter((pl.col("detail") == "data-lost") & (pl.col("node") != "ap")).height
    acked = log.filter(detail="acknowledged").height + log.filter(detail="ack-lost").height
    bad_acks = log.filter(detail="ack-lost", node="ap").height
    if name == "rts":
        long = alone.filter(pl.col("payload_bytes") > 500).height
        assert kinds[rts, False] >= long
        assert kinds[cts, False] == long
        assert kinds[rts, False] + kinds[data, False] + noise == alone.height + long + own
        assert kinds[rts, True] + kinds[data, True] == heard + noise
    else:
        assert kinds[data, False] + noise == alone.height + own
        assert kinds[data, True] == heard + noise
    if name == "g":
        assert kinds[cts, False] == alone.height + own
    assert (kinds[ack, False], kinds[ack, True]) == (acked - bad_acks, bad_acks)
    assert noise > 0
    # The last frames of the run may end after its horizon, and are told as the rest.
    assert all((frame["wlan.duration"] != "0") == (int(frame[kind], 0) != ack) for frame in air)
    if name == "edca":
        assert {frame["wlan.qos.tid"] for frame in air if int(frame[kind], 0) == data} == {"4"}  # DSCP 46 is of video


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregates_are_the_events(name: str, tmp_path: Path) -> None:
    """A-MPDUs, Block Acks and requests at the AP's radio against the log of events, whose sums are the engine's counters."""
    results = SCENARIOS[name].override({"run.duration_s": 3}).run([1], traces=Traces(tmp_path, tmp_path))
    log = events(tmp_path)
    exchanges, mpdus = log.filter(pl.col("mpdus").is_not_null()), log.filter(event="mpdu")
    stations = results.stations
    assert (exchanges["mpdus"] > 0).sum() == stations["ppdus"].sum()
    assert (exchanges["mpdus"] == 0).sum() == stations["block_ack_requests"].sum()
    packets, mpdus = mpdus, mpdus.unique(["ppdu", "sequence"], maintain_order=True)
    assert mpdus.height == stations["mpdus"].sum()
    assert (packets.height > mpdus.height) == ("A-MSDU" in name)
    # All but the exchange that goes on at the end.
    airtime_s = int(exchanges.filter(pl.col("detail") != "collided")["airtime_ns"].sum()) * 1e-9
    assert 0 <= airtime_s - float(stations["airtime_s"].sum()) + 1e-9 < 0.006

    ppdus, requests = ppdus_on_air(tmp_path / "seed-1" / "ap-air.pcapng")
    told = exchanges.filter(node="ap")
    assert requests == told.filter(mpdus=0)["sequence"].to_list()
    of = mpdus.partition_by("ppdu", as_dict=True)
    is_known = not name.startswith("be")  # tshark 4.0 knows neither rates nor long bitmaps of 802.11be
    sent, failed = told.filter(pl.col("mpdus") > 0), 0
    assert len(ppdus[AP]) == sent.height > 100
    for ppdu, row in zip(ppdus[AP], sent.iter_rows(named=True), strict=True):
        rows = of[row["ppdu"],]
        assert ppdu.sequences == rows["sequence"].to_list()
        assert ppdu.last in ([False] * (len(ppdu.last) - 1) + [True], [None])
        assert ppdu.retries == (rows["attempts"] > 1).to_list()
        assert set(ppdu.block_acks) <= {BLOCK_ACKS[name]}
        if is_known:
            assert {round(rate, 1) for rate in ppdu.rates} == {round(row["rate_mbps"], 1)}
            if row["detail"] == "acknowledged":
                assert ppdu.acknowledged == (rows["detail"] == "acknowledged").to_list()
                failed += ppdu.acknowledged.count(False)
    assert (failed > 0) == is_known
    # The AP decodes those MPDUs of the station that the log says.
    answered = [ppdu for ppdu in ppdus[FAR] if ppdu.acknowledged]
    rows = exchanges.filter((pl.col("node") == "far") & (pl.col("mpdus") > 0))
    rows = rows.filter(pl.col("detail").is_in(["acknowledged", "ack-lost"]))
    for ppdu, row in zip(answered, rows.iter_rows(named=True), strict=True):
        told = of[row["ppdu"],]
        assert ppdu.sequences == told["sequence"].to_list()
        if row["detail"] == "ack-lost":
            assert ppdu.whole == (told["detail"] == "ack-lost").to_list()
        # An MPDU that was decoded from an earlier PPDU is acknowledged, too.
        assert not is_known or all(map(operator.ge, ppdu.acknowledged, ppdu.whole))


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", [name for name in AGGREGATES if "A-MSDU" in name])
def test_the_subframes_of_an_a_msdu_are_its_packets(name: str, full: bool, tmp_path: Path) -> None:
    traces = Traces(tmp_path, tmp_path, full_frames=full)
    SCENARIOS[name].override({"run.duration_s": 1}).run([1], traces=traces)
    log = events(tmp_path).filter(event="mpdu")
    told = [
        (rows["ip_bytes"].to_list(), rows["seq"].to_list())
        for rows in log.filter(node="ap").partition_by(["ppdu", "sequence"], maintain_order=True)
    ]
    length, seq, msdu = "ip.len", "tcp.seq_raw", "wlan_aggregate.a_mdsu.length"
    receiver, destination, present = "wlan.ra", "wlan.da", "wlan.qos.amsdupresent"
    show = f"wlan.fc.type_subtype == 0x28 && wlan.ta == {AP} && radiotap.flags.badfcs == 0"
    fields = (length, seq, msdu, receiver, destination, present)
    frames = tshark(tmp_path / "seed-1" / "ap-air.pcapng", *fields, show=show)
    assert len(frames) == len(told) > 100
    several = 0
    for frame, (ip_bytes, seqs) in zip(frames, told, strict=True):
        lengths = [int(word) for word in frame[length].split(",")]
        assert lengths in (ip_bytes, [48])  # a SYN with its options
        assert [int(word) for word in frame[seq].split(",")] == seqs
        assert (frame[present] in {"1", "True"}) == (len(ip_bytes) > 1)
        if len(ip_bytes) > 1:
            several += 1
            assert [int(word) for word in frame[msdu].split(",")] == [8 + n for n in ip_bytes]
            assert set(frame[destination].split(",")) == {frame[receiver]}
    assert several > 50


@pytest.mark.needs("tshark")
def test_sequence_numbers_and_retries(tmp_path: Path) -> None:
    """A frame that is sent again has its number again and the Retry bit; a new one has the next."""
    SCENARIOS["plain"].override({"run.duration_s": 5}).run([1], traces=Traces(tmp_path, stations=["far"]))
    # The stations of [[stations]] come first.
    fields = "wlan.seq", "tcp.seq_raw", "tcp.ack_raw", "wlan.fc.retry"
    capture = tmp_path / "seed-1" / "station-far-air.pcapng"
    sent = [tuple(frame.values()) for frame in tshark(capture, *fields, show="wlan.ta == 02:00:0a:00:00:01 && tcp")]
    assert len(sent) > 100
    retries = 0
    for before, now in pairwise(sent):
        if now[3] == "1":
            assert now[:3] == before[:3]
            retries += 1
        else:
            assert int(now[0]) == (int(before[0]) + 1) % 4096
    assert retries > 10


@pytest.mark.needs("tshark")
def test_headers_alone_by_default(tmp_path: Path) -> None:
    SCENARIOS["plain"].override({"run.duration_s": 2}).run([1, 2], traces=Traces(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seed-1", "seed-2"]
    capture = tmp_path / "seed-2" / "ap-wire.pcapng"
    packets = tshark(capture, "frame.len", "frame.cap_len", "_ws.malformed", show="tcp.len > 0")
    assert {tuple(packet.values()) for packet in packets} == {("1514", "54", "")}


def test_traces_change_nothing(tmp_path: Path) -> None:
    scenario = SCENARIOS["options"].override({"run.duration_s": 3})
    plain = scenario.run([1, 2], threads=2)
    store = tmp_path / "store"
    scenario.run([1, 2], threads=2, store=store)
    # What the store has is run again, as there is something to see.
    traced = scenario.run([1, 2], threads=2, store=store, traces=Traces(tmp_path / "t", tmp_path / "t", ["far"]))
    for name, frame in plain.frames.items():
        assert frame.equals(traced.frames[name]), name
    assert scenario.run([1, 2], store=store).runs.equals(plain.runs)


def test_the_event_log(tmp_path: Path) -> None:
    results = SCENARIOS["plain"].run([1, 2], traces=Traces(events=tmp_path))
    log = events(tmp_path)
    assert log["time_ns"].is_sorted()
    queue = results.queues.filter(node="ap", **{"class": "all"}, seed=1).row(0, named=True)
    at_ap = log.filter(node="ap")
    assert at_ap.filter(event="refuse").height == queue["tail_drop_packets"]
    assert at_ap.filter(event="dequeue").height == queue["dequeued_packets"]
    sojourn = at_ap.filter(event="dequeue")["sojourn_ns"].cast(pl.Float64).mean()
    assert isinstance(sojourn, float)
    assert sojourn * 1e-6 == pytest.approx(queue["sojourn_mean_ms"], rel=1e-9)
    # A second run with fewer rows leaves none of the first behind.
    SCENARIOS["plain"].override({"run.duration_s": 1}).run([1], traces=Traces(events=tmp_path))
    assert events(tmp_path)["time_ns"].max() < 1.1e9  # type: ignore[operator]


def test_a_long_log_comes_in_batches(tmp_path: Path) -> None:
    load(ROOT / "scenarios" / "five-lines.toml").override({"run.warmup_s": 0, "run.duration_s": 60}).run(
        [1], traces=Traces(events=tmp_path)
    )
    parts = sorted((tmp_path / "seed-1" / "events").iterdir())
    assert [part.name for part in parts] == [f"{i:06}.parquet" for i in range(len(parts))]
    assert len(parts) > 1
    assert max(pl.read_parquet(part).height for part in parts) < 80_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--pcap", "{tmp}", "--pcap-station", "up2"], "did you mean up-2?"),
        (["--pcap-servers"], "need a folder for captures"),
        (["--events", "{tmp}/file"], "cannot be written"),
    ],
)
def test_refusals(here: Cli, short: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "file").write_text("")
    done = here("run", short, "--seeds", "1", *(word.format(tmp=tmp_path) for word in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


def test_one_scenario_at_a_time(tmp_path: Path) -> None:
    from wifair.study import Cell, Study

    study = Study([Cell("a", SCENARIOS["plain"]), Cell("b", SCENARIOS["rts"])], 1)
    with pytest.raises(WifairError, match="several scenarios"):
        study.run(traces=Traces(tmp_path))


@pytest.mark.needs("tshark")
def test_the_commands_of_the_page(tmp_path: Path) -> None:
    """Every command of docs/traces.md runs and prints something, and the answers to its questions follow from what is printed."""
    page = (ROOT / "docs" / "traces.md").read_text()
    blocks = [block.split("```")[0] for block in page.split("```sh\n")[1:]]
    assert len(blocks) == 9
    (tmp_path / "scenarios").symlink_to(ROOT / "scenarios")
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}

    def printed(block: str) -> str:
        # `head` may leave before tshark has said everything: no pipefail.
        command = ["bash", "-eu", "-c", block]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.strip(), block
        return done.stdout

    *_, lecture, air, collisions, losses, window, acks = blocks
    found = {block: printed(block) for block in blocks}
    answers = [line for line in page.splitlines() if line.startswith("*") and line.endswith("*") and "**" not in line]
    seconds = [float(line.split()[1]) for line in found[air].splitlines()]
    assert [f"{value:.1f}" for value in seconds[:3]] == ["1.9"] * 3
    assert f"The far one: {seconds[3]:.2f} s of 20, each of the others 1.9 s." in answers[0]
    one, two, three, four = (line.split()[0] for line in found[collisions].splitlines())
    assert f"{one}, {two}, {three} and {four}:" in answers[1]
    upload, download = re.findall(r"<> \d+\.\d \| +(\d+) \| +(\d+) \|", found[losses])
    assert upload == ("0", "0")
    assert f"{download[0]} retransmissions and {download[1]} duplicate ACKs" in answers[2]
    in_flight = printed(window.replace("| head -20", ""))
    assert max(int(line.split()[1]) for line in in_flight.splitlines()) == 42 * 1460
    assert "42 segments, 61,320 bytes" in answers[3]
    filtered = printed(lecture.rstrip() + " --set ap.scheme=ack-filtering --pcap filtered") and printed(
        acks.replace("captures/", "filtered/")
    )
    tail_drop, ack_filtering = (" arrive and ".join(text.split()) for text in (found[acks], filtered))
    assert answers[4] == f"*Tail drop: {tail_drop} leave. ACK filtering: {ack_filtering} leave.*"
