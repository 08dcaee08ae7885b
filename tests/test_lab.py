"""`wifair lab`: access control, messages, and the scenario saved from a session."""

from __future__ import annotations

import json
import random
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from labs import Lab, ask, picture
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection
from wifair.errors import ScenarioError
from wifair.lab import controls
from wifair.lab.lessons import lessons
from wifair.lab.server import LONGEST_MESSAGE, is_loopback, read
from wifair.live import Session
from wifair.scenario import Scenario


def is_closed(socket: ClientConnection) -> bool:
    try:
        socket.recv(60)
    except ConnectionClosed:
        return True
    return False


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("127.0.0.1:8765", True),
        ("localhost:9", True),
        ("LOCALHOST", True),
        ("[::1]:80", True),
        ("[::1]", True),
        ("", False),
        ("evil.example", False),
        ("127.0.0.1.evil.example:80", False),
        ("localhost:80@evil.example", False),
        ("localhost:x", False),
        ("0.0.0.0:8765", False),
    ],
)
def test_hosts(host: str, allowed: bool) -> None:
    assert is_loopback(host) is allowed


def test_only_the_page_itself_is_served(lab: Lab) -> None:
    status, headers, text = lab.get("/")
    assert status == 200
    assert "<title>wifair lab</title>" in text
    assert headers["content-security-policy"].startswith("default-src 'self';")
    assert headers["x-content-type-options"] == "nosniff"
    assert lab.token not in text
    for path in ("/main.js", "/lab.css", "/vendor/uPlot.js", "/icon.svg"):
        assert lab.get(path)[0] == 200
    for path in (
        "/../server.py",
        "/%2e%2e/server.py",
        "/..%2fserver.py",
        "//etc/passwd",
        "/page",
        "/server.py",
        "/vendor/",
    ):
        assert lab.get(path)[0] == 404
    assert lab.get("/", Host="evil.example")[0] == 403
    assert lab.get("/", Host=f"localhost:{lab.port + 1}")[0] == 200, "a port that SSH forwards"
    assert lab.get("/", Origin="http://evil.example")[0] == 403


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://evil.example", None),
        ("null", None),
        ("https://127.0.0.1", None),
        ("http://evil.example", "evil.example"),
    ],
)
def test_another_origin_or_host_gets_no_socket(lab: Lab, origin: str, host: str | None) -> None:
    with pytest.raises((InvalidStatus, ConnectionClosed)), lab.socket(origin, host):
        pass


def test_without_the_token_nothing_is_said(lab: Lab) -> None:
    for first in (
        "{}",
        "hello",
        '{"type": "hello"}',
        '{"type": "hello", "token": "x"}',
        '{"type": "play"}',
        '{"token": 7}',
    ):
        with lab.socket() as socket:
            socket.send(first)
            assert is_closed(socket)


def hostile(seed: int) -> list[str | bytes]:
    """A thousand invalid messages."""
    draw = random.Random(seed)
    words: list[Any] = [
        "play",
        "step",
        "change",
        "save",
        "load",
        "seen",
        "hello",
        "__proto__",
        "",
        "\u0000",
        "x" * 500,
        None,
        -1,
        1e308,
        [],
        {},
    ]
    keys = [
        "ap",
        "flows",
        "wire",
        "station",
        "scheme",
        "limit_packets",
        "name",
        "count",
        "tcp",
        "at_s",
        "one_way_delay_ms",
        "\u202e",
    ]
    values: list[Any] = [
        "droptail",
        "/etc/passwd.py:Evil",
        "../x.py:X",
        "external",
        -1,
        0,
        10**15,
        1e300,
        True,
        None,
        [],
        [[]],
        {"name": 1},
        "up",
    ]

    def tree(depth: int) -> Any:
        if depth == 0 or draw.random() < 0.3:
            return draw.choice(values)
        return {draw.choice(keys): tree(depth - 1) for _ in range(draw.randint(0, 3))}

    found: list[str | bytes] = [
        "{", "[]", "null", '"play"', "NaN", '{"type": NaN}', '{"type": 1e999}', "[" * 9000, '{"a":' * 3000, b"\x00\xff", "9" * 5000,
        '{"type": "play", "speed": -1}', '{"type": "play", "speed": 1e-9}', '{"type": "play", "speed": "fast"}',
        '{"type": "load", "lesson": "../../secret"}', '{"type": "load", "lesson": 7}', '{"type": "change"}',
        '{"type": "caption"}', '{"type": "caption", "caption": 0}', '{"type": "caption", "caption": [], "generation": {}}',
        '{"type": "pauses"}', '{"type": "pauses", "on": 1}', '{"type": "pauses", "on": null}',
    ]  # fmt: skip
    while len(found) < 1000:
        kind = draw.choice([*words, "change", "change", "change", "change"])
        message = {
            "type": kind,
            "change": tree(4),
            "speed": draw.choice([-5, "x", [], True]),
            "lesson": draw.choice(["x", 5, [], {}]),
        }
        found.append(json.dumps(message))
    return found


