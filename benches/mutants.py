"""Mutation testing on a random sample: which small changes of a crate's code do its tests not notice?

    python benches/mutants.py wifair-tcp            # continues where it was stopped
    python benches/mutants.py wifair-tcp --show     # shows the results so far

Needs `cargo install cargo-mutants`, which lists the mutants. They are not built one by one, as it would do: all of them
are woven into one build (`weave.py`), a variable of the environment chooses, and a mutant costs no more than the run of
its tests; the few that cannot be woven are built alone. Endless tests are stopped by processor time, so a busy machine
does not change outcomes.

It works on the committed state in a separate tree (`build/mutants`), so the checkout can be edited meanwhile. Each
mutant meets the crate's stages of tests (`benches/mutants.toml`), the quick and telling ones first, until one notices
it. What survived at an earlier commit is tested again when the commit has changed; what was noticed is not (`--fresh`
forgets everything).

The sample: all mutants in the order of a hash of the seed and what they change, where line numbers do not count, and of
these the first `--sample` that can be built. So it stays nearly the same when the code changes.
"""

import argparse
import hashlib
import json
import math
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weave import SWITCH, CannotWeave, Expressions, piece, weave

ROOT = Path(__file__).resolve().parent.parent
HOUSE = ROOT / "build" / "mutants"
TREE = HOUSE / "tree"
RUSTC = ROOT / "benches" / "rustc_for_mutants"
NOTICED = ("killed", "timeout")
OUTCOMES = (*NOTICED, "survived", "unbuildable")
MEMORY_BYTES = 8 << 30  # a mutant that never stops allocating fails instead of taking the machine along


@dataclass(frozen=True)
class Test:
    """A test program, the folder it runs in, the tests to choose from it (all if none), and the processor time it may take."""

    program: str
    folder: str
    only: tuple[str, ...] = ()
    limit_s: int = 60

    def run(self, number: int) -> tuple[str, float]:
        """The outcome of this mutant, and the processor time."""

        def confine() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (self.limit_s, self.limit_s + 5))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

        # A property test that fails need not say how little it takes, nor remember it for the next mutant.
        chosen = {"MUTANT": str(number), "PROPTEST_MAX_SHRINK_ITERS": "0", "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1"}
        environment = {**os.environ, **chosen, "CARGO_MANIFEST_DIR": self.folder}
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run(
            [self.program, "--quiet", *self.only],
            cwd=self.folder,
            env=environment,
            check=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=confine,
        )
        outcome = {0: "survived", -signal.SIGXCPU: "timeout"}.get(done.returncode, "killed")
        return outcome, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


@dataclass(frozen=True)
class Mutant:
    """One change: a key that outlives shifted lines, cargo-mutants' name for it at this commit, and what to do."""

    key: str
    name: str
    file: str
    kind: str
    start: tuple[int, int]
    end: tuple[int, int]
    replacement: str

    def span(self, source: str) -> tuple[int, int]:
        """Its character range in the source. Lines and columns count from 1, the end is behind the last character."""
        lines = source.splitlines(keepends=True)
        start, end = (sum(map(len, lines[: line - 1])) + column - 1 for line, column in (self.start, self.end))
        return start, end

    def changed(self, source: str) -> str:
        """The source with this change alone."""
        start, end = self.span(source)
        return source[:start] + self.replacement + source[end:]


def keyed(listed: list[dict[str, Any]]) -> list[Mutant]:
    """The k-th `replace + with - in f` of a file is the same mutant wherever its line has gone."""
    seen: Counter[str] = Counter()
    mutants = []
    for one in listed:
        what = re.sub(r":\d+:\d+: ", ": ", one["name"], count=1)
        seen[what] += 1
        start, end = ((one["span"][edge]["line"], one["span"][edge]["column"]) for edge in ("start", "end"))
        mutants.append(
            Mutant(f"{what} #{seen[what]}", one["name"], one["file"], one["genre"], start, end, one["replacement"])
        )
    return mutants


