"""`wifair advise --measured`: whether runs of the scenario show what was measured, and which goals rest on what they do not show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Cli
from test_explain import AX, shown_by
from wifair import Scenario, toml_text
from wifair.advising import OWN, Advice, Advising, line, measurable, measured, rule
from wifair.advising.yardsticks import yardsticks
from wifair.cli.advise import print_advice
from wifair.errors import InputError
from wifair.observed.calibration import NEIGHBOURS
from wifair.observed.origins import marks
from wifair.observed.shown import Kind, Quantity
from wifair.prediction.as_it_is import AsItIs, Judged, as_it_is, judged
from wifair.prediction.as_it_is_wording import of_cell
from wifair.prediction.measurement import Measured, measurement
from wifair.report.advice import of_advice
from wifair.report.parts import Findings, Table
from wifair.stats import t_interval
from wifair.study.job import Cell
from wifair.study.store import Store
from wifair.study.study import Study
from wifair.tuning.goals import parsed

# Slow enough for a run to be cheap.
PAIR: dict[str, Any] = {
    **AX,
    "phy": {"name": "802.11n"},
    "stations": [{"name": "laptop", "mcs": 3}, {"name": "phone", "mcs": 3}],
    "flows": [{"direction": "down", "station": "laptop"}, {"direction": "up", "station": "phone"}],
}
FAR: dict[str, Any] = {**PAIR, "stations": [PAIR["stations"][0], {"name": "phone", "mcs": 0}]}


def advised(scenario: dict[str, Any], goals: Sequence[str], *missed: tuple[Kind, str, str]) -> Advice:
    """Advice before any change was tried, for a network of which everything was measured and these quantities differ."""
    cell = Scenario(**scenario)
    plan = cell.plan()
    ways = dict.fromkeys(
        (flow["station"], flow["direction"]) for flow in plan["flows"] if flow["station"] != NEIGHBOURS
    )
    stations = tuple(dict.fromkeys(station for station, _ in ways))
    every = [Quantity("goodput", *way) for way in ways] + [Quantity("airtime", station) for station in stations]
    every += [Quantity(kind) for kind in ("fairness", "airtime fairness", "busy", "others")]
    every += [Quantity(way) for way in ("down", "up") if any(way == direction for _, direction in ways)]
    differ = [Quantity(*each) for each in missed]
    assert set(differ) <= set(every)
    compared = tuple(
        Judged(what, 2.0, 1.0, 3.0 if what in differ else 0.5) for what in [*differ, *(set(every) - {*differ})]
    )
    runs = {what: t_interval(np.array([0.9, 1.1])) for what in every}
    found = AsItIs("ap", stations, compared, runs, {}, {}, ())
    return Advice(cell, yardsticks(plan, parsed(goals) if goals else ()), {}, as_it_is=found)


def different(told: Advice) -> dict[str, tuple[int, bool]]:
    """By goal how many quantities of its flows and stations differ, and whether its own value is one of them."""
    return {each.yardstick.title: (len(each.different), each.own is not None) for each in measured.goals(told)}


@pytest.mark.parametrize("is_far", [False, True])
def test_the_scenario_as_it_is_is_compared_with_what_was_measured(tmp_path: Path, is_far: bool) -> None:
    """The call is added to the scenario for its goal. It was not there when the network was measured, so it is not in the runs that are compared."""
    shown_by(tmp_path / "ap", 41, **(FAR if is_far else PAIR))
    goals = parsed(["uploads", "fair shares", "calls"])
    advising = Advising(Scenario(**PAIR), goals, "linux", measured=measurement(tmp_path / "ap" / "seed-41"))
    advising.settable, advising.unsettable = [], []
    told = advising.run()
    assert told.as_it_is
    results = Study([Cell("mine", Scenario(**PAIR))], rule.STAGES[1]).run()
    assert told.as_it_is == as_it_is(results, measurement(tmp_path / "ap" / "seed-41"))
    answer, *rest = measured.sentences(told)
    assert rest[-1] == "No file has a value of these goals, so they are not compared: calls."
    if is_far:
        assert answer.startswith("Runs differ from what was measured (")
        assert "than matters: goodput of all " in answer
        assert rest[0].startswith(
            "Advice that rests on these is doubtful. The values of uploads and of fair shares are among them. `wifair explain"
        )
    else:
        assert answer.startswith("Runs show all 12 quantities that were measured (")
        assert rest[1:] == []


@pytest.mark.whole
def test_no_replication_is_run_twice(tmp_path: Path) -> None:
    """The comparison takes seeds 1 to 12 of the scenario as it is, of which the search takes the first six at least."""
    shown_by(tmp_path / "ap", 41, **PAIR)
    shown, store = measurement(tmp_path / "ap" / "seed-41"), Store(tmp_path / "store")
    advising = Advising(Scenario(**PAIR), parsed(["uploads"]), "linux", measured=shown)
    advising.settable, advising.unsettable = advising.settable[:1], []
    told = advising.run(store=store)
    assert told.searched
    seeds = {name: len(values["up_mbps"]) for name, values in told.searched.items()}
    assert store.taken == 1 + min(seeds[OWN], rule.STAGES[1])  # the first one was run for the goals


def test_a_goal_is_named_only_if_its_own_value_or_its_flows_differ() -> None:
    """A sum or an index is a goal's own value if both have the same flows."""
    up: tuple[Kind, str, str]
    down: tuple[Kind, str, str]
    up, down = ("goodput", "phone", "up"), ("goodput", "laptop", "down")
    goals = ["uploads", "downloads", "total", "fair shares", "fair airtime", "calls"]
    assert different(advised(PAIR, goals, up, ("up", "", ""))) == {
        "uploads": (2, True),
        "downloads": (0, False),
        "total": (2, False),  # the other direction is a part of it
        "fair shares": (1, False),
        "fair airtime": (1, False),
        "calls": (0, False),
    }
    assert different(advised(PAIR, goals, down, ("fairness", "", ""), ("airtime fairness", "", ""))) == {
        "uploads": (0, False),
        "downloads": (1, False),
        "total": (1, False),
        "fair shares": (2, True),
        "fair airtime": (2, True),
        "calls": (0, False),
    }
    assert not any(count for count, _ in different(advised(PAIR, goals, ("busy", "", ""), ("others", "", ""))).values())


