"""Standard output and error: what a terminal can show, and what happens if writing fails."""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
from typing import TextIO

# In place of characters that an output lacks: terminals and files in ASCII or Latin 1.
SPELLED = {
    "±": "+-",
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "×": "x",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "µ": "u",
    "·": "*",
    "“": '"',
    "”": '"',
    "’": "'",
}
# Control characters, which a title or a name in a file may have, as escapes: a terminal would obey them.
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def harmless(text: str) -> str:
    """The text with control characters other than line ends and tabs as escapes."""
    return text.translate(_ESCAPES)


def _spelled(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    text = "".join(SPELLED.get(character, "?") for character in error.object[error.start : error.end])
    return text, error.end


codecs.register_error("wifair-spelled", _spelled)


class Unwritten(Exception):
    """Standard output cannot be written, for that reason."""

    def __init__(self, reason: OSError) -> None:
        self.reason = reason


def write(text: str) -> None:
    """Writes to standard output. Raises `Unwritten`."""
    try:
        sys.stdout.write(text)
    except OSError as error:
        raise Unwritten(error) from None


def prepare() -> None:
    """Makes characters that the outputs lack no error, and a closed output one that forgets what it is given."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 -- open until the end of the process
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and not is_unicode(stream):
            stream.reconfigure(errors="wifair-spelled")


def is_unicode(stream: TextIO) -> bool:
    """Whether every character can be written to the stream."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")


def flushed(status: int) -> int:
    """Writes what standard output still holds. Returns the exit status: `status`, or 1 if that fails."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return unwritten(error)
    return status


def unwritten(error: OSError) -> int:
    """The exit status after a write to standard output has failed. A reader that has closed its pipe is no error to tell."""
    with contextlib.suppress(OSError):  # what Python flushes at exit goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 1
    return failed(f"standard output cannot be written: {error.strerror}.", 1)


def failed(message: str, status: int) -> int:
    """Prints the message on standard error and returns the exit status."""
    with contextlib.suppress(OSError):  # nobody reads it
        sys.stderr.write(f"wifair: {harmless(message)}\n")
    return status
