"""What other programs of this machine can do to the lab: half-sent requests, too many connections, frames before the token."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import ROOT

pytest.importorskip("uvicorn")

# The command, with a shorter time limit for requests.
LAB = "import wifair.lab.connections as of; of.REQUEST_S = 1.0; from wifair.cli import main; main()"


class Running:
    """A running `wifair lab`, which may open few files."""

    def __init__(self, *options: str, files: int = 256, **environment: str) -> None:
        code = f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files})); {LAB}"
        command = [sys.executable, "-c", code, "lab", "--port", "0", *options]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
        )
        assert self.process.stderr
        said = self.process.stderr.readline() + self.process.stderr.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)/#token=([\w-]+)", said)
        assert found, said
        self.port, self.token = int(found[1]), found[2]

    def connect(self) -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self.port))
        made.settimeout(10)
        return made

    def is_served(self) -> bool:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=10) as answer:
            return bool(answer.status == 200)

    def stop(self) -> str:
        """Ends it; what it has printed since the start."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=30)
        return said.removesuffix("wifair: interrupted.\n")


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def begin(*options: str, **settings: int | str) -> Running:
        running.append(Running(*options, **settings))  # type: ignore[arg-type]
        return running[-1]

    yield begin
    for lab in running:
        if lab.process.poll() is None:
            lab.process.kill()


def handshake(port: int) -> bytes:
    key = base64.b64encode(bytes(16)).decode()
    lines = ["GET /live HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Origin: http://127.0.0.1:{port}", "Upgrade: websocket"]
    lines += ["Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", "", ""]
    return "\r\n".join(lines).encode()


def frame(kind: int, content: bytes = b"", end: bool = True) -> bytes:
    length = bytes([0x80 | len(content)]) if len(content) < 126 else b"\xfe" + struct.pack("!H", len(content))
    return bytes([end << 7 | kind]) + length + bytes(4) + content  # masked with zeros


TEXT, BYTES, CLOSE, PING = 1, 2, 8, 9
FRAMES = [
    frame(BYTES, b"x"), frame(PING, b"x"), frame(CLOSE), frame(CLOSE, b"\x03"), frame(3), frame(TEXT), frame(TEXT, b"\xff\xfe"),
    frame(TEXT, b"{", end=False), frame(TEXT, b"{}") * 5, frame(TEXT, b"[" * 30_000), frame(0, b"x"), b"\x81\x02{}",
    frame(TEXT, b'{"type": "hello", "token": "\\ud800"}'), frame(BYTES, b"x") + frame(CLOSE),
]  # fmt: skip


def test_nothing_that_a_client_sends_before_the_token_is_told(start: Callable[..., Running]) -> None:
    lab = start("--no-browser")
    for sent in FRAMES:
        for early in (True, False):
            with lab.connect() as made:
                made.sendall(handshake(lab.port) + (sent if early else b""))
                if not early:
                    assert made.recv(4096).startswith(b"HTTP/1.1 101")
                    made.sendall(sent)
                made.settimeout(0.05)
                with contextlib.suppress(OSError):
                    while made.recv(4096):
                        pass
    assert lab.is_served()
    assert lab.stop() == ""


def left(made: socket.socket) -> bytes:
    """What arrives until the connection is closed."""
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while part := made.recv(65536):
            received += part
    return received


def test_half_sent_requests_are_closed(start: Callable[..., Running]) -> None:
    lab = start("--no-browser")
    whole = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{lab.port}\r\n\r\n".encode()
    halves = [b"", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", b"GET / HT", whole + b"GET / HT"]
    open_ones = [lab.connect() for _ in halves]
    for made, sent in zip(open_ones, halves, strict=True):
        made.sendall(sent)
    began = time.monotonic()
    received = [left(made) for made in open_ones]
    assert 0.5 < time.monotonic() - began < 8
    assert [answer[:15] for answer in received] == [b"", b"", b"", b"HTTP/1.1 200 OK"]
    for made in open_ones:
        made.close()
    assert lab.stop() == ""


def test_more_connections_than_files_are_refused_quietly(start: Callable[..., Running]) -> None:
    lab = start("--no-browser", files=48)
    open_ones = []
    for _ in range(150):
        made = socket.socket()
        made.setblocking(False)
        made.connect_ex(("127.0.0.1", lab.port))
        open_ones.append(made)
    time.sleep(0.5)
    for made in open_ones:
        made.close()
    deadline = time.monotonic() + 8
    while True:
        try:
            assert lab.is_served()
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    assert lab.stop() == ""


def test_a_list_of_processes_has_no_token(start: Callable[..., Running], tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(
        '#!/bin/sh\necho "$1" > "$TOLD.part"; f="${1#file://}"; stat -c %a "$f" >> "$TOLD.part"; cat "$f" >> "$TOLD.part"\n'
        'mv "$TOLD.part" "$TOLD"\n'
    )
    browser.chmod(0o700)
    told = tmp_path / "told"
    lab = start(BROWSER=f"{browser} %s", TOLD=str(told))
    deadline = time.monotonic() + 20
    while not told.exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    argument, mode, *content = told.read_text().splitlines()
    assert lab.token not in argument
    assert mode == "600"
    assert f"url=http://127.0.0.1:{lab.port}/#token={lab.token}" in "".join(content)
    page = Path(argument.removeprefix("file://"))
    assert stat.S_IMODE(page.parent.stat().st_mode) == 0o700
    assert lab.stop() == ""
    assert not page.exists()
