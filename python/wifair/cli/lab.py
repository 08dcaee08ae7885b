"""`wifair lab`: a live session in the browser."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wifair.cli.options import Set

if TYPE_CHECKING:
    import socket

    from wifair.lab.server import Lab

EXAMPLE = "Example: wifair lab home"

Shown = Annotated[
    Path,
    typer.Argument(metavar="SCENARIO.toml", help="The scenario: a file, or a name that `wifair new` lists."),
]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 for any free one.")]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Print the address without opening a browser.")]
Schemes = Annotated[
    list[str],
    typer.Option(
        "--scheme",
        metavar="NAME",
        help="The AP's scheme at the start; of FILE.py:CLASS any number, which the page then offers.",
        show_default=False,
    ),
]
Lesson = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Open this lesson, such as `one-slow-station`; an unknown NAME lists all lessons.",
        show_default=False,
    ),
]


def lab(
    scenario: Shown = Path("plain"),
    port: Port = 8765,
    no_browser: NoBrowser = False,
    lesson: Lesson = None,
    scheme: Schemes = [],  # noqa: B006 -- typer copies the default
    set: Set = [],  # noqa: B006
) -> None:
    """Watch a scenario live in the browser, and change it.

    The page shows the AP's queue, the air and the flows. A lesson has its own scenario; with the lesson "none" the page shows SCENARIO.

    The page is served on the loopback address, to clients that have the token in the printed address. Ctrl-C ends it.
    """
    from wifair.cli.output import say
    from wifair.cli.schemes_of_files import assignments
    from wifair.errors import InputError
    from wifair.scenario.scenario import Scenario
    from wifair.scheme.python import within

    try:
        import tomli_w as _tomli_w  # noqa: F401
        import uvicorn as _uvicorn  # noqa: F401

        from wifair.lab.lessons import find_lesson
        from wifair.lab.server import Lab
    except ImportError as error:
        raise InputError(
            f"{error.name} is not installed; `pip install wifair[lab]` brings what the lab needs."
        ) from None
    if lesson is not None:
        find_lesson(lesson)
    first, others = (scheme[0], scheme[1:]) if scheme else (None, [])
    loaded = Scenario.from_toml(scenario, assignments(set, first))
    named = [*within(loaded.settings()).values()]
    for name in others:
        named += within(dict(assignments([], name))).values()
        if ".py:" not in name:
            raise InputError(f"--scheme: {name!r} is offered anyway; further ones are FILE.py:CLASS.")
    lab = Lab(loaded, {str(name): name for name in named}, lesson)
    listening = bound(port)
    address = f"http://127.0.0.1:{listening.getsockname()[1]}/#token={lab.token}"
    say(f"the lab is at {address}")
    say("Ctrl-C ends it")
    with nullcontext() if no_browser else opened(address):
        serve(lab, listening)


@contextmanager
def opened(address: str) -> Iterator[None]:
    """Opens the address in a browser.

    A list of processes shows a browser's arguments to every user, so they name a file that only this user can read, which
    leads to the address.
    """
    import webbrowser
    from html import escape

    with tempfile.TemporaryDirectory(prefix="wifair-lab-", ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "open.html"
        with open(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            target = escape(address)
            file.write(f'<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={target}">\n')
            file.write(f'<title>wifair lab</title><a href="{target}">Open the lab</a>\n')
        webbrowser.open(page.as_uri())
        yield


def bound(port: int) -> socket.socket:
    """A listening socket on the loopback address."""
    import socket

    from wifair.errors import InputError

    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
        listening.listen(16)  # a browser that connects before the server is ready waits
    except OSError as error:
        raise InputError(f"--port {port}: {error.strerror}; give another port, or 0 for any free one.") from None
    return listening


def serve(lab: Lab, listening: socket.socket) -> None:
    """Serves until Ctrl-C or SIGTERM, then closes the connections and returns at once."""
    import uvicorn

    from wifair.lab.connections import BACKLOG, Connection
    from wifair.lab.server import LONGEST_MESSAGE

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: object) -> None:
            lab.stop()
            super().handle_exit(sig, frame)  # type: ignore[arg-type]

    config = uvicorn.Config(
        lab.app,
        http=Connection,
        backlog=BACKLOG,
        log_level="error",
        access_log=False,
        lifespan="on",
        ws="websockets-sansio",
        ws_max_size=LONGEST_MESSAGE * 4,
        ws_ping_interval=None,
        timeout_graceful_shutdown=1,
        timeout_keep_alive=5,
        server_header=False,
    )
    Server(config).run(sockets=[listening])
