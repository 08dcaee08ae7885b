"""The benchmark of peers: its halves for wifair are valid scenarios, its arithmetic is right. No peer is needed here."""

from __future__ import annotations

import os
import sys
import tomllib
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from wifair import Scenario

PEERS = Path(__file__).parent.parent / "benches" / "peers"
sys.path.insert(0, str(PEERS))

import causes  # type: ignore[import-not-found]  # noqa: E402
import peers  # type: ignore[import-not-found]  # noqa: E402
import run  # type: ignore[import-not-found]  # noqa: E402
import table  # type: ignore[import-not-found]  # noqa: E402
from cases import ALT, CASES, CROWDED, FIELDS, SATURATED, SYMMETRIC, FieldCase  # type: ignore[import-not-found]  # noqa: E402
from kept import Kept  # type: ignore[import-not-found]  # noqa: E402

PRINTED = '{"up_kbps": [1000.0, 500.0], "down_kbps": [250.0], "data_frames": 400, "mac_acks": 300}'


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_wifairs_half_has_the_flows_of_the_others(case: Any) -> None:
    for size in case.sizes:
        plan = Scenario.from_toml(case.scenario, case.settings(size).items()).plan()
        up, down = (sum(flow["direction"] == way for flow in plan["flows"]) for way in ("up", "down"))
        assert (up, down) == case.flows(size)
        bsss = case.options(size).get("bss", 1)
        assert (bsss * case.options(size)["up"], bsss * case.options(size)["down"]) == (up, down)
        assert plan["run"]["warmup_s"] == case.options(size)["warmup_s"]
    sharing = {other.measured_s for other in CASES if other.scenario == case.scenario}
    assert Scenario.from_toml(case.scenario).plan()["run"]["duration_s"] in sharing


def test_every_step_of_every_chain_is_a_valid_scenario() -> None:
    for chain in causes.CHAINS:
        case = next(case for case in CASES if case.name == chain.case)
        assert set(chain.sizes) <= set(case.sizes)
        assert chain.peer in case.peers
        told: dict[str, object] = {}
        for step in chain.steps:
            assert step.wifair or step.native
            told |= step.wifair
            for size in chain.sizes:
                Scenario.from_toml(case.scenario, {**case.settings(size), **told}.items())


@pytest.mark.parametrize("case", [case for case in CASES if case.udp], ids=lambda case: case.name)
def test_all_flows_together_offer_the_same(case: Any) -> None:
    for size in case.sizes:
        flows = case.settings(size)["flows"]
        payload_mbps = sum(flow.get("count", 1) * flow["application"]["rate_mbps"] for flow in flows)
        each = len(flows) if isinstance(case, FieldCase) else 1  # in fields the others are told what each flow offers
        assert payload_mbps * 1500 / 1472 == pytest.approx(each * case.options(size)["offered_mbps"])


@pytest.mark.parametrize("case", [case for case in CASES if case.slow_mcs is not None], ids=lambda case: case.name)
def test_the_station_of_the_last_flow_alone_is_slow(case: Any) -> None:
    plan = Scenario.from_toml(case.scenario, case.settings(3).items()).plan()
    mcs = {station["label"]: station["mcs"] for station in plan["bss"]["stations"]}
    assert [mcs[flow["station"]] for flow in plan["flows"]] == [7, 7, 0]


def test_settings_are_toml_on_one_line() -> None:
    for case in CASES:
        for key, value in case.settings(case.sizes[0]).items():
            assert tomllib.loads(f"value = {peers.inline(value)}") == {"value": value}, key


def test_a_field_has_the_reach_of_the_others() -> None:
    """Who hears whom in wifair's half, by the rule that ns3_field.cc states."""
    for case in (*FIELDS, *CROWDED):
        (size,) = case.sizes
        plan = Scenario.from_toml(case.scenario, case.settings(size).items()).plan()
        deaf = {frozenset(pair) for pair in plan["bss"]["field"]["hidden"]}
        # In plans the access point of the first BSS is `ap`.
        named = {case.nodes(0)[0]: "ap"}
        nodes = [(b, number, named.get(name, name)) for b in range(size) for number, name in enumerate(case.nodes(b))]
        for i, (bss, number, name) in enumerate(nodes):
            for other_bss, other_number, other in nodes[:i]:
                within = bss == other_bss
                heard = not (case.hidden and number and other_number) if within else bss - other_bss <= case.reach
                assert (frozenset((name, other)) in deaf) != heard, (case.name, name, other)
        assert sorted(bss for group in case.groups.values() for bss in group) == list(range(size))


