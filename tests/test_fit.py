"""`wifair fit`: planted values are found, what a measurement cannot tell apart is named, and a bad fit is refused."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli
from wifair import Scenario
from wifair.advising.doubts import Freedom, doubts
from wifair.cli.fit import print_best
from wifair.errors import InputError
from wifair.fitting import Fitted, Fitting, FittingInterrupted, measurement, wording
from wifair.fitting.estimates import Estimate, estimates
from wifair.fitting.held_back import held_back
from wifair.fitting.held_out import Split, split
from wifair.fitting.objective import Objective
from wifair.fitting.search import ALL, Parameter, Point, Search, Searched, key
from wifair.fitting.wording import so_far
from wifair.observed import imported
from wifair.observed.as_ap import write
from wifair.observed.origins import Mark, marks, replaced
from wifair.observed.shown import Quantity
from wifair.observed.written import text
from wifair.prediction.as_it_is import Judged, judged
from wifair.prediction.measurement import Measured, Measurement, short_runs
from wifair.stats import Values
from wifair.study.job import Cell
from wifair.study.study import Study
from wifair.tuning.ranges import Choices, Numbers

# Without an engine: logarithms of goodput that depend on the parameters, with common random numbers.

STATIONS = [f"station-{number}" for number in range(1, 10)]
GOODPUT = [Quantity("goodput", station, "down") for station in STATIONS]
PATTERNS = np.random.default_rng(5).normal(size=(4, len(GOODPUT)))
RUN_S, DEVIATION = 60.0, 0.05
# Of a point: how far the logarithm of each station's goodput moves.
Model = Callable[[Point], Values]

LINE = Parameter("line", Numbers(0.25, 4.0, log=True), 1.0)
DELAY = Parameter("delay", Numbers(0.25, 4.0, log=True), 1.0)
HOSTS = Parameter("hosts", Choices(("linux", "windows", "apple")), "linux")
USELESS = Parameter("useless", Numbers(0.5, 2.0, log=True), 1.0)


def separate(point: Point) -> Values:
    """Each parameter moves other stations; `useless` moves none."""
    hosts = ["linux", "windows", "apple"].index(point["hosts"])
    found: Values = (
        0.5 * np.log(point["line"]) * PATTERNS[0]
        + 0.5 * np.log(point["delay"]) * PATTERNS[1]
        + 0.4 * hosts * PATTERNS[2]
    )
    return found


def product(point: Point) -> Values:
    """Only the product of line and delay matters."""
    found: Values = 0.5 * np.log(point["line"] * point["delay"]) * PATTERNS[0]
    return found


def values(moved: Values, seed: int) -> Values:
    found: Values = np.exp(1.5 + moved + DEVIATION * np.random.default_rng([9, seed]).normal(size=len(GOODPUT)))
    return found


def fitted(
    model: Model, parameters: Sequence[Parameter], truth: Values, runs: int = 500
) -> tuple[Searched, list[Measured]]:
    """What the search finds, and the measurement of each station."""
    search, drawn = searching(model, parameters, truth, runs)
    return search.run(), drawn


def searching(model: Model, parameters: Sequence[Parameter], truth: Values, runs: int) -> tuple[Search, list[Measured]]:
    """The search for a measurement of the truth over three runs; and the measurement of each station."""
    noise = DEVIATION / np.sqrt(3) * np.random.default_rng(77).normal(size=len(GOODPUT))
    drawn = [Measured(np.array([value]), 3 * RUN_S) for value in np.exp(1.5 + truth + noise)]

    def measure(points: Sequence[Point], seeds: range) -> list[Mapping[Quantity, Values]]:
        return [
            dict(zip(GOODPUT, np.array([values(model(point), seed) for seed in seeds]).T, strict=True))
            for point in points
        ]

    [own] = measure([{each.name: each.kept for each in parameters}], range(1, ALL + 1))
    return Search(parameters, dict(zip(GOODPUT, drawn, strict=True)), RUN_S, own, measure, runs=runs), drawn


def test_planted_values_are_found() -> None:
    planted = {"line": 0.6, "delay": 2.5, "hosts": "windows", "useless": 1.0}
    searched, _ = fitted(separate, [LINE, DELAY, HOSTS, USELESS], separate(planted))
    found, alike = estimates(searched, RUN_S)
    assert searched.best["hosts"] == "windows"
    assert np.log(searched.best["line"] / 0.6) == pytest.approx(0, abs=0.25)
    assert np.log(searched.best["delay"] / 2.5) == pytest.approx(0, abs=0.25)
    assert {each.parameter.name: each.is_known for each in found} == {
        "line": True,
        "delay": True,
        "hosts": True,
        "useless": False,
    }
    assert set(found[2].excluded) == {"linux", "apple"}
    assert alike == []
    objective = searched.objective
    assert objective is not None
    assert objective(searched.of(searched.best)) < 1 < objective(searched.of(searched.start))


def test_what_fits_as_well_is_an_interval_with_the_planted_value_in_it() -> None:
    """And what lies beyond it is excluded, unless the range ends there. Halving its ends makes it narrower."""
    planted = {"line": 0.6, "delay": 2.5, "hosts": "windows", "useless": 1.0}
    search, _ = searching(separate, [LINE, DELAY, HOSTS, USELESS], separate(planted), 500)
    searched = search.run()
    before, _ = estimates(searched, RUN_S)
    search.profile([(each.parameter.name, value) for each in before for value in each.open_ends])
    after, _ = estimates(searched, RUN_S)
    for wide, narrow in zip(before[:2], after[:2], strict=True):
        assert wide.between
        assert narrow.between
        low, high = narrow.between
        assert wide.between[0] <= low < planted[narrow.parameter.name] < high <= wide.between[1]
        assert high / low < wide.between[1] / wide.between[0]
        assert narrow.others == (low, high)
    assert after[2].others == ()
    assert after[3].between == (0.5, 2.0)


def worded(planted: Mapping[str, Any], beyond: float = 0.0) -> Fitted:
    """A fit whose verdict has what no parameter moves by `beyond`, as `wifair fit` prints it."""
    parameters = [LINE, DELAY, HOSTS]
    searched, drawn = fitted(separate, parameters, separate(planted) + beyond * np.resize([0, 0, 1], len(GOODPUT)))
    measured = dict(zip(GOODPUT, drawn, strict=True))
    fresh = [values(separate(searched.best), seed) for seed in range(1001, 1013)]
    runs = dict(zip(GOODPUT, np.array(fresh).T, strict=True))
    free = [
        Freedom(
            each.name,
            "unknown: why",
            (),
            each.values,
            each.kept,
            lambda _mark, _, value: value,
            lambda value: f"{value:g}" if isinstance(value, float) else str(value),
        )
        for each in parameters
    ]
    found = Fitted(Split(measured, measured, "some", frozenset()), free, [], searched, Scenario(**NETWORK))
    found.held = judged(dict(list(measured.items())[2::3]), runs, RUN_S)
    found.estimates, found.alike = estimates(searched, RUN_S)
    return found


def test_an_end_of_the_range_is_not_reported_as_a_result() -> None:
    """The line is slower than all that was searched; the delay lies within."""
    planted = {"line": 0.15, "delay": 1.0, "hosts": "linux", "useless": 1.0}
    found = worded(planted)
    line, delay, hosts = found.estimates
    assert line.open_range == (0.25,)
    assert (delay.open_range, hosts.open_range) == ((), ())
    _, value, fits, excluded, _ = wording.row(found, line)
    assert value.endswith("0.25 (end of the range)")
    assert fits.startswith("0.25 (end of the range) to ")
    assert excluded.startswith("above ")
    said = (
        "line: what fits as well reaches an end of what was searched (0.25 to 4), and the true value may lie beyond it"
    )
    assert said in list(wording.remarks(found))
    assert not any("delay" in told for told in wording.remarks(found))
    assert [each["ends_of_range"] for each in wording.document(found)["parameters"]] == [["0.25"], [], []]
    # Nothing lies below a factor of zero, nor is an end of the range told where nothing is excluded.
    rates = Parameter("rates", Numbers(0.0, 2.0), 1.0)
    assert Estimate(rates, 0.5, (0.0, 1.0), (2.0,)).open_range == ()
    assert Estimate(rates, 0.5, (0.0, 1.0, 2.0), ()).open_range == ()


@pytest.mark.parametrize("end", [0.0, 2.0])
def test_a_value_at_an_end_of_its_range_may_be_the_only_one_that_fits(end: float) -> None:
    rates = Parameter("rate", Numbers(0.0, 2.0), 1.0)
    found = Estimate(rates, end, (), (1.0, 2.0 - end))
    assert found.between == (min(end, 1.0), max(end, 1.0))
    assert found.open_ends == [abs(end - 0.5)]


def test_no_fit_says_on_what_its_values_rest_and_what_is_next() -> None:
    planted = {"line": 0.6, "delay": 1.0, "hosts": "linux", "useless": 1.0}
    assert not any("Next" in told or "rest of the model" in told for told in wording.remarks(worded(planted)))
    found = worded(planted, 0.8)
    rests, *_, following = wording.remarks(found)
    assert rests.startswith("What fits as well, and what is excluded, holds only if the rest of the model is right")
    assert following.startswith(f"Next: the largest misses are {found.held[0].quantity}; {found.held[1].quantity}; ")
    assert "`wifair explain SCENARIO --measured FILES`" in following


def test_a_fit_that_was_stopped_early_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    found = worded({"line": 0.6, "delay": 1.0, "hosts": "linux", "useless": 1.0})
    print_best(found)
    assert "Stopped early, so it is not judged whether there is a fit: nearest with" in capsys.readouterr().out
    found.searched.objective = None
    print_best(found)
    assert "Stopped early" in capsys.readouterr().out


def test_a_pair_that_cannot_be_told_apart_is_named() -> None:
    truth = product({"line": 0.5, "delay": 1.0})
    searched, _ = fitted(product, [LINE, DELAY], truth)
    _, [pair] = estimates(searched, RUN_S)
    assert (pair.one.name, pair.two.name) == ("line", "delay")
    assert pair.cosine > 0.95
    assert searched.best["line"] * searched.best["delay"] == pytest.approx(0.5, rel=0.2)


def test_a_bad_fit_is_refused_and_a_good_one_is_not() -> None:
    """What no parameter moves is in the held-out part of the measurement."""
    planted = {"line": 0.6, "delay": 1.0, "hosts": "linux", "useless": 1.0}
    for beyond, is_fit in ((0.0, True), (0.8, False)):
        truth = separate(planted) + beyond * np.resize([0, 0, 1], len(GOODPUT))
        searched, drawn = fitted(separate, [LINE, DELAY, HOSTS], truth)
        held = dict(zip(GOODPUT[2::3], drawn[2::3], strict=True))
        fresh = dict(
            zip(GOODPUT, np.array([values(separate(searched.best), seed) for seed in range(1001, 1013)]).T, strict=True)
        )
        assert all(each.is_within for each in judged(held, fresh, RUN_S)) is is_fit


def test_a_right_scenario_is_seldom_refused() -> None:
    """At most 5 of 100: of 400 at most 34 (99.9 %, binomial)."""
    rng = np.random.default_rng(3)
    refused = 0
    for _ in range(400):
        runs = dict(zip(GOODPUT, np.exp(0.3 * rng.normal(size=(len(GOODPUT), ALL))), strict=True))
        held = {what: Measured(np.exp(0.3 / 2 * rng.normal(size=1)), 4 * RUN_S) for what in GOODPUT}
        refused += not all(each.is_within for each in judged(held, runs, RUN_S))
    assert refused <= 34


def test_the_objective_counts_chance_and_what_matters() -> None:
    """By hand: a run's variance by the time, and 5 % of goodput."""
    own = {GOODPUT[0]: np.array([1.0, 1.2, 0.9])}
    objective = Objective({GOODPUT[0]: Measured(np.array([1.3]), 120.0)}, own, 60.0)
    logs = np.log(own[GOODPUT[0]])
    expected = (np.log(1.3) - logs.mean()) / np.sqrt(logs.var(ddof=1) / 2 + np.log(1.05) ** 2)
    assert objective(own) == pytest.approx(expected**2)