@pytest.mark.parametrize("seed", [1])
def test_a_thousand_hostile_messages_are_refused(lab: Lab, seed: int) -> None:
    with lab.hello() as socket:
        before = picture(socket)["state"]
        counted = 0
        for message in hostile(seed):
            kind = None
            with suppress(ValueError, RecursionError, AttributeError):
                kind = json.loads(message).get("type")
            if kind in ("step", "save", "seen"):  # these have nothing to refuse
                continue
            socket.send(message)
            while (answer := json.loads(socket.recv(60)))["type"] not in ("refused", "done"):
                assert answer["type"] in ("state", "values")
            assert answer["type"] == "refused", message
            assert len(answer["message"]) < 4000
            counted += 1
        assert counted > 700
        after = picture(socket)["state"] if ask(socket, 1, type="step")["type"] == "done" else None
        assert after
        assert after["flows"]["open"] == before["flows"]["open"]
    with lab.socket() as socket, suppress(ConnectionClosed):
        socket.send(json.dumps({"type": "hello", "token": lab.token}))
        socket.send("x" * (LONGEST_MESSAGE * 5))
        while True:
            socket.recv(60)
    assert lab.get("/")[0] == 200, "it goes on"


def test_messages_are_read_with_care() -> None:
    from wifair.errors import InputError

    assert read({"type": "websocket.receive", "text": '{"type": "play", "speed": 2.5}'}) == {
        "type": "play",
        "speed": 2.5,
    }
    for text in ('{"a": Infinity}', '{"a": 1e999}', '{"a": 99999999999999999999}', "1", "x" * (LONGEST_MESSAGE + 1)):
        with pytest.raises(InputError):
            read({"type": "websocket.receive", "text": text})


def test_a_slow_browser_gets_fewer_pictures_and_the_engine_goes_on(lab: Lab) -> None:
    with lab.hello() as slow, lab.hello() as quick:
        first = picture(quick)["state"]["time_ns"]
        assert ask(quick, 1, type="play", speed=None)["type"] == "done"
        times = [picture(quick)["state"]["time_ns"] for _ in range(12)]
        assert times == sorted(times)
        assert times[-1] > first
        assert ask(quick, 2, type="pause")["type"] == "done"
        pictures = 0
        with suppress(TimeoutError):
            while True:
                pictures += json.loads(slow.recv(1))["type"] == "state"
        assert pictures <= 3, "it has acknowledged none"


def test_a_browser_that_was_not_ready_gets_the_last_picture_before_a_pause(lab: Lab) -> None:
    with lab.hello() as slow, lab.hello() as quick:
        assert ask(quick, 1, type="play", speed=1)["type"] == "done"
        for _ in range(12):
            picture(quick)
        assert ask(quick, 2, type="pause")["type"] == "done"
        last = picture(quick)
        while last["playing"]:
            last = picture(quick)
        numbers = [picture(slow)["number"]]
        while numbers[-1] < last["number"]:
            numbers.append(picture(slow)["number"])
        assert numbers[-1] == last["number"]
        assert len(numbers) <= 4, "it has acknowledged none while the session ran"


def test_a_session_over_the_socket_is_what_it_saves(lab: Lab) -> None:
    with lab.hello() as socket:
        assert ask(socket, 1, type="load", lesson=None)["type"] == "done"
        for number in range(2, 30):
            assert ask(socket, number, type="step")["type"] == "done"
        assert ask(socket, 40, type="change", change={"ap": {"scheme": "fq-codel"}})["type"] == "done"
        refused = ask(socket, 41, type="change", change={"ap": {"limit_packets": 20_000}})
        assert refused["type"] == "refused"
        assert "1 to 10000" in refused["message"]
        assert (
            "did you mean fq-codel" in ask(socket, 42, type="change", change={"ap": {"scheme": "fq-codle"}})["message"]
        )
        ask(socket, 43, type="step")
        saved = Scenario.from_settings(tomllib.loads(ask(socket, 44, type="save")["text"]))
    assert saved.plan()["events"][0]["ap"]["scheme"]["name"] == "fq-codel"
    assert saved.title == "<b>ten</b> & ten"


