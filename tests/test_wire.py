"""The wire: its default is no bottleneck, and where it is one, everybody is told."""

from __future__ import annotations

import pytest
from conftest import Cli
from wifair import Scenario
from wifair.analysis import explain_groups
from wifair.analysis.explain import explain, watched
from wifair.report import measured
from wifair.report.parts import Table
from wifair.results.results import Results

# What 802.11be carries at most: 320 MHz, 8 streams, MCS 13, a guard interval of 0.8 µs (IEEE 802.11be, Table 36-86).
FASTEST_MBPS = 8 * 3920 * 12 * 5 / 6 / 13.6

SLOW = Scenario(
    run={"warmup_s": 1, "duration_s": 3},
    phy={"name": "802.11g"},
    wire={"rate_mbps": 5},
    tcp={"profile": "today"},
    flows=[
        {"name": "load", "count": 2, "direction": "down"},
        {"name": "ping", "direction": "up", "application": "ping"},
    ],
)


@pytest.fixture(scope="module")
def slow() -> Results:
    return watched(SLOW).run(seeds=2)


def test_the_default_is_faster_than_every_phy() -> None:
    assert Scenario(flows=[{"direction": "up"}]).plan()["wire"]["rate_mbps"] > FASTEST_MBPS > 23_000


def test_waits_are_those_of_the_line() -> None:
    # 6 Mbps of IP for a wire of 5: after t seconds a packet waits t / 5, and 1 Mbit per second is left, of 12,000 bits each.
    stream = {"name": "udp", "payload_bytes": 1472, "rate_mbps": 6 * 1472 / 1500}
    flows = [{"direction": "down", "application": stream}]
    run = {"warmup_s": 0, "duration_s": 3}
    found = Scenario(run=run, wire={"rate_mbps": 5}, phy={"name": "802.11g"}, flows=flows).run(seeds=1)
    rows = found.frames["wire"].rows_by_key("direction", named=True, unique=True)
    assert rows["down"]["packets"] == pytest.approx(1500, abs=1)
    assert rows["down"]["wait_mean_ms"] == pytest.approx(300, rel=0.01)
    assert rows["down"]["length_mean_packets"] == pytest.approx(125, rel=0.02)
    assert rows["up"]["packets"] == 0
    assert rows["up"]["wait_mean_ms"] is None


def test_a_bottleneck_on_the_wire_is_told(slow: Results) -> None:
    [warning] = [text for text in slow.warnings() if "the wire is a bottleneck down" in text]  # one for both runs
    assert "for its 5 Mbps, and 0.0" in warning
    assert "bottleneck up" not in warning
    wait_ms = slow.interval("scenario", "wire_down_wait_mean_ms").estimate
    assert "wire_down_wait_mean_ms" in slow.shown_metrics()
    groups = explain_groups.lead(slow, explain_groups.groups(slow))
    assert f"They wait {wait_ms:.3g} ms for the wire down." in groups[-1].text
    texts = [sentence.text for sentence in explain(slow)]
    assert any(text.startswith(f"The wire: packets waited for it {wait_ms:.0f} ms on the way down") for text in texts)
    assert any("before the wire, both ways together" in text for text in texts)
    [table] = measured.wire(slow)
    assert isinstance(table, Table)
    assert [row[1].text for row in table.rows] == ["down", "up"]
    fast = SLOW.override({"wire.rate_mbps": 25_000, "run.duration_s": 1}).run(seeds=1)
    assert not any("wire" in text for text in fast.warnings())
    assert "They wait" not in explain_groups.lead(fast, explain_groups.groups(fast))[-1].text


def test_run_and_compare_show_the_wait_for_the_wire(here: Cli) -> None:
    brief = ["--seeds", "2", "--set", "run.warmup_s=0", "--set", "run.duration_s=1"]
    assert "wait for the wire, down, ms" in here("run", "plain", *brief).stdout
    compared = ["compare", "plain", "--schemes", "droptail,codel", *brief]
    assert "wait for the wire" not in here(*compared).stdout
    assert "wait for the wire, down" in here(*compared, "--set", "wire.rate_mbps=5").stdout
