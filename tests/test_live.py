"""`wifair.live`: a session, inspected and changed, has the trajectory of the scenario that it saves."""

from __future__ import annotations

import itertools
import tomllib
from typing import Any

import pytest
from python_schemes import TailDrop
from wifair import gallery
from wifair.errors import InputError, ScenarioError
from wifair.live import COUNTERS, Session
from wifair.planned import bsss_of
from wifair.scenario import Scenario
from wifair.scenario.components import components

SCHEMES = [listed["name"] for listed in components("schemes")]


def cell(**others: Any) -> Scenario:
    """Three uploads against three downloads at a short buffer."""
    settings: dict[str, Any] = {
        "run": {"warmup_s": 0.0, "duration_s": 2.0},
        "ap": {"scheme": "droptail", "limit_packets": 30},
        "wire": {"rate_mbps": 100.0},
        "flows": [{"direction": "up", "count": 3}, {"direction": "down", "count": 3}],
    }
    return Scenario(**{**settings, **others})


NAMES = gallery.names()


@pytest.mark.parametrize("name", NAMES)
def test_a_session_is_the_run_watched_or_not(name: str) -> None:
    """In pieces, with snapshots, with flows in reserve, and looking at every other piece."""
    scenario = Scenario.from_toml(name).override({"run.warmup_s": 0.0, "run.duration_s": 1.5})
    session = Session(scenario, reserve=20)
    for piece in range(1, 16):
        session.advance(piece * 0.1, 0.05 if piece % 2 else None)
        session.snapshot()
    assert session.fingerprint() == scenario.fingerprint()


def recorded(session: Session, until_s: float) -> tuple[dict[str, Any], list[Any]]:
    """The last snapshot, and the frames of all, which miss none."""
    frames = []
    while session.now_s < until_s:
        session.advance(session.now_s + 0.02, 0.02)
        snapshot = session.snapshot()
        assert snapshot["frames_omitted"] == 0
        frames += snapshot["frames"]
    return snapshot, frames


@pytest.mark.parametrize("name", ["hidden", "neighbours", "flats"])
@pytest.mark.parametrize("rts", [None, 500])
def test_frames_of_a_field_are_those_that_its_counters_have(name: str, rts: int | None) -> None:
    """Two accounts of the same: what observers see, and what the field counts by BSS."""
    settings = {"mac.rts_threshold_bytes": rts, "field.energy_detection_dbm": -82, "run.warmup_s": 0.0}
    channels = {"building.channels": [42]} if name == "flats" else {}
    session = Session(Scenario.from_toml(name).override({**settings, **channels}))
    snapshot, frames = recorded(session, 3.0)
    bsss = [len(stations) for stations in bsss_of(session.scenario.plan()).values()]
    places = [0, *(bss for bss, count in enumerate(bsss) for _ in range(count)), *range(1, len(bsss))]
    found: dict[str, list[int]] = {key: [0] * len(bsss) for key in ("same", "hidden", "unanswered", "mpdus", "lost")}
    for frame in frames:
        node, kind, outcome, fates = frame[2], frame[3], frame[4], frame[10][3::4]
        found["same"][places[node]] += outcome == 1
        found["hidden"][places[node]] += outcome == 4
        found["unanswered"][places[node]] += outcome == 5
        assert outcome in (0, 1, 4, 5)
        assert outcome != 5 or kind == 2
        assert frame[0] > frame[1] >= 0
        assert frame[9] >= frame[0]
        if fates:
            assert kind == 0
            assert set(fates) <= ({1, 0} if outcome == 1 else {1, 2} if outcome == 4 else {0, 1, 2})
            assert (outcome == 0) == (1 in fates)
            found["mpdus"][places[node]] += len(fates)
            found["lost"][places[node]] += len(fates) - fates.count(1)
    counted = snapshot["field"]
    pairs = {"same": "lost_same_start", "hidden": "lost_hidden", "unanswered": "unanswered_rts"}
    pairs |= {"mpdus": "mpdus", "lost": "mpdus_lost"}
    missing = len(snapshot["frames_under_way"])
    for key, counter in pairs.items():
        # A frame has ended before its sender knows, and is counted before it is listed.
        most = missing * (256 if "mpdus" in counter else 1)
        assert all(0 <= n - k <= most for n, k in zip(counted[counter], found[key], strict=True)), key
    assert sum(found["hidden"]) > 0 or name == "neighbours"
    assert sum(found["same"]) > 0
    assert (sum(found["unanswered"]) > 0) == (name == "flats" and rts is not None)


