"""Runs fuzz targets one after the other, each until ten minutes have covered nothing new of ours, and minimises their corpora.

    python3 fuzz/run.py                      # all targets
    python3 fuzz/run.py plan queue           # some
    python3 fuzz/run.py --quiet-s 60 medium  # less patience
    python3 fuzz/run.py plan --also DIR      # begins with these inputs, too (those of damage.py)

What counts as new is a place of ours, a column of a line in `crates` or `fuzz`: the compiler copies the code of others and short functions
into each place that uses them, so there is always one more edge of those. Times are the target's processor time, so that a busy machine does not cut its patience short. At the end
it prints a row per target: cases, edges and features covered, inputs kept, how long there was nothing new of ours, and nothing at all. A
target that fails stops everything; the input lies in `fuzz/artifacts/<target>`. Wants `llvm-symbolizer` (Debian's llvm).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from corpora import FUZZ, pack, targets, unpacked

# There is no unsafe code in what is fuzzed, so no sanitizer has anything to watch. A case of more than ten seconds hangs, one
# of more than two gigabytes has no bound.
FUZZ_OPTIONS = [
    "-timeout=10",
    "-rss_limit_mb=2048",
    "-print_final_stats=1",
    "-print_pcs=1",
    "-max_len=8192",
    "-len_control=20",
    "-reload=1",  # the fuzzer names new edges only in its loop, so that is where it gets the inputs of before
]
MOST_NAMED = 5
NEW_EDGE = re.compile(r"\tNEW_PC: (0x[0-9a-f]+)")
STATUS = re.compile(r"#(\d+)\s+\S+\s+cov: (\d+) ft: (\d+) corp: (\d+)/")


def cargo_fuzz(command: str, *arguments: str) -> list[str]:
    """The command line."""
    # Compared values are of no use to inputs that are choices one after the other, and tracing them took half of the time.
    built = ["--sanitizer", "none", "--no-trace-compares"]
    return ["cargo", "+nightly", "fuzz", command, "--fuzz-dir", str(FUZZ), *built, *arguments]


def run(target: str, also: list[str], quiet_s: float, most_s: float) -> str:
    """Fuzzes until nothing new of ours has been covered for `quiet_s`, or for `most_s`; a row of the table."""
    # What is found is collected there first, so that the kept corpus is small at any time.
    found = FUZZ / "target" / "found" / target
    found.mkdir(parents=True, exist_ok=True)
    kept = unpacked(target)
    taken = FUZZ / "target" / "taken" / target
    shutil.rmtree(taken, ignore_errors=True)
    taken.mkdir(parents=True)
    command = cargo_fuzz("run", target, str(taken), "--", *FUZZ_OPTIONS)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    sources = Sources(target, process.pid)
    begun = ours = news = now = processor_s(process.pid)
    cases = edges = features = inputs = 0
    last = ""
    places: set[str] = set()
    fresh: set[str] = set()  # since the last status
    for line in process.stderr:
        last = line
        if new_edge := NEW_EDGE.match(line):
            place = sources.ours(int(new_edge[1], 16))
            fresh |= {place} - places - {None}
        status = STATUS.search(line)
        if status is None:
            if "cov:" not in line and not line.startswith("\t"):
                sys.stderr.write(line)
            continue
        now = processor_s(process.pid)
        cases, now_edges, features, inputs = map(int, status.groups())
        if now_edges > edges:
            edges, news = now_edges, now
            where = ", ".join(sorted(fresh)) if len(fresh) < MOST_NAMED else f"{len(fresh)} places"
            ours = now if fresh else ours
            sys.stderr.write(
                f"{target}: {now - begun:.0f} s, {cases} cases, {edges} edges, {features} features; {where}\n"
            )
            places |= fresh
            fresh.clear()
        if "INITED" in line:
            for path in [path for folder in (kept, found, *map(Path, also)) for path in folder.iterdir()]:
                shutil.copyfile(path, taken / path.name)
        if now - ours > quiet_s or now - begun > most_s:
            os.killpg(process.pid, signal.SIGTERM)
            break
    else:
        raise SystemExit(f"{target} failed: {last}")
    process.stderr.read()
    process.wait()
    row = f"| `{target}` | {cases:,} | {edges:,} | {features:,} | {inputs} | {now - begun:.0f} s | {now - ours:.0f} s | {now - news:.0f} s |"
    for path in taken.iterdir():
        shutil.copyfile(path, found / path.name)
    keep(target, found, kept)
    return row


class Sources:
    """The lines of source of a running target's addresses."""

    def __init__(self, target: str, group: int) -> None:
        """Of the process of `group` that runs the target."""
        self.binary = FUZZ / "target" / "x86_64-unknown-linux-gnu" / "release" / target
        self.group = group
        self.start = 0
        self.asked = subprocess.Popen(
            ["llvm-symbolizer", "--obj", self.binary, "--functions=none", "--no-inlines"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def ours(self, address: int) -> str | None:
        """File, line and column of ours at `address`; nothing if the code is somebody else's."""
        self.start = self.start or self.loaded_at()
        assert self.asked.stdin is not None
        assert self.asked.stdout is not None
        self.asked.stdin.write(f"{address - self.start:#x}\n")
        place = Path(os.path.normpath(self.asked.stdout.readline().strip()))
        self.asked.stdout.readline()
        return str(place.relative_to(FUZZ.parent)) if place.is_relative_to(FUZZ.parent) else None

    def loaded_at(self) -> int:
        """The address of the binary's first byte."""
        for process in running(self.group):
            for line in (process / "maps").read_text().splitlines():
                if line.endswith(f" {self.binary}"):
                    return int(line.partition("-")[0], 16)
        raise SystemExit(f"{self.binary} does not run")


def processor_s(group: int) -> float:
    """Processor time of the running processes of a process group, in seconds."""
    ticks = 0
    for process in running(group):
        try:
            ticks += sum(int(field) for field in status_of(process)[11:13])
        except OSError:  # it has just ended
            continue
    return ticks / os.sysconf("SC_CLK_TCK")


def running(group: int) -> Iterator[Path]:
    """The processes of a process group."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if int(status_of(process)[2]) == group:
                yield process
        except OSError:  # it has just ended
            continue


def status_of(process: Path) -> list[str]:
    """What the system knows of a process, from its state on: proc(5)."""
    return (process / "stat").read_text().rpartition(")")[2].split()


def keep(target: str, found: Path, kept: Path) -> None:
    """Adds new inputs to the corpus and minimises it to inputs with unique coverage and former failures."""
    failed = {path: path.read_bytes() for path in kept.glob("crash-*")}
    for path in found.iterdir():
        shutil.copy(path, kept / path.name)
    # Few inputs that pass every edge are enough to keep, however often they pass it.
    subprocess.run(cargo_fuzz("cmin", target, str(kept), "--", "-use_counters=0", "-set_cover_merge=1"), check=True)
    for path, data in failed.items():
        path.write_bytes(data)
    pack(target, kept)


def main() -> None:
    """Runs them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="target", help=f"of {', '.join(targets())}; all by default")
    parser.add_argument("--quiet-s", type=float, default=600.0, help="stop after so long without new coverage of ours")
    parser.add_argument("--most-s", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument(
        "--also", action="append", default=[], metavar="DIR", help="inputs to begin with, beside the kept"
    )
    given = parser.parse_args()
    rows = [run(target, given.also, given.quiet_s, given.most_s) for target in given.targets or targets()]
    print("| target | cases | edges | features | inputs kept | run for | nothing new of ours for | nothing new for |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
