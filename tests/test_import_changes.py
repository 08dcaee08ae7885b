"""Links that change while they are captured: `wifair import` makes events of the changes, and of rate adaptation none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_import_capture import brief_runs
from wifair import Scenario, Traces
from wifair.observed import document, observe
from wifair.observed.as_ap import write
from wifair.observed.bitrate import Bitrate
from wifair.observed.conversations import Radio, Seen, conclude
from wifair.observed.links import TOGETHER_S
from wifair.observed.network import Change, Observed, Station, Traffic, read
from wifair.observed.rates import BIN_S, LEAST_FRAMES, LEAST_S, MOST_CHANGES, MOST_PARTS, MOST_S, Rates

MODES = [Bitrate(6.5 * (mcs + 1), "802.11n", mcs) for mcs in range(8)]
CHANGE_S, LENGTH_S = 1.3, 3.0
LINKS: dict[str, tuple[dict[str, Any], ...]] = {
    "802.11ax": ({"name": "802.11ax", "width_mhz": 40}, {"mcs": 9}, {"mcs": 4, "mcs_down": 2}),
    "802.11g": ({"name": "802.11g"}, {"rate_mbps": 54.0}, {"rate_mbps": 24.0, "rate_down_mbps": 12.0}),
}


@pytest.mark.parametrize("generation", LINKS)
def test_a_link_that_changes_has_its_rates_in_turn(generation: str, tmp_path: Path) -> None:
    phy, first, later = LINKS[generation]
    scenario = Scenario.from_settings(
        {
            "run": {"warmup_s": 0, "duration_s": LENGTH_S},
            "phy": phy,
            "stations": [{"name": "walks", **first}, {"name": "stays", **first}],
            "flows": [{"station": "walks", "direction": "down"}, {"station": "stays", "direction": "up"}],
            "events": [{"at_s": CHANGE_S, "station": {"name": "walks", **later}}],
        }
    )
    scenario.run(seeds=1, traces=Traces(tmp_path))
    with brief_runs():
        made = document(observe([tmp_path / "seed-1" / "ap-air.pcapng"]), "walks")
    settings = made.settings()
    [event] = settings["events"]
    [changing] = [remark for remark in made.remarks if "changes at" in remark]
    assert changing.startswith(f"the link of {event['station']['name']} changes at {event['at_s']:g} s: ")
    assert event["at_s"] == pytest.approx(CHANGE_S, abs=4 * BIN_S)
    [walks] = {flow["station"] for flow in settings["flows"] if flow["direction"] == "down"}
    assert event["station"] == {"name": walks, **later}
    assert len(settings["stations"]) == 2
    assert all(first.items() <= each.items() for each in settings["stations"])
    assert settings["run"]["warmup_s"] == 0
    assert settings["run"]["duration_s"] == pytest.approx(LENGTH_S, rel=0.05)


def frames(followed: Rates, at_s: float, length_s: float, rates: list[Bitrate], count: int) -> float:
    """Frames at equal intervals whose rates take turns; the time at which the next ones begin."""
    for number in range(count):
        followed.add(at_s + length_s * number / count, rates[number % len(rates)])
    return at_s + length_s


@given(
    st.lists(st.sampled_from(MODES), min_size=1, max_size=8),
    st.lists(st.floats(LEAST_S + 2 * BIN_S, 20.0), min_size=8, max_size=8),
    st.integers(0, 3),
)
def test_stretches_of_one_rate_are_found(rates: list[Bitrate], lengths: list[float], samples: int) -> None:
    """Whatever their rates and lengths, and with a few frames at other rates among them."""
    followed, at_s = Rates(), 0.0
    expected: list[tuple[float, Bitrate]] = []
    for rate, length_s in zip(rates, lengths, strict=False):
        if not expected or expected[-1][1] != rate:
            expected.append((at_s, rate))
        others = [each for each in MODES if each != rate][:samples]
        at_s = frames(followed, at_s, length_s, [rate] * 17 + others, max(200, round(200 * length_s)))
    found = followed.turns()
    assert [rate for _, rate in found] == [rate for _, rate in expected]
    assert [at for at, _ in found] == [pytest.approx(at, abs=2 * BIN_S) for at, _ in expected]
    assert not followed.change_often


def test_a_rate_that_is_tried_is_no_change() -> None:
    followed = Rates()
    at_s = frames(followed, 0.0, 3.0, [MODES[5]], 600)
    at_s = frames(followed, at_s, LEAST_S - 2 * BIN_S, [MODES[4]], 200)
    at_s = frames(followed, at_s, 3.0, [MODES[5]], 600)
    frames(followed, at_s, 2 * LEAST_S, [MODES[3]], LEAST_FRAMES - 1)  # a link with hardly any frames
    assert followed.turns() == [(0.0, MODES[5])]
    assert not followed.change_often


@pytest.mark.parametrize("rates", [[*MODES[4:6]] * MOST_CHANGES, [*MODES[4:8]] * 2 * MOST_CHANGES])
def test_rates_that_change_often_are_no_list_of_changes(rates: list[Bitrate]) -> None:
    followed, at_s = Rates(), 0.0
    for rate in rates:
        at_s = frames(followed, at_s, 1.5, [rate], 200)
    frames(followed, at_s, 1.5, [rates[0]], 200)
    assert followed.change_often
    assert followed.turns() == [(0.0, rates[0])]


def test_of_a_link_under_rate_adaptation_that_becomes_slow_the_parts_of_the_time_count() -> None:
    """For 40 s three of four frames are at one of two fast modes, for 40 s at one of two slow ones, and again: as with someone who walks away and back."""
    followed, at_s = Rates(), 0.0
    for mode in (6, 1, 6):
        for number in range(40):
            at_s = frames(followed, at_s, 1.0, [MODES[mode + number % 2]] * 3 + [MODES[mode]], 100)
    assert followed.change_often
    found = followed.turns()
    assert [rate for _, rate in found] == [MODES[6], MODES[1], MODES[6]]
    assert [at_s for at_s, _ in found] == [0.0, pytest.approx(40, abs=8), pytest.approx(80, abs=8)]


@given(st.lists(st.tuples(st.floats(0.0, 30.0), st.sampled_from(MODES)), min_size=1, max_size=80), st.integers(1, 100))
def test_parts_of_the_time_are_few_however_long_it_is(steps: list[tuple[float, Bitrate]], count: int) -> None:
    """Every frame counts in one of them, and their rates are among those of the frames."""
    followed, at_s = Rates(), 0.0
    for pause_s, rate in steps:
        at_s = frames(followed, at_s + pause_s, 1.0, [rate], count)
    found = followed.adapted()
    assert 1 <= len(found) <= MOST_PARTS
    assert {rate for _, rate in found} <= {rate for _, rate in steps}
    assert [at for at, _ in found] == sorted(at for at, _ in found)
    assert followed.counted.total() == count * len(steps)


def test_if_one_direction_is_adapted_the_other_has_its_most_frequent_rate_too() -> None:
    seen, radio = Seen(began=0.0, ended=60.0), Radio()
    seen.radios["ap", "a"] = radio
    at_s = 0.0
    for number in range(2 * MOST_CHANGES):
        at_s = frames(radio.rates[True], at_s, 1.5, [MODES[number % 2 + 5]], 200)
    at_s = frames(radio.rates[False], 0.0, 20.0, [MODES[7]], 400)
    frames(radio.rates[False], at_s, 40.0, [MODES[6]], 800)
    shown = Observed()
    conclude(shown, seen, "air.pcap", 60.0)
    assert shown.stations["a"].changes == ()
    assert shown.stations["a"].down == read(MODES[6], "radiotap, the most frequent rate", "air.pcap")
    assert any("the rate of 1 station changes often" in remark for remark in shown.remarks)


@pytest.mark.parametrize("length_s", [MOST_S, MOST_S + 1])
def test_a_capture_that_is_too_long_for_changes_has_the_most_frequent_rate(length_s: float) -> None:
    """Runs that are compared with it would be as long: those of a day would take hours."""
    seen, radio = Seen(began=0.0, ended=length_s), Radio()
    seen.radios["ap", "a"] = radio
    at_s = frames(radio.rates[False], 0.0, 40.0, [MODES[7]], 800)
    frames(radio.rates[False], at_s, length_s - at_s, [MODES[6]], 4000)
    shown = Observed()
    conclude(shown, seen, "air.pcap", length_s)
    down = shown.stations["a"].down
    assert down
    is_long = length_s > MOST_S
    assert down.value == (MODES[6] if is_long else MODES[7])
    assert len(shown.stations["a"].changes) == (0 if is_long else 1)
    assert any("editcap" in remark for remark in shown.remarks) is is_long


def observed(*stations: Station) -> Observed:
    """A network with these stations, captured for a minute."""
    return Observed({each.key: each for each in stations}, files=["air.pcap"], captured_s=read(60.0, "", ""))


def station(key: str, start_s: float = 0.0, **keys: Any) -> Station:
    """A station with a bulk flow."""
    starts = {"start_s": start_s} if start_s else {}
    return Station(key, "air.pcap", traffic=(Traffic("down", read(starts, "", ""), mbps=10.0),), **keys)


def changes(*times: tuple[float, str, Bitrate]) -> tuple[Change, ...]:
    """Changes at times."""
    return tuple(Change(at_s, "up" if way == "up" else "down", read(rate, "", "")) for at_s, way, rate in times)


def test_both_directions_change_in_one_event() -> None:
    shown = station(
        "a",
        down=read(MODES[7], "", ""),
        up=read(MODES[6], "", ""),
        changes=changes((20.0, "down", MODES[3]), (20 + TOGETHER_S / 2, "up", MODES[2])),
    )
    made = document(observed(shown), "both")
    events = made.settings()["events"]
    assert events == [{"at_s": 20.0, "station": {"name": "station-1", "mcs": 2, "mcs_down": 3}}]


def test_a_rate_of_a_later_file_replaces_the_changes_of_its_direction() -> None:
    captured = station(
        "a",
        down=read(MODES[7], "", ""),
        up=read(MODES[6], "", ""),
        changes=changes((1.0, "down", MODES[3]), (2.0, "up", MODES[2])),
    )
    merged = captured.merged(Station("a", "dump.txt", down=read(MODES[5], "", "")))
    assert merged.down == read(MODES[5], "", "")
    assert merged.changes == changes((2.0, "up", MODES[2]))
    assert captured.merged(Station("a", "dump.txt")).changes == captured.changes


def test_a_capture_is_read_after_a_dump_whatever_their_order(tmp_path: Path) -> None:
    """Stations have the numbers of the dump, and the rates that the capture has seen in turn, not that of the last frame."""
    scenario = Scenario.from_settings(
        {
            "run": {"warmup_s": 0, "duration_s": LENGTH_S},
            "phy": {"name": "802.11ax"},
            "stations": [{"name": "stays", "mcs": 9}, {"name": "walks", "mcs": 9}],
            "flows": [{"station": "stays", "direction": "up"}, {"station": "walks", "direction": "down"}],
            "events": [{"at_s": CHANGE_S, "station": {"name": "walks", "mcs": 4}}],
        }
    )
    write(scenario.run(seeds=1, traces=Traces(tmp_path)), tmp_path)
    names = (
        "ap-air.pcapng",
        "station.txt",
        "info.txt",
    )  # in this order a capture with fewer frames of the first station
    files = [tmp_path / "seed-1" / name for name in names]
    one, two = observe(files), observe(files[::-1])
    assert list(one.stations) == list(two.stations)
    assert one.stations == two.stations
    [walks] = [each for each in one.stations.values() if each.changes]
    assert list(one.stations).index(walks.key) == 1
    assert {change.rate.value.mcs for change in walks.changes} == {4}


@pytest.mark.parametrize(("start_s", "run"), [(5.0, (10, 60)), (25.0, (0, 60.0))])
def test_a_run_is_as_long_as_the_capture_if_a_flow_starts_late(start_s: float, run: tuple[float, float]) -> None:
    made = document(observed(station("a", start_s, down=read(MODES[7], "", ""))), "late").settings()
    assert (made["run"]["warmup_s"], made["run"]["duration_s"]) == run
