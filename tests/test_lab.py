"""`wifair lab`: access control, the page, and the scenario saved from a session."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from conftest import Cli
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from wifair.errors import ScenarioError
from wifair.lab import controls
from wifair.lab.lessons import lessons
from wifair.lab.server import LONGEST_MESSAGE, is_loopback, read, restart_of
from wifair.live import Session
from wifair.planned import stations_of
from wifair.scenario import Scenario

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parent.parent
SCENARIO = """
title = "<b>ten</b> & ten"
[ap]
limit_packets = 50
[[flows]]
count = 10
direction = "up"
[[flows]]
count = 10
direction = "down"
"""


class Lab:
    """A running `wifair lab`."""

    def __init__(self, folder: Path, *options: str) -> None:
        path = folder / "cell.toml"
        path.write_text(SCENARIO, encoding="utf-8")
        code = "from wifair.cli import main; main()"
        command = [sys.executable, "-c", code, "lab", str(path), "--port", "0", "--no-browser", *options]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "COLUMNS": "400"},
        )
        assert self.process.stdout
        said = ""
        while "#token=" not in said:
            line = self.process.stdout.readline()
            assert line, f"the lab has ended: {said}"
            said += line
        found = re.search(r"http://127\.0\.0\.1:(\d+)/#token=([\w-]+)", said)
        assert found
        self.url, self.port, self.token = found.group(0), int(found.group(1)), found.group(2)
        self.origin = f"http://127.0.0.1:{self.port}"

    def socket(self, origin: str | None = None, host: str | None = None) -> Any:
        """A connection, as a context manager."""
        headers = {"Host": host} if host else {}
        url = f"ws://127.0.0.1:{self.port}/live"
        asked: Any = {"origin": origin or self.origin, "additional_headers": headers}
        return connect(url, max_size=None, open_timeout=60, **asked)

    @contextmanager
    def hello_with_scene(self) -> Iterator[tuple[ClientConnection, dict[str, Any]]]:
        """A connection that has said who it is, and the first message to it."""
        with self.socket() as socket:
            socket.send(json.dumps({"type": "hello", "token": self.token}))
            scene = json.loads(socket.recv(60))
            assert scene["type"] == "scene"
            yield socket, scene

    @contextmanager
    def hello(self) -> Iterator[ClientConnection]:
        """A connection that has said who it is, after the first message."""
        with self.hello_with_scene() as (socket, _):
            yield socket

    def get(self, path: str, **headers: str) -> tuple[int, dict[str, str], str]:
        request = urllib.request.Request(f"{self.origin}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, dict(answer.headers), answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), ""

    def stop(self) -> float:
        """Ctrl-C; how long it takes, in seconds."""
        start = time.perf_counter()
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        took = time.perf_counter() - start
        assert self.process.stdout
        self.process.stdout.close()
        return took


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    running = Lab(tmp_path_factory.mktemp("lab"))
    yield running
    running.stop()


def answered(socket: ClientConnection, number: int) -> dict[str, Any]:
    """The answer to the message of that number."""
    while True:
        message: dict[str, Any] = json.loads(socket.recv(60))
        if message.get("number") == number and message["type"] != "state":
            return message
        if message["type"] == "state":
            socket.send('{"type": "seen"}')


def ask(socket: ClientConnection, number: int, **message: Any) -> dict[str, Any]:
    socket.send(json.dumps({**message, "number": number}))
    return answered(socket, number)


def picture(socket: ClientConnection) -> dict[str, Any]:
    """The next picture."""
    while True:
        message: dict[str, Any] = json.loads(socket.recv(60))
        if message["type"] == "state":
            socket.send('{"type": "seen"}')
            return message


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


def test_the_page_lists_the_lessons_in_their_order() -> None:
    page = (ROOT / "docs/lab.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([^`]+)` \|", page.partition("## Lessons")[2].partition("\n## ")[0], re.M) == [*lessons()]


# In the browser.

browser_needed = pytest.mark.needs("chromium")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def page(lab: Lab, browser: Browser) -> Iterator[Page]:
    """The page of a session that has begun again; nothing may be said on the console."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, accept_downloads=True)
    context.set_default_timeout(60_000)
    shown = context.new_page()
    problems: list[str] = []
    shown.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    shown.on("pageerror", lambda error: problems.append(str(error)))
    shown.goto(lab.url)
    until(shown, "globalThis.lab?.ready === true")
    shown.get_by_label("Lesson").select_option("")
    shown.get_by_role("button", name="Restart", exact=True).click()
    until(shown, "lab.store.scene.title !== '' && lab.lesson.lesson === null")
    until(shown, "lab.store.state?.time_ns === 0")
    pause_at_captions(shown, True)
    yield shown
    context.close()
    assert problems == []


