"""Every example scenario runs, and does what its head says."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from conftest import ROOT
from wifair import Scenario, load

EXAMPLES = sorted((ROOT / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=[path.stem for path in EXAMPLES])
def test_examples_run(path: Path) -> None:
    whole = load(path)
    events = [event for event in whole.events if event["at_s"] < 6]  # what comes after the end is refused
    scenario = whole.override({"run.warmup_s": 1, "run.duration_s": 5, "events": events})
    results = scenario.run(seeds=2)
    assert results.flows["goodput_mbps"].sum() > 0
    assert results.warnings() == [] or all("limit" in warning or "queue" in warning for warning in results.warnings())


def test_five_lines_are_five_lines() -> None:
    assert len((ROOT / "scenarios" / "five-lines.toml").read_text().splitlines()) == 5


def test_a_far_station_costs_a_near_one_most_of_its_air() -> None:
    together = load(ROOT / "scenarios" / "near-and-far.toml").run(seeds=3)
    alone = Scenario(flows=[{"direction": "down"}], run={"warmup_s": 10, "duration_s": 20}).run(seeds=3)
    near = together.flows.filter(label="near-down")["goodput_mbps"].mean()
    single = alone.flows["goodput_mbps"].mean()
    assert isinstance(near, float)
    assert isinstance(single, float)
    assert near < single / 2


def test_where_marking_suffices_no_sender_loses_a_packet() -> None:
    path = ROOT / "scenarios" / "marking.toml"
    marked = load(path).run(seeds=3)
    assert marked.flows["retransmissions"].sum() == marked.flows["timeouts"].sum() == 0
    assert marked.flows["ap_lost_packets"].sum() == 0
    assert all(count > 0 for count in marked.flows["ecn_reductions"])
    for other in ({"tcp.ecn": False}, {"ap.scheme": "droptail"}):
        assert load(path).override(other).run(seeds=3).flows["retransmissions"].sum() > 0


def test_rates_follow_a_station_that_walks_away_and_back() -> None:
    series = load(ROOT / "scenarios" / "walking-away.toml").run(seeds=2).frames["series"]
    walker = series.filter(metric="link_rate_up_mbps", entity="walker")

    def mean(begin_s: float, end_s: float) -> float:
        value = walker.filter(pl.col("time_s").is_between(begin_s, end_s))["value"].mean()
        assert isinstance(value, float)
        return value

    assert mean(1, 20) > 8.0
    assert mean(50, 70) < 4.0
    assert mean(100, 120) > 8.0


def test_acks_of_their_own_category_leave_the_buffer_to_data() -> None:
    first = load(ROOT / "scenarios" / "acks-first.toml").override({"run.warmup_s": 5, "run.duration_s": 20})
    among = first.override({"mac.edca.tcp_acks": "best-effort"})

    def down(scenario: Scenario) -> tuple[float, float]:
        flows = scenario.run(seeds=3).flows.filter(direction="down")
        return float(flows["goodput_mbps"].sum()), float(flows["timeouts"].sum())

    assert down(first)[0] > 2 * down(among)[0]
    assert down(first)[1] == 0 < down(among)[1]


def test_a_slow_station_at_home_takes_no_more_than_its_share_of_the_air() -> None:
    home = load(ROOT / "scenarios" / "home-with-one-slow-station.toml").override({"run.duration_s": 20})

    def air(scheme: str) -> dict[str, float]:
        used = home.override({"ap.scheme": scheme}).run(seeds=3).frames["stations"]
        sums = used.group_by("station").agg(pl.col("airtime_share").sum() / 3)
        return dict(sums.iter_rows())

    ours, others = air("mac80211"), air("fq-codel")
    assert max(ours.values()) < 1.25 * min(ours.values())
    assert others["far"] > 4 * others["near-1"]


def test_a_limit_that_is_not_named_is_the_schemes_own() -> None:
    for scheme, limit in (("mac80211", 8192), ("fq-codel", 10240), ("droptail", 100)):
        plan = Scenario(ap={"scheme": scheme}, flows=[{"direction": "down"}]).plan()
        assert plan["bss"]["ap"]["tx_queue"]["limit_packets"] == limit
