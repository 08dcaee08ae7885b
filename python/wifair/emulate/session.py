"""A run of `wifair emulate`, controlled from the user's process.

`unshare` of util-linux makes user, mount and PID namespaces and process 1 in them (`engine`). When process 1 ends, the kernel kills
whatever runs in its PID namespace. It ends when the pipe from this process closes, so it also ends when this process is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from wifair import _native
from wifair.emulate import runs
from wifair.errors import InputError, WifairError
from wifair.keys import nearest

if TYPE_CHECKING:
    from wifair.study.traces import Traces

# Sysctls of all hosts. Metrics of an earlier connection would change the next.
SYSCTLS = {
    "net.ipv4.tcp_no_metrics_save": "1",
    "net.ipv4.ping_group_range": "0 0",
    "net.ipv6.conf.all.accept_dad": "0",
    "net.ipv6.conf.default.accept_dad": "0",
    "net.ipv6.conf.all.accept_ra": "0",
    "net.ipv6.conf.default.accept_ra": "0",
    "net.ipv6.conf.all.router_solicitations": "0",
    "net.ipv6.conf.default.router_solicitations": "0",
    "net.ipv6.conf.all.addr_gen_mode": "1",
    "net.ipv6.conf.default.addr_gen_mode": "1",
}
# Where the kernel has the sysctls of a network namespace. Not net.netfilter: nf_hooks_lwtunnel there is the machine's.
OF_HOSTS = ("net.ipv4.", "net.ipv6.", "net.core.", "net.mptcp.")
SERVER = "server"
# Transmit queue of the first station's iperf3 server; the next station's is one higher.
IPERF3_PORT = 5201


@dataclass
class Settings:
    """How to run a plan with real hosts. Times in seconds unless the name says otherwise."""

    plan: dict[str, Any]
    title: str
    command: list[str]
    host: str = SERVER
    seed: int = 1
    duration_s: float | None = None
    warmup_s: float = 0.0
    late_ms: float = 1.0
    late_share: float = 0.01
    spin_us: float = 0.0
    realtime: bool = False
    # Of all connections, whatever their sockets ask for: the kernel prefers a route's. None leaves it to the sockets.
    congestion_control: str | None = "cubic"
    sysctls: dict[str, str] = field(default_factory=dict)
    # Downlink data packets to lose, by number from 1.
    drops: list[int] = field(default_factory=list)
    # Captures (docs/traces.md).
    traces: Traces | None = None
    # Metrics of routes by their names in ip-route(8); `rto_min` in milliseconds.
    route: dict[str, str] = field(default_factory=dict)
    services: list[tuple[str, list[str]]] = field(default_factory=list)
    # Files for the command, in the folder named by its environment variable WIFAIR_RUN.
    files: dict[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The stations' host names, by index."""
        return host_names([station["label"] for station in self.plan["bss"]["stations"]])


def host_names(labels: list[str]) -> list[str]:
    """Unique host names from labels, with characters that RFC 1123 allows."""
    names: list[str] = []
    for label in labels:
        name = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:50] or "sta"
        while name in names or name in (SERVER, "localhost"):
            name += "x"
        names.append(name)
    return names


@dataclass
class Session:
    """A started run. Leaving the `with` block ends it."""

    settings: Settings
    folder: Path
    process: subprocess.Popen[bytes]
    messages: IO[str]
    orders: int
    has_user_namespace: bool
    hosts: list[dict[str, Any]] = field(default_factory=list)

    def go(self) -> None:
        """Starts the command."""
        os.write(self.orders, b"g")

    def stop(self) -> None:
        """Ends the run; its report is written."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self.orders, b"q")

    def wait(self, each_second: Callable[[float], None] = lambda _: None) -> dict[str, Any]:
        """Waits for the end and returns the report. `each_second` is called with the time of the run in seconds."""
        for line in self.messages:
            each_second(json.loads(line)["at_s"])
        self.process.wait()
        return self.report()

    def report(self) -> dict[str, Any]:
        """The report. Raises an exception if the run failed."""
        try:
            report: dict[str, Any] = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise WifairError(f"the emulation was killed (status {self.process.returncode}).") from None
        if "error" in report:
            raise WifairError(f"{report['error']}.")
        return report


@contextlib.contextmanager
def started(settings: Settings) -> Iterator[Session]:
    """Starts a run up to the point where all hosts exist; `Session.go` starts its command."""
    check(settings)
    is_root = os.geteuid() == 0 and has_capability(CAP_SYS_ADMIN)
    folder = runs.new_folder()
    read_messages, write_messages = os.pipe()
    read_orders, write_orders = os.pipe()
    try:
        prepare(settings, folder)
        namespaces = [] if is_root else ["--user", "--map-root-user"]
        arguments = [str(folder), str(write_messages), str(read_orders)]
        engine = [sys.executable, "-P", "-m", "wifair.emulate.engine", *arguments]
        unshare = ["unshare", *namespaces, "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]
        process = subprocess.Popen([*unshare, *engine], pass_fds=(write_messages, read_orders))
        os.close(write_messages)
        os.close(read_orders)
        with open(read_messages, encoding="utf-8") as messages:
            session = Session(settings, folder, process, messages, write_orders, not is_root)
            try:
                first = messages.readline()
                if not first:
                    process.wait()
                    if (folder / "report.json").exists():
                        session.report()
                    raise WifairError(f"no namespaces: {reason(is_root)}.")
                session.hosts = json.loads(first)["hosts"]
                (folder / "hosts.json").write_text(json.dumps(session.hosts), encoding="utf-8")
                threads = {host["name"]: host["tid"] for host in session.hosts}
                runs.Run(folder, process.pid, settings.title, session.has_user_namespace, threads).write()
                yield session
            finally:
                session.stop()
                os.close(write_orders)
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()  # and with it process 1
                    process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def prepare(settings: Settings, folder: Path) -> None:
    """Writes the input files of process 1."""
    for name, text in settings.files.items():
        (folder / name).write_text(text, encoding="utf-8")
    control = {"congctl": settings.congestion_control} if settings.congestion_control else {}
    options = {
        "seed": settings.seed,
        "duration_s": settings.duration_s,
        "warmup_s": settings.warmup_s,
        "tolerance": {"late_ms": settings.late_ms, "share": settings.late_share},
        "spin_us": settings.spin_us,
        "sysctls": list((SYSCTLS | settings.sysctls).items()),
        # Not the sysctl: it allows namespaces only some of the kernel's congestion controls.
        "route": list((control | settings.route).items()),
        "names": settings.names,
        "drops": settings.drops,
        "trace": json.loads(settings.traces.of(json.dumps(settings.plan), settings.seed)) if settings.traces else None,
        "services": settings.services,
        "command": settings.command,
        "host": settings.host,
        "environment": {"WIFAIR_RUN": str(folder)},
        "hosts_file": str(folder / "hosts"),
    }
    document = {"plan": json.dumps(settings.plan), "options": options, "realtime": settings.realtime}
    (folder / "settings.json").write_text(json.dumps(document), encoding="utf-8")


CAP_SYS_ADMIN = 21
CAP_SYS_NICE = 23


def has_capability(number: int) -> bool:
    """Whether this process has a capability (capabilities(7))."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    found = re.search(r"^CapEff:\s*([0-9a-f]+)", status, re.MULTILINE)
    return found is not None and bool(int(found[1], 16) >> number & 1)