def test_an_index_with_other_flows_is_not_the_value_of_a_goal() -> None:
    """Fair shares are those of the bulk flows alone, the index of the measurement that of all."""
    pages = {"name": "page", "direction": "down", "station": "phone", "application": "web"}
    mixed = {**PAIR, "flows": [*PAIR["flows"], pages]}
    assert different(advised(mixed, ["fair shares"], ("fairness", "", ""))) == {"fair shares": (0, False)}
    assert different(advised(mixed, ["downloads"], ("down", "", ""))) == {"downloads": (1, True)}
    assert different(advised(mixed, ["pages"], ("goodput", "phone", "down"))) == {"pages": (1, False)}
    twice = {**PAIR, "flows": [*PAIR["flows"], PAIR["flows"][0]]}
    assert different(advised(twice, ["fair shares"], ("fairness", "", ""))) == {"fair shares": (0, False)}
    downloads = {**PAIR, "flows": [{**flow, "direction": "down"} for flow in PAIR["flows"]]}
    assert different(advised(downloads, ["total"], ("down", "", ""))) == {"total": (1, True)}


def test_what_decides_without_a_goal_is_next_to_the_measurement_too() -> None:
    both = advised(PAIR, [], ("fairness", "", ""), ("up", "", ""))
    assert different(both) == {
        "fairness between flows": (1, True),
        "total goodput": (1, False),
        "TCP's round trip": (0, False),
    }
    unseen = [each for each in measured.sentences(both) if each.startswith("No file has")]
    assert unseen == ["No file has a value of these goals, so they are not compared: TCP's round trip."]


