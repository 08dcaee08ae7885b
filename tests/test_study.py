"""Running studies: the same result whatever the threads, nothing run twice, Ctrl-C keeps what is finished."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from wifair import InputError, Scenario, compare
from wifair.results import merged
from wifair.stats import jain
from wifair.study import Cell, Study, StudyInterrupted, run_studies

RUN = {"warmup_s": 0.5, "duration_s": 2.0}
MIXED: list[dict[str, Any]] = [{"count": 3, "direction": "up"}, {"count": 2, "direction": "down"}]


def scenario(**settings: Any) -> Scenario:
    return Scenario(**{"run": RUN, "flows": MIXED, **settings})


def test_the_result_does_not_depend_on_the_threads() -> None:
    one, two = scenario().run(seeds=4, threads=1), scenario().run(seeds=4, threads=2)
    for name in ("flows", "queues", "stations"):
        assert one.frames[name].equals(two.frames[name])


def test_seeds_differ_and_repeat() -> None:
    results = scenario().run(seeds=[7, 8])
    goodput = {seed: part["goodput_mbps"].to_list() for (seed,), part in results.flows.group_by("seed")}
    assert goodput[7] != goodput[8]
    assert scenario().run(seeds=[7]).flows["goodput_mbps"].to_list() == goodput[7]


def test_tables_name_scenario_and_seed_first() -> None:
    results = compare(scenario(), ["droptail", "adaptive-pushout"], seeds=3)
    for frame in results.frames.values():
        assert frame.columns[:2] == ["scenario", "seed"]
    assert results.runs.height == 6
    assert results.flows.height == 6 * 5
    assert results.missing == 0


def test_metrics_are_those_of_the_flows() -> None:
    results = scenario().run(seeds=2)
    for seed in (1, 2):
        flows = results.flows.filter(pl.col("seed") == seed)
        row = results.metrics.row(by_predicate=pl.col("seed") == seed, named=True)
        up = flows.filter(pl.col("direction") == "up")["goodput_mbps"]
        down = flows.filter(pl.col("direction") == "down")["goodput_mbps"]
        assert row["jain"] == pytest.approx(jain(flows["goodput_mbps"].to_numpy()))
        assert row["up_mbps"] == pytest.approx(up.sum())
        assert row["down_up_ratio"] == pytest.approx(float(down.sum()) / float(up.sum()))
        assert 0 < row["total_mbps"] < 11


def test_the_air_is_shared_out_completely() -> None:
    for row in scenario().run(seeds=2).runs.iter_rows(named=True):
        shares = ("airtime_up_share", "airtime_down_share", "collision_share", "beacon_share", "idle_share")
        assert sum(row[share] for share in shares) == pytest.approx(1.0, abs=1e-9)


def test_a_plan_that_stands_twice_is_run_once() -> None:
    cells = [Cell("one", scenario()), Cell("other", scenario(title="another title"))]
    study = Study(cells, 3)
    assert len(study.jobs()) == 3
    results = study.run()
    one, other = (results.flows.filter(pl.col("scenario") == name).drop("scenario") for name in ("one", "other"))
    assert one.height == 15
    assert one.equals(other)


def test_studies_of_different_seeds_run_as_one_batch() -> None:
    parts = run_studies([Study([Cell("a", scenario())], 3), Study([Cell("b", scenario(ap={"limit_packets": 5}))], 2)])
    assert [part.runs.height for part in parts] == [3, 2]
    assert merged(parts).runs.height == 5


def test_summaries_never_show_a_single_run_with_an_interval() -> None:
    single = scenario().run(seeds=1).summary()
    assert single["ci_low"].null_count() == single.height
    several = scenario().run(seeds=3).summary().filter(pl.col("metric") == "jain").row(0, named=True)
    assert several["ci_low"] <= several["mean"] <= several["ci_high"]
    assert several["runs"] == 3


def test_series_have_the_interval_that_was_asked_for() -> None:
    results = scenario(run={**RUN, "sample_interval_s": 0.5}).run(seeds=1)
    assert results.frames["series"].height > 0
    assert {"time_s", "metric", "entity", "value"} <= set(results.frames["series"].columns)


def test_ctrl_c_keeps_what_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [Cell("short", scenario()), Cell("long", scenario(run={"warmup_s": 0.0, "duration_s": 100_000.0}))]

    def press(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(StudyInterrupted) as caught:
        run_studies([Study(cells, 1)], threads=1, progress=press)
    (results,) = caught.value.results
    assert results.missing >= 1
    assert results.runs.height + results.missing == 2
    assert "of 2 replications were finished" in str(caught.value)


def test_results_are_written_and_can_be_read_again(tmp_path: Path) -> None:
    results = scenario(title="cell").run(seeds=2)
    folder = results.save(tmp_path / "deep" / "folder")
    assert pl.read_parquet(folder / "flows.parquet").equals(results.flows)
    assert json.loads((folder / "plan.json").read_text())["cell"] == scenario(title="cell").plan()
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["seeds"] == [1, 2]
    assert set(manifest["versions"]) >= {"wifair", "python", "polars"}


@pytest.mark.parametrize("seeds", [0, [], [1, 1]])
def test_seeds_that_make_no_study_are_refused(seeds: int | list[int]) -> None:
    with pytest.raises(InputError, match="seeds"):
        scenario().run(seeds=seeds)


def test_threads_that_do_not_exist_are_refused() -> None:
    with pytest.raises(InputError, match="threads"):
        scenario().run(seeds=1, threads=0)


def test_ctrl_c_before_anything_is_finished_is_no_accident(tmp_path: Path) -> None:
    endless = Cell("long", scenario(run={"warmup_s": 0.0, "duration_s": 100_000.0}))

    def press(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(StudyInterrupted) as caught:
        run_studies([Study([endless], 1)], threads=1, progress=press)
    results = merged(caught.value.results)
    assert results.missing == 1
    assert results.summary().height == 0
    assert pl.read_parquet(results.save(tmp_path) / "runs.parquet").height == 0


def test_the_index_by_link_rate_is_one_where_each_has_its_share_of_the_air() -> None:
    slow = {"direction": "down", "name": "slow", "station": {"rate_mbps": 1.0}}
    results = Scenario(run={"warmup_s": 1, "duration_s": 5}, flows=[slow, {"direction": "down"}]).run(2, threads=1)
    goodput = results.flows.filter(pl.col("seed") == 1)["goodput_mbps"].to_list()
    expected = jain([goodput[0] / 1.0, goodput[1] / 11.0])
    assert results.metrics["jain_link_rate"][0] == pytest.approx(expected)
    assert results.metrics["jain_link_rate"][0] < results.metrics["jain"][0]
