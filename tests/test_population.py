"""`wifair population`: distributions, determinism, the files, and what is refused."""

from __future__ import annotations

import hashlib
import json
import math
import random
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, Cli
from hypothesis import given, settings
from hypothesis import strategies as st
from wifair import Scenario
from wifair.analysis.check import check
from wifair.errors import InputError
from wifair.markdown import Marks
from wifair.population import Population, radio
from wifair.population.distribution import Distribution, Pieces, Quantiles, Weights, parsed
from wifair.population.drawn import DURATION_S, WARMUP_S, Drawn
from wifair.population.draws import Draws
from wifair.population.look import as_markdown, figure, frame, summary
from wifair.population.place import Place, place
from wifair.population.properties import PROPERTIES, kind_of, properties
from wifair.population.quantities import KINDS, as_table, quantities, version
from wifair.population.traffic import UPLOADING
from wifair.population.written import text
from wifair.toml_text import value

DISTRIBUTIONS = {
    f"{name} of {kind}": each.by_kind[kind]
    for name, each in quantities().items()
    for kind in (KINDS[:1] if each.same else KINDS)
}
NUMBERS = {name: each for name, each in DISTRIBUTIONS.items() if isinstance(each.bounds()[0], (int, float))}
# Seeds drawn at random, and fixed.
SEEDS = [random.Random(number).getrandbits(64) for number in range(200)]


@pytest.mark.whole
@pytest.mark.parametrize("name", NUMBERS)
@settings(deadline=None)  # other programs may be using the machine
@given(us=st.lists(st.floats(0, 1, exclude_max=True), min_size=2, max_size=40))
def test_a_quantile_function_rises_within_its_bounds(name: str, us: list[float]) -> None:
    found = NUMBERS[name]
    low, high = found.bounds()
    values = [found.at(u) for u in sorted(us)]
    if isinstance(found, Weights):
        order = [value for value, _ in found.pairs]
        assert all(each in order for each in values)
        assert sorted(values, key=order.index) == values
    else:
        rounded = [float(f"{value:.9g}") for value in values]  # the last bits of a logarithm may be in any order
        assert low <= rounded[0] <= rounded[-1] <= high
        assert sorted(rounded) == rounded


@pytest.mark.parametrize("name", NUMBERS)
def test_the_mean_of_draws_is_that_of_the_distribution(name: str) -> None:
    found = NUMBERS[name]
    exact = np.mean([float(found.at((i + 0.5) / 20_000)) for i in range(20_000)])
    values = np.array([float(found.at(Draws(seed, "home", 1).uniform(name))) for seed in range(3_000)])
    error = values.std(ddof=1) / math.sqrt(len(values))
    assert abs(values.mean() - exact) <= 4 * error + 1e-9


def share_up_to(found: Distribution, most: float) -> float:
    return float(np.mean([found.at((i + 0.5) / 100_000) <= most for i in range(100_000)]))


@pytest.mark.parametrize(
    ("name", "most", "share"),
    [
        ("connected of home", 3, 0.657),
        ("connected of home", 8, 1 - 0.065),
        ("connected of classroom", 20, 11 / 21),
        ("wire_down of home", 10, 0.03),
        ("wire_down of home", 25, 0.06),
        ("wire_down of home", 100, 0.34),
        ("wire_down of home", 500, 0.5),
        ("wire_down of cafe", 300, 0.5),
        ("wire_up of home", 19.9, 0.34),
        ("wire_up of home", 20.1, 0.5),
        ("round_trip of home", 39, 0.5),
    ],
)
def test_published_figures_are_met(name: str, most: float, share: float) -> None:
    assert share_up_to(DISTRIBUTIONS[name], most) == pytest.approx(share, abs=0.003)


def test_published_shares_are_met() -> None:
    generations = DISTRIBUTIONS["generation of home"]
    found = [generations.at((i + 0.5) / 100_000) for i in range(100_000)]
    for name, share in (("802.11n", 0.1729), ("802.11ac", 0.5135), ("802.11ax", 0.3102), ("802.11be", 0.0035)):
        assert found.count(name) / len(found) == pytest.approx(share, abs=0.001)
    low, high = DISTRIBUTIONS["page_size of home"].at(0.5)
    assert (low + high) / 2 == pytest.approx(2652, rel=0.001)


def test_every_quantity_has_a_unit_and_a_source_or_says_that_it_is_assumed() -> None:
    for name, each in quantities().items():
        assert each.what, name
        assert each.unit, name
        assert each.source or each.assumed, name
        assert f"`{name}`" in as_table()
        assert each.told()