def shuffled(mutants: list[Mutant], seed: int) -> list[Mutant]:
    """Shuffles the mutants, depending on the seed and the keys alone."""
    return sorted(mutants, key=lambda mutant: hashlib.sha256(f"{seed} {mutant.key}".encode()).digest())


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a proportion (Wilson 1927)."""
    if of == 0:
        return 0.0, 1.0
    z = statistics.NormalDist().inv_cdf(0.975)
    share, weight = hits / of, z * z / of
    middle = share + weight / 2
    half = z * math.sqrt(share * (1 - share) / of + weight / of / 4)
    return (middle - half) / (1 + weight), (middle + half) / (1 + weight)


def git(*arguments: str, cwd: Path = ROOT) -> str:
    return subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()


def blame(
    errors: list[dict[str, Any]], texts: dict[str, str], spots: dict[str, list[tuple[int, int, int]]]
) -> dict[int, str]:
    """The mutants that the compiler does not take, by number: text that does not fit its place makes them
    "unbuildable"; an error beside it is the weaver's, and they have to be built "alone"."""
    blamed: dict[int, str] = {}
    for span in [span for error in errors for span in error["spans"] if span["is_primary"]]:
        text = texts.get(span["file_name"], "").encode()
        at = len(text[: span["byte_start"]].decode(errors="ignore"))
        near = spots.get(span["file_name"], [])
        inside = [number for start, end, number in near if start <= at < end]
        beside = min(near, key=lambda spot: abs(spot[0] - at), default=None)
        if inside:
            blamed |= dict.fromkeys(inside, "unbuildable")
        elif beside is not None:
            blamed.setdefault(beside[2], "alone")
    return blamed


