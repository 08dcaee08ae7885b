"""`wifair explain`: the conclusion in front, and what was measured next to the runs."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import Cli
from wifair import Scenario
from wifair.analysis import explain as why
from wifair.analysis import explain_groups
from wifair.analysis.conclusion import FULL, FULL_WITH_BACKLOG, LOST, conclusion
from wifair.analysis.explain_groups import HEADINGS, groups, note, rows
from wifair.observed.as_ap import write
from wifair.observed.shown import Quantity
from wifair.prediction.as_it_is import as_it_is
from wifair.prediction.as_it_is_wording import remarks
from wifair.prediction.measurement import measurement, together
from wifair.study.job import Cell
from wifair.study.study import Study

RUN = {"warmup_s": 1, "duration_s": 4}
IDLE: dict[str, Any] = {"run": RUN, "phy": {"name": "802.11ax"}, "ap": {"scheme": "mac80211", "hardware": "firmware"}}
AX = {**IDLE, "tcp": {"profile": "today"}}
SLOW_LINE = {**AX, "wire": {"rate_mbps": 20}, "flows": [{"direction": "down", "count": 2}]}


def concluded(**settings: Any) -> tuple[str, dict[str, float]]:
    found = conclusion(Scenario(**settings).run(seeds=2))
    return found.text, found.counters


def test_uploads_that_fill_the_air_are_named_with_what_may_help() -> None:
    told, shown = concluded(**AX, flows=[{"direction": "up", "count": 8}, {"direction": "down", "count": 2}])
    assert re.match(r"The air is full: busy for \d+ % of the time \(stations \d+ %, ", told)
    assert "Worth trying: EDCA parameters with which stations wait longer" in told
    assert shown["busy_share"] >= FULL
    assert shown["airtime_up_share"] > shown["airtime_down_share"]


@pytest.mark.parametrize("changes", [1, 5])
def test_links_that_change_are_named_since_what_is_said_are_means(changes: int) -> None:
    names = [f"s{number}" for number in range(changes)]
    scenario = Scenario(
        **AX,
        stations=[{"name": name, "mcs": 7} for name in names],
        flows=[{"direction": "down", "station": name} for name in names],
        events=[
            *({"at_s": 1.5, "station": {"name": name, "mcs": 2}} for name in names),
            {"at_s": 2.0, "station": {"name": "s0", "frame_error_rate": {"data_down": 0.1}}},
        ],
    )
    results = why.watched(scenario).run(seeds=1)
    told = [each.text for each in explain_groups.lead(results, explain_groups.groups(results)) if "Links" in each.text]
    more = "; s1 at 1.5 s; s2 at 1.5 s, and 2 more" if changes > 1 else ""
    said = (
        f"Links have other rates from a time on: s0 at 1.5 s{more}. What follows is the mean over all of the time. After the last change alone: "
        "`--set run.warmup_s=1.5 --set run.duration_s=3.5`. Before the first: `--set 'events=[]' --set run.duration_s=0.5`."
    )
    assert told == [said]
    assert said in [each.text for each in why.explain(results)]
    rates = []
    for alone in re.findall(r"`(--set .*?)`", said):
        settings = [each.split("=") for each in shlex.split(alone) if each != "--set"]
        parts = scenario.override({key: json.loads(value) for key, value in settings}).run(seeds=1).stations
        [own] = parts.filter(station="s0", direction="down").select("link_rate_mbps", "link_rate_end_mbps").rows()
        assert own[0] == pytest.approx(own[1])
        rates.append(own[0])
    assert rates[1] > 2 * rates[0]


def test_a_change_of_a_link_before_all_that_is_measured_has_no_time_before_it() -> None:
    events = [{"at_s": 0.5, "station": {"name": "s0", "mcs": 2}}]
    flows = [{"direction": "down", "station": "s0"}]
    results = Scenario(**AX, stations=[{"name": "s0", "mcs": 7}], flows=flows, events=events).run(seeds=1)
    [told] = why.of_changing_links(results)
    assert told.text.endswith("What follows is the mean over all of the time.")


def test_several_bsss_are_not_added_up_to_one() -> None:
    """Channels of their own: the flows of both together use more than the time that there is."""
    two = {
        **AX,
        "ap": {"scheme": "mac80211"},
        "bss": [{"name": "mine", "channel": 42}, {"name": "left", "channel": 58}],
        "field": {"gain_db": -60},
        "stations": [{"name": "a"}, {"name": "b", "bss": "left"}],
        "flows": [{"direction": "down", "station": name} for name in "ab"],
    }
    results = Scenario(**two).run(seeds=2)
    together = conclusion(results)
    assert re.match(r"The air is full at 2 of 2 access points: busy for \d+ (to \d+ )?% of the time\. ", together.text)
    assert set(together.counters) == {"busy_share of mine", "busy_share of left"}
    assert FULL <= min(together.counters.values()) <= max(together.counters.values()) <= 1
    own = conclusion(results.of_bss("left"))
    assert own.counters["busy_share"] == together.counters["busy_share of left"]
    idle = {
        **two,
        "flows": [{"direction": "down", "station": "a"}, {"direction": "up", "application": "ping", "station": "b"}],
    }
    told = conclusion(Scenario(**idle).run(seeds=2)).text
    assert "full at 1 of 2 access points" in told
    assert "of the time there, and for 0 % at the rest." in told


def test_a_queue_is_named_by_the_wait_in_it() -> None:
    cell = {**AX, "phy": {"name": "802.11g"}, "ap": {"scheme": "droptail", "limit_packets": 1000}}
    long, shown = concluded(**cell, flows=[{"direction": "down", "count": 3}])
    assert f"shorter queues (packets wait {shown['sojourn_mean_ms']:.3g} ms" in long
    cell["ap"] = {"scheme": "droptail", "limit_packets": 25}
    short, _ = concluded(**cell, flows=[{"direction": "down", "count": 3}])
    assert "shorter queues" not in short


def test_a_slow_line_is_full_and_the_air_is_not() -> None:
    told, shown = concluded(**SLOW_LINE)
    assert re.match(r"The line is full: it carries \d+ % of its rate down\.", told)
    assert shown["busy_share"] < FULL <= shown["line_down_share"]


def test_nothing_is_worth_trying_where_nothing_is_full() -> None:
    told, _ = concluded(**IDLE, flows=[{"direction": "up", "application": "ping"}])
    assert told.startswith("Neither the air nor the line is full: the air is busy for 0 % of the time.")
    assert told.endswith(
        " of the time. These runs show no reason to change a setting of the access point; `wifair advise` tries each."
    )
    held_back = {**IDLE, "run": {**RUN, "state_interval_s": 0.01}}
    told, _ = concluded(**held_back, flows=[{"direction": "down", "tcp": {"receiver_window_segments": 10}}])
    assert told.endswith(
        " TCP flows by what limits them: receive window 1. These runs show no reason to change a setting of the access point; `wifair advise` tries each."
    )


def test_other_networks_are_a_reason_for_another_channel() -> None:
    udp = {"name": "udp", "rate_mbps": 4, "arrivals": "poisson"}
    stations = [{"name": "laptop"}, {"name": "neighbours", "streams": 1, "mcs": 0}]
    flows = [
        {"direction": "down", "station": "laptop", "count": 3},
        {"direction": "up", "station": "neighbours", "application": udp},
    ]
    told, shown = concluded(**AX, stations=stations, flows=flows)
    assert f"another channel (other networks use {100 * shown['others_share']:.0f} % of the time" in told
    assert f"other networks {100 * shown['others_share']:.0f} %" in told


@pytest.mark.parametrize("is_hidden", [True, False])
def test_frames_lost_to_other_bsss_are_a_reason_for_another_channel(is_hidden: bool) -> None:
    """Whether or not the air is full: the access points do not sense each other, and a's frames are lost where they overlap."""
    udp = {"name": "udp", "rate_mbps": 25, "arrivals": "poisson"}
    two = {
        **IDLE,
        "bss": [{"name": "mine"}, {"name": "left"}],
        "field": {"gain_db": -60, "hidden": [["mine", "left"]] if is_hidden else []},
        "stations": [{"name": "a"}, {"name": "b", "bss": "left"}],
        "flows": [{"direction": "down", "station": name, "application": udp} for name in "ab"],
    }
    found = conclusion(Scenario(**two).run(seeds=2).of_bss("mine"))
    assert found.counters["busy_share"] < FULL_WITH_BACKLOG
    lost = found.counters["lost_to_others_share"]
    told = f"Worth trying: another channel ({100 * lost:.0f} % of the frames are lost to other networks alone)."
    assert (lost >= LOST) == (told in found.text) == is_hidden


