"""The paper's study: its grid, its claims, and that claims detect what they state."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from conftest import Cli
from wifair.papers import Asked, find, paper_ids
from wifair.papers.adaptive_pushout import reproduce
from wifair.papers.adaptive_pushout.axis import TenToForty
from wifair.papers.adaptive_pushout.claims import CLAIMS, DROPPED
from wifair.papers.adaptive_pushout.claims.evidence import turning_point
from wifair.papers.adaptive_pushout.measured import Growth, Measured
from wifair.papers.adaptive_pushout.study import (
    ALL_MIXES,
    FIG_6,
    FIG_6_AS_TEXT,
    FORMS,
    READINGS,
    SCHEMES,
    SYMMETRIC,
    TABLE_II,
    TWENTY,
    Mix,
    cells,
    scenario,
)
from wifair.papers.claims import Evidence, Number, Relation, judge
from wifair.papers.readings import Kind, Reading
from wifair.papers.reproduction import Form, variant_cells
from wifair.papers.runs import CellRuns, Runs
from wifair.stats import jain_rows

TINY = Form(seeds=2, first_look=2, warmup_s=0.5, duration_s=2.0)


def fake(mix: Mix, up: list[float], down: list[float], runs: int = 1, **queue: float) -> CellRuns:
    """A cell whose runs are alike, of given throughputs."""
    counted = ("segments_sent", "timeouts", "fast_retransmits")
    flows = [
        {"seed": seed, "direction": way, "goodput_mbps": value, "rtt_mean_ms": 50.0} | dict.fromkeys(counted, 2.0)
        for seed in range(1, runs + 1)
        for way, values in (("up", up), ("down", down))
        for value in values
    ]
    columns = ("offered_packets", "tail_drop_packets", "evicted_packets", "filtered_packets", "delivered_packets")
    places = (("ap", "data"), ("ap", "ack"), ("ap", "all"), ("stations", "data"))
    queues = [
        {"seed": seed, "node": node, "class": kind}
        | {column: queue.get(f"{kind}_{column}", 0.0) if node == "ap" else 100.0 for column in columns}
        for seed in range(1, runs + 1)
        for node, kind in places
    ]
    table = [{"seed": seed, "duration_s": 60.0} for seed in range(1, runs + 1)]
    return CellRuns({"flows": pl.DataFrame(flows), "queues": pl.DataFrame(queues), "runs": pl.DataFrame(table)})


def fake_runs(found: dict[tuple[Mix, str], CellRuns]) -> Measured:
    """Made-up cells as the claims' `Measured`."""
    return Measured(
        Runs(
            {
                frozenset({"scheme": scheme, "n_up": mix.up, "n_down": mix.down}.items()): cell
                for (mix, scheme), cell in found.items()
            }
        )
    )


def test_the_grid_is_the_papers() -> None:
    assert [mix.up + mix.down for mix in SYMMETRIC] == list(range(2, 21, 2))
    assert all(mix.up == mix.down for mix in SYMMETRIC)
    assert [(mix.down, mix.up) for mix in TABLE_II] == [(n, 20 - n) for n in range(2, 20, 2)]
    assert (FIG_6.down, FIG_6.up) == (6, 14)
    assert (FIG_6_AS_TEXT.down, FIG_6_AS_TEXT.up) == (14, 6)
    assert TWENTY in SYMMETRIC
    assert TWENTY in TABLE_II
    assert FORMS["full"].seeds >= 10
    assert (FORMS["full"].warmup_s, FORMS["full"].duration_s) == (150.0, 600.0)
    assert len(cells(TINY, None)) == (10 + 9 - 1) * 5


def test_the_scenario_is_that_of_section_iv_a() -> None:
    plan = scenario(Mix(up=2, down=3), "adaptive-pushout", FORMS["full"]).plan()
    phy, flow = plan["bss"]["phy"], plan["flows"][0]
    assert (phy["mac_header_bytes"], phy["llc_bytes"], phy["fcs_bytes"]) == (30, 8, 4)
    assert (phy["slot_us"], phy["sifs_us"], phy["plcp_us"]) == (20.0, 10.0, 192.0)
    assert plan["bss"]["ap"]["tx_queue"]["limit_packets"] == 100
    assert {station["rate_mbps"] for station in plan["bss"]["stations"]} == {11.0}
    assert flow["tcp"]["mss_bytes"] + flow["tcp"]["header_bytes"] == 1500
    assert flow["tcp"]["receiver_window_segments"] == 42
    assert flow["tcp"]["congestion_control"]["name"] == "reno"
    assert flow["tcp"]["delayed_ack"]["segments"] == 1
    assert (plan["wire"]["rate_mbps"], plan["wire"]["one_way_delay_ms"]) == (100.0, 5.0)
    assert [f["direction"] for f in plan["flows"]] == ["up"] * 2 + ["down"] * 3


