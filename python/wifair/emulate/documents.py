"""The HTTP server of `wifair emulate --test web`: `python -P -m wifair.emulate.documents FILE...`, numbers of listening sockets.

It is the standard library's; the path is the number of bytes to send.
"""

from __future__ import annotations

import socket
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

# The largest document that is served.
MOST_BYTES = 100_000_000


class Document(BaseHTTPRequestHandler):
    """Answers `GET /SIZE` with SIZE zero bytes."""

    wbufsize = -1  # sends header and body together

    def do_GET(self) -> None:
        """Sends the document."""
        text = self.path.removeprefix("/")
        if not (text.isascii() and text.isdigit() and int(text) <= MOST_BYTES):
            self.send_error(404, f"No such document: the path is a number of bytes, at most {MOST_BYTES}")
            return
        size = int(text)
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(bytes(size))

    def log_message(self, format: str, *args: object) -> None:
        """Logs nothing."""


def main(numbers: list[int]) -> None:
    """Serves on all sockets until it is killed."""
    for number in numbers:
        server = ThreadingHTTPServer(("", 0), Document, bind_and_activate=False)
        server.socket.close()
        server.socket = socket.socket(fileno=number)
        server.socket.setblocking(True)
        Thread(target=server.serve_forever).start()


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]])