def test_the_note_of_the_table_says_what_its_rtt_is() -> None:
    """A ping has a mean RTT, as TCP has; a call, which nothing answers, has a quantile of its delay."""
    flows = [
        {"name": "web", "direction": "down"},
        {"name": "ping", "direction": "up", "application": "ping"},
        {"name": "call", "direction": "down", "application": "voip"},
    ]
    results = Scenario(run=RUN, flows=flows).run(seeds=2)
    mean_ms = dict(results.flows.group_by("label").agg(pl.col("rtt_mean_ms").mean()).iter_rows())
    streams = results.datagrams.filter(label="call").group_by("direction").agg(pl.col("delay_p95_ms").mean())
    p95_ms = max(streams["delay_p95_ms"].to_list())
    shown = {row[0]: row[HEADINGS.index("RTT, ms")] for row in rows(groups(results))}
    assert shown == {"web": f"{mean_ms['web']:.0f}", "ping": f"{mean_ms['ping']:.0f}", "call": f"{p95_ms:.0f}"}
    assert (
        "RTT: the mean; of datagrams without a response, the 95 % quantile of the one-way delay of the worst stream."
        in note(groups(results))
    )


def test_the_note_of_the_table_says_that_flows_of_a_station_share_its_airtime() -> None:
    station = {"station": "tv", "direction": "down"}
    flows = [{"name": "film", **station}, {"name": "call", "application": "voip", **station}]
    results = Scenario(run=RUN, stations=[{"name": "tv"}], flows=flows).run(seeds=2)
    film, call = groups(results)
    assert film.airtime_share == call.airtime_share > 0.5
    told = "Airtime: that of the stations, all of their flows together."
    assert note([film, call]).endswith(told)
    assert told not in note([film])


