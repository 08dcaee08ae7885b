"""Fixtures shared by several tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from labs import Lab
    from playwright.sync_api import Browser

ROOT = Path(__file__).parent.parent
Cli = Callable[..., subprocess.CompletedProcess[str]]

# Programs that a test may ask for with `@pytest.mark.needs(...)`, with the Debian package that has each.
PACKAGES = {"tshark": "tshark", "chromium": "chromium"}

# The files that take longest, which come first: so no process has a long one left when the others are done.
LONG = [
    "emulate",
    "adding",
    "import",
    "import_capture",
    "as_ap",
    "cluster",
    "docsite",
    "lab_page",
    "lab",
    "load",
    "store",
    "shipping",
    "readme",
    "help",
    "cli",
    "arf_aware_tcp",
    "traces",
    "adaptive_pushout",
    "spm_af_las",
]

# What only `make test` runs: files whose tests need a browser, a build, other processes, or real time. Single tests, and those
# that take more than some half a second of processor time, have the marker `whole`.
WHOLE = {
    *("adding", "cluster", "docsite", "emulate", "lab", "lab_connections", "lab_lessons", "lab_page", "load"),
    *("python_scheme_ends", "python_scheme_files", "report", "supply"),
}


def pytest_configure() -> None:
    """Takes Ctrl-C as from a terminal. What a shell starts in the background ignores it, and so would the commands that tests start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One process per processor, and one more for tests of the emulation and of the lab, which wait for real time."""
    waits = "not whole" not in config.option.markexpr
    return (os.cpu_count() or 1) + waits


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the long files first, and marks those that only `make test` runs."""
    whole = {f"test_{name}" for name in WHOLE}
    for item in items:
        if item.path.stem in whole or item.get_closest_marker("needs"):
            item.add_marker("whole")
    rank = {f"test_{name}": place for place, name in enumerate(LONG)}
    items.sort(key=lambda item: rank.get(item.path.stem, len(LONG)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test whose programs are not installed, with the reason; under CI=true it fails instead."""
    wanted = [program for mark in item.iter_markers("needs") for program in mark.args]
    missing = [PACKAGES[program] for program in wanted if shutil.which(program) is None]
    if missing:
        reason = f"not installed: apt-get install {' '.join(missing)}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)


def new_file(path: Path, content: bytes) -> Path:
    """Writes a file in place of another. To overwrite that takes milliseconds on ext4, which then writes to the disk at once."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def cli() -> Cli:
    """Runs the command line in a separate process, as a user does."""

    def call(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from wifair.cli import main; main()", *map(str, arguments)]
        environment = {**os.environ, "COLUMNS": "200"}
        environment.pop("WIFAIR_TRACEBACK", None)
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False
        )

    return call


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs the command line in this process, so that slow imports happen once."""

    def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        from wifair.cli import execute

        command = [str(argument) for argument in arguments]
        capsys.readouterr()
        status = execute(command)
        told = capsys.readouterr()
        return subprocess.CompletedProcess(command, status, told.out, told.err)

    return call


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium that the tests of a file share."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Its sandbox needs more rights than a container gives; what is opened here was made here.
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab that the tests of a file share."""
    from labs import Lab

    running = Lab(tmp_path_factory.mktemp("lab"))
    yield running
    running.stop()


@dataclass
class Strangers:
    """A current directory in which others may write: a cell, a study, a scheme, and a file by the name of many modules."""

    folder: Path

    def wifair(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs the installed command there."""
        command = [str(Path(sys.executable).with_name("wifair")), *words]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False)

    def ran(self) -> str:
        """The modules whose files have been run."""
        trace = self.folder / "it-ran"
        return trace.read_text() if trace.exists() else ""


STRANGE_SCHEME = """
from beside import Scheme

class Own(Scheme):
    def enqueue(self, arrival, buffer, cx):
        buffer.refuse(arrival) if buffer.is_full else buffer.append(arrival)
"""


@pytest.fixture
def strangers(tmp_path: Path) -> Strangers:
    """See `Strangers`; the scheme imports a file next to it."""
    installed = {"wifair", "loky", "cloudpickle", "distributed", "dask", "polars"}
    for name in filter(find_spec, sys.stdlib_module_names | installed):
        (tmp_path / f"{name}.py").write_text("open('it-ran', 'a').write(__name__ + ' ')\n")
    (tmp_path / "cell.toml").write_text('[run]\nwarmup_s = 0\nduration_s = 0.1\n[[flows]]\ndirection = "up"\n')
    (tmp_path / "study.toml").write_text('scenario = "cell.toml"\nseeds = [1]\n[product]\nap.limit_packets = [5]\n')
    (tmp_path / "own.py").write_text(STRANGE_SCHEME)
    (tmp_path / "beside.py").write_text("from wifair import Scheme\n")
    return Strangers(tmp_path)


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A scenario that runs in a few milliseconds."""
    path = tmp_path / "short.toml"
    path.write_text(
        """
[run]
warmup_s = 0.5
duration_s = 2
[ap]
scheme = "adaptive-pushout"
[[flows]]
count = 2
direction = "up"
[[flows]]
direction = "down"
"""
    )
    return path