def test_a_quantity_that_hardly_any_run_shows_does_not_count() -> None:
    rarely, often = GOODPUT[:2]
    own = {rarely: np.array([1.0, np.nan, np.nan]), often: np.array([1.0, 1.2, 0.9])}
    measured = dict.fromkeys(own, Measured(np.array([1.3]), 120.0))
    only = Objective({often: measured[often]}, own, 60.0)
    assert Objective(measured, own, 60.0)(own) == only(own) > 0


def test_the_same_values_ask_the_same_points() -> None:
    planted = separate({"line": 2.0, "delay": 1.0, "hosts": "apple"})
    searches = [fitted(separate, [LINE, DELAY, HOSTS], planted, runs=200)[0] for _ in range(2)]
    assert list(searches[0].shown) == list(searches[1].shown)
    assert key(searches[0].best) == key(searches[1].best)


# Files.


def test_a_fitted_value_replaces_that_of_the_file() -> None:
    content = "[wire]\n# unknown: the line\nrate_mbps = 500\none_way_delay_ms = 15  # unknown: half\n[ap]\nscheme = 'las'  # read: x\n"
    made = replaced(content, {"wire.rate_mbps": ("120", "fitted: to x")})
    assert made == content.replace("# unknown: the line\nrate_mbps = 500", "rate_mbps = 120  # fitted: to x")
    assert [mark.path for mark in marks(made)] == ["wire.one_way_delay_ms"]


