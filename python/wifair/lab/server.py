"""The server of the lab: the page's files and a WebSocket.

Access control: the host name must be a loopback name, the origin the server's own, and the first message the token. The
token is in the fragment of the address that `wifair lab` opens, so it is in no log and no request.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
import math
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from functools import cache
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from wifair.errors import InputError, WifairError
from wifair.lab import connections, controls
from wifair.lab.driver import FASTEST, SLOWEST, Driver
from wifair.lab.lessons import find_lesson, lessons
from wifair.lab.progress import Progress
from wifair.live import Session
from wifair.scenario.scenario import Scenario
from wifair.scheme.python import PythonScheme

Table = dict[str, Any]
Scope = MutableMapping[str, Any]

LOG = logging.getLogger(__name__)

PAGE = Path(__file__).parent / "page"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LOOPBACK = {"127.0.0.1", "localhost", "[::1]"}
# Longest message in bytes; a longer one ends the connection.
LONGEST_MESSAGE = 16_384
# Time limit for a connection's token, in seconds, and the largest number of connections.
HELLO_S = 5.0
MOST_CONNECTIONS = 16
# The largest number of unacknowledged pictures per browser.
PICTURES_UNDER_WAY = 2
REFUSED, BUSY, GOING_AWAY = 4401, 4429, 1001


def is_loopback(host: str) -> bool:
    """Whether a `Host` header is a loopback name, with any port (SSH may forward another)."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        name, port = host, ""
    return name.lower() in LOOPBACK and (not port or (port.isascii() and port.isdigit()))


class OnlyHere:
    """ASGI middleware that rejects requests for another host and WebSockets from another origin."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Handles an ASGI request."""
        headers = [(key.decode("latin-1"), value.decode("latin-1")) for key, value in scope.get("headers", [])]
        hosts = [value for key, value in headers if key == "host"]
        origins = [value for key, value in headers if key == "origin"]
        allowed = len(hosts) == 1 and is_loopback(hosts[0])
        if scope["type"] == "websocket" or origins:
            allowed = allowed and origins == [f"http://{hosts[0]}"]
        if allowed or scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": REFUSED})
        else:
            await PlainTextResponse("Refused.\n", 403, HEADERS)(scope, receive, send)


