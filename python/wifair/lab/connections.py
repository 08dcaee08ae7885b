"""HTTP connections of the lab: few, and each answered in time or closed. None says anything on the terminal."""

from __future__ import annotations

import asyncio
import errno
import logging
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Time limit in seconds for a request, from its connection's start or the answer before it to its own answer.
REQUEST_S = 10.0
# The largest number of open connections, WebSockets included, and how many may wait to be accepted.
MOST_OPEN = 64
BACKLOG = 16


def most_open() -> int:
    """The largest number of open connections: a part of the files that this process may open."""
    if sys.platform == "win32":
        return MOST_OPEN
    import resource

    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_OPEN if allowed == resource.RLIM_INFINITY else max(4, min(MOST_OPEN, allowed // 2 - BACKLOG))


class Connection(H11Protocol):
    """An HTTP connection that is closed if a request is not answered in time, and at once if there are too many."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._timer: asyncio.TimerHandle | None = None
        if len(self.connections) > most_open():
            transport.abort()
        else:
            self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._expect_no_more()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Called when a request has been answered."""
        super().on_response_complete()
        self._expect()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hands the connection over to the WebSocket's protocol."""
        self._expect_no_more()
        super().handle_websocket_upgrade(event)

    def _expect(self) -> None:
        self._expect_no_more()
        self._timer = self.loop.call_later(REQUEST_S, self.transport.abort)

    def _expect_no_more(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _is_the_clients(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    return isinstance(error, UnicodeDecodeError)


def quiet() -> None:
    """Prints nothing about what clients do wrong. Called in the server's event loop."""
    logging.getLogger("uvicorn.error").addFilter(lambda record: not _is_the_clients(record))
    asyncio.get_running_loop().set_exception_handler(_handle)


def _handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):  # asyncio accepts again later
        loop.default_exception_handler(context)
