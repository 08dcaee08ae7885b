"""The command line. `main` is the entry point; each command has its own file."""

from __future__ import annotations

import os
import sys

from wifair.cli.streams import Unwritten, failed, flushed, prepare, unwritten
from wifair.errors import WifairError


def main() -> None:
    """Runs a command and exits with its status: 0, 1 (failed), 2 (bad input), 130 (interrupted)."""
    sys.exit(execute(sys.argv[1:]))


def execute(arguments: list[str]) -> int:
    """Runs a command. Every failure prints one message on standard error."""
    prepare()
    return flushed(_status_of(arguments))


def _status_of(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        from importlib.metadata import version  # slow to import, and only needed here

        sys.stdout.write(f"wifair {version('wifair')}\n")
        return 0
    try:
        from wifair.cli.app import app  # slow, so Ctrl-C may arrive meanwhile

        app(args=arguments, prog_name="wifair", standalone_mode=True, obj=arguments)  # for reports
    except SystemExit as leaving:
        if leaving.code == 130:  # Ctrl-C outside a run, for which typer prints nothing
            return failed("interrupted.", 130)
        return leaving.code if isinstance(leaving.code, int) else 1
    except WifairError as error:
        return failed(str(error), error.exit_status)
    except KeyboardInterrupt:
        return failed("interrupted.", 130)
    except Unwritten as error:
        return unwritten(error.reason)
    except Exception as error:  # a bug in wifair: one line, details on demand
        if os.environ.get("WIFAIR_TRACEBACK"):
            raise
        details = "WIFAIR_TRACEBACK=1 shows where"
        return failed(f"internal error: {type(error).__name__}: {error} ({details}).", 1)
    return 0