class Client:
    """A browser's connection. It receives pictures when ready for one, and all other messages."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self.messages: asyncio.Queue[str] = asyncio.Queue(64)
        self.picture: str | None = None
        self.under_way = 0
        # Whether the last picture came while it was not ready.
        self.is_behind = False
        self.news = asyncio.Event()

    def can_take(self) -> bool:
        """Whether it is ready for a picture."""
        return self.under_way < PICTURES_UNDER_WAY and self.picture is None

    def show(self, picture: str) -> None:
        """Queues a picture if it is ready for one."""
        self.is_behind = not self.can_take()
        if not self.is_behind:
            self.picture = picture
            self.news.set()

    def seen(self, last: str) -> None:
        """It has drawn a picture. If it missed the last one, this is queued: while the session is paused, no other follows."""
        self.under_way = max(0, self.under_way - 1)
        if self.is_behind:
            self.show(last)

    def tell(self, message: Table) -> None:
        """Queues a message. If the queue is full, the oldest message is dropped."""
        if self.messages.full():
            self.messages.get_nowait()
        self.messages.put_nowait(json.dumps(message))
        self.news.set()

    async def send(self) -> None:
        """Sends queued messages until cancelled."""
        while True:
            await self.news.wait()
            self.news.clear()
            while not self.messages.empty():
                await self.socket.send_text(self.messages.get_nowait())
            if self.picture is not None:
                picture, self.picture = self.picture, None
                self.under_way += 1
                await self.socket.send_text(picture)


class Lab:
    """A session with its connections and their requests."""

    def __init__(
        self, scenario: Scenario, named: Mapping[str, PythonScheme] | None = None, opened: str | None = None
    ) -> None:
        self.token = secrets.token_urlsafe(32)
        self.named = dict(named or {})
        self.first = scenario
        self.progress = None if opened is None else Progress(opened, [])
        # Whether the session pauses when a caption appears.
        self.pauses = True
        # The keys that a restart has set.
        self.set: Table = {}
        self.clients: set[Client] = set()
        self.connections = 0
        self.last_picture = ""
        self.stopping = asyncio.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        self.driver = Driver(self._session(opened, {}), self._publish)
        self.app = OnlyHere(
            Starlette(
                routes=[WebSocketRoute("/live", self.live), Route("/{path:path}", self.file, methods=["GET"])],
                lifespan=self._lifespan,
            )
        )

    @contextlib.asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        self.loop = asyncio.get_running_loop()
        connections.quiet()
        self.driver.start()
        yield
        await asyncio.to_thread(self.driver.stop)

    def stop(self) -> None:
        """Ends all connections."""
        self.stopping.set()

    # Pictures: from the driver's thread to every browser that is ready for one.

    def _publish(self, text: str) -> None:
        if self.loop and not self.loop.is_closed():
            with contextlib.suppress(RuntimeError):  # it is closing
                self.loop.call_soon_threadsafe(self._hand_out, text)

    def _hand_out(self, text: str) -> None:
        self.last_picture = text
        for client in self.clients:
            client.show(text)
        self._want()

    def _want(self) -> None:
        if any(client.can_take() for client in self.clients):
            self.driver.want()

    # The files of the page.

    async def file(self, request: Request) -> Response:
        """A file of the page. Only the names of existing files are accepted."""
        name = request.path_params["path"] or "index.html"
        found = _files().get(name)
        if found is None:
            return PlainTextResponse("There is no such file.\n", 404, HEADERS)
        content, media_type = found
        return Response(content, headers=HEADERS, media_type=media_type)

    # The WebSocket.

    async def live(self, socket: WebSocket) -> None:
        """A browser's connection, from its first message to its end."""
        await socket.accept()
        if self.connections >= MOST_CONNECTIONS:
            await socket.close(BUSY)
            return
        self.connections += 1
        try:
            await self._converse(socket)
        except (WebSocketDisconnect, RuntimeError):
            pass  # the connection is closed
        finally:
            self.connections -= 1

    async def _converse(self, socket: WebSocket) -> None:
        first = await self._first_message(socket)
        token = first.get("token")
        known = isinstance(token, str) and hmac.compare_digest(token.encode("utf-8", "replace"), self.token.encode())
        if first.get("type") != "hello" or not known:
            await socket.close(REFUSED)
            return
        client = Client(socket)
        client.tell(await self._scene_message())
        self.clients.add(client)
        tasks = [asyncio.create_task(work) for work in (client.send(), self._listen(client), self.stopping.wait())]
        self.driver.do(self.driver.touch)
        self._want()
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.clients.discard(client)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with contextlib.suppress(Exception):
                await socket.close(GOING_AWAY)
            self._want()

    async def _first_message(self, socket: WebSocket) -> Table:
        """The first message of a connection. Empty if it is invalid or too late, or if the server stops."""
        received, stopped = asyncio.create_task(socket.receive()), asyncio.create_task(self.stopping.wait())
        try:
            await asyncio.wait((received, stopped), timeout=HELLO_S, return_when=asyncio.FIRST_COMPLETED)
            return read(received.result()) if received.done() else {}
        except InputError:
            return {}
        finally:
            received.cancel()
            stopped.cancel()

    async def _listen(self, client: Client) -> None:
        while True:
            received = await client.socket.receive()
            if received["type"] == "websocket.disconnect":
                return
            number = None
            try:
                message = read(received)
                number = message.get("number") if isinstance(message.get("number"), int) else None
                await self._obey(client, message, number)
            except WifairError as error:
                client.tell({"type": "refused", "number": number, "message": str(error)})
            except (WebSocketDisconnect, asyncio.CancelledError):
                raise
            except Exception:
                LOG.exception("a message could not be handled")
                client.tell(
                    {"type": "refused", "number": number, "message": "the server failed; its terminal says how."}
                )

    async def _obey(self, client: Client, message: Table, number: int | None) -> None:
        driver, kind = self.driver, message.get("type")
        if kind == "seen":
            client.seen(self.last_picture)
            self._want()
            return
        if kind == "play":
            speed = _speed(message)
            await self._do(lambda: driver.play(speed))
        elif kind == "pause":
            await self._do(driver.pause)
        elif kind == "step":
            await self._do(driver.step)
        elif kind == "change":
            wanted = controls.change(message.get("change"), self.named)
            event, followed = await self._do(lambda: self._change(wanted))
            if followed:
                self._tell_all(followed)
            self._tell_all({"type": "values", "values": await self._do(lambda: controls.values(driver.session))})
            client.tell({"type": "done", "number": number, "at_s": event})
            return
        elif kind == "save":
            text = await self._do(driver.session.to_toml)
            client.tell({"type": "saved", "number": number, "text": text})
            return
        elif kind == "load":
            await self._load(message)
        elif kind == "show":
            bss = str(message.get("bss"))[:100]
            await self._do(lambda: self._show(bss))
            self._tell_all({"type": "values", "values": await self._do(lambda: controls.values(driver.session))})
        elif kind == "caption":
            await self._measured(client, message)
        elif kind == "pauses":
            await self._choose_pauses(message.get("on"))
        else:
            allowed = "play, pause, step, change, show, save, load, caption, pauses, seen"
            raise InputError(f"type: {str(kind)[:40]!r} is no message; allowed here: {allowed}.")
        client.tell({"type": "done", "number": number})

    def _change(self, change: Table) -> tuple[float, Table | None]:
        """Applies a change. Its time, and the lesson's progress if a caption offered it."""
        at_s = float(self.driver.session.apply(change)["at_s"])
        self.driver.touch()
        followed = self.progress is not None and self.progress.follow(change, at_s)
        return at_s, self._progress_message() if followed else None

    async def _measured(self, client: Client, message: Table) -> None:
        """A browser has measured what a caption says."""
        place, generation = message.get("caption"), message.get("generation")
        appeared, progress = await self._do(lambda: self._appear(place, generation))
        if appeared:
            self._tell_all(progress)
        else:
            client.tell(progress)

    async def _choose_pauses(self, on: object) -> None:
        if not isinstance(on, bool):
            raise InputError(f"on: {str(on)[:40]!r} is not accepted; allowed here: true, false.")

        def choose() -> None:
            self.pauses = on

        await self._do(choose)
        self._tell_all({"type": "pauses", "on": on})

    def _appear(self, place: object, generation: object) -> tuple[bool, Table]:
        """Whether a caption appears now, and the progress.

        Another browser may have measured it before, or the session may have begun again.
        """
        progress = self.progress
        if progress is None or isinstance(place, bool) or place not in range(len(progress.captions)):
            allowed = "no caption without a lesson" if progress is None else f"0 to {len(progress.captions) - 1}"
            raise InputError(f"caption: {str(place)[:40]!r} is not accepted; allowed here: {allowed}.")
        if generation != self.driver.generation or progress.asked or place != len(progress.times):
            return False, self._progress_message()
        if self.pauses:
            self.driver.hold()
        progress.appear(self.driver.session.now_s)
        return True, self._progress_message()

    def _progress_message(self) -> Table:
        progress = None if self.progress is None else self.progress.told()
        return {"type": "progress", "generation": self.driver.generation, "progress": progress}

    def _show(self, bss: str) -> None:
        self.driver.session.show(bss)
        self.driver.touch()

    async def _load(self, message: Table) -> None:
        """Starts the lesson, or else the command line's scenario, from time zero.

        With `caption`, the lesson continues after that caption, with the keys of its restart; `set` has the keys of another restart.
        """
        asked, caption = message.get("lesson"), message.get("caption")
        name = None if asked is None else str(asked)
        keys = message.get("set") or {} if caption is None else restart_of(name, caption)
        session = self._session(name, keys)
        progress = None if name is None else self._progress_after(name, caption)

        def begin() -> None:
            self.driver.load(session)
            self.progress, self.set = progress, keys

        await self._do(begin)
        self._tell_all(await self._scene_message())
        await self._do(self.driver.touch)  # the browser could not use a picture before the scene

    def _progress_after(self, lesson: str, caption: int | None) -> Progress:
        """The progress of a lesson at its start, or after one of its captions."""
        if caption is None:
            return Progress(lesson, [])
        now = self.progress if self.progress is not None and self.progress.lesson == lesson else Progress(lesson, [])
        return now.begin_again(caption)

    def _session(self, name: str | None, keys: object) -> Session:
        """A session of the lesson, or else of the command line's scenario, with these keys."""
        scenario = self.first if name is None else Scenario.from_settings(find_lesson(name)["scenario"])
        if keys:
            scenario = scenario.override(controls.fixed(keys, scenario))
        return Session(scenario, controls.RESERVE)

    async def _do(self, command: Callable[[], Any]) -> Any:
        return await asyncio.wrap_future(self.driver.do(command))

    def _tell_all(self, message: Table) -> None:
        for client in self.clients:
            client.tell(message)

    def _lesson(self) -> Table | None:
        """The lesson without its scenario, and its progress."""
        if self.progress is None:
            return None
        name = self.progress.lesson
        table = {key: value for key, value in find_lesson(name).items() if key != "scenario"}
        return {"name": name, "progress": self.progress.told(), **table}

    async def _scene_message(self) -> Table:
        def made() -> Table:
            session = self.driver.session
            return {
                "type": "scene",
                "generation": self.driver.generation,
                "scene": controls.scene(session, self.named),
                "values": controls.values(session),
                "set": self.set,
                "lesson": self._lesson(),
                "pauses": self.pauses,
                "lessons": [
                    {"name": name, "title": table["title"], "about": table["about"]}
                    for name, table in lessons().items()
                ],
            }

        message: Table = await self._do(made)
        return message


