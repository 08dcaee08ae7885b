"""Real hosts on the simulated air. What the system must allow is probed for; where it does not, the tests are skipped with the reason.

They run one after the other (`--dist loadfile`) and are loose on time: a busy machine makes a run invalid, not wrong.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Strangers
from wifair.cli.printed_emulation import print_comparison, print_emulation
from wifair.emulate import explained, runs, session
from wifair.emulate.verdict import STATUS as INVALID_STATUS
from wifair.errors import InputError, WifairError
from wifair.report.parts import Cell, Table, Text
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


@pytest.mark.system
def test_no_code_is_run_from_the_current_directory(strangers: Strangers) -> None:
    done = strangers.wifair("emulate", "cell.toml", "--test", "tcp-up-down", "--runs", "1", "--late-share", "1")
    assert strangers.ran() == ""
    assert done.returncode == 0, done.stderr


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
    assert "INVALID: no frame exchange was measured" in done.stdout
    assert "server           10.0.255.254" in done.stderr


@pytest.mark.system
def test_exec_runs_a_command_on_a_host_and_everything_ends_with_the_run() -> None:
    with session.started(settings(["sleep", "30"])) as run:
        run.go()
        footprint = Footprint.of(os.getpid())
        inside = wifair("exec", "up-2", "--run", run.folder.name, "--", "sh", "-c", "cat /etc/hosts; ip -4 addr")
        assert inside.returncode == 0, inside.stderr
        assert "10.0.255.254 server" in inside.stdout
        assert "10.0.0.2/16" in inside.stdout
        routes = wifair("exec", "up-2", "--run", run.folder.name, "--", "ip", "route").stdout
        assert "default" not in routes
        assert "congctl cubic" in routes
        assert wifair("exec", "up-9", "--run", run.folder.name, "--", "true").returncode == 2
        run.stop()
        assert run.wait()["end"] == "order"
    assert footprint.left() == set()


@dataclass
class Footprint:
    """What a run has in the system: namespaces, which live as long as a process is in them, and a folder. TUN devices are in the former."""

    launcher: int
    engine: int
    namespaces: set[str]
    folders: set[Path]

    @classmethod
    def of(cls, command_line: int) -> Footprint:
        """Of the run that a process has started."""
        [run] = [run for run in runs.running() if run.folder.name.startswith(f"{command_line}-")]
        [engine] = children(run.pid)
        own = in_namespaces(Path("/proc/self"))
        found = set().union(*(in_namespaces(task) for task in Path(f"/proc/{engine}/task").iterdir())) - own
        assert len([name for name in found if name.startswith("net:")]) == 3  # two stations and the server
        assert any(name.startswith("pid:") for name in found)
        return cls(run.pid, engine, found, {run.folder})

    def left(self) -> set[str]:
        """What of it there still is, within ten seconds: processes and folders."""
        until = time.monotonic() + 10
        while (found := self.now()) and time.monotonic() < until:
            time.sleep(0.1)
        return found

    def now(self) -> set[str]:
        runs.forget_dead()
        found = {str(folder) for folder in self.folders if folder.exists()}
        for task in Path("/proc").glob("[0-9]*/task/[0-9]*"):
            if in_namespaces(task) & self.namespaces:
                with suppress(OSError):
                    found.add(f"{task}: {(task / 'cmdline').read_text()} {(task / 'status').read_text()[:400]}")
        return found


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()]


def in_namespaces(task: Path) -> set[str]:
    found = set()
    for kind in ("net", "pid", "mnt"):
        with suppress(OSError):
            found.add(os.readlink(task / "ns" / kind))
    return found


@contextmanager
def emulating(scenario: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], Footprint]]:
    """A run of the command line, in a process group of its own as a terminal makes one, and what it has in the system."""
    interfaces = socket.if_nameindex()
    line = [str(Path(sys.executable).with_name("wifair")), "emulate", str(scenario), *words]
    process = subprocess.Popen(
        line, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    try:
        said = []
        for text in process.stderr:
            said.append(text)
            if "runs a command on a host" in text:
                break
        else:
            pytest.fail("".join(said))
        footprint = Footprint.of(process.pid)
        time.sleep(0.3)  # the command starts
        yield process, footprint
        assert footprint.left() == set()
        assert socket.if_nameindex() == interfaces
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(20)
        process.stderr.close()


@pytest.mark.system
@pytest.mark.parametrize(
    ("whom", "number", "status"),
    [
        ("group", signal.SIGINT, 128 + signal.SIGINT),  # Ctrl-C: the command's status
        ("command line", signal.SIGTERM, INVALID_STATUS),  # nothing was sent
        ("command line", signal.SIGKILL, -signal.SIGKILL),
        ("launcher", signal.SIGKILL, None),
        ("engine", signal.SIGKILL, None),
    ],
)
def test_nothing_is_left_after_a_signal(whom: str, number: int, status: int | None, scenario: Path) -> None:
    with emulating(scenario, "--in", "up", "--", "sleep", "1000") as (process, footprint):
        match whom:
            case "group":
                os.killpg(process.pid, number)
            case "command line":
                process.send_signal(number)
            case "launcher":
                os.kill(footprint.launcher, number)
            case "engine":
                os.kill(footprint.engine, number)
        process.wait(20)
        assert process.stderr is not None
        said = process.stderr.read()
        if status is None:
            assert process.returncode == 1
            assert "the emulation was killed" in said
        else:
            assert process.returncode == status, said


@pytest.mark.system
def test_ctrl_c_ends_a_run_without_a_command(scenario: Path) -> None:
    with emulating(scenario, "--duration", "1000") as (process, _):
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(20) == INVALID_STATUS


SENDER = """
import socket, time
out = socket.socket(type=socket.SOCK_DGRAM)
for number in range(10**6):
    out.sendto(b"", ("server", 9))
    if number < 2:
        print("sent", flush=True)
    time.sleep(0.01)
