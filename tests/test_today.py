"""Today's hosts and traffic as scenarios have them: the profile, flows without TCP, their delays in tables and metrics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT, Cli
from hypothesis import given, settings
from hypothesis import strategies as st
from wifair import InputError, Scenario, ScenarioError
from wifair.scenario.components import components
from wifair.scenario.profiles import LINUX

SHORT = {"warmup_s": 1, "duration_s": 5}


def plan_of(**settings: Any) -> dict[str, Any]:
    tcp: dict[str, Any] = Scenario(flows=[{"direction": "down"}], **settings).plan()["flows"][0]["tcp"]
    return tcp


def is_laid_under(below: Any, above: Any) -> bool:
    """Whether the tables have these values, beside their defaults."""
    if not isinstance(below, dict):
        return bool(below == above)
    return all(key in above and is_laid_under(value, above[key]) for key, value in below.items())


def test_the_profile_is_laid_under_every_key() -> None:
    tcp = plan_of(tcp={"profile": "today"})
    assert tcp["congestion_control"]["name"] == "cubic"
    assert tcp["loss_detection"]["name"] == "rack"
    assert is_laid_under(LINUX, tcp)
    # What a scenario says wins, wherever it stands: beside the profile, in a dialect's place, in a group.
    own = plan_of(tcp={"profile": "today", "ecn": False, "rto": {"min_ms": 300}})
    assert (own["ecn"], own["rto"]["min_ms"], own["initial_window_segments"]) == (False, 300, 10)
    without = plan_of(tcp={"profile": "today", "receive_offload": False, "byte_counting": False})
    assert (without["receive_offload"], without["byte_counting"]) == (None, None)
    with pytest.raises(ScenarioError, match=r"tcp.delayed_ack: False is not a table of keys"):
        plan_of(tcp={"profile": "today", "delayed_ack": False})
    slower = plan_of(tcp={"profile": "today", "loss_detection": {"max_ack_delay_ms": 40}})
    assert slower["loss_detection"] == {**plan_of(tcp={"profile": "today"})["loss_detection"], "max_ack_delay_ms": 40}
    other = plan_of(tcp={"profile": "today", "congestion_control": "reno"})
    assert other["congestion_control"]["name"] == "reno"


def test_the_profiles_of_systems_differ_where_the_systems_do() -> None:
    linux, windows, apple = (plan_of(tcp={"profile": name}) for name in ("linux", "windows", "apple"))
    assert plan_of(tcp={"profile": "today"}) == linux
    assert linux["congestion_control"]["slow_start"]["name"] == "hystart"
    assert linux["small_queue"] == {"limit_us": 7812, "gso_max_segments": 65535}
    assert windows["congestion_control"]["slow_start"]["name"] == "hystart++"
    assert apple["congestion_control"]["slow_start"]["name"] == "standard"
    assert not apple["loss_detection"]["proportional_rate_reduction"]
    # A full segment fills an Ethernet frame, with timestamps or without.
    assert {tcp["mss_bytes"] + tcp["header_bytes"] for tcp in (linux, windows, apple)} == {1500}
    assert windows["small_queue"] is apple["small_queue"] is None


def test_another_control_replaces_that_of_a_profile_whole() -> None:
    for control in ({"name": "bbr"}, "reno"):
        assert (
            "slow_start" not in plan_of(tcp={"profile": "linux", "congestion_control": control})["congestion_control"]
        )
    slower = plan_of(tcp={"profile": "linux", "congestion_control": {"slow_start": "standard"}})
    assert slower["congestion_control"]["slow_start"] == {"name": "standard"}
    assert slower["congestion_control"]["least_growth_percent"] == 5
    with pytest.raises(ScenarioError, match="loss_detection") as found:
        plan_of(tcp={"profile": "linux", "loss_detection": "duplicate-acks"})
    assert found.value.key == "tcp.rto.samples"


@pytest.mark.parametrize("profile", ["today", "linux", "windows", "apple"])
def test_an_upload_and_a_download_by_each_system(profile: str) -> None:
    """Saturated both ways, each host fills the air: 802.11ax at 80 MHz carries 300 Mbps and more at MCS 7."""
    scenario = Scenario(
        run={"warmup_s": 2, "duration_s": 3},
        phy={"name": "802.11ax", "width_mhz": 80},
        ap={"scheme": "mac80211"},
        tcp={"profile": profile},
        flows=[{"direction": "up", "station": {"mcs": 7}}, {"direction": "down", "station": {"mcs": 7}}],
    )
    metrics = scenario.run(seeds=2).metrics
    assert metrics["total_mbps"].min() > 250  # type: ignore[operator]
    assert metrics["total_mbps"].max() < 360  # type: ignore[operator]


def test_the_benchmarks_have_the_same_profile() -> None:
    copy = ROOT / "crates" / "wifair-sim" / "tests" / "common" / "today.json"
    assert json.loads(copy.read_text()) == LINUX


def test_a_group_may_have_another_profile_than_the_rest() -> None:
    groups = [
        {"direction": "up", "tcp": {"profile": "today"}},
        {"direction": "down"},
        {"direction": "down", "tcp": {"profile": "today", "mss_bytes": 1000}},
    ]
    first, second, third = Scenario(tcp={"mss_bytes": 500}, flows=groups).plan()["flows"]
    assert (first["tcp"]["mss_bytes"], first["tcp"]["ecn"]) == (1448, True)
    assert (second["tcp"]["mss_bytes"], second["tcp"]["ecn"]) == (500, False)
    assert third["tcp"]["mss_bytes"] == 1000


@pytest.mark.parametrize(
    ("scenario", "key"),
    [
        ({"tcp": {"profile": "tody"}, "flows": [{"direction": "up"}]}, "tcp.profile"),
        ({"flows": [{"direction": "up", "tcp": {"profile": 3}}]}, "flows[0].tcp.profile"),
        ({"tcp": {"profile": []}, "flows": [{"direction": "up"}]}, "tcp.profile"),
        ({"tcp": {"profile": "today", "sack": False}, "flows": [{"direction": "up"}]}, "tcp.loss_detection"),
        ({"tcp": {"profil": "today"}, "flows": [{"direction": "up"}]}, "tcp.profil"),
        ({"tcp": {"ecn": True}, "flows": [{"direction": "up", "application": "voip"}]}, "tcp"),
        ({"flows": [{"direction": "up", "application": "voip", "tcp": {"ecn": True}}]}, "flows[0].tcp"),
        ({"flows": [{"direction": "up", "application": "vop"}]}, "flows[0].application"),
        (
            {"flows": [{"direction": "up", "application": {"name": "ping", "rate_mbps": 1}}]},
            "flows[0].application.rate_mbps",
        ),
    ],
)
def test_what_has_no_effect_is_refused(scenario: dict[str, Any], key: str) -> None:
    with pytest.raises(ScenarioError) as found:
        Scenario(**scenario)
    assert found.value.key == key


def mixed(**settings: Any) -> Scenario:
    flows = [
        {"name": "bulk", "direction": "down", "count": 2},
        {"name": "call", "direction": "down", "application": "voip"},
        {"name": "ping", "direction": "up", "application": "ping"},
        {"name": "web", "direction": "down", "application": {"name": "web", "connections": 6}},
    ]
    return Scenario(**{"run": SHORT, "tcp": {"profile": "today"}, "flows": flows, **settings})


def test_the_tables_of_a_mixed_scenario() -> None:
    results = mixed().run(seeds=2)
    rows = results.datagrams
    assert rows.height == 2 * 4
    call = rows.filter(label="call")
    assert set(call["direction"]) == {"up", "down"}
    assert call["mos"].is_between(1, 4.5).all()
    assert call["rtt_mean_ms"].null_count() == call.height
    ping = rows.filter(label="ping", direction="up")
    assert ping["rtt_p50_ms"].to_list() == results.flows.filter(label="ping")["rtt_p50_ms"].to_list()
    # Fairness and sums are among the flows of TCP.
    of_tcp = results.flows.filter(transport="tcp")
    assert of_tcp.height == 2 * 3
    totals = of_tcp.group_by("seed", maintain_order=True).agg(pl.col("goodput_mbps").sum())["goodput_mbps"]
    assert results.metrics["total_mbps"].to_list() == pytest.approx(totals.to_list())
    metrics = results.metrics
    assert metrics["ping_p50_ms"].to_list() == ping["rtt_p50_ms"].to_list()
    assert (
        metrics["mos_least"].to_list()
        == call.group_by("seed", maintain_order=True).agg(pl.col("mos").min())["mos"].to_list()
    )
    assert metrics["transfer_mean_s"].null_count() == 0
    document = results.to_dict()
    assert {(row["flow"], row["direction"]) for row in document["datagrams"]} == {
        ("call", "up"),
        ("call", "down"),
        ("ping", "up"),
        ("ping", "down"),
    }


def test_without_tcp_there_is_no_fairness_and_without_datagrams_no_delay() -> None:
    alone = Scenario(run=SHORT, flows=[{"direction": "down", "application": "game"}]).run(seeds=2)
    assert alone.metrics["jain"].null_count() == alone.metrics.height == 2
    assert alone.metrics["delay_mean_ms"].null_count() == 0
    bulk = Scenario(run=SHORT, flows=[{"direction": "down"}]).run(seeds=2)
    assert bulk.metrics["delay_mean_ms"].null_count() == 2
    with pytest.raises(InputError, match="no table of datagrams"):
        _ = bulk.datagrams


def test_pages_over_several_connections_are_whole() -> None:
    web = {"name": "web", "min_bytes": 60_001, "max_bytes": 60_001, "connections": 6, "count": 5}
    flow = {"direction": "down", "application": web}
    results = Scenario(run={"warmup_s": 0, "duration_s": 20}, flows=[flow]).run(seeds=2)
    rows = results.transfers
    assert rows.height == 2 * 5
    assert set(rows["end"]) == {"complete"}
    assert set(rows["delivered_bytes"]) == {60_001}
    one = Scenario(
        run={"warmup_s": 0, "duration_s": 20},
        flows=[{"direction": "down", "application": {**web, "connections": 1}}],
    ).run(seeds=2)
    # Alone on the air, six windows open faster than one.
    assert rows["transfer_s"].mean() < one.transfers["transfer_s"].mean()  # type: ignore[operator]


def test_delays_are_compared_and_printed(here: Cli, tmp_path: Path) -> None:
    path = tmp_path / "mixed.toml"
    path.write_text(
        "[run]\nwarmup_s = 1\nduration_s = 4\n[[flows]]\ndirection = 'down'\n"
        "[[flows]]\nname = 'ping'\ndirection = 'down'\napplication = 'ping'\n"
    )
    done = here("run", path, "--seeds", "2", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "ping, median" in done.stdout
    assert "Datagrams" in done.stdout
    assert pl.read_parquet(tmp_path / "out" / "datagrams.parquet").height == 4
    compared = here("compare", path, "--schemes", "droptail,red", "--seeds", "2", "--json")
    metrics = {row["metric"] for row in json.loads(compared.stdout)["differences"]}
    assert {"ping_p50_ms", "ping_p95_ms"} <= metrics
    assert not metrics & {"mos_least", "transfer_mean_s"}


@given(
    applications=st.lists(
        st.sampled_from([application["name"] for application in components("applications")]), min_size=1, max_size=5
    ),
    directions=st.lists(st.sampled_from(["up", "down"]), min_size=5, max_size=5),
)
@settings(max_examples=15, deadline=None)
def test_any_mixture_runs(applications: list[str], directions: list[str]) -> None:
    flows = [{"direction": way, "application": name} for name, way in zip(applications, directions, strict=False)]
    results = Scenario(run={"warmup_s": 0.2, "duration_s": 1}, flows=flows).run(seeds=1)
    assert results.flows["application"].to_list() == applications
    datagrams = results.flows.filter(pl.col("transport") != "tcp")["label"].to_list()
    found = results.frames.get("datagrams")
    assert sorted(set(found["label"] if found is not None else [])) == sorted(datagrams)
    for name in {"voip", "game", "ping"} & set(applications):  # these send both ways
        assert found is not None
        assert found.filter(application=name).height == 2 * applications.count(name)
