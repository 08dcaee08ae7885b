"""Studies as data: what a study file says, what is refused, and the command line on top."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from conftest import ROOT
from wifair import Scenario, Sweep
from wifair.cli import execute, results, sweep
from wifair.errors import InputError, ScenarioError

BASE: dict[str, Any] = {
    "run": {"warmup_s": 0.5, "duration_s": 2},
    "flows": [{"count": 2, "direction": "up"}, {"direction": "down"}],
}

STUDY = """
title = "sizes"
scenario = "short.toml"
replications = 3
metrics = ["jain", "total_mbps"]
[set]
tcp.congestion_control = "newreno"
[product]
ap.scheme = ["droptail", "adaptive-pushout"]
ap.limit_packets = [5, 20]
"""


def names(sweep: Sweep) -> list[str]:
    return [cell.name for cell in sweep.cells]


def test_the_grid_is_the_product_of_all_axes() -> None:
    made = Sweep(
        BASE,
        product={"ap.scheme": ["droptail", "las"]},
        zip={"flows[0].count": [1, 2], "flows[1].count": [4, 3]},
        points=[{"wire": {"rate_mbps": 10}}, {"wire.rate_mbps": 100, "wire.one_way_delay_ms": 20}],
        replications=2,
    )
    assert len(made.cells) == 8
    assert made.cells[1].keys == {
        "ap.scheme": "droptail",
        "flows[0].count": 1,
        "flows[1].count": 4,
        "wire.rate_mbps": 100,
        "wire.one_way_delay_ms": 20,
    }
    assert made.cells[0].name == "scheme=droptail, flows[0].count=1, flows[1].count=4, rate_mbps=10"
    plan = made.cells[-1].scenario.plan()
    assert plan["bss"]["ap"]["tx_queue"]["scheme"]["name"] == "las"
    assert [flow["direction"] for flow in plan["flows"]] == ["up"] * 2 + ["down"] * 3
    assert plan["wire"]["one_way_delay_ms"] == 20


@pytest.mark.parametrize("how", ["zip", "points"])
def test_a_key_that_others_go_with_is_compared(how: str) -> None:
    together = {"flows[0].count": [1, 2], "flows[1].count": [4, 3]}
    points = [{key: values[i] for key, values in together.items()} for i in range(2)]
    made = Sweep(
        BASE,
        product={"ap.scheme": ["droptail", "las"]},
        compare="flows[0].count",
        replications=2,
        metrics=["total_mbps"],
        set={"run": {"warmup_s": 0, "duration_s": 1}},
        **({"zip": together} if how == "zip" else {"points": points}),
    )
    found = [(row["scenario"], row["against"]) for row in made.differences(made.run())]
    first, second = "flows[0].count=1, flows[1].count=4", "flows[0].count=2, flows[1].count=3"
    assert found == [(f"scheme={scheme}, {second}", f"scheme={scheme}, {first}") for scheme in ("droptail", "las")]


def test_several_zips_and_components_with_parameters() -> None:
    pushout = {"name": "ack-pushout", "redundant": "newest"}
    made = Sweep(
        {**BASE, "ap": {"scheme": pushout}},
        zip=[{"ap.scheme": ["ack-pushout", {"name": "ack-pushout", "redundant": "oldest"}]}, {"ap.limit_packets": [5]}],
    )
    assert names(made) == [
        "scheme=ack-pushout, limit_packets=5",
        "scheme=ack-pushout(redundant=oldest), limit_packets=5",
    ]
    # The scenario's own scheme keeps its parameters; a table says them all.
    schemes = [cell.scenario.plan()["bss"]["ap"]["tx_queue"]["scheme"] for cell in made.cells]
    assert [scheme["redundant"] for scheme in schemes] == ["newest", "oldest"]


def test_a_study_file(tmp_path: Path, short: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    made = Sweep.from_toml(path, [("run.duration_s", 1)])
    assert (made.title, made.seeds, made.metrics) == ("sizes", (1, 2, 3), ("jain", "total_mbps"))
    assert len(made.cells) == 4
    plan = made.cells[0].scenario.plan()
    assert plan["run"]["duration_s"] == 1
    assert plan["flows"][0]["tcp"]["congestion_control"]["name"] == "newreno"
    twin = Sweep(
        short,
        title="sizes",
        set={"tcp.congestion_control": "newreno", "run.duration_s": 1},
        product={"ap": {"scheme": ["droptail", "adaptive-pushout"], "limit_packets": [5, 20]}},
        replications=3,
        metrics=["jain", "total_mbps"],
    )
    assert names(twin) == names(made)
    assert [cell.scenario.plan_json for cell in twin.cells] == [cell.scenario.plan_json for cell in made.cells]


def test_a_scenario_within_a_study_file(tmp_path: Path) -> None:
    path = tmp_path / "inline.toml"
    path.write_text('seeds = [7, 9]\n[[scenario.flows]]\ndirection = "up"\n[product]\nap.limit_packets = [5, 6]\n')
    made = Sweep.from_toml(path)
    assert (made.title, made.seeds) == ("inline", (7, 9))
    assert names(made) == ["limit_packets=5", "limit_packets=6"]


def test_a_study_without_a_grid_is_one_cell() -> None:
    assert names(Sweep(Scenario(**BASE, title="alone"))) == ["alone"]


BAD = {
    "unknown key": ("titel = 'x'\n" + STUDY, "titel: unknown key (value 'x'); did you mean title?"),
    "no scenario": ("[product]\nap.limit_packets = [5]\n", "scenario: a study needs a scenario"),
    "unknown scenario key": (STUDY + "ap.schem = ['droptail']\n", "ap.schem: unknown key (value 'droptail'); did you mean"),
    "unknown scheme": (STUDY.replace("adaptive-pushout", "adaptive-pushuot"), "did you mean adaptive-pushout?"),
    "wrong unit": (STUDY + "run.duration_ms = [5]\n", "did you mean duration_s (in seconds)?"),
    "value out of range": (STUDY.replace("[5, 20]", "[5, -20]"), "ap.limit_packets: "),
    "no list": (STUDY.replace("[5, 20]", "5"), "product.ap.limit_packets: 5 is no list of values"),
    "empty list": (STUDY.replace("[5, 20]", "[]"), "product.ap.limit_packets: [] is no list of values"),
    "a value twice": (STUDY.replace("[5, 20]", "[5, 5]"), "has a value twice"),
    "unknown metric": (STUDY.replace("total_mbps", "total_mpbs"), "did you mean total_mbps?"),
    "unequal zip": (STUDY + "[zip]\ntcp.mss_bytes=[500, 1000]\nwire.rate_mbps=[1]\n", "tcp.mss_bytes has 2, wire.rate_mbps has 1"),
    "varied twice": (STUDY + "[zip]\nap.limit_packets=[7, 8]\n", "ap.limit_packets: this key is varied twice"),
    "points alike": (STUDY + "[[points]]\ntcp.mss_bytes=500\n[[points]]\ntcp.mss_bytes=500\n", "two points of the grid are the same"),
    "seeds twice over": ("seeds = [1]\n" + STUDY, "replications and seeds exclude each other"),
    "seed of no kind": (STUDY.replace("replications = 3", "seeds = [1, 'two']"), "'two' is no seed"),
    "no replication": (STUDY.replace("replications = 3", "replications = 0"), "no number of replications"),
    "product of no kind": ("scenario = 'short.toml'\nproduct = 3\n", "product: 3 is not accepted; allowed here: a table of lists"),
    "points of no kind": ("scenario = 'short.toml'\npoints = [3]\n", "points: 3 is not accepted"),
    "no file": (STUDY.replace("short.toml", "nowhere.toml"), "nowhere.toml: cannot be read: there is no such file."),
    "no TOML": ("title = \n", "not valid TOML"),
    "too many": (STUDY + "tcp.mss_bytes = " + str(list(range(100, 40_000))), "159600 cells are too many"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=list(BAD))
def test_bad_studies(tmp_path: Path, short: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        Sweep.from_toml(path)
    assert message in str(caught.value)


def test_errors_have_the_key(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError) as caught:
        Sweep(BASE, product={"flows[9].count": [1]})
    assert "flows.9" in caught.value.key


class Done(NamedTuple):
    status: int
    stdout: str
    stderr: str


Command = Callable[..., Done]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line within this process: others test that it starts."""

    def call(*arguments: str | Path) -> Done:
        status = execute([str(argument) for argument in arguments])
        return Done(status, *capsys.readouterr())

    return call