def test_a_restart_sets_what_cannot_change_during_a_run(lab: Lab) -> None:
    name = "starved-in-the-middle"
    channel = {"bss[middle].channel": 40}

    def load(number: int, **message: Any) -> dict[str, Any]:
        """The scene that follows, or the refusal."""
        socket.send(json.dumps({"type": "load", "number": number, **message}))
        answer: dict[str, Any] = {"type": "done"}
        while answer["type"] in ("state", "done"):
            answer = json.loads(socket.recv(60))
        assert answer["type"] in ("scene", "refused")
        return answer

    def saved() -> dict[str, Any]:
        return tomllib.loads(ask(socket, 2, type="save")["text"])

    with lab.hello() as socket:
        scene = load(1, lesson=name, set={**channel, "mac.rts_threshold_bytes": 500})
        assert scene["values"]["fixed"]["mac.rts_threshold_bytes"] == 500
        assert [(bss["channel"], bss["width_mhz"]) for bss in scene["scene"]["bsss"]] == [(40, 20), (36, 20), (36, 20)]
        for _ in range(20):
            ask(socket, 3, type="step")
        assert saved()["bss"][0]["channel"] == 40
        assert saved()["mac"]["rts_threshold_bytes"] == 500
        assert load(4, lesson=name, caption=3)["lesson"]["progress"]["times"] == [None] * 4
        assert load(5, lesson=name)["set"] == {}
        for wrong, problem in (
            ({"caption": 0}, "caption: '0' is not accepted; allowed here: 2, 3, 5"),
            ({"caption": True}, "caption: 'True' is not accepted"),
            ({"set": {"bss[midle].channel": 40}}, "Did you mean bss[middle].channel"),
            ({"set": {"mac.rts_threshold_bytes": 1.5}}, "mac.rts_threshold_bytes: '1.5' is not accepted"),
            ({"set": {"bss[middle].channel": 39}}, "bss[0].channel: 39 is not allowed"),
            ({"set": {"run.duration_s": 1}}, "no key of a restart 'run.duration_s'"),
            ({"set": 7}, "set: a table of keys is needed"),
        ):
            assert problem in load(6, lesson=name, **wrong)["message"]
        assert "no caption of this lesson restarts it" in load(7, lesson="802.11ax", caption=1)["message"]


def test_a_caption_appears_once_and_for_all(lab: Lab) -> None:
    def progress(socket: ClientConnection) -> dict[str, Any]:
        """The next progress that a browser receives."""
        while (message := json.loads(socket.recv(60)))["type"] != "progress":
            if message["type"] == "state":
                socket.send('{"type": "seen"}')
        return dict(message["progress"])

    def appear(socket: ClientConnection, place: int, generation: int) -> dict[str, Any]:
        socket.send(json.dumps({"type": "caption", "caption": place, "generation": generation}))
        return progress(socket)

    with lab.hello() as one, lab.hello() as other:
        ask(one, 1, type="pauses", on=True)
        ask(one, 2, type="load", lesson="one-slow-station")
        now = picture(one)["generation"]
        ask(one, 3, type="play", speed=1)
        assert len(appear(one, 0, now)["times"]) == 1
        assert len(progress(other)["times"]) == 1
        while not (state := picture(one))["held"]:
            pass
        assert not state["playing"]
        ask(one, 4, type="play", speed=1)
        assert len(appear(other, 0, now)["times"]) == 1, "it is late"
        assert len(appear(other, 1, now - 1)["times"]) == 1, "of a run before this one"
        assert len(appear(other, 3, now)["times"]) == 1, "another comes before"
        state = picture(one)
        assert state["playing"]
        assert not state["held"]
        asked = appear(one, 1, now)
        assert asked["asked"]
        assert appear(one, 2, now) == asked, "a change is asked for"
        assert ask(one, 5, type="change", change={"ap": {"limit_packets": 900}})["type"] == "done"
        assert appear(one, 2, now) == asked, "this one is not it"
        followed = ask(one, 6, type="change", change={"ap": {"scheme": "mac80211"}})
        assert len(appear(one, 2, now)["times"]) == 3
        with lab.hello_with_scene() as (_, scene):
            known = scene["lesson"]["progress"]
            assert scene["pauses"]
        assert (len(known["times"]), known["asked"], known["from_s"]) == (3, False, followed["at_s"])
        for wrong in (4, -1, "0", True, None):
            refused = ask(one, 7, type="caption", caption=wrong, generation=now)
            assert "allowed here: 0 to 3" in refused["message"]
        ask(one, 8, type="load", lesson=None)
        assert "no caption without a lesson" in ask(one, 9, type="caption", caption=0, generation=now + 1)["message"]
        assert "allowed here: true, false" in ask(one, 10, type="pauses", on=0)["message"]


