"""What printing cannot do harms no result: a closed pipe, a full device, a terminal that knows ASCII alone, control characters in names."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from conftest import ROOT, Cli
from wifair.cli import execute

WIFAIR = [sys.executable, "-c", "from wifair.cli import main; main()"]


class Broken(io.TextIOBase):
    """A standard output on which every write fails."""

    encoding = "utf-8"

    def __init__(self, error: int) -> None:
        self.error = error

    def write(self, text: str) -> int:
        raise OSError(self.error, os.strerror(self.error))


def study(short: Path) -> Path:
    path = short.parent / "study.toml"
    path.write_text(f'scenario = "{short.name}"\nreplications = 2\n[product]\nap.limit_packets = [20, 50]\n')
    return path


COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "run": lambda short: ["run", str(short), "--seeds", "2"],
    "run --flent": lambda short: ["run", str(short), "--seeds", "1", "--flent", str(short.parent / "flent")],
    "compare": lambda short: ["compare", str(short), "--seeds", "2", "--schemes", "droptail,codel"],
    "sweep": lambda short: ["sweep", str(study(short)), "--store", str(short.parent / "store")],
}


@pytest.mark.parametrize(("error", "message"), [(errno.EPIPE, ""), (errno.ENOSPC, "No space left on device")])
@pytest.mark.parametrize("name", COMMANDS)
def test_results_are_written_before_they_are_printed(
    name: str,
    error: int,
    message: str,
    short: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = short.parent / "out"
    monkeypatch.setattr("sys.stdout", Broken(error))
    assert execute([*COMMANDS[name](short), "--out", str(out)]) == 1
    assert pl.read_parquet(out / "runs.parquet").height > 0
    assert json.loads((out / "manifest.json").read_text())["replications_missing"] == 0
    assert not (flent := short.parent / "flent").exists() or list(flent.iterdir())
    told = capsys.readouterr().err
    assert "internal error" not in told
    assert message in told
    assert message or "wifair:" not in told


@pytest.mark.whole
def test_a_closed_pipe_ends_a_command_quietly(short: Path) -> None:
    out = short.parent / "out"
    read, write = os.pipe()
    os.close(read)
    command = [*WIFAIR, "run", str(short), "--seeds", "2", "--out", str(out)]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, cwd=ROOT, text=True, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (1, "")
    assert (out / "runs.parquet").exists()


@pytest.mark.whole
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_device_is_said(short: Path) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*WIFAIR, "check", str(short)], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    assert done.stderr == "wifair: standard output cannot be written: No space left on device.\n"


@pytest.mark.whole
@pytest.mark.parametrize("json_too", [False, True])
def test_a_terminal_that_knows_ascii_alone(json_too: bool, short: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [*WIFAIR, "run", str(short), "--set", 'title="Gärten"', "--seeds", "2", *(["--json"] if json_too else [])]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).isascii()
    if json_too:
        assert json.loads(done.stdout)["scenarios"][0]["name"] == "Gärten"
    else:
        assert "+-" in done.stdout


EVIL = 'title = "\\u001b]0;owned\\u0007\\u009b31m[/x]"\n'


@pytest.mark.parametrize(
    "words",
    [["check"], ["run", "--seeds", "1"], ["run", "--seeds", "1", "--json"], ["explain", "--seeds", "1"], ["sweep"]],
    ids=" ".join,
)
def test_a_terminal_obeys_no_title(words: list[str], short: Path, here: Cli) -> None:
    command, *options = words
    path = study(short) if command == "sweep" else short
    path.write_text(EVIL + path.read_text())
    store = short.parent / "store"
    done = here(command, path, *options, *(["--store", store] if command != "check" else []))
    assert done.returncode == 0, done.stderr
    listed = here("results", "list", "--store", store) if command == "sweep" else done
    told = done.stdout + done.stderr + listed.stdout
    assert not [character for character in told if character != "\n" and not character.isprintable()]
    if command != "check":
        assert "\\x1b]0;owned" in told or json.loads(done.stdout)["scenarios"][0]["name"].startswith("\x1b]0;owned")


def test_a_message_has_no_escape_either(short: Path, here: Cli) -> None:
    short.write_text('"\\u001b[31m" = 1\n' + short.read_text())
    done = here("run", short)
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