@pytest.mark.parametrize(
    "given",
    [
        {"weights": [["a", 0.0]]},
        {"weights": []},
        {"pieces": [[0.5, 1, 3]]},
        {"quantiles": [[0, 1], [0.5, 3], [0.4, 4], [1, 5]]},
        {"quantiles": [[0, 0], [1, 5]]},
        {"quantiles": [[0.1, 1], [1, 5]]},
    ],
)
def test_a_distribution_that_is_none_is_refused(given: dict[str, list[list[float]]]) -> None:
    with pytest.raises(ValueError, match=r"must"):
        parsed(given)


def test_pieces_and_quantiles_have_their_ends() -> None:
    pieces = Pieces(((0.5, 1, 2), (0.5, 10, 10)))
    assert [pieces.at(u) for u in (0.0, 0.249, 0.25, 0.499, 0.5, 0.999999)] == [1, 1, 2, 2, 10, 10]
    quantiles = Quantiles(((0, 1), (0.5, 100), (1, 100)))
    assert quantiles.at(0.25) == pytest.approx(10)
    assert quantiles.at(0.75) == 100


def test_random_numbers_are_even_and_do_not_depend_on_each_other() -> None:
    of_one = np.array([Draws(seed, "home", 7).uniform("a") for seed in range(10_000)])
    of_other = np.array([Draws(seed, "home", 7).uniform("b") for seed in range(10_000)])
    counts = np.histogram(of_one, 20, (0, 1))[0]
    assert ((counts - 500) ** 2 / 500).sum() < 43.8  # the 99.9 % quantile of chi-squared with 19 degrees of freedom
    assert abs(np.corrcoef(of_one, of_other)[0, 1]) < 0.04
    assert abs(np.corrcoef(of_one[1:], of_one[:-1])[0, 1]) < 0.04


def test_the_same_seed_and_version_give_the_same_files_bit_for_bit() -> None:
    assert version() == 1
    files = dict(Population(count=3, seed=36).files())
    digest = hashlib.sha256("".join(f"{name}\n{content}" for name, content in files.items()).encode()).hexdigest()
    assert digest == PINNED  # raise the version in distributions.toml if this changes by more than the name of a key
    assert Draws(36, "home", 1).uniform("connected") == UNIFORM


PINNED = "ec6646296ce5ab57f709e298863334e7da444c40907c92fae7222d728ca35ac1"
UNIFORM = 0.42417014540264375


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**64 - 1), count=st.integers(1, 4), kinds=st.permutations(KINDS), some=st.integers(1, 4))
def test_a_scenario_depends_on_nothing_but_its_kind_number_and_seed(
    seed: int, count: int, kinds: list[str], some: int
) -> None:
    files = dict(Population(kinds[:some], count, seed).files())
    assert len(files) == some * count
    for kind in kinds[:some]:
        assert files[f"{kind}-{count:03}.toml"] == text(Drawn(kind, count, seed))
    other = dict(Population(kinds[:some], count, seed ^ 1).files())
    assert all(other[name] != content for name, content in files.items())


@pytest.mark.whole
def test_every_file_of_200_random_seeds_is_a_scenario() -> None:
    for seed in SEEDS:
        for each in Population(count=1, seed=seed).drawn:
            scenario = Scenario.from_settings(tomllib.loads(text(each)))
            plan = scenario.plan()
            assert scenario.title == each.name
            assert len(plan["bss"]["stations"]) == len(each.stations) <= each.connected
            assert sum(flow["application"]["name"] == "ping" for flow in plan["flows"]) == 1
            assert any(flow["group"].partition("-")[0] in ("download", "upload", "backup") for flow in plan["flows"])
            used = {flow["station"] for flow in plan["flows"]}
            assert used == {station["label"] for station in plan["bss"]["stations"]}
            assert all(each > -1 for each in properties(scenario).values())
            lines = [flow["wire_rate_mbps"] for flow in plan["flows"] if flow["wire_rate_mbps"]]
            down, up = each.wire_mbps
            assert not lines or (up < down and sum(lines) == pytest.approx(up, rel=0.01))


def test_wifair_check_has_no_error_and_finds_what_the_page_lists(here: Cli, tmp_path: Path) -> None:
    found = set()
    for path in Population(count=2, seed=5).write(tmp_path):
        assert here("check", path).returncode == 0
        found |= {finding.key.rpartition(".")[2] for finding in check(Scenario.from_toml(path))}
    assert found <= {"duration_s", "warmup_s", "ecn", "rate_mbps", "mcs", "station"}


