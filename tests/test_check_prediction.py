"""`wifair check-prediction`: two measurements next to what advice predicted, without an engine and in a network that is only observed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, Cli
from wifair import Scenario
from wifair.errors import InputError
from wifair.observed import observe
from wifair.observed.as_ap import ASSOCIATED_MS, write
from wifair.observed.shown import Quantity, of_network, of_runs
from wifair.prediction import Verdict, check
from wifair.prediction.assumptions import spoken
from wifair.prediction.checked import Checked
from wifair.prediction.comparison import compared
from wifair.prediction.measurement import Measured, measurement, short_runs
from wifair.prediction.prediction import Other, Pair, Prediction
from wifair.prediction.wording import headline
from wifair.stats import Values, unpaired_difference

# Without an engine: normal logarithms of goodput, whose means the change and the assumption move.

STATIONS = [f"station-{number}" for number in range(1, 9)]
GOODPUT = [Quantity("goodput", station, "down") for station in STATIONS]
RUN_S = 60.0


@dataclass(frozen=True)
class World:
    """Means of the logarithms before and after the change, and the deviation of a run."""

    before: Values
    after: Values
    deviation: float = 0.2

    def runs(self, rng: np.random.Generator, seeds: int) -> Pair:
        """Runs with common random numbers: half of the variance is that of the seed."""
        common = rng.normal(size=(seeds, len(GOODPUT)))
        sides = []
        for mean in (self.before, self.after):
            mixed = (common + rng.normal(size=common.shape)) / np.sqrt(2)
            sides.append(dict(zip(GOODPUT, np.exp(mean + self.deviation * mixed).T, strict=True)))
        return Pair(*sides)

    def measured(self, rng: np.random.Generator, side: Values, times: int = 1) -> dict[Quantity, Measured]:
        """Independent measurements of twice the length of a run."""
        drawn = np.exp(side + self.deviation / np.sqrt(2) * rng.normal(size=(times, len(GOODPUT))))
        return {what: Measured(drawn[:, i], 2 * RUN_S * times) for i, what in enumerate(GOODPUT)}


def world(change: float, tilt: float = 0.0) -> World:
    """A change of all stations by a factor, and a part by which stations with odd numbers differ."""
    before = np.log(np.linspace(2.0, 9.0, len(GOODPUT)))
    return World(before, before + change + tilt * np.resize([1.0, -1.0], len(GOODPUT)))


ASSUMED, TILTED, STRONGER = world(0.5), world(0.5, 0.4), world(1.0)


def predicted(rng: np.random.Generator) -> Prediction:
    others = [
        Other("wire.rate_mbps", "unknown: the line", "125", TILTED.runs(rng, 6)),
        Other("tcp.profile", "unknown: the hosts", "apple", STRONGER.runs(rng, 6)),
        Other("phy.streams", "assumed: rates", "2", ASSUMED.runs(rng, 6)),
    ]
    pair = ASSUMED.runs(rng, 12)
    return Prediction("a change", {}, RUN_S, tuple(STATIONS), frozenset(), pair, tuple(others))


def checked(truth: World, seed: int, times: int = 1) -> tuple[list[Verdict], list[str]]:
    """The verdicts, and the assumptions that the change speaks against."""
    rng = np.random.default_rng(seed)
    prediction = predicted(rng)
    before, after = (truth.measured(rng, side, times) for side in (truth.before, truth.after))
    found = compared(before, after, prediction.pair, [each.pair for each in prediction.others], RUN_S)
    against = [each.other.key for each in spoken(prediction, found, before, after) if each.is_against]
    return [each.verdict for each in found], against


@pytest.mark.parametrize("times", [1, 4])
def test_a_right_prediction_is_seldom_refused(times: int) -> None:
    """At most 5 of 100 have a quantity that is not as predicted, and as many an assumption: of 200 at most 18 (99.9 %, binomial)."""
    found = [checked(ASSUMED, seed, times) for seed in range(200)]
    assert sum(any(verdict is not Verdict.AS_PREDICTED for verdict in verdicts) for verdicts, _ in found) <= 18
    assert sum(bool(against) for _, against in found) <= 18


def test_the_assumption_that_is_wrong_is_named_first() -> None:
    for truth, key in ((TILTED, "wire.rate_mbps"), (STRONGER, "tcp.profile")):
        for seed in range(20):
            assert checked(truth, seed)[1][:1] == [key]


def test_a_quantity_that_hardly_any_run_of_another_value_has_says_nothing_of_it() -> None:
    rng = np.random.default_rng(1)
    prediction = predicted(rng)
    before, after = (TILTED.measured(rng, side) for side in (TILTED.before, TILTED.after))
    first, *_ = prediction.others
    once = np.where(np.arange(6) == 0, first.pair.own[GOODPUT[0]], np.nan)
    without = [{k: v for k, v in side.items() if k != GOODPUT[0]} for side in (first.pair.own, first.pair.changed)]
    rare = [{**side, GOODPUT[0]: once} for side in without]

    def said(sides: list[dict[Quantity, Values]]) -> tuple[Any, float]:
        told = replace(prediction, others=(replace(first, pair=Pair(*sides)),))
        found = compared(before, after, told.pair, [each.pair for each in told.others], RUN_S)
        [only] = spoken(told, found, before, after)
        return only.way, only.explained

    assert said(rare) == said(without)


def test_a_change_that_no_assumption_predicts_is_outside() -> None:
    for seed in range(20):
        verdicts, _ = checked(world(-0.9), seed)
        assert Verdict.OUTSIDE in verdicts


def test_a_change_between_two_assumed_values_is_within_their_range() -> None:
    verdicts, against = checked(world(0.95), 1, times=8)
    assert set(verdicts) <= {Verdict.IN_RANGE, Verdict.AS_PREDICTED}
    assert Verdict.IN_RANGE in verdicts
    assert against[0] == "tcp.profile"


def test_the_answer_counts_changes_within_the_range_and_outside_it_apart() -> None:
    def answer(truth: World, seed: int, times: int) -> tuple[str, int, int]:
        rng = np.random.default_rng(seed)
        prediction = predicted(rng)
        before, after = (truth.measured(rng, side, times) for side in (truth.before, truth.after))
        found = compared(before, after, prediction.pair, [each.pair for each in prediction.others], RUN_S)
        told = Checked(prediction, tuple(found), (), ())
        return headline(told), len(told.with_verdict(Verdict.OUTSIDE)), len(told.with_verdict(Verdict.IN_RANGE))

    told, outside, within = answer(world(0.95), 1, 8)
    assert outside == 0 < within
    assert f"the changes of {within} of 8 quantities lie within it, but not as predicted, and none outside." in told
    told, outside, within = answer(world(1.3), 1, 8)
    assert outside
    assert within
    told_of = f"the changes of {outside} of 8 quantities lie outside the range over what was assumed"
    assert f"{told_of}, and those of {within} more within it, but not as predicted." in told


def test_two_measurements_with_the_same_values_are_named() -> None:
    rng = np.random.default_rng(1)
    prediction = predicted(rng)
    before, after = (ASSUMED.measured(rng, side) for side in (ASSUMED.before, ASSUMED.after))
    for later, is_same in ((after, False), (before, True)):
        found = Checked(prediction, tuple(compared(before, later, prediction.pair, [], RUN_S)), (), ())
        assert found.is_same is is_same
        told = "Both measurements have the same values of all 8 quantities: is AFTER a copy of BEFORE? "
        assert headline(found).startswith(told) is is_same


def test_indexes_say_that_they_are_of_all_flows() -> None:
    """`advise` has those of comparable flows, and says so."""
    assert str(Quantity("fairness")) == "fairness of goodput of all flows (Jain's index)"
    assert str(Quantity("airtime fairness")) == "fairness of airtime of all stations (Jain's index)"


def test_the_unpaired_interval_is_that_of_welch() -> None:
    """Against SciPy's, with unequal variances and sizes."""
    from scipy.stats import ttest_ind

    rng = np.random.default_rng(1)
    one, two = rng.normal(3, 1, 5), rng.normal(1, 4, 9)
    found = unpaired_difference(one, two, 0.9)
    expected = ttest_ind(one, two, equal_var=False).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


