"""Several BSSs (docs/neighbours.md), through the user's keys."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import wifair
from wifair import Scenario
from wifair.analysis import explain, explain_groups
from wifair.errors import InputError, ScenarioError
from wifair.observed import as_ap
from wifair.results.results import merged

from docs.figures import tgax_test_4

Table = dict[str, Any]

PAIRS = [["left", "right"], ["left", "c"], ["a", "right"], ["a", "c"]]


def scenario(**keys: Any) -> Scenario:
    """Three BSSs in a row with a station each, of which the outer ones do not receive each other."""
    tables: Table = {
        "run": {"warmup_s": 0.5, "duration_s": 2},
        "phy": {"name": "802.11a"},
        "field": {"hidden": PAIRS, "gains": gains("mine", "left") + gains("mine", "right")},
        "bss": [{"name": "mine"}, {"name": "left", "wire": {"one_way_delay_ms": 20}}, {"name": "right"}],
        "station": {"rate_mbps": 24.0},
        "stations": [{"name": "b"}, {"name": "a", "bss": "left"}, {"name": "c", "bss": "right"}],
        "flows": [
            {"name": f"{station}-{direction}", "station": station, "direction": direction}
            for station in ("b", "a", "c")
            for direction in ("up", "down")
        ],
    }
    return Scenario(**{**tables, **keys})


def gains(a: str, b: str) -> list[Table]:
    """Access points 60 dB apart, as all other nodes are."""
    return [{"between": [a, b], "gain_db": -60.0}]


def test_the_plan_has_the_bsss_in_their_order() -> None:
    plan = scenario(ap={"scheme": "mac80211"}, wire={"rate_mbps": 50.0}).plan()
    assert plan["bss_label"] == "mine"
    assert [station["label"] for station in plan["bss"]["stations"]] == ["b"]
    left, right = plan["neighbours"]
    assert (left["label"], right["label"]) == ("left", "right")
    assert [station["label"] for station in left["stations"]] == ["a"]
    assert left["ap"]["tx_queue"]["scheme"]["name"] == plan["bss"]["ap"]["tx_queue"]["scheme"]["name"] == "mac80211"
    assert left["wire"] == {**plan["wire"], "one_way_delay_ms": 20.0}
    assert right["wire"] is None
    assert plan["bss"]["field"]["hidden"] == PAIRS
    assert plan["bss"]["field"]["gains"][0]["between"] == ["ap", "left"]


def test_a_bss_has_its_own_access_point() -> None:
    bss = [{"name": "mine", "ap": {"scheme": "codel"}}, {"name": "left", "ap": {"limit_packets": 7}}, {"name": "right"}]
    plan = scenario(bss=bss, ap={"scheme": {"name": "red"}, "limit_packets": 50}).plan()
    tx_queues = [plan["bss"]["ap"]["tx_queue"], *(neighbour["ap"]["tx_queue"] for neighbour in plan["neighbours"])]
    assert [tx_queue["scheme"]["name"] for tx_queue in tx_queues] == ["codel", "red", "red"]
    assert [tx_queue["limit_packets"] for tx_queue in tx_queues] == [50, 7, 50]


AX: Table = {"phy": {"name": "802.11ax", "width_mhz": 80}, "station": {"mcs": 3}}
G: Table = {"phy": {"name": "802.11g"}}
ON_CHANNELS = [{"name": "mine", "channel": 36}, {"name": "left", "channel": 40}, {"name": "right", "channel": 36}]


def placed(left: Table, primary: int = 37) -> Table:
    """The three BSSs: 80 MHz, another in the middle."""
    first, last = ({"name": name, "channel": 42} for name in ("mine", "right"))
    return {"bss": [{**first, "primary": primary}, {"name": "left", **left}, last]}


def test_a_bss_has_a_width_and_a_primary_channel() -> None:
    part = {"channel": 46, "width_mhz": 40, "primary": 48}
    plan = scenario(**placed(part, 44), **AX).plan()
    assert (plan["bss"]["phy"]["width_mhz"], plan["bss_channel"], plan["bss_primary"]) == (80, 42, 44)
    assert [{key: of.get(key) for key in part} for of in plan["neighbours"]] == [
        part,
        {"channel": 42, "width_mhz": None, "primary": None},
    ]
    narrow = scenario(**placed(part, 44), **AX).override({"bss[mine].width_mhz": 20, "bss[mine].channel": 44}).plan()
    assert narrow["bss"]["phy"]["width_mhz"] == 20
    assert [of["width_mhz"] for of in narrow["neighbours"]] == [40, 80]


def wide_and_narrow(narrow_mbps: float = 4.0, **changes: Any) -> Scenario:
    """A saturated BSS of 80 MHz, one of 20 MHz on a secondary channel of it with this load, and one out of reach."""
    bss = [
        {"name": "mine", "channel": 42},
        {"name": "left", "channel": 48, "width_mhz": 20, "wire": {}},
        {"name": "right", "channel": 42, "ap": {"position_m": [900, 0]}, "wire": {}},
    ]
    stations = [{"name": "b"}, {"name": "a", "bss": "left"}, {"name": "c", "bss": "right", "position_m": [905, 0]}]
    rates = {"b": 200.0, "a": narrow_mbps, "c": 200.0}
    flows = [
        {"name": f"to-{name}", "station": name, "direction": "down", "application": {"name": "udp", "rate_mbps": rate}}
        for name, rate in rates.items()
    ]
    far = [[one, other] for one in ("mine", "b", "left", "a") for other in ("right", "c")]
    field = {"hidden": far, "gains": gains("mine", "left")}
    return scenario(**{**AX, "bss": bss, "stations": stations, "flows": flows, "field": field, **changes})


def test_a_wide_bss_defers_to_its_secondary_channels() -> None:
    mine, left, right = wide_and_narrow().run(seeds=1).bsss["goodput_down_mbps"]
    assert left == pytest.approx(4.0, rel=0.05), "the narrow BSS gets what it asks for"
    assert mine < 0.95 * right, "as wide as the one out of reach, it waits for its secondary channel"
    both = [wide_and_narrow(200.0, mac={"width": width}).run(seeds=1).bsss for width in ("static", "dynamic")]
    static, dynamic = both
    assert static["busy_own_share"][0] + static["busy_own_share"][1] < 1.05, "they take turns"
    assert min(dynamic["busy_own_share"][:2]) > 0.95, "they send at once: in 40 MHz, and in 20 MHz of the other half"
    assert dynamic["goodput_down_mbps"][0] == pytest.approx(2 * dynamic["goodput_down_mbps"][1], rel=0.02)


def test_dynamic_width_answers_an_rts_in_the_part_that_is_idle() -> None:
    """The access point `mine` does not receive `left` on its secondary channel; its station does."""
    field = {
        "hidden": [[one, other] for one in ("mine", "b", "left", "a") for other in ("right", "c")]
        + [["mine", "left"], ["mine", "a"], ["b", "a"]],
        "gains": gains("b", "left"),
    }
    found = {}
    for width in ("static", "dynamic"):
        plan = wide_and_narrow(30.0, field=field, mac={"width": width, "rts_threshold_bytes": 0})
        found[width] = plan.run(seeds=1).bsss.row(0, named=True)
    assert found["static"]["narrow_cts"] == 0
    assert found["static"]["unanswered_rts"] > 100
    assert found["dynamic"]["narrow_cts"] > 100
    assert found["dynamic"]["unanswered_rts"] < 0.1 * found["static"]["unanswered_rts"]
    assert found["dynamic"]["goodput_down_mbps"] > 2 * found["static"]["goodput_down_mbps"]


def test_a_punctured_ppdu_leaves_out_a_busy_channel() -> None:
    """`left` is always busy in the upper half of 80 MHz: in one channel of 20 MHz of it."""
    found = {}
    for width in ("dynamic", "punctured"):
        plan = wide_and_narrow(200.0, phy={"name": "802.11be", "width_mhz": 80}, mac={"width": width})
        found[width] = plan.run(seeds=1).bsss
    dynamic, punctured = found["dynamic"], found["punctured"]
    assert dynamic["punctured"].sum() == 0
    assert punctured["punctured"][0] > 100
    assert punctured["punctured"][1:].sum() == 0, "no other BSS finds a secondary channel busy"
    assert min(punctured["busy_own_share"][:2]) > 0.95, "they send at once"
    assert punctured["goodput_down_mbps"][1] == pytest.approx(dynamic["goodput_down_mbps"][1], rel=0.03)
    gain = punctured["goodput_down_mbps"][0] / dynamic["goodput_down_mbps"][0]
    assert gain == pytest.approx(702 / 468, rel=0.03), "242 + 484 tones instead of 484"


def test_pairs_of_stations_are_those_of_channels_that_overlap() -> None:
    results = wide_and_narrow().override({"run.duration_s": 1}).run(seeds=1)
    [told, *_] = explain.of_hidden_stations(results)
    assert told.counters["hidden_pairs"] <= told.counters["pairs_of_stations"] == 3


def test_tgax_test_4_without_rts_is_within_5_percent() -> None:
    published, bsss = tgax_test_4.PUBLISHED[False], tgax_test_4.scenario(False).run(seeds=6).bsss
    for name, (mbps, *_) in zip(("wide", "narrow"), published, strict=True):
        assert bsss.filter(bsss["bss"] == name)["goodput_down_mbps"].to_numpy().mean() == pytest.approx(mbps, rel=0.05)


def test_parts_of_a_plan_have_its_subchannels() -> None:
    plan = wide_and_narrow()
    one, two = (plan.run(seeds=[3], threads=threads).bsss for threads in (1, 2))
    assert one.equals(two)


def test_hardware_lies_below_the_scheme_among_neighbours() -> None:
    """A firmware takes packets from the access point's buffer until its airtime is 12 ms, `ath9k` two A-MPDUs, `ideal` none."""
    flows = [
        {
            "name": f"to-{station}",
            "station": station,
            "direction": "down",
            "application": {"name": "udp", "rate_mbps": 200.0},
        }
        for station in "bac"
    ]
    lengths = {}
    for name in ("ideal", "ath9k", "firmware"):
        ap = {"scheme": "mac80211", "hardware": name}
        results = scenario(**{**AX, "ap": ap, "flows": flows, "run": {"warmup_s": 0.5, "duration_s": 2}}).run(seeds=1)
        own = results.of_bss("left")
        lengths[name] = own.queues.filter((pl.col("node") == "ap") & (pl.col("class") == "all"))[
            "sojourn_mean_ms"
        ].item()
        assert own.bsss["goodput_down_mbps"].item() > 1
    assert len(set(lengths.values())) == 3
    assert lengths["firmware"] < lengths["ideal"]