def test_airtime_of_frames_of_a_bss_is_that_in_which_it_is_busy() -> None:
    """In the middle of three BSSs whose own nodes all sense each other, no two frames of a BSS overlap but those of the same start."""
    session = Session("neighbours")
    snapshot, frames = recorded(session, 2.0)
    t, total = snapshot["time_ns"], 3
    spans: dict[int, list[tuple[int, int]]] = {0: [], 1: [], 2: []}
    for frame in [*frames, *snapshot["frames_under_way"]]:
        bss = frame[2] - 1 if 0 < frame[2] <= total else max(0, frame[2] - total)
        spans[bss].append((frame[0] - frame[1], 0))
    assert t == 2_000_000_000
    for bss, own in enumerate(snapshot["field"]["busy_own_ns"]):
        assert own <= sum(length for length, _ in spans[bss]) <= own * 1.05 + 1


def test_what_is_under_way_is_listed_once_its_sender_knows() -> None:
    session = Session("neighbours")
    session.advance(1.0)
    seen = 0
    for _ in range(200):
        session.advance_ns(session.now_ns + 500_000, 500_000)
        before, now = session.snapshot()["frames_under_way"], session.now_ns
        assert all(begin > end >= 0 or begin == end == 0 for begin, end, _, _ in before)
        session.advance_ns(now + 10_000_000, 10_000_000)
        t = session.now_ns
        listed = {(t - frame[0], frame[2]) for frame in session.snapshot()["frames"]}
        assert {(now - begin, node) for begin, _, node, _ in before} <= listed
        seen += len(before)
    assert seen > 100


def test_another_bss_is_shown_without_losing_frames() -> None:
    session, frames = Session("neighbours"), []
    while session.now_s < 1.5:
        session.advance(session.now_s + 0.02, 0.02)
        before = session.snapshot()
        session.show(("mine", "left", "right")[round(session.now_s / 0.02) % 3])
        frames += before["frames"]
        assert session.snapshot()["frames_under_way"] == before["frames_under_way"]
    assert frames == recorded(Session("neighbours"), 1.5)[1]


def test_a_session_shows_the_access_point_of_one_bss() -> None:
    session = Session("neighbours")
    session.advance(1.5, 0.5)
    assert (session.shown, session.snapshot()["bss"]) == ("mine", 0)
    labels = [flow["label"] for flow in session.scenario.plan()["flows"]]
    session.show("right")
    session.advance(2.0, 0.5)
    snapshot = session.snapshot()
    assert (session.shown, snapshot["bss"]) == ("right", 2)
    queued = {labels[flow] for flow in snapshot["tx_queues"][0]["packets"][::5]}
    happened = {labels[event[2]] for event in snapshot["events"]}
    assert queued <= happened == {"right-download", "right-upload"}
    session.apply({"bss": "right", "ap": {"scheme": "fq-codel", "limit_packets": 77}})
    session.advance(2.1)
    assert session.snapshot()["tx_queues"][0]["limit_packets"] == 77
    session.show("mine")
    assert session.snapshot()["tx_queues"][0]["limit_packets"] != 77
    assert session.fingerprint() == session.past().fingerprint()
    with pytest.raises(InputError, match="no BSS is called 'rigth'; did you mean right"):
        session.show("rigth")
    with pytest.raises(InputError, match="the scenario has one BSS"):
        Session("hidden").show("ap")