def test_every_goal_in_words_has_its_flows() -> None:
    flows = [
        {"name": name, "station": station, "direction": way, "application": application}
        for station, (name, way, application) in zip(
            ("laptop", *["phone"] * 7),
            (
                ("film", "down", "bulk"),
                ("backup", "up", "bulk"),
                ("page", "down", "web"),
                ("call", "up", "voip"),
                ("game", "up", "game"),
                ("ping", "up", "ping"),
                ("stream", "down", {"name": "udp", "rate_mbps": 1.0, "payload_bytes": 160}),
                ("back", "up", {"name": "udp", "rate_mbps": 1.0, "payload_bytes": 160}),
            ),
            strict=True,
        )
    ]
    plan = Scenario(**{**PAIR, "flows": flows}).plan()

    def labels(goal: str, given: Any = plan) -> list[str]:
        [each] = parsed(goal)
        return [flow["group"] or flow["label"] for flow in measurable.flows_of(given, each.metric)]

    assert labels("total") == ["film", "backup", "page"]
    assert labels("uploads") == ["backup"]
    assert labels("fair shares") == labels("fair airtime") == labels("round trips") == ["film", "backup"]
    assert labels("pages") == ["page"]
    assert labels("calls") == labels("call rating") == ["call"]
    assert labels("games") == ["game"]
    assert labels("pings") == ["ping"]
    assert labels("collision_ratio=lowest") == []
    without = {**plan, "flows": [flow for flow in plan["flows"] if flow["label"] != "call"]}
    assert labels("calls", without) == ["stream", "back"]


def test_the_advice_names_what_differs_and_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    told = advised(
        PAIR, ["fair shares", "total"], ("goodput", "phone", "up"), ("up", "", ""), ("busy", "", ""), ("others", "", "")
    )
    explain = "`wifair explain SCENARIO --measured FILES` lists all quantities"
    said = (
        "Runs differ from what was measured (ap) in 4 of 10 quantities by more than chance and by more than matters: "
        "goodput of all uploads, Mbps: 2 measured, 1 in the runs; busy share of the time: 2 measured, 1 in the runs; "
        "time of others and collisions, share: 2 measured, 1 in the runs; 1 more."
    )
    concerned = "Advice that rests on these is doubtful. They include 1 of flows or stations of fair shares, 2 of those of total. "
    assert [*measured.sentences(told)] == [said, f"{concerned}{explain}."]
    assert measured.headline(told).startswith(
        "For a network that differs from what was measured in 4 of 10 quantities: "
    )
    assert not measured.headline(replace(told, as_it_is=None)).startswith("For a network")
    told.marks = marks("[wire]\nrate_mbps = 60  # unknown: the line\n")
    fit = ", and `wifair fit SCENARIO MEASURED` searches values of what is assumed with which runs show them."
    assert [*measured.sentences(told)][1] == f"{concerned}{explain}{fit}"
    assert told.as_it_is
    told.as_it_is = replace(told.as_it_is, short="ap: has counters of 20 s", read=("station.txt:14: looks cut",))
    assert [*measured.sentences(told)][2:] == ["ap: has counters of 20 s.", "station.txt:14: looks cut."]
    # The page and the terminal have it; what says that nothing was compared is gone.
    print_advice(told, "mine", verbose=True)
    printed = " ".join(capsys.readouterr().out.split())
    short = of_advice(told, "mine", ["advise"]).sections[0].parts[0]
    assert isinstance(short, Findings)
    for sentence in measured.sentences(told):
        assert sentence in printed
        assert sentence in short.sentences
    assert printed.index(said) < printed.index("fair shares: Jain's index")
    assert "was not compared" not in printed
    [section] = [
        each for each in of_advice(told, "mine", ["advise"]).sections if each.title == "Next to what was measured"
    ]
    cell, stations = [part for part in section.parts if isinstance(part, Table)]
    assert [row[-1].text for row in cell.rows[:3]] == ["different"] * 3
    assert "2 / 1*" in [each.text for each in stations.rows[0]]
    assert "Stations, measured / in the runs" in printed
    assert measured.document(replace(told, as_it_is=None)) is None
    print_advice(told, "mine", verbose=False)
    assert "Stations, measured / in the runs" not in " ".join(capsys.readouterr().out.split())


def test_what_chance_alone_explains_is_not_called_alike() -> None:
    """Runs vary by a factor of two, so that 1.5 is within chance of 1, but by more than matters; 1.02 is alike."""
    runs = {Quantity("up"): np.array([0.7, 1.3, 0.6, 1.4]), Quantity("down"): np.array([0.99, 1.01, 0.99, 1.01])}
    shown = {Quantity("up"): 1.5, Quantity("down"): 1.02, Quantity("busy"): 0.9}
    measured_values = {what: Measured(np.array([value]), 60.0) for what, value in shown.items()}
    found = judged(measured_values, {**runs, Quantity("busy"): np.array([0.5, 0.51, 0.5, 0.51])}, 60.0)
    told = AsItIs(
        "ap",
        (),
        tuple(found),
        {each.quantity: t_interval(runs.get(each.quantity, np.ones(2))) for each in found},
        {},
        {},
        (),
    )
    assert {row[0].split(",")[0]: row[-1] for row in of_cell(told)} == {
        "goodput of all uploads": "within chance",
        "goodput of all downloads": "alike",
        "busy share of the time": "different",
    }