def test_a_restart_sets_channel_and_width_of_a_bss() -> None:
    bsss = [{"name": "mine", "channel": 42}, {"name": "left", "channel": 42, "wire": {}}]
    stations = [{"name": "a"}, {"name": "b", "bss": "left"}]
    flows = [{"name": f"to-{name}", "station": name, "direction": "down"} for name in ("a", "b")]
    scenario = Scenario(
        phy={"name": "802.11ax", "width_mhz": 80},
        field={},
        bss=bsss,
        stations=stations,
        flows=flows,
        station={"mcs": 3},
    )
    wanted = {"bss[left].channel": 38, "bss[left].width_mhz": 40}
    restarted = scenario.override(controls.fixed(wanted, scenario)).plan()
    assert [(bss["channel"], bss["width_mhz"]) for bss in controls.bsss(restarted)] == [(42, 80), (38, 40)]
    assert controls.fixed_values(restarted) == {
        "mac.rts_threshold_bytes": None,
        "bss[mine].channel": 42,
        "bss[left].channel": 38,
        "bss[mine].width_mhz": 80,
        "bss[left].width_mhz": 40,
    }
    with pytest.raises(ScenarioError, match="38"):
        scenario.override(controls.fixed({"bss[left].width_mhz": 40}, scenario))


def test_the_buffer_of_another_bss_is_shown_to_all(lab: Lab) -> None:
    with lab.hello() as one, lab.hello() as other:
        ask(one, 1, type="load", lesson="starved-in-the-middle")
        ask(one, 2, type="show", bss="right")
        while (values := json.loads(other.recv(60))).get("values", {}).get("bss") != "right":
            assert values["type"] in ("scene", "state", "values")
            other.send('{"type": "seen"}')
        event = {"bss": "right", "ap": {"scheme": "fq-codel"}}
        assert ask(one, 3, type="change", change=event)["type"] == "done"
        assert "no BSS is called 'rihgt'; did you mean right" in ask(one, 4, type="show", bss="rihgt")["message"]
        ask(one, 5, type="step")
        while (shown := picture(one)["state"])["time_ns"] == 0:
            pass
        assert shown["bss"] == 2
        ask(one, 6, type="load", lesson=None)
        assert "the scenario has one BSS" in ask(one, 7, type="show", bss="ap")["message"]


def test_values_of_a_bss_are_its_own_and_those_of_its_wire() -> None:
    session = Session("neighbours")
    session.advance(0.1)
    for event in (
        {"bss": "left", "ap": {"scheme": "codel", "limit_packets": 50}},
        {"bss": "left", "wire": {"one_way_delay_ms": 33.0}},
        {"bss": "mine", "wire": {"one_way_delay_ms": 22.0}},
        {"ap": {"limit_packets": 60}},
    ):
        session.apply(event)

    def shown(bss: str) -> list[Any]:
        session.show(bss)
        values = controls.values(session)
        assert values["bss"] == bss
        return [values["scheme"]["name"], values["limit_packets"], values["one_way_delay_ms"]]

    assert shown("mine") == ["mac80211", 60, 22]
    assert shown("left") == ["codel", 50, 33]
    assert shown("right") == ["droptail", 1000, 10]


def test_ctrl_c_ends_it_within_a_second(tmp_path: Path) -> None:
    """With a connection that has said nothing, and one that takes no pictures while the engine runs."""
    running = Lab(tmp_path)
    with suppress(ConnectionClosed), running.socket(), running.hello() as socket:
        ask(socket, 1, type="play", speed=None)
        took = running.stop()
    assert took < 1.0
    assert running.process.returncode in (0, 130)


def test_parameters_of_every_scheme_make_a_form() -> None:
    for scheme in controls.schemes({}):
        for one in scheme["parameters"]:
            assert one["kind"] in ("choice", "boolean", "integer", "number", "fixed"), (scheme["name"], one)
            assert one["kind"] != "choice" or one["default"] in one["choices"]


def test_the_lab_opens_with_a_lesson(tmp_path: Path) -> None:
    running = Lab(tmp_path, "--lesson", "short-behind-long")
    with running.socket() as socket:
        socket.send(json.dumps({"type": "hello", "token": running.token}))
        scene = json.loads(socket.recv(60))
        assert scene["lesson"]["name"] == "short-behind-long"
        assert scene["scene"]["title"] == lessons()["short-behind-long"]["scenario"]["title"]
        assert ask(socket, 1, type="load", lesson=None)["type"] == "done"
    running.stop()


def test_a_wrong_lesson_gets_the_nearest_and_all(here: Cli) -> None:
    said = here("lab", "--lesson", "one-slow-staton", "--no-browser")
    assert said.returncode == 2
    assert "no lesson 'one-slow-staton'. Did you mean one-slow-station? Allowed here: uploads-starve" in said.stderr
    assert all(name in said.stderr for name in lessons())