"""


@pytest.mark.system
def test_the_death_of_a_stations_process_is_no_end_for_the_others() -> None:
    with session.started(settings(["sleep", "60"])) as run:
        run.go()
        words = ["exec", "--run", run.folder.name]
        line = [str(Path(sys.executable).with_name("wifair")), *words]
        programs = [
            subprocess.Popen([*line, name, "--", sys.executable, "-c", SENDER], stdout=subprocess.PIPE)
            for name in ("up-1", "up-2")
        ]
        try:
            for program in programs:
                assert program.stdout is not None
                assert program.stdout.readline() == b"sent\n"
            [sender] = children(programs[0].pid)
            os.kill(sender, signal.SIGKILL)
            assert programs[0].wait(10) != 0
            time.sleep(0.7)
            assert programs[1].poll() is None
            assert wifair(*words, "up-1", "--", "ip", "-4", "addr", "show", "wlan0").returncode == 0
            os.kill(children(programs[1].pid)[0], signal.SIGKILL)
        finally:
            for program in programs:
                program.kill()
                program.communicate(timeout=10)
        run.stop()
        report = run.wait()
    sent = {row["from"]: row["delivered_packets"] for row in report["flows"] if row["to_port"] == 9}
    assert sent["up-2"] > sent["up-1"] > 0


FLOOD = """
import socket, time
ends = [socket.socket(type=socket.SOCK_DGRAM) for _ in range(20)]
until = time.monotonic() + 4
while time.monotonic() < until:
    for end in ends:
        end.sendto(bytes(200), ("up-1", 9))
    time.sleep(0.001)
"""


@pytest.mark.system
def test_memory_is_flat_under_load() -> None:
    """Twenty flows overload the AP's buffer; ten minutes of it are a matter for `benches/emulate_load.py`."""
    with session.started(settings([sys.executable, "-c", FLOOD])) as run:
        [engine] = children(run.process.pid)
        sizes: list[int] = []

        def each_second(_: float) -> None:
            sizes.append(resident_bytes(engine))

        run.go()
        report = run.wait(each_second)
    assert sum(row["dropped"] for row in report["flows"]) > 10_000
    assert len(sizes) >= 3
    assert sizes[-1] < sizes[0] + 2e6, sizes


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


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


BURST = """
import socket, time
time.sleep(0.5)
end = socket.socket(type=socket.SOCK_DGRAM)
for _ in range(5000):
    end.sendto(b"", ("up-1", 9))
"""


@pytest.mark.system
def test_no_packet_is_lost_before_the_engine_has_seen_it() -> None:
    """A burst is longer than what a device queues by default (500 packets): most of it is dropped by the AP's scheme."""
    with session.started(settings([sys.executable, "-c", BURST + "time.sleep(0.5)"])) as run:
        run.go()
        report = run.wait()
    [row] = [row for row in report["flows"] if row["to_port"] == 9]
    assert row["sent_packets"] + sum(report["uncarried"].values()) == 5000
    assert row["dropped"] > 4000


