"""What would not fit into memory is refused before it is run; what fits takes little more memory than its tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from wifair import Scenario, ScenarioError
from wifair.memory import most_bytes
from wifair.results.segment import row_bytes
from wifair.study.size import replication_bytes

FLOWS: list[dict[str, Any]] = [{"count": 3, "direction": "up"}, {"count": 2, "direction": "down"}]


def scenario(**run: float) -> Scenario:
    return Scenario(run={"warmup_s": 1.0, "duration_s": 4.0, **run}, flows=FLOWS)


def test_too_many_samples_are_refused_before_the_run(here: Cli, short: Path) -> None:
    done = here("run", short, "--set", "run.duration_s=100000", "--set", "run.sample_interval_s=0.001")
    assert done.returncode == 2
    assert done.stderr.startswith("wifair: run.sample_interval_s: the results of 10 replications would take about ")
    assert "MB of memory" in done.stderr
    assert "allowed here: " in done.stderr


def test_without_samples_the_replications_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wifair.study.size.most_bytes", lambda: 500_000)
    with pytest.raises(ScenarioError, match=r"^seeds: the results of 100 replications would take about \d+ MB"):
        scenario().run(100, threads=1)
    assert scenario().run(1, threads=1).runs.height == 1


def test_ordinary_studies_are_not_refused() -> None:
    assert most_bytes() > 500e6  # else this machine has less than 1 GB
    # Ten replications of a quarter of an hour, ten samples per second; as many as there may be without samples.
    assert 10 * replication_bytes(scenario(duration_s=900.0, sample_interval_s=0.1).plan()) < 500e6
    assert 100_000 * replication_bytes(scenario().plan()) < 1e9


def test_the_estimate_is_near_what_tables_take() -> None:
    cell = scenario(sample_interval_s=0.01)
    results = cell.run(1, threads=1)
    taken = sum(table.height * (row_bytes(table.schema) - 8) for table in results.frames.values())
    estimated = replication_bytes(cell.plan())
    assert 0.7 < taken / estimated < 1.3


# Memory that a process with results of that many seconds, sampled every millisecond, takes at most.
TAKES = """
import resource, sys
from wifair import Scenario
run = {"warmup_s": 0.0, "duration_s": float(sys.argv[1]), "sample_interval_s": 1e-3}
results = Scenario(run=run, flows=[{"count": 20, "direction": "up"}], ap={"scheme": "droptail"}).run(2, threads=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, results.frames["series"].height)
"""


def taken(seconds: float) -> tuple[int, int]:
    told = subprocess.run(
        [sys.executable, "-c", TAKES, str(seconds)], capture_output=True, text=True, check=True
    ).stdout
    most, rows = map(int, told.split())
    return most, rows


@pytest.mark.whole
@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss")
def test_sampled_results_take_little_more_than_their_tables() -> None:
    (some, few), (more, many) = taken(0.2), taken(3.0)
    assert (more - some) / (many - few) < 250  # bytes per row, of which 88 are the table's
