"""Commands for one BSS among several: whose flows are judged, what is changed, and what the others get."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from wifair import Results, Scenario, Sweep, Tuning, compare, floor_plan, side_effects, toml_text
from wifair.advising import OWN, Advice, Advising, commands, wording
from wifair.advising.changes import settable
from wifair.advising.channels import NUMBERS, Channel, candidates
from wifair.advising.document import document
from wifair.cli import field
from wifair.errors import InputError, ScenarioError
from wifair.everything.criteria import criteria, measured
from wifair.everything.side_effects import METRICS, OTHERS, sentences
from wifair.everything.verdict import Standing
from wifair.papers.runs import Runs
from wifair.planned import part
from wifair.scenario.described import described
from wifair.tuning.goals import parsed

# Two flats in a row on one channel, and one on another.
ROW: dict[str, Any] = {
    "model": "flats-in-a-row",
    "channels": [42, 106],
    "assign": "in-turn",
    "stations": 3,
    "load": 4,
    "own": 1,
}
RUN = {"warmup_s": 1, "duration_s": 3}


@pytest.fixture(scope="module")
def row() -> Scenario:
    return Scenario(title="row", run=RUN, building=ROW, ap={"scheme": "droptail", "limit_packets": 300})


@pytest.fixture(scope="module")
def results(row: Scenario) -> Results:
    sampled = row.override({"run.sample_interval_s": 0.5, "run.state_interval_s": 0.1})
    return sampled.run(seeds=3)


def test_the_tables_of_a_bss_have_its_rows_alone(results: Results) -> None:
    assert results.bss_names == ["mine", "flat-2", "flat-3"]
    theirs = results.of_bss("flat-2")
    assert theirs.bss_names == ["flat-2"]
    labels = set(theirs.flows["label"])
    assert labels
    assert all(label.startswith("flat-2-") for label in labels)
    assert set(theirs.datagrams["label"]) < labels
    assert set(theirs.transfer_groups["group"]) < labels
    assert set(theirs.transfers["label"]) < labels
    assert set(theirs.frames["states"]["label"]) < labels
    own = {entity.partition("/")[0] for entity in theirs.frames["series"]["entity"]}
    assert own <= labels | set(theirs.stations["station"]) | {"ap", "stations"}
    assert {"ap"} < own
    assert {node.partition("/")[0] for node in theirs.queues["node"]} == {"ap", "stations"}


def test_the_parts_make_up_the_whole(results: Results) -> None:
    mine, others = results.of_bss("mine"), results.of_others("mine")
    assert set(others.flows["bss"]) == {"flat-2", "flat-3"}
    total = mine.metrics["total_mbps"] + others.metrics["total_mbps"]
    assert total.to_list() == pytest.approx(results.metrics["total_mbps"].to_list())
    for table in ("flows", "stations", "queues", "datagrams", "transfers", "transfer_groups", "series", "states"):
        heights = [part.frames[table].height for part in (mine, others, results)]
        assert heights[0] + heights[1] == heights[2], table
    assert {node.partition("/")[0] for node in others.queues["node"]} == {"flat-2", "flat-3"}
    assert others.metrics["ap_sojourn_mean_ms"].null_count() == 3
    assert others.metrics["collision_ratio"].null_count() == 3


def test_the_first_bss_keeps_what_runs_say_of_it(results: Results) -> None:
    mine = results.of_bss("mine")
    for metric in ("ap_sojourn_mean_ms", "collision_ratio", "wire_down_wait_mean_ms", "ap_loss_ratio"):
        assert mine.metrics[metric].to_list() == results.metrics[metric].to_list(), metric
    theirs = results.of_bss("flat-3").metrics
    rows = results.bsss.filter(results.bsss["bss"] == "flat-3")
    assert theirs["collision_ratio"].to_list() == rows["collision_ratio"].to_list()
    assert theirs["wire_down_wait_mean_ms"].to_list() == rows["wire_down_wait_mean_ms"].to_list()


def test_metrics_of_a_bss_on_its_own_channel_are_those_that_it_has_alone(row: Scenario) -> None:
    """The flat in the middle has a channel to itself, so its neighbours change nothing for it."""
    other = row.override({"bss[mine].ap.scheme": "codel", "bss[flat-3].ap.limit_packets": 20})
    before, after = (scenario.run(seeds=2) for scenario in (row, other))
    assert before.of_bss("flat-2").metrics.equals(after.of_bss("flat-2").metrics)
    assert not before.of_bss("flat-3").metrics.equals(after.of_bss("flat-3").metrics)


def test_an_unknown_bss_is_refused_with_the_nearest_name(results: Results) -> None:
    with pytest.raises(InputError, match=r"no BSS 'flat2'. Did you mean flat-2\?"):
        results.of_bss("flat2")
    with pytest.raises(InputError, match="Did you mean mine"):
        results.of_others("mien")
    alone = Scenario(run=RUN, flows=[{"direction": "up"}]).run(seeds=1)
    assert alone.bss_names == []
    with pytest.raises(InputError, match="no scenario has several"):
        alone.of_bss("mine")


def test_the_criteria_of_a_bss_are_those_of_its_applications(row: Scenario, results: Results) -> None:
    plan = part(row.plan(), ["flat-2"])
    assert [flow["label"] for flow in plan["flows"]] == list(dict.fromkeys(results.of_bss("flat-2").flows["label"]))
    assert plan["bss"]["ap"] == row.plan()["neighbours"][0]["ap"]
    assert "neighbours" not in plan
    found = [each.id for each in criteria(plan)]
    assert "call" in found
    values = measured(plan, Runs.of(results.of_bss("flat-2")).cell())
    worst = results.of_bss("flat-2").metrics["mos_least"].to_list()
    assert values["call"].tolist() == pytest.approx(worst, rel=1e-5)


def test_part_keeps_the_events_of_its_bsss() -> None:
    events = [
        {"at_s": 1, "bss": "flat-2", "ap": {"scheme": "codel"}},
        {"at_s": 2, "ap": {"scheme": "codel"}},
        {"at_s": 2, "station": {"name": "flat-3-laptop", "mcs": 3}},
    ]
    plan = Scenario(run=RUN, building=ROW, events=events).plan()
    assert [[event["at_s"] for event in part(plan, [name])["events"]] for name in ("mine", "flat-2", "flat-3")] == [
        [2],
        [1],
        [2],
    ]


def test_schemes_are_compared_at_the_access_point_of_the_bss(row: Scenario) -> None:
    found = compare(row, ["droptail", "mac80211"], seeds=2, bss="flat-3")
    plan = found.cells[1].scenario.plan()
    schemes = [plan["bss"], *plan["neighbours"]]
    assert [bss["ap"]["tx_queue"]["scheme"]["name"] for bss in schemes] == ["droptail", "droptail", "mac80211"]
    with pytest.raises(InputError, match=r"bss: no BSS is called 'flat'; did you mean flat-\d\?"):
        compare(row, seeds=2, bss="flat")


def test_a_limit_controller_of_one_access_point_leaves_the_others_as_they_are(row: Scenario) -> None:
    plan = compare(row, ["alt"], seeds=1, bss="mine").cells[0].scenario.plan()
    assert plan["bss"]["ap"]["tx_queue"]["limit_controller"]["name"] == "alt"
    assert [each["ap"]["tx_queue"]["limit_controller"] for each in plan["neighbours"]] == [None, None]


def moved(row: Scenario) -> Results:
    """The first flat with a small buffer and a small one on the channel of the second."""
    from wifair.study import Cell, Study

    cells = [Cell("as it is", row), Cell("moved", row.override({"bss[mine].channel": 106}))]
    return Study(cells, 4).run()


def test_side_effects_are_those_of_the_others(row: Scenario) -> None:
    found = moved(row)
    rows = side_effects(found, "mine")
    assert [row["bss"] for row in rows] == sorted(
        [row["bss"] for row in rows], key=["the others", "flat-2", "flat-3"].index
    )
    assert {row["bss"] for row in rows} == {OTHERS, "flat-2", "flat-3"}
    assert {row["metric"] for row in rows} <= set(METRICS)
    values = {name: found.of_bss("flat-2").interval(name, "total_mbps").estimate for name in ("as it is", "moved")}
    [total] = [row for row in rows if row["bss"] == "flat-2" and row["metric"] == "total_mbps"]
    assert total["difference"] == pytest.approx(values["moved"] - values["as it is"])
    assert total["matters"] == pytest.approx(0.05 * values["as it is"])


def test_a_neighbour_that_loses_is_named() -> None:
    def row(bss: str, difference: float, p: float = 0.001) -> dict[str, Any]:
        ends = {"ci_low": difference - 0.1, "ci_high": difference + 0.1, "p_holm": p, "matters": 0.5, "runs": 9}
        told = {"bss": bss, "scenario": "new", "against": "old", "metric": "transfer_mean_s", "identical": False}
        return {**told, "difference": difference, **ends}

    pair = [("new", "old")]
    names = {"new": "channel 106", "old": "as it is"}
    [told] = sentences([row(OTHERS, 0.2), row("left", 0.9), row("right", -0.7)], pair, names)
    assert told == (
        "The others (2 BSSs), channel 106 against as it is: transfer time +0.2 s [+0.1, +0.3]. Of them lose: left (transfer time "
        "+0.9 s [+0.8, +1]); gain: right (transfer time -0.7 s [-0.8, -0.6])."
    )
    small = [row(OTHERS, 0.2), row("left", 0.4), row("right", 0.9, p=0.2)]
    assert "none is shown to lose or to gain by what matters" in sentences(small, pair, names)[0]


# Paths


def test_entries_of_lists_have_names_in_paths(row: Scenario) -> None:
    changed = row.override(
        {"bss[flat-3].channel": 106, "stations[laptop].mcs": 2, "flows[television-film].direction": "up"}
    )
    plan = changed.plan()
    assert plan["neighbours"][1]["channel"] == 106
    [laptop] = [station for station in plan["bss"]["stations"] if station["label"] == "laptop"]
    assert laptop["mcs"] == 2
    assert plan["flows"][0]["direction"] == "up"
    with pytest.raises(
        ScenarioError, match=r"no entry 'flat3'; did you mean flat-3\? Allowed here: 0 to 2, or a name: mine"
    ):
        row.override({"bss[flat3].channel": 106})


def test_what_holds_over_a_drawing_is_kept_when_the_building_changes(row: Scenario) -> None:
    changed = row.override({"bss[mine].channel": 106}).override({"building.load": 1}).override({"bss[0].channel": 42})
    assert changed.plan()["bss_channel"] == 42
    assert row.override({"bss[mine].channel": 106}).override({"building.load": 1}).plan()["bss_channel"] == 106
    assert changed.settings()["building"]["set"] == {"bss[mine].channel": 106, "bss[0].channel": 42}
    assert changed.override({"bss[mine].channel": 106}).plan()["bss_channel"] == 106
    with pytest.raises(ScenarioError, match=r"building\.set"):
        row.override({"building.set": 3})


# Commands

FILE = """
title = "row"
[run]
warmup_s = 1
duration_s = 3
[building]
model = "flats-in-a-row"
channels = [42, 106]
assign = "in-turn"
stations = 5
own = 1
[ap]
scheme = "droptail"
default_limit_packets = 300
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "row.toml"
    path.write_text(FILE, encoding="utf-8")
    assert tomllib.loads(FILE)
    return str(path)


