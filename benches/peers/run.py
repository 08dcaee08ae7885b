"""The same cell in wifair, ns-2 and ns-3: CPU seconds per simulated second, with the throughputs beside them.

Runs whichever of the three is present, installs nothing, and needs nothing but Python's standard library. The cost is
the slope between two horizons, so that start-up does not count. The simulators take turns within each repetition, so
that a busy machine slows all of them alike; ratios are taken within a repetition. See README.md.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "target" / "peers"
WARMUP_S = 10
MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024  # unit of ru_maxrss


class MissingError(Exception):
    """A peer cannot be run here; the text says what lacks and how to get it."""


@dataclass(frozen=True)
class Work:
    """One run: flows in each direction, measured seconds after the warm-up, seed."""

    flows: int
    measured_s: float
    seed: int


class Peer(ABC):
    """A simulator: how to find it, how to start it, how to read what it prints."""

    name: ClassVar[str]
    # Its horizons are this many times those asked for: a fast simulator needs a long run to show a slope.
    stretch: ClassVar[int] = 1

    @abstractmethod
    def command(self, work: Work) -> list[str]:
        """The command that does the work."""

    @abstractmethod
    def throughputs(self, output: str) -> tuple[float, float]:
        """Payload of all uplink and all downlink flows, Mbps."""


class Wifair(Peer):
    name = "wifair"
    stretch = 1000

    def __init__(self, option: argparse.Namespace) -> None:
        beside = str(Path(sys.executable).parent)
        found = option.wifair or shutil.which("wifair", path=os.pathsep.join([beside, os.environ.get("PATH", "")]))
        if not found:
            raise MissingError(
                "no command `wifair` here; `make demo` builds it into .venv/bin, or name it with --wifair"
            )
        self.program = found

    def command(self, work: Work) -> list[str]:
        # The command line counts replications from seed 1 on: every repetition is the same run.
        command = [self.program, "run", str(HERE / "symmetric.toml"), "--json", "--seeds", "1", "--threads", "1"]
        settings = {
            "run.warmup_s": float(WARMUP_S),
            "run.duration_s": work.measured_s,
            "flows[0].count": work.flows,
            "flows[1].count": work.flows,
        }
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        return command

    def throughputs(self, output: str) -> tuple[float, float]:
        means = {row["metric"]: row["mean"] for row in json.loads(output)["summary"]}
        return means["up_mbps"], means["down_mbps"]


class Ns2(Peer):
    name = "ns-2"

    def __init__(self, option: argparse.Namespace) -> None:
        found = option.ns2 or shutil.which("ns")
        if not found:
            raise MissingError("no command `ns` here; on Debian `apt install ns2` brings it, or name it with --ns2")
        self.program = found

    def command(self, work: Work) -> list[str]:
        settings = {
            "up": work.flows,
            "down": work.flows,
            "warmup_s": WARMUP_S,
            "measured_s": work.measured_s,
            "seed": work.seed,
        }
        words = [str(word) for pair in settings.items() for word in pair]
        return [self.program, str(HERE / "ns2_symmetric.tcl"), *words]

    def throughputs(self, output: str) -> tuple[float, float]:
        return sums(next(line for line in output.splitlines() if line.startswith("{")))


class Ns3(Peer):
    name = "ns-3"
    MODULES = ("wifi", "applications", "point-to-point", "internet", "traffic-control", "mobility", "propagation")
    MODULES += ("spectrum", "antenna", "bridge", "network", "stats", "core")

    def __init__(self, option: argparse.Namespace) -> None:
        self.prefix = self.find(option.ns3)
        self.program = self.build()

    @staticmethod
    def find(given: Path | None) -> Path:
        """The folder that has `include/ns3` and the libraries: the one given, or that of the PyPI package."""
        if given:
            return given.resolve()
        package = importlib.util.find_spec("ns3")
        for folder in (package and package.submodule_search_locations) or ():
            if Path(folder, "include", "ns3").is_dir():
                return Path(folder)
        how = f"`{sys.executable} -m pip install ns3` brings 3.44; or name another installation with --ns3"
        raise MissingError(f"Python finds no package `ns3`; {how}")

    def build(self) -> str:
        """Compiles the scenario against that ns-3 unless that has been done."""
        cores = sorted(self.prefix.glob("lib*/libns3*-core*.so"))
        compiler = shutil.which(os.environ.get("CXX", "g++"))
        if not cores or not compiler:
            raise MissingError("no C++ compiler" if cores else f"no libns3*-core*.so under {self.prefix}/lib*")
        source = HERE / "ns3_symmetric.cc"
        program = BUILD / f"ns3_symmetric-{hashlib.sha256(bytes(self.prefix)).hexdigest()[:8]}"
        if program.exists() and program.stat().st_mtime > max(source.stat().st_mtime, cores[0].stat().st_mtime):
            return str(program)
        print("compiling ns3_symmetric.cc", file=sys.stderr)
        BUILD.mkdir(parents=True, exist_ok=True)
        libraries = [cores[0].with_name(cores[0].name.replace("-core", f"-{module}")) for module in self.MODULES]
        command = [compiler, "-std=c++20", "-O2", f"-I{self.prefix / 'include'}", str(source), "-o", str(program)]
        command += [f"-Wl,-rpath,{cores[0].parent}", *(str(path) for path in libraries if path.exists())]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise MissingError(f"ns3_symmetric.cc (for 3.44) does not compile with this one:\n{done.stderr[:2000]}")
        return str(program)

    def command(self, work: Work) -> list[str]:
        settings = {
            "up": work.flows,
            "down": work.flows,
            "warmup": WARMUP_S,
            "measured": work.measured_s,
            "seed": work.seed,
        }
        return [self.program, *(f"--{key}={value}" for key, value in settings.items())]

    def throughputs(self, output: str) -> tuple[float, float]:
        return sums(output)


PEERS = (Wifair, Ns2, Ns3)


def sums(document: str) -> tuple[float, float]:
    """Payload throughputs, Mbps, of what our ns-2 and ns-3 programs print."""
    flows = json.loads(document)
    return sum(flows["up_kbps"]) / 1000, sum(flows["down_kbps"]) / 1000


@dataclass(frozen=True)
class Run:
    """What one child process cost and found."""

    cpu_s: float
    peak_bytes: int
    up_mbps: float
    down_mbps: float


def run(peer: Peer, work: Work) -> Run:
    """One child process, its resources read from the kernel when it has ended."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as complaints:
        child = subprocess.Popen(peer.command(work), stdout=output, stderr=complaints)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        complaints.seek(0)
        if child.returncode:
            raise SystemExit(f"{peer.name} failed ({child.returncode}): {complaints.read()[-2000:]}")
        up, down = peer.throughputs(output.read())
    return Run(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * MAXRSS_BYTES, up, down)


