"""The lessons of `wifair lab`: what their captions say happens."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from conftest import ROOT
from wifair.lab import controls
from wifair.lab.lessons import lessons
from wifair.lab.server import restart_of
from wifair.live import Session
from wifair.planned import stations_of
from wifair.scenario import Scenario


@pytest.mark.parametrize("name", lessons())
def test_lessons_are_scenarios_with_captions_that_can_appear(name: str) -> None:
    lesson = lessons()[name]
    scenario = Scenario.from_settings(lesson["scenario"])
    groups = {flow["group"] for flow in scenario.plan()["flows"]}
    known = set(re.findall(r"^  (\w+): \(store", (ROOT / "python/wifair/lab/page/measures.js").read_text(), re.M))

    bsss = {bss["name"] for bss in controls.bsss(scenario.plan())}
    session = Session(scenario)
    for place, caption in enumerate(lesson["caption"]):
        assert caption["text"].endswith(".")
        for condition in caption["when"]:
            assert condition["measure"] in known
            assert {condition.get("group"), condition.get("over")} <= groups | {None}
            assert condition.get("bss") in bsss | {None}
            assert {"above", "below"} & condition.keys()
        assert ("button" in caption) == bool({"change", "restart"} & caption.keys())
        if "change" in caption:
            session.apply(controls.change(caption["change"], {}))
        if "restart" in caption:
            session = Session(scenario.override(controls.fixed(restart_of(name, place), scenario)))


def rates(session: Session, until_s: float) -> dict[str, Any]:
    """What the page shows of a lesson's session with ten flows `up` before ten `down`: means over 1.5 simulated seconds."""
    session.advance(until_s - 1.5)
    before = session.snapshot()
    session.advance(until_s)
    after = session.snapshot()

    def moved(key: str, table: str = "flows") -> list[float]:
        return [b - a for a, b in zip(before[table][key], after[table][key], strict=True)]

    goodput = [count * 8e-6 / 1.5 for count in moved("delivered_bytes")]
    counts, sums = moved("rtt_count"), moved("rtt_sum_ns")
    rtt = [total / count / 1e6 for count, total in zip(counts[10:], sums[10:], strict=True) if count]
    waits, waited = (
        after["tx_queues"][0][key] - before["tx_queues"][0][key] for key in ("sojourn_count", "sojourn_sum_ns")
    )
    return {
        "jain": sum(goodput) ** 2 / len(goodput) / sum(x * x for x in goodput),
        "ratio": sum(goodput[:10]) / max(1e-9, sum(goodput[10:])),
        "rtt_down_ms": sum(rtt) / len(rtt) if rtt else None,
        "sojourn_ms": waited / waits / 1e6,
    }


def changes_of(lesson: dict[str, Any]) -> list[dict[str, Any]]:
    return [controls.change(caption["change"], {}) for caption in lesson["caption"] if "change" in caption]


def test_the_lesson_on_802_11ax_credits_the_limit_with_fairness_and_mac80211_with_the_delay() -> None:
    lesson = lessons()["802.11ax"]
    session = Session(Scenario.from_settings(lesson["scenario"]))
    limit, scheme = changes_of(lesson)
    assert (limit, scheme) == ({"ap": {"limit_packets": 8192}}, {"ap": {"scheme": "mac80211"}})
    small = rates(session, 6.0)
    session.apply(limit)
    large = rates(session, 28.0)
    session.apply(scheme)
    own_queues = rates(session, 33.0)
    assert small["jain"] < 0.6
    assert large["jain"] > 0.9
    assert own_queues["jain"] > 0.95
    assert small["ratio"] > 10
    assert 35 < small["sojourn_ms"] < 55
    assert 60 < small["rtt_down_ms"] < 85
    assert large["sojourn_ms"] > 140
    assert large["rtt_down_ms"] > 150
    assert own_queues["sojourn_ms"] < 130
    assert own_queues["rtt_down_ms"] < 130


def measures_of_bsss(session: Session, until_s: float) -> dict[tuple[str, str], float]:
    """What the page shows of a field's BSSs: means over 1.5 simulated seconds, by measure and BSS."""
    plan = session.scenario.plan()
    session.advance(until_s - 1.5)
    before = session.snapshot()
    session.advance(until_s)
    after = session.snapshot()

    def moved(table: str, key: str) -> list[float]:
        return [(b - a) / 1.5 for a, b in zip(before[table][key], after[table][key], strict=True)]

    goodput, field = moved("flows", "delivered_bytes"), {key: moved("field", key) for key in after["field"]}
    attempts = [
        up + down for up, down in zip(moved("stations", "attempts_up"), moved("stations", "attempts_down"), strict=True)
    ]
    labels = [station["label"] for station in stations_of(plan)]
    found = {}
    for number, bss in enumerate(controls.bsss(plan)):
        own = {labels[station] for station in bss["stations"]}
        of_flows = [rate for rate, flow in zip(goodput, plan["flows"], strict=True) if flow["station"] in own]
        found["bss_goodput_mbps", bss["name"]] = sum(of_flows) * 8e-6
        found["busy_own", bss["name"]] = field["busy_own_ns"][number] / 1e9
        found["busy_others", bss["name"]] = field["busy_others_ns"][number] / 1e9
        lost, tried = field["lost_hidden"][number], sum(attempts[station] for station in bss["stations"])
        found["lost_hidden_per_attempt", bss["name"]] = lost / tried
    return found