@pytest.mark.parametrize("reading", READINGS, ids=[reading.id for reading in READINGS])
def test_every_reading_is_another_simulation(reading: Reading[Measured]) -> None:
    grid = cells(TINY, "4")
    baseline = {cell.keys["scheme"]: cell.scenario.plan() for cell in grid}
    others = variant_cells(grid, reading)
    assert others
    for cell in others:
        assert cell.scenario.plan() != baseline[cell.keys["scheme"]]


def test_the_joint_reading_changes_both_choices_where_they_exist() -> None:
    (joint,) = (reading for reading in READINGS if reading.id == "redundant-newest+tie-random")
    assert joint.kind == Kind.EXPLORATION  # the paper prints what goes in a tie
    schemes = {
        cell.keys["scheme"]: cell.scenario.plan()["bss"]["ap"]["tx_queue"]["scheme"]
        for cell in variant_cells(cells(TINY, "4"), joint)
    }
    assert set(schemes) == {"ack-pushout", "adaptive-pushout"}
    assert {plan["redundant"] for plan in schemes.values()} == {"newest"}
    assert schemes["adaptive-pushout"]["tie"] == "random"
    assert "tie" not in schemes["ack-pushout"]


def test_ten_to_forty_flows_replace_two_to_twenty_in_fig_3() -> None:
    reading, grid = TenToForty(), cells(TINY, None)
    made = variant_cells(grid, reading)
    assert {(cell.keys["scheme"], cell.keys["n_up"], cell.keys["n_down"]) for cell in made} == {
        (scheme, n, n) for scheme in SCHEMES for n in (15, 20)
    }
    for cell in made:
        plan = cell.scenario.plan()
        n = int(cell.keys["n_up"])
        assert [f["direction"] for f in plan["flows"]] == ["up"] * n + ["down"] * n
    every = {
        (mix, scheme): fake(mix, [2.0] * mix.up, [2.0] * mix.down, runs=3)
        for mix in (*ALL_MIXES, Mix(15, 15), Mix(20, 20))
        for scheme in SCHEMES
    }
    m = fake_runs(every)
    spm_af_wins = {False: 10, True: 4}
    for other, points in spm_af_wins.items():
        assert len(judged("3b-spm-af-downlinks-win", reading.viewed(m) if other else m).points) == points
    assert set(reading.viewed(m).every_mix) == {Mix(5, 5), Mix(15, 15), Mix(20, 20), *TABLE_II}
    assert reading.viewed(m).with_notions(throughput="throughput_ip_mbps").symmetric == reading.viewed(m).symmetric


def test_every_former_rule_is_applied_to_the_present_runs() -> None:
    every = {
        (mix, scheme): fake(mix, [2.0] * mix.up, [2.0] * mix.down, runs=3) for mix in ALL_MIXES for scheme in SCHEMES
    }
    formers = {claim.id: judge(claim, fake_runs(every)).formerly for claim in CLAIMS if claim.formerly}
    assert len(formers) == 10
    assert {name for name, former in formers.items() if former is None or former.here is None} == set()


def test_claims_have_names_of_their_own_and_say_how_they_are_tested() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    for claim in CLAIMS:
        assert claim.statement.endswith(".")
        assert claim.reading
        assert claim.unit
        assert claim.figure in (None, *find("adaptive-pushout").FIGURES)
    assert not {claim.id for claim in DROPPED} & {claim.id for claim in CLAIMS}
    # The figures' curves are lost: the text prints no other numbers than where the two turning points are.
    assert {claim.id: claim.published for claim in CLAIMS if claim.published is not None} == {
        "5a-af-turning-point": 6.0,
        "5a-ack-pushout-turning-point": 4.0,
    }


def test_every_section_that_states_results_has_claims() -> None:
    assert {part for claim in CLAIMS for part in claim.section.split(", ")} == {
        "abstract",
        "I",
        "II",
        "III-A",
        "III-B",
        "IV-B",
        "IV-C",
        "V",
    }
    assert {claim.figure for claim in CLAIMS} == {None, *find("adaptive-pushout").FIGURES}


