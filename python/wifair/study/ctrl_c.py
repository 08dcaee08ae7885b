"""Ctrl-C at work: noted, so that it arrives between two steps and not inside one.

As an exception it may come twice for one press: polars raises it while it builds a table, and Python raises
another at its next step. The first loses what was being taken, and the second comes while the first is handled.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noted_ctrl_c() -> Iterator[Callable[[], bool]]:
    """Yields whether Ctrl-C was pressed meanwhile. Pressed again, it raises KeyboardInterrupt.

    Changes nothing outside the main thread, where Ctrl-C does not arrive, and where it has another meaning.
    """
    presses = 0

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal presses
        presses += 1
        if presses > 1:
            signal.default_int_handler(number, frame)

    ours = threading.current_thread() is threading.main_thread()
    if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, note)
        try:
            yield lambda: presses > 0
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    else:
        yield lambda: False