def test_steps_are_the_run_too() -> None:
    session = Session(cell())
    while session.now_s < 0.5:
        before = session.snapshot()["air"]["exchanges"]
        assert session.step()
        assert session.snapshot()["air"]["exchanges"] == before + 1
    assert session.fingerprint() == session.past().fingerprint()


@pytest.mark.parametrize("name", [*NAMES, "cell"])
def test_what_is_saved_repeats_the_session(name: str) -> None:
    """Every kind of change, at arbitrary nanoseconds."""
    session = Session(cell() if name == "cell" else Scenario.from_toml(name), reserve=4)
    # One group of many is changed as another: the flats have 84.
    groups = list(dict.fromkeys(flow["group"] for flow in session.scenario.plan()["flows"]))[:4]
    station = session.scenario.plan()["bss"]["stations"][0]
    mode = "rate_mbps" if station["mcs"] is None else "mcs"
    changes: list[dict[str, Any]] = [
        {"ap": {"limit_packets": 7}},
        {"wire": {"one_way_delay_ms": 33.3}},
        {"flows": {"tcp": {"congestion_control": "cubic", "ecn": True, "receiver_window_segments": 50}}},
        *({"flows": {"name": group, "count": 0}} for group in groups),
        *({"flows": {"name": group, "count": 3}} for group in groups),
        {"ap": {"scheme": {"name": "codel", "target_ms": 10.0}, "limit_packets": 60}},
        {"wire": {"one_way_delay_ms": 1.0}, "station": {"name": station["label"], mode: station[mode]}},
    ]
    session.advance(0.123456789)
    for change in changes:
        session.apply(change)
        session.step()
        session.advance(session.now_s + 0.217)
    saved = Scenario.from_settings(tomllib.loads(session.to_toml()))
    assert (
        saved.fingerprint()
        == session.fingerprint()
        != Scenario.from_settings({**saved.settings(), "events": []}).fingerprint()
    )


def test_a_saved_session_runs(tmp_path: Any, here: Any) -> None:
    session = Session(cell())
    session.advance(0.5)
    session.apply({"ap": {"scheme": "fq-codel"}})
    session.advance(1.5)
    path = tmp_path / "saved.toml"
    path.write_text(session.to_toml(), encoding="utf-8")
    assert Scenario.from_toml(path).fingerprint() == session.fingerprint()
    assert here("run", path, "--seeds", "1").returncode == 0


def test_flows_that_never_opened_are_no_flows_of_the_run() -> None:
    """Jain's index, tables by flow and group means have the flows that opened, and no others."""
    session = Session(cell(), reserve=20)
    session.advance(1.0)
    session.apply({"flows": {"name": "down", "count": 4}})
    session.advance(2.0)
    session.apply({"flows": {"name": "down", "count": 3}})
    session.advance(3.0)
    results = Scenario.from_settings(tomllib.loads(session.to_toml())).run(seeds=2)
    opened = {"up": 3, "down": 4}
    for way, count in opened.items():
        assert results.flows.filter(direction=way)["label"].n_unique() == count
    assert results.stations["station"].n_unique() == 7
    shares = results.flows.filter(seed=1)["goodput_mbps"].to_numpy()
    jain = shares.sum() ** 2 / len(shares) / (shares**2).sum()
    assert results.metrics.filter(seed=1)["jain"].item() == pytest.approx(jain)


def test_a_saved_file_says_which_part_it_measures() -> None:
    session = Session(cell())
    session.advance(1.25)
    comment = [line for line in session.to_toml().splitlines() if line.startswith("#")]
    assert "run.duration_s is the moment at which it was saved" in comment[0]
    assert "run.warmup_s is 0" in comment[0]


