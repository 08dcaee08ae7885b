"""Real hosts on the simulated air. What the system must allow is probed for; where it does not, the tests are skipped with the reason.

They run one after the other (`--dist loadfile`) and are loose on time: a busy machine makes a run invalid, not wrong.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from wifair.emulate import runs, session
from wifair.errors import InputError, WifairError
from wifair.scenario.scenario import Scenario

UP_AND_DOWN = """
title = "one up, one down"
[run]
warmup_s = 2
duration_s = 4
[ap]
limit_packets = 50
[tcp]
profile = "today"
congestion_control = "reno"
receiver_window_segments = 42
[[flows]]
direction = "up"
[[flows]]
direction = "down"
"""


@cache
def missing() -> str:
    """What keeps this system from an emulation; nothing where one works."""
    if not sys.platform.startswith("linux"):
        return "no Linux"
    try:
        with session.started(settings(["true"])) as found:
            found.go()
            found.wait()
    except (InputError, WifairError) as error:
        return str(error)
    return ""


@pytest.fixture(autouse=True)
def needs_namespaces(request: pytest.FixtureRequest) -> None:
    if "system" in request.keywords and (reason := missing()):
        pytest.skip(f"no emulation here: {reason}")


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "up-and-down.toml"
    path.write_text(UP_AND_DOWN, encoding="utf-8")
    return path


def settings(command: list[str], **more: Any) -> session.Settings:
    plan = Scenario(phy={"name": "802.11b"}, flows=[{"count": 2, "direction": "up"}]).plan()
    return session.Settings(plan, "two stations", command, **more)


def wifair(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    line = [str(Path(sys.executable).with_name("wifair")), *words]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT, **more)


def namespaces() -> set[str]:
    """The network namespaces that some process of this system is in."""
    found = set()
    for link in Path("/proc").glob("[0-9]*/task/[0-9]*/ns/net"):
        try:
            found.add(os.readlink(link))
        except OSError:
            continue
    return found


CLIENT = """
import socket, sys
peer = socket.create_connection((sys.argv[1], 80), timeout=20)
peer.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
found = b""
while data := peer.recv(65536):
    found += data
sys.exit(0 if b"Directory listing" in found else 9)
"""


@pytest.mark.system
@pytest.mark.parametrize("family", ["10.0.255.254", "fd77:6966:6169:7200::fffe"])
def test_a_page_is_loaded_over_the_air(family: str) -> None:
    """A server and a client of the standard library, over IPv4 and IPv6, by the server's name, too."""
    script = f"""
    {sys.executable} -m http.server 80 --bind {family} >/dev/null 2>&1 &
    sleep 1.5
    nsenter --net=/proc/1/task/$(cat $WIFAIR_RUN/tid)/ns/net -- {sys.executable} -c '{CLIENT}' {family}
    """
    with session.started(settings(["sh", "-c", script])) as run:
        (run.folder / "tid").write_text(str(run.hosts[0]["tid"]), encoding="utf-8")
        run.go()
        report = run.wait()
    assert report["status"] == 0
    [request] = [row for row in report["flows"] if row["to_port"] == 80]
    assert (request["from"], request["to"], request["protocol"]) == ("up-1", "server", "tcp")
    answer = next(row for row in report["flows"] if row["from_port"] == 80)
    assert answer["payload_bytes"] > request["payload_bytes"] > 10
    assert answer["rtt_mean_ms"] > 10  # the wire alone has 5 ms each way
    # The last packet's outcome is the AP's when its MAC ACK has arrived, after the host has the packet.
    assert answer["delivered_packets"] - report["tables"]["queues"]["delivered_packets"][3] in (0, 1)


@pytest.mark.system
def test_the_exit_status_is_that_of_the_command() -> None:
    done = wifair("emulate", "scenarios/up-and-down.toml", "--in", "down-2", "--", "sh", "-c", "ip -4 addr; exit 7")
    assert done.returncode == 7, done.stderr
    assert "10.0.0.12/16" in done.stdout
    assert "exchanges were over 1 ms late" in done.stdout
    assert "server           10.0.255.254" in done.stderr


@pytest.mark.system
def test_exec_runs_a_command_on_a_host_and_everything_ends_with_the_run() -> None:
    before = namespaces()
    with session.started(settings(["sleep", "30"])) as run:
        run.go()
        inside = wifair("exec", "up-2", "--run", run.folder.name, "--", "sh", "-c", "cat /etc/hosts; ip -4 addr")
        assert inside.returncode == 0, inside.stderr
        assert "10.0.255.254 server" in inside.stdout
        assert "10.0.0.2/16" in inside.stdout
        routes = wifair("exec", "up-2", "--run", run.folder.name, "--", "ip", "route").stdout
        assert "default" not in routes
        assert "congctl cubic" in routes
        assert wifair("exec", "up-9", "--run", run.folder.name, "--", "true").returncode == 2
        assert len(namespaces() - before) == 3
        run.stop()
        assert run.wait()["end"] == "order"
    assert namespaces() <= before
    assert not run.folder.exists()


@pytest.mark.system
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_after_a_signal(number: int, scenario: Path) -> None:
    before = namespaces()
    line = [str(Path(sys.executable).with_name("wifair")), "emulate", str(scenario), "--", "sleep", "1000"]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert any("runs a command on a host" in line for line in process.stderr)
    process.send_signal(number)
    process.wait(20)
    process.stderr.close()
    until = time.monotonic() + 10
    while namespaces() - before and time.monotonic() < until:
        time.sleep(0.1)
    assert namespaces() <= before
    runs.forget_dead()
    assert not [folder for folder in runs.base().iterdir() if folder.name.startswith(f"{process.pid}-")]