# What an access point shows, of runs and of files alike.

CELL: dict[str, Any] = {
    "run": {"warmup_s": 0.5, "duration_s": 2},
    "phy": {"name": "802.11ax"},
    "stations": [{"name": "one"}, {"name": "two"}],
    "flows": [
        {"station": "one", "direction": "down"},
        {"station": "two", "direction": "up"},
        {"station": "two", "direction": "up", "application": "ping"},
    ],
}


def test_runs_show_what_their_files_show(tmp_path: Path) -> None:
    results = Scenario(**CELL).run(seeds=2)
    write(results, tmp_path)
    shown = of_runs(results, results.cells[0].name)
    assert {what.kind for what in shown} == {"goodput", "airtime", "retries", "ping", "busy", "others"}
    for i, seed in enumerate(results.seeds):
        files = observe(sorted((tmp_path / f"seed-{seed}").iterdir()))
        names = dict(zip(files.stations, ("one", "two"), strict=True))
        read = {what: each.value for what, each in of_network(files, names).items()}
        assert read == {what: values[i] for what, values in shown.items() if what.kind != "ping"}
    goodput = results.flows.filter(station="one", seed=1)["goodput_mbps"].sum()
    assert shown[Quantity("goodput", "one", "down")][0] == pytest.approx(goodput, rel=0.02)
    assert shown[Quantity("goodput", "one", "up")][0] == 0.0