@pytest.mark.whole
def test_run_shows_one_bss(here: Cli, file: str) -> None:
    told = here("run", file, "--seeds", "2")
    assert told.returncode == 0, told.stderr
    assert "flat-2 " in told.stdout, "each BSS has a line"
    assert "television-film" in told.stdout
    assert "flat-2-television-film" not in told.stdout
    assert (
        "the flows are those of mine; --bss NAME shows those of another BSS: flat-2, flat-3; --verbose" in told.stderr
    )
    assert "flat-2-television-film" in here("run", file, "--seeds", "2", "--verbose").stdout
    theirs = here("run", file, "--seeds", "2", "--bss", "flat-2", "--scheme", "mac80211")
    assert "mac80211 of flat-2; " in " ".join(theirs.stdout.split())
    assert "flat-2-television-film" in theirs.stdout
    assert "  television-film" not in theirs.stdout
    found = json.loads(here("run", file, "--seeds", "2", "--bss", "flat-2", "--json").stdout)
    assert found["bss"] == "flat-2"
    assert {row["flow"].partition("-")[0] for row in found["flows"]} == {"flat"}


@pytest.mark.whole
@pytest.mark.parametrize("command", ["run", "explain", "compare"])
def test_a_wrong_name_is_refused(here: Cli, file: str, command: str) -> None:
    told = here(command, file, "--bss", "flat2")
    assert told.returncode == 2
    assert "--bss" in told.stderr or "bss:" in told.stderr
    assert "did you mean flat-2? Allowed here: mine, flat-2, flat-3." in told.stderr
    alone = here(command, "cafe", "--bss", "mine")
    assert alone.returncode == 2
    assert "the scenario has one BSS" in alone.stderr


