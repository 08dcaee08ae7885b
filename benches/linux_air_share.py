"""The patch that adds `air-share` to mac80211 against the scheme `air-share`: the table of docs/air-share-linux.md.

    make -C kernel/stack shares && .venv/bin/python benches/linux_air_share.py [--only TEXT] [--seeds N] [--parallel N]
        [--page docs/air-share-linux.md] [--keep FILE.json]
    .venv/bin/python benches/linux_air_share.py --only TEXT --variant ack_filter_below_mbps=0

Each cell is run by the kernel without the patch and with it, and by wifair with `mac80211` and `air-share`. Of each side, the table has by how
much the patch or the scheme changes each quantity. Finished runs of the kernel are kept in the file and not repeated. With `--variant` wifair alone runs, with another parameter of the scheme.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from linux_stack import KERNEL, PHYS, TCP, boot, minstrel_index, of_kernel, simulated
from wifair.emulate.kept import Kept
from wifair.markdown import Marks, table
from wifair.scenario.scenario import Scenario
from wifair.stats import Interval, unpaired_difference

MARKS = Marks("linux-air-share", "benches/linux_air_share.py")
SIMULATED = 10
# Kinds of kernels, each with the parameters of its modules.
KINDS = {"6.12": (), "6.12-air-share": ("mac80211.air_share=1",)}
SCHEMES = ("mac80211", "air-share")
# Quantities, with the decimals of the table.
QUANTITIES = {
    "bias": ("(up − down) / (up + down)", 2),
    "jain": ("Jain's index of flows", 2),
    "airtime_jain": ("of stations' airtime", 2),
    "rtt_p95_ms": ("ping, 95 %, ms", 0),
    "total_mbps": ("total, Mbps", 1),
}
HT_3 = PHYS["HT20 MCS 7"] | {
    "mcs": 3,
    "rates": ["ht-mcs-5", "3", "lgi-5"],
    "fixed_rate": minstrel_index(group=0, mcs=3),
}
PHY = {"HT20 MCS 7": PHYS["HT20 MCS 7"], "HT20 MCS 3": HT_3, "VHT80 MCS 7": PHYS["VHT80 MCS 7"]}
# PHY, uploads, downloads, ECN, the MCS of stations that upload if it is another.
Cell = tuple[str, int, int, bool, int | None]
CELLS: tuple[Cell, ...] = (
    ("HT20 MCS 7", 5, 5, False, None),
    ("HT20 MCS 7", 10, 10, False, None),
    ("HT20 MCS 7", 8, 2, False, None),
    ("HT20 MCS 7", 9, 1, False, None),
    ("HT20 MCS 7", 5, 5, True, None),
    ("HT20 MCS 7", 1, 4, False, 0),
    ("HT20 MCS 3", 5, 5, False, None),
    ("HT20 MCS 3", 10, 10, False, None),
    ("VHT80 MCS 7", 5, 5, False, None),
    ("VHT80 MCS 7", 10, 10, False, None),
)


def title(phy: str, up: int, down: int, ecn: bool, slow: int | None) -> str:
    """The name of a cell."""
    parts = [phy, f"{up} up", f"{down} down"]
    parts += ["ECN"] if ecn else []
    parts += [f"the upload at MCS {slow}"] if slow is not None else []
    return ", ".join(parts)


def cell(phy: str, up: int, down: int, ecn: bool, slow: int | None) -> dict[str, Any]:
    """The scenario of a cell: a station per transfer, and one that pings the server."""
    of = PHY[phy]
    flows: list[dict[str, Any]] = [
        {"name": way, "station": way, "count": count, "direction": way, "start_spread_s": 0.5}
        for way, count in (("down", down), ("up", up))
    ]
    ping = {"name": "ping", "station": "phone", "direction": "up", "application": {"name": "ping", "interval_ms": 20}}
    uploads: dict[str, Any] = {"name": "up", "count": up}
    return {
        "title": title(phy, up, down, ecn, slow),
        "run": of["run"],
        "phy": of["phy"],
        "mac": {"edca": {}},
        "ap": {"scheme": SCHEMES[0], "hardware": "hwsim"},
        "wire": {"one_way_delay_ms": 5, "rate_mbps": 1000},
        "station": {"mcs": of["mcs"], "tx_queue": {"scheme": "mac80211"}, "hardware": "hwsim"},
        "stations": [
            {"name": "down", "count": down},
            uploads | ({} if slow is None else {"mcs": slow}),
            {"name": "phone"},
        ],
        "flows": [*flows, ping],
        "tcp": TCP | {"ecn": ecn},
    }


def quantities(metrics: dict[str, float]) -> dict[str, float]:
    """The quantities of a run."""
    up, down = metrics["up_mbps"], metrics["down_mbps"]
    return metrics | {"bias": (up - down) / (up + down), "total_mbps": up + down}


def changes(runs: tuple[list[dict[str, float]], list[dict[str, float]]]) -> dict[str, Interval]:
    """By how much the second runs are above the first."""
    before, after = ([quantities(run) for run in each] for each in runs)
    return {
        each: unpaired_difference([run[each] for run in after], [run[each] for run in before]) for each in QUANTITIES
    }


def is_shown(change: Interval) -> bool:
    """Whether the interval excludes 0."""
    return change.low is not None and change.high is not None and (change.low > 0 or change.high < 0)


def opposed(kernel: dict[str, Interval], model: dict[str, Interval]) -> list[str]:
    """The quantities whose shown change in wifair has another direction in the kernel's mean."""
    return [each for each in QUANTITIES if is_shown(model[each]) and kernel[each].estimate * model[each].estimate <= 0]