def test_small_packets_of_a_flow_count_in_runs_and_in_measurements(tmp_path: Path) -> None:
    """Next to an upload a slow download has small packets on average, ACKs among them. It is a flow in spite of that, however much of it there is."""
    pages = {"name": "udp", "rate_mbps": 0.2, "payload_bytes": 400}
    flows = [{"station": "two", "direction": "up"}, {"station": "two", "direction": "down", "application": pages}]
    hosts = {"profile": "today"}  # whose ACKs have timestamps
    results = Scenario(**{**CELL, "tcp": hosts, "stations": [{"name": "two"}], "flows": flows}).run(seeds=2)
    write(results, tmp_path)
    slow = Quantity("goodput", "two", "down")
    carried = results.datagrams["goodput_mbps"].mean()
    shown = of_runs(results, results.cells[0].name)[slow]
    assert shown.mean() == pytest.approx(carried, rel=0.3)
    files = measurement(tmp_path / "seed-1")
    names = dict.fromkeys(files.keys, "two")
    assert files.quantities(names, frozenset({("two", "down")}))[slow].mean == shown[0]
    assert files.quantities(names)[slow].mean == 0.0


def test_a_file_of_flent_shows_goodput_and_round_trips() -> None:
    observed = observe([ROOT / "tests" / "data" / "observed" / "rrul.flent.gz"])
    found = of_network(observed, {"client": "client"})
    assert {(what.kind, what.direction) for what in found} == {("goodput", "down"), ("goodput", "up"), ("ping", "")}
    assert all(each.value > 0 and each.elapsed_s == 10 for each in found.values())


def test_several_folders_are_several_measurements(tmp_path: Path) -> None:
    write(Scenario(**CELL).run(seeds=3), tmp_path)
    found = measurement(tmp_path).quantities({"02:00:0a:00:00:01": "one"})
    goodput = found[Quantity("goodput", "one", "down")]
    assert len(goodput.values) == 3
    assert goodput.elapsed_s == 6


@pytest.mark.parametrize(
    ("run_s", "measured_s", "times", "better"),
    [(8, 30, 1, "30"), (8, 900, 3, "60"), (8, 8, 1, ""), (8, 20, 4, ""), (60, 3600, 1, "")],
)
def test_runs_that_are_shorter_than_the_measurement_are_named(
    run_s: float, measured_s: float, times: int, better: str
) -> None:
    measured = {GOODPUT[0]: Measured(np.ones(times), measured_s), GOODPUT[1]: Measured(np.ones(times), None)}
    told = short_runs("before", measured, run_s)
    assert bool(told) is bool(better)
    if told:
        assert told.endswith(f"better: --set run.duration_s={better}")


# From advice to the check, in a network that is only observed.

