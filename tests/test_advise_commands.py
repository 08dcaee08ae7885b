"""The commands of `wifair advise`: each is checked by the real tool, and undone."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from advising import BLOATED, MODERN
from wifair import Scenario
from wifair.advising import wording
from wifair.advising.changes import HAS, QOS_MAP, Change, settable
from wifair.advising.commands import Commands

EVERY = [
    change
    for has in HAS
    for base in (BLOATED, MODERN, {**MODERN, "ap": {"scheme": "droptail", "limit_packets": 1000}})
    for change in settable(Scenario(**base), has)
]


def commands_of(tool: str) -> list[Commands]:
    found = [change.commands for change in EVERY if change.commands and change.commands.tool == tool]
    assert found
    return found


def test_every_settable_change_has_commands_that_are_undone() -> None:
    for change in EVERY:
        assert change.commands is not None
        assert change.commands.do
        assert change.commands.undo


def check_tc_takes(line: str, *devices: str) -> None:
    """Runs it in a network namespace with these TAP devices. 2 is the kernel's refusal of a qdisc that it was built without."""
    if not shutil.which("tc") or not shutil.which("unshare"):
        pytest.skip("no tc, or no unshare")
    begin = "".join(f"ip tuntap add dev {device} mode tap || exit 77; " for device in devices)
    done = subprocess.run(["unshare", "--net", "sh", "-c", begin + line], capture_output=True, text=True, check=False)
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"no network namespace here: {done.stderr}")
    assert done.returncode == 0 or (done.returncode == 2 and "qdisc kind is unknown" in done.stderr), done.stderr
    wrong = subprocess.run(["unshare", "--net", "sh", "-c", begin + f"{line} limt 3"], capture_output=True, check=False)
    assert wrong.returncode == 1


@pytest.mark.system
@pytest.mark.parametrize("line", sorted({line for each in commands_of("tc") for line in (*each.do, *each.undo)}))
def test_tc_takes_the_command(line: str) -> None:
    check_tc_takes(line, "wlan0")


@pytest.mark.whole
@pytest.mark.skipif(not shutil.which("hostapd"), reason="no hostapd")
@pytest.mark.parametrize("change", {change.name: change for change in EVERY if change.commands and change.commands.tool == "hostapd"}.values(), ids=lambda change: change.name)  # fmt: skip
def test_hostapd_takes_the_lines(change: Change, tmp_path: Path) -> None:
    assert change.commands is not None
    path = tmp_path / "hostapd.conf"
    before = "interface=lo\ndriver=none\nssid=test\nhw_mode=g\nchannel=1\nwmm_enabled=1\n"
    path.write_text(before)

    def run(lines: Sequence[str]) -> None:
        script = "; ".join(lines).replace("/etc/hostapd/hostapd.conf", shlex.quote(str(path)))
        subprocess.run(["sh", "-c", script.replace("systemctl restart hostapd", "true")], check=True)

    def problems(content: str) -> str:
        """hostapd ends at once if it refuses a file."""
        path.write_text(content)
        try:
            done = subprocess.run(["hostapd", path], capture_output=True, text=True, timeout=1, check=False)
        except subprocess.TimeoutExpired as running:
            return re.sub(r"lo: .*\n", "", (running.stdout or b"").decode())
        return done.stdout

    run(change.commands.do)
    content = path.read_text()
    assert content.startswith(before)
    assert len(content) > len(before)
    assert problems(content) == ""
    assert "1 errors found" in problems(f"{content}wmm_ac_be_cwmon=3\n")
    path.write_text(content)
    run(change.commands.undo)
    assert path.read_text() == before