@contextmanager
def another_page(lab: Lab, browser: Browser, script: str = "") -> Iterator[Page]:
    """One more browser of a lab, with a script that runs before the page's own. It ends with the block."""
    with browser.new_context() as context:
        shown = context.new_page()
        if script:
            shown.add_init_script(script)
        shown.goto(lab.url)
        until(shown, "globalThis.lab?.ready === true")
        yield shown


def until(page: Page, condition: str, seconds: float = 60) -> None:
    """Waits until the expression holds in the page. (Playwright's own wait wants `eval`, which the page forbids.)"""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"not within {seconds} s: {condition}"
        page.wait_for_timeout(40)


def pause_at_captions(page: Page, on: bool) -> None:
    """Chooses it. The box is hidden where there is no lesson, and every browser of the lab has the same choice."""
    page.evaluate(f"(box => box.checked === {json.dumps(on)} || box.click())(document.getElementById('pauses'))")


def time_ns(page: Page) -> int:
    return int(page.evaluate("lab.store.state.time_ns"))


@browser_needed
def test_play_pause_step_and_save(page: Page, tmp_path: Path) -> None:
    assert "token" not in page.evaluate("location.href")
    assert page.title() == "<b>ten</b> & ten – wifair lab"
    page.get_by_role("button", name="Play").click()
    until(page, "lab.store.state?.time_ns > 3e8")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Play").wait_for()
    before = page.evaluate("lab.store.state.air.exchanges")
    page.keyboard.press("s")
    until(page, f"lab.store.state?.air.exchanges > {before}")
    assert page.evaluate("lab.store.state.air.exchanges") == before + 1
    page.get_by_label("Scheme").select_option("codel")
    page.get_by_text("Parameters of codel").click()
    page.get_by_label("target ms").fill("20")
    page.get_by_label("target ms").press("Tab")
    until(page, "lab.store.values.scheme.target_ms === 20")
    page.get_by_label("up (up)").fill("3")
    until(page, "lab.store.values.counts.up === 3")
    page.get_by_label("One-way delay").fill("25")
    page.get_by_label("One-way delay").press("Enter")
    until(page, "lab.store.values.one_way_delay_ms === 25")
    page.get_by_role("button", name="Play").click()
    now = time_ns(page)
    until(page, f"lab.store.state?.time_ns > {now + 2e8}")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Play").wait_for()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Save as scenario").click()
    path = tmp_path / "session.toml"
    waiting.value.save_as(path)
    saved = Scenario.from_toml(path)
    assert [sorted(key for key, value in event.items() if value) for event in saved.plan()["events"]] == [
        ["ap", "at_s"],
        ["ap", "at_s"],
        ["at_s", "flows"],
        ["at_s", "wire"],
    ]
    page.get_by_label("Limit").fill("0")
    page.get_by_label("Limit").press("Enter")
    assert page.evaluate("document.querySelector('#controls :invalid') !== null")


@browser_needed
def test_keys_and_words(page: Page) -> None:
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("+")
    assert page.locator("#speed-said").text_content() == "2× real time"
    page.keyboard.press("-")
    page.keyboard.press("]")
    assert page.locator("#zoom-said").text_content() in ("50 ms", "100 ms")
    page.keyboard.press("s")
    until(page, "document.getElementById('summary').textContent.includes('Buffer:')")
    page.keyboard.press("j")
    until(page, "document.querySelector('#bars [aria-pressed=true]').textContent.startsWith('up-2')")


@browser_needed
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("lesson", ["one-slow-station", "starved-in-the-middle"])
def test_axe_finds_nothing_serious(page: Page, scheme: Any, lesson: str) -> None:
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    page.emulate_media(color_scheme=scheme)
    page.get_by_label("Lesson").select_option(lesson)
    until(page, f"lab.lesson.lesson?.name === '{lesson}'")
    page.get_by_label("Scheme").select_option("codel")
    page.get_by_text("Parameters of codel").click()
    page.get_by_text("Keys and legend").click()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Step").click()
    found = Axe().run(page).response["violations"]
    serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
    assert serious == []