@dataclass
class Record:
    """All repetitions of one peer."""

    peer: Peer
    horizons_s: tuple[float, float]
    slopes: list[float] = field(default_factory=list)
    startups: list[float] = field(default_factory=list)
    longest: list[Run] = field(default_factory=list)

    def add(self, short: Run, long: Run) -> None:
        near, far = self.horizons_s
        slope = (long.cpu_s - short.cpu_s) / (far - near)
        if slope <= 0:
            raise SystemExit(f"{self.peer.name}: {far:g} s cost no more than {near:g} s; set --horizons further apart")
        self.slopes.append(slope)
        self.startups.append(short.cpu_s - slope * (near + WARMUP_S))
        self.longest.append(long)

    def summary(self, reference: Record) -> dict[str, object]:
        ratios = [mine / other for mine, other in zip(self.slopes, reference.slopes, strict=True)]
        return {
            "peer": self.peer.name,
            "horizons_s": self.horizons_s,
            "cpu_s_per_simulated_s": spread(self.slopes),
            "ratio": spread(ratios),
            "startup_cpu_s": spread(self.startups),
            "peak_mib": spread([one.peak_bytes / 2**20 for one in self.longest]),
            "up_mbps": spread([one.up_mbps for one in self.longest]),
            "down_mbps": spread([one.down_mbps for one in self.longest]),
        }


