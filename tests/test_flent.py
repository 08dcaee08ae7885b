"""Data files for flent: the tests and series that the flows amount to, and values that are those of the time series."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli
from wifair import InputError, Scenario, load
from wifair.report import flent

BRIEF = ["--seeds", "1", "--set", "run.warmup_s=5", "--set", "run.duration_s=2"]
# The series that flent 2.3 measures in each test; the plots refer to these names.
SERIES = {
    "rrul": [f"TCP {way} {kind}" for way in ("upload", "download") for kind in ("BE", "BK", "CS5", "EF")]
    + ["Ping (ms) UDP EF", "Ping (ms) UDP BK", "Ping (ms) UDP BE", "Ping (ms) ICMP"],
    "rrul_be": [f"TCP {way} {kind}" for way in ("upload", "download") for kind in ("BE", "BE2", "BE3", "BE4")]
    + ["Ping (ms) UDP BE1", "Ping (ms) UDP BE2", "Ping (ms) UDP BE3", "Ping (ms) ICMP"],
    "tcp_8up": [f"TCP upload::{i}" for i in range(1, 9)] + ["Ping (ms) ICMP"],
    "tcp_8down": [f"TCP download::{i}" for i in range(1, 9)] + ["Ping (ms) ICMP"],
}


def read(path: Path) -> dict[str, Any]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return dict(json.load(file))


@pytest.mark.parametrize("name", SERIES)
def test_the_templates_are_flents_tests(name: str) -> None:
    test, series, _ = flent.names_of(load(name).plan())
    assert test == name
    assert sorted(series.values()) == sorted(SERIES[name])


def test_the_file_has_the_time_series(here: Cli, tmp_path: Path) -> None:
    done = here("run", "rrul", *BRIEF, "--flent", tmp_path / "flent")
    assert done.returncode == 0, done.stderr
    found = read(tmp_path / "flent" / "rrul-seed-1.flent.gz")
    assert found["version"] == 4
    assert found["metadata"]["NAME"] == "rrul"
    assert len(found["x_values"]) == 35
    assert all(len(values) == 35 for values in found["results"].values())
    assert set(found["raw_values"]) == set(SERIES["rrul"])
    ups = [found["results"][name] for name in SERIES["rrul"] if name.startswith("TCP upload")]
    assert found["results"]["TCP upload sum"] == pytest.approx([sum(row) for row in zip(*ups, strict=True)])
    brief = {"run.warmup_s": 5, "run.duration_s": 2}
    results = flent.sampled(load("rrul").override(brief)).run(seeds=1)
    own = results.frames["series"].filter((pl.col("entity") == "upload-ef") & (pl.col("metric") == "goodput_mbps"))
    raw = found["raw_values"]["TCP upload EF"]
    assert [entry["val"] for entry in raw] == own["value"].to_list()
    assert sum(entry["val"] for entry in raw) > 0
    began = raw[0]["t"] - found["x_values"][0]
    assert [entry["t"] - began for entry in raw] == pytest.approx(found["x_values"])


@pytest.mark.parametrize(
    ("flows", "test", "first"),
    [
        ([("up", 3)], "tcp_nup", "TCP upload::1"),
        ([("down", 1)], "tcp_ndown", "TCP download::1"),
        ([("up", 2), ("down", 1)], "rrul_be_nflows", "TCP upload BE::1"),
    ],
)
def test_other_flows_have_flents_general_tests(flows: list[tuple[str, int]], test: str, first: str) -> None:
    scenario = Scenario(flows=[{"direction": way, "count": count} for way, count in flows])
    name, series, parameters = flent.names_of(scenario.plan())
    assert (name, next(iter(series.values()))) == (test, first)
    assert parameters == {f"{way}load_streams": f"{count}" for way, count in flows}


def test_what_flent_has_no_test_for_is_refused() -> None:
    with pytest.raises(InputError, match="no bulk flow"):
        flent.sampled(Scenario(flows=[{"direction": "up", "application": "ping"}]))


def test_stored_runs_are_exported(here: Cli, tmp_path: Path) -> None:
    store, brief = tmp_path / "store", [*BRIEF, "--set", "title=stored"]
    export = ("results", "export", "stored", "--store", store, "--out", tmp_path / "out", "--flent", tmp_path / "flent")
    assert here("run", "rrul", *brief, "--store", store).returncode == 0
    refused = here(*export)
    assert refused.returncode == 2
    assert "these runs have no time series" in refused.stderr
    assert here("run", "rrul", *brief, "--store", store, "--flent", tmp_path / "direct").returncode == 0
    done = here(*export)
    assert done.returncode == 0, done.stderr
    name = "rrul-seed-1.flent.gz"
    assert read(tmp_path / "flent" / name)["results"] == read(tmp_path / "direct" / name)["results"]
