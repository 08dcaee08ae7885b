"""Fairness indices, their intervals, the stars of a comparison, and user-defined metrics."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wifair import InputError, Metric, Results, Scenario, ScenarioError, Sweep, compare, differences, seeds_needed
from wifair.analysis.comparison import Differences, decided, rankings
from wifair.cli.printed import print_metrics
from wifair.report import measured
from wifair.report.parts import Table
from wifair.results.fairness import comparable
from wifair.stats import jain, t_interval

RUN = {"warmup_s": 0.5, "duration_s": 2.0}
SLOW = {"direction": "down", "name": "slow", "station": {"rate_mbps": 1.0}}
PAGES = {"direction": "down", "application": {"name": "web", "think_mean_s": 1.0}}
STARVED = Metric("starved", lambda run: (run.flows["goodput_mbps"] < 0.2).sum(), unit="flows", better="lowest")


@pytest.fixture(scope="module")
def compared() -> Results:
    """Three schemes, four replications of five flows."""
    flows = [{"direction": "down", "count": 3}, {"direction": "up", "count": 2}]
    scenario = Scenario(run=RUN, ap={"limit_packets": 20}, flows=flows)
    return compare(scenario, ["droptail", "ack-pushout", "adaptive-pushout"], seeds=4, threads=1)


def test_the_index_of_airtime_is_that_of_the_station_table() -> None:
    results = Scenario(run=RUN, flows=[SLOW, {"direction": "down"}, {"direction": "up"}]).run(2, threads=1)
    for run in results.replications():
        air = run.stations.group_by("station").agg(pl.col("airtime_s").sum())["airtime_s"]
        assert run.metrics["jain_airtime"].item() == pytest.approx(jain(air))
        assert air.len() == 3
    # At equal goodput the slow station has most of the air, so the two indices differ.
    assert abs(results.metrics["jain_airtime"][0] - results.metrics["jain"][0]) > 0.05
    assert results.summary().filter(pl.col("metric") == "jain_airtime").height == 1
    assert "jain_airtime" in Sweep({"run": RUN, "flows": [SLOW]}).metrics


def test_pages_and_bulk_are_not_one_index() -> None:
    flows = [
        PAGES,
        {"direction": "down", "count": 2},
        {"direction": "up"},
        {"direction": "down", "application": "ping"},
    ]
    results = Scenario(run=RUN, flows=flows).run(1, threads=1)
    of_bulk = results.flows.filter(pl.col("application") == "bulk")
    assert of_bulk.height == 3
    [row] = results.metrics.to_dicts()
    assert row["jain"] == pytest.approx(jain(of_bulk["goodput_mbps"]))
    assert row["jain_down"] == pytest.approx(jain(of_bulk["goodput_mbps"][:2]))
    assert row["jain_up"] is None  # one flow shares with nobody
    of_tcp = results.flows.filter(pl.col("transport") == "tcp")
    assert row["total_mbps"] == pytest.approx(of_tcp["goodput_mbps"].sum())
    of_stations = results.stations.filter(pl.col("station").is_in(of_bulk["station"].to_list()))
    air = of_stations.group_by("station").agg(pl.col("airtime_s").sum())["airtime_s"]
    assert row["jain_airtime"] == pytest.approx(jain(air))


def test_only_flows_of_one_application_are_comparable() -> None:
    assert comparable(["web", "bulk", "bulk", "web"]) == [1, 2]
    assert comparable(["web", "web"]) == [0, 1]
    assert comparable(["web", "transfers"]) == []
    assert comparable(["web", "bulk"]) == []
    assert comparable(["bulk"]) == []


SHARES = st.lists(st.floats(0.0, 1e3), min_size=2, max_size=6).filter(lambda shares: sum(shares) > 1e-3)


@given(st.lists(SHARES, min_size=2, max_size=5))
def test_an_interval_of_an_index_stays_within_its_bounds(runs: list[list[float]]) -> None:
    values = [jain(shares) for shares in runs]
    n = max(map(len, runs))
    free, found = t_interval(values), t_interval(values, bounds=(1 / n, 1.0))
    assert found.low is not None
    assert found.high is not None
    assert 1 / n - 1e-12 <= found.low <= found.estimate + 1e-12
    assert found.estimate - 1e-12 <= found.high <= 1.0 + 1e-12
    if free.low is not None and free.high is not None and free.low >= 1 / n and free.high <= 1:
        assert found == free


def test_an_index_near_one_has_its_ends_printed() -> None:
    values = [0.9999, 0.99, 1.0]
    found = t_interval(values, bounds=(0.1, 1.0))
    assert found.high == 1.0
    assert found.low == t_interval(values).low
    assert found.short() == "0.9966 [0.9824, 1]"
    assert t_interval(values).short() == "0.997 ± 0.014"
    alike = t_interval([1.0, 1.0, 1.0], bounds=(0.1, 1.0))
    assert (alike.low, alike.high, alike.identical) == (1.0, 1.0, True)


def test_indices_of_results_have_bounded_intervals(compared: Results) -> None:
    frame = pl.DataFrame({"scenario": "droptail", "seed": [1, 2], "jain": [0.25, 0.99], "total_mbps": [0.25, 0.99]})
    made = Results(compared.cells, (1, 2), compared.frames)
    made.__dict__["metrics"] = frame  # in place of the cached property
    index, plain = made.interval("droptail", "jain"), made.interval("droptail", "total_mbps")
    assert (index.low, index.high) == (1 / 5, 1.0)  # five flows
    assert plain.low is not None
    assert plain.low < 0


def test_differences_print_as_a_table(compared: Results) -> None:
    lines = str(differences(compared)).splitlines()
    assert lines[0] == "Differences seed by seed, with 95 % intervals and p values after Holm"
    columns = ["scenario", "against", "metric", "difference", "ci_low", "ci_high", "unit", "p_holm"]
    assert lines[3].strip("│ ").split() == " ┆ ".join(columns).split()
    assert sum("adaptive-pushout ┆ droptail" in line for line in lines) == 6
    assert max(map(len, lines)) <= 120
    assert str(Differences()) == "Differences: none"


def test_stars_follow_the_printed_p_values(compared: Results, capsys: pytest.CaptureFixture[str]) -> None:
    rows = decided(compared)
    print_metrics(compared, ("jain", "total_mbps"), rows)
    stars = _stars(capsys.readouterr().out)
    assert stars["adaptive-pushout", 0]
    for name in stars:
        assert stars[name] == _not_behind(compared, rows, *name)
    # Another family of tests gives other p values, and the stars follow them.
    undecided = Differences({**row, "p_holm": 1.0} for row in rows)
    print_metrics(compared, ("jain", "total_mbps"), undecided)
    assert all(_stars(capsys.readouterr().out).values())


def test_a_metric_without_a_value_has_none_in_words(compared: Results) -> None:
    never = Metric("never", lambda run: float("nan"))
    once = Metric("once", lambda run: 1.5 if run.seeds == (1,) else None)
    results = compared.with_metrics(never, once)
    assert str(results.interval("droptail", "never")) == "no value"
    assert str(results.interval("droptail", "once")) == "1.5 (one value: no interval)"


def test_the_note_of_a_table_names_the_columns_without_marks(compared: Results) -> None:
    rows = Differences(row | ({"p_holm": 1.0} if row["metric"] == "total_mbps" else {}) for row in decided(compared))
    [table] = measured.summary(compared, ("jain", "total_mbps", "up_mbps", "ap_loss_ratio", "mos"), rows)
    assert isinstance(table, Table)
    badges = [any(row[i].badge for row in table.rows) for i in range(1, 6)]
    assert badges == [True, False, False, False, False]
    assert table.caption.endswith("it. Nothing is clearly behind by: total. Not ranked: up, AP loss ratio.")


def _stars(text: str) -> dict[tuple[str, int], bool]:
    names = ("droptail", "ack-pushout", "adaptive-pushout")
    table = [re.sub(r"(\d)( ?)(\*?)(?=  |$)", r"\1\3", line) for line in text.splitlines()]
    rows = {line.split()[0]: line for line in table if line.split() and line.split()[0] in names}
    return {(name, i): cell.endswith("*") for name in names for i, cell in enumerate(_cells(rows[name]))}


def _cells(line: str) -> list[str]:
    return re.findall(r"\d[\d.]* ± [\d.]+\*?|\d[\d.]* \[[^\]]+\]\*?", line)


def _not_behind(results: Results, rows: Differences, name: str, column: int) -> bool:
    metric = ("jain", "total_mbps")[column]
    best = max((cell.name for cell in results.cells), key=lambda each: results.interval(each, metric).estimate)
    if name == best:
        return True
    [row] = rows.only([(best, name)], [metric])
    return bool(row["p_holm"] >= 0.05)


def test_rankings_and_differences_are_one_family(compared: Results) -> None:
    found = rankings(compared)["jain"]
    table = {(row["scenario"], row["metric"]): row for row in differences(compared, against=found.leader)}
    for name, margin in found.behind:
        row = table[name, "jain"]
        assert row["p_holm"] < 0.05
        assert margin.estimate == pytest.approx(-row["difference"])
        assert (margin.low, margin.high) == (-row["ci_high"], -row["ci_low"])
    assert all(table[name, "jain"]["p_holm"] >= 0.05 for name in found.equals)


def test_a_metric_of_ones_own_is_a_metric(compared: Results) -> None:
    results = compared.with_metrics(STARVED)
    counted = results.flows.group_by("scenario", "seed").agg((pl.col("goodput_mbps") < 0.2).sum().alias("n"))
    joined = results.metrics.join(counted, on=["scenario", "seed"])
    assert joined["starved"].to_list() == joined["n"].to_list()
    assert results.summary().filter(pl.col("metric") == "starved")["unit"].to_list() == ["flows"] * 3
    assert "starved_ci_low" in results.grid().columns
    assert {row["metric"] for row in differences(results)} >= {"jain", "jain_airtime", "starved"}
    assert {row["metric"] for row in differences(results, ["starved"])} == {"starved"}
    assert rankings(results)["starved"].leader != "droptail"
    assert "starved" in results._repr_html_()
    assert "starved" not in compared.metrics.columns
    found = seeds_needed(results, "starved=0.5")
    assert found["unit"].to_list() == ["flows"] * 3
    with pytest.raises(InputError, match="did you mean starved"):
        seeds_needed(results, "starvd=1")


def test_a_sweep_takes_metrics_of_ones_own() -> None:
    settings = {"run": RUN, "flows": [{"direction": "down", "count": 2}, {"direction": "up"}]}
    sweep = Sweep(
        settings,
        product={"ap.limit_packets": [5, 50]},
        replications=2,
        metrics=["jain", STARVED],
        compare="ap.limit_packets",
        precision=["starved=1"],
    )
    results = sweep.run(threads=1)
    assert sweep.metrics == ("jain", "starved")
    assert {row["metric"] for row in sweep.differences(results)} == {"jain", "starved"}
    assert [row["metric"] for row in sweep.seeds_needed(results)] == ["starved", "starved"]
    with pytest.raises(ScenarioError, match="starved"):
        Sweep(settings, metrics=["starvd", STARVED])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", len), "not a name"),
        (("a", 3), "not a function"),
        (("a", len, "", "most"), "Allowed: 'highest', 'lowest' or None"),
    ],
)
def test_a_metric_that_is_none_is_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Metric(*arguments)


def test_a_metric_without_a_number_is_refused(compared: Results) -> None:
    with pytest.raises(InputError, match="'flows' returned a DataFrame"):
        _ = compared.with_metrics(Metric("flows", lambda run: run.flows)).metrics
    with pytest.raises(InputError, match="'jain' is a metric already"):
        compared.with_metrics(Metric("jain", len))
    assert compared.with_metrics(Metric("none", lambda run: None)).metrics["none"].null_count() == 12


def test_own_indices_stay_within_bounds(compared: Results) -> None:
    own = Metric("mine", lambda run: 1.0 - 0.3 * (run.seeds[0] == 1), unit="index")
    found = compared.with_metrics(own).interval("droptail", "mine")
    assert found.high == 1.0
    assert found.low == pytest.approx(np.mean([0.7, 1, 1, 1]) - 3.182446 * 0.15 / 2, rel=1e-5)
