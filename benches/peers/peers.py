"""The simulators: finding and starting each, and reading its results. One class per simulator."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from abc import ABC, abstractmethod
from argparse import Namespace
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl
from cases import HERE, Case, FieldCase
from kept import Kept
from wifair import Scenario
from wifair.results import versions

BUILD = HERE.parent.parent / "target" / "peers"
MAXRSS_BYTES = 1 if sys.platform == "darwin" else 1024  # unit of ru_maxrss


class MissingError(Exception):
    """A peer cannot be run here; the text says what is missing and how to get it."""


@dataclass(frozen=True)
class Outcome:
    """What one run found: throughputs, and those of each BSS of a field; where they were counted, the share of attempts that
    failed and the MPDUs in a data frame."""

    up_mbps: float
    down_mbps: float
    failed: float | None
    mpdus: float | None = None
    bss_up_mbps: tuple[float, ...] = ()
    bss_down_mbps: tuple[float, ...] = ()

    @classmethod
    def of(cls, document: str) -> Outcome:
        """Parses the output of the ns-2 and ns-3 programs."""
        found = json.loads(document)
        data = found.get("data_frames")
        if "bss_up_kbps" in found:
            ways = (tuple(kbps / 1000 for kbps in found[f"bss_{way}_kbps"]) for way in ("up", "down"))
            return cls.of_field(*ways, found["failed"] / found["attempts"], found["mpdus"] / data)
        requests = found.get("block_ack_requests", 0)
        failed = 1 - found["mac_acks"] / (data + requests) if data else None
        mpdus = found["mpdus"] / data if data and "mpdus" in found else None
        return cls(sum(found["up_kbps"]) / 1000, sum(found["down_kbps"]) / 1000, failed, mpdus)

    @classmethod
    def of_field(cls, up: tuple[float, ...], down: tuple[float, ...], failed: float, mpdus: float) -> Outcome:
        return cls(sum(up), sum(down), failed, mpdus, up, down)


@dataclass(frozen=True)
class Cost:
    """The cost of one child process."""

    cpu_s: float
    peak_bytes: int


class Peer(ABC):
    """A simulator. `horizons_s` are the measured seconds of the two runs of which the cost is the slope."""

    name: ClassVar[str]
    # A fast simulator needs a long run to show a slope; None: (near_s, a case's own measured time).
    horizons_s: ClassVar[tuple[float, float] | None] = None
    near_s: ClassVar[float] = 3.0
    # The store of its results, if any.
    kept: Kept | None = None

    def horizons(self, case: Case) -> tuple[float, float]:
        return self.horizons_s or (self.near_s, case.measured_s)

    @abstractmethod
    def command(self, case: Case, size: int, measured_s: float, seed: int) -> list[str]:
        """The command that does the work, and counts nothing that would cost extra."""

    @abstractmethod
    def outcomes(
        self, case: Case, size: int, seeds: int, changed: Mapping[str, object], measured_s: float
    ) -> list[Outcome]:
        """The outcomes with counts; `changed` are further options of this simulator."""

    @abstractmethod
    def version(self) -> str:
        """Its version."""


class Wifair(Peer):
    name = "wifair"
    horizons_s = (500.0, 20_500.0)
    SEEDS = 20  # it costs nothing

    def horizons(self, case: Case) -> tuple[float, float]:
        # Up to a hundred times as many packets each second.
        return (50.0, 1_050.0) if case.aggregates else self.horizons_s

    def __init__(self, option: Namespace) -> None:
        self.program = option.wifair or str(Path(sys.executable).with_name("wifair"))
        if not Path(self.program).exists():
            raise MissingError(f"no {self.program}; run `make bench-peers`, which builds it, or name it with --wifair")

    def command(self, case: Case, size: int, measured_s: float, seed: int) -> list[str]:
        # The command line counts replications from seed 1 on: every repetition is the same run.
        command = [self.program, "run", str(case.scenario), "--json", "--seeds", "1", "--threads", "1"]
        for key, value in {**case.settings(size), "run.duration_s": measured_s}.items():
            command += ["--set", f"{key}={inline(value)}"]
        return command

    def outcomes(
        self, case: Case, size: int, seeds: int, changed: Mapping[str, object], measured_s: float
    ) -> list[Outcome]:
        settings = {**case.settings(size), "run.duration_s": measured_s, **changed}
        results = Scenario.from_toml(case.scenario, settings.items()).run(seeds=max(seeds, self.SEEDS), threads=1)
        of_flow = "throughput_ip_mbps" if case.udp else "goodput_mbps"
        found = []
        for seed in results.seeds:
            flows = results.flows.filter(pl.col("seed") == seed)
            if isinstance(case, FieldCase):
                found.append(self.in_field(case, size, flows, results.stations.filter(pl.col("seed") == seed)))
                continue
            up, down = (flows.filter(pl.col("direction") == way)[of_flow].sum() for way in ("up", "down"))
            stations = results.stations.filter(pl.col("seed") == seed)
            attempts = stations["attempts"].sum()
            if case.aggregates:  # in these cells every PPDU that failed is repeated
                mpdus = (stations["mpdus"].sum() + attempts - stations["ppdus"].sum()) / attempts
                found.append(Outcome(up, down, stations["retries"].sum() / attempts, mpdus))
            else:
                found.append(Outcome(up, down, 1 - stations["frames_delivered"].sum() / attempts))
        return found

    @staticmethod
    def in_field(case: FieldCase, size: int, flows: pl.DataFrame, stations: pl.DataFrame) -> Outcome:
        of_flow = "throughput_ip_mbps" if case.udp else "goodput_mbps"

        def by_bss(way: str) -> tuple[float, ...]:
            of_way = flows.filter(pl.col("direction") == way)
            return tuple(of_way.filter(pl.col("station").is_in(case.nodes(bss)))[of_flow].sum() for bss in range(size))

        failed = stations["retries"].sum() / stations["attempts"].sum()
        return Outcome.of_field(by_bss("up"), by_bss("down"), failed, stations["mpdus"].sum() / stations["ppdus"].sum())

    def version(self) -> str:
        return f"wifair {versions()['wifair']}"


class Native(Peer):
    """A program of ours in the peer's own language; `run` says how a mapping of options becomes a command."""

    SEEDS: ClassVar[int] = 1  # at least
    # Options with which it counts frames as well.
    counting: ClassVar[Mapping[str, object]] = {}

    @abstractmethod
    def call(self, case: Case, options: Mapping[str, object]) -> list[str]: ...

    def command(self, case: Case, size: int, measured_s: float, seed: int) -> list[str]:
        return self.call(case, {**case.options(size), "measured_s": measured_s, "seed": seed})

    def outcomes(
        self, case: Case, size: int, seeds: int, changed: Mapping[str, object], measured_s: float
    ) -> list[Outcome]:
        options = {**case.options(size), "measured_s": measured_s, **self.counting, **changed}
        each = ({**options, "seed": seed} for seed in range(1, max(seeds, self.SEEDS) + 1))
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # nothing is timed here
            return list(pool.map(lambda options: self.outcome(case, options), each))

    def outcome(self, case: Case, options: Mapping[str, object]) -> Outcome:
        command = self.call(case, options)

        def found() -> str:
            return result_line(child(self.name, command)[1])

        return Outcome.of(self.kept.once(command, found) if self.kept else found())