@pytest.mark.system
def test_the_kernel_and_the_simulator_agree_about_who_gets_what(scenario: Path) -> None:
    """A download that shares the air with an upload: loose bounds, the study is in docs/emulate.md."""
    done = wifair("emulate", str(scenario), "--test", "tcp-up-down", "--runs", "1", "--json", "--late-share", "1")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    compared = {row["metric"]: row for row in document["compared"]}
    assert abs(compared["total_mbps"]["difference"]) < 0.2
    measured = document["runs"][0]["measured"]
    assert {row["label"] for row in measured} == {"up", "down"}
    assert all(len(row["tcp_info"]) > 300 and row["goodput_mbps"] > 0.1 for row in measured)
    assert max(cwnd for _, cwnd, *_ in measured[0]["tcp_info"]) > 10


@pytest.mark.system
def test_no_packet_is_lost_before_the_engine_has_seen_it() -> None:
    """A burst is longer than what a device queues by default (500 packets)."""
    burst = "import socket; out = socket.socket(type=socket.SOCK_DGRAM); [out.sendto(b'', ('up-1', 9)) for _ in range(5000)]"
    with session.started(settings([sys.executable, "-c", burst])) as run:
        run.go()
        report = run.wait()
    [row] = [row for row in report["flows"] if row["to_port"] == 9]
    assert row["sent_packets"] + sum(report["uncarried"].values()) == 5000
    assert row["dropped"] > 4000


@pytest.mark.system
def test_an_event_of_the_scenario_changes_the_run() -> None:
    wanted = settings([])
    wanted.plan["events"] = [{"at_s": 0.5, "station": {"label": "up-1", "rate_mbps": 1.0}}]
    wanted.duration_s = 1.0
    with session.started(wanted) as run:
        run.go()
        report = run.wait()
    stations = report["tables"]["stations"]
    rates = dict(
        zip(zip(stations["station"], stations["direction"], strict=True), stations["link_rate_mbps"], strict=True)
    )
    assert rates["up-1", "up"] == pytest.approx((11 + 1) / 2, rel=0.05)
    assert rates["up-2", "up"] == pytest.approx(11)
    assert report["end"] == "duration"


# In a mount namespace of its own: a TUN device that everybody may open, and the interpreter where everybody can read it. Then the
# command line as a user without privileges.
AS_NOBODY = """
set -e
mknod "$1/tun" c 10 200
chmod 666 "$1/tun"
mount --bind "$1/tun" /dev/net/tun
if [ -n "$2" ]; then
    mkdir "$1/python"
    mount --bind "$3" "$1/python"
    mount -t tmpfs -o mode=755 tmpfs "$2"
    mkdir -p "$3"
    mount --bind "$1/python" "$3"
fi
shift 3
exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"
"""


@pytest.mark.system
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only root can become somebody else")
def test_a_user_without_privileges_may_emulate(tmp_path: Path) -> None:
    prefix = Path(sys.base_prefix)
    closed = [str(folder) for folder in (*prefix.parents[::-1], prefix) if not folder.stat().st_mode & 0o001][:1]
    if closed and ROOT.is_relative_to(closed[0]):
        pytest.skip(f"{closed[0]} is closed to others")
    program = str(Path(sys.executable).with_name("wifair"))
    environment = {key: value for key, value in os.environ.items() if key not in ("XDG_RUNTIME_DIR", "TMPDIR")}

    def run(number: int, *words: str) -> subprocess.CompletedProcess[str]:
        folder = tmp_path / str(number)
        folder.mkdir()
        line = ["unshare", "--mount", "sh", "-c", AS_NOBODY, "sh", str(folder), *(closed or [""]), str(prefix)]
        line += [program, "emulate", str(ROOT / "scenarios/up-and-down.toml"), *words]
        return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False, cwd="/", env=environment)

    done = run(1, "--", "cat", "/proc/self/uid_map")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[:3] == ["0", "65534", "1"]
    refused = run(2, "--realtime", "--", "true")
    assert refused.returncode == 2
    assert "RTPRIO" in refused.stderr


def test_what_cannot_work_is_refused_with_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="--in up-7: no such host; the hosts are up-1, up-2, server"):
        session.check(settings([], host="up-7"))
    with pytest.raises(InputError, match=r"--congestion-control vegass: not in this kernel, which has .*reno"):
        session.check(settings([], congestion_control="vegass"))
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "which", lambda name: None)
        with pytest.raises(InputError, match="unshare is not installed; it is part of util-linux"):
            session.check(settings([]))
    monkeypatch.setattr(Path, "read_text", lambda self, encoding: "1")
    assert "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0" in session.reason(is_root=False)


def test_labels_become_host_names() -> None:
    assert session.host_names(["up-1", "Far away!", "far away", "server", "ß"]) == [
        "up-1",
        "far-away",
        "far-awayx",
        "serverx",
        "sta",
    ]


def test_a_scenario_without_the_flows_of_a_test_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pings.toml"
    path.write_text('[[flows]]\ndirection = "up"\napplication = "ping"\n', encoding="utf-8")
    done = wifair("emulate", str(path), "--test", "tcp-up-down")
    assert done.returncode == 2
    assert "no flow with the application bulk" in done.stderr


@pytest.fixture(scope="module", autouse=True)
def nothing_left() -> Iterator[None]:
    before = namespaces() if sys.platform.startswith("linux") else set()
    yield
    if before:
        assert namespaces() <= before
