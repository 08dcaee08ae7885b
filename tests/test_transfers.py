"""Transfers as the tables show them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import ROOT, Cli
from wifair import InputError, Scenario, ScenarioError, load

SMALL: dict[str, Any] = {
    "name": "small",
    "direction": "down",
    "count": 2,
    "application": {"name": "transfers", "transfer_bytes": 14_600, "count": 20},
}


def scenario(*flows: dict[str, Any], **settings: Any) -> Scenario:
    return Scenario(**{"run": {"warmup_s": 0, "duration_s": 20}, "flows": list(flows), **settings})


def test_every_transfer_has_a_row_and_its_group_a_summary() -> None:
    results = scenario(SMALL).run(seeds=2)
    rows = results.transfers
    assert rows.height == 2 * 2 * 20
    assert rows.columns[:2] == ["scenario", "seed"]
    assert set(rows["label"]) == {"small-1", "small-2"}
    assert set(rows["group"]) == {"small"}
    assert set(rows["end"]) == {"complete"}
    groups = results.transfer_groups.filter(pl.col("bytes").is_null())
    for seed in (1, 2):
        times = rows.filter(seed=seed)["transfer_s"]
        row = groups.row(by_predicate=pl.col("seed") == seed, named=True)
        assert row["completed"] == 40
        assert row["mean_s"] == pytest.approx(times.mean())
        assert row["cov"] == pytest.approx(times.std() / times.mean())  # type: ignore[operator]
        assert row["p50_s"] == pytest.approx(times.quantile(0.5, "lower"), rel=1 / 31)
        assert row["last_end_s"] == pytest.approx((rows.filter(seed=seed)["start_s"] + times).max())
    summary = results.transfer_summary().filter(pl.col("bytes").is_null(), metric="mean_s").row(0, named=True)
    assert summary["mean"] == pytest.approx(groups["mean_s"].mean())
    assert summary["ci_low"] < summary["mean"] < summary["ci_high"]


def test_sizes_are_summed_up_apart() -> None:
    results = scenario({"direction": "down", "application": "web"}).run(seeds=1)
    sizes = results.transfer_groups["bytes"].to_list()
    assert sizes == [1460.0 * packets for packets in range(5, 26)] + [None]


def test_records_may_be_left_out_and_then_are_missed_by_name() -> None:
    results = scenario(SMALL, run={"warmup_s": 0, "duration_s": 5, "record_transfers": False}).run(seeds=1)
    assert results.transfer_groups.height == 2
    with pytest.raises(InputError, match="record_transfers"):
        _ = results.transfers
    bulk = scenario({"direction": "up"}).run(seeds=1)
    assert bulk.transfer_summary().height == 0
    with pytest.raises(InputError, match="no transfers"):
        _ = bulk.transfer_groups


def test_waiting_for_a_group_that_never_ends_is_refused() -> None:
    endless = {"name": "large", "direction": "down"}
    with pytest.raises(ScenarioError, match="stop_after_group"):
        scenario(endless, {**SMALL, "stop_after_group": "large"})
    with pytest.raises(ScenarioError, match="transfer_bytes"):
        scenario({"direction": "down", "application": {"name": "transfers", "size_bytes": 3}})


def test_the_example_stops_with_the_large_ones(here: Cli, tmp_path: Path) -> None:
    path = ROOT / "scenarios" / "mice-and-elephants.toml"
    results = load(path).run(seeds=2)
    ends = {
        (row["seed"], row["group"]): row["last_end_s"]
        for row in results.transfer_groups.filter(pl.col("bytes").is_null()).iter_rows(named=True)
    }
    for seed in (1, 2):
        assert ends[seed, "large"] < 120
        assert abs(ends[seed, "small"] - ends[seed, "large"]) < 5
    done = here("run", path, "--seeds", "2", "--out", tmp_path, "--set", "run.duration_s=20")
    assert done.returncode == 0
    assert "large" in done.stdout.partition("Transfers")[2]
    assert pl.read_parquet(tmp_path / "transfers.parquet").height > 100
    document = json.loads(here("run", path, "--seeds", "2", "--json", "--set", "run.duration_s=20").stdout)
    assert {row["group"] for row in document["transfers"]} == {"large", "small"}
