"""What `wifair advise` rests on: marks, assumptions that vary, and intervals with them."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from advising import BLOATED
from wifair import Scenario
from wifair.advising import OWN, Advice, Advising, advice, wording
from wifair.advising.advice import Doubted
from wifair.advising.changes import Change
from wifair.advising.doubts import Doubt, doubts
from wifair.advising.yardsticks import yardsticks
from wifair.errors import InputError
from wifair.everything.verdict import Standing
from wifair.observed import imported
from wifair.observed.calibration import NEIGHBOURS
from wifair.observed.origins import marks
from wifair.observed.written import summary, text
from wifair.stats import Interval, Values
from wifair.tuning.goals import parsed
from wifair.tuning.probes import with_probes


def test_marks_are_those_that_import_writes(tmp_path: Path) -> None:
    path = tmp_path / "stations.csv"
    path.write_text("name,signal_dbm,down_mbps,traffic\none,-60,3,\ntwo,-70,,download\nthree,-50,,voice\n")
    made = imported([path])
    written = Counter(
        {(key, origin, what): int(count) for key, origin, count, what in summary(made) if origin != "read"}
    )
    found = Counter((mark.family, mark.origin, mark.what) for mark in marks(text(made)) if mark.key)
    assert found == written
    assert ("ap.scheme", "unknown") in {(mark.path, mark.origin) for mark in marks(text(made))}


def test_no_probe_is_at_the_station_for_other_networks() -> None:
    """Its link is the slowest, but it is none of the owner's stations."""
    stations = [{"name": "near", "mcs": 7}, {"name": "far", "mcs": 3}, {"name": NEIGHBOURS, "mcs": 0}]
    udp = {"name": "udp", "rate_mbps": 0.2}
    flows = [
        {"station": "near", "direction": "down"},
        {"station": "far", "direction": "down"},
        {"station": NEIGHBOURS, "direction": "up", "application": udp},
    ]
    scenario, [remark] = with_probes(
        Scenario(phy={"name": "802.11n"}, stations=stations, flows=flows), parsed(["pings"])
    )
    assert scenario.settings()["flows"][-1]["station"] == "far"
    assert "added at far, whose link is the slowest" in remark


def test_a_fitted_value_takes_the_others_that_fit_as_well() -> None:
    """Values of one assumption change together. Without a list of others a fitted value is as good as known."""
    content = """
[wire]
rate_mbps = 40  # fitted: fits as well: [20, 60]; to measured; before that unknown, the line
one_way_delay_ms = 15  # fitted: to measured; before that unknown, half the round-trip time
[phy]
name = "802.11ac"
[tcp]
profile = "today"  # fitted: fits as well: ["windows"]; to measured; before that unknown, hosts
[[stations]]
name = "near"
mcs = 5  # fitted: fits as well: [4, 6]; to measured; before that assumed, by the signal
[[stations]]
name = "far"
mcs = 2  # fitted: fits as well: [1, 3]; to measured; before that assumed, by the signal
[[flows]]
station = "near"
direction = "down"
[[flows]]
station = "far"
direction = "down"
application = { name = "web", think_mean_s = 4 }  # fitted: fits as well: [{ name = "web", think_mean_s = 2 }]; to measured; before that assumed, loads
"""
    scenario = Scenario.from_settings(tomllib.loads(content))
    found, unvaried = doubts(scenario, marks(content))
    assert unvaried == []
    assert [(each.family, each.other) for each in found] == [
        ("flows.application", "think_mean_s 2"),
        ("stations.mcs", "4"),
        ("stations.mcs", "6"),
        ("tcp.profile", "windows"),
        ("wire.rate_mbps", "20"),
        ("wire.rate_mbps", "60"),
    ]
    assert [[station["mcs"] for station in each.scenario.settings()["stations"]] for each in found[1:3]] == [
        [4, 1],
        [6, 3],
    ]
    assert {each.why for each in found} >= {"fitted: to measured; before that unknown, the line"}
    with pytest.raises(
        InputError,
        match=r"wire\.rate_mbps: the comment 'fits as well: 20; why' has no list of other values; allowed here: '# fitted: fits",
    ):
        marks("[wire]\nrate_mbps = 40  # fitted: fits as well: 20; why\n")


