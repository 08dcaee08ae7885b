"""The study of spm-af-las: its grid, its claims, and that claims detect what they state."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from wifair.papers import Asked, find, paper_ids
from wifair.papers.claims import Relation, Verdict, judge
from wifair.papers.readings import Alternative, Joint, Reading, View
from wifair.papers.reproduction import variant_cells
from wifair.papers.runs import CellRuns, Runs
from wifair.papers.spm_af_las import STUDY
from wifair.papers.spm_af_las.claims import CLAIMS
from wifair.papers.spm_af_las.claims.files import contended
from wifair.papers.spm_af_las.claims.former import FORMERLY
from wifair.papers.spm_af_las.claims.up_down import rising_steps, unfairness_without_loss
from wifair.papers.spm_af_las.measured import Measured, correlation, told
from wifair.papers.spm_af_las.readings import READINGS
from wifair.papers.spm_af_las.study import (
    BUFFERS,
    CELLS_OF_FIGURE,
    FORMS,
    LAS,
    LOSS_FREE_WINDOW,
    SPM_AF,
    T_LAS,
    TAIL_DROP,
    WINDOW,
    Size,
    cells,
)
from wifair.study import Cell

HOSTS = (2, 10, 20, 40)
TINY = Size(seeds=2, first_look=0, warmup_s=0.0, duration_s=5.0, hosts=HOSTS, files=1)
FEWEST = dataclasses.replace(TINY, hosts=(10,))


@cache
def grid(figure: str | None = None, size: Size = TINY) -> list[Cell]:
    return cells(size, figure)


def plan_of(**keys: object) -> dict[str, Any]:
    (found,) = [cell for cell in grid() if keys.items() <= dict(cell.keys).items()]
    return found.scenario.plan()


def test_the_grid_is_the_papers() -> None:
    assert tuple(range(10, 151, 10)) == BUFFERS
    full = FORMS["full"]
    assert full.seeds >= 10
    assert full.first_look > 0
    assert (full.files, full.duration_s) == (10, 300.0)
    assert len(full.hosts) == 10
    assert {2, 10, 40} <= set(full.hosts)
    assert {10, 20, 40} <= set(FORMS["quick"].hosts)
    names = [cell.name for cell in grid()]
    assert len(set(names)) == len(names) == 4 * 15 + 2 * 10 + 3 + 3 + 1 + 4 + 5 + 2 + 5 * len(HOSTS) + 4 + 8


def test_scenarios_are_those_of_sections_5_and_7() -> None:
    plan = plan_of(part="up-down", scheme=SPM_AF, buffer=40)
    assert [flow["direction"] for flow in plan["flows"]] == ["up"] * 5 + ["down"] * 5
    tcp = plan["flows"][0]["tcp"]
    assert tcp["mss_bytes"] + tcp["header_bytes"] == 1500
    assert (tcp["receiver_window_segments"], tcp["delayed_ack"]["segments"]) == (20, 2)
    assert tcp["priority_marking"]["below_segments"] == 4
    assert tcp["byte_counting"]["limit_segments"] >= 20
    assert plan["bss"]["ap"]["tx_queue"]["limit_packets"] == 40
    assert plan["bss"]["ap"]["tx_queue"]["scheme"]["variant"] == "sender-marking"
    for scheme in (TAIL_DROP, LAS, T_LAS):
        other = plan_of(part="up-down", scheme=scheme, buffer=40)["flows"][0]["tcp"]
        assert (other["priority_marking"], other["byte_counting"]) == (None, None)
    assert (
        plan_of(part="up-down", scheme=T_LAS, buffer=40)["bss"]["ap"]["tx_queue"]["scheme"]["threshold_packets"] == 50
    )

    flows = plan_of(part="files", scheme=T_LAS, mix="mixed", hosts=10)["flows"]
    assert [flow["group"] for flow in flows] == ["large"] * 5 + ["small"] * 5
    assert {flow["application"]["transfer_bytes"] for flow in flows} == {1_460_000, 14_600}
    assert {flow["stop_after_group"] for flow in flows if flow["group"] == "small"} == {"large"}
    web = plan_of(part="web", scheme=TAIL_DROP, background="ftp")
    assert web["run"]["duration_s"] == 500
    assert web["flows"][0]["application"]["min_bytes"] == 5 * 1460
    assert web["flows"][0]["application"]["max_bytes"] == 25 * 1460
    assert len(plan_of(part="web", background="none")["flows"]) == 20


@pytest.mark.parametrize("reading", READINGS, ids=[reading.id for reading in READINGS])
def test_every_reading_is_another_simulation_or_another_look(reading: Reading[Measured]) -> None:
    baseline = {cell.name: cell.scenario.plan() for cell in grid(size=FEWEST)}
    found = variant_cells(grid(size=FEWEST), reading)
    assert bool(found) != isinstance(reading, View)
    for cell in found:
        assert cell.scenario.plan() != baseline[cell.name.partition("/")[2]]


def parts_of(reading: Reading[Measured]) -> list[Reading[Measured]]:
    return [one for part in reading.parts for one in parts_of(part)] if isinstance(reading, Joint) else [reading]


@pytest.mark.parametrize("reading", READINGS, ids=[reading.id for reading in READINGS])
def test_a_reading_selects_by_coordinates_that_the_grid_has(reading: Reading[Measured]) -> None:
    every = {(name, value) for cell in grid() for name, value in cell.keys.items()}
    for part in parts_of(reading):
        if isinstance(part, Alternative):
            wanted = {(name, value) for name, values in part.only.items() for value in values if value is not None}
            assert wanted <= every


def test_ten_packets_are_a_number_of_data_segments_in_files_and_documents() -> None:
    by_id = {reading.id: reading for reading in READINGS}
    for name, more in (("nine-segments", -1), ("eleven-segments", 1)):
        found = {
            cell.name.partition("/")[2]: cell.scenario.plan() for cell in variant_cells(grid(size=FEWEST), by_id[name])
        }
        sizes = {flow["application"]["transfer_bytes"] for flow in found[f"files/{SPM_AF}/mixed/10"]["flows"]}
        assert sizes == {(1000 + more) * 1460, (10 + more) * 1460}
        for mix, packets in (("small only", 10), ("large only", 1000)):
            flows = found[f"files/{TAIL_DROP}/{mix}/10"]["flows"]
            assert {flow["application"]["transfer_bytes"] for flow in flows} == {(packets + more) * 1460}
        web = found[f"web/{T_LAS}/ftp"]["flows"][0]["application"]
        assert (web["min_bytes"], web["max_bytes"]) == ((5 + more) * 1460, (25 + more) * 1460)
        assert by_id[name].question == 'What does "10 packets" mean?'


def test_joint_readings_are_all_of_their_parts() -> None:
    by_id = {reading.id: reading for reading in READINGS}
    assert len(by_id) == len(READINGS)
    old = {str(cell.keys["part"]): cell.scenario.plan() for cell in variant_cells(grid(size=FEWEST), by_id["old-ns-2"])}
    tcp = old["files"]["flows"][0]["tcp"]
    assert tcp["delayed_ack"]["syn"] is True
    assert (tcp["rto"]["initial_ms"], tcp["rto"]["min_ms"], tcp["rto"]["tick_ms"]) == (6_000, 1_000, 100)
    assert "measured" not in old
    thoughtful = variant_cells(grid(size=FEWEST), by_id["old-ns-2+think-1s"])
    assert {cell.keys["part"] for cell in thoughtful} == {"web"}
    for cell in thoughtful:
        flow = cell.scenario.plan()["flows"][0]
        assert flow["application"]["think_mean_s"] == 1.0
        assert flow["tcp"]["rto"]["initial_ms"] == 6_000


def test_claims_have_names_of_their_own_and_say_how_they_are_tested() -> None:
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    figures = find("spm-af-las").FIGURES
    for claim in CLAIMS:
        assert claim.statement.endswith(".")
        assert claim.reading
        assert claim.unit
        assert claim.figure in (None, *figures)
    assert {claim.figure for claim in CLAIMS} == {None, *figures}
    assert {claim.section for claim in CLAIMS} == {
        *("3.1", "3.2.1", "4", "4.1", "4.2", "5.1", "5.2", "6.1", "6.2", "7.1", "7.2", "8")
    }
    # Every rule that was rewritten is a claim's, no longer what it was, and can be judged on the present runs.
    by_id = {claim.id: claim for claim in CLAIMS}
    assert all(FORMERLY[name].evidence for name in FORMERLY)
    assert all(FORMERLY[name].reading != by_id[name].reading for name in FORMERLY)
    # All numbers that the text prints of results, as the text prints them.
    assert {claim.id: claim.published for claim in CLAIMS if claim.published is not None} == {
        "3.1-twice": 2.0,
        "4-single-flow": 5.1,
        "6-at-most-150": 150.0,
        "2-far": 1.44,
        "2-near": 3.64,
        "3-up": 2.41,
        "3-down": 2.86,
        "4-up": 1.5,
        "4-down": 1.0,
        "9b-spm-af-gain": 32.0,
        "9b-las-gain": 44.0,
        "11a-10-hosts": 52.3,
        "11a-40-hosts": 84.8,
        "13-spm-af-factor": 4.0,
        "13-t-las-factor": 5.0,
    }


def place(**keys: object) -> frozenset[tuple[str, object]]:
    return frozenset(keys.items())


def file_runs(cov: dict[str, float], unfinished: int = 0, lost: float = 0.0, goodput_mbps: float = 1.0) -> CellRuns:
    """Two like runs of one host with small and one with large files."""
    seeds = (1, 2)
    groups = [
        {
            "seed": seed,
            "group": group,
            "bytes": None,
            "cov": value,
            "unfinished": unfinished if group == "large" else 1,
            "p99_s": 1.0,
            "mean_s": 8.0,
            "closed_cov": value / 2,
        }
        for seed in seeds
        for group, value in cov.items()
    ]
    flows = [
        {
            "seed": seed,
            "flow": i,
            "group": group,
            "goodput_mbps": goodput_mbps,
            "ap_offered_packets": 100.0,
            "ap_lost_packets": lost if i else 10.0,
        }
        for seed in seeds
        for i, group in enumerate(cov)
    ]
    return CellRuns(
        {
            "runs": pl.DataFrame({"seed": seeds}),
            "flows": pl.DataFrame(flows),
            "transfer_groups": pl.DataFrame(groups, schema_overrides={"bytes": pl.Float64}),
        }
    )


def test_measured_quantities_of_files() -> None:
    m = Measured(
        Runs(
            {
                place(part="files", scheme=TAIL_DROP, mix="mixed", hosts=10): file_runs({"large": 0.2, "small": 0.8}),
                place(part="files", scheme=SPM_AF, mix="mixed", hosts=10): file_runs(
                    {"large": 0.1, "small": 0.2}, lost=4
                ),
                place(part="files", scheme=T_LAS, mix="mixed", hosts=10): file_runs(
                    {"large": 9.0, "small": 0.1}, unfinished=1, goodput_mbps=0.146
                ),
            }
        )
    )
    assert m.hosts == [10]
    assert m.buffers == []
    assert m.small_to_large(10, TAIL_DROP) == pytest.approx([4.0, 4.0])
    assert m.reduction(10, SPM_AF) == pytest.approx([75.0, 75.0])
    assert m.with_notions(to_last_ack=True).cov(10, SPM_AF, "small") == pytest.approx([0.1, 0.1])
    assert m.lost(10, SPM_AF, "small") == pytest.approx([0.04, 0.04])
    assert m.lost(10, SPM_AF) == pytest.approx([0.07, 0.07])
    assert m.unfinished(10, T_LAS) == pytest.approx([1.0, 1.0])
    # A run that was cut says nothing of large files, and much of small ones.
    assert np.isnan(m.cov(10, T_LAS, "large")).all()
    assert m.cov(10, T_LAS, "small") == pytest.approx([0.1, 0.1])
    # Its pace counts: 11.68 Mbit at 0.146 Mbps are 80 s, where tail drop takes 8.
    assert m.seconds_per_large_file(10, TAIL_DROP) == pytest.approx([8.0, 8.0])
    assert m.large_slowdown(10, T_LAS) == pytest.approx([10.0, 10.0])
    by_id = {claim.id: claim for claim in CLAIMS}
    evidence = by_id["11-runs-end"].evidence(m)
    assert isinstance(evidence, Relation)
    assert np.concatenate([point.values for point in evidence.points]) == pytest.approx([0.9, 0.9, 0.0, 0.0])
    comparable = by_id["11-t-las-fair-to-both"].evidence(m)
    assert comparable.points == []
    assert judge(by_id["11-t-las-fair-to-both"], m).verdict == Verdict.UNDETERMINED
    # With 2 hosts nothing can be lost.
    assert contended(m) == [10]
    assert told([]) == []


def test_the_gain_is_over_tail_drop_and_has_two_notions() -> None:
    def of(*shares: float) -> CellRuns:
        flows = pl.DataFrame([{"seed": s, "goodput_mbps": x, "direction": "up"} for s in (1, 2) for x in shares])
        return CellRuns({"runs": pl.DataFrame({"seed": [1, 2]}), "flows": flows})

    shares = {(TAIL_DROP, 10): (1.0, 0.0), (TAIL_DROP, 20): (1.0, 1.0), (LAS, 10): (1.0, 1.0), (LAS, 20): (1.0, 1.0)}
    m = Measured(Runs({place(part="up-down", scheme=s, buffer=b): of(*x) for (s, b), x in shares.items()}))
    assert m.gain(10, LAS) == pytest.approx([100.0, 100.0])
    assert m.average_gain(LAS, (10, 20)) == pytest.approx([50.0, 50.0])
    assert m.with_notions(gain_of_means=True).average_gain(LAS, (10, 20)) == pytest.approx([100 / 3] * 2)


def test_a_rise_counts_where_there_is_room_for_one() -> None:
    def of(*shares: float) -> CellRuns:
        flows = pl.DataFrame([{"seed": s, "goodput_mbps": x} for s in (1, 2) for x in shares])
        return CellRuns({"runs": pl.DataFrame({"seed": [1, 2]}), "flows": flows})

    # Tail drop rises at each of 14 steps; LAS stands at 1, wavering; SPM-AF falls at each.
    runs = {}
    for b in BUFFERS:
        runs[TAIL_DROP, b] = of(1.0, b / 400)
        runs[LAS, b] = of(1.0, 1.0 - b % 20 / 1000)
        runs[SPM_AF, b] = of(1.0, 0.5 - b / 400)
    m = Measured(Runs({place(part="up-down", scheme=s, buffer=b): run for (s, b), run in runs.items()}))
    assert rising_steps(m, [TAIL_DROP, LAS]) == pytest.approx([1.0, 1.0])
    assert rising_steps(m, [TAIL_DROP, LAS, SPM_AF]) == pytest.approx([0.5, 0.5])


def test_what_is_left_without_losses_is_relative() -> None:
    def of(up: float, down: float) -> CellRuns:
        flows = pl.DataFrame(
            [{"seed": s, "goodput_mbps": x, "direction": d} for s in (1, 2) for d, x in (("up", up), ("down", down))]
        )
        return CellRuns({"runs": pl.DataFrame({"seed": [1, 2]}), "flows": flows})

    runs = {LOSS_FREE_WINDOW: of(0.5, 0.45), WINDOW: of(1.0, 0.2)}
    m = Measured(Runs({place(part="loss-free", window=window): run for window, run in runs.items()}))
    assert unfairness_without_loss(m) == pytest.approx([0.125, 0.125])


def test_correlation_is_by_replication() -> None:
    a = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    b = np.array([[2.0, 4.0, 6.0], [3.0, 2.0, 1.0]])
    assert correlation(a, b) == pytest.approx([1.0, -1.0])


def test_a_figure_alone_runs_what_its_claims_need(tmp_path: Path) -> None:
    study = dataclasses.replace(STUDY, forms={"tiny": TINY})
    assert {cell.keys["mix"] for cell in grid("8")} == {"mixed"}
    found = study.reproduce(Asked("tiny", "8"))
    assert {judgement.figure for judgement in found.judgements} == {"8"}
    (path,) = found.draw(tmp_path)["8"]
    assert path.stat().st_size > 5_000


@pytest.mark.whole
def test_the_whole_study_judges_every_claim(tmp_path: Path) -> None:
    study = dataclasses.replace(STUDY, forms={"tiny": TINY})
    found = study.reproduce(Asked("tiny"))
    assert [judgement.id for judgement in found.judgements] == [claim.id for claim in CLAIMS]
    verdicts = {judgement.id: judgement.verdict for judgement in found.judgements}
    assert verdicts["2-far"] == Verdict.CALIBRATED
    drawn = found.draw(tmp_path)
    assert set(drawn) == set(CELLS_OF_FIGURE)
    assert all(path.stat().st_size > 5_000 for paths in drawn.values() for path in paths)
    # Figure by figure the claims see the same.
    for figure in ("3", "13"):
        alone = study.reproduce(Asked("tiny", figure)).judgements
        assert alone == [judgement for judgement in found.judgements if judgement.figure == figure]
    # Everybody's transfers came to an end under tail drop; a rest under T-LAS is said to be one.
    groups = found.results.transfer_groups.filter(pl.col("bytes").is_null(), group="large")
    ended = groups.filter(pl.col("scenario").str.contains(f"files/{TAIL_DROP}"))
    assert ended["unfinished"].sum() == 0
    assert ended["timed_out"].sum() == 0


def test_the_paper_is_found_by_its_id() -> None:
    assert "spm-af-las" in paper_ids()
    assert tuple(CELLS_OF_FIGURE) == find("spm-af-las").FIGURES
