"""`wifair new`, `check` and `explain`: templates stay valid, findings have their arithmetic, sentences their counters."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT, Cli
from hypothesis import given, settings
from hypothesis import strategies as st
from wifair import Scenario, ScenarioError, gallery
from wifair.analysis import explain_groups
from wifair.analysis.check import Finding, Plan, check
from wifair.analysis.explain import PHASES, explain, watched
from wifair.scenario.components import components, plan_node, properties, words

BRIEF = {"run.warmup_s": 1, "run.duration_s": 3}
# A commented line that becomes a setting when its mark goes.
OPTION = re.compile(r"^# (?=\[|[a-z_]+(\.[a-z_]+)* = )", re.MULTILINE)


@pytest.mark.parametrize("name", gallery.names())
def test_templates_run_and_what_is_commented_out_is_accepted(name: str) -> None:
    text = (gallery.FOLDER / f"{name}.toml").read_text()
    assert text.startswith("# ")
    assert gallery.about(name)
    scenario = Scenario.from_toml(name)
    assert scenario.title == name
    results = scenario.override(BRIEF).run(seeds=1)
    assert results.flows["goodput_mbps"].sum() > 0
    switched_on = tomllib.loads(OPTION.sub("", text).replace("# key = value", ""))
    assert switched_on != tomllib.loads(text) or not OPTION.search(text)
    Scenario(**switched_on)


# What `wifair check` finds in templates, by its keys.
ON_PURPOSE: dict[str, set[str]] = {
    "cafe": {"station.mcs"},
    "home": {"station.mcs", "mac.edca"},
    "video-call": {"mac.edca"},
    "flats": {"mac.edca", "wire.rate_mbps"},
    "neighbours": {"run.duration_s", "run.warmup_s", "station.tx_queue.limit_packets"},
    "rrul": {"run.warmup_s", *(f"ping-{of}.station" for of in ("icmp", "be", "bk", "ef"))},
    "rrul_be": {"run.warmup_s", *(f"ping-{of}.station" for of in ("icmp", "be1", "be2", "be3"))},
    "tcp_8down": {"run.warmup_s"},
    "tcp_8up": {"ping.station"},
}
# Those whose runs warn.
WARNED = ("flats", "hidden", "tcp_8up")


@pytest.mark.parametrize("name", gallery.names())
def test_what_is_found_in_a_template_is_meant_and_its_comments_say_so(name: str) -> None:
    found = {finding.key for finding in check(Scenario.from_toml(name))}
    assert found == ON_PURPOSE.get(name, set())
    text = (gallery.FOLDER / f"{name}.toml").read_text()
    assert ("`wifair check` says" in text) == bool(found)
    assert ("`wifair run`, that" in text or "as `wifair run` says" in text) == (name in WARNED)


@pytest.mark.parametrize("name", WARNED)
def test_templates_whose_runs_warn(name: str) -> None:
    [warning] = Scenario.from_toml(name).override({"run.duration_s": 5}).run(seeds=1).warnings()
    assert " never " in warning


@pytest.mark.parametrize("name", gallery.names())
def test_where_a_template_aggregates_the_hardware_is_that_of_a_shipped_access_point(name: str) -> None:
    plan = Scenario.from_toml(name).plan()["bss"]
    # A field has nothing below the scheme (`docs/medium.md`, section 16).
    wanted = "ideal" if plan["field"] else {"802.11ax": "firmware", "802.11a": "ideal"}[plan["phy"]["name"]]
    assert plan["ap"]["hardware"]["name"] == wanted


def test_a_file_goes_before_a_name_of_the_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home").write_text("title = 'mine'\n[[flows]]\ndirection = 'up'\n")
    assert Scenario.from_toml("home").title == "mine"
    assert Scenario.from_toml("cafe").title == "cafe"


def test_new_writes_once(here: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    assert here("new", "home", path).returncode == 0
    assert path.read_text() == (gallery.FOLDER / "home.toml").read_text()
    again = here("new", "home", path)
    assert again.returncode == 2
    assert "not overwritten" in again.stderr
    wrong = here("new", "hom")
    assert wrong.returncode == 2
    assert "Did you mean home?" in wrong.stderr
    listed = here("new")
    assert all(name in listed.stdout for name in gallery.names())


def found(*flows: dict[str, Any], **settings: Any) -> dict[str, Finding]:
    scenario = Scenario(**{"flows": list(flows) or [{"direction": "down", "count": 4}], **settings})
    return {finding.key: finding for finding in check(scenario)}


@pytest.mark.parametrize("words", [["list"], ["new", "--list"]])
def test_who_asks_for_a_list_learns_which_command_has_it(here: Cli, words: list[str]) -> None:
    done = here(*words)
    assert done.returncode == 2
    assert "`wifair new` without a name lists the scenarios" in done.stderr


def test_nothing_is_odd_about_the_usual_cell() -> None:
    assert check(Scenario.from_toml(ROOT / "scenarios" / "five-lines.toml")) == []


def test_every_laptop_of_the_cafe_does_what_the_text_says() -> None:
    does: dict[str, set[str]] = {}
    plan = Scenario.from_toml("cafe").plan()
    for flow in plan["flows"]:
        does.setdefault(flow["station"], set()).add(flow["group"])
    assert len(does) == len(plan["bss"]["stations"]) == 20
    assert does["table-1"] == {"reading", "ping"}
    assert [does[f"table-{i}"] for i in range(2, 13)] == [{"reading"}] * 9 + [{"photographs"}] * 2
    assert [does[f"terrace-{i}"] for i in range(1, 9)] == [{"reading-outside"}] * 4 + [{"download"}] * 4


def test_flows_that_are_not_where_their_names_say() -> None:
    keys = {"flows.station", "ping.station"}
    # The café without the key that places flows.
    cafe = Scenario.from_toml("cafe").override({f"flows[{g}].first_station": None for g in (2, 3)})
    findings = {finding.key: finding for finding in check(cafe)}
    assert findings["flows.station"].values == {"stations": 20, "idle_stations": 6}
    assert findings["ping.station"].values == {"uploads": 1}
    assert not keys & {finding.key for finding in check(Scenario.from_toml("cafe"))}
    names = found(
        {"name": "download-2", "direction": "up"},
        {"name": "web", "direction": "down"},
        {"name": "call", "direction": "down", "application": "voip"},
    )
    assert {"download-2.direction", "web.application"} <= names.keys()
    assert not {"download-2.application", "web.direction", "call.application"} & names.keys()


def test_a_wire_slower_than_the_air() -> None:
    finding = found(wire={"rate_mbps": 2.0})["wire.rate_mbps"]
    # One 1500-byte packet alone at 11 Mbps, long preamble, MAC ACK at 1 Mbps: 50 + 310 + 192 + 1117 + 10 + 304 µs.
    assert finding.values["air_mbps"] == pytest.approx(12_000 / (50 + 310 + 192 + 1117 + 10 + 304), rel=1e-3)
    assert "wire.rate_mbps" not in found(wire={"rate_mbps": 7.0})


def test_a_window_that_never_fills_the_buffer() -> None:
    finding = found({"direction": "down", "count": 2}, {"direction": "up"}, ap={"limit_packets": 200})[
        "ap.limit_packets"
    ]
    assert finding.values == {"most_packets": 2 * 42 + 21, "limit_packets": 200}
    assert "ap.limit_packets" not in found({"direction": "down", "count": 2}, ap={"limit_packets": 84})
    # What arithmetic says a run shows.
    results = Scenario(
        ap={"limit_packets": 200}, flows=[{"direction": "down", "count": 2}], run={"warmup_s": 0, "duration_s": 10}
    ).run(seeds=2)
    assert any("never reached" in warning for warning in results.warnings())
    assert results.flows["ap_lost_packets"].sum() == 0


def test_a_start_soon_after_the_warm_up_leaves_means_as_they_are() -> None:
    run = {"warmup_s": 5, "duration_s": 60}
    flow = {"direction": "down", "start_s": 5, "start_spread_s": 0.6}
    assert "down.start_s" not in found(flow, run=run)
    late = found({**flow, "start_spread_s": 0.7}, run=run)["down.start_s"]
    assert late.values == {"start_s": 5.7, "warmup_s": 5, "end_s": 65}


def test_a_limit_that_a_scheme_brings_is_meant_to_be_out_of_reach() -> None:
    for scheme in ("mac80211", "fq-codel"):
        assert "ap.limit_packets" not in found(ap={"scheme": scheme})
        given = found(ap={"scheme": scheme, "limit_packets": 8192})["ap.limit_packets"]
        assert given.finding.endswith("its limit is never reached"), "CoDel drops below it"
    assert found(ap={"limit_packets": 8192})["ap.limit_packets"].finding.endswith("no packet is dropped there")
    assert "ap.limit_packets" in found(ap={"default_limit_packets": 8192})


def test_loops_slower_than_the_run() -> None:
    run = {"warmup_s": 100, "duration_s": 500}
    alt = found(ap={"limit_controller": "alt"}, run=run)
    assert alt["run.duration_s"].values["loop_s"] == alt["run.warmup_s"].values["loop_s"] == 370
    assert not {"run.duration_s", "run.warmup_s"} & set(
        found(ap={"limit_controller": "alt"}, run={"warmup_s": 400, "duration_s": 1200})
    )
    # One flow of Reno: (100 + 10 ms · 756/s) / 2 round trips of 10 + 100 · 1.98 ms or so.
    short = found(
        {"direction": "down", "tcp": {"receiver_window_segments": 44}},
        ap={"limit_packets": 30},
        run={"warmup_s": 0.1, "duration_s": 1},
    )
    assert 0.3 < short["run.duration_s"].values["loop_s"] < 3


def test_a_slow_group_holds_the_air_together() -> None:
    stations = [{"name": "inside", "count": 4, "mcs": 9}, {"name": "outside", "count": 3, "mcs": 0}]
    inside, outside = ({"direction": "down", "station": s["name"], "count": s["count"]} for s in stations)
    also_up = {"direction": "up", "station": "outside-1"}
    finding = found(inside, outside, also_up, phy={"name": "802.11ax"}, stations=stations)["station.mcs"]
    values = finding.values
    assert values["share"] == pytest.approx(
        3 * values["slowest_us"] / (3 * values["slowest_us"] + 4 * values["fastest_us"]), rel=1e-3
    )
    share = f"{values['share']:.0%}".replace("%", " %")
    assert f"the 3 stations of 'outside' together hold {share} of the air with as many packets each" in finding.finding
    assert "one packet for each of 7 stations" in finding.arithmetic


def test_ecn_of_a_profile_is_no_finding() -> None:
    today = {"profile": "today"}
    assert "tcp.ecn" not in found(tcp=today)
    assert "tcp.ecn" in found(tcp={**today, "ecn": True})
    assert "tcp.ecn" in found({"direction": "down", "tcp": {"ecn": True}}, tcp=today)


def test_a_dscp_without_categories_names_what_classify_allows() -> None:
    text = found({"direction": "down", "application": "voip"}, mac={"edca": {}})["mac.edca"].finding
    allowed = words(properties(plan_node("bss", "mac", "edca"))["classify"])
    assert "rfc-8325" in allowed
    assert all(f'"{name}"' in text for name in allowed)
    assert '"best-effort" (default)' in text


@pytest.mark.parametrize(
    ("flows", "settings", "key"),
    [
        ([{"direction": "down", "start_s": 200}], {}, "down.start_s"),
        ([{"direction": "down", "stop_s": 100}, {"direction": "up"}], {}, "down.stop_s"),
        ([{"direction": "down", "count": 3}], {"ap": {"scheme": "adaptive-pushout"}}, "ap.scheme"),
        ([{"direction": "down", "count": 3}], {"tcp": {"ecn": True}}, "tcp.ecn"),
        ([{"direction": "down", "count": 3}], {"ap": {"scheme": "red"}}, "tcp.ecn"),
        ([{"direction": "down", "application": "voip"}], {}, "mac.edca"),
        ([{"direction": "down", "application": {"name": "udp", "rate_mbps": 9.0}}], {}, "flows.application.rate_mbps"),
        (
            [{"name": "p", "direction": "up", "application": {"name": "ping", "interval_ms": 10_000}}],
            {},
            "p.application.interval_ms",
        ),
        ([{"direction": "up"}, {"direction": "down", "station": {"rate_mbps": 1.0}}], {}, "station.rate_mbps"),
    ],
)
def test_findings_and_their_absence(flows: list[dict[str, Any]], settings: dict[str, Any], key: str) -> None:
    finding = found(*flows, **settings)[key]
    assert finding.arithmetic
    assert finding.values
    assert key not in found(
        {"direction": "up"},
        {"direction": "down", "count": 4},
        ap={"scheme": "adaptive-pushout"},
    )


@given(
    up=st.integers(0, 3),
    down=st.integers(0, 3),
    limit=st.integers(1, 2000),
    scheme=st.sampled_from([scheme["name"] for scheme in components("schemes")]),
    application=st.sampled_from([application["name"] for application in components("applications")]),
)
@settings(max_examples=40, deadline=None)
def test_any_scenario_can_be_checked(up: int, down: int, limit: int, scheme: str, application: str) -> None:
    flows = [{"direction": "up", "count": up}] * bool(up) + [{"direction": "down", "count": down}] * bool(down)
    flows.append({"direction": "down", "application": application})
    for finding in check(Scenario(flows=flows, ap={"scheme": scheme, "limit_packets": limit})):
        assert finding.finding
        assert finding.arithmetic
        assert all(isinstance(value, (int, float)) for value in finding.values.values())


def test_check_on_the_command_line(here: Cli) -> None:
    document = json.loads(here("check", "home", "--json", "--set", "wire.rate_mbps=3").stdout)
    assert "wire.rate_mbps" in {finding["key"] for finding in document["findings"]}
    assert here("check", "nowhere").returncode == 2


def test_air_times_follow_the_rates() -> None:
    at_home = {
        "phy": {"name": "802.11a"},
        "stations": [{"name": "near"}, {"name": "far", "rate_mbps": 6}],
        "flows": [{"direction": "down", "station": name} for name in ("near", "far")],
    }
    plan = Plan(Scenario(**at_home))
    near, far = (plan.packet_us(flow, 1500) for flow in plan.downloads)
    assert far > 5 * near


def starved(**settings: Any) -> Scenario:
    flows = [
        {"direction": "up", "count": 3},
        {"direction": "down", "count": 3},
        {"direction": "down", "application": "voip", "name": "call"},
    ]
    return Scenario(**{"run": {"warmup_s": 5, "duration_s": 20}, "flows": flows, **settings})


def test_every_sentence_stands_on_counters_of_the_tables() -> None:
    results = watched(starved()).run(seeds=2)
    told = explain(results)
    assert all(sentence.text and sentence.counters for sentence in told)
    assert {sentence.flow for sentence in told} == {"", *results.flows["label"]}
    flows = results.flows
    for label in ("up-1", "down-2"):
        counters = {
            key: value for sentence in told if sentence.flow == label for key, value in sentence.counters.items()
        }
        for name in ("goodput_mbps", "ap_lost_packets", "ap_tail_drop_packets", "timeouts", "retransmissions"):
            assert counters[name] == pytest.approx(flows.filter(label=label)[name].mean())
        reasons = ("ap_tail_drop_packets", "ap_evicted_packets", "ap_aqm_drop_packets", "ap_retry_lost_packets")
        assert sum(counters[name] for name in reasons) == pytest.approx(counters["ap_lost_packets"])
        states = results.frames["states"].filter(label=label)
        assert counters["looks"] == states["looks"].mean() == 20 / 0.01
    looks = results.frames["states"]
    assert (looks.select(pl.sum_horizontal(*PHASES)).to_series() == looks["looks"]).all()
    held = (
        pl.col("limited_by_application") + pl.col("limited_by_receiver_window") + pl.col("limited_by_congestion_window")
    )
    assert looks.select((held + pl.col("idle") == pl.col("looks")).all()).item()
    assert looks.height == 2 * 6


def test_looking_changes_nothing() -> None:
    scenario = starved()
    with_looks = watched(scenario).run(seeds=2)
    assert with_looks.flows.equals(scenario.run(seeds=2).flows)


def verdict(scenario: Scenario, label: str) -> str:
    told = explain(watched(scenario).run(seeds=2))
    return " ".join(sentence.text for sentence in told if sentence.flow == label and "was limited by" in sentence.text)


def test_verdicts_in_cases_that_are_clear() -> None:
    run = {"warmup_s": 2, "duration_s": 10}
    small = Scenario(run=run, flows=[{"direction": "down", "tcp": {"receiver_window_segments": 4}}])
    assert verdict(small, "down").startswith("It was limited by the receive window of 4 segments")
    lazy = {"name": "web", "think_mean_s": 5.0}
    assert verdict(Scenario(run=run, flows=[{"direction": "down", "application": lazy}]), "down").startswith(
        "It was limited by its application"
    )
    lossy = Scenario(run={"warmup_s": 2, "duration_s": 60}, wire={"loss_rate": 0.3}, flows=[{"direction": "down"}])
    assert verdict(lossy, "down").startswith("It was limited by losses: for")
    wide = Scenario(
        run=run,
        ap={"limit_packets": 20},
        flows=[{"direction": "down", "tcp": {"receiver_window_segments": 200, "sack": {}}}],
    )
    assert verdict(wide, "down").startswith("It was limited by its congestion window")


def test_explain_on_the_command_line(here: Cli, tmp_path: Path) -> None:
    brief = ["--seeds", "2", "--set", "run.warmup_s=1", "--set", "run.duration_s=2"]
    figure = tmp_path / "why.png"
    done = here("explain", "plain", *brief, "--scheme", "fq-codel", "--figure", figure)
    assert done.returncode == 0, done.stderr
    assert " gets " in done.stdout
    assert "The air: " in here("explain", "plain", *brief, "--verbose").stdout
    assert figure.stat().st_size > 10_000
    document = json.loads(here("explain", "plain", *brief, "--json").stdout)
    assert all(entry["sentence"] and entry["counters"] for entry in document["sentences"])
    with pytest.raises(ScenarioError, match="state_interval_s"):
        Scenario(run={"state_interval_s": 0.0}, flows=[{"direction": "up"}])


def test_the_lead_names_shares_losses_and_a_cause_across_flows() -> None:
    def lead_of(scenario: Scenario) -> str:
        results = watched(scenario).run(seeds=2)
        found = explain_groups.lead(results, explain_groups.groups(results))
        assert 1 <= len(found) <= 3
        assert all(sentence.counters for sentence in found)
        return " ".join(sentence.text for sentence in found)

    run = {"warmup_s": 5, "duration_s": 20}
    told = lead_of(starved())
    assert re.match(r"Each up flow gets [\d.]+ Mbps, [\d,.]+ times as much as each down flow \([\d.]+ Mbps\)\.", told)
    assert " of the packets of down and " in told
    assert "(a lost ACK cuts none: the next one covers it)" in told
    flows: list[dict[str, Any]] = [
        {"name": "upload", "direction": "up", "station": "phone"},
        {"name": "call", "direction": "down", "station": "phone", "application": "voip"},
        {"name": "film", "direction": "down"},
    ]
    shared = Scenario(run=run, stations=[{"name": "phone"}], flows=flows, ap={"scheme": "mac80211"})
    assert "upload and call share phone: mac80211 charges the " in lead_of(shared)
    slow = [{"direction": "down", "count": 2}, {"name": "far", "direction": "down", "station": {"rate_mbps": 1.0}}]
    assert re.search(
        r"far uses \d+ % of the air: its link rate is 1 Mbps, the highest is 11\.",
        lead_of(Scenario(run=run, flows=slow)),
    )
