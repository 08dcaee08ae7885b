"""docs/air-share-linux.md: the commands for those who cannot patch, and the patch."""

import re
from pathlib import Path

import pytest
from test_advise_commands import check_tc_takes

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "air-share-linux.md").read_text(encoding="utf-8")
PATCH = (ROOT / "kernel" / "air-share" / "linux-6.12-air-share.patch").read_text(encoding="utf-8")
COMMANDS = [line.partition("#")[0].strip() for line in PAGE.splitlines() if line.startswith("tc ")]


def test_the_page_has_commands_to_set_and_to_undo() -> None:
    devices = {" ".join(line.split()[4:6]) for line in COMMANDS}
    assert devices == {"wlan0 root", "eth0 root"}
    assert sorted(line.split()[2] for line in COMMANDS) == ["del", "del", "replace", "replace"]


@pytest.mark.system
@pytest.mark.parametrize("line", [line for line in COMMANDS if " replace " in line])
def test_tc_takes_the_command(line: str) -> None:
    check_tc_takes(line, "wlan0", "eth0")


def test_the_page_names_the_files_of_the_patch() -> None:
    files = re.findall(r"^\+\+\+ b/net/mac80211/(\S+)", PATCH, re.MULTILINE)
    new = re.findall(r"^--- /dev/null\n\+\+\+ b/net/mac80211/(\S+)", PATCH, re.MULTILINE)
    assert new == ["air_share.c", "air_share.h"]
    assert len(files) == 9
    assert "adds two files and changes seven" in PAGE
    assert "module_param(air_share, bool, 0644);" in PATCH
    assert "/sys/module/mac80211/parameters/air_share" in PAGE