@browser_needed
@pytest.mark.parametrize("name", lessons())
def test_every_lesson_comes_to_its_end(page: Page, name: str) -> None:
    page.get_by_label("Lesson").select_option(name)
    until(page, f"lab.store.scene.title === {json.dumps(lessons()[name]['scenario']['title'])}")
    page.evaluate("const s = document.getElementById('speed'); s.value = 15; s.dispatchEvent(new Event('input'))")
    page.get_by_label("Pause at each caption").uncheck()
    page.get_by_role("button", name="Play").click()
    offers = sum("button" in caption for caption in lessons()[name]["caption"])
    for number in range(offers):
        button = page.locator("#captions button").nth(number)
        button.click()
    until(page, "lab.lesson.progress.ended")
    assert page.locator("#captions li").count() == len(lessons()[name]["caption"])


def open_lesson(page: Page, name: str, place: int) -> None:
    """Opens a lesson at a place of the speed slider, and plays it."""
    page.get_by_label("Lesson").select_option(name)
    until(page, f"lab.lesson.lesson?.name === '{name}' && lab.store.state?.time_ns === 0")
    page.evaluate(f"const s = document.getElementById('speed'); s.value = {place}; s.dispatchEvent(new Event('input'))")
    page.get_by_role("button", name="Play").click()


def held(page: Page, captions: int) -> int:
    """Waits for the pause at the caption that makes so many; the simulated time of the pause."""
    until(page, f"lab.lesson.held && lab.lesson.progress.shown === {captions}")
    until(page, "document.getElementById('play').textContent === 'Play'")
    now = time_ns(page)
    page.wait_for_timeout(300)
    assert time_ns(page) == now
    assert page.locator("#captions li").count() == captions
    assert page.evaluate("lab.lesson.now.times.at(-1)") == now / 1e9
    return now


@browser_needed
def test_a_lesson_waits_at_each_caption(page: Page) -> None:
    going_on = page.get_by_role("button", name="Next")
    open_lesson(page, "one-slow-station", 11)
    assert going_on.is_hidden()
    first = held(page, 1)
    page.locator("#speed").evaluate("s => { s.value = 12; s.dispatchEvent(new Event('input')) }")
    going_on.click()
    assert held(page, 2) > first
    assert going_on.is_hidden(), "the caption offers a change"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    until(page, "!lab.lesson.held && lab.store.message.playing")
    assert page.get_by_role("button", name="Share airtime instead").is_enabled()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    assert page.evaluate("lab.store.values.scheme.name") == "fq-codel", "the key does nothing while the session plays"
    page.get_by_role("button", name="Share airtime instead").click()
    held(page, 3)
    assert page.evaluate("lab.store.values.scheme.name") == "mac80211"
    page.keyboard.press("Space")
    held(page, 4)
    assert going_on.is_hidden()
    assert "the end of the lesson" in page.locator("#waiting").inner_text()
    page.keyboard.press("ArrowRight")
    until(page, "lab.store.message.playing")


@browser_needed
def test_the_right_arrow_leads_through_changes_and_restarts(page: Page) -> None:
    open_lesson(page, "starved-in-the-middle", 12)
    for captions in range(1, 8):
        held(page, captions)
        page.keyboard.press("ArrowRight")
    assert page.locator("#captions time").count() == 7
    assert page.evaluate("lab.store.values.fixed['bss[middle].channel']") == 40
    page.get_by_role("button", name="Restart", exact=True).click()
    until(page, "lab.lesson.progress.shown === 0 && lab.store.state?.time_ns === 0")
    assert not page.evaluate("lab.lesson.held || lab.store.message.playing")


@browser_needed
def test_pauses_at_captions_change_nothing_that_is_simulated(page: Page) -> None:
    open_lesson(page, "uploads-starve-downloads", 12)
    for captions in (1, 2, 3):
        now = held(page, captions)
        page.keyboard.press("ArrowRight")
    now = held(page, 4)
    session = Session(Scenario.from_settings(lessons()["uploads-starve-downloads"]["scenario"]), controls.RESERVE)
    session.advance_ns(now)
    shown, wanted = page.evaluate("lab.store.state"), session.snapshot()
    for part in ("time_ns", "flows", "stations", "air", "tx_queues"):
        assert shown[part] == wanted[part]


@browser_needed
def test_all_browsers_of_a_lab_pause_and_go_on_together(lab: Lab, page: Page, browser: Browser) -> None:
    with another_page(lab, browser) as other:
        open_lesson(page, "one-slow-station", 12)
        now = held(page, 1)
        assert held(other, 1) == now
        other.get_by_role("button", name="Next").click()
        held(page, 2)
        held(other, 2)
        other.reload()
        until(other, "globalThis.lab?.ready === true")
        held(other, 2)
        other.get_by_role("button", name="Share airtime instead").click()
        held(page, 3)
        assert page.get_by_role("button", name="Share airtime instead").is_disabled()
        page.get_by_label("Pause at each caption").uncheck()
        until(other, "!document.getElementById('pauses').checked")
        page.keyboard.press("ArrowRight")
        until(other, "lab.lesson.progress.ended")
        until(other, "lab.store.message.playing && !lab.lesson.held")