def test_captions_on_the_flow_in_the_middle_say_what_happens() -> None:
    """Each holds in all windows of its run but for a few, and in hardly any of the run before it, where a restart came between."""
    name = "starved-in-the-middle"
    lesson = lessons()[name]
    scenario = Scenario.from_settings(lesson["scenario"])

    def windows(keys: dict[str, Any]) -> list[dict[tuple[str, str], float]]:
        session = Session(scenario.override(keys), controls.RESERVE)
        return [measures_of_bsss(session, 3 + 1.5 * i) for i in range(12)]

    def share(caption: dict[str, Any], found: list[dict[tuple[str, str], float]]) -> float:
        def holds(window: dict[tuple[str, str], float]) -> bool:
            values = [(one, window[one["measure"], one["bss"]]) for one in caption["when"]]
            return all(one.get("below", value + 1) > value > one.get("above", value - 1) for one, value in values)

        return sum(map(holds, found)) / len(found)

    found, before = windows({}), None
    for place, caption in enumerate(lesson["caption"]):
        assert share(caption, found) > 0.8, caption["text"]
        assert before is None or share(caption, before) < 0.2, caption["text"]
        before = None
        if "restart" in caption:
            found, before = windows(restart_of(name, place)), found


def test_frames_that_rts_loses_to_hidden_senders_are_short() -> None:
    """As a caption of the lesson on the flow in the middle says."""
    lost = {True: 0, False: 0}
    scenario = Scenario.from_settings(lessons()["starved-in-the-middle"]["scenario"])
    session = Session(scenario.override({"mac.rts_threshold_bytes": 500}))
    while session.now_s < 5:
        session.advance(session.now_s + 0.1, 0.1)
        for frame in session.snapshot()["frames"]:
            if frame[4] == 4:
                lost[frame[3] == 2] += 1
    assert lost[True] > 8 * lost[False] > 0


def test_over_tcp_one_hidden_upload_starves_the_other() -> None:
    """As the last caption of the lesson on the flow in the middle says."""
    settings = lessons()["starved-in-the-middle"]["scenario"]
    flows = [{key: value for key, value in flow.items() if key != "application"} for flow in settings["flows"]]
    scenario = Scenario.from_settings({**settings, "flows": flows, "run": {"warmup_s": 5, "duration_s": 20}})
    found = {}
    for rts in (None, 500):
        keys = {"mac.rts_threshold_bytes": rts, "bss[middle].channel": 40}
        rows = scenario.override(keys).run(seeds=5).flows
        both = [rows.filter(label=f"{name}-up").sort("seed")["goodput_mbps"].to_list() for name in ("laptop", "phone")]
        found[rts] = list(zip(*both, strict=True))
    assert all(max(pair) > 13 and min(pair) < 0.2 for pair in found[None])
    assert all(min(pair) > 0.5 and 11.5 < sum(pair) < 12.7 for pair in found[500])


def test_mac80211_with_the_small_limit_is_as_unfair_as_tail_drop() -> None:
    """As the last caption of the lesson on 802.11ax says."""
    scenario = Scenario.from_settings(lessons()["802.11ax"]["scenario"])
    session = Session(scenario.override({"ap.scheme": "mac80211"}))
    assert rates(session, 6.0)["jain"] < 0.6


def test_the_first_lesson_s_problem_and_cure_differ_by_more_than_windows_vary() -> None:
    lesson = lessons()["uploads-starve-downloads"]
    session = Session(Scenario.from_settings(lesson["scenario"]))
    tail_drop = [rates(session, until_s)["jain"] for until_s in (6, 8, 10, 12)]
    session.apply(*changes_of(lesson))
    cured = [rates(session, until_s)["jain"] for until_s in range(36, 60, 2)]
    below, above = (
        next(
            one[key]
            for caption in lesson["caption"]
            for one in caption["when"]
            if one["measure"] == "jain" and key in one
        )
        for key in ("below", "above")
    )
    assert max(tail_drop) < below < above
    assert sorted(cured)[1] > above


def test_every_lesson_has_a_speed_of_the_page() -> None:
    page = (ROOT / "python/wifair/lab/page/main.js").read_text(encoding="utf-8")
    marks = json.loads(page.partition("const SPEEDS = ")[2].partition(";")[0])
    assert all(lesson["speed"] in marks for lesson in lessons().values())


def test_the_page_lists_the_lessons_in_their_order() -> None:
    page = (ROOT / "docs/lab.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([^`]+)` \|", page.partition("## Lessons")[2].partition("\n## ")[0], re.M) == [*lessons()]