def test_a_long_wait_for_the_line_is_told_since_no_change_is_about_it() -> None:
    slow = Scenario(**{**PAIR, "wire": {"rate_mbps": 3.0}})
    told = line.waits(slow.run(2))
    assert all(each.startswith("Packets wait ") for each in told)
    assert [each.partition(";")[0].rpartition(" ")[2] for each in told] == ["down", "up"]
    assert line.waits(Scenario(**PAIR).run(2)) == []


@pytest.mark.parametrize("command", ["explain", "advise"])
def test_what_cannot_be_compared_is_refused_before_any_run(here: Cli, tmp_path: Path, command: str) -> None:
    shown_by(tmp_path / "ap", 41, **PAIR)
    shown = tmp_path / "ap" / "seed-41"
    for scenario, files, told in (
        (
            "cafe",
            [shown],
            f"{shown}: has 2 stations, and the scenario has 20; allowed here: a measurement of the same network.",
        ),
        ("flats", ["nowhere.txt"], "--measured has one BSS"),
        ("cafe", ["nowhere.txt"], "nowhere.txt"),
        ("cafe", [shown, shown / "station.txt"], f"{shown}: is a folder among several"),
        ("cafe", [shown / "info.txt"], "info.txt"),
    ):
        done = here(
            command, scenario, "--store", tmp_path / "store", *(word for file in files for word in ("--measured", file))
        )
        assert done.returncode == 2
        assert told in done.stderr
        assert done.stderr.count("\n") == 1
        assert not (tmp_path / "store").exists()


def test_a_measurement_without_a_common_quantity_is_refused_before_any_run(tmp_path: Path) -> None:
    """A dump that has the rates of stations and no counters."""
    dump = tmp_path / "station.txt"
    dump.write_text(
        "".join(f"Station 02:00:00:00:00:0{i} (on wlan0)\n\ttx bitrate:\t6.5 MBit/s MCS 0\n" for i in (1, 2))
    )
    with pytest.raises(InputError, match="has no quantity in common with the runs; allowed here: counters over a time"):
        Advising(Scenario(**PAIR), parsed("total"), measured=measurement(dump))


@pytest.mark.whole
def test_the_command_has_it_in_json_and_on_the_page(here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    shown_by(tmp_path / "ap", 41, **FAR)
    file, shown = tmp_path / "mine.toml", tmp_path / "ap" / "seed-41"
    file.write_text(toml_text.document(PAIR), encoding="utf-8")
    words = [
        "advise",
        file,
        "--measured",
        shown,
        "--want",
        "uploads",
        "--has",
        "openwrt",
        "--store",
        tmp_path / "store",
    ]
    done = here(*words, "--out", tmp_path / "advice.html")
    assert done.returncode == 0, done.stderr
    headline, answer, doubt = done.stdout.splitlines()[:3]
    assert headline.startswith("mine: ")
    assert answer.startswith(f"- Runs differ from what was measured ({shown}) in ")
    assert "The value of uploads is among them." in doubt
    assert "Next to what was measured" in (tmp_path / "advice.html").read_text()
    told = json.loads(here(*words, "--json").stdout)["measured"]
    assert told["answer"].startswith(f"Runs differ from what was measured ({shown}) in ")
    [goal] = told["goals"]
    assert (goal["goal"], goal["is_shown"], goal["is_missed"]) == ("uploads", True, True)
    assert "phone up: goodput, Mbps" in goal["different"]
    up = next(each for each in told["quantities"] if (each["quantity"], each["direction"]) == ("goodput", "up"))
    assert not up["is_within"]
    assert up["measured"] < up["ci_low"]
    explained = json.loads(here("explain", file, "--measured", shown, "--json").stdout)["measured"]
    assert {key: told[key] for key in explained} == explained
    # What the value is, with --set: the runs show the measurement.
    right = json.loads(here(*words, "--json", "--set", "stations[1].mcs=0").stdout)["measured"]
    assert all(each["is_within"] for each in right["quantities"])
    assert not any(goal["is_missed"] or goal["different"] for goal in right["goals"])
