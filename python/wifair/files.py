"""Reading files that users name: anything but a file of reasonable size is refused before it is read."""

from __future__ import annotations

import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from wifair.errors import InputError

# The largest text file that is read, in bytes: a scenario of 20,000 stations, each with its own table, has 2 MB.
MOST_BYTES = 16 * 2**20
# Suffixes of captures.
CAPTURES = (".pcap", ".pcapng", ".cap")
# How what iw prints of an access point begins.
DUMPS = {"Station ": "a station dump", "Survey data from ": "a survey dump", "Interface ": "the info"}
# The deepest nesting of tables and lists.
MOST_DEPTH = 50

_COMMENT = re.compile("#.*")
# The hash of an address, in comments alone.
_HASH = re.compile(r"\b[0-9a-f]{8}\b")
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def unreadable(path: Path, most_bytes: int = MOST_BYTES) -> str:
    """Why a file is not read: its kind or its size; empty if it can be. Raises `OSError` if it is not there."""
    found = path.stat()
    for is_kind, kind in _KINDS:
        if is_kind(found.st_mode):
            return f"it is {kind}; allowed here: a file"
    if found.st_size > most_bytes:
        return f"it has {found.st_size / 1e6:.0f} MB; allowed here: at most {most_bytes / 1e6:.0f} MB"
    return ""


def reason_of(error: OSError) -> str:
    """Why a file cannot be read."""
    return "there is no such file" if isinstance(error, FileNotFoundError) else str(error.strerror)


def check_folder(path: Path, named: str | Path = "") -> None:
    """Raises `InputError`, which calls the file `named`, if the folder that it is to be written to does not exist. Call it before the work."""
    if not path.parent.is_dir():
        raise InputError(f"{named or path}: cannot be written: there is no folder {path.parent}.")


def write_scenario(out: Path, text: str) -> None:
    """Writes the scenario that `--out` names. Raises `InputError` if that fails, or if there is a file with another text: users edit scenarios.

    Hashes of addresses do not count, since each import has other ones.
    """
    try:
        there = read_text(out) if out.is_file() else text
        if _without_hashes(there) != _without_hashes(text):
            raise InputError(
                f"--out {out}: is there with another text, and is not overwritten, since it may have been edited; allowed here: another name, or remove "
                "that file."
            )
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out {out}: cannot be written: {error.strerror}.") from None


def _without_hashes(text: str) -> str:
    return _COMMENT.sub(lambda comment: _HASH.sub("", comment[0]), text)


def read_bytes(path: Path, named: str | Path = "") -> bytes:
    """The content of a file. Raises `InputError`, which calls it `named`."""
    try:
        reason = unreadable(path)
        if not reason:
            with path.open("rb") as file:
                content = file.read(MOST_BYTES + 1)  # some have another size than they say
            if len(content) <= MOST_BYTES:
                return content
            reason = f"it has more than {MOST_BYTES / 1e6:.0f} MB"
    except OSError as error:
        reason = reason_of(error)
    raise InputError(f"{named or path}: cannot be read: {reason}.")


def read_text(path: Path, named: str | Path = "", instead: str = "") -> str:
    """The text of a file in UTF-8. Raises `InputError`, which calls it `named` and ends with `instead` if it is another kind of file."""
    try:
        return read_bytes(path, named).decode().replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InputError(f"{named or path}: cannot be read: it is no UTF-8 text.{instead}") from None


def read_toml(path: Path, named: str | Path = "") -> dict[str, Any]:
    """The tables of a scenario or a study, in TOML. Raises `InputError`, which calls it `named`."""
    instead = _instead(path, named or path)
    text = read_text(path, named, f" Scenarios and studies are TOML files.{instead}")
    try:
        found = tomllib.loads(text)
        _check_depth(found)
    except RecursionError:
        raise InputError(f"{named or path}: cannot be read: its lists and tables are nested too deeply.") from None
    except ValueError as error:  # invalid TOML, or an integer with thousands of digits
        dump = next((kind for head, kind in DUMPS.items() if text.lstrip().startswith(head)), "")
        told = f"this is {dump} of iw. It is for wifair import {named or path}" if dump else f"not valid TOML: {error}"
        raise InputError(f"{named or path}: {told}.{instead}") from None
    return found


def _instead(path: Path, named: str | Path) -> str:
    """What takes a file that is no TOML, by its suffix."""
    if path.suffix == ".py":
        return f" Schemes in Python go to an option after the scenario: --scheme {named}:CLASS, --schemes in commands that compare."
    return f" Captures are for wifair import {named}." if path.suffix in CAPTURES else ""


def _check_depth(tree: Any) -> None:
    level = [tree]
    for _ in range(MOST_DEPTH):
        tables = [entry for entry in level if isinstance(entry, (dict, list))]
        level = [inner for entry in tables for inner in (entry.values() if isinstance(entry, dict) else entry)]
        if not level:
            return
    raise RecursionError