def test_measured_quantities() -> None:
    mix = Mix(up=2, down=1)
    queue = {"ack_offered_packets": 100, "ack_filtered_packets": 30, "ack_evicted_packets": 5}
    queue |= {"ack_delivered_packets": 60, "all_tail_drop_packets": 10, "data_offered_packets": 50}
    m = fake_runs({(mix, "x"): fake(mix, [3.0, 1.0], [4.0], data_tail_drop_packets=10, **queue)})
    assert m.index(mix, "x") == pytest.approx(64 / (3 * 26))
    assert m.index_up(mix, "x") == pytest.approx(16 / (2 * 10))
    assert m.balance(mix, "x") == pytest.approx(36 / (2 * 20))
    assert m.down_minus_up(mix, "x") == pytest.approx(2.0)
    assert m.acks_removed(mix, "x") == pytest.approx(0.35)
    assert m.lost(mix, "x", "ack") == pytest.approx(0.05)
    assert m.lost(mix, "x", "data") == pytest.approx(0.2)
    assert m.lost_packets(mix, "x", "ack") == pytest.approx(5)
    assert m.redundant_found(mix, "x") == pytest.approx(0.75)
    assert m.growth(mix, "x") == pytest.approx(0.6)
    # Two uplinks with two segments each and an RTT of 50 ms.
    assert m.growth(mix, "x", Growth.PER_SECOND) == pytest.approx(60 / (2 * 2 * 0.05))
    assert m.with_notions(growth=Growth.ACKS_PER_SECOND).growth(mix, "x") == pytest.approx(1.0)
    assert np.isnan(jain_rows(np.zeros((1, 3)))).all()


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([3.0, 1.0, -1.0, -2.0], 5.0),  # from 1 at 4 to −1 at 6
        ([3.0, 2.0, 1.0, -3.0], 6.5),
        ([-1.0, -1.0, -1.0, -1.0], 2.0),
        ([1.0, 1.0, 1.0, 1.0], 8.0),
    ],
)
def test_the_turning_point_is_where_downlinks_stop_winning(differences: list[float], expected: float) -> None:
    mixes = [Mix(up=20 - n, down=n) for n in (2, 4, 6, 8)]
    found = {
        (mix, "x"): fake(mix, [5.0] * mix.up, [5.0 + d] * mix.down) for mix, d in zip(mixes, differences, strict=True)
    }
    assert turning_point(fake_runs(found), mixes, "x") == pytest.approx([expected])


def judged(claim_id: str, measured: Measured) -> Evidence:
    """The evidence of a claim."""
    (claim,) = (claim for claim in CLAIMS if claim.id == claim_id)
    return claim.evidence(measured)


def test_much_fairer_is_half_of_what_the_index_lacks() -> None:
    def cell(scheme: str, mix: Mix) -> CellRuns:
        # One flow of n apart: the more it has, the lower the index.
        up = [4.0 if scheme == "ack-pushout" else 2.0 if scheme == "adaptive-pushout" else 9.0, *[1.0] * (mix.up - 1)]
        return fake(mix, up, [1.0] * mix.down, runs=3)

    m = fake_runs({(mix, scheme): cell(scheme, mix) for mix in ALL_MIXES for scheme in SCHEMES})
    found = {point.label: np.asarray(point.values) for point in judged("V-much-better", m).points}
    lacking = {s: np.mean([1.0 - m.index(mix, s) for mix in ALL_MIXES], axis=0) for s in SCHEMES}
    assert found["over ack-pushout"] == pytest.approx(lacking["ack-pushout"] / 2 - lacking["adaptive-pushout"])
    assert set(found) == {f"over {s}" for s in SCHEMES if s != "adaptive-pushout"}


def test_general_comparisons_leave_out_the_mix_that_the_paper_excepts() -> None:
    every = {
        (mix, scheme): fake(mix, [2.0] * mix.up, [2.0] * mix.down, runs=3) for mix in ALL_MIXES for scheme in SCHEMES
    }
    for name in ("I-better-for-a-wide-range", "III-B-better-than-ack-pushout", "5a-achieves-best-fairness"):
        assert not any("(2, 18)" in point.label for point in judged(name, fake_runs(every)).points)


def test_timeouts_are_held_against_the_acks_that_are_lost() -> None:
    # Each uplink flow of a made-up cell has two timeouts; 18 of them or more for 40 lost ACKs.
    every = {
        (mix, scheme): fake(mix, [2.0] * mix.up, [2.0] * mix.down, runs=3, ack_evicted_packets=40)
        for mix in ALL_MIXES
        for scheme in SCHEMES
    }
    points = judged("5a-ack-drops-time-out", fake_runs(every)).points
    assert {point.label: np.asarray(point.values)[0] for point in points} == {
        "ack-filtering at (2, 18)": pytest.approx(0.9 - 0.5),
        "ack-filtering at (4, 16)": pytest.approx(0.8 - 0.5),
        "ack-pushout at (2, 18)": pytest.approx(0.9 - 0.5),
    }