def shown_by(folder: Path, *seeds: int, **settings: Any) -> Scenario:
    """Writes what the access point shows of these runs."""
    scenario = Scenario(**settings)
    write(Study([Cell("network", scenario)], seeds).run(), folder)
    return scenario


PAIR: dict[str, Any] = {
    **AX,
    "stations": [{"name": "laptop"}, {"name": "phone", "mcs": 4}],
    "flows": [{"direction": "down", "station": "laptop"}, {"direction": "up", "station": "phone"}],
}


def test_runs_of_the_same_network_show_what_was_measured(tmp_path: Path) -> None:
    """All quantities of both stations and of the cell; of all together, one of 20 measurements at most differs by chance."""
    scenario = shown_by(tmp_path, 41, 42, 43, 44, **PAIR)
    results = Study([Cell("mine", scenario)], 8).run()
    wrong = 0
    for seed in (41, 42, 43, 44):
        found = as_it_is(results, measurement(tmp_path / f"seed-{seed}"))
        wrong += bool(found.missed)
        quantities = {each.quantity for each in found.judged}
        assert {
            Quantity("goodput", "laptop", "down"),
            Quantity("goodput", "phone", "up"),
            Quantity("airtime", "phone"),
            Quantity("retries", "laptop"),
            Quantity("busy"),
            Quantity("down"),
            Quantity("fairness"),
        } <= quantities
        by_quantity = {each.quantity: each for each in found.judged}
        own = results.flows.filter(station="phone")["goodput_mbps"].mean()
        assert by_quantity[Quantity("goodput", "phone", "up")].simulated == pytest.approx(own, rel=0.01)
    assert wrong <= 1  # three or four of four by chance: 0.05³, one: 19 %