@pytest.mark.whole
def test_the_head_of_a_file_is_the_command_that_writes_it(here: Cli, tmp_path: Path) -> None:
    Population(["office"], 2, 9).write(tmp_path / "one")
    written = (tmp_path / "one" / "office-002.toml").read_text()
    words = written.splitlines()[1].partition("`wifair ")[2].partition("`")[0].split()
    assert here(*words, "--out", tmp_path / "two").returncode == 0
    assert (tmp_path / "two" / "office-002.toml").read_text() == written


def test_stations_pings_and_uploads_are_where_they_should_be() -> None:
    pinged = {"uploading": 0, "other": 0}
    for seed in SEEDS[:60]:
        for each in Population(count=1, seed=seed).drawn:
            [probe] = [station for station in each.stations if station.number == each.probe]
            pinged["uploading" if probe.activity in UPLOADING else "other"] += 1
            assert each.activities[0] in ("download", "upload", "backup")
            assert probe.activity not in UPLOADING or set(each.activities) <= set(UPLOADING)
            order = list(radio.MCS_COUNT)
            for station in each.stations:
                assert order.index(station.generation) <= order.index(each.generation)
                assert station.up_dbm < station.down_dbm
                assert station.mcs_up <= station.mcs_down
            assert each.band_ghz == 5 or (each.width_mhz == 20 and each.generation != "802.11ac")
    assert pinged["other"] > 10 * pinged["uploading"]


def test_more_distance_walls_floors_and_frequency_lose_more() -> None:
    def loss(distance_m: float = 8.0, walls: int = 0, floors: int = 0, band: float = 5) -> float:
        return radio.Path(distance_m, walls, floors, 5.0, 5.0).loss_db(band)

    assert loss(1.0, band=2.4) == pytest.approx(40.05 + 20 * math.log10(2.437 / 2.4))
    assert loss(5.0) - loss(1.0) == pytest.approx(20 * math.log10(5))
    assert loss(50.0) - loss(5.0) == pytest.approx(35)
    assert loss(walls=2) - loss() == pytest.approx(10)
    assert loss(floors=1) - loss() == pytest.approx(18.3)
    assert loss(band=5) - loss(band=2.4) == pytest.approx(20 * math.log10(5.5 / 2.437))


def test_mcs_by_received_power() -> None:
    assert [radio.mcs(power, "802.11ax", 20, 1) for power in (-90, -82, -70, -52, -20)] == [0, 0, 4, 11, 11]
    assert radio.mcs(-20, "802.11be", 80, 2) == 13
    assert radio.mcs(-20, "802.11ac", 20, 1) == 8  # no MCS 9 at 20 MHz
    assert radio.mcs(-64, "802.11n", 40, 1) == 4
    assert radio.mcs(-61, "802.11n", 40, 1) == 7
    assert radio.mcs(-61, "802.11n", 40, 2) == 4
    assert radio.key_of(6, "802.11n", 2) == 14
    assert radio.width_of("802.11n", 5, 80) == 40
    assert radio.width_of("802.11ax", 2.4, 80) == 20


def test_values_in_toml() -> None:
    given = {"a": True, "b": 2.5, "c": "x", "d": {"e": {}, "f": 1_500_000}}
    assert tomllib.loads(f"t = {value(given)}")["t"] == given


def test_properties_of_any_scenario() -> None:
    found = properties(Scenario(flows=[{"direction": "up", "count": 2}, {"direction": "down", "application": "web"}]))
    assert set(found) == {each.name for each in PROPERTIES}
    assert found["stations with flows"] == 3
    assert found["uploads without end"] == 2
    assert found["pages, videos, files down"] == 1
    assert found["fastest link over slowest"] == 1
    assert kind_of("home-007") == "home"
    assert kind_of("my branch 3") == "my branch"
    assert kind_of("2024") == "2024"


def test_the_summary_and_the_figure() -> None:
    found = frame(Population(["home", "cafe"], 3).scenarios)
    headings, rows = summary(found)
    assert headings == ["property", "home", "cafe"]
    assert len(rows) == len(PROPERTIES)
    made = figure(found)
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in made.axes)
    styles = {(line.get_label(), line.get_linestyle()) for line in made.axes[0].lines}
    assert len(styles) == 2