class Run:
    """One crate's sample, with its results on disk."""

    def __init__(self, crate: str, seed: int, size: int, plan: dict[str, Any], fresh: bool) -> None:
        self.crate, self.seed, self.size, self.plan = crate, seed, size, plan
        self.path = HOUSE / f"{crate}-seed-{seed}.json"
        # Of each key all that was tried, as [commit, stage, outcome].
        self.results: dict[str, list[tuple[str, int, str]]] = {}
        if self.path.exists() and not fresh:
            self.results = json.loads(self.path.read_text())
        self.prepare()

    def prepare(self) -> None:
        """The tree at the present commit, and every mutant that makes sense."""
        self.commit = git("rev-parse", "HEAD")
        if TREE.exists():
            git("checkout", "--quiet", "--force", "--detach", self.commit, cwd=TREE)
        else:
            git("worktree", "prune")
            git("worktree", "add", "--quiet", "--detach", str(TREE), self.commit)
        # Modules that a macro declares are hidden from cargo-mutants, unless a line that is never compiled names them.
        source = TREE / "crates" / self.crate / "src"
        with (source / "lib.rs").open("a") as lib:
            for folder in self.plan.get("declared_by_macro", []):
                modules = "".join(f" mod {path.stem};" for path in sorted((source / folder).glob("*.rs")))
                lib.write(f"#[cfg(any())]\nmod {folder} {{{modules} }}\n")
        command = ["cargo", "mutants", "--no-config", "--list", "--json", "--package", self.crate]
        listed = json.loads(subprocess.run(command, cwd=TREE, check=True, capture_output=True, text=True).stdout)
        git("checkout", "--quiet", "--force", self.commit, cwd=TREE)
        listed = [one for one in listed if not self.rule("left_out", one["name"])]
        self.mutants = shuffled(keyed(listed), self.seed)

    def rule(self, kind: str, name: str) -> str | None:
        """Why the plan leaves this mutant out, or holds it to be without effect."""
        for rule in self.plan.get(kind, []):
            if re.search(rule["name"], name):
                return str(rule["why"])
        return None

    def last(self, mutant: Mutant) -> tuple[str, int, str] | None:
        """Commit, stage and outcome of the last try."""
        history = self.results.get(mutant.key)
        return history[-1] if history else None

    def sample(self) -> list[Mutant]:
        """The first `size` that are not known to be unbuildable, and the unbuildable ones before them."""
        drawn, built = [], 0
        for mutant in self.mutants:
            if built == self.size:
                break
            last = self.last(mutant)
            built += last is None or last[2] != "unbuildable"
            drawn.append(mutant)
        return drawn

    def waits_for(self, mutant: Mutant, stage: int) -> bool:
        """Whether it is this stage's turn, or may come to be."""
        last = self.last(mutant)
        if last is None:
            return True
        commit, done, outcome = last
        return outcome == "survived" and (commit != self.commit or stage > done)

    def note(self, mutant: Mutant, stage: int, outcome: str) -> None:
        self.results.setdefault(mutant.key, []).append((self.commit, stage, outcome))
        draft = self.path.with_suffix(".new")
        draft.write_text(json.dumps(self.results, indent=1))
        draft.replace(self.path)
        print(f"  {outcome} in stage {stage}: {mutant.name}", flush=True)

    def cargo(self, *arguments: str) -> list[dict[str, Any]]:
        """The messages of cargo."""
        command = ["cargo", *arguments, "--quiet", "--message-format=json"]
        environment = {**os.environ, "CARGO_TARGET_DIR": str(HOUSE / "target"), "RUSTC_WORKSPACE_WRAPPER": str(RUSTC)}
        done = subprocess.run(command, cwd=TREE, env=environment, check=False, stdout=subprocess.PIPE, text=True)
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def tests(self, stage: int) -> list[Test]:
        """The test programs of this stage, of the tree as it stands; none if it cannot be built."""
        built, only = self.stage(stage)
        reports = self.cargo("test", "--no-run", *built)
        if not reports or not reports[-1].get("success"):
            return []
        made = [report for report in reports if report.get("executable") and report["profile"]["test"]]
        return [Test(report["executable"], str(Path(report["manifest_path"]).parent), only) for report in made]

    def stage(self, number: int) -> tuple[list[str], tuple[str, ...]]:
        """What cargo builds for a stage, and which tests of it run."""
        given: list[str] = self.plan["stages"][number - 1]
        end = given.index("--") if "--" in given else len(given)
        return given[:end], tuple(given[end + 1 :])

    def woven(self, mutants: list[Mutant]) -> dict[str, int]:
        """Puts them into the tree, all that can be; their numbers by key. Which cannot be built is noted."""
        numbers = {mutant.key: number for number, mutant in enumerate(mutants, 1)}
        files: dict[str, list[Mutant]] = {}
        for mutant in mutants:
            files.setdefault(mutant.file, []).append(mutant)
        sources = {file: (TREE / file).read_text() for file in files}
        library = TREE / "crates" / self.crate / "src" / "lib.rs"
        switch = library.read_text() + SWITCH
        while True:
            library.write_text(switch)
            texts, spots = {}, {}
            for file, source in sources.items():
                expressions, pieces = Expressions(source), []
                for mutant in [mutant for mutant in files[file] if mutant.key in numbers]:
                    try:
                        place = (mutant.kind, *mutant.span(source), mutant.replacement)
                        pieces.append(piece(source, expressions, *place, numbers[mutant.key]))
                    except CannotWeave:
                        del numbers[mutant.key]
                texts[file], spots[file] = weave(source, pieces)
                (TREE / file).write_text(texts[file] + (SWITCH if TREE / file == library else ""))
            reports = self.cargo("test", "--no-run", *self.stage(1)[0])
            errors = [r["message"] for r in reports if "message" in r and r["message"]["level"] == "error"]
            blamed = blame(errors, texts, spots)
            if not errors:
                return numbers
            if not blamed:
                sys.exit(f"the woven tree cannot be built: {errors[0]['rendered']}")
            for mutant in mutants:
                if (why := blamed.get(numbers.get(mutant.key, 0))) is not None:
                    del numbers[mutant.key]
                    if why == "unbuildable":
                        self.note(mutant, 1, why)

    def try_(self, mutant: Mutant, number: int, stage: int, tests: list[Test]) -> None:
        """One mutant, chosen by its number, against the tests of a stage."""
        outcomes = (test.run(number)[0] for test in tests)
        self.note(mutant, stage, next((outcome for outcome in outcomes if outcome != "survived"), "survived"))

    def limited(self, stage: int, tests: list[Test]) -> list[Test]:
        """Each test once, with a limit of several times what it takes without a mutation; the quickest first."""
        if not tests:
            sys.exit(f"the tests of stage {stage} cannot be built")
        timed = []
        for test in tests:
            outcome, took_s = test.run(0)
            if outcome != "survived":
                sys.exit(f"{test.program} fails without a mutation")
            timed.append((took_s, Test(test.program, test.folder, test.only, 5 + math.ceil(5 * took_s))))
            print(f"stage {stage}: {Path(test.program).name}, {took_s:.1f} s without a mutation", flush=True)
        return [test for _, test in sorted(timed, key=lambda pair: pair[0])]

    def go(self) -> None:
        stages = range(1, len(self.plan["stages"]) + 1)
        while waiting := [m for m in self.sample() if any(self.waits_for(m, stage) for stage in stages)]:
            print(f"{self.crate} at {self.commit[:9]}: {len(waiting)} mutants", flush=True)
            git("checkout", "--quiet", "--force", self.commit, cwd=TREE)
            numbers = self.woven(waiting)
            known: set[tuple[str, tuple[str, ...]]] = set()
            for stage in stages:
                if meet := [m for m in waiting if m.key in numbers and self.waits_for(m, stage)]:
                    new = [test for test in self.tests(stage) if (test.program, test.only) not in known]
                    known |= {(test.program, test.only) for test in new}
                    tests = self.limited(stage, new)
                    for mutant in meet:
                        self.try_(mutant, numbers[mutant.key], stage, tests)
            git("checkout", "--quiet", "--force", self.commit, cwd=TREE)
            for mutant in [m for m in waiting if any(self.waits_for(m, stage) for stage in stages)]:
                self.alone(mutant, stages)

    def alone(self, mutant: Mutant, stages: range) -> None:
        """One mutant that could not be woven."""
        path = TREE / mutant.file
        source = path.read_text()
        path.write_text(mutant.changed(source))
        try:
            for stage in stages:
                if not self.waits_for(mutant, stage):
                    continue
                if not (tests := self.tests(stage)):
                    self.note(mutant, stage, "unbuildable")
                    return
                self.try_(mutant, 0, stage, tests)
        finally:
            path.write_text(source)

    def report(self) -> None:
        tried = [(mutant, self.results[mutant.key]) for mutant in self.sample() if self.last(mutant)]
        outcomes = Counter(history[-1][2] for _, history in tried)
        built = [(mutant, history) for mutant, history in tried if history[-1][2] != "unbuildable"]
        # What the first commit that tried a mutant made of it, and what the last one did.
        first = [[try_[2] for try_ in history if try_[0] == history[0][0]][-1] for _, history in built]
        print(f"\n{self.crate} at {self.commit[:9]}, seed {self.seed}: {len(self.mutants)} mutants, ", end="")
        print(f"{len(built)} of the {self.size} tried")
        for outcome in OUTCOMES:
            print(f"  {outcomes[outcome]:>4} {outcome}")
        for when, hits in (("when first tried", first.count("survived")), ("now", outcomes["survived"])):
            low, high = wilson(hits, len(built))
            share = hits / max(len(built), 1)
            print(f"  survive {when}: {hits} = {share:.1%}, 95 % interval {low:.1%} to {high:.1%}")
        for stage, tests in enumerate(self.plan["stages"], 1):
            count = sum(history[-1][1] == stage and history[-1][2] in NOTICED for _, history in built)
            print(f"  {count:>4} noticed in stage {stage}: cargo test {' '.join(tests)}")
        for mutant, history in sorted(built, key=lambda pair: pair[0].name):
            why = self.rule("without_effect", mutant.name)
            if history[-1][2] == "survived":
                print(f"survived{' (without effect)' if why else ''}: {mutant.name}{f' ({why})' if why else ''}")
            elif why:
                print(f"held to be without effect, but {history[-1][2]}: {mutant.name}")


def main() -> None:
    plans = tomllib.loads((ROOT / "benches" / "mutants.toml").read_text())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crate", choices=plans)
    parser.add_argument("--sample", type=int, default=200, help="how many that can be built (200)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fresh", action="store_true", help="forget what is known")
    parser.add_argument("--show", action="store_true", help="only show what is known")
    arguments = parser.parse_args()
    run = Run(arguments.crate, arguments.seed, arguments.sample, plans[arguments.crate], arguments.fresh)
    if not arguments.show:
        run.go()
    run.report()


if __name__ == "__main__":
    main()
