"""Process 1 of an emulation: `python -P -m wifair.emulate.engine FOLDER MESSAGES ORDERS`, in new mount and PID namespaces.

Its only Python thread runs the engine all the time.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from wifair import _native

# Above all non-realtime threads; system watchdogs are at 50 and more.
PRIORITY = 10


def main(folder: Path, messages: int, orders: int) -> None:
    """Runs the folder's plan and writes the report there."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP):
        # The terminal's signals are for the command, which, unlike SIG_IGN, does not inherit a handler.
        signal.signal(number, lambda *_: None)
    settings = json.loads((folder / "settings.json").read_text(encoding="utf-8"))
    for file in (messages, orders):
        os.set_inheritable(file, False)
    settings["options"] |= {"messages": f"/proc/self/fd/{messages}", "orders": f"/proc/self/fd/{orders}"}
    if settings["realtime"]:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
    try:
        report = _native.emulate(settings["plan"], json.dumps(settings["options"]))
    except (RuntimeError, ValueError) as error:
        report = json.dumps({"error": str(error)})
    (folder / "report.json").write_text(report, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
