"""Every command's help has an example, and the example runs: commands are found, not listed here.

An example is run as it stands but for what makes it short: where a command takes `--seeds`, two of them, and where it takes
`--set`, half a second of simulated time. Examples run one after the other in one folder, in the order in which the help lists
the commands, so that one may use what an earlier one left there. What serves until Ctrl-C is not run here (`tests/test_lab.py` does).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from conftest import ROOT, Cli
from wifair.cli.app import app

MARK = "Example: "
# `wifair emulate` needs namespaces, and `wifair exec` an emulation that is going on (`tests/test_emulate.py`).
SERVERS = {("wifair", "lab"), ("wifair", "emulate"), ("wifair", "exec")}
# Status 1 is an answer of `wifair fit`: half-second runs are no fit to a network.
NO: dict[tuple[str, ...], str] = {("wifair", "fit"): "No fit: "}
SHORT = {"--seeds": ["--seeds", "2"], "--set": ["--set", "run.warmup_s=0.1", "--set", "run.duration_s=0.5"]}


def commands(command: Any, path: tuple[str, ...] = ("wifair",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    """A command and those below it, each with its path."""
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from commands(inner, (*path, name))


FOUND = dict(commands(typer.main.get_command(app)))


def examples(command: Any) -> list[list[str]]:
    """The command lines in a command's help."""
    lines = (line.strip() for line in (command.epilog or "").split("\n"))
    return [shlex.split(line.removeprefix(MARK)) for line in lines if line.startswith(MARK)]


def called(words: list[str]) -> tuple[str, ...]:
    """The command that a command line calls."""
    path: tuple[str, ...] = ()
    for word in words:
        if (*path, word) not in FOUND:
            break
        path = (*path, word)
    return path


def shortened(words: list[str]) -> list[str]:
    """The command line with what makes it short."""
    options = {name for parameter in FOUND[called(words)].params for name in parameter.opts}
    return words + [word for option, added in SHORT.items() if option in options for word in added]


def test_commands_are_found() -> None:
    assert {("wifair",), ("wifair", "run"), ("wifair", "results", "prune")} <= set(FOUND)
    assert shortened(["wifair", "run", "a.toml"])[-2:] == ["--set", "run.duration_s=0.5"]
    assert shortened(["wifair", "results", "list"]) == ["wifair", "results", "list"]


@pytest.mark.parametrize("path", FOUND, ids=[" ".join(path) for path in FOUND])
def test_the_help_of_every_command_has_an_example_of_it(path: tuple[str, ...], here: Cli) -> None:
    found = examples(FOUND[path])
    assert found
    below = {other for other in FOUND if other[: len(path)] == path}
    assert all(called(words) in below for words in found)
    told = here(*path[1:], "--help")
    assert told.returncode == 0
    assert MARK in told.stdout


@pytest.mark.whole
def test_every_example_runs(here: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ROOT.iterdir():
        if folder.is_dir() and folder.name not in ("results", "target", "build") and folder.name[0] != ".":
            (tmp_path / folder.name).symlink_to(folder)
    (tmp_path / "buffer-sizes.toml").symlink_to(ROOT / "scenarios" / "studies" / "buffer-sizes.toml")
    monkeypatch.chdir(tmp_path)
    found = [words for command in FOUND.values() for words in examples(command) if called(words) not in SERVERS]
    lines = dict.fromkeys(shlex.join(shortened(words)) for words in found)
    for line in lines:
        done = here(*shlex.split(line)[1:])
        no = NO.get(called(shlex.split(line)))
        assert done.returncode == 0 or (no and done.stdout.startswith(no)), f"{line}\n{done.stderr}"
        assert done.stdout or done.stderr, f"{line} says nothing"


def printed() -> list[tuple[str, str]]:
    """The command lines of wifair in code blocks of the README and of the pages, each with its page."""
    found = []
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
            lines = block.replace("\\\n", " ").splitlines()
            found += [(page.name, line.strip()) for line in lines if line.strip().startswith("wifair ")]
    return found


@pytest.mark.parametrize(("page", "line"), dict.fromkeys(printed()))
def test_a_command_that_a_page_prints_has_these_arguments_and_options(page: str, line: str) -> None:
    words = shlex.split(line, comments=True)
    words = words[: next((i for i, word in enumerate(words) if word in ("|", ">", "2>", "&&", "&", ";")), len(words))]
    path = called(words)
    command = FOUND[path]
    if getattr(command, "commands", None) is None:
        command.make_context(" ".join(path), words[len(path) :])