def test_flat_over_all_flows_looks_at_all_flows() -> None:
    every = {
        (mix, scheme): fake(mix, [4.0 * mix.down / 10] * mix.up, [4.0 * mix.up / 10] * mix.down, runs=3)
        for mix in ALL_MIXES
        for scheme in SCHEMES
    }
    values = {p.label: np.asarray(p.values)[0] for p in judged("5b-adaptive-flat-over-all", fake_runs(every)).points}
    totals = {mix: 0.8 * mix.up * mix.down for mix in TABLE_II}
    mean = np.mean(list(totals.values()))
    assert values == {str(mix): pytest.approx(total / mean) for mix, total in totals.items()}


def test_a_figure_alone_runs_its_own_mixes_and_claims(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(FORMS, "quick", TINY)
    found = reproduce(Asked("quick", "5a"))
    assert {(cell.keys["n_down"], cell.keys["n_up"]) for cell in found.results.cells} == {
        (x.down, x.up) for x in TABLE_II
    }
    assert {judgement.figure for judgement in found.judgements} == {"5a"}
    assert found.sensitivities == []
    paths = found.draw(tmp_path)["5a"]
    assert [path.suffix for path in paths] == [".png"]
    assert all(path.stat().st_size > 5_000 for path in paths)


@pytest.mark.whole
def test_the_whole_study_judges_every_claim(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(FORMS, "quick", TINY)
    found = reproduce(Asked("quick"))
    assert [judgement.id for judgement in found.judgements] == [claim.id for claim in CLAIMS]
    simulated = {*(reading.id for reading in READINGS), TenToForty.id}
    assert {other.id for other in found.sensitivities} == {
        *simulated,
        *(f"{name}-per-second" for name in ("growth", "acks")),
        "ip-bytes",
    }
    assert set(found.draw(tmp_path)) == set(find("adaptive-pushout").FIGURES)
    variants = {str(cell.keys["variant"]) for cell in found.results.cells}
    assert variants == {"baseline", *simulated}
    baseline = [cell for cell in found.results.cells if cell.keys["variant"] == "baseline"]
    assert {cell.keys["scheme"] for cell in baseline} == set(SCHEMES)


def test_both_forms_keep_the_papers_lengths_and_the_full_one_runs_the_alternatives() -> None:
    assert {(form.warmup_s, form.duration_s) for form in FORMS.values()} == {(150.0, 600.0)}
    assert FORMS["full"].seeds >= 10
    assert FORMS["full"].first_look > 0
    assert FORMS["quick"].first_look == 0


def test_evidence_is_a_relation_or_a_number() -> None:
    kinds = {
        "3b-adaptive-almost-the-same",
        "5b-adaptive-flat",
        "5b-adaptive-flat-over-all",
        "5a-af-turning-point",
        "5a-ack-pushout-turning-point",
    }
    every = {
        (mix, scheme): fake(mix, [2.0] * mix.up, [2.0] * mix.down, runs=3) for mix in ALL_MIXES for scheme in SCHEMES
    }
    measured = fake_runs(every)
    for claim in CLAIMS:
        evidence = claim.evidence(measured)
        assert isinstance(evidence, Number if claim.id in kinds else Relation)
        # Readings are compared with the baseline by label.
        assert len({point.label for point in evidence.points}) == len(evidence.points), claim.id


@pytest.mark.whole
def test_paper_json_has_the_agreed_form(here: Cli, tmp_path: Path) -> None:
    done = here("paper", "adaptive-pushout", "--figure", "4", "--seeds", "3", "--out", tmp_path / "out", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    (claim,) = document["claims"]
    wanted = ["id", "figure", "statement", "published", "measured", "ci_low", "ci_high", "verdict", "why"]
    assert set(wanted) <= set(claim)
    assert claim["verdict"] in {"reproduced", "trend only", "not reproduced", "undetermined", "calibrated"}
    assert Path(document["figures"]["4"][0]).exists()
    assert json.loads((tmp_path / "out" / "claims.json").read_text()) == document


def test_papers_are_found_by_their_id() -> None:
    assert "adaptive-pushout" in paper_ids()