def check(settings: Settings) -> None:
    """Raises `InputError` for settings that cannot work here, naming what is missing."""
    if not hasattr(_native, "emulate"):
        raise InputError("an emulation needs Linux: its hosts are network namespaces.")
    for program in ("unshare", "nsenter"):
        if not shutil.which(program):
            raise InputError(f"{program} is not installed; it is part of util-linux.")
    device = Path("/dev/net/tun")
    if not device.exists():
        raise InputError(f"{device} does not exist; `modprobe tun` as root makes it.")
    if not os.access(device, os.R_OK | os.W_OK):
        raise InputError(f"{device} may not be opened; `chmod 0666 {device}` as root allows it, as udev does.")
    if settings.realtime:
        check_realtime()
    if settings.duration_s is not None and settings.warmup_s >= settings.duration_s:
        raise InputError(
            f"--warmup {settings.warmup_s:g}: must be less than --duration {settings.duration_s:g}, or nothing is measured."
        )
    check_sysctls(settings.sysctls)
    known = [*settings.names, SERVER]
    if settings.host not in known:
        raise InputError(f"--in {settings.host}: no such host; the hosts are {', '.join(known)}.")
    allowed = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="utf-8").split()
    if settings.congestion_control not in (None, *allowed):
        name = settings.congestion_control
        raise InputError(f"--congestion-control {name}: not in this kernel, which has {', '.join(allowed)}.")


def check_sysctls(sysctls: Mapping[str, str]) -> None:
    """Refuses keys that are not of a host's network namespace. The engine refuses those that the machine does not give to one."""
    for key, value in sysctls.items():
        allowed = ", ".join(f"{prefix}*" for prefix in OF_HOSTS)
        problem = f"allowed are keys of a host's network namespace: {allowed}"
        if key.startswith(OF_HOSTS):
            if Path("/proc/sys", key.replace(".", "/")).is_file():
                continue
            problem = "no such key in this kernel; `sysctl -a` lists them"
        hint = nearest(key, _sysctls_of_hosts())
        raise InputError(f"--sysctl {key}={value}: {problem}." + (f" Did you mean {hint}?" if hint else ""))


def _sysctls_of_hosts() -> list[str]:
    """The keys below `OF_HOSTS` that this kernel has."""
    root = Path("/proc/sys")
    files = (file for prefix in OF_HOSTS for file in (root / prefix.replace(".", "/")).rglob("*") if file.is_file())
    return [".".join(file.relative_to(root).parts) for file in files]


def check_realtime() -> None:
    """`--realtime` needs a privilege in the initial user namespace."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
    if not has_capability(CAP_SYS_NICE) and limit < 10:
        raise InputError(
            "--realtime: needs root (CAP_SYS_NICE) or a limit RTPRIO of 10; "
            "`ulimit -r` shows the limit, /etc/security/limits.conf sets it (`USER - rtprio 10`)."
        )


def reason(is_root: bool) -> str:
    """The reason why the namespaces could not be made, if known."""
    if is_root:
        return "`unshare` failed, as it says above"

    def sysctl(name: str) -> str:
        try:
            return Path("/proc/sys", name.replace(".", "/")).read_text(encoding="utf-8").strip()
        except OSError:
            return ""

    for name, forbids in (
        ("kernel.apparmor_restrict_unprivileged_userns", "1"),
        ("kernel.unprivileged_userns_clone", "0"),
        ("user.max_user_namespaces", "0"),
    ):
        if sysctl(name) == forbids:
            allowed = {"1": "0", "0": "1"}[forbids] if name != "user.max_user_namespaces" else "10000"
            return (
                f"{name} = {forbids} keeps users from making namespaces; `sudo sysctl {name}={allowed}` allows it, "
                "or run wifair as root"
            )
    return "`unshare` failed, as it says above; root may do what a user may not"