class Ns2(Native):
    name = "ns-2"
    horizons_s = (20.0, 120.0)
    SEEDS = 10
    counting: ClassVar[Mapping[str, object]] = {"count": 1}

    def __init__(self, option: Namespace) -> None:
        found = option.ns2 or shutil.which("ns")
        if not found:
            raise MissingError("no command `ns` here; on Debian `apt install ns2` brings it, or name it with --ns2")
        self.program = found

    def call(self, case: Case, options: Mapping[str, object]) -> list[str]:
        return [self.program, str(HERE / "ns2_cell.tcl"), *(str(word) for pair in options.items() for word in pair)]

    def version(self) -> str:
        with tempfile.NamedTemporaryFile("w", suffix=".tcl") as script:
            script.write('puts "[ns-version]"\nexit 0\n')
            script.flush()
            done = subprocess.run([self.program, script.name], capture_output=True, text=True, check=False)
        return f"ns-2 {done.stdout.strip() or '(no version told)'}"


class Ns3(Native):
    name = "ns-3"
    MODULES = ("wifi", "applications", "point-to-point", "internet", "traffic-control", "mobility", "propagation")
    MODULES += ("spectrum", "antenna", "bridge", "network", "stats", "core")

    def __init__(self, option: Namespace) -> None:
        self.prefix = self.find(option.ns3)
        self.programs: dict[str, str] = {}
        self.build(Case.program)  # now, so that an ns-3 it does not compile against is left out

    @staticmethod
    def find(given: Path | None) -> Path:
        """The folder that has `include/ns3` and the libraries: the one given, or that of the PyPI package."""
        if given:
            return given.resolve()
        package = importlib.util.find_spec("ns3")
        for folder in (package and package.submodule_search_locations) or ():
            if Path(folder, "include", "ns3").is_dir():
                return Path(folder)
        how = "`pip install --no-deps ns3` brings 3.44 (its dependencies serve the Python bindings alone)"
        raise MissingError(f"Python finds no package `ns3`; {how}; name where it is with --ns3")

    def libraries(self) -> list[Path]:
        # Debian has them a folder deeper, by architecture.
        cores = sorted([*self.prefix.glob("lib*/libns3*-core*.so"), *self.prefix.glob("lib/*/libns3*-core*.so")])
        if not cores:
            raise MissingError(f"no libns3*-core*.so under {self.prefix}/lib*")
        found = [cores[0].with_name(cores[0].name.replace("-core", f"-{module}")) for module in self.MODULES]
        return [path for path in found if path.exists()]

    def build(self, name: str) -> str:
        """Compiles a program against that ns-3 unless that has been done."""
        if name not in self.programs:
            self.programs[name] = self.compile(name)
        return self.programs[name]

    def compile(self, name: str) -> str:
        libraries = self.libraries()
        compiler = shutil.which(os.environ.get("CXX", "g++"))
        if not compiler:
            raise MissingError("no C++ compiler")
        source = HERE / f"{name}.cc"
        program = BUILD / f"{name}-{hashlib.sha256(bytes(self.prefix)).hexdigest()[:8]}"
        newest = max(path.stat().st_mtime for path in (source, *HERE.glob("*.h"), *libraries))
        if program.exists() and program.stat().st_mtime > newest:
            return str(program)
        print(f"compiling {source.name}", file=sys.stderr)
        BUILD.mkdir(parents=True, exist_ok=True)
        for standard in ("c++20", "c++17"):  # of ns-3's own headers: since 3.42, and before
            command = [compiler, f"-std={standard}", "-O2", f"-I{self.prefix / 'include'}", str(source)]
            command += ["-o", str(program), f"-Wl,-rpath,{libraries[0].parent}", *map(str, libraries)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if not done.returncode:
                return str(program)
        raise MissingError(f"{source.name} (for 3.44) does not compile with this one:\n{done.stderr[:2000]}")

    def call(self, case: Case, options: Mapping[str, object]) -> list[str]:
        return [self.build(case.program), *(f"--{key}={value}" for key, value in options.items())]

    def version(self) -> str:
        # libns3.44-core.so, or Debian's libns3-core.so.37.
        name, _, suffix = self.libraries()[-1].resolve().name.removeprefix("lib").partition("-core.so")
        return name.replace("ns3", "ns-3") + suffix


PEERS = (Wifair, Ns2, Ns3)


def result_line(output: str) -> str:
    """The JSON document among what a simulator prints."""
    lines = [line for line in output.splitlines() if line.startswith("{")]
    if not lines:
        raise SystemExit(f"no result in: {output[-500:]}")
    return lines[-1]


def inline(value: object) -> str:
    """A setting as TOML, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {inline(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value)


def child(name: str, command: list[str]) -> tuple[Cost, str]:
    """One child process, its resources read from the kernel when it has ended; and what it printed."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as usage:
        small = [sys.executable, "-S", str(HERE / "resources.py"), usage.name]
        done = subprocess.run([*small, *command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{name} failed ({done.returncode}): {done.stderr[-2000:]}")
        cpu_s, peak = json.load(usage)
    return Cost(cpu_s, peak * MAXRSS_BYTES), done.stdout
