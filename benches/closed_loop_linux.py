"""The closed loop through Linux's Wi-Fi stack: does the gain that is predicted from what its access point shows hold there?

    make -C kernel/stack survey && .venv/bin/python benches/closed_loop_linux.py [--only N…] [--keep FILE.json] [--store DIR] [--threads N]
        [--page docs/advise.md]

1. The network runs by the kernel in virtual time (docs/peers-linux.md). `iw dev wlan0 station dump`, `survey dump` and `info` show it when the measurement begins and ends.
2. `import` makes a scenario of that, and `advise` says what to change, and what that is worth. Which goal each network has was written down before it was run.
3. The change is made in the kernel by the commands of the advice, which runs with five seeds before and after it. EDCA parameters are announced by hostapd, and apply in
   the medium, since `mac80211_hwsim` does not contend. Goodput is that of the sockets, round-trip times are those of the ping.

The prediction holds as in benches/closed_loop.py. The table also has what the change does in wifair's runs of the network itself: where that differs from the kernel, it is not `import`
that is at fault. Finished runs of the kernel are kept in the file and not repeated.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from closed_loop import Outcome, agree, nearest, standing, summary
from linux_stack import KERNEL, PHYS, SIMULATED, TCP, boot, of_kernel
from wifair import Scenario
from wifair.advising import OWN, Advising
from wifair.advising.changes import Change
from wifair.advising.wording import is_advised
from wifair.emulate.kept import Kept
from wifair.everything.criteria import Criterion
from wifair.everything.verdict import Standing
from wifair.markdown import Marks, table
from wifair.observed import imported
from wifair.observed.origins import marks
from wifair.observed.written import text
from wifair.stats import Interval, Values
from wifair.study.job import Cell
from wifair.study.store import Store
from wifair.study.study import Study
from wifair.tuning.goals import Goal, parsed

MARKS = Marks("closed-loop-linux", "benches/closed_loop_linux.py")
# The kernel whose access point has a survey.
KIND = "6.12-survey"
# Seeds of what the access point shows, and of what the change does.
SHOWN, TRUTH = 1, range(11, 16)
# By goal, what the guest measures.
METRICS = {"fair shares": "jain", "pings": "rtt_p95_ms"}
# An option in a command that adds it to hostapd's file.
_OPTION = re.compile(r"echo '(?P<option>[^']+)' >> .*hostapd\.conf")


@dataclass(frozen=True)
class Network:
    """A network of the kernel: its PHY (see `linux_stack.PHYS`), seconds of measurement, goal, and stations by name with count, MCS and flows each way.

    The server is pinged from one more station with an MCS, or from a named one.
    """

    phy: str
    duration_s: float
    want: str
    stations: Sequence[tuple[str, int, int, int, int]]
    pinger: int | str

    @property
    def about(self) -> str:
        """What it is, in words."""
        of = [f"{count} at MCS {mcs}: {down} down and {up} up each" for _, count, mcs, down, up in self.stations]
        pinger = f"; ping from {self.pinger}" if isinstance(self.pinger, str) else ""
        return f"{self.phy.split()[0]}, stations {'; '.join(of)}{pinger}"

    @property
    def of_phy(self) -> dict[str, Any]:
        """What the PHY is called by hostapd, `iw` and minstrel_ht."""
        return PHYS[self.phy] | {"run": PHYS[self.phy]["run"] | {"duration_s": self.duration_s}}

    def scenario(self) -> Scenario:
        """The network."""
        of = self.of_phy
        flows: list[dict[str, Any]] = []
        for name, count, _, down, up in self.stations:
            for way, each in (("down", down), ("up", up)):
                if each:
                    flow = {"name": f"{name}-{way}", "station": name, "count": count * each, "direction": way}
                    flows.append(flow | {"start_spread_s": 0.5})
        ping = {"name": "ping", "interval_ms": 100}
        stations = [{"name": name, "count": count, "mcs": mcs} for name, count, mcs, _, _ in self.stations]
        if isinstance(self.pinger, int):
            stations.append({"name": "pinger", "mcs": self.pinger})
        pinger = self.pinger if isinstance(self.pinger, str) else "pinger"
        return Scenario(
            title=f"loop, {self.about}",
            run=of["run"],
            phy=of["phy"],
            mac={"edca": {}},
            ap={"scheme": "mac80211", "hardware": "hwsim"},
            wire={"one_way_delay_ms": 5, "rate_mbps": 1000},
            station={"tx_queue": {"scheme": "mac80211"}, "hardware": "hwsim"},
            tcp=TCP,
            stations=stations,
            flows=[*flows, {"name": "ping", "station": pinger, "direction": "up", "application": ping}],
        )


NETWORKS = (
    Network("HT20 MCS 7", 20, "fair shares", (("down", 4, 7, 1, 0), ("up", 4, 7, 0, 1)), pinger=7),
    Network("HT20 MCS 7", 20, "pings", (("near", 4, 7, 1, 0), ("far", 2, 3, 1, 0)), pinger=3),
    Network("VHT80 MCS 7", 10, "fair shares", (("both", 5, 7, 1, 1), ("down", 3, 7, 1, 0)), pinger=7),
    # The second network again with the ping where advice puts one: at a slow station, which has a download as well.
    Network("HT20 MCS 7", 20, "pings", (("near", 4, 7, 1, 0), ("far", 2, 3, 1, 0)), pinger="far-1"),
)


class Kernel:
    """Runs of the networks by the kernel, kept in a file."""

    def __init__(self, keep: Path) -> None:
        self._kept = Kept(keep)

    def shown(self, network: Network) -> str:
        """The scenario file that `import` makes of what the access point shows."""
        air = self._run(network, None, SHOWN)["air"]
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for number, found in enumerate(air["shown"]):
                for name, content in found.items():
                    files.append(Path(folder) / f"{name}-{number}.txt")
                    files[-1].write_text(content, encoding="utf-8")
            return text(imported(files))

    def truth(self, network: Network, change: Change | None) -> Values:
        """The metric of the goal with each seed."""
        runs = [of_kernel(self._run(network, change, seed)) for seed in TRUTH]
        return np.array([run[METRICS[network.want]] for run in runs])

    def _run(self, network: Network, change: Change | None, seed: int) -> dict[str, Any]:
        name = f"{network.about}; {change.name if change else OWN}"
        for run in self._kept.of(name):
            if run["seed"] == seed:
                return run
        scenario, of, parameters = network.scenario(), network.of_phy, ["shown=1"]
        with tempfile.NamedTemporaryFile("w", suffix=".sh", dir=KERNEL / "build") as script:
            if change:
                assert change.commands
                options = [found["option"] for line in change.commands.do if (found := _OPTION.fullmatch(line))]
                of = of | {"mode": [*of["mode"], *options]}
                scenario = change.applied(scenario)
                if change.commands.tool in ("iw", "debugfs"):
                    script.write("\n".join(change.commands.do) + "\n")
                    script.flush()
                    parameters.append(f"change={script.name}")
            found = boot(of, scenario, seed, parameters, KIND)
        self._kept.add(name, {"seed": seed} | found)
        print(f"{name}, seed {seed}: {of_kernel(found)}", file=sys.stderr, flush=True)
        return found


def outcome(network: Network, kernel: Kernel, given: argparse.Namespace) -> Outcome:
    """Closes the loop for a network."""
    content = kernel.shown(network)
    goals, head = parsed([network.want]), (f"{network.about}, `{network.want}`",)
    advising = Advising(Scenario.from_settings(tomllib.loads(content)), goals, "linux", marks(content))
    advice = advising.run(given.threads, store=Store(given.store))
    [criterion] = advice.criteria
    change = advice.best or nearest(advice, advising.settable, criterion)
    with_it, without = kernel.truth(network, change), kernel.truth(network, None)
    true = criterion.effect(with_it, without)
    effects = (
        criterion.effect_text(true),
        criterion.effect_text(simulated(network, change, goals, criterion, given.threads)),
    )
    stands = standing(criterion, with_it, without)
    if not is_advised(advice):
        is_right = stands is not Standing.BETTER
        words = "rightly left" if is_right else "**wrongly left**"
        return Outcome((*head, f"leave it; nearest: {change.name}", "", "", *effects, words), is_left=is_right)
    predicted, assumed = advice.effect(change, criterion), advice.predicted(change, criterion)
    by_chance, holds = agree(predicted, true), agree(assumed, true)
    verdict = "chance alone" if by_chance else "with what is assumed" if holds else "**no**"
    row = (*head, change.name, *map(criterion.effect_text, (predicted, assumed)), *effects, verdict)
    return Outcome(row, holds, by_chance, stands=stands.value)


def simulated(
    network: Network, change: Change, goals: Sequence[Goal], criterion: Criterion, threads: int | None
) -> Interval:
    """What the change does in wifair's runs of the network itself."""
    scenario = network.scenario()
    results = Study([Cell(OWN, scenario), Cell("changed", change.applied(scenario))], SIMULATED).run(threads)
    runs = results.with_metrics(*(goal.own for goal in goals if goal.own))
    without, with_it = (runs.values(name, goals[0].metric).to_numpy() for name in (OWN, "changed"))
    return criterion.effect(with_it, without)


def main() -> None:
    """Closes the loop of each network, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=int, nargs="*", default=[], help="numbers of networks, from 1 on")
    parser.add_argument("--keep", type=Path, default=KERNEL / "build" / "closed_loop_linux.json")
    parser.add_argument("--store", type=Path, default=Path("results/store"))
    parser.add_argument("--threads", type=int)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    kernel, found = Kernel(given.keep), []
    for number, network in enumerate(NETWORKS, 1):
        if not given.only or number in given.only:
            found.append(outcome(network, kernel, given))
            print(f"{number}: {'; '.join(found[-1].row)}", file=sys.stderr, flush=True)
    heads = (
        "network, goal",
        "change",
        "predicted, by chance",
        "with what is assumed",
        "in the kernel",
        "in wifair's runs of it",
        "within",
    )
    made = f"{table(heads, [each.row for each in found])}\n\n{summary(found)}"
    print(made)
    if given.page:
        MARKS.write(given.page, made)


if __name__ == "__main__":
    main()
