"""A running `wifair lab`, and what one says to it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

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
