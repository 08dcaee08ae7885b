"""The same cells in wifair, ns-2 and ns-3: outcomes, costs, and causes of differences.

Runs whichever of the three is present and installs nothing. The cost is the slope between two horizons, so that
start-up does not count. The simulators take turns within each repetition, so that a busy machine slows all of them
alike; ratios are taken within a repetition. An interrupted run continues where it was. See README.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import causes
import table
from cases import CASES, GROUPS, HERE, Case
from kept import Kept
from peers import BUILD, PEERS, Cost, MissingError, Outcome, Peer, child, result_line
from wifair.markdown import Marks
from wifair.results import versions

MARKS = {
    "single frames": Marks("the peers' tables", "make bench-peers"),
    "edca": Marks("the peers' tables with EDCA", "make bench-peers"),
    "a-mpdus": Marks("the peers' tables with A-MPDUs", "make bench-peers"),
    "fields": Marks("the fields' tables", "make bench-peers"),
    "crowded field": Marks("the crowded field's table", "make bench-peers"),
}
QUICK = {"warmup_s": 2.0, "measured_s": 6.0}

Place = tuple[str, int, str]


def slope(near: Cost, far: Cost, horizons_s: tuple[float, float]) -> float:
    """CPU seconds per simulated second."""
    found = (far.cpu_s - near.cpu_s) / (horizons_s[1] - horizons_s[0])
    if found <= 0:
        raise SystemExit(f"{horizons_s[1]:g} s cost no more than {horizons_s[0]:g} s: the machine is too busy")
    return found


@dataclass
class Bench:
    """The measurements so far."""

    cases: Sequence[Case]
    peers: Sequence[Peer]
    repeat: int
    timed: bool
    progress: Progress
    kept: Kept
    costs: dict[Place, table.Costs] = field(default_factory=dict)
    outcomes: table.Found = field(default_factory=dict)

    def present(self, case: Case) -> list[Peer]:
        return [peer for peer in self.peers if peer.name in case.peers]

    def run(self) -> None:
        """A B C with the near horizon, A B C with the far one, for every size of every case; then the next repetition."""
        for repetition in range(1, self.repeat + 1) if self.timed else ():
            for case in self.cases:
                for size in case.sizes if case.timed else ():
                    self.turn(case, size, repetition)
        for case in self.cases:
            for size in case.sizes:
                for peer in self.present(case):
                    place = case.name, size, peer.name
                    if place not in self.outcomes:
                        self.progress(f"outcomes: {case.name}, {size}, {peer.name}")
                        self.outcomes[place] = peer.outcomes(case, size, self.repeat, {}, case.measured_s)

    def turn(self, case: Case, size: int, repetition: int) -> None:
        """Runs all simulators one after the other; the results are stored together or not at all."""
        runs = [
            (peer, seconds, peer.command(case, size, seconds, repetition))
            for far in (0, 1)
            for peer in self.present(case)
            for seconds in [peer.horizons(case)[far]]
        ]

        def found() -> list[tuple[float, int, str]]:
            of_runs = []
            for peer, seconds, command in runs:
                where = f"repetition {repetition} of {self.repeat}: {case.name}, {size}"
                self.progress(f"{where}, {peer.name}, {seconds:g} s")
                cost, output = child(peer.name, command)
                of_runs.append((cost.cpu_s, cost.peak_bytes, result_line(output) if peer.horizons_s is None else ""))
            return of_runs

        of_runs = self.kept.once([repetition, *(command for _, _, command in runs)], found)
        near_runs, far_runs = of_runs[: len(of_runs) // 2], of_runs[len(of_runs) // 2 :]
        for peer, near, far in zip(self.present(case), near_runs, far_runs, strict=True):
            place = case.name, size, peer.name
            costs = self.costs.setdefault(place, table.Costs([], []))
            costs.slopes.append(slope(Cost(*near[:2]), Cost(*far[:2]), peer.horizons(case)))
            costs.peaks_mib.append(far[1] / 2**20)
            if peer.horizons_s is None:  # its far run is that of the outcomes
                self.outcomes.setdefault(place, []).append(Outcome.of(far[2]))

    def document(self) -> dict[str, Any]:
        rows = []
        for (case, size, peer), outcomes in self.outcomes.items():
            row: dict[str, Any] = {"case": case, "size": size, "peer": peer}
            cost = self.costs.get((case, size, peer))
            reference = self.costs.get((case, size, table.REFERENCE))
            if cost:
                row |= {"cpu_s_per_simulated_s": cost.slopes, "peak_mib": cost.peaks_mib}
            if cost and reference:
                row["ratio_to_wifair"] = asdict(table.ratios(cost.slopes, reference.slopes))
            rows.append({**row, "outcomes": [asdict(one) for one in outcomes]})
        return {
            "repetitions": self.repeat,
            "versions": {peer.name: peer.version() for peer in self.peers},
            "rows": rows,
        }

    def markdown(self) -> str:
        names = [peer.name for peer in self.peers]
        versions = ", ".join(peer.version() for peer in self.peers)
        parts = [
            f"{versions}; {self.repeat} repetitions. Outcomes: mean ± half-width of the 95 % interval; differences likewise "
            "(Welch), bold where they lie beyond it. TCP: payload; UDP: IP bytes."
        ]
        if self.timed:
            parts[0] += " Costs: median (smallest–largest) over the repetitions, ratios within each."
        for case in self.cases:
            parts += [
                f"### {case.title}",
                f"Measured for {case.measured_s:g} s after {case.warmup_s:g} s.",
                table.outcomes(case, names, self.outcomes),
                *([table.costs(case, names, self.costs)] if self.timed and case.timed else []),
            ]
        return "\n\n".join(parts)


class Progress:
    """On a terminal in place; elsewhere a line whenever the case changes."""

    def __init__(self) -> None:
        self.case = ""

    def __call__(self, text: str) -> None:
        case, _, _ = text.partition(",")
        if sys.stderr.isatty():
            print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
        elif case != self.case:
            self.case = case
            print(case, file=sys.stderr, flush=True)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [case.name for case in CASES]
    parser.add_argument("--group", nargs="+", choices=list(GROUPS), default=list(GROUPS), help="these cases alone")
    parser.add_argument("--cases", nargs="+", choices=names, default=names, help="leave the others out")
    parser.add_argument(
        "--only", nargs="+", choices=[peer.name for peer in PEERS], help="leave the other simulators out"
    )
    parser.add_argument("--repeat", type=int, help="repetitions (default 3); each has its own seed in ns-2 and ns-3")
    parser.add_argument(
        "--quick", action="store_true", help="a smoke run: the smallest size of each case, two repetitions"
    )
    parser.add_argument(
        "--measured-s",
        type=float,
        help="in place of each case's own time, for costs that scatter less; causes are not looked for",
    )
    parser.add_argument("--no-costs", action="store_true", help="outcomes alone, also on a busy machine")
    parser.add_argument("--json", action="store_true", help="one JSON document in place of the tables")
    parser.add_argument(
        "--page", type=Path, help="a Markdown page with marks for the tables, which are written there too"
    )
    parser.add_argument("--wifair", metavar="PROGRAM", help="the command `wifair`")
    parser.add_argument("--ns2", metavar="PROGRAM", help="the command `ns`")
    parser.add_argument("--ns3", metavar="DIR", type=Path, help="an installed ns-3, with include/ns3 and lib*")
    option = parser.parse_args(arguments)
    option.repeat = option.repeat or (2 if option.quick else 3)
    if option.repeat < 2:
        parser.error("needs --repeat of 2 or more: one run has no interval")
    if option.measured_s is not None and not option.measured_s > Peer.near_s:
        parser.error(f"--measured-s must be more than {Peer.near_s:g}, the time of the shorter run")
    if option.page and (
        option.quick or option.measured_s or option.only or len(option.group) != 1 or option.cases != names
    ):
        parser.error("--page goes with all cases of one --group and all simulators in full")
    option.cases = [case.name for name in option.group for case in GROUPS[name] if case.name in option.cases]
    return option


def find(option: argparse.Namespace) -> tuple[list[Peer], dict[str, str]]:
    """The simulators that are here, and why others are not."""
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
    return present, missing


def main() -> int:
    option = parse(sys.argv[1:])
    peers, missing = find(option)
    wanted = {name for case in CASES if case.name in option.cases for name in case.peers}
    if not peers or (option.page and wanted & missing.keys()):
        print("nothing to measure" if not peers else "--page needs all simulators that its cases name", file=sys.stderr)
        return 1
    cases = [case for case in CASES if case.name in option.cases]
    if option.quick:
        cases = [replace(case, sizes=case.sizes[:1], **QUICK) for case in cases]
    if option.measured_s:
        cases = [replace(case, measured_s=option.measured_s) for case in cases]
    progress = Progress()
    kept = Kept(BUILD, HERE, str([versions(), *(peer.version() for peer in peers)]))
    for peer in peers:
        peer.kept = kept
    bench = Bench(cases, peers, option.repeat, not option.no_costs, progress, kept)
    bench.run()
    without_causes = option.quick or option.measured_s
    explained = [] if without_causes else causes.explain(bench.cases, peers, bench.outcomes, option.repeat, progress)
    if sys.stderr.isatty():
        progress("")
    text = bench.markdown() + ("\n\n" + causes.markdown(explained) if explained else "") + "\n"
    if option.page:
        MARKS[option.group[0]].write(option.page, text)
    if option.json:
        document = {**bench.document(), "left_out": missing, "causes": [one.row() for one in explained]}
        print(json.dumps(document, indent=1))
    else:
        print(text, end="")
    kept.forget()
    return 0


if __name__ == "__main__":
    sys.exit(main())
