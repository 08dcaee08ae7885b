"""Statistics as a service: how many seeds, compared along a key, whether the warm-up is long enough."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from wifair import InputError, Results, Scenario, Sweep
from wifair.analysis import warmup
from wifair.analysis.comparison import against_first, along, paired
from wifair.analysis.precision import Precision, needed
from wifair.cli import execute
from wifair.stats import paired_difference, t_interval

BASE: dict[str, Any] = {
    "run": {"warmup_s": 0.5, "duration_s": 3},
    "flows": [{"count": 2, "direction": "up"}, {"count": 2, "direction": "down"}],
}


@pytest.fixture(scope="module")
def swept() -> tuple[Sweep, Results]:
    sweep = Sweep(
        BASE,
        product={"ap.limit_packets": [5, 50], "ap.scheme": ["droptail", "adaptive-pushout"]},
        replications=4,
        metrics=["jain", "total_mbps"],
        compare="ap.scheme",
        precision=["jain=0.01", "total_mbps=2%"],
    )
    return sweep, sweep.run()


def test_wishes() -> None:
    assert Precision.parse("jain=0.01") == Precision("jain", 0.01)
    assert Precision.parse(" total_mbps = 2% ") == Precision("total_mbps", 0.02, relative=True)
    assert Precision.parse("total_mbps=2%").wanted(-5.0) == pytest.approx(0.1)
    for text, message in (("jian=1", "did you mean jain"), ("jain=-1", "expected METRIC"), ("jain", "expected METRIC")):
        with pytest.raises(InputError, match=message):
            Precision.parse(text)


def test_what_a_wish_takes(swept: tuple[Sweep, Results]) -> None:
    _, results = swept
    table = needed(results, [Precision("jain", 1.0), Precision("total_mbps", 1e-3)])
    assert table.height == 8
    easy, hard = table.filter(metric="jain"), table.filter(metric="total_mbps")
    assert easy["seeds_needed"].to_list() == [4] * 4
    assert all(count > 4 for count in hard["seeds_needed"])
    found = results.interval(results.cells[0].name, "total_mbps")
    assert found.high is not None
    assert hard["half_width"][0] == pytest.approx(found.high - found.estimate)


def test_differences_along_a_key(swept: tuple[Sweep, Results]) -> None:
    sweep, results = swept
    assert along(results.cells, "ap.scheme") == [
        ("limit_packets=5, scheme=adaptive-pushout", "limit_packets=5, scheme=droptail"),
        ("limit_packets=50, scheme=adaptive-pushout", "limit_packets=50, scheme=droptail"),
    ]
    assert len(against_first(results.cells)) == 3
    rows = sweep.differences(results)
    assert [row["metric"] for row in rows] == ["jain", "total_mbps"] * 2
    mine, reference = (
        results.metrics.filter(pl.col("scenario") == rows[0][side]).sort("seed")["jain"].to_numpy()
        for side in ("scenario", "against")
    )
    expected = paired_difference(mine, reference)
    assert rows[0]["difference"] == pytest.approx(expected.difference.estimate)
    assert rows[0]["ci_low"] == pytest.approx(expected.difference.low)
    assert all(row["p"] <= row["p_holm"] <= 1 for row in rows)
    assert all(row["seeds_needed"] >= 4 for row in rows)


def test_pairs_are_by_seed_whatever_the_order(swept: tuple[Sweep, Results]) -> None:
    _, results = swept
    pairs = against_first(results.cells)
    shuffled = {**results.frames, "flows": results.flows.sample(fraction=1.0, shuffle=True, seed=1)}
    other = Results(results.cells, results.seeds, shuffled)
    for row, twin in zip(paired(results, pairs, ["jain"]), paired(other, pairs, ["jain"]), strict=True):
        assert row["difference"] == pytest.approx(twin["difference"])
        assert row["ci_low"] == pytest.approx(twin["ci_low"])


def test_a_key_that_is_not_varied_cannot_be_compared() -> None:
    with pytest.raises(InputError, match=r"did you mean ap\.scheme\?"):
        Sweep(BASE, product={"ap.scheme": ["droptail"]}, compare="ap.schem")


def course(drift: float, runs: int = 8) -> Results:
    """Results with a made-up uplink course: 100 s, a warm-up of 20 s, noise, and a decay that lasts beyond it."""
    scenario = Scenario(flows=[{"direction": "up"}], run={"warmup_s": 20, "duration_s": 80, "sample_interval_s": 1})
    rng = np.random.default_rng(1)
    time_s = np.arange(1.0, 101.0)
    rows = [
        ("cell", seed, t, "goodput_mbps", "up", 5.0 + drift * np.exp(-t / 7.0) + noise)
        for seed in range(1, runs + 1)
        for t, noise in zip(time_s, rng.normal(0, 0.3, size=100), strict=True)
    ]
    series = pl.DataFrame(rows, schema=["scenario", "seed", "time_s", "metric", "entity", "value"], orient="row")
    flows = pl.DataFrame({"scenario": ["cell"], "label": ["up"], "direction": ["up"]})
    from wifair.study import Cell

    return Results((Cell("cell", scenario),), tuple(range(1, runs + 1)), {"series": series, "flows": flows})


def test_the_check_of_the_warmup_sees_drift_and_only_drift() -> None:
    (settled,) = warmup.check(course(0.0))
    assert settled.verdict == "no drift seen"
    assert settled.course.measured.shape == (8, 80)
    (drifting,) = warmup.check(course(8.0))
    assert drifting.drift.estimate > 0
    assert drifting.verdict.startswith("still drifts after the warm-up, by 0.")
    assert drifting.settled_s is not None
    assert drifting.settled_s > 20
    first = drifting.course.measured[:, :8].mean(axis=1)
    last = drifting.course.measured[:, 40:].mean(axis=1)
    assert drifting.drift == t_interval(first - last)
    (single,) = warmup.check(course(8.0, runs=1))
    assert single.verdict == "one run cannot tell"


@pytest.mark.whole
def test_checking_the_warmup_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str], short: Path) -> None:
    figure = tmp_path / "figures" / "warmup.png"
    asked = ["run", str(short), "--seeds", "3", "--json", "--precision", "jain=5%"]
    assert execute([*asked, "--check-warmup", str(figure)]) == 0
    checked = json.loads(capsys.readouterr().out)
    assert execute(asked) == 0
    plain = json.loads(capsys.readouterr().out)
    assert checked["summary"] == plain["summary"]
    assert {row["quantity"] for row in checked["warmup"]} == {"up_mbps", "down_mbps", "queue_packets"}
    assert checked["seeds_needed"] == plain["seeds_needed"]
    assert figure.stat().st_size > 10_000
    assert execute([*asked, "--check-warmup", "x.doc"]) == 2
    assert "ends in one of .png, .pdf, .svg" in capsys.readouterr().err


def test_too_few_samples_are_refused() -> None:
    sparse = Scenario(**BASE).override({"run.sample_interval_s": 1.0}).run(seeds=2)
    with pytest.raises(InputError, match="samples in the measurement are too few"):
        warmup.check(sparse)
    with pytest.raises(InputError, match="no time series"):
        warmup.check(Scenario(**BASE).run(seeds=1))