def spread(values: list[float]) -> dict[str, float]:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def measure(peers: list[Peer], flows: int, horizons_s: tuple[float, float], repeat: int) -> list[Record]:
    """All repetitions: A B C with the near horizon, A B C with the far one, and so on."""
    records = [Record(peer, (horizons_s[0] * peer.stretch, horizons_s[1] * peer.stretch)) for peer in peers]
    for seed in range(1, repeat + 1):
        found: dict[tuple[str, int], Run] = {}
        for far in (0, 1):
            for record in records:
                seconds = record.horizons_s[far]
                progress(f"repetition {seed} of {repeat}: {record.peer.name}, {seconds:g} simulated seconds")
                found[record.peer.name, far] = run(record.peer, Work(flows, seconds, seed))
        for record in records:
            record.add(found[record.peer.name, 0], found[record.peer.name, 1])
    progress("")
    return records


def progress(text: str) -> None:
    """On a terminal alone, in place."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def table(summaries: list[dict[str, object]], reference: str) -> str:
    """Medians with min–max, one line a peer."""
    columns = {
        "CPU s per simulated s": ("cpu_s_per_simulated_s", ".3g"),
        f"ratio to {reference}": ("ratio", ".3g"),
        "start-up CPU s": ("startup_cpu_s", ".2f"),
        "peak MiB": ("peak_mib", ".0f"),
        "up Mbps": ("up_mbps", ".3f"),
        "down Mbps": ("down_mbps", ".4f"),
    }
    rows = [["", "horizons s", *columns]]
    for one in summaries:
        cells = [text(one[key], form) for key, form in columns.values()]
        rows.append([one["peer"], "{:g}, {:g}".format(*one["horizons_s"]), *cells])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def text(found: dict[str, float], form: str) -> str:
    return f"{found['median']:{form}} ({found['min']:{form}}–{found['max']:{form}})"


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flows", type=int, default=10, help="flows in each direction (default 10)")
    parser.add_argument(
        "--horizons", type=float, nargs=2, default=(50, 150), metavar=("NEAR", "FAR"),
        help=f"measured seconds of the two runs (default 50 150); wifair's are {Wifair.stretch} times as long",
    )  # fmt: skip
    parser.add_argument("--repeat", type=int, default=3, help="repetitions (default 3); each has its own seed")
    parser.add_argument("--only", nargs="+", choices=[peer.name for peer in PEERS], help="leave the others out")
    parser.add_argument("--json", action="store_true", help="one JSON document in place of the table")
    parser.add_argument("--wifair", metavar="PROGRAM", help="the command `wifair`")
    parser.add_argument("--ns2", metavar="PROGRAM", help="the command `ns`")
    parser.add_argument("--ns3", metavar="DIR", type=Path, help="an installed ns-3, with include/ns3 and lib*")
    option = parser.parse_args(arguments)
    if option.flows < 1 or option.repeat < 1 or not 0 < option.horizons[0] < option.horizons[1]:
        parser.error("needs --flows and --repeat of 1 or more, and 0 < NEAR < FAR")
    return option


def main() -> int:
    option = parse(sys.argv[1:])
    present: list[Peer] = []
    missing: dict[str, str] = {}
    for kind in PEERS:
        if option.only and kind.name not in option.only:
            continue
        try:
            present.append(kind(option))
        except MissingError as reason:
            missing[kind.name] = str(reason)
            print(f"{kind.name} left out: {reason}", file=sys.stderr)
    if not present:
        print("nothing to measure", file=sys.stderr)
        return 1
    records = measure(present, option.flows, tuple(option.horizons), option.repeat)
    reference = records[0]
    summaries = [record.summary(reference) for record in records]
    if option.json:
        document = {
            "flows_each_direction": option.flows,
            "warmup_s": WARMUP_S,
            "repetitions": option.repeat,
            "ratio_to": reference.peer.name,
            "peers": summaries,
            "left_out": missing,
        }
        print(json.dumps(document, indent=1))
    else:
        print(f"{option.flows} + {option.flows} flows, {option.repeat} repetitions: median (min–max)\n")
        print(table(summaries, reference.peer.name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