@pytest.mark.whole
def test_population_writes_a_folder(here: Cli, tmp_path: Path) -> None:
    words = ["population", "--kinds", "home,cafe", "--count", "2", "--seed", "0x24", "--out", tmp_path / "a"]
    done = here(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("4 scenarios of population 1, seed 36: 2 of home, 2 of cafe.")
    assert len(done.stdout.splitlines()) < 30
    names = {path.name for path in (tmp_path / "a").iterdir()}
    scenarios = {f"{kind}-00{number}.toml" for kind in ("home", "cafe") for number in (1, 2)}
    assert names == scenarios | {"population.md", "population.png"}
    again = here(*words, "--json")
    told = json.loads(again.stdout)
    assert (told["seed"], told["version"], len(told["files"]), len(told["properties"])) == (36, 1, 4, 4)
    assert here(*words[:3], "--count", "3", "--seed", "36", "--out", tmp_path / "a").returncode == 0  # adds to it
    refused = here(*words[:5], "--seed", "1", "--out", tmp_path / "a")
    assert refused.returncode == 2
    assert "home-001.toml: exists with other content and is not overwritten" in refused.stderr


def test_the_distributions_are_listed_with_their_sources(here: Cli) -> None:
    told = here("population", "--distributions").stdout
    assert "connected: stations connected to the access point (stations)." in told
    assert "Great Internet TCP Congestion Control Census" in " ".join(told.split())
    found = json.loads(here("population", "--distributions", "--json").stdout)
    assert [each["name"] for each in found["quantities"]] == list(quantities())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--kinds", "hoem"], "there is no kind of scenario 'hoem'. Did you mean home? Allowed here: home, cafe"),
        (["--kinds", "home,home"], "must name at least one kind, and none twice"),
        (["--count", "0"], "count: 0 is not allowed; allowed here: a whole number from 1 to 10,000."),
        (["--count", "10001"], "count: 10001 is not allowed"),
        (["--seed", "-1"], "--seed: '-1' is not allowed"),
        (["--seed", "1a2b3c4d"], "Did you mean 0x1a2b3c4d?"),
        (["--seed", "0xhello"], "--seed: '0xhello' is not allowed. Allowed here: a whole number from 0"),
        (["--format", "gif"], "--format: unknown format 'gif'"),
        (["--out", "pyproject.toml"], "pyproject.toml: cannot be written"),
        (["--cuont", "3"], "Did you mean --count?"),
    ],
)
def test_bad_options_are_refused(words: list[str], said: str, here: Cli) -> None:
    done = here("population", *words)
    assert done.returncode == 2
    assert said in done.stderr


@pytest.mark.whole
def test_the_page_has_the_distributions_and_the_properties_of_the_code() -> None:
    page, command = ROOT / "docs" / "population.md", "python docs/figures/population.py"
    assert Marks("distributions", command).between(page) == as_table()
    assert Marks("properties", command).between(page) == as_markdown(frame(Population().scenarios))
    assert f"measures {DURATION_S} simulated seconds after a warm-up of {WARMUP_S} s" in page.read_text()


def test_a_population_is_checked_in_python_too() -> None:
    every: list[dict[str, Any]] = [{"kinds": []}, {"count": True}, {"seed": -1}, {"seed": 2**64}]
    for bad in every:
        with pytest.raises(InputError, match="llowed here"):
            Population(**bad)


# The place of a scenario in a population


SMALL = Population(count=3).scenarios


def test_a_scenario_of_a_population_is_nearest_to_itself() -> None:
    for name, scenario in SMALL.items():
        found = place(scenario, SMALL)
        assert found.nearest(2)[0] == name
        assert found.distances.min() == 0


@given(
    rows=st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=2), min_size=1, max_size=8),
    own=st.lists(st.integers(0, 5), min_size=2, max_size=2),
)
def test_ranks_are_those_of_counting_and_do_not_depend_on_units(rows: list[list[int]], own: list[int]) -> None:
    names = tuple(f"cafe-{i}" for i in range(len(rows)))
    found = Place(names, np.array(own, dtype=float), np.array(rows, dtype=float))

    def rank(value: int, i: int) -> float:
        column = [row[i] for row in rows]
        return (sum(other < value for other in column) + sum(other == value for other in column) / 2) / len(rows)

    assert found.ranks == pytest.approx([rank(value, i) for i, value in enumerate(own)])
    expected = [sum(abs(rank(row[i], i) - rank(own[i], i)) for i in range(2)) / 2 for row in rows]
    assert found.distances == pytest.approx(expected)
    other = Place(names, np.exp(found.own), np.exp(found.others))
    assert other.distances == pytest.approx(found.distances)


def test_a_rank_at_the_ends_is_unusual() -> None:
    crowd = Scenario(flows=[{"direction": "down", "count": 60}])
    unusual = {each.name: rank for each, _, rank in place(crowd, SMALL).unusual}
    assert unusual["stations with flows"] == unusual["downloads without end"] == 1
