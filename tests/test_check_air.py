"""`wifair check` on the air: what A-MPDUs carry, and whether a load fits, against runs.

A load fits if each flow receives at least 98 % of what it sends, once the first packets have crossed.
"""

from __future__ import annotations

import math
import os
import random
from typing import Any

import pytest
from wifair import Scenario
from wifair.analysis.check import Finding, Plan, check, datagrams
from wifair.analysis.check.capacity import largest_scale
from wifair.study.job import Cell
from wifair.study.study import Study

SCENARIOS = 1000 if os.environ.get("WIFAIR_VALIDATE") == "1" else 100
HE80 = {"name": "802.11ax", "width_mhz": 80, "streams": 2}
RATES = {"802.11b": (1.0, 2.0, 5.5, 11.0), "802.11g": (6.0, 12.0, 24.0, 54.0), "802.11a": (6.0, 12.0, 24.0, 54.0)}
AT_2_4_GHZ = ("802.11n", "802.11ax", "802.11be")


def found(**settings: Any) -> dict[str, Finding]:
    return {finding.key: finding for finding in check(Scenario(**settings))}


def udp(rate_mbps: float, **flow: Any) -> dict[str, Any]:
    return {"direction": "down", "application": {"name": "udp", "rate_mbps": rate_mbps}, **flow}


def test_a_link_with_a_mpdus_carries_60_mbps() -> None:
    assert "flows.application.rate_mbps" not in found(phy=HE80, flows=[udp(60.0)])


@pytest.mark.parametrize(
    ("phy", "mac", "limit"),
    [
        (HE80, {}, 1000),
        (HE80, {}, 20),
        ({"name": "802.11n"}, {"aggregation": {"max_amsdu_bytes": 3900}}, 100),
        ({"name": "802.11ac"}, {"edca": {"parameter_set": "openwrt"}}, 1000),
        ({"name": "802.11g"}, {"edca": {"parameter_set": "openwrt"}}, 100),
        ({"name": "802.11g"}, {}, 100),
    ],
)
def test_what_a_link_carries_is_what_a_run_delivers(phy: dict[str, Any], mac: dict[str, Any], limit: int) -> None:
    cell = {
        "phy": phy,
        "mac": mac,
        "ap": {"limit_packets": limit},
        "wire": {"rate_mbps": 5000.0},
        "flows": [udp(1500.0)],
    }
    finding = found(**cell)["flows.application.rate_mbps"]
    results = Scenario(**cell, run={"warmup_s": 0.1, "duration_s": 0.5}).run(seeds=1)
    assert finding.values["carried_mbps"] == pytest.approx(results.datagrams["goodput_mbps"].sum(), rel=0.02)


def test_the_wire_is_compared_with_a_full_ppdu() -> None:
    finding = found(
        phy=HE80,
        tcp={"receiver_window_segments": 1000},
        ap={"limit_packets": 1000},
        wire={"rate_mbps": 100},
        flows=[{"direction": "down"}],
    )
    # 256 MPDUs in 2,745 µs with their Block Ack, after an AIFS of 43 and 7.5 slots of 9: not the 51.7 Mbps of a frame by
    # itself.
    assert finding["wire.rate_mbps"].values["air_mbps"] == pytest.approx(256 * 12_000 / (43 + 67.5 + 2744.8), rel=1e-3)


def test_the_period_of_a_window_follows_from_full_ppdus() -> None:
    """The queue of 1,000 packets takes 11 ms at 1,076 Mbps, not 230."""
    cell: dict[str, Any] = {"phy": HE80, "ap": {"limit_packets": 1000}, "wire": {"rate_mbps": 10_000.0}}
    flow = {"direction": "down", "tcp": {"receiver_window_segments": 1000}}
    plan = Plan(Scenario(**cell, flows=[flow]))
    assert 1000 * plan.packet_us(plan.downloads[0], 1500) == pytest.approx(1000 * 2855.3 / 256, rel=1e-3)


def test_udp_on_and_off_offers_its_mean() -> None:
    """What `check` computes, and what runs send in 1,600 cycles, each with a standard deviation of 1.13 times the mean; 4 standard errors."""
    on_off = {"name": "on-off", "on_ms": 20, "off_ms": 80}
    application = {"name": "udp", "rate_mbps": 8.0, "payload_bytes": 1000, "arrivals": on_off}
    cell = Scenario(
        run={"warmup_s": 0, "duration_s": 40}, phy=HE80, flows=[{"direction": "down", "application": application}]
    )
    flow = cell.plan()["flows"][0]
    # A thousand packets per second on, and half a packet more per time on.
    assert datagrams.packets_per_s(flow) == pytest.approx(205, rel=1e-3)
    sent = cell.run(seeds=4).datagrams["sent_packets"].mean()
    assert sent == pytest.approx(40 * datagrams.packets_per_s(flow), rel=4 * 1.13 / 1600**0.5)
    constant = {"application": {**application, "arrivals": {"name": "poisson"}}}
    assert datagrams.offered_mbps(constant) == pytest.approx(8)


def test_a_slow_station_holds_its_share_of_full_ppdus() -> None:
    stations = [{"name": "near", "mcs": 11}, {"name": "far", "mcs": 0}]
    flows = [{"direction": "down", "station": name} for name in ("near", "far")]
    values = found(phy={"name": "802.11ax"}, stations=stations, flows=flows)["station.mcs"].values
    plan = Plan(Scenario(phy={"name": "802.11ax"}, stations=stations, flows=flows))
    assert values["slowest_us"] == pytest.approx(plan.packet_us(plan.downloads[1], 1500))
    assert values["slowest_us"] > 10 * values["fastest_us"]