def restart_of(name: str | None, caption: object) -> Table:
    """The keys that a restart after a caption of a lesson sets."""
    captions = find_lesson(str(name))["caption"]
    restarts = [number for number, one in enumerate(captions) if "restart" in one]
    if isinstance(caption, bool) or caption not in restarts:
        allowed = ", ".join(map(str, restarts)) or "no such key: no caption of this lesson restarts it"
        raise InputError(f"caption: {str(caption)[:40]!r} is not accepted; allowed here: {allowed}.")
    found: Table = captions[caption]["restart"]
    return found


@cache
def _files() -> dict[str, tuple[bytes, str]]:
    """The page's files with their types, read once: a request opens none."""
    return {
        path.relative_to(PAGE).as_posix(): (path.read_bytes(), TYPES[path.suffix])
        for path in PAGE.rglob("*")
        if path.is_file() and path.suffix in TYPES
    }


def _speed(message: Mapping[str, Any]) -> float:
    """The speed in a message; without one, as fast as the engine runs."""
    speed = message.get("speed")
    if speed is None:
        return FASTEST
    if isinstance(speed, bool) or not isinstance(speed, int | float) or not SLOWEST <= speed <= 1e6:
        raise InputError(f"speed: {str(speed)[:40]} is not accepted; allowed here: {SLOWEST} to 1000000, or none.")
    return float(speed)


def read(received: Mapping[str, Any]) -> Table:
    """Parses a message of the page: a JSON object. Anything else is rejected."""
    if received["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(received.get("code", 1000))
    text = received.get("text")
    if text is None:
        raise InputError("a message is text, not bytes.")
    if len(text) > LONGEST_MESSAGE:
        raise InputError(f"a message has at most {LONGEST_MESSAGE} characters.")
    try:
        message = json.loads(text, parse_constant=_no_constant, parse_float=_finite, parse_int=_short)
    except (ValueError, RecursionError):
        raise InputError("a message is a JSON object.") from None
    if not isinstance(message, dict):
        raise InputError("a message is a JSON object.")
    return message


def _no_constant(text: str) -> float:
    raise ValueError(text)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _short(text: str) -> int:
    number = int(text) if len(text) < 18 else None
    if number is None:
        raise ValueError(text)
    return number