@pytest.mark.parametrize(("one", "other"), list(itertools.pairwise([*SCHEMES, *SCHEMES[::2], SCHEMES[0]])))
def test_a_scheme_takes_over_the_queue(one: str, other: str) -> None:
    """No packet is lost, invented or counted twice, and the queue keeps its order."""
    session = Session(cell(ap={"scheme": one, "limit_packets": 30}))
    session.advance(0.8)
    while (before := session.snapshot()["tx_queues"][0])["queued_packets"] < 5 and session.now_s < 3:
        session.step()
    session.snapshot()
    session.apply({"ap": {"scheme": other}})
    session.advance_ns(session.now_ns + 1, 1)
    snapshot = session.snapshot()
    after = snapshot["tx_queues"][0]
    counted, then = after["counters"], before["counters"]
    assert all(now >= was for rows in zip(counted, then, strict=True) for now, was in zip(*rows, strict=True))
    assert [row[COUNTERS.index("offered")] for row in counted] == [row[COUNTERS.index("offered")] for row in then]
    gone = ("tail_dropped", "aqm_refused", "evicted", "aqm_evicted", "filtered", "dequeued")
    for tx_queue in (before, after):
        out = sum(row[COUNTERS.index(fate)] for row in tx_queue["counters"] for fate in gone)
        assert sum(row[0] for row in tx_queue["counters"]) == out + tx_queue["queued_packets"]
    refused = [COUNTERS.index("tail_dropped"), COUNTERS.index("aqm_refused")]
    assert [[row[i] for i in refused] for row in counted] == [[row[i] for i in refused] for row in then]
    ages = after["packets"][3::5]
    assert len(ages) == after["queued_packets"]
    assert ages == sorted(ages, reverse=True), "in the order in which they came"
    taken_out = before["queued_packets"] - after["queued_packets"]
    assert taken_out == sum(event[1] in (1, 4, 5, 6) for event in snapshot["events"])
    session.advance(session.now_s + 1)  # and it goes on


def test_a_takeover_keeps_ages_and_drops_what_exceeds_the_limit() -> None:
    session = Session(cell())
    session.advance(2)
    while (before := session.snapshot()["tx_queues"][0])["queued_packets"] < 20:
        session.step()
    session.apply({"ap": {"limit_packets": 8, "scheme": "pi"}})
    session.advance_ns(session.now_ns + 1)
    after = session.snapshot()["tx_queues"][0]
    assert after["queued_packets"] == 8
    assert [age - 1 for age in after["packets"][3::5]] == before["packets"][3::5][:8]
    dropped = sum(row[COUNTERS.index("evicted")] for row in after["counters"])
    assert dropped == before["queued_packets"] - 8


def test_new_parameters_of_tcp_hold_for_new_connections() -> None:
    session = Session(cell(flows=[{"direction": "down", "count": 2}]))
    session.advance(1)
    session.apply({"flows": {"tcp": {"receiver_window_segments": 3}}})
    session.apply({"flows": {"name": "down", "count": 1}})
    session.apply({"flows": {"name": "down", "count": 2}})
    session.advance(4)
    delivered = session.snapshot()["flows"]["delivered_bytes"]
    session.advance(6)
    old, new = (b - a for a, b in zip(delivered, session.snapshot()["flows"]["delivered_bytes"], strict=True))
    assert 0 < new < 0.5 * old, "the connection that was open keeps its window"


def test_a_group_opens_and_closes() -> None:
    session = Session(cell(), reserve=5)
    for count in (8, 0, 2, 3):
        session.apply({"flows": {"name": "up", "count": count}})
        session.advance(session.now_s + 2)
        flows = session.snapshot()["flows"]
        groups = [flow["group"] for flow in session.scenario.plan()["flows"]]
        is_open = [flag for flag, group in zip(flows["open"], groups, strict=True) if group == "up"]
        assert is_open == [1] * count + [0] * (8 - count)
        session.advance(session.now_s + 1)
        moved = zip(flows["delivered_bytes"], session.snapshot()["flows"]["delivered_bytes"], groups, strict=True)
        assert [after > before for before, after, group in moved if group == "up"] == [flag == 1 for flag in is_open]