@pytest.mark.system
def test_packets_sent_before_the_end_of_the_command_are_counted() -> None:
    """The engine stands still while the command sends and ends."""
    with session.started(settings([sys.executable, "-c", BURST])) as run:
        [engine] = children(run.process.pid)
        run.go()
        time.sleep(0.2)
        os.kill(engine, signal.SIGSTOP)
        time.sleep(1)
        os.kill(engine, signal.SIGCONT)
        report = run.wait()
    [row] = [row for row in report["flows"] if row["to_port"] == 9]
    assert row["sent_packets"] + sum(report["uncarried"].values()) == 5000


@pytest.mark.system
def test_a_standstill_makes_a_run_invalid() -> None:
    """The engine stands still while nothing is on the air, so that no exchange is late."""
    with session.started(settings([sys.executable, "-c", BURST + "time.sleep(1.2)"], late_ms=20)) as run:
        [engine] = children(run.process.pid)
        run.go()
        time.sleep(1)
        os.kill(engine, signal.SIGSTOP)
        time.sleep(0.4)
        os.kill(engine, signal.SIGCONT)
        lateness = run.wait()["lateness"]
    assert lateness["exchanges"] > 0
    assert lateness["late_s"] > 0.35
    assert not lateness["valid"]


@pytest.mark.system
def test_a_run_without_an_exchange_is_invalid(tmp_path: Path) -> None:
    done = wifair("emulate", "scenarios/up-and-down.toml", "--late-share", "1", "--", "true")
    assert done.returncode == INVALID_STATUS == 3, done.stderr
    assert done.stdout.startswith("INVALID: no frame exchange was measured")
    page = tmp_path / "page.html"
    words = ["--warmup", "5", "--explain", "--report", str(page)]
    done = wifair("emulate", "scenarios/up-and-down.toml", *words, "--", "true")
    assert done.returncode == INVALID_STATUS, done.stderr
    assert done.stdout.startswith("INVALID: the run ended before its warm-up")
    assert "INVALID: the run ended before its warm-up" in page.read_text(encoding="utf-8")


@pytest.mark.system
def test_an_interface_that_disappears_ends_the_run() -> None:
    began = time.monotonic()
    done = wifair(
        "emulate", "scenarios/up-and-down.toml", "--in", "up-2", "--", "sh", "-c", "ip link del wlan0; sleep 20"
    )
    assert done.returncode == 1
    assert "up-2: the interface wlan0 has disappeared" in done.stderr
    assert time.monotonic() - began < 15


@pytest.mark.system
def test_a_sysctl_that_a_host_does_not_have_is_refused() -> None:
    done = wifair("emulate", "scenarios/up-and-down.toml", "--sysctl", "net.core.dev_weight=64", "--", "true")
    assert done.returncode == 1
    assert "sysctl net.core.dev_weight=64: this key is the machine's, not a host's" in done.stderr


@pytest.mark.system
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
@pytest.mark.skipif(not Path("/proc/sys/net/core/rps_default_mask").exists(), reason="a kernel before 6.3")
def test_hosts_process_packets_on_other_processors_than_the_engines(tmp_path: Path) -> None:
    found = tmp_path / "found"
    look = f"cat /proc/sys/net/core/rps_default_mask > {found}; grep Cpus_allowed: /proc/1/status >> {found}"
    with session.started(settings(["sh", "-c", f"sleep 0.3; {look}"])) as run:
        run.go()
        assert run.wait()["refused"] == 0
    mask, engine = (int(line.split()[-1].replace(",", ""), 16) for line in found.read_text().splitlines())
    assert mask.bit_count() >= 1
    assert engine.bit_count() == 1
    assert mask & engine == 0


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


WEB = """
[run]
warmup_s = 1
duration_s = 3
[wire]
rate_mbps = 100
[tcp]
profile = "today"
[[flows]]
name = "pages"
direction = "down"
start_spread_s = 0
application = { name = "web", connections = 2, min_bytes = 50_000, max_bytes = 50_000, think_mean_s = 0.1 }
"""


@pytest.mark.system
def test_documents_are_loaded_by_curl(tmp_path: Path) -> None:
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    path = tmp_path / "web.toml"
    path.write_text(WEB, encoding="utf-8")
    done = wifair("emulate", str(path), "--test", "web", "--runs", "1", "--json", "--late-share", "1")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    compared = {row["metric"]: row for row in document["compared"]}
    assert set(compared) == {"down_mbps", "total_mbps", "pages.completed", "pages.p50_s", "pages.p95_s"}
    # Before its data comes, a document of curl's has a connection and a request to wait for.
    [emulated, *_], [simulated, *_] = compared["pages.p50_s"]["emulated"], compared["pages.p50_s"]["simulated"]
    assert 0.3 * simulated < emulated < 3 * simulated + 0.1
    [row] = document["runs"][0]["measured"]
    assert sum(document["seconds"] is not None for document in row["documents"]) > 2