@pytest.mark.whole
def test_explain_explains_one_bss(here: Cli, file: str) -> None:
    told = here("explain", file, "--seeds", "1", "--bss", "flat-3")
    assert "flat-3: its frames are on the air" in told.stdout
    assert "flat-3-television-film" in told.stdout
    assert "flat-2" not in told.stdout.split("\n\n", 1)[1]


@pytest.mark.whole
def test_compare_judges_one_bss_and_shows_the_others(here: Cli, file: str) -> None:
    told = here("compare", file, "--seeds", "3", "--bss", "flat-3")
    assert told.returncode == 0, told.stderr
    assert "The scheme is that of flat-3; its neighbours keep theirs." in told.stdout
    assert "of mine" not in told.stdout, "the heading is about the access point of flat-3, whose scheme varies"
    assert "The others (2 BSSs). Mean" in told.stdout
    assert "The others (2 BSSs), mac80211 against droptail" in " ".join(told.stdout.split())
    assert "judged are" not in told.stderr
    whole = here("compare", file, "--seeds", "3")
    assert "judged are the flows of all 3 BSSs together; --bss mine judges those of mine alone." in whole.stderr
    found = json.loads(here("compare", file, "--seeds", "3", "--bss", "flat-3", "--json").stdout)
    assert {row["bss"] for row in found["others"]} == {"the others", "mine", "flat-2"}
    for option in ("--judge", "--all"):
        refused = here("compare", *([] if option == "--all" else [file]), option, "--bss", "mine")
        assert refused.returncode == 2
        assert "--bss" in refused.stderr


