"""A test that needs a program: skipped where that is missing, with a word on it, and an error under CI=true."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

TEST = """
import pytest


@pytest.mark.needs("tshark")
def test_of_tshark():
    pass
"""


@pytest.mark.parametrize(
    ("ci", "installed", "told"),
    [
        ("false", False, "1 skipped"),
        ("true", False, "1 error"),
        ("true", True, "1 passed"),
    ],
)
def test_a_missing_program(tmp_path: Path, ci: str, installed: bool, told: str) -> None:
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "test_it.py").write_text(TEST)
    programs = tmp_path / "bin"
    programs.mkdir()
    if installed:
        (programs / "tshark").write_text("#!/bin/sh\n")
        (programs / "tshark").chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "test_it.py"],
        cwd=tmp_path,
        env={**os.environ, "CI": ci, "PATH": str(programs), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told in done.stdout
    assert ("apt-get install tshark" in done.stdout) == (not installed)
