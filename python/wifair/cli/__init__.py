"""The command line. `main` is the entry point; each command has its own file."""

from __future__ import annotations

import os
import sys

from wifair.errors import WifairError


def main() -> None:
    """Runs a command and leaves with its exit status: 0, 1 (failed), 2 (bad input), 130 (interrupted)."""
    sys.exit(execute(sys.argv[1:]))


def execute(arguments: list[str]) -> int:
    """Runs a command; every failure is one message on standard error."""
    if arguments == ["--version"]:
        from importlib.metadata import version  # slow to import, and of no use to any other command

        sys.stdout.write(f"wifair {version('wifair')}\n")
        return 0
    try:
        from wifair.cli.app import app  # takes a moment, in which Ctrl-C may be pressed

        app(args=arguments, prog_name="wifair", standalone_mode=True, obj=arguments)  # what a report says made it
    except SystemExit as leaving:
        if leaving.code == 130:  # a Ctrl-C outside the work, of which typer says nothing
            return failed("interrupted.", 130)
        return leaving.code if isinstance(leaving.code, int) else 1
    except WifairError as error:
        return failed(str(error), error.exit_status)
    except KeyboardInterrupt:
        return failed("interrupted.", 130)
    except BrokenPipeError:
        # The reader of our output has left; there is nobody to tell. Python's own flush at exit must not try again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # a fault of ours: said in one line, the details on demand
        if os.environ.get("WIFAIR_TRACEBACK"):
            raise
        details = "WIFAIR_TRACEBACK=1 shows where"
        return failed(f"internal error: {type(error).__name__}: {error} ({details}).", 1)
    return 0


def failed(message: str, status: int) -> int:
    """Says what went wrong and hands the exit status on."""
    sys.stderr.write(f"wifair: {message}\n")
    return status
