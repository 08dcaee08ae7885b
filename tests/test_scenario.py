"""The sugar of a scenario, and that a wrong key or value is refused in one sentence that helps."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wifair import Scenario, ScenarioError
from wifair.keys import nearest
from wifair.scenario.components import engine_schema
from wifair.scenario.described import described
from wifair.scenario.dialects import NS_2

UP: dict[str, Any] = {"count": 2, "direction": "up"}


def test_flows_have_stations_of_their_own_named_after_them() -> None:
    plan = Scenario(flows=[UP, {"direction": "down"}, {"direction": "down", "count": 2}]).plan()
    assert [flow["label"] for flow in plan["flows"]] == ["up-1", "up-2", "down", "down2-1", "down2-2"]
    assert [flow["station"] for flow in plan["flows"]] == [station["label"] for station in plan["bss"]["stations"]]
    assert [flow["group"] for flow in plan["flows"]] == ["up", "up", "down", "down2", "down2"]


def test_flows_may_share_named_stations() -> None:
    scenario = Scenario(
        stations=[{"name": "near", "count": 2}, {"name": "far", "rate_mbps": 1.0}],
        flows=[{**UP, "count": 3, "station": "near"}, {"direction": "down", "station": "far"}],
    )
    plan = scenario.plan()
    assert [flow["station"] for flow in plan["flows"]] == ["near-1", "near-2", "near-1", "far"]
    assert [station["rate_mbps"] for station in plan["bss"]["stations"]] == [11.0, 11.0, 1.0]


def test_defaults_come_in_layers() -> None:
    plan = Scenario(
        station={"rate_mbps": 5.5},
        tcp={"mss_bytes": 1000, "rto": {"min_ms": 300}},
        flows=[
            {**UP, "tcp": {"rto": {"max_ms": 9000}}, "station": {"rate_mbps": 2.0}},
            {"direction": "down", "one_way_delay_ms": 50.0},
        ],
    ).plan()
    assert [station["rate_mbps"] for station in plan["bss"]["stations"]] == [2.0, 2.0, 5.5]
    assert plan["flows"][0]["tcp"]["rto"]["min_ms"] == 300
    assert plan["flows"][0]["tcp"]["rto"]["max_ms"] == 9000
    assert [flow["tcp"]["mss_bytes"] for flow in plan["flows"]] == [1000] * 3
    assert plan["flows"][2]["one_way_delay_ms"] == 50.0


TABLES = [{"name": "table", "count": 5}]
AT_TABLES = {"direction": "up", "station": "table"}


def placed(*flows: dict[str, Any]) -> list[str]:
    plan = Scenario(stations=TABLES, flows=list(flows)).plan()
    return [flow["station"].removeprefix("table-") for flow in plan["flows"]]


def test_a_group_of_flows_begins_where_it_is_told() -> None:
    two, next_two = {**AT_TABLES, "count": 2}, {**AT_TABLES, "count": 2, "first_station": "next"}
    assert placed(two, two, next_two) == ["1", "2", "1", "2", "3", "4"]
    assert placed(next_two, next_two, {**AT_TABLES, "first_station": "next"}) == ["1", "2", "3", "4", "5"]
    assert placed({**two, "first_station": 4}, two, {**two, "first_station": 2}) == ["4", "5", "1", "2", "2", "3"]
    # Flows in reserve take no place, so the groups after them are where they are without them.
    assert placed({**two, "reserve": 2}, {**AT_TABLES, "first_station": "next"}) == ["1", "2", "3", "3", "4"]


def test_flows_are_at_one_station_by_its_name() -> None:
    fourth = {"direction": "up", "station": "table-4"}
    assert placed(AT_TABLES, {**fourth, "count": 2, "reserve": 1}) == ["1", "4", "4", "4"]
    # Like first_station = 4: the next station is the one after it.
    assert placed(fourth, {**AT_TABLES, "first_station": "next"}) == ["4", "5"]
    # A group's name comes before a member's.
    stations = [{"name": "table", "count": 5}, {"name": "far", "count": 2}]
    plan = Scenario(stations=stations, flows=[AT_TABLES, {**UP, "count": 1, "station": "far-2"}]).plan()
    assert [flow["station"] for flow in plan["flows"]] == ["table-1", "far-2"]


@pytest.mark.parametrize(("phy", "rate"), [("802.11b", 11.0), ("802.11g", 54.0), ("802.11a", 54.0)])
def test_a_station_without_a_rate_has_the_highest(phy: str, rate: float) -> None:
    plan = Scenario(phy={"name": phy}, flows=[UP]).plan()
    assert {station["rate_mbps"] for station in plan["bss"]["stations"]} == {rate}


def test_from_802_11n_on_a_station_has_an_mcs() -> None:
    older = {"name": "old", "phy": "802.11n", "mcs": 3}
    sensor = {"name": "sensor", "phy": {"name": "802.11g"}}
    flows = [{**UP, "station": name} for name in ("new", "old", "sensor")]
    scenario = Scenario(
        phy={"name": "802.11ax", "band_ghz": 2.4, "streams": 2},
        stations=[{"name": "new", "streams": 2, "mcs": 9}, older, sensor],
        flows=flows,
    )
    stations = scenario.plan()["bss"]["stations"]
    assert [(station["mcs"], station["rate_mbps"]) for station in stations] == [(9, None), (3, None), (None, 54.0)]
    rows = {station: row for (station, way), row in scenario.channel_access(1500).items() if way == "up"}
    alone = {
        station: row["ifs_us"] + row["slot_us"] * (row["backoffs"][0] - 1) / 2 + row["one"]["airtime_us"]
        for station, row in rows.items()
    }
    # AIFS 37, 7.5 slots of 9, SIFS 10 and MAC ACK 34 in each; HE20 with two streams, MCS 9: 12326 bits in 4 symbols of 3120.
    assert alone["new"] == pytest.approx(37 + 67.5 + 36 + 2 * 7.2 + 4 * 13.6 + 6 + 10 + 34)
    # HT20 with two streams has MCS 8 to 15: MCS 3 has one stream.
    assert alone["sensor"] == pytest.approx(37 + 67.5 + 20 + 58 * 4 + 6 + 10 + 34)


def test_from_802_11n_on_a_scenario_has_edca() -> None:
    assert Scenario(phy={"name": "802.11g"}, flows=[UP]).plan()["bss"]["mac"]["edca"] is None
    cell = Scenario(phy={"name": "802.11n"}, ap={"hardware": "ath9k"}, flows=[UP]).plan()["bss"]
    assert cell["mac"]["edca"]["parameter_set"] == "802.11"
    assert cell["ap"]["hardware"] == {"name": "ath9k", "aggregates": 2, "max_ppdu_us": 4096.0}
    tables = Scenario(phy={"name": "802.11n"}, flows=[UP], run={"warmup_s": 0.0, "duration_s": 0.3}).run(1).stations
    assert tables["mpdus"].sum() > 2 * tables["ppdus"].sum() > 0


def test_the_dialect_lies_below_the_scenarios_own_keys() -> None:
    plan = Scenario(dialect="ns-2", phy={"llc_bytes": 8}, tcp={"rto": {"min_ms": 500}}, flows=[UP]).plan()
    assert plan["bss"]["phy"]["llc_bytes"] == 8
    assert plan["bss"]["phy"]["mac_header_bytes"] == NS_2["phy"]["mac_header_bytes"]
    assert plan["bss"]["mac"]["immediate_access"] is False
    assert plan["bss"]["ap"]["tx_queue"]["limit_counts_in_service"] is True
    assert plan["flows"][0]["tcp"]["rto"] == {**plan["flows"][0]["tcp"]["rto"], "min_ms": 500, "initial_ms": 3000}


def test_every_key_of_the_dialect_departs_from_the_standard_or_pins_it() -> None:
    standard, other = Scenario(flows=[UP]).plan(), Scenario(dialect="ns-2", flows=[UP]).plan()
    assert standard["bss"]["mac"] != other["bss"]["mac"]
    assert standard["bss"]["stations"] != other["bss"]["stations"]
    assert standard["flows"][0]["tcp"] != other["flows"][0]["tcp"]


def test_a_component_may_be_named_by_a_word() -> None:
    by_word = Scenario(ap={"scheme": "ack-pushout"}, flows=[UP])
    by_table = Scenario(ap={"scheme": {"name": "ack-pushout"}}, flows=[UP])
    assert by_word.plan_json == by_table.plan_json


def test_the_plan_is_canonical() -> None:
    one = Scenario(ap={"limit_packets": 50, "scheme": "droptail"}, flows=[UP])
    other = Scenario(flows=[{"direction": "up", "count": 2}], ap={"scheme": "droptail", "limit_packets": 50})
    assert one.plan_json == other.plan_json
    assert json.loads(one.plan_json)["schema_version"] == engine_schema()["schema_version"]


def test_overriding_leaves_the_original_alone() -> None:
    scenario = Scenario(flows=[UP])
    other = scenario.override({"ap.limit_packets": 7, "flows[0].count": 5})
    assert len(other.plan()["flows"]) == 5
    assert other.plan()["bss"]["ap"]["tx_queue"]["limit_packets"] == 7
    assert len(scenario.plan()["flows"]) == 2


WRONG: list[tuple[dict[str, Any], str, list[str]]] = [
    ({"run": {"warmup_ms": 5}}, "run.warmup_ms", ["warmup_s", "seconds"]),
    ({"ap": {"schem": "droptail"}}, "ap.schem", ["scheme"]),
    ({"ap": {"scheme": "adaptive-pushuot"}}, "ap.scheme", ["adaptive-pushout", "droptail"]),
    ({"ap": {"scheme": {"name": "droptail", "redundant": "oldest"}}}, "ap.scheme.redundant", ["ack-pushout"]),
    ({"ap": {"scheme": {"name": "ack-pushout", "redundant": "oldst"}}}, "ap.scheme.redundant", ["oldest", "newest"]),
    ({"ap": {"scheme": {"redundant": "oldest"}}}, "ap.scheme", ["name", "droptail"]),
    ({"ap": {"limit_packets": 0}}, "ap.limit_packets", ["0", "1 to 100000"]),
    ({"ap": {"limit_packets": 1.5}}, "ap.limit_packets", ["1.5", "whole number", "packets"]),
    ({"ap": {"flows": {"idle_timeout_s": -1}}}, "ap.flows.idle_timeout_s", ["-1", "seconds"]),
    ({"station": {"rate_mbps": -11.0}}, "station.rate_mbps", ["-11", "5.5, 11"]),
    ({"station": {"rate_mbps": 54.0}}, "station.rate_mbps", ["54", "5.5, 11"]),
    ({"wire": {"rate_mbps": "100Mbps"}}, "wire.rate_mbps", ["100Mbps", "a number in Mbps"]),
    ({"wire": {"rate_mbps": float("nan")}}, "wire.rate_mbps", ["a number in Mbps"]),
    ({"wire": {"rate_mbps": True}}, "wire.rate_mbps", ["a number in Mbps"]),
    ({"phy": {"name": "802.11g", "preamble": "short"}}, "phy.preamble", ["802.11b"]),
    ({"phy": {"name": "802.11ad"}}, "phy", ["802.11ad is not modelled", "802.11ac"]),
    ({"phy": {"name": "802.11axe"}}, "phy", ["unknown name '802.11axe'", "did you mean 802.11ax?"]),
    ({"phy": {"name": "802.11n", "width_mhz": 80}}, "phy.width_mhz", ["80", "20 or 40 MHz"]),
    ({"ap": {"hardware": "ath11k"}}, "ap.hardware", ["unknown name", "did you mean ath10k"]),
    (
        {
            "ap": {"scheme": {"name": "droptail", "target_ms": 5.0, "queues": 3, "quantum_bytes": 300}}
        },  # the first of them
        "ap.scheme.target_ms",
        ["'droptail' has no such parameter", "codel"],
    ),
    ({"station": {"hardware": "hwsin"}}, "station.hardware", ["unknown name", "did you mean hwsim"]),
    ({"ap": {"hardware": "ath9k"}}, "ap.hardware", ["ideal", "mac.edca"]),
    (
        {"phy": {"name": "802.11n"}, "ap": {"hardware": {"name": "ath9k", "aql_low_us": 1.0}}},
        "ap.hardware.aql_low_us",
        ["firmware"],
    ),
    ({"phy": {"name": "802.11n"}, "ap": {"scheme": {"name": "mac80211", "aql": True}}}, "ap.scheme.aql", ["firmware"]),
    (
        {"phy": {"name": "802.11n"}, "mac": {"edca": {"parameter_set": "openwtr"}}},
        "mac.edca.parameter_set",
        ["openwrt"],
    ),
    ({"phy": {"name": "802.11n", "he_ltf": "2x"}}, "phy.he_ltf", ["802.11ax"]),
    ({"phy": {"name": "802.11ax", "width_ghz": 0.08}}, "phy.width_ghz", ["width_mhz", "MHz"]),
    ({"phy": {"name": "802.11ac", "width_mhz": 20}, "station": {"mcs": 9}}, "station.mcs", ["9", "7, 8 at 20 MHz"]),
    ({"phy": {"name": "802.11ax"}, "station": {"rate_mbps": 54.0}}, "station.rate_mbps", ["mcs chooses the mode"]),
    ({"station": {"mcs": 3}}, "station.mcs", ["rate_mbps chooses the mode"]),
    ({"phy": {"name": "802.11ac"}, "station": {"phy": "802.11g"}}, "station.phy", ["802.11a, 802.11n or 802.11ac"]),
    ({"mac": {"rts_treshold_bytes": 5}}, "mac.rts_treshold_bytes", ["rts_threshold_bytes"]),
    ({"tcp": {"rto": {"min_s": 1}}}, "tcp.rto.min_s", ["min_ms", "milliseconds"]),
    (
        {"flows": [{"direction": "down", "server_hears_link_rate": True}]},
        "flows[0].server_hears_link_rate",
        ["server_notified_of_link_rate"],
    ),
    ({"tcp": {"congestion_control": "westwood"}}, "tcp.congestion_control", ["westwood", "reno"]),
    ({"dialect": "ns2"}, "dialect", ["ns-2", "standard"]),
    ({"runs": {}}, "runs", ["run"]),
    ({"run": 3}, "run", ["a table of keys"]),
    ({"flows": []}, "flows", ["one group"]),
    ({"flows": [{"direction": "upp"}]}, "flows[0].direction", ["upp", "up or down"]),
    ({"flows": [{"count": 2}]}, "flows[0].direction", ["up", "down"]),
    ({"flows": [{**UP, "count": 0}]}, "flows[0].count", ["0", "1 or more"]),
    ({"flows": [{**UP, "count": "2"}]}, "flows[0].count", ["whole number"]),
    ({"flows": [{**UP, "count": 20_001}]}, "stations", ["20001", "20000"]),
    ({"flows": [{**UP, "start": 3.0}]}, "flows[0].start", ["start_s"]),
    ({"flows": [{**UP, "station": "near"}]}, "flows[0].station", ["near", "[[stations]]"]),
    ({"flows": [{**UP, "name": "a"}, {**UP, "name": "a"}]}, "flows[1].name", ["a-1"]),
    (
        {"flows": [{**AT_TABLES, "first_station": 6}], "stations": TABLES},
        "flows[0].first_station",
        ["6 is no station", "1 to 5", '"next"'],
    ),
    (
        {"flows": [AT_TABLES, {**AT_TABLES, "count": 5, "first_station": "next"}], "stations": TABLES},
        "flows[1].count",
        ["5 flows do not fit: 4 of the 5 stations of 'table' are left", "share stations"],
    ),
    (
        {"flows": [{**AT_TABLES, "station": "tabel-4"}], "stations": TABLES},
        "flows[0].station",
        ["no stations are called 'tabel-4'", "did you mean table-4?", "table (table-1 to table-5)"],
    ),
    (
        {"flows": [{**AT_TABLES, "station": "table-6"}], "stations": TABLES},
        "flows[0].station",
        ["no stations are called 'table-6'", "table (table-1 to table-5)"],
    ),
    (
        {"flows": [{**AT_TABLES, "station": "table-4", "first_station": 2}], "stations": TABLES},
        "flows[0].first_station",
        ["'table-4' is one station", "without first_station"],
    ),
    ({"flows": [{**UP, "first_station": "next"}]}, "flows[0].first_station", ["the name of [[stations]]"]),
    ({"flows": [UP], "stations": [{"name": "idle"}]}, "stations[0].name", ["no effect"]),
    ({"flows": [{**UP, "station": "n"}], "stations": [{"name": "n", "count": 0}]}, "stations[0].count", ["1 or more"]),
    ({"flows": [{**UP, "tcp": {"mss_bytes": 0}}]}, "flows[0].tcp.mss_bytes", ["0", "bytes"]),
    ({"tcp": {"mss_bytes": 0}}, "tcp.mss_bytes", ["0", "bytes"]),
    ({"flows": [{**UP, "station": {"rate_mbps": 3.0}}]}, "flows[0].station.rate_mbps", ["3", "5.5, 11"]),
]


@pytest.mark.parametrize(("settings", "key", "words"), WRONG, ids=[key for _, key, _ in WRONG])
def test_bad_input_names_key_value_and_what_is_allowed(settings: dict[str, Any], key: str, words: list[str]) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario(**{"flows": [UP], **settings})
    message = str(caught.value)
    assert caught.value.key == key
    assert message.startswith(f"{key}: ")
    assert "\n" not in message
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("key", "known", "expected"),
    [
        ("warmup_ms", ["duration_s", "warmup_s"], "warmup_s (in seconds)"),
        ("warmup", ["duration_s", "warmup_s"], "warmup_s"),
        ("durations_s", ["duration_s", "warmup_s"], "duration_s"),
        ("xyz", ["duration_s", "warmup_s"], ""),
        ("OpenWRT", ["linux", "openwrt"], "openwrt"),
        ("RED", ["rad", "red"], "red"),
    ],
)
def test_the_nearest_right_spelling(key: str, known: list[str], expected: str) -> None:
    assert nearest(key, known) == expected


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 5), st.sampled_from(["up", "down"]), st.sampled_from([1.0, 2.0, 5.5, 11.0])),
        min_size=1,
        max_size=5,
    )
)
def test_every_flow_of_every_group_is_in_the_plan(groups: list[tuple[int, str, float]]) -> None:
    flows = [{"count": n, "direction": way, "station": {"rate_mbps": rate}} for n, way, rate in groups]
    plan = Scenario(flows=flows).plan()
    assert [flow["direction"] for flow in plan["flows"]] == [way for n, way, _ in groups for _ in range(n)]
    assert [s["rate_mbps"] for s in plan["bss"]["stations"]] == [rate for n, _, rate in groups for _ in range(n)]
    assert len({flow["label"] for flow in plan["flows"]}) == sum(n for n, _, _ in groups)


def test_an_event_that_names_a_group_is_one_for_each_of_its_stations() -> None:
    slower = {"at_s": 5, "station": {"name": "up", "rate_mbps": 1.0}}
    one = {"at_s": 6, "station": {"name": "up-2", "rate_mbps": 2.0}, "ap": {"limit_packets": 50}}
    events = Scenario(flows=[UP, {"direction": "down"}], events=[slower, one]).plan()["events"]
    assert [event["station"]["label"] for event in events] == ["up-1", "up-2", "up-2"]
    assert [event["at_s"] for event in events] == [5.0, 5.0, 6.0]
    assert events[2]["ap"] == {"limit_packets": 50, "scheme": None}


@pytest.mark.parametrize(
    ("event", "key"),
    [
        ({"at_s": 1, "station": {"name": "upp", "rate_mbps": 1.0}}, "events[1].station.name"),
        ({"at_s": 1, "station": {"rate_mbps": 1.0}}, "events[1].station.name"),
        ({"at_s": 1, "station": {"name": "up", "rate_mbps": 7.0}}, "events[1].station.rate_mbps"),
        ({"at_s": 1, "station": {"name": "up", "rate": 1.0}}, "events[1].station.rate"),
        ({"at_s": 1e9, "ap": {"limit_packets": 1}}, "events[1].at_s"),
        ({"at_s": 1, "flow": {}}, "events[1].flow"),
    ],
)
def test_a_wrong_event_is_refused_where_it_stands(event: dict[str, Any], key: str) -> None:
    first = {"at_s": 0, "station": {"name": "up", "rate_mbps": 5.5}}  # unfolds to two, so that indexes differ
    with pytest.raises(ScenarioError) as caught:
        Scenario(flows=[UP], events=[first, event])
    assert caught.value.key == key


def test_a_station_may_move() -> None:
    scenario = Scenario(
        channel={"path_loss_exponent": 2.5, "fading": {"sigma_db": 4.0, "coherence_time_s": 1.0}},
        ap={"position_m": [1.0, 2.0]},
        flows=[{"direction": "up", "station": {"position_m": [50.0, 0.0], "velocity_m_per_s": [1.0, 0.0]}}],
        events=[{"at_s": 9, "station": {"name": "up", "velocity_m_per_s": [0.0, 0.0]}}],
    )
    plan = scenario.plan()
    assert plan["bss"]["channel"]["path_loss_exponent"] == 2.5
    assert plan["bss"]["ap"]["position_m"] == [1.0, 2.0]
    assert plan["bss"]["stations"][0]["position_m"] == [50.0, 0.0]
    assert plan["events"][0]["station"]["velocity_m_per_s"] == [0.0, 0.0]
    with pytest.raises(ScenarioError) as caught:
        scenario.override({"flows[0].station.position_m": [50.0, "far"]})
    assert caught.value.key == "flows[0].station.position_m[1]"


def test_a_scheme_without_its_acks_is_refused_with_the_remedy() -> None:
    with pytest.raises(ScenarioError) as refused:
        Scenario(flows=[UP], ap={"scheme": "adaptive-pushout"}, mac={"edca": {"tcp_acks": "voice"}})
    assert refused.value.key == "ap.scheme"
    assert "mac.edca.tcp_acks" in str(refused.value)
    assert "ap.categories.best_effort.scheme" in str(refused.value)


def test_a_category_without_edca_is_refused() -> None:
    with pytest.raises(ScenarioError, match=r"mac\.edca"):
        Scenario(flows=[UP], ap={"categories": {"voice": {"limit_packets": 5}}})


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        ({"": 1}, '""'),
        ({"two words": 1}, '"two words"'),
        ({"ap": {"scheme": {"name": ["droptail"]}}}, "ap.scheme"),
        ({"run": {"duration_s": 10**400}}, "run.duration_s"),
        ({"ap": {"limit_packets": 10**400}}, "ap.limit_packets"),
    ],
)
def test_what_fuzzing_found_is_refused_by_key(overrides: dict[str, Any], key: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        Scenario(flows=[UP], **overrides)
    assert refused.value.key == key


@pytest.mark.parametrize(
    ("key", "value", "new"),
    [
        ("station.port.limit_packets", 5, "station.port: tx_queue"),
        ("mac.edca.share_port", "ap", "mac.edca.share_port: share_tx_queue"),
        ("flows[0].server_hears_link_rate", True, "flows[0].server_hears_link_rate: server_notified_of_link_rate"),
    ],
)
def test_a_renamed_key_is_refused_with_its_new_name(key: str, value: object, new: str) -> None:
    with pytest.raises(ScenarioError, match=re.escape(f"{new} is its name now")):
        Scenario(flows=[{"direction": "up"}]).override({key: value}).plan()


def test_limits_of_compared_buffers_are_told_if_they_differ() -> None:
    base = Scenario(flows=[{"direction": "down"}])
    plans = [base.override({"ap.scheme": name}).plan() for name in ("droptail", "red", "fq-codel")]
    assert "100 packets with droptail and red, 10,240 packets with fq-codel" in described(plans)
    sizes = [base.override({"ap.limit_packets": limit}).plan() for limit in (50, 20, 200)]
    assert "20 to 200 packets" in described(sizes)
    slower = Scenario(
        phy={"name": "802.11ax"},
        stations=[{"name": "walks", "mcs": 9}],
        flows=[{"direction": "up", "station": "walks"}],
        events=[{"at_s": 1.0, "station": {"name": "walks", "mcs": 2}}],
    )
    assert "802.11ax, MCS 2 to 9" in described([slower.plan()])
    assert "100 packets" in described(plans[:2])