def test_the_command_line(command: Command, tmp_path: Path, short: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    store, out = tmp_path / "store", tmp_path / "out"
    done = command("sweep", study, "--store", store, "--out", out)
    assert done.status == 0, done.stderr
    assert "ap.limit_packets" in done.stdout
    assert "adaptive-pushout" in done.stdout
    grid = pl.read_parquet(out / "grid.parquet")
    assert grid.select("ap.scheme", "ap.limit_packets", "runs").rows() == [
        (scheme, limit, 3) for scheme in ("droptail", "adaptive-pushout") for limit in (5, 20)
    ]

    study.write_text(STUDY.replace("[5, 20]", "[5, 20, 60]"))
    done = command("sweep", study, "--store", store, "--json")
    assert done.stderr.endswith(f"\n12 replications were taken from {store}\n")
    document = json.loads(done.stdout)
    assert [cell["keys"]["ap.limit_packets"] for cell in document["scenarios"]] == [5, 20, 60] * 2

    listed = json.loads(command("results", "list", "--store", store, "--json").stdout)
    (engine,) = listed["engines"]
    assert engine["present"]
    assert engine["replications"] == 18
    assert [(known["title"], known["finished"]) for known in engine["studies"]] == [("sizes", 18)]
    assert "18 of 18" in command("results", "list", "--store", store).stdout

    wrong = command("results", "export", "size", "--store", store, "--out", out)
    assert (wrong.status, wrong.stdout) == (2, "")
    assert "Did you mean sizes?" in wrong.stderr
    exported = command("results", "export", "sizes", "--store", store, "--out", out / "csv", "--csv")
    assert exported.status == 0, exported.stderr
    assert pl.read_csv(out / "csv" / "grid.csv").height == 6
    assert "engine" in json.loads((out / "csv" / "manifest.json").read_text())["versions"]

    pruned = json.loads(command("results", "prune", "--study", "sizes", "--store", store, "--json").stdout)
    assert pruned["replications"] == 18
    assert json.loads(command("results", "list", "--store", store, "--json").stdout)["engines"][0]["replications"] == 0


def test_differences_of_a_pair_of_values_are_one_table(
    command: Command, tmp_path: Path, short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    study = tmp_path / "study.toml"
    asked = 'title = "sizes"\ncompare = "ap.scheme"\nprecision = ["jain=0.01"]'
    grid = STUDY.replace('"adaptive-pushout"]', '"las", "codel"]').replace('title = "sizes"', asked)
    study.write_text(f"{grid}wire.one_way_delay_ms = [5, 20]\n")
    done = command("sweep", study, "--store", tmp_path / "store", "--threads", "1")
    assert done.status == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    parts = [part.splitlines() for part in done.stdout.strip().split("\n\n")]
    tables = [part for part in parts if " minus " in part[0]]
    assert [" ".join(table[:2]) for table in tables] == [
        f"{name} minus droptail, paired by seed, at each ap.limit_packets, wire.one_way_delay_ms"
        for name in ("las", "codel")
    ]
    for table in tables:
        rows = table[[line.startswith("--") for line in table].index(True) + 1 :]
        places = [f"{limit}, {delay}" for limit in (5, 20) for delay in (5, 20)]
        metrics = ("Jain's index", "total, Mbps")
        assert [tuple(re.split("  +", row)[:2]) for row in rows] == list(itertools.product(places, metrics))
        assert "seeds" in table[2]
        assert [len(re.split("  +", row)) for row in rows] == [6, 5] * 4
    [needed] = [part for part in parts if part[0].startswith("Seeds needed")]
    assert needed[1].startswith("ap.scheme, ")
    assert sum(line.startswith("las, 20, 5  ") for line in needed) == 1


def test_run_and_compare_share_a_store(command: Command, tmp_path: Path, short: Path) -> None:
    store = tmp_path / "store"
    done = command("compare", short, "--schemes", "droptail,adaptive-pushout", "--seeds", "3", "--store", store)
    assert done.status == 0, done.stderr
    done = command("run", short, "--seeds", "4", "--store", store)  # its own scheme is adaptive pushout
    assert f"3 replications were taken from {store}\n" in done.stderr


@pytest.mark.whole
def test_the_examples_of_the_help_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "buffer-sizes.toml").symlink_to(ROOT / "scenarios" / "studies" / "buffer-sizes.toml")
    for example in (sweep.EXAMPLE, results.EXAMPLE, results.EXAMPLE_EXPORT, results.EXAMPLE_PRUNE):
        assert execute(shlex.split(example.removeprefix("Example: wifair "))) == 0
    assert (tmp_path / "results" / "buffer-sizes" / "grid.csv").exists()


@pytest.mark.parametrize("path", sorted((ROOT / "scenarios" / "studies").glob("*.toml")), ids=lambda path: path.stem)
def test_example_studies_run(path: Path) -> None:
    short: list[tuple[str, Any]] = [("run", {"warmup_s": 1, "duration_s": 3})]
    if "building" in tomllib.loads(path.read_text())["scenario"]:
        short += [("building.floors", 1), ("building.rooms", [2, 1])]
    made = Sweep.from_toml(path, short)
    found = made.run()
    assert found.missing == 0
    assert found.grid().height == len(made.cells)
