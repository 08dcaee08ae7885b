"""What is no file of reasonable size is refused before it is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import Cli
from wifair import InputError, Scenario, Sweep
from wifair.files import MOST_BYTES, write_scenario
from wifair.scheme.python import load


def made(kind: str, folder: Path) -> Path:
    path = folder / "strange.toml"
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a folder":
        path.mkdir()
    elif kind == "a device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as file:
            file.truncate(MOST_BYTES + 1)  # without blocks on the disk
    return path


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a device", "17 MB"])
def test_only_files_of_reasonable_size_are_read(kind: str, tmp_path: Path) -> None:
    path = made(kind, tmp_path)
    scheme = path.rename(tmp_path / "strange.py") if kind != "a device" else path
    for read in (Scenario.from_toml, Sweep.from_toml):
        with pytest.raises(InputError, match=rf"cannot be read: it (is|has) {kind}; allowed here: "):
            read(scheme)
    if kind != "a device":
        with pytest.raises(InputError, match=f"cannot be read: it (is|has) {kind}"):
            load(f"{scheme}:Mine")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no /dev/zero")
def test_a_command_names_the_file(here: Cli) -> None:
    done = here("run", "/dev/zero")
    assert done.returncode == 2
    assert done.stderr == "wifair: /dev/zero: cannot be read: it is a device; allowed here: a file.\n"


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "a" + ".a" * 2_000 + " = 1", "a = " + "9" * 5000])
def test_a_text_that_no_scenario_has(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb.toml"
    path.write_text(text)
    for read in (Scenario.from_toml, Sweep.from_toml):
        with pytest.raises(InputError):
            read(path)


def test_a_scenario_is_overwritten_if_hashes_of_addresses_alone_differ(tmp_path: Path) -> None:
    out, text = tmp_path / "cell.toml", "[[stations]]  # 1a2b3c4d, far away\ntransfer_bytes = 10000000\n"
    write_scenario(out, text)
    write_scenario(out, text.replace("1a2b3c4d", "00000000"))
    assert "00000000" in out.read_text()
    with pytest.raises(InputError, match="another text"):
        write_scenario(out, text.replace("10000000", "20000000"))