def test_the_delay_of_the_wire_is_seen() -> None:
    session = Session(cell(flows=[{"name": "ping", "direction": "up", "application": "ping"}]))

    def mean_rtt_ms() -> float:
        before = session.snapshot()["flows"]
        session.advance(session.now_s + 5)
        after = session.snapshot()["flows"]
        times = after["rtt_sum_ns"][0] - before["rtt_sum_ns"][0]
        mean_ms: float = times / (after["rtt_count"][0] - before["rtt_count"][0]) / 1e6
        return mean_ms

    short = mean_rtt_ms()
    session.apply({"wire": {"one_way_delay_ms": 55.0}})
    session.advance(session.now_s + 1)
    assert mean_rtt_ms() == pytest.approx(short + 100, abs=0.5)


def test_frames_overlap_only_where_they_collide() -> None:
    session = Session(cell())
    session.advance(1, 0.1)
    frames = session.snapshot()["frames"]
    assert frames
    assert not session.snapshot()["frames"], "handed over once"
    assert all(begin > end for begin, end, *_ in frames), "times before now"
    received = sorted((frame[:2] for frame in frames if frame[4] == 0), reverse=True)
    assert all(end >= begin for (_, end), (begin, _) in itertools.pairwise(received))
    collided = sorted((frame[:2] for frame in frames if frame[4] == 1), reverse=True)
    assert collided
    assert all(any(other is not frame and other[0] == frame[0] for other in collided) for frame in collided)
    assert {frame[3] for frame in frames} == {0, 1}


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({}, "events[0]"),
        ({"ap": {}}, "events[0].ap"),
        ({"ap": {"scheme": "fq-codle"}}, "events[0].ap.scheme"),
        ({"ap": {"scheme": {"name": "codel", "target_ms": -1}}}, "events[0].ap.scheme.target_ms"),
        ({"ap": {"scheme": "x.py:Mine"}}, "events[0].ap.scheme"),
        ({"ap": {"limit_packets": 0}}, "events[0].ap.limit_packets"),
        ({"flows": {"count": 1}}, "events[0].flows.name"),
        ({"flows": {"name": "side", "count": 1}}, "events[0].flows.name"),
        ({"flows": {"name": "up", "count": 99}}, "events[0].flows.count"),
        ({"flows": {"name": "up"}}, "events[0].flows"),
        ({"flows": {"tcp": {"receiver_window_segments": 0}}}, "events[0].flows.tcp.receiver_window_segments"),
        ({"flows": {"tcp": {"mss_bytes": 500}}}, "events[0].flows.tcp.mss_bytes"),
        ({"wire": {"one_way_delay_ms": -1.0}}, "events[0].wire.one_way_delay_ms"),
        ({"station": {"name": "up-1", "rate_mbps": 7.0}}, "events[0].station.rate_mbps"),
    ],
)
def test_a_change_that_is_not_allowed_is_refused_and_changes_nothing(change: dict[str, Any], key: str) -> None:
    session = Session(cell())
    session.advance(0.5)
    with pytest.raises(ScenarioError) as refused:
        session.apply(change)
    assert refused.value.key == key
    session.advance(1)
    assert session.fingerprint() == cell().override({"run.duration_s": 1.0}).fingerprint()


def test_under_edca_a_scheme_takes_over_every_category_without_its_own() -> None:
    categories = {"voice": {"scheme": "droptail"}}
    session = Session(cell(mac={"edca": {"classify": "dscp"}}, ap={"scheme": "droptail", "categories": categories}))
    session.advance(0.5)
    session.apply({"ap": {"scheme": {"name": "red"}}})
    session.advance(0.6)
    gauges = {tx_queue["category"]: set(tx_queue["gauges"]) for tx_queue in session.snapshot()["tx_queues"]}
    assert gauges.pop("voice") == set()
    assert len(gauges) == 3
    assert all(names for names in gauges.values())


def test_under_edca_a_scheme_must_suit_what_its_categories_carry() -> None:
    session = Session(cell(mac={"edca": {"tcp_acks": "voice"}}))
    with pytest.raises(ScenarioError, match="does not decide on") as refused:
        session.apply({"ap": {"scheme": "adaptive-pushout"}})
    assert refused.value.key == "events[0].ap.scheme"