@pytest.mark.skipif(not shutil.which("iw"), reason="no iw")
def test_iw_has_the_command() -> None:
    """iw needs nl80211 to parse a command, so the command is held to the usage that it prints."""
    usage = subprocess.run(["iw", "help", "set", "txq"], capture_output=True, text=True, check=False).stdout
    assert "phy <phyname> set txq limit <packets> | memory_limit <bytes> | quantum <bytes>" in usage
    for each in commands_of("iw"):
        for line in (*each.do, *each.undo):
            assert re.fullmatch(r"iw phy phy0 set txq (limit|quantum) [1-9]\d*", line)


def test_debugfs_takes_the_lines() -> None:
    """The kernel reads `%u %u %u`: category, low, high (`aql_txq_limit_write`)."""
    for each in commands_of("debugfs"):
        for lines in (each.do, each.undo):
            found = [
                re.fullmatch(r"echo '(\d) (\d+) (\d+)' > /sys/kernel/debug/\S+/aql_txq_limit", line) for line in lines
            ]
            assert [match and match[1] for match in found] == ["0", "1", "2", "3"]
            assert all(match and int(match[2]) <= int(match[3]) for match in found)


class Uci:
    """OpenWrt's UCI as far as `uci set`, `add_list`, `del_list`, `delete` and `commit` go, over /etc/config/wireless."""

    def __init__(self) -> None:
        self.sections: dict[str, dict[str, str | list[str]]] = {
            "radio0": {"channel": "36"},
            "default_radio0": {"ssid": "x"},
        }

    def take(self, line: str) -> None:
        words = shlex.split(line)
        if line in {"wifi reload", "uci commit wireless"}:
            return
        assert words[0] == "uci"
        assert len(words) == 3
        path, equals, value = words[2].partition("=")
        found = re.fullmatch(r"wireless\.([a-z0-9_]+)\.([a-z_]+)", path)
        assert found, line
        section, option = self.sections[found[1]], found[2]
        if words[1] == "set":
            assert equals
            section[option] = value
        elif words[1] == "delete":
            del section[option]
        else:
            listed = section.setdefault(option, [])
            assert isinstance(listed, list)
            {"add_list": listed.append, "del_list": listed.remove}[words[1]](value)
            if not listed:
                del section[option]


def test_uci_takes_the_lines_and_undoing_restores_the_file() -> None:
    for each in commands_of("uci"):
        uci, before = Uci(), Uci()
        for line in each.do:
            uci.take(line)
        assert uci.sections != before.sections
        for line in each.undo:
            uci.take(line)
        assert uci.sections == before.sections


def test_the_qos_map_is_that_of_the_engine() -> None:
    """Every DSCP has the category that the engine gives it under RFC 8325."""
    numbers = [int(number) for number in QOS_MAP.split(",")]
    exceptions, ranges = numbers[:-16], numbers[-16:]
    assert len(exceptions) <= 42
    mapped = dict(zip(exceptions[::2], exceptions[1::2], strict=True))
    names = ("best_effort", "background", "background", "best_effort", "video", "video", "voice", "voice")
    scenario = Scenario(**MODERN).override({"mac.edca.classify": "rfc-8325"})
    for dscp in range(64):
        priority = mapped.get(dscp, next(i for i in range(8) if ranges[2 * i] <= dscp <= ranges[2 * i + 1]))
        assert (
            names[priority].replace("_", "-") == scenario.channel_access(1500, dscp)["laptop-1", "down"]["category"]
        ), dscp


def test_names_in_commands_that_no_file_has_are_named() -> None:
    for each in EVERY:
        assert each.commands
        assert each.commands.assumed
        told = wording.of_commands(each.commands)
        assert ("radio0 (`uci show wireless` shows yours)" in told) is (each.commands.tool == "uci")
        assert ("phy0 (`iw dev` shows yours)" in told) is (each.commands.tool in ("iw", "debugfs"))
        assert ("wlan0 (`iw dev` shows yours)" in told) is (each.commands.tool == "tc")
        lines = [*each.commands.do, *each.commands.undo]
        restarts = any(line in ("systemctl restart hostapd", "wifi reload") for line in lines)
        assert ("Stations are disconnected" in told) is restarts