@browser_needed
def test_scenes_that_change_while_pictures_are_drawn_do_not_stop_it(lab: Lab, browser: Browser) -> None:
    """A browser that draws late gets the next scene between a picture and its drawing."""
    late = """const post = Worker.prototype.postMessage;
        Worker.prototype.postMessage = function (...given) { setTimeout(() => post.apply(this, given), 150); };
        const soon = requestAnimationFrame;
        globalThis.requestAnimationFrame = (f) => soon(() => setTimeout(() => f(performance.now()), 150));"""
    with another_page(lab, browser, late) as shown:
        *others, last = lessons()
        for name in [*others, ""] * 2:
            shown.get_by_label("Lesson").select_option(name)
            shown.get_by_role("button", name="Play").click()
            shown.wait_for_timeout(60)
        # No scene before this one belongs to the last lesson, so no other can follow once it is seen.
        shown.get_by_label("Lesson").select_option(last)
        until(shown, f"lab.lesson.lesson?.name === '{last}' && lab.store.state?.time_ns === 0")
        shown.get_by_role("button", name="Play").click()
        until(shown, "lab.store.state?.time_ns > 0")


@browser_needed
def test_a_page_that_writes_after_its_worker_has_drawn_is_ready(lab: Lab, browser: Browser) -> None:
    late = """const soon = requestAnimationFrame;
        globalThis.requestAnimationFrame = (f) => soon(() => setTimeout(() => f(performance.now()), 400));"""
    with another_page(lab, browser, late) as shown:
        assert shown.evaluate("lab.pictures > 0 && lab.writes.length > 0")


@browser_needed
@pytest.mark.parametrize("width", [400, 1400])
@pytest.mark.parametrize("lesson", ["", "starved-in-the-middle"])
def test_nothing_is_wider_than_the_page(page: Page, width: int, lesson: str) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.get_by_label("Lesson").select_option(lesson)
    until(page, f"(lab.lesson.lesson?.name ?? '') === '{lesson}' && lab.store.state?.time_ns === 0")
    page.get_by_role("button", name="Step").click()
    until(page, "lab.store.state?.time_ns > 0")
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@browser_needed
def test_the_page_shows_several_bsss(page: Page) -> None:
    assert page.locator("#field").is_hidden()
    assert page.locator("#bss").is_hidden()
    page.get_by_label("Lesson").select_option("starved-in-the-middle")
    until(page, "lab.store.scene.in_field && lab.store.state?.time_ns === 0")
    page.get_by_label("Pause at each caption").uncheck()
    page.get_by_role("button", name="Play").click()
    until(page, "lab.store.state.time_ns > 1e9")
    page.locator("#bss").select_option("right")
    until(page, "lab.store.state.bss === 2 && lab.store.values.bss === 'right'")
    page.get_by_text("Scheme and buffer of right").wait_for()
    page.get_by_label("Scheme").select_option("codel")
    until(page, "lab.store.values.scheme.name === 'codel'")
    now = time_ns(page)
    until(page, f"lab.store.state.time_ns > {now + 2e9} && lab.store.rates.fates !== null")
    assert page.get_by_label("right-down").count() == 1
    assert page.get_by_label("left-down").count() == 0
    rows = {
        row.locator("th").text_content(): row.locator("td").all_text_contents()
        for row in page.locator("#bsss tbody tr").all()
    }
    assert list(rows) == ["middle", "left", "right"]
    own = {name: float(cells[3].removesuffix(" %")) for name, cells in rows.items()}
    assert own["middle"] < 20
    assert min(own["left"], own["right"]) > 60
    assert page.locator("#bsss [aria-current=true] th").text_content() == "right"
    assert "right: own frames" in (page.locator("#air-said").text_content() or "")
    # Two of the four flows send datagrams and starve: an index of the other two would say that all is fair.
    assert page.locator("#jain").text_content() == "–"
    assert "none next to datagrams" in (page.locator("#jain-of").text_content() or "")
    page.get_by_label("RTS above").fill("500")
    page.get_by_label("RTS above").press("Tab")
    page.get_by_role("button", name="Restart with these").click()
    until(page, "lab.store.values.fixed['mac.rts_threshold_bytes'] === 500 && lab.store.values.bss === 'middle'")
    until(page, "lab.store.state?.time_ns > 1e8")  # it plays on
    page.get_by_role("button", name="Pause").click()