def test_marks_belong_to_their_key() -> None:
    content = (
        "[ap]\n# unknown: why\nscheme = 'las'\nlimit_packets = 3  # read: a file\n\n# a remark\n[[flows]]\n[[flows]]  # 3 Mbps; assumed: bulk: much\n"
        "application = { name = 'web' }  # assumed: documents\n"
    )
    assert [(mark.path, mark.origin, mark.what) for mark in marks(content)] == [
        ("ap.scheme", "unknown", "why"),
        ("flows[1]", "assumed", "bulk: much"),
        ("flows[1].application", "assumed", "documents"),
    ]


def test_assumptions_vary_by_family_and_the_rest_is_named() -> None:
    content = "\n".join(
        [
            "[station]\ntx_queue.scheme = 'droptail'  # unknown: the queues of the hosts\n[phy]\nband_ghz = 5  # read: a file",
            "[mac]\nedca = { classify = 'dscp' }  # unknown: the category",
            "[ap]\nscheme = 'mac80211'  # unknown: queues\nhardware = 'firmware'  # unknown: the chip",
            "[wire]\nrate_mbps = 500  # unknown: the line",
            "[tcp]\nprofile = 'today'  # unknown: hosts",
            *(
                f"[[stations]]\nname = 's{i}'\nmcs = 7  # assumed: a rate\nmcs_down = 5  # read: a rate"
                for i in range(3)
            ),
            *(
                f"[[flows]]\nstation = 's{i}'\ndirection = 'down'\napplication = 'bulk'  # assumed: bulk: much"
                for i in range(3)
            ),
            "[[flows]]\nstation = 's0'\ndirection = 'down'",
            "application = { name = 'web', min_bytes = 20_000, max_bytes = 60_000, step_bytes = 10_000, think_mean_s = 2.0 }  # assumed: documents",
            "[[flows]]\nstation = 's0'\ndirection = 'down'\ntcp = { congestion_control = 'newreno' }",
            "[[flows]]\nstation = 's0'\ndirection = 'up'",
            "[[flows]]\nstation = 's0'\ndirection = 'down'\napplication = 'voip'",
        ]
    )
    import tomllib

    scenario = Scenario.from_settings({"phy": {"name": "802.11ax"}, **_merged(tomllib.loads(content))})
    found, unvaried = doubts(scenario, marks(content))
    others = {(each.family, each.other): each.scenario for each in found}
    assert {family for family, _ in others} == {
        "ap.scheme",
        "ap.hardware",
        "mac.edca",
        "wire.rate_mbps",
        "tcp.profile",
        "stations.mcs",
        "flows.application",
    }
    assert [each.family for each in unvaried] == ["station.tx_queue.scheme"]
    unmarked = others["mac.edca", "nothing is marked, so all packets are in best effort"]
    assert unmarked.channel_access(1500)["s0", "down"]["category"] == "best-effort"
    assert unmarked.settings()["mac"]["edca"]["classify"] == "best-effort"
    assert [each["mcs"] for each in others["stations.mcs", "-2"].plan()["bss"]["stations"]] == [5, 5, 5]
    assert others["wire.rate_mbps", "125"].plan()["wire"]["rate_mbps"] == 125
    assert others["flows.application", "twice the load"].plan()["flows"][3]["application"]["think_mean_s"] == 1
    bbr = others["tcp.profile", "servers that send by BBR"].settings()["flows"]
    controls = [flow.get("tcp", {}).get("congestion_control") for flow in bbr]
    assert controls == ["bbr"] * 4 + ["newreno", None, None], (
        "a flow that says by what it sends, uploads and datagrams are as they were"
    )
    idle = others["flows.application", "1 of these 3 flows is idle"].plan()
    assert [flow["station"] for flow in idle["flows"][:3]] == ["s0", "s2", "s0"]
    assert [each["label"] for each in idle["bss"]["stations"]] == ["s0", "s2"]
    assert all(each.scenario.plan_json != scenario.plan_json for each in found)


def _merged(tree: dict[str, Any]) -> dict[str, Any]:
    return {**tree, "phy": {"name": "802.11ax", **tree.get("phy", {})}}