STUDY = """
scenario = "row.toml"
replications = 2
metrics = ["total_mbps", "delay_p95_ms"]
compare = "bss[mine].channel"
[product]
"bss[mine].channel" = [42, 106]
building.load = [1, 2]
"""


@pytest.mark.whole
def test_a_study_varies_what_a_building_draws(here: Cli, file: str, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY, encoding="utf-8")
    loaded = Sweep.from_toml(study, bss="mine")
    assert [cell.scenario.plan()["bss_channel"] for cell in loaded.cells] == [42, 42, 106, 106]
    results = loaded.run()
    assert loaded.differences(results)[0]["metric"] == "total_mbps"
    assert loaded.judged(results).bss_names == ["mine"]
    store = str(tmp_path / "store")
    told = here("sweep", str(study), "--bss", "mine", "--store", store)
    assert told.returncode == 0, told.stderr
    headings = " ".join(told.stdout.split())
    assert "the others: total" in headings or "the others:" in headings
    found = json.loads(
        here("sweep", str(study), "--bss", "flat-2", "--schemes", "codel", "--store", store, "--json").stdout
    )
    assert found["bss"] == "flat-2"
    assert {row["metric"] for row in found["others"]} == {"total_mbps", "transfer_mean_s", "delay_p95_ms", "mos_least"}
    assert all("bss[flat-2].ap.scheme" in cell["keys"] for cell in found["scenarios"])
    refused = here("sweep", str(study), "--bss", "mien", "--store", store)
    assert "bss: no BSS is called 'mien'; did you mean mine?" in refused.stderr
    study.write_text(f'bss = "flat-3"\n{STUDY}', encoding="utf-8")
    assert Sweep.from_toml(study).bss == "flat-3"


@pytest.mark.whole
def test_tune_searches_for_one_bss(row: Scenario) -> None:
    pytest.importorskip("optuna")
    over = {"bss[mine].channel": [42, 106], "bss[mine].ap.limit_packets": [20, 300]}
    tuning = Tuning(row, over, "delay_p95_ms", seeds=2, runs=30, batch=2, bss="mine")
    tuned = tuning.run()
    judged = tuned.judged
    assert judged is not None
    assert judged.bss_names == ["mine"]
    start = tuned.points[0]
    mine = row.run(seeds=2).of_bss("mine").metrics["delay_p95_ms"].to_list()
    assert start.values[:, 0].tolist() == mine
    assert {row["bss"] for row in tuned.side_effects()} == {OTHERS, "flat-2", "flat-3"}
    assert {row["bss"] for row in tuned.to_dict()["others"]} == {OTHERS, "flat-2", "flat-3"}
    with pytest.raises(InputError, match="bss: no BSS is called"):
        Tuning(row, over, "delay_p95_ms", bss="nobody")