def test_rate_adaptation_follows_interference_among_neighbours() -> None:
    """Two uploads that do not sense each other: to ARF what is lost in overlaps looks like a bad link. `minstrel-ht` compares modes."""
    hidden: Table = {
        "run": {"warmup_s": 0.5, "duration_s": 2},
        "phy": {"name": "802.11a"},
        "field": {"hidden": [["a", "b"]]},
        "station": {"rate_mbps": 24.0},
        "stations": [{"name": "a"}, {"name": "b"}],
        "flows": [
            {"station": name, "direction": "up", "application": {"name": "udp", "rate_mbps": 20.0}} for name in "ab"
        ],
    }
    rates = {}
    for name in ("fixed", "arf", "minstrel-ht"):
        stations = Scenario(**hidden, mac={"rate_adaptation": {"name": name}}).run(seeds=1).stations
        own = stations.filter((pl.col("station") == "a") & (pl.col("direction") == "up"))
        rates[name] = own["link_rate_mbps"].item()
    assert rates["arf"] < 10 < rates["fixed"] == 24 < rates["minstrel-ht"]
    with pytest.raises(ScenarioError, match=r"mac\.rate_adaptation: .*ideal.* with the table field"):
        scenario(mac={"rate_adaptation": {"name": "ideal"}}).run(seeds=1)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        (
            {"ap": {"hardware": "ath9k"}},
            r"ap\.hardware: this key is not allowed; allowed here: no ath9k in a field with subchannels",
        ),
        (
            {"mac": {"rate_adaptation": {"name": "minstrel-ht"}}},
            r"mac\.rate_adaptation: .*fixed in a field with subchannels",
        ),
    ],
)
def test_what_needs_its_width_before_access_is_refused_with_subchannels(changes: Table, told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        wide_and_narrow(**changes).run(seeds=1)


def test_a_bss_has_a_channel() -> None:
    plan = scenario(bss=ON_CHANNELS).plan()
    assert [plan["bss_channel"], *(neighbour["channel"] for neighbour in plan["neighbours"])] == [36, 40, 36]
    moved = scenario(bss=ON_CHANNELS).override({"bss[0].channel": 44}).plan()
    assert moved["bss_channel"] == 44
    without = scenario().plan()
    assert "bss_channel" not in without
    assert all("channel" not in neighbour for neighbour in without["neighbours"])


def test_bsss_on_other_channels_leave_each_other_alone() -> None:
    near = scenario(bss=ON_CHANNELS).run(seeds=1)
    assert near.bsss["channel"].to_list() == [36, 40, 36]
    left = near.bsss.row(1, named=True)
    assert left["busy_others_share"] == left["lost_to_others"] == 0
    assert near.bsss["busy_others_share"][0] > 0.3
    far = scenario(bss=ON_CHANNELS).override({"bss[2].channel": 149}).run(seeds=1)
    assert far.bsss["busy_others_share"].to_list() == [0, 0, 0]
    one = scenario().run(seeds=1)
    assert "channel" not in one.bsss.columns
    assert far.bsss["goodput_up_mbps"].sum() > one.bsss["goodput_up_mbps"].sum()


def test_hidden_pairs_are_those_of_one_channel() -> None:
    hidden = {"hidden": [*PAIRS, ["b", "a"], ["b", "c"]], "gains": []}
    apart = scenario(bss=ON_CHANNELS, field=hidden)
    assert set(apart.hidden_pairs()) == {("b", "c")}
    results = explain.results_of(apart, 1, None, None, None)
    [sentence] = explain.of_hidden_stations(results)
    assert sentence.counters["pairs_of_stations"] == 1


def on(*channels: int | None) -> Table:
    """The three BSSs, each with a channel or none."""
    names = ("mine", "left", "right")
    tables = [{"name": name, "channel": channel} for name, channel in zip(names, channels, strict=True)]
    return {"bss": [{key: value for key, value in table.items() if value is not None} for table in tables]}


def left_with(**keys: Any) -> Table:
    """The three BSSs, the second with these keys of its access point."""
    return {"bss": [{"name": "mine"}, {"name": "left", "ap": keys}, {"name": "right"}]}


def test_one_bss_has_no_others_to_ignore() -> None:
    more: list[Table] = [{}, {"field": {}}]
    for field in more:
        alone: Table = {"phy": {"name": "802.11ax"}, "flows": [{"direction": "up"}], **field}
        with pytest.raises(ScenarioError, match="one BSS") as refused:
            Scenario(**alone, ap={"obss_pd_dbm": -72.0})
        assert refused.value.key == "ap.obss_pd_dbm"


def two_flats(gain_db: float, **ap: Any) -> Scenario:
    """Two BSSs with a download of 50 Mbps each, whose nodes receive each other with this gain, and those of one BSS with -50 dB: each alone has the air for half of the time."""
    nodes = (("mine", "a"), ("next-door", "b"))
    pairs = [{"between": [one, other], "gain_db": gain_db} for one in nodes[0] for other in nodes[1]]
    own = [{"between": list(pair), "gain_db": -50.0} for pair in nodes]
    return Scenario(
        run={"warmup_s": 1, "duration_s": 2},
        phy={"name": "802.11ax", "width_mhz": 20},
        channel={"tx_power_dbm": 20.0},
        field={"gains": pairs + own},
        bss=[{"name": "mine"}, {"name": "next-door"}],
        ap=ap,
        stations=[{"name": "a", "mcs": 7}, {"name": "b", "bss": "next-door", "mcs": 7}],
        flows=[
            {"station": name, "direction": "down", "application": {"name": "udp", "rate_mbps": 50.0}} for name in "ab"
        ],
    )


def test_obss_pd_lets_two_flats_send_at_once() -> None:
    """They receive each other with -70 dBm, 30 dB below their own: each defers to the other, unless it ignores it."""
    without, with_it, weak = (
        two_flats(-90.0, **ap).run(seeds=1).bsss for ap in ({}, {"obss_pd_dbm": -65.0}, {"obss_pd_dbm": -72.0})
    )
    assert without["spatial_reuses"].to_list() == weak["spatial_reuses"].to_list() == [0, 0]
    assert min(with_it["spatial_reuses"]) > 100
    assert without["goodput_down_mbps"].sum() < 90
    assert min(with_it["goodput_down_mbps"]) > 49.9
    assert with_it["mpdus_lost"].sum() == 0
    assert weak["goodput_down_mbps"].to_list() == without["goodput_down_mbps"].to_list()


def test_bsss_of_one_colour_do_not_ignore_each_other() -> None:
    one = two_flats(-90.0, obss_pd_dbm=-65.0, bss_color=5)
    assert one.run(seeds=1).bsss["spatial_reuses"].to_list() == [0, 0]
    assert one.fingerprint() == two_flats(-90.0).fingerprint()
    other = one.override({"bss[next-door].ap.bss_color": 6})
    assert other.fingerprint() == two_flats(-90.0, obss_pd_dbm=-65.0).fingerprint()


def test_the_power_that_obss_pd_gives_up_can_cost_what_it_gains() -> None:
    """At a level of -62 dBm a node has 1 dBm left in an opportunity. With 19 dB less than before, and the other on the air, MCS 7 is out of reach."""
    lost = two_flats(-90.0, obss_pd_dbm=-62.0).run(seeds=1).bsss
    assert min(lost["spatial_reuses"]) > 100
    assert min(lost["lost_to_others"] / lost["spatial_reuses"]) > 0.9
    assert min(lost["mpdus_lost"] / lost["mpdus"]) > 0.2


def test_flows_bring_their_own_stations_into_a_bss() -> None:
    flows = [
        {"name": "mine", "direction": "up"},
        {"name": "theirs", "direction": "down", "count": 2, "station": {"bss": "next-door", "rate_mbps": 6.0}},
    ]
    bss = [{"name": "home"}, {"name": "next-door"}]
    plan = Scenario(phy={"name": "802.11a"}, field={}, bss=bss, flows=flows).plan()
    assert [station["label"] for station in plan["bss"]["stations"]] == ["mine"]
    assert [station["label"] for station in plan["neighbours"][0]["stations"]] == ["theirs-1", "theirs-2"]


def test_one_bss_is_the_scenario_without_the_table() -> None:
    alone = {"phy": {"name": "802.11a"}, "flows": [{"direction": "up"}]}
    assert Scenario(**alone, bss=[{"name": "mine"}]).plan_json == Scenario(**alone).plan_json


@pytest.mark.parametrize(
    ("keys", "key", "told"),
    [
        ({"field": None}, "bss", "field"),
        ({"stations": [{"name": "b"}, {"name": "a", "bss": "lefft"}]}, "stations[1].bss", "left"),
        ({"bss": []}, "stations[1].bss", "no such key"),
        ({"bss": [{"name": "mine"}, {"name": "left"}, {"name": "left"}]}, "stations[2].bss", "left"),
        ({"bss": [{"name": "b"}, {"name": "left"}, {"name": "right"}]}, "bss[0].name", "taken"),
        ({"bss": [{"name": n} for n in ("mine", "left", "right", "attic")]}, "bss[3].name", "no station"),
        (
            {"bss": [{"name": "mine"}, {"name": "left", "ap": {"shceme": "red"}}, {"name": "right"}]},
            "bss[1].ap.shceme",
            "scheme",
        ),
        (
            {"bss": [{"name": "mine"}, {"name": "left", "ap": {"limit_packets": 0}}, {"name": "right"}]},
            "bss[1].ap.limit_packets",
            "1",
        ),
        (
            {"bss": [{"name": "mine"}, {"name": "left", "wire": {"loss_rate": 2.0}}, {"name": "right"}]},
            "bss[1].wire.loss_rate",
            "0",
        ),
        ({"bss": [{"name": "mine"}, {"name": "stations"}, {"name": "right"}]}, "stations[1].bss", "stations"),
        ({"bss": [{"ap": {}}]}, "bss[0].name", "needed"),
        (on(36, None, 36), "bss[1].channel", "each BSS"),
        (on(None, 36, 36), "bss[0].channel", "each BSS"),
        (on(36, 37, 36), "bss[1].channel", "36, 40, 44"),
        (on(36, "36", 36), "bss[1].channel", "whole number"),  # type: ignore[arg-type]
        ({**on(42, 36, 42), **AX}, "bss[1].channel", "42 contains channel 36"),
        ({**on(1, 6, 4), **G}, "bss[2].channel", "1, which another BSS has and 4 overlaps by less than 20 MHz"),
        ({**placed({"channel": 38, "width_mhz": 40}), **AX}, "bss[0].primary", "36, 40, 44, 48"),
        ({**placed({"channel": 38, "width_mhz": 30}, 36), **AX}, "bss[1].width_mhz", "20, 40, 80 or 160"),
        ({**placed({"channel": 42, "width_mhz": 40}, 36), **AX}, "bss[1].channel", "38, 46, 54"),
        (
            {"bss": [{**each, **({"width_mhz": 40} if each["name"] == "left" else {})} for each in ON_CHANNELS]},
            "bss[1].width_mhz",
            "802.11a",
        ),
        ({**placed({"channel": 36, "width_mhz": 20, "primary": 40}, 36), **AX}, "bss[1].primary", "channel 36: 36"),
        (
            {"bss": [{"name": "mine"}, {"name": "left", "width_mhz": 40}, {"name": "right"}], **AX},
            "bss[1].width_mhz",
            "a channel of each",
        ),
        (
            {"bss": [{"name": "mine", "width_mhz": 40}, {"name": "left"}, {"name": "right"}]},
            "bss[0].width_mhz",
            "phy.width_mhz",
        ),
        ({**on(42, 42, 42), **AX, "mac": {"width": "dynamic"}}, "mac.width", "overlap in part"),
        ({**on(42, 42, 42), **AX, "mac": {"width": "punctured"}}, "mac.width", "overlap in part"),
        (
            {**on(42, 42, 42), **AX, "field": {"subchannels": True}, "mac": {"width": "punctured"}},
            "mac.width",
            "static or dynamic",
        ),
        (
            {**on(42, 42, 42), **AX, "field": {"secondary_detection_dbm": -70.0}},
            "field.secondary_detection_dbm",
            "overlap in part",
        ),
        ({"field": {"subchannels": True}}, "field.subchannels", "20 MHz"),
        ({"ap": {"obss_pd_dbm": -72.0}}, "ap.obss_pd_dbm", "802.11ax"),
        (left_with(bss_color=3), "bss[1].ap.bss_color", "802.11ax"),
        ({**left_with(obss_pd_dbm=-60.0), **AX}, "bss[1].ap.obss_pd_dbm", "-82 to -62"),
        ({**left_with(obss_pd_dbm=-83.0), **AX}, "bss[1].ap.obss_pd_dbm", "-82 to -62"),
        ({**left_with(bss_color=64), **AX}, "bss[1].ap.bss_color", "1 to 63"),
        ({**left_with(obs_pd_dbm=-72.0), **AX}, "bss[1].ap.obs_pd_dbm", "obss_pd_dbm"),
        ({"bss": [{"name": "mine", "wires": {}}]}, "bss[0].wires", "wire"),
        ({"ap": {"limit_packets": 0}}, "ap.limit_packets", "1"),
        ({"station": {"rate_mbps": 7.0}}, "stations[0].rate_mbps", "6"),
        ({"events": [{"at_s": 1, "bss": "lefft", "ap": {"limit_packets": 7}}]}, "events[0].bss", "left"),
        ({"events": [{"at_s": 1, "bss": "right", "wire": {"one_way_delay_ms": 1}}]}, "events[0].bss", "separate"),
        ({"field": {"hidden": [["left", "rigth"]]}}, "field.hidden[0]", "right"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_is_refused_by_its_key(keys: Table, key: str, told: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(**keys)
    assert refused.value.key == key
    assert told in str(refused.value)


def test_results_are_by_bss() -> None:
    results = scenario().run(seeds=2)
    assert results.bsss["bss"].unique(maintain_order=True).to_list() == ["mine", "left", "right"]
    of = {name: part for (name,), part in results.bsss.group_by("bss")}
    for name, station in (("mine", "b"), ("left", "a"), ("right", "c")):
        flows = results.flows.filter(pl.col("station") == station)
        assert flows["bss"].unique().to_list() == [name]
        up = flows.filter(pl.col("direction") == "up")
        assert of[name].sort("seed")["goodput_up_mbps"].to_list() == up.sort("seed")["goodput_mbps"].to_list()
        assert results.stations.filter(pl.col("station") == station)["bss"].unique().to_list() == [name]
    nodes = dict(results.queues.select("node", "bss").unique().iter_rows())
    assert nodes == {
        "ap": "mine", "stations": "mine", "left": "left", "left/stations": "left", "right": "right", "right/stations": "right",
    }  # fmt: skip
    # The one in the middle hears both; the outer ones hear it alone.
    middle, left = (float(of[name]["goodput_up_mbps"].sum()) for name in ("mine", "left"))
    assert middle < 0.5 * left
    assert of["mine"]["busy_others_share"].min() > of["left"]["busy_others_share"].max()  # type: ignore[operator]
    alone = scenario(bss=[], field=None, stations=[{"name": "b"}], flows=[{"station": "b", "direction": "up"}]).run(1)
    assert "bss" not in alone.stations.columns
    assert "bsss" not in alone.frames
    both = merged([results, alone])
    assert both.stations["bss"].null_count() == 2


def test_compare_changes_the_scheme_of_the_first_bss() -> None:
    compared = wifair.compare(scenario(), ["droptail", "codel"], seeds=1)
    plans = [cell.scenario.plan() for cell in compared.cells]
    assert [plan["bss"]["ap"]["tx_queue"]["scheme"]["name"] for plan in plans] == ["droptail", "codel"]
    assert {n["ap"]["tx_queue"]["scheme"]["name"] for plan in plans for n in plan["neighbours"]} == {"droptail"}


def test_a_key_of_a_bss_can_be_overridden() -> None:
    changed = scenario().override({"bss[1].ap.scheme": "codel", "bss[2].ap.limit_packets": 9}).plan()
    assert changed["neighbours"][0]["ap"]["tx_queue"]["scheme"]["name"] == "codel"
    assert changed["neighbours"][1]["ap"]["tx_queue"]["limit_packets"] == 9


def test_an_event_changes_the_access_point_of_its_bss() -> None:
    events = [{"at_s": 1.0, "bss": name, "ap": {"limit_packets": 7}} for name in ("mine", "right")]
    run = {"warmup_s": 0.5, "duration_s": 1.5, "sample_interval_s": 0.5}
    series = scenario(run=run, events=events).run(1).frames["series"].filter(pl.col("metric") == "limit_packets")
    last = {name: part["value"].to_list()[-1] for (name,), part in series.group_by("entity", maintain_order=True)}
    assert last["ap"] == last["right"] == 7
    assert last["left"] > 7


def test_explain_names_hidden_stations_and_shares_of_all_bsss() -> None:
    given = scenario()
    assert given.hidden_pairs() == {("a", "c"): (False, False)}
    results = explain.results_of(given, 1, None, None, None)
    told = [sentence.text for sentence in explain_groups.lead(results, explain_groups.groups(results))]
    assert "a and c do not sense each other's frames." in told
    assert [text.partition(":")[0] for text in told if "other BSSs. Of" in text] == ["mine", "left", "right"]
    assert explain.explain(results)


def test_event_logs_name_the_nodes_of_all_bsss(tmp_path: Path) -> None:
    from wifair.study.traces import Traces

    scenario(run={"warmup_s": 0, "duration_s": 0.5}).run(1, traces=Traces(events=tmp_path))
    events = pl.read_parquet(tmp_path / "seed-1" / "events" / "*.parquet")
    sent = events.filter(pl.col("event") == "exchange")
    assert set(sent["node"]) == {"ap", "left", "right", "a", "b", "c"}
    assert set(sent.filter(pl.col("node") == "left")["station"]) == {"a"}
    assert set(events.filter(pl.col("node") == "right")["flow"]) == {"c-up", "c-down"}


def test_the_survey_of_the_first_access_point_has_the_time_of_its_neighbours(tmp_path: Path) -> None:
    results = scenario().run(seeds=1)
    as_ap.write(results, tmp_path)
    [busy] = re.findall(r"channel busy time:\s+(\d+) ms", (tmp_path / "seed-1" / "survey.txt").read_text())
    own, others = results.bsss.row(0, named=True)["busy_own_share"], results.bsss["busy_others_share"][0]
    assert others > 0.3
    assert int(busy) == pytest.approx(2000 * (own + others), abs=1)
    dump = (tmp_path / "seed-1" / "station.txt").read_text()
    assert dump.count("Station ") == 1  # its own


def test_commands_for_one_bss_say_so() -> None:
    with pytest.raises(InputError, match=r"bss.*one BSS"):
        wifair.judge(scenario(), ["codel"], seeds=2)


def test_the_flat_in_the_middle_starves() -> None:
    run = {"run.warmup_s": 1, "run.duration_s": 4}
    rows = wifair.load("neighbours").override(run).run(seeds=1).bsss
    mine, *others = rows.select("bss", pl.col("goodput_down_mbps") + pl.col("goodput_up_mbps")).iter_rows()
    assert mine[0] == "mine"
    assert all(mine[1] < 0.1 * other for _, other in others)


def test_beacons_of_neighbours_have_offsets(tmp_path: Path) -> None:
    """On an idle medium a beacon begins at its target time."""
    from wifair.study.traces import Traces

    late = [{"name": name, "station": name, "direction": "up", "start_s": 1.999} for name in ("a", "b", "c")]
    plan = scenario(run={"warmup_s": 0, "duration_s": 1.998}, mac={"beacons": {}}, flows=late)
    bsss = plan.run(1, traces=Traces(events=tmp_path)).bsss
    log = pl.read_parquet(tmp_path / "seed-1" / "events" / "*.parquet").filter(event="beacon", detail="sent")
    interval_ns = 102_400_000
    offsets = [log.filter(node=node)["time_ns"].to_numpy() % interval_ns for node in ("ap", "left", "right")]
    assert [len(set(of_one)) for of_one in offsets] == [1, 1, 1], "always the same"
    first, *others = (of_one[0] for of_one in offsets)
    assert first == 0
    assert len({0, *others}) == 3, "the others have others"
    assert set(bsss["beacons"]) <= {19, 20}
    assert bsss["beacons"].to_list() == [len(of_one) for of_one in offsets]
    assert set(bsss["beacons_collided"]) == set(bsss["beacons_missed"]) == {0}
    length_us = 20 + 4 * -(-(22 + 8 * 300) // 24)
    assert bsss["beacon_share"].to_list() == pytest.approx([count * length_us / 1.998e6 for count in bsss["beacons"]])


def test_stations_miss_beacons_that_hidden_transmitters_disturb() -> None:
    """The station in the middle receives the outer access points, which do not sense each other, nor its own beacons."""
    results = scenario(mac={"beacons": {"interval_tu": 10}}).run(seeds=1)
    bsss = results.bsss
    assert min(bsss["beacons"]) > 150, "each waits at most for its turn"
    assert bsss["beacons_collided"].to_list() == bsss["beacons_missed"].to_list(), "one station each"
    hidden = scenario(mac={"beacons": {"interval_tu": 10}}, field={"hidden": [["mine", "left"], ["mine", "a"]]})
    missed = hidden.run(seeds=1).bsss["beacons_missed"]
    assert missed[0] > 2 * bsss["beacons_missed"][0], "left does not sense the beacons of mine"
    told = [sentence.text for sentence in explain_groups.lead(results, explain_groups.groups(results))]
    assert sum("Its beacons take" in text for text in told) == 3


def test_beacons_do_not_depend_on_threads(tmp_path: Path) -> None:
    """The parts of a plan are simulated side by side, or with a log of events in one piece."""
    from wifair.study.traces import Traces

    plan = wide_and_narrow(mac={"beacons": {"interval_tu": 20}})
    parts = plan.run(seeds=[3], threads=2).bsss
    assert parts.equals(plan.run(seeds=[3], traces=Traces(events=tmp_path)).bsss)
    assert min(parts["beacons"]) > 90
    collided, sent = (int(parts[column].sum()) for column in ("beacons_collided", "beacons"))
    assert collided < 0.2 * sent
