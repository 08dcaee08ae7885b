"""What is running, by folders: one per run below a folder that only its user can enter."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wifair.errors import InputError


def base() -> Path:
    """The folder of all runs of this user, made with mode 0700."""
    given = os.environ.get("XDG_RUNTIME_DIR")
    folder = Path(given) / "wifair" if given else Path(tempfile.gettempdir()) / f"wifair-{os.getuid()}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise InputError(f"{folder}: must be a folder that you own and nobody else can enter.")
    return folder


@dataclass(frozen=True)
class Run:
    """A run that has not ended."""

    folder: Path
    # A process in the run's namespaces, by its id in this process's PID namespace.
    pid: int
    title: str
    has_user_namespace: bool
    # By name of host: the thread whose network namespace it is, in the run's PID namespace.
    threads: dict[str, int]

    @property
    def name(self) -> str:
        """The run's name for `--run`."""
        return self.folder.name

    def enter(self, host: str, command: list[str]) -> list[str]:
        """The command line for a command on a host."""
        if host not in self.threads:
            known = ", ".join(self.threads)
            raise InputError(f"{host}: no host of the emulation {self.name}; its hosts are {known}.")
        namespaces = f"/proc/{self.pid}/ns"
        outer = ["nsenter", f"--mount={namespaces}/mnt", f"--pid={namespaces}/pid_for_children", f"--wd={os.getcwd()}"]
        if self.has_user_namespace:
            outer += [f"--user={namespaces}/user", "--preserve-credentials"]
        return [*outer, "--", "nsenter", f"--net=/proc/1/task/{self.threads[host]}/ns/net", "--", *command]

    def write(self) -> None:
        """Makes the run known to `wifair exec`."""
        document = {
            "pid": self.pid,
            "title": self.title,
            "has_user_namespace": self.has_user_namespace,
            "threads": self.threads,
        }
        (self.folder / "run.json").write_text(json.dumps(document), encoding="utf-8")


def new_folder() -> Path:
    """A folder for a run of this process."""
    forget_dead()
    return Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=base()))


def forget_dead() -> None:
    """Removes the folders of runs whose process no longer exists."""
    for folder in base().iterdir():
        pid = folder.name.partition("-")[0]
        if pid.isdecimal() and not Path("/proc", pid).exists():
            shutil.rmtree(folder, ignore_errors=True)


def running() -> list[Run]:
    """The runs of this user, the oldest first."""
    found = []
    for folder in sorted(base().iterdir(), key=lambda folder: folder.stat().st_mtime):
        try:
            known: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if Path("/proc", str(known["pid"])).exists():
            found.append(Run(folder, **known))
    return found


def chosen(name: str | None) -> Run:
    """The run of this name, or the only one."""
    all_runs = running()
    wanted = [run for run in all_runs if name in (None, run.name)]
    if len(wanted) == 1:
        return wanted[0]
    known = "; ".join(f"{run.name} ({run.title})" for run in all_runs) or "none"
    problem = (
        "no emulation is running" if not all_runs else "say which one with --run" if not name else f"no run {name}"
    )
    raise InputError(f"{problem}; running: {known}.")