@pytest.mark.whole
def test_tune_says_whose_goals_they_are(here: Cli, file: str, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    options = ["--over", "bss[mine].channel=42,106", "--goal", "delay_p95_ms", "--seeds", "2", "--runs", "30"]
    told = here("tune", file, *options, "--bss", "mine", "--store", str(tmp_path / "store"))
    assert told.returncode == 0, told.stderr
    assert "by lowest delay_p95_ms of mine" in " ".join(told.stdout.split())
    whole = here("tune", file, *options, "--store", str(tmp_path / "store"))
    assert "judged are the flows of all 3 BSSs together" in whole.stderr


# Advice

LOADED = {**ROW, "stations": 5, "load": 8}


def advised(bss: str = "mine", has: str = "openwrt", wants: str = "calls", **building: Any) -> Advising:
    scenario = Scenario(
        run={"warmup_s": 0.5, "duration_s": 2},
        building={**LOADED, **building},
        ap={"scheme": "droptail", "limit_packets": 300},
    )
    return Advising(scenario, parsed(wants), has, bss=bss)


def names_of(advising: Advising) -> dict[str, Any]:
    return {change.name: dict(change.settings) for change in advising.settable}


@pytest.mark.whole
def test_changes_are_those_of_one_access_point() -> None:
    found = names_of(advised("flat-2"))
    assert found["channel 42"] == {"bss[flat-2].channel": 42}
    assert found["channel 155"] == {"bss[flat-2].channel": 155}
    assert found["17 dBm"] == {"bss[flat-2].ap.tx_power_dbm": 17.0}
    assert found["codel, 1000 packets"] == {"bss[flat-2].ap.scheme": "codel", "bss[flat-2].ap.limit_packets": 1000}
    assert "channel 106" not in found, "its own"
    assert not any("CWmin" in name or "TXOP" in name for name in found)
    changed = advised("flat-2").settable[0].applied(advised("flat-2").scenario).plan()
    assert changed["bss"] == advised().scenario.plan()["bss"]
    linux = advised("flat-2", has="any").unsettable[0].applied(advised("flat-2").scenario).plan()
    assert linux["neighbours"][0]["ap"] != advised().scenario.plan()["neighbours"][0]["ap"]
    assert linux["neighbours"][1]["ap"] == advised().scenario.plan()["neighbours"][1]["ap"]


def test_limits_of_what_all_access_points_have_are_changed_at_one(row: Scenario) -> None:
    both = row.override({"ap.scheme": "mac80211", "ap.hardware": "firmware"})
    names = {change.name for change in settable(both, "openwrt", "mine")}
    assert {"AQL of 2.5 to 6 ms", "quantum of 1514 bytes"} <= names
    changed = both.override({"bss[mine].ap.hardware.aql_low_us": 2500, "bss[mine].ap.hardware.aql_high_us": 6000})
    plan = changed.plan()
    own, others = plan["bss"]["ap"]["hardware"], [each["ap"]["hardware"] for each in plan["neighbours"]]
    assert (own["name"], own["aql_low_us"]) == ("firmware", 2500)
    assert all(each == both.plan()["bss"]["ap"]["hardware"] for each in others)
    with pytest.raises(ScenarioError, match="aql_lo"):
        both.override({"bss[mine].ap.hardware.aql_lo_us": 2500}).plan()


def test_of_the_channels_that_nobody_has_one_is_tried() -> None:
    tried = [name for name in names_of(advised(channels=[42, 155])) if name.startswith("channel")]
    assert tried == ["channel 155", "channel 58"], "58 has radar, and 171 is not allowed in most countries"
    assert not [name for name in names_of(advised(channels="one")) if name.startswith("channel")]


def test_a_channel_is_as_wide_as_that_of_its_bss_and_moves_the_primary_one() -> None:
    bss = [
        {"name": "mine", "channel": 42, "primary": 44},
        {"name": "left", "channel": 38, "width_mhz": 40},
        {"name": "right", "channel": 155},
    ]
    stations = [{"name": f"at-{each['name']}", "bss": each["name"], "mcs": 3} for each in bss]
    flows = [{"station": each["name"], "direction": "down", "application": "voip"} for each in stations]
    phy = {"name": "802.11ax", "width_mhz": 80}
    scenario = Scenario(phy=phy, field={}, bss=bss, stations=stations, flows=flows)
    there = {each.number: each.others for each in candidates(scenario.plan(), "left")}
    assert (there[46], there[54], there[151]) == (("mine",), (), ("right",)), "of 40 MHz"
    assert {each.number: each.others for each in candidates(scenario.plan(), "right")}[42] == ("mine", "left")
    tried = names_of(Advising(scenario, parsed("calls"), "openwrt", bss="mine"))
    assert tried["channel 155"] == {"bss[mine].channel": 155, "bss[mine].primary": 149}
    assert "40 to 80 MHz" in ", ".join(described([scenario.plan()]))
    _, rows = field.table(floor_plan.of_scenario(scenario))
    assert [row[:3] for row in rows] == [("mine", "42", "80"), ("left", "38", "40"), ("right", "155", "80")]


@pytest.mark.parametrize(
    ("has", "phy", "chosen", "do"),
    [
        ("linux", "802.11ac", Channel(5.0, 80, 155), ["channel=149", "vht_oper_centr_freq_seg0_idx=155"]),
        (
            "linux",
            "802.11be",
            Channel(5.0, 80, 106),
            [
                "channel=100",
                "vht_oper_centr_freq_seg0_idx=106",
                "he_oper_centr_freq_seg0_idx=106",
                "eht_oper_centr_freq_seg0_idx=106",
                "ieee80211d=1",
                "ieee80211h=1",
            ],
        ),
        ("linux", "802.11ax", Channel(6.0, 160, 47), ["channel=33", "he_oper_centr_freq_seg0_idx=47"]),
        ("linux", "802.11n", Channel(2.4, 20, 6), ["channel=6"]),
        ("linux", "802.11n", Channel(5.0, 40, 38), ["channel=36"]),
    ],
)
def test_a_channel_is_set_in_hostapd(has: Any, phy: str, chosen: Channel, do: list[str]) -> None:
    told = commands.channel(has, phy, chosen)
    assert [line.partition("'")[2].partition("'")[0] for line in told.do if line.startswith("echo")] == do
    assert (
        told.do[0]
        == "[ -e /etc/hostapd/hostapd.conf.before ] || cp /etc/hostapd/hostapd.conf /etc/hostapd/hostapd.conf.before"
    )
    assert told.undo[0] == "mv /etc/hostapd/hostapd.conf.before /etc/hostapd/hostapd.conf"
    assert told.lasting


def test_channel_and_power_are_set_with_uci_and_iw() -> None:
    told = commands.channel("openwrt", "802.11ax", Channel(5.0, 80, 155))
    assert told.do == (
        "[ -e /root/wireless.before ] || cp /etc/config/wireless /root/wireless.before",
        "uci set wireless.radio0.channel='149'",
        "uci commit wireless",
        "wifi reload",
    )
    assert told.undo == ("mv /root/wireless.before /etc/config/wireless", "wifi reload")
    assert "uci set wireless.radio0.txpower='17'" in commands.power("openwrt", 17.0, 20.0).do
    told = commands.power("linux", 17.0, 20.0)
    assert (told.do, told.undo) == (("iw dev wlan0 set txpower fixed 1700",), ("iw dev wlan0 set txpower fixed 2000",))


def test_every_channel_of_the_tables_is_one_of_the_engine() -> None:
    phys = {2.4: "802.11n", 5.0: "802.11ac", 6.0: "802.11be"}
    for (band_ghz, width_mhz), numbers in NUMBERS.items():
        for number in (numbers[0], numbers[-1]):
            bss = [{"name": name, "channel": number} for name in ("mine", "other")]
            stations = [{"name": f"at-{each['name']}", "bss": each["name"]} for each in bss]
            flows = [{"station": each["name"], "direction": "up", "name": f"{each['name']}-up"} for each in stations]
            phy = {"name": phys[band_ghz], "band_ghz": band_ghz, "width_mhz": width_mhz}
            plan = Scenario(phy=phy, field={}, bss=bss, stations=stations, flows=flows, station={"mcs": 3}).plan()
            [first, *_] = candidates(plan, "mine")
            assert (first.band_ghz, first.width_mhz) == (band_ghz, width_mhz)


# Mine shares a channel with the left neighbour; the right one has a channel of its own. All upload.
THREE: dict[str, Any] = {
    "run": {"warmup_s": 0.5, "duration_s": 1.5},
    "phy": {"name": "802.11a"},
    "field": {},
    "bss": [{"name": name, "channel": channel} for name, channel in (("mine", 36), ("left", 36), ("right", 40))],
    "stations": [{"name": f"at-{name}", "bss": name} for name in ("mine", "left", "right")],
    "flows": [
        {"name": f"{name}-upload", "station": f"at-{name}", "direction": "up"} for name in ("mine", "left", "right")
    ],
}


@pytest.fixture(scope="module")
def advice() -> Advice:
    return Advising(Scenario(**THREE), parsed("total"), "openwrt", bss="mine").run()


@pytest.mark.whole
def test_advice_is_by_the_goals_of_one_bss(advice: Advice) -> None:
    assert advice.best is not None
    assert advice.best.name == "channel 44"
    assert advice.standing(advice.best) is Standing.BETTER
    mine = advice.scenario.run(seeds=6).of_bss("mine")
    assert advice.searched[OWN]["total_mbps"][:6].tolist() == mine.metrics["total_mbps"].to_list()
    assert 1.7 < advice.effect(advice.best, advice.criteria[0]).estimate < 2.3, (
        "half of a channel before, and all of it now"
    )
    assert "total" in wording.headline(advice)
    assert wording.headline(advice).endswith("The other BSSs: gain: left.")
    assert "for all BSSs" in wording.not_tried(advice)


@pytest.mark.whole
def test_advice_shows_what_the_others_pay(advice: Advice) -> None:
    """On the channel of the right neighbour, mine has as much as before, the left has more and the right less."""
    assert advice.best is not None
    gains = [row for row in advice.side_effects(advice.best) if row["bss"] in ("left", "right")]
    total = {row["bss"]: row["difference"] / row["reference"] for row in gains if row["metric"] == "total_mbps"}
    assert total["left"] == pytest.approx(1, abs=0.3)
    assert total["right"] == 0
    [told] = wording.of_others(advice, advice.best)
    assert "Of them gain: left (total +" in told
    onto = advice.changes["channel 40"]
    assert advice.others_standings(onto) == {"left": Standing.BETTER, "right": Standing.WORSE}
    assert wording.others_in_short(advice, onto) == "lose: right; gain: left"


def test_the_document_and_the_page_have_the_others(advice: Advice) -> None:
    told = document(advice)
    assert told["bss"] == "mine"
    assert told["confirmed"][0]["others"] == "gain: left"
    assert {row["bss"] for row in told["confirmed"][0]["side_effects"]} == {OTHERS, "left", "right"}
    assert {row["change"]: row["others"] for row in told["changes"]}["channel 40"] == "lose: right; gain: left"
    assert told["prediction"]["settings"] == {"bss[mine].channel": 44}
    assert told["prediction"]["stations"] == ["at-mine"]


def test_a_probe_is_added_in_the_bss_that_is_judged() -> None:
    advising = advised("flat-3", wants="pings", stations=2)
    [remark] = advising.remarks
    assert "at flat-3-" in remark
    assert advising.scenario.plan()["flows"][-1]["station"].startswith("flat-3-")


@pytest.mark.whole
def test_advice_needs_the_name_of_a_bss(here: Cli, file: str) -> None:
    with pytest.raises(
        InputError, match=r"--bss: advice is for one BSS of several; allowed here: mine, flat-2, flat-3\."
    ):
        advised("")
    with pytest.raises(InputError, match="did you mean flat-2"):
        advised("flat2")
    told = here("advise", file, "--bss", "mine", "--population")
    assert told.returncode == 2
    assert "--population" in told.stderr


@pytest.mark.whole
def test_the_command_advises_one_bss(here: Cli, tmp_path: Path) -> None:
    path = tmp_path / "three.toml"
    path.write_text(toml_text.document(Scenario(**THREE).settings()), encoding="utf-8")
    words = ["advise", path, "--bss", "left", "--want", "total", "--has", "openwrt", "--store", tmp_path / "store"]
    page = tmp_path / "advice.html"
    told = here(*words, "--out", page)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("three, left: Set channel 44: total")
    assert "uci set wireless.radio0.channel='44'" in told.stdout
    assert "- channel 44: another channel; no BSS of the scenario there." in told.stdout
    assert "gain: mine (total" in " ".join(told.stdout.split())
    assert "the others" in page.read_text(encoding="utf-8")
    assert json.loads(here(*words, "--json").stdout)["prediction"] is None, (
        "runs show what the first access point shows"
    )