def test_what_a_field_prints_is_read_by_group() -> None:
    printed = '{"bss_up_kbps": [3000.0, 500.0, 1000.0], "bss_down_kbps": [0.0, 250.0, 0.0], "data_frames": 400, "mpdus": 1000, '
    outcome = peers.Outcome.of(printed + '"attempts": 500, "failed": 100}')
    assert outcome == peers.Outcome(4.5, 0.25, 0.2, 2.5, (3.0, 0.5, 1.0), (0.0, 0.25, 0.0))
    line = next(case for case in FIELDS if case.name == "line-tcp")
    values = {metric.title: metric.values([outcome]) for metric in table.metrics(line)}
    assert values["outer BSS, up, Mbps"] == [2.0]
    assert values["middle BSS, down, Mbps"] == [0.25]
    assert values["failed attempts, %"] == [0.2]


def test_a_fields_outcome_is_that_of_each_bss() -> None:
    case = FieldCase(
        "line-tcp", "", "BSSs", (2,), ("wifair",), 1.2, 0.3, ("up", "down"), file="field-tcp", groups={"each": (0, 1)}
    )
    outcomes = peers.Wifair(Namespace(wifair=sys.executable)).outcomes(case, 2, 2, {}, case.measured_s)
    settings = {**case.settings(2), "run.duration_s": case.measured_s}
    results = Scenario.from_toml(case.scenario, settings.items()).run(seeds=2)
    for seed, outcome in zip(results.seeds, outcomes, strict=False):
        of_bsss = results.bsss.filter(seed=seed)
        assert outcome.bss_up_mbps == pytest.approx(of_bsss["goodput_up_mbps"].to_list())
        assert outcome.bss_down_mbps == pytest.approx(of_bsss["goodput_down_mbps"].to_list())
        assert max(outcome.bss_up_mbps) > 0
        assert 0 < outcome.failed < 0.5
        assert outcome.mpdus > 1


def test_what_the_peers_print_is_read() -> None:
    output = f"num_nodes is set 12\n{PRINTED}\n"
    outcome = peers.Outcome.of(peers.result_line(output))
    assert outcome == peers.Outcome(1.5, 0.25, 0.25)
    uncounted = peers.Outcome.of('{"up_kbps": [1.0], "down_kbps": []}')
    assert uncounted.failed is None
    assert table.FAILED.values([outcome, uncounted]) == [0.25]
    with pytest.raises(SystemExit, match="no result"):
        peers.result_line("node out of range\n")


def test_a_childs_memory_is_its_own() -> None:
    # This process is far larger; a child that it started itself would seem to be as large.
    cost, output = peers.child("python", [sys.executable, "-S", "-c", "print(sum(range(3_000_000)))"])
    assert output == "4499998500000\n"
    assert cost.cpu_s > 0
    assert 2**20 < cost.peak_bytes < 40 * 2**20
    with pytest.raises(SystemExit, match="python failed"):
        peers.child("python", [sys.executable, "-S", "-c", "raise SystemExit(3)"])


def test_the_cost_is_a_slope_and_never_negative() -> None:
    near, far = peers.Cost(1.5, 0), peers.Cost(3.5, 0)
    assert run.slope(near, far, (10.0, 110.0)) == pytest.approx(0.02)
    with pytest.raises(SystemExit, match="too busy"):
        run.slope(far, near, (10.0, 110.0))


def test_ratios_are_taken_within_a_repetition() -> None:
    # The machine was half as fast in the second repetition: the ratio does not show it.
    found = table.ratios([0.10, 0.20, 0.12], [0.001, 0.002, 0.001])
    assert (found.median, found.low, found.high) == pytest.approx((100.0, 100.0, 120.0))
    assert found.told(".3g") == "100 (100–120)"


def test_a_difference_is_bold_where_it_is_clear() -> None:
    far = table.difference([5.0, 5.1, 4.9], [6.0, 6.1, 5.9])
    assert far.estimate == pytest.approx(-1.0)
    assert table.beyond(far)
    assert table.told(far).startswith("**-1.00 ±")
    near = table.difference([5.0, 5.1, 4.9], [5.05, 5.0, 4.9])
    assert not table.beyond(near)
    assert table.told(near).startswith("+0.0")