@browser_needed
def test_outcomes_in_a_field_differ_without_colours_and_at_any_width(page: Page) -> None:
    """Along the height of a bar: solid if received, with one gap if lost to a frame of the same start, striped if to a hidden one."""
    drawn = """async ([width, mpdus]) => {
        const { AirPicture } = await import("./air-picture.js");
        const { colours, readColours } = await import("./colours.js");
        readColours();
        const canvas = Object.assign(document.createElement("canvas"), { width: 200, height: 40 });
        const cx = canvas.getContext("2d", { willReadFrequently: true });
        const store = { scene: { in_field: true, flows: [{ direction: "up" }] } };
        return [0, 1, 4].map((outcome) => {
            cx.fillStyle = colours.panel;
            cx.fillRect(0, 0, 200, 40);
            const fate = { 0: 1, 1: 0, 4: 2 }[outcome];
            const frame = { kind: 0, cls: 0, flow: 0, outcome, mpdus: mpdus ? [0, 0, 1500, fate] : [], rate: 24 };
            new AirPicture(null).frame(cx, store, frame, 10, width, 5, 28, true, -1);
            const { data } = cx.getImageData(10 + Math.floor(width / 2), 5, 1, 28);
            const dark = Array.from({ length: 28 }, (_, i) => 0.3 * data[4 * i] + 0.59 * data[4 * i + 1] + 0.11 * data[4 * i + 2] < 200);
            return dark.filter((one, i) => one && !dark[i - 1]).length;
        });
    }"""
    for width in (1, 3, 40):
        for mpdus in (False, True):
            solid, gap, stripes = page.evaluate(drawn, [width, mpdus])
            assert (solid, gap) == (1, 2)
            assert stripes > 4


@browser_needed
def test_an_rtt_sample_between_gaps_is_drawn(page: Page) -> None:
    drawn = """async (rtt) => {
        const { FlowsView } = await import("./flows.js");
        const box = document.createElement("div");
        document.body.append(box);
        const store = { open: () => [0], scene: { flows: [{ label: "ping", direction: "up", over_tcp: false }] } };
        const view = new FlowsView({ boxes: { goodput: box, cwnd: box, rtt: box } }, () => {});
        view.bars = document.createElement("ul");
        view.jainOf = document.createElement("span");
        const still = [null, null, null, null, null];
        view.clear(store, { t: [1, 2, 3, 4, 5], goodput: [still], cwnd: [still], rtt: [rtt], retransmitted: [], timeouts: [] });
        for (let chart = 0; chart < 3; chart += 1) view.drawChart(store);
        await new Promise((done) => setTimeout(done, 50));
        const { ctx, bbox } = view.charts.rtt;
        const { data } = ctx.getImageData(bbox.left, bbox.top, bbox.width, bbox.height);
        // The flow is blue, and the grid grey.
        return data.filter((red, i) => i % 4 === 0 && data[i + 2] - red > 60).length;
    }"""
    line = page.evaluate(drawn, [None, 20, 20, 20, None])
    alone = page.evaluate(drawn, [None, None, 20, None, None])
    assert 3 < alone < 40 < line
    assert page.evaluate(drawn, [20, None, 20, None, 20]) > 1.5 * alone
    assert page.evaluate(drawn, [None] * 5) == 0


@browser_needed
@pytest.mark.parametrize("width", [500, 1400])
def test_titles_and_names_are_shown_in_full(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    longest = max(lessons(), key=lambda name: len(lessons()[name]["title"]))
    page.get_by_label("Lesson").select_option(longest)
    until(page, f"lab.lesson.lesson?.name === '{longest}'")
    cut = page.evaluate(
        """[...document.querySelectorAll("select")].filter((box) => {
            const shown = box.offsetWidth;
            Object.assign(box.style, { maxWidth: "none", width: "max-content" });
            const wanted = box.offsetWidth;
            Object.assign(box.style, { maxWidth: "", width: "" });
            return shown < wanted;
        }).map((box) => `${box.labels[0].textContent}: ${box.selectedOptions[0].textContent}, ${box.offsetWidth} wide`)"""
    )
    assert cut == []
    for part in ("h1", "#title", "#story-title"):
        sizes = f"(() => {{ const e = document.querySelector('{part}'); return [e.scrollWidth, e.offsetWidth]; }})()"
        inner, outer = page.evaluate(sizes)
        assert inner <= outer, part


@browser_needed
def test_a_script_in_a_name_is_text(page: Page) -> None:
    assert page.locator("#title b").count() == 0
    assert page.locator("#title").text_content() == "<b>ten</b> & ten"