def drawn(number: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A cell, and its flows at rates that `scaled` multiplies."""
    rng = random.Random(number)
    name = rng.choice(["802.11b", "802.11g", "802.11a", "802.11n", "802.11ac", "802.11ax", "802.11be"])
    older = name in RATES
    phy: dict[str, Any] = {"name": name}
    mac: dict[str, Any] = {} if older and rng.random() < 0.5 else {"edca": {}}
    if rng.random() < 0.15:
        mac["rts_threshold_bytes"] = rng.choice([0, 500, 3000])
    ap: dict[str, Any] = {
        "limit_packets": rng.choice([50, 100, 300]),
        "scheme": rng.choice(["droptail", "droptail", "fq-codel", "mac80211"]),
    }
    if not older:
        phy |= {"width_mhz": rng.choice([20, 40] if name == "802.11n" else [20, 40, 80]), "streams": rng.choice([1, 2])}
        ap["hardware"] = rng.choice(["ideal", "ideal", "ideal", "ath9k", "firmware"])
        if rng.random() < 0.2:
            mac["aggregation"] = {"max_amsdu_bytes": 3000}
    stations: list[dict[str, Any]] = []
    for _ in range(rng.randint(1, 4)):
        fastest = 15 if name == "802.11n" and phy["streams"] == 2 else 7 if name == "802.11n" else 8
        rate = {"rate_mbps": rng.choice(RATES[name])} if older else {"mcs": rng.randint(0, fastest)}
        stations.append({"name": f"s{len(stations)}", **rate})
    if name in AT_2_4_GHZ and rng.random() < 0.2 and "rts_threshold_bytes" not in mac:
        phy |= {"band_ghz": 2.4, "width_mhz": 20}
        ap["hardware"] = "ideal"
        old = rng.choice(["802.11b", "802.11g"])
        stations[0] = {"name": "s0", "phy": old, "rate_mbps": rng.choice(RATES[old])}
    ways = rng.choice([["up"], ["down"], ["up", "down"], ["up", "down"]])
    flows = [
        {
            "name": f"f{k}",
            "direction": rng.choice(ways),
            "station": stations[k % len(stations)]["name"],
            "application": {
                "name": "udp",
                "rate_mbps": 0.1 * rng.choice([0.2, 1, 1, 3]),
                "payload_bytes": rng.choice([1472, 1472, 1472, 500, 160]),
            },
        }
        for k in range(rng.randint(len(stations), 4))
    ]
    wire = {"rate_mbps": 10_000.0, "one_way_delay_ms": 1}
    return {"phy": phy, "mac": mac, "ap": ap, "wire": wire, "stations": stations}, flows


def scaled(cell: dict[str, Any], flows: list[dict[str, Any]], scale: float, **run: float) -> Scenario:
    def faster(application: dict[str, Any]) -> dict[str, Any]:
        return {**application, "rate_mbps": scale * application["rate_mbps"]}

    return Scenario(
        **cell,
        flows=[{**flow, "application": faster(flow["application"])} for flow in flows],
        run={"warmup_s": 0, **run},
    )


def long_enough(scenario: Scenario) -> dict[str, float]:
    """A run in which 2 % of each flow are several packets, and thirty queues of each sender pass."""
    plan = Plan(scenario)
    flows = [datagrams.packets_per_s(flow) for flow in plan.flows]
    own = min(sum(link.packets_per_s for link in sender.links) for sender in datagrams.senders(plan))
    queues = 30 * plan.limit / own
    duration_s = min(30.0, max(0.3, 300 / min(flows), queues), max(20_000 / sum(flows), 150 / min(flows), queues))
    return {"warmup_s": max(0.2, 0.2 * duration_s), "duration_s": duration_s}


@pytest.mark.whole
def test_check_and_runs_agree_on_what_fits() -> None:
    """In 99 % of the random scenarios whose load is half to twice what the air carries and more than 5 % from it."""
    cells, expected = [], {}
    for number in range(SCENARIOS):
        cell, flows = drawn(number)
        load = math.exp(random.Random(-number - 1).uniform(math.log(0.5), math.log(2)))
        if abs(load - 1) > 0.05:
            carried = largest_scale(datagrams.senders(Plan(scaled(cell, flows, 1.0, duration_s=1))))
            scenario = scaled(cell, flows, carried * load, duration_s=1)
            lasting = scaled(cell, flows, carried * load, **long_enough(scenario))
            expected[f"{number}"] = "flows.application.rate_mbps" not in {finding.key for finding in check(lasting)}
            assert expected[f"{number}"] == (load < 1)
            cells.append(Cell(f"{number}", lasting))
    received = Study(cells, 1).run().datagrams
    fits = {
        f"{name}": bool((own["received_packets"] >= 0.98 * own["sent_packets"]).all())
        for (name,), own in received.group_by("scenario")
    }
    wrong = sorted(name for name, fit in fits.items() if fit != expected[name])
    print(f"{len(fits)} scenarios, in {len(wrong)} of which check is wrong: {', '.join(wrong)}")
    assert len(fits) > 0.9 * SCENARIOS
    assert len(wrong) <= 0.01 * len(fits)