def test_what_is_held_out_depends_on_how_much_was_measured() -> None:
    observed = [Measurement("x", (_observed(count),)) for count in (1, 4)]
    flows = [frozenset((f"s{i}", "down") for i in range(count)) for count in (1, 4)]
    names = [{f"{i}": f"s{i}" for i in range(count)} for count in (1, 4)]
    assert split(observed[0], names[0], flows[0]).about == "airtime and the time of others"
    assert split(observed[1], names[1], flows[1]).about == "the quantities of s2"
    several = split(Measurement("x", observed[1].times * 7), names[1], flows[1])
    assert several.about == "the last 2 of 7 measurements"
    assert {len(each.values) for each in several.held.values()} == {2}
    assert {len(each.values) for each in several.fitted.values()} == {5}


def _observed(count: int) -> Any:
    from wifair.observed.network import Counters, Observed, Station, read

    counted = {"elapsed_s": 60.0, "down_bytes": 90_000_000, "down_packets": 60_000, "down_airtime_us": 9_000_000}
    counters = Counters(**{name: read(value, name, "") for name, value in counted.items()})  # type: ignore[arg-type]
    return Observed({f"{i}": Station(f"{i}", "", dumps=(counters,)) for i in range(count)})


# In a network that is only observed.

NETWORK: dict[str, Any] = {
    "run": {"warmup_s": 4, "duration_s": 10},
    "phy": {"name": "802.11n", "streams": 1},
    "mac": {"edca": {"classify": "dscp"}},
    "ap": {"scheme": "mac80211", "hardware": "firmware"},
    "wire": {"rate_mbps": 10, "one_way_delay_ms": 15},
    "tcp": {"profile": "today"},
    "stations": [{"name": "near", "count": 2, "mcs": 5}, {"name": "far", "mcs": 1}],
    "flows": [{"station": "near", "count": 2, "direction": "down"}, {"station": "far", "direction": "up"}],
}


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scenario as `import` reads it, and a measurement.

    All is known but for the line, which is assumed to be three times as fast: so it is also known that the downloads are bulk, which counters do not show.
    """
    folder = tmp_path_factory.mktemp("observed")
    write(Scenario(**NETWORK).run(seeds=[1, 2]), folder)
    made = text(imported(sorted((folder / "seed-1").iterdir()))).replace("rate_mbps = 500 ", "rate_mbps = 30 ")
    lines = [
        line if line.startswith("rate_mbps") else re.sub(r"# .*(assumed|unknown): .*", "", line)
        for line in made.splitlines()
        if not line.startswith("application = ")
    ]
    settings = {"warmup_s = 10": "warmup_s = 4", "duration_s = 60": "duration_s = 10"}
    made = "\n".join(lines)
    for old, new in settings.items():
        assert old in made
        made = made.replace(old, new)
    (folder / "mine.toml").write_text(made)
    return folder


@pytest.mark.whole
def test_the_line_of_the_network_is_found(observed: Path, here: Cli) -> None:
    out, store = observed / "fitted.toml", observed / "store"
    words = ["fit", observed / "mine.toml", observed / "seed-2", "--runs", "80", "--store", store]
    done = here(*words, "--out", out)
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.startswith("A fit: with these values, runs show all ")
    found = re.search(
        r"^rate_mbps = (\S+)  # fitted: .*; to \S+; before that unknown, the line", out.read_text(), re.MULTILINE
    )
    assert found
    fitted = out.read_text()
    out.write_text(f"{fitted}# mine")
    refused = here(*words, "--out", out)
    assert (refused.returncode, out.read_text()) == (2, f"{fitted}# mine")
    assert f"--out {out}: is there with another text, and is not overwritten" in refused.stderr
    out.write_text(fitted)
    assert float(found[1]) == pytest.approx(10, rel=0.15)
    content = out.read_text()
    [mark] = [each for each in marks(content) if each.path == "wire.rate_mbps"]
    low, high = mark.others
    assert low < 10 < high < 1.5 * low
    others, _ = doubts(Scenario.from_settings(tomllib.loads(content)), [mark])
    assert [each.scenario.settings()["wire"]["rate_mbps"] for each in others] == [low, high]
    told = json.loads(here(*words, "--json").stdout)
    assert (told["is_fit"], told["held_out"]) == (True, "the quantities of station-3")
    [line] = told["parameters"]
    assert line["is_known"]
    assert [float(end) for end in line["between"]] == pytest.approx([low, high], rel=1e-5)


@pytest.mark.whole
def test_another_network_is_refused(observed: Path, here: Cli, tmp_path: Path) -> None:
    """Its far station sends much less, which no line explains."""
    slow = [{"name": "near", "count": 2, "mcs": 5}, {"name": "far", "mcs": 0}]
    write(Scenario(**{**NETWORK, "stations": slow}).run(seeds=[3]), tmp_path)
    words = [observed / "mine.toml", tmp_path / "seed-3", "--runs", "80", "--store", observed / "store"]
    done = here("fit", *words, "--out", tmp_path / "fitted.toml")
    assert done.returncode == 1
    assert done.stdout.startswith("No fit: with the best values found, ")
    assert "station-3" in done.stdout
    assert not (tmp_path / "fitted.toml").exists()


BULK_ASSUMED = """
[run]
warmup_s = 4
duration_s = 20
[phy]
name = "802.11n"
streams = 1
[mac]
edca = { classify = "dscp" }
[ap]
scheme = "mac80211"
hardware = "firmware"
[wire]
rate_mbps = 100  # unknown: the line
one_way_delay_ms = 15
[tcp]
profile = "today"
[[stations]]
name = "near"
mcs = 5
[[stations]]
name = "quiet"
mcs = 5
[[stations]]
name = "far"
mcs = 1
[[flows]]
station = "near"
direction = "down"
application = "bulk"  # assumed: bulk: much
[[flows]]
station = "quiet"
direction = "down"
application = "bulk"  # assumed: bulk: much
[[flows]]
station = "far"
direction = "up"
application = "bulk"  # assumed: bulk: much
"""
QUIET = {"name": "web", "min_bytes": 50_000, "max_bytes": 150_000, "step_bytes": 50_000, "think_mean_s": 0.5}


@pytest.mark.whole
def test_a_flow_that_its_application_holds_back_is_found(tmp_path: Path, here: Cli) -> None:
    """Not by the line, although a slow one would also give the flow less: the others would have less as well."""
    path, out = tmp_path / "mine.toml", tmp_path / "fitted.toml"
    path.write_text(BULK_ASSUMED)
    there = Scenario.from_toml(path, [("flows[1].application", QUIET)])
    write(there.run(seeds=[1, 2, 3]), tmp_path / "measured")
    done = here("fit", path, tmp_path / "measured", "--runs", "80", "--out", out)
    assert done.returncode == 0, done.stdout + done.stderr
    fitted = Scenario.from_toml(out).settings()
    applications = [flow["application"] for flow in fitted["flows"]]
    assert [applications[0], applications[2]] == ["bulk", "bulk"]
    assert applications[1]["name"] == "web"
    assert re.search(r"^flows.application  held back\b", done.stdout, re.MULTILINE)
    [line] = [mark for mark in marks(out.read_text()) if mark.path == "wire.rate_mbps"]
    assert line.others[0] < 100 <= line.others[1]
    known = measurement(tmp_path / "measured")
    names = dict(zip(known.keys, ("near", "quiet", "far"), strict=True))
    quiet = known.quantities(names, frozenset([("quiet", "down")]))[Quantity("goodput", "quiet", "down")]
    after = Scenario.from_toml(out).run(seeds=24).flows.filter(station="quiet")["goodput_mbps"].mean()
    assert after == pytest.approx(quiet.values[:2].mean(), rel=0.2)  # the third was held out
    as_known = here("fit", path, tmp_path / "measured", "--runs", "80", "--set", "wire.rate_mbps=100")
    assert as_known.stdout.startswith("A fit: ")
    path.write_text(BULK_ASSUMED.replace("  # unknown: the line", ""))
    write(Scenario.from_toml(path).run(seeds=[1, 2, 3]), tmp_path / "all-bulk")
    as_it_is = here("fit", path, tmp_path / "all-bulk", "--runs", "80").stdout
    assert as_it_is.startswith("A fit: ")
    assert "Nothing was varied: the file marks only which flows are bulk" in " ".join(as_it_is.split())
    assert "what may vary" not in as_it_is
    path.write_text(BULK_ASSUMED.replace("  # assumed: bulk: much", "").replace("  # unknown: the line", ""))
    none = here("fit", path, tmp_path / "measured")
    assert "the scenario has no value that may vary" in none.stderr


def test_flows_with_more_in_runs_than_measured_may_be_held_back() -> None:
    """Those alone that are bulk by a rule and alone at their station in their direction; the one with the largest excess first."""
    scenario = Scenario.from_settings(tomllib.loads(BULK_ASSUMED))
    found = marks(BULK_ASSUMED)

    def judged_as(station: str, direction: str, measured: float, simulated: float, missed: float) -> Judged:
        return Judged(Quantity("goodput", station, direction), measured, simulated, missed)

    near, far = judged_as("near", "down", 2.0, 8.0, 3.0), judged_as("far", "up", 1.0, 3.0, 4.0)
    others = [
        judged_as("quiet", "down", 9.0, 3.0, 5.0),  # less than measured
        judged_as("quiet", "down", 2.0, 3.0, 0.9),  # within
        judged_as("quiet", "up", 1.0, 3.0, 4.0),  # no such flow
        Judged(Quantity("airtime", "near"), 0.1, 0.3, 4.0),
    ]
    held = held_back(scenario, found, [*others, far, near])
    assert held
    assert [mark.path for mark in held.marks] == ["flows[2].application", "flows[0].application"]
    assert (held.values, held.kept) == (Choices((0, 1, 2)), 0)
    settings = scenario.settings()
    held.applied(settings, 1)
    first, second, third = (flow["application"] for flow in settings["flows"])
    assert (first, second, third["name"]) == ("bulk", "bulk", "web")
    mean_bytes = (third["min_bytes"] + third["max_bytes"]) / 2
    assert mean_bytes * 8e-6 / (third["think_mean_s"] + mean_bytes * 8e-6 / 3.0) == pytest.approx(1.0, rel=0.15)
    assert held_back(scenario, found, others) is None
    twice = Scenario.from_settings(tomllib.loads(BULK_ASSUMED + '[[flows]]\nstation = "far"\ndirection = "up"\n'))
    alone = held_back(twice, found, [far, near])
    assert alone
    assert [mark.path for mark in alone.marks] == ["flows[0].application"]
    known = [mark for mark in found if mark.family != "flows.application"]
    assert held_back(scenario, known, [far, near]) is None


def test_runs_that_are_shorter_than_the_measurement_are_named(observed: Path) -> None:
    path = observed / "mine.toml"
    for duration_s, is_short in ((10, False), (5, True)):
        scenario = Scenario.from_toml(path, [("run.duration_s", duration_s)])
        fitting = Fitting(scenario, marks(path.read_text()), measurement(observed / "seed-2"), 100)
        assert bool(fitting.short) is is_short
    assert fitting.short == short_runs(str(observed / "seed-2"), fitting.split.fitted, 5)


@pytest.mark.whole
def test_ctrl_c_keeps_what_is_known(observed: Path) -> None:
    begun = []

    def bars(title: str) -> Any:
        from contextlib import nullcontext

        begun.append(title)
        if len(begun) == 3:
            raise KeyboardInterrupt
        return nullcontext()

    path = observed / "mine.toml"
    fitting = Fitting(Scenario.from_toml(path), marks(path.read_text()), measurement(observed / "seed-2"), 100)
    with pytest.raises(FittingInterrupted, match="interrupted: 36 replications were finished") as stopped:
        fitting.run(bars=bars)
    assert stopped.value.fitted.searched.objective is not None
    assert so_far(stopped.value.fitted) == "nearest as it is"


def test_every_run_is_on_the_cluster(observed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str | None] = []

    def run(*_: object, dask: str | None = None) -> None:
        given.append(dask)
        raise KeyboardInterrupt

    monkeypatch.setattr(Study, "run", run)
    path = observed / "mine.toml"
    fitting = Fitting(Scenario.from_toml(path), marks(path.read_text()), measurement(observed / "seed-2"), 100)
    with pytest.raises(FittingInterrupted):
        fitting.run(dask="tcp://here")
    assert given == ["tcp://here"]


def test_wrong_input_is_refused_before_any_run(observed: Path, here: Cli, tmp_path: Path) -> None:
    def told(*words: str | Path) -> str:
        done = here("fit", *words, "--store", tmp_path / "store")
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert not (tmp_path / "store").exists()
        return done.stderr

    new = '\n[[stations]]\nname = "new"\nmcs = 5\n[[flows]]\nstation = "new"\ndirection = "up"\n'
    mine, measured, more = observed / "mine.toml", observed / "seed-2", tmp_path / "more.toml"
    more.write_text(mine.read_text().replace('"station-', '"host-') + new)
    assert "runs: 20 is not allowed; allowed here: 72 or more." in told(mine, measured, "--runs", "20")
    assert "no value that may vary; allowed here: a file with comments" in told(
        mine, measured, "--set", "wire.rate_mbps=30"
    )
    assert "cannot be read" in told(mine, tmp_path / "nowhere")
    assert "has 3 stations, and the scenario has 4" in told(more, measured)
    mark = Mark("phy.name", "phy", "name", "unknown", "x")
    with pytest.raises(InputError, match="no value that may vary"):
        Fitting(Scenario.from_toml(mine), [mark], measurement(measured))


def held_out_misses(read: bool, trials: int = 200) -> int:
    """In how many fits of a right scenario a held-out quantity is outside.

    Each of 20 stations loads documents, whose sum over a minute varies by a factor of 1.5. The scenario has the load that one minute has shown. Another minute
    is held out.
    """
    wrong = 0
    for seed in range(trials):
        draw = np.random.default_rng([7, seed]).normal
        quantities = [Quantity("goodput", f"station-{i}", "down") for i in range(20)]
        spread, imported = np.log(1.5), draw(size=20)
        held = {what: Measured(np.exp(spread * draw(size=1)), 60.0) for what in quantities}
        runs = {what: np.exp(spread * (own + draw(size=12))) for what, own in zip(quantities, imported, strict=True)}
        found = judged(held, runs, 60.0, dict.fromkeys(quantities, 60.0) if read else {})
        wrong += not all(each.is_within for each in found)
    return wrong


def test_a_load_that_one_minute_has_shown_is_as_uncertain_as_another_minute() -> None:
    """At most 5 of 100 right scenarios are refused: of 200 at most 18 (99.9 %, binomial). A load that counts as known would refuse many more."""
    assert held_out_misses(read=True) <= 18
    assert held_out_misses(read=False) > 36


def test_loads_that_import_has_read_are_those_of_documents(tmp_path: Path) -> None:
    """Of the held-out quantities, goodput and airtime of stations with documents; with fewer than three measurements none, which are those of the same time."""
    content = (
        "[run]\nwarmup_s = 1\nduration_s = 60\n[phy]\nname = '802.11ax'\n[wire]\nrate_mbps = 500  # unknown: the line\n"
        "[[stations]]\nname = 'station-1'\n[[stations]]\nname = 'station-2'\n[[flows]]\nstation = 'station-1'\ndirection = 'down'\n"
        "[[flows]]\nstation = 'station-2'\ndirection = 'down'\n"
        "application = { name = 'web', min_bytes = 20_000, max_bytes = 60_000, step_bytes = 10_000, think_mean_s = 2.0 }  # assumed: documents\n"
    )
    scenario = Scenario.from_settings(tomllib.loads(content))
    write(Study([Cell("network", scenario.override({"run.duration_s": 2}))], 3).run(), tmp_path)
    three = Fitting(scenario, marks(content), measurement(tmp_path))
    documents = {Quantity("goodput", "station-2", "down"), Quantity("airtime", "station-2")}
    assert set(three.loads) == documents
    assert list(three.loads.values()) == pytest.approx([2.0, 2.0], rel=0.01)
    assert Fitting(scenario, marks(content), measurement(tmp_path / "seed-1")).loads == {}