NETWORK: dict[str, Any] = {
    "run": {"warmup_s": 3, "duration_s": 8},
    "phy": {"name": "802.11n", "streams": 1},
    "mac": {"edca": {"classify": "dscp"}},
    "ap": {"scheme": "mac80211", "hardware": "firmware"},
    "wire": {"rate_mbps": 500, "one_way_delay_ms": 15},
    "tcp": {"profile": "today"},
    "stations": [{"name": "near", "count": 3, "mcs": 5}, {"name": "far", "mcs": 1}],
    "flows": [
        {"station": "near", "count": 3, "direction": "up"},
        {"station": "near", "count": 3, "direction": "down"},
        {"station": "far", "direction": "down"},
    ],
}
KEPT = ("profile", "rate_mbps")


def observed_as(folder: Path, scenario: Scenario, seed: int) -> Path:
    """What the access point of the network shows in one run."""
    write(scenario.run(seeds=[seed]), folder)
    return folder / f"seed-{seed}"


@pytest.fixture(scope="module")
def advised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the advice for the network as `import` reads it, where only its hosts and its line count as assumed."""
    from wifair.cli import execute
    from wifair.observed import imported
    from wifair.observed.written import text

    folder = tmp_path_factory.mktemp("advised")
    files = sorted(observed_as(folder / "first", Scenario(**NETWORK), 1).iterdir())
    lines = text(imported(files, known={"station.tx_queue": {"limit_packets": 100}})).splitlines()
    kept = [line if line.startswith(KEPT) else re.sub(r"# .*(assumed|unknown): .*", "", line) for line in lines]
    (folder / "mine.toml").write_text("\n".join(kept))
    patched = pytest.MonkeyPatch()
    told: list[Any] = []
    patched.setattr("wifair.cli.output.print_json", told.append)
    length = ["--set", "run.warmup_s=3", "--set", "run.duration_s=8"]
    done = execute(["advise", str(folder / "mine.toml"), "--want", "fair shares", "--has", "linux", "--json", *length])
    patched.undo()
    assert done == 0
    (folder / "advice.json").write_text(json.dumps(told[0]))
    return folder


Changed = Callable[..., tuple[Path, Path]]


@pytest.fixture
def changed(advised: Path, tmp_path: Path) -> Changed:
    """Makes the advised change in the network, which may be another one than was assumed; gives the measurements before and after it.

    Of ten pairs of seeds from 7001 on, the first has by chance a quantity that changed otherwise than predicted, and nine have none.
    """
    settings = json.loads((advised / "advice.json").read_text())["prediction"]["settings"]

    def measure(**others: Any) -> tuple[Path, Path]:
        network = Scenario(**NETWORK).override({key.replace("__", "."): value for key, value in others.items()})
        return observed_as(tmp_path / "b", network, 7003), observed_as(tmp_path / "a", network.override(settings), 7004)

    return measure


@pytest.mark.whole
def test_the_prediction_holds_in_the_network(advised: Path, changed: Changed, here: Cli) -> None:
    before, after = changed()
    done = here("check-prediction", before, after, "--advice", advised / "advice.json")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The prediction holds: with ")
    assert "speaks against none of the 2 assumptions" in " ".join(done.stdout.split())
    assert "goodput of all downloads, Mbps" in done.stdout
    told = json.loads(here("check-prediction", before, after, "--advice", advised / "advice.json", "--json").stdout)
    assert told["goals_not_shown"] == []  # the index of fairness is that of the dump
    wanted = json.loads((advised / "advice.json").read_text())
    wanted["goals"].append({"goal": "pages below 2 s", "metric": "page_s"})
    wanted["goals"].append({"goal": "total goodput", "metric": "total"})  # what decides without a goal
    (before.parent / "pages.json").write_text(json.dumps(wanted))
    done = here("check-prediction", before, after, "--advice", before.parent / "pages.json")
    said = "- No file shows these goals of the advice, so the check says nothing of them: pages below 2 s."
    assert said in " ".join(done.stdout.split())
    assert {each["verdict"] for each in told["quantities"]} == {"as predicted"}
    assert told["changed_besides"] == []
    assert told["remarks"] == []
    dump = after / "station.txt"
    dump.write_text(re.sub(r"current time:\t\d+", f"current time:\t{ASSOCIATED_MS + 80_000}", dump.read_text()))
    [remark] = check(before, after, advised / "advice.json").remarks
    assert remark.endswith("better: --set run.duration_s=60 in `wifair advise`")


@pytest.mark.whole
def test_hosts_that_were_assumed_wrongly_are_named(advised: Path, changed: Changed) -> None:
    found = check(*changed(tcp__profile="windows"), advised / "advice.json")
    assert found.with_verdict(Verdict.IN_RANGE)
    assert found.against[0].other.key == "tcp.profile"
    assert not found.besides


@pytest.mark.whole
def test_a_station_that_left_is_named(advised: Path, changed: Changed, here: Cli) -> None:
    before, after = changed(**{"flows[0].count": 2, "flows[1].count": 2})
    full, _ = changed()
    dump = after / "station.txt"
    blocks = re.split(r"(?=^Station )", dump.read_text(), flags=re.MULTILINE)
    dump.write_text("".join(block for block in blocks if "00:03 " not in block))
    found = check(full, after, advised / "advice.json")
    assert [(each.kind, each.station) for each in found.besides] == [("gone", "station-3")]
    assert not any(each.quantity.station == "station-3" for each in found.quantities)
    done = here("check-prediction", full, after, "--advice", advised / "advice.json")
    assert "- Besides: station-3 is gone; it had " in done.stdout
    shutil.rmtree(before)


@pytest.mark.whole
def test_rates_traffic_and_stations_that_are_new_are_named(advised: Path, changed: Changed) -> None:
    before, after = changed()
    dump = after / "station.txt"
    first, *rest = re.split(r"(?=^Station )", dump.read_text(), flags=re.MULTILINE)[1:]
    slower = re.sub(r"tx bitrate:\t.*", "tx bitrate:\t6.5 MBit/s MCS 0", first)
    far = re.sub(r"rx bytes:\t.*\n\trx packets:\t.*", "rx bytes:\t30000000\n\trx packets:\t20000", rest[-1])
    new = first.replace("00:01 (", "00:99 (")
    dump.write_text("".join([slower, *rest[:-1], far, new]))
    kinds = {each.kind: each.station for each in check(before, after, advised / "advice.json").besides}
    assert kinds == {"rate": "station-1", "traffic": "station-4", "new": "5"}


@pytest.mark.whole
def test_wrong_input_is_refused_with_what_is_allowed(
    advised: Path, changed: Changed, here: Cli, tmp_path: Path
) -> None:
    before, after = changed()
    advice = json.loads((advised / "advice.json").read_text())
    prediction = advice["prediction"]

    def told(document: Any, *measured: Path) -> str:
        path = tmp_path / "x.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        done = here("check-prediction", *(measured or (before, after)), "--advice", path)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        return done.stderr

    wrong = [{**prediction["shown"][0], "quantity": "godput"}]
    empty, strange = tmp_path / "empty", tmp_path / "strange"
    empty.mkdir()
    shutil.copytree(after, strange)
    (strange / "station.txt").write_text((after / "station.txt").read_text().replace("Station 02:", "Station 06:"))
    assert "x.json: is no JSON: " in told("{")
    assert "x.json: the document: is no table; allowed here: what `wifair advise" in told("[]")
    assert "x.json: prediction: is missing (its advice: Leave it.)" in told({"advice": "Leave it.", "prediction": None})
    assert "x.json: prediction.flows: is missing" in told(
        {"prediction": {k: v for k, v in prediction.items() if k != "flows"}}
    )
    assert 'prediction.shown[0].quantity: "godput" is not allowed; did you mean goodput?' in told(
        {"prediction": {**prediction, "shown": wrong}}
    )
    assert "prediction.duration_s: 0 is not allowed; allowed here: a number above 0." in told(
        {"prediction": {**prediction, "duration_s": 0}}
    )
    assert f"{empty}: is empty; allowed here: a file that `wifair import` reads" in told(advice, empty, after)
    assert f"{strange}: has none of the stations of {before}, by their addresses" in told(advice, before, strange)
    assert "station-9; allowed here: the files that the scenario was imported from" in told(
        {"prediction": {**prediction, "stations": ["station-9"]}}
    )
    assert "cannot be read" in told(advice, tmp_path / "nowhere", after)


def test_files_next_to_folders_are_refused(tmp_path: Path) -> None:
    (tmp_path / "seed-1").mkdir()
    (tmp_path / "info.txt").write_text("")
    with pytest.raises(InputError, match=r"has both files \(info.txt\) and folders \(seed-1\)"):
        measurement(tmp_path)