DATAGRAMS = """
import socket
out = socket.socket(type=socket.SOCK_DGRAM)
for _ in range(20):
    out.sendto(b"a real packet", ("up", 9))
"""


@pytest.mark.system
def test_captures_explanation_and_page_are_of_the_real_packets(scenario: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ["--pcap", str(tmp_path), "--pcap-station", "up", "--pcap-servers", "--pcap-full", "--explain"]
    words += ["--late-share", "1"]
    command = ["sh", "-c", f"{shlex.join([sys.executable, '-c', DATAGRAMS])}; sleep 0.5"]
    done = wifair("emulate", str(scenario), *words, "--report", str(page), "--", *command)
    assert done.returncode == 0, done.stderr
    for name in ("ap-air", "ap-wire", "servers", "station-up-air", "station-up-host"):
        # The station answers some with an ICMP error, which quotes them.
        assert 20 <= (tmp_path / "seed-1" / f"{name}.pcapng").read_bytes().count(b"a real packet") <= 40, name
    assert "The AP's buffer dropped 0.0% of 20 packets" in " ".join(done.stdout.split())
    assert "How to run it again" in page.read_text(encoding="utf-8")
    # A cell with A-MPDUs.
    done = wifair("emulate", "cafe", "--pcap", str(tmp_path / "cafe"), "--", "true")
    assert "aggregated" not in done.stderr
    assert (tmp_path / "cafe" / "seed-1" / "ap-air.pcapng").exists()


# In a mount namespace of its own: a TUN device that everybody may open, and the interpreter where everybody can read it. Then
# the command line as a user without privileges.
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
    assert done.returncode == INVALID_STATUS, done.stderr  # nothing was sent
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


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        (
            "kernel.hostname",
            "allowed are keys of a host's network namespace: net.ipv4.*, net.ipv6.*, net.core.*, net.mptcp.*.",
        ),
        ("net.netfilter.nf_hooks_lwtunnel", "allowed are keys of a host's network namespace"),
        ("net.ipv4./../../kernel/hostname", "no such key in this kernel"),
        ("tcp_recovery", "Did you mean net.ipv4.tcp_recovery?"),
        ("net.ipv4.tcp_recovry", "Did you mean net.ipv4.tcp_recovery?"),
    ],
)
def test_a_sysctl_of_the_machine_is_refused(key: str, problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(f"--sysctl {key}=1: ")) as caught:
        session.check(settings([], sysctls={key: "1"}))
    assert problem in str(caught.value)


def test_a_warmup_that_leaves_nothing_to_measure_is_refused() -> None:
    for warmup_s in (2.0, 3.0):
        with pytest.raises(InputError, match=f"--warmup {warmup_s:g}: must be less than --duration 2"):
            session.check(settings([], warmup_s=warmup_s, duration_s=2.0))


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


LATENESS = {
    "exchanges": 1000,
    "late": 4,
    "late_s": 3.0,
    "late_time_share": 0.06,
    "valid": False,
    "tolerance": {"late_ms": 1.0, "share": 0.01},
    "p50_us": 70.0,
    "p99_us": 500.0,
    "max_us": 3e6,
    "histogram": [],
}


def test_an_invalid_run_says_so_first_wherever_it_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    results = Scenario(phy={"name": "802.11b"}, flows=[{"direction": "up"}], run={"duration_s": 1.0}).run(1)
    tables = {name: frame.to_dict(as_series=False) for name, frame in results.frames.items()}
    report: dict[str, Any] = {"measured_s": 50.0, "lateness": LATENESS, "flows": [], "tables": tables, "status": 0}
    said = "INVALID: 0.40% of 1000 exchanges and 6.00% of the time were over 1 ms late (at most 1% of each)"
    print_emulation(report, verbose=False)
    assert capsys.readouterr().out.replace("\n", " ").startswith(said)
    valid = report | {"lateness": LATENESS | {"valid": True}}
    print_comparison("two runs", [valid, report], 10, [])
    assert "INVALID (1 of 2 runs): two runs" in capsys.readouterr().out
    page = explained.page(settings([]), [report], [])
    warning, lateness = page.sections[0].parts[0], page.sections[1].parts[0]
    assert isinstance(warning, Text)
    assert isinstance(lateness, Table)
    assert (warning.tone, warning.paragraphs[0][: len(said)]) == ("warning", said)
    assert lateness.rows[0][1] == Cell("INVALID")
    assert "INVALID" not in str(explained.page(settings([]), [valid], []))