def test_a_chain_goes_on_from_the_step_before(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, object]] = []

    class Fake(peers.Native):  # type: ignore[misc]
        name = "ns-2"

        def call(self, case: object, options: object) -> list[str]:
            raise AssertionError("nothing is run here")

        def outcomes(
            self, case: object, size: int, seeds: int, changed: Mapping[str, object], measured_s: float
        ) -> list[Any]:
            asked.append(dict(changed))
            return [peers.Outcome(5.0 + shift, 0.0, 0.2) for shift in (0.0, 0.1)]

        def version(self) -> str:
            return self.name

    class Reference(Fake):
        name = "wifair"

    first, second = causes.Step("a", {"x": 1}), causes.Step("b", {"y": 2}, {"capture_db": 90})
    monkeypatch.setattr(causes, "CHAINS", (causes.Chain("ns-2", "saturated", (5,), (first, second)),))
    found = {
        ("saturated", 5, "wifair"): [peers.Outcome(6.0 + shift, 0.0, 0.2) for shift in (0.0, 0.1)],
        ("saturated", 5, "ns-2"): [peers.Outcome(5.0 + shift, 0.0, 0.2) for shift in (0.0, 0.1)],
    }
    explained = causes.explain([SATURATED], [Reference(), Fake()], found, 2, lambda text: None)
    assert asked == [{"x": 1}, {"x": 1, "y": 2}, {"capture_db": 90}]
    assert [(one.step.cause, one.metric.name) for one in explained] == [("a", "up")]
    assert explained[0].before.estimate == pytest.approx(-1.0)
    assert explained[0].after.estimate == pytest.approx(0.0)
    assert "saturated, 5: up, Mbps, ns-2 − wifair | a | wifair: `x` = 1" in causes.markdown(explained)


def test_the_tables_hold_what_was_found() -> None:
    found = {
        (case.name, size, name): [peers.Outcome(5.0 + shift, 1.0 + shift, 0.2 + shift / 10) for shift in (0.0, 0.1)]
        for case in (SYMMETRIC, ALT)
        for size in case.sizes
        for name in case.peers
    }
    text = table.outcomes(SYMMETRIC, ["wifair", "ns-2"], found)
    assert text.splitlines()[0] == "| flows each way |  | wifair | ns-2 | ns-2 − wifair |"
    assert len(text.splitlines()) == 2 + 3 * len(SYMMETRIC.sizes)
    assert "ns-2" not in table.outcomes(ALT, ["wifair", "ns-2", "ns-3"], found)
    costs = {
        ("symmetric", 10, "wifair"): table.Costs([0.001, 0.001], [30.0, 30.0]),
        ("symmetric", 10, "ns-2"): table.Costs([0.1, 0.2], [40.0, 42.0]),
    }
    assert "| **150 (100–200)** | 30 | 41 |" in table.costs(SYMMETRIC, ["wifair", "ns-2"], costs)


def test_the_page_has_a_place_for_the_tables() -> None:
    for group, page in {
        "single frames": "peers.md",
        "a-mpdus": "peers-a-mpdus.md",
        "fields": "peers-fields.md",
    }.items():
        assert run.MARKS[group].between(PEERS.parent.parent / "docs" / page) is not None


def test_a_program_is_compiled_again_when_the_header_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sources, build, prefix, compiler = (tmp_path / name for name in ("peers", "build", "ns3", "compiler"))
    for path in (sources / "ns3_cell.cc", sources / "ns3_common.h", prefix / "lib" / "libns3.44-core.so"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (0, 0))
    compiler.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\necho compiled >> "$2"\n')
    compiler.chmod(0o755)
    monkeypatch.setattr(peers, "HERE", sources)
    monkeypatch.setattr(peers, "BUILD", build)
    monkeypatch.setenv("CXX", str(compiler))

    def compilations() -> int:
        program = peers.Ns3(Namespace(ns3=prefix)).build("ns3_cell")
        return len(Path(program).read_text().splitlines())

    assert [compilations(), compilations()] == [1, 1]
    later = Path(peers.Ns3(Namespace(ns3=prefix)).build("ns3_cell")).stat().st_mtime + 1
    os.utime(sources / "ns3_common.h", (later, later))
    assert compilations() == 2


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    folder, programs = tmp_path / "build", tmp_path / "programs"
    programs.mkdir()
    (programs / "cell.tcl").write_text("one")
    asked: list[int] = []

    def find() -> list[int]:
        asked.append(1)
        return [1, 2]

    assert Kept(folder, programs, "engine 1").once(["ns", 5], find) == [1, 2]
    again = Kept(folder, programs, "engine 1")
    with again.path.open("a") as file:
        file.write('["cut of')  # as a write that was interrupted leaves it
    again = Kept(folder, programs, "engine 1")
    assert again.once(["ns", 5], find) == [1, 2]
    assert len(asked) == 1
    Kept(folder, programs, "engine 2").once(["ns", 5], find)
    (programs / "cell.tcl").write_text("two")
    Kept(folder, programs, "engine 1").once(["ns", 5], find)
    assert len(asked) == 3
    again.forget()
    assert not again.path.exists()