def alike(kernel: dict[str, Interval], model: dict[str, Interval]) -> list[bool]:
    """Of each quantity whose change is shown on both sides, whether it has the same direction."""
    both = [(kernel[each], model[each]) for each in QUANTITIES if is_shown(kernel[each]) and is_shown(model[each])]
    return [linux.estimate * wifair.estimate > 0 for linux, wifair in both]


def shown(change: Interval, decimals: int) -> str:
    """The text of a table cell; bold if the interval excludes 0."""
    if change.low is None or change.high is None:
        return f"{change.estimate:+.{decimals}f}"
    text = f"{change.estimate:+.{decimals}f} ± {(change.high - change.low) / 2:.{decimals}f}"
    return f"**{text}**" if is_shown(change) else text


def rows(name: str, kernel: dict[str, Interval], model: dict[str, Interval]) -> list[list[str]]:
    """The two lines of a cell."""
    against = opposed(kernel, model)
    verdict = f"no: {', '.join(QUANTITIES[each][0] for each in against)}" if against else "yes"

    def line(head: list[str], of: dict[str, Interval], last: str) -> list[str]:
        return [*head, *(shown(of[each], decimals) for each, (_, decimals) in QUANTITIES.items()), last]

    return [line([name, "Linux"], kernel, verdict), line(["", "wifair"], model, "")]


def levels(name: str, runs: list[list[dict[str, float]]], signals: list[dict[str, float]]) -> list[str]:
    """A line of the second table: what the kernel gives without the patch and with it, and what it signals per second."""

    def pair(key: str, decimals: int) -> str:
        return " → ".join(f"{sum(run[key] for run in each) / len(each):.{decimals}f}" for each in runs)

    per_run = [sum(one[key] for one in signals) / len(signals) for key in ("marked", "dropped", "acks_filtered")]
    return [
        name,
        *(pair(key, digits) for key, digits in (("up_mbps", 1), ("down_mbps", 1), ("rtt_p95_ms", 0))),
        *(f"{each:.0f}" for each in per_run),
    ]


def of_variant(parameter: str, scenarios: list[Scenario]) -> str:
    """By how much the scheme with another parameter, as NAME=VALUE, changes each quantity in wifair."""
    key, _, value = parameter.partition("=")
    variant = {"name": SCHEMES[1], key: float(value)}
    lines = []
    for scenario in scenarios:
        before, after = (simulated(scenario.override({"ap.scheme": each}), SIMULATED) for each in (SCHEMES[0], variant))
        found = changes((before, after))
        lines.append([scenario.title, *(shown(found[each], decimals) for each, (_, decimals) in QUANTITIES.items())])
    return table(("cell", *(head for head, _ in QUANTITIES.values())), lines)


def main() -> None:
    """Runs, and writes the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cells whose title has this text")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--variant", help="NAME=VALUE: a parameter of the scheme, in wifair alone")
    parser.add_argument("--keep", type=Path, default=KERNEL / "build" / "linux_air_share.json")
    given = parser.parse_args()
    cells = [(each, Scenario(**cell(*each))) for each in CELLS if given.only in title(*each)]
    if given.variant:
        print(of_variant(given.variant, [scenario for _, scenario in cells]))
        return
    kept = Kept(given.keep)

    def runs(kind: str, scenario: Scenario) -> list[dict[str, Any]]:
        return [run for run in kept.of(f"{kind}: {scenario.title}") if run["seed"] <= given.seeds]

    missing = [
        (kind, each, scenario, seed)
        for seed in range(1, given.seeds + 1)
        for each, scenario in cells
        for kind in KINDS
        if seed not in {run["seed"] for run in runs(kind, scenario)}
    ]

    def run(one: tuple[str, Cell, Scenario, int]) -> None:
        kind, (phy, _, _, ecn, _), scenario, seed = one
        parameters = [*KINDS[kind], *(["ecn=1"] if ecn else [])]
        measured = boot(PHY[phy], scenario, seed, parameters, kind)
        found = {"seed": seed} | of_kernel(measured) | {"air_share": measured.get("air_share")}
        kept.add(f"{kind}: {scenario.title}", found)
        print(f"{kind}: {scenario.title}: {found}", file=sys.stderr, flush=True)

    with ThreadPoolExecutor(given.parallel) as pool:
        list(pool.map(run, missing))
    lines: list[list[str]] = []
    given_levels: list[list[str]] = []
    both: list[bool] = []
    agree = 0
    for _, scenario in cells:
        of_kinds = [runs(kind, scenario) for kind in KINDS]
        before, after = (simulated(scenario.override({"ap.scheme": scheme}), SIMULATED) for scheme in SCHEMES)
        of_linux, of_wifair = changes((of_kinds[0], of_kinds[1])), changes((before, after))
        both += alike(of_linux, of_wifair)
        pair = rows(scenario.title, of_linux, of_wifair)
        agree += pair[0][-1] == "yes"
        lines += pair
        given_levels.append(levels(scenario.title, of_kinds, [run["air_share"] for run in of_kinds[1]]))
    summary = (
        f"Of {len(both)} changes that are shown on both sides, {sum(both)} have the same direction. In {agree} of {len(cells)} cells every change that is "
        f"shown in wifair has the same direction in Linux's mean. {given.seeds} seeds in Linux and {SIMULATED} in wifair, 95 % intervals; a change "
        "is bold, and *shown*, if its interval excludes 0."
    )
    heads = ("cell", "", *(head for head, _ in QUANTITIES.values()), "same direction")
    head = (
        "Linux, without → with the patch",
        "up, Mbps",
        "down, Mbps",
        "ping, 95 %, ms",
        "marked",
        "dropped",
        "ACKs removed",
    )
    text = f"{summary}\n\n{table(heads, lines)}\n\n{table(head, given_levels)}"
    print(text)
    if given.page:
        MARKS.write(given.page, text)


if __name__ == "__main__":
    main()