def test_a_measurement_that_looks_cut_is_named(tmp_path: Path) -> None:
    scenario = shown_by(tmp_path, 41, **PAIR)
    dump = tmp_path / "seed-41" / "station.txt"
    results = Study([Cell("mine", scenario)], 2).run()
    assert not as_it_is(results, measurement(dump.parent)).read
    dump.write_text("".join(dump.read_text().splitlines(keepends=True)[:-1]))
    told = [*remarks(as_it_is(results, measurement(dump.parent)))]
    assert told[-1].startswith("station.txt:16: the last station has no current time, which all others have")


@pytest.mark.whole
def test_a_load_that_was_read_is_as_uncertain_as_a_measurement(here: Cli, tmp_path: Path) -> None:
    """Pages of one measurement are more than those of another one by chance alone, which the mark of the load says."""
    pages = "{ name = 'udp', rate_mbps = RATE, arrivals = 'poisson' }"
    text = (
        "[run]\nwarmup_s = 1\nduration_s = 4\n[phy]\nname = '802.11ax'\n[[stations]]\nname = 'laptop'\n"
        f"[[flows]]\ndirection = 'down'\nstation = 'laptop'\napplication = {pages}"
    )
    scenario = Scenario.from_settings(tomllib.loads(text.replace("RATE", "0.4")))
    write(Study([Cell("network", scenario)], [41]).run(), tmp_path / "ap")
    alike = {}
    for mark in ("", "  # assumed: the mean rate of one measurement"):
        file = tmp_path / "mine.toml"
        file.write_text(text.replace("RATE", "0.66") + mark + "\n")
        done = here("explain", file, "--measured", tmp_path / "ap" / "seed-41", "--json")
        found = json.loads(done.stdout)["measured"]["quantities"]
        alike[mark] = {each["quantity"]: each["is_within"] for each in found}
    for quantity in ("goodput", "down", "airtime"):
        assert [each[quantity] for each in alike.values()] == [False, True]


@pytest.mark.whole
def test_a_network_that_differs_is_shown_where_it_differs(
    here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The phone is farther away than the scenario assumes."""
    monkeypatch.setenv("COLUMNS", "200")
    shown_by(tmp_path / "ap", 41, **{**PAIR, "stations": [PAIR["stations"][0], {"name": "phone", "mcs": 1}]})
    file = tmp_path / "mine.toml"
    file.write_text(
        "[run]\nwarmup_s = 1\nduration_s = 4\n[phy]\nname = '802.11ax'\n[ap]\nscheme = 'mac80211'\nhardware = 'firmware'\n[tcp]\nprofile = 'today'\n"
        "[[stations]]\nname = 'laptop'\n[[stations]]\nname = 'phone'\nmcs = 4\n"
        "[[flows]]\ndirection = 'down'\nstation = 'laptop'\n[[flows]]\ndirection = 'up'\nstation = 'phone'\n"
    )
    folder = tmp_path / "ap" / "seed-41"
    done = here("explain", file, "--measured", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The air is full: ")
    assert re.search(r"Runs differ from what was measured \(.*?\) in \d+ of \d+", done.stdout, re.DOTALL)
    assert re.search(r"^phone +– +[\d.]+ / [\d.]+\*", done.stdout, re.MULTILINE)
    assert "seeds 1 to 12" in done.stdout
    told = json.loads(
        here(
            "explain", file, "--json", *(word for each in sorted(folder.iterdir()) for word in ("--measured", each))
        ).stdout
    )
    assert told["conclusion"]["sentence"].startswith("The air is full: ")
    up = next(each for each in told["measured"]["quantities"] if each["direction"] == "up")
    assert not up["is_within"]
    assert up["measured"] < up["ci_low"] < up["simulated"] < up["ci_high"]


@pytest.mark.whole
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["plain", "--measured", "nowhere.txt"], "nowhere.txt"),
        (["flats", "--measured", "nowhere.txt"], "--measured has one BSS"),
    ],
)
def test_a_measurement_that_cannot_be_compared_is_refused(here: Cli, arguments: list[str], told: str) -> None:
    done = here("explain", *arguments)
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_among_several_files_is_refused(tmp_path: Path) -> None:
    from wifair.errors import InputError

    with pytest.raises(InputError, match=r"is a folder among several; allowed here: "):
        together([tmp_path / "one.txt", tmp_path])