def test_ppdus_show_their_mpdus() -> None:
    """Those of a PPDU add up to what leaves the AP and the stations, and Block Acks follow them."""
    session = Session("home")
    session.advance(2, 0.1)
    frames = session.snapshot()["frames"]
    ppdus = [frame for frame in frames if frame[3] == 0]
    assert any(len(frame[10]) > 4 for frame in ppdus)
    assert all(len(frame[10]) % 4 == 0 and frame[10][3::4] for frame in ppdus)
    assert all(any(frame[10][3::4]) == (frame[4] in (0, 3)) for frame in ppdus)
    answers = {frame[0] for frame in frames if frame[3] == 1}
    assert all(frame[1] - 10_000 in answers for frame in ppdus if frame[4] == 0), "a SIFS later, at 2.4 GHz"


def test_beacons_are_frames_of_the_ap() -> None:
    """All that are counted, each 300 bytes at 1 Mbps."""
    session = Session(cell(mac={"beacons": {}}))
    session.advance(1)
    before = session.snapshot()["air"]["beacon_ns"]
    session.advance(2, 1)
    seen = session.snapshot()
    beacons = [frame for frame in seen["frames"] if frame[3] == 4]
    sent = [frame for frame in beacons if frame[4] == 0]
    assert 8 <= len(beacons) <= 10, "a beacon in 102.4 ms"
    assert all(begin - end == 192_000 + 8 * 300_000 for begin, end, *_ in beacons)
    assert all(frame[2] == 0 for frame in beacons)
    assert seen["air"]["beacon_ns"] - before == sum(begin - end for begin, end, *_ in sent)


def test_beacons_of_a_field_are_frames_of_all_access_points() -> None:
    """Those of three BSSs, each 300 bytes at 6 Mbps."""
    plan = Scenario.from_toml("neighbours").override({"mac.beacons": {"interval_tu": 50}})
    session = Session(plan)
    snapshot, frames = recorded(session, 1.0)
    beacons = [frame for frame in frames if frame[3] == 4]
    assert len({frame[2] for frame in beacons}) == len(snapshot["field"]["busy_own_ns"]) == 3
    assert {begin - end for begin, end, *_ in beacons} == {424_000}
    assert 10 < len(beacons) <= 3 * 20


@pytest.mark.parametrize(
    ("phy", "key", "choices"),
    [
        ({"name": "802.11b"}, "rate_mbps", [1.0, 2.0, 5.5, 11.0]),
        ({"name": "802.11n", "streams": 2}, "mcs", [*range(8, 16)]),
        ({"name": "802.11ac", "width_mhz": 20, "streams": 1}, "mcs", [*range(9)]),
        ({"name": "802.11ax"}, "mcs", [*range(12)]),
    ],
)
def test_a_link_can_have_what_its_phy_has(phy: dict[str, Any], key: str, choices: list[float]) -> None:
    """The fastest where a station does not say, and each of them by a change."""
    session = Session(cell(phy=phy))
    stations = session.scenario.plan()["bss"]["stations"]
    assert session.modes() == [{"key": key, "choices": choices}] * len(stations)
    in_use = {"mcs": "mcs_up", "rate_mbps": "rate_up_mbps"}[key]
    assert session.snapshot()["stations"][in_use] == [choices[-1]] * len(stations)
    for choice in choices:
        session.apply({"station": {"name": stations[0]["label"], key: choice}})
        session.advance(session.now_s + 0.01)
        assert session.snapshot()["stations"][in_use][0] == choice


def test_what_cannot_be_saved_says_so() -> None:
    with pytest.raises(InputError, match="nothing to save"):
        Session(cell()).to_toml()
    session = Session(cell())
    session.advance(0.2)
    session.apply({"ap": {"scheme": TailDrop}})
    session.advance(0.4)
    assert session.past().fingerprint() == session.fingerprint()
    with pytest.raises(InputError, match="TailDrop"):
        session.to_toml()