def test_a_gain_that_rests_on_an_assumption_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long FIFO matters only if the line is faster than the air."""
    monkeypatch.setattr(advice, "DOUBT_SEEDS", 4)
    content = "[wire]\nrate_mbps = 60  # unknown: the line\n"
    scenario = Scenario(**{**BLOATED, "wire": {"rate_mbps": 60}})
    found = Advising(scenario, parsed(["pings"]), "linux", marks(content)).run()
    assert found.best is not None
    standings: dict[str, Standing | None] = {
        each.doubt.other: each.verdict.standing(found.best.name, OWN) if each.verdict else None
        for each in found.doubted
    }
    assert standings == {"15": Standing.EQUAL, "240": Standing.BETTER}
    told = wording.doubted(found)
    assert re.match(
        r"By chance and all of these assumptions together, from the means as it is: pings \d+ → [\d.]+ \[[\d.]+, \d+\] ms \(× 0\.\d+ \[0\.\d+, \d\.?\d*\]\); total ",
        told[1],
    )
    assert told[2:] == ["wire.rate_mbps: 15: no difference that matters."]


def test_a_predicted_interval_has_room_for_several_wrong_assumptions() -> None:
    """Two assumptions that may each halve a factor: both together halve it by √2 in the logarithm. Nothing raises it, so its upper end is that of chance."""
    scenario, change = Scenario(**BLOATED), Change("other", "")
    one = yardsticks(scenario.plan(), parsed(["pings"]))[0].criterion
    noise = np.array([-0.01, 0.0, 0.01, 0.0])

    def with_factor(factor: float) -> dict[str, dict[str, Values]]:
        return {OWN: {one.id: np.ones(4)}, change.name: {one.id: factor * np.exp(noise)}}

    others = [("wire", 0.25), ("wire", 0.4), ("hosts", 0.25), ("hardware", 0.5)]
    doubted = [Doubted(Doubt(key, "", "", scenario), None, values=with_factor(factor)) for key, factor in others]
    found = Advice(scenario, (), {}, values=with_factor(0.5), doubted=doubted)
    predicted, chance = found.predicted(change, one), found.effect(change, one)
    assert predicted.estimate == pytest.approx(0.5)
    assert predicted.low == pytest.approx(0.5 * 0.5 ** (2**0.5), rel=0.001)
    assert predicted.high == pytest.approx(chance.high)


def test_an_interval_of_a_factor_reaches_zero_and_infinity() -> None:
    """With another value of an assumption nothing is left in some replications, and with one more nothing was there before."""
    scenario, change = Scenario(**BLOATED), Change("other", "")
    one = yardsticks(scenario.plan(), parsed(["total"]))[0].criterion
    own, noise = np.full(4, 10.0), np.exp(np.array([-0.01, 0.0, 0.01, 0.0]))

    def shown(*doubted: tuple[Values, Values], fresh: Values = own * noise) -> Interval:
        others = [
            Doubted(Doubt(f"{i}", "", "", scenario), None, values={OWN: {one.id: before}, change.name: {one.id: after}})
            for i, (before, after) in enumerate(doubted)
        ]
        values = {OWN: {one.id: own}, change.name: {one.id: fresh}}
        return Advice(scenario, (), {}, values=values, doubted=others).predicted(change, one)

    chance = shown()
    assert chance.low is not None
    assert chance.high is not None
    nothing, some = np.zeros(4), np.array([0.0, 9.0, 10.0, 11.0])
    for after in (nothing, some):
        found = shown((own, after))
        assert found.low == 0.0
        assert found.high == pytest.approx(chance.high)
    found = shown((nothing, own))
    assert found.low == pytest.approx(chance.low)
    assert found.high == np.inf
    assert (shown((own, nothing), (some, own)).low, shown((own, nothing), (some, own)).high) == (0.0, np.inf)
    # Nothing before and after moves nothing.
    assert shown((nothing, nothing)) == chance
    # An interval by two replications that is wider than floating-point numbers are.
    found = shown(fresh=np.array([1e-150, 1e-100, np.nan, np.nan]))
    assert found.low == 0.0
    assert found.estimate > 0.0
