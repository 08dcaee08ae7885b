"""Mutation testing on a random sample: which small changes of a crate's code do its tests not notice?

    python benches/mutants.py wifair-tcp            # goes on where it was stopped
    python benches/mutants.py wifair-tcp --show     # what is known so far

Needs `cargo install cargo-mutants`, which says what the mutants are. They are made and tested here: its filters let all mutants
of one kind through (27.1 does not ask them about deleted fields), it builds every test before it runs one, and it knows of no
limit but the clock on the wall. It works on the committed state, in a tree of its own (`build/mutants`), so one can go on
editing. Each mutant meets the crate's stages of tests (`benches/mutants.toml`), the quick and telling ones first, until one
notices it. What survived at an earlier commit is tested again when the commit has changed; what was noticed is not
(`--fresh` forgets everything).

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
import statistics
import subprocess
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HOUSE = ROOT / "build" / "mutants"
TREE = HOUSE / "tree"
NOTICED = ("killed", "timeout")
OUTCOMES = (*NOTICED, "survived", "unbuildable")
# A mutant that never stops, or never stops allocating, fails instead of taking the machine along.
CPU_S = 90
MEMORY_BYTES = 8 << 30


@dataclass(frozen=True)
class Mutant:
    """One change: a key that outlives shifted lines, cargo-mutants' name for it at this commit, and what to do."""

    key: str
    name: str
    file: str
    start: tuple[int, int]
    end: tuple[int, int]
    replacement: str

    def changed(self, source: str) -> str:
        """The source with this change; lines and columns count from 1, the end lies behind the last character."""
        lines = source.splitlines(keepends=True)
        (first, left), (last, right) = self.start, self.end
        before, after = lines[first - 1][: left - 1], lines[last - 1][right - 1 :]
        return "".join([*lines[: first - 1], before, self.replacement, after, *lines[last:]])


def keyed(listed: list[dict[str, Any]]) -> list[Mutant]:
    """The k-th `replace + with - in f` of a file is the same mutant wherever its line has gone."""
    seen: Counter[str] = Counter()
    mutants = []
    for one in listed:
        what = re.sub(r":\d+:\d+: ", ": ", one["name"], count=1)
        seen[what] += 1
        start, end = ((one["span"][edge]["line"], one["span"][edge]["column"]) for edge in ("start", "end"))
        mutants.append(Mutant(f"{what} #{seen[what]}", one["name"], one["file"], start, end, one["replacement"]))
    return mutants


def shuffled(mutants: list[Mutant], seed: int) -> list[Mutant]:
    """In an order that depends on the seed and the keys alone."""
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


def confine() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


class Run:
    """One crate's sample, with all that is known about it on the disk."""

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
        """Whether this stage has to try it, should those before it not notice."""
        last = self.last(mutant)
        if last is None:
            return True
        commit, done, outcome = last
        return outcome == "survived" and (commit != self.commit or stage > done)

    def cargo_test(self, stage: int, *arguments: str, confined: bool = False) -> subprocess.CompletedProcess[str]:
        # A property test that fails need not say how little it takes, nor remember it for the next mutant.
        environment = {
            **os.environ,
            "CARGO_TARGET_DIR": str(HOUSE / "target"),
            "PROPTEST_MAX_SHRINK_ITERS": "0",
            "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
        }
        return subprocess.run(
            ["cargo", "test", "--quiet", *self.plan["stages"][stage - 1], *arguments],
            cwd=TREE,
            env=environment,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            preexec_fn=confine if confined else None,
        )

    def try_(self, stage: int) -> str:
        """What this stage makes of the tree as it stands."""
        if self.cargo_test(stage, "--no-run").returncode != 0:
            return "unbuildable"
        tested = self.cargo_test(stage, confined=True)
        if tested.returncode == 0:
            return "survived"
        return "timeout" if re.search("SIGXCPU|SIGKILL", tested.stdout) else "killed"

    def test(self, mutant: Mutant, stages: list[int]) -> None:
        path = TREE / mutant.file
        source = path.read_text()
        path.write_text(mutant.changed(source))
        try:
            for stage in stages:
                outcome = self.try_(stage)
                self.results.setdefault(mutant.key, []).append((self.commit, stage, outcome))
                draft = self.path.with_suffix(".new")
                draft.write_text(json.dumps(self.results, indent=1))
                draft.replace(self.path)
                print(f"  {outcome} in stage {stage}: {mutant.name}", flush=True)
                if outcome != "survived":
                    break
        finally:
            path.write_text(source)

    def go(self) -> None:
        stages = range(1, len(self.plan["stages"]) + 1)
        checked = False
        while waiting := [(m, left) for m in self.sample() if (left := [s for s in stages if self.waits_for(m, s)])]:
            for stage in stages if not checked else []:
                if (outcome := self.try_(stage)) != "survived":
                    sys.exit(f"without a mutation stage {stage} ends as {outcome}: see `cargo test`")
            checked = True
            for number, (mutant, left) in enumerate(waiting, 1):
                print(f"{number} of {len(waiting)}", flush=True)
                self.test(mutant, left)

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
