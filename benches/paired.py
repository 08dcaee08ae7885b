"""Processor time of one run against that of another, in turn: the speed of a machine changes, and hits neighbours alike.

    python3 benches/paired.py --per packet "replicate droptail 10 4 he80" "replicate droptail 10 400"
    python3 benches/paired.py "replicate droptail 500 60" "replicate droptail 10 60"
    python3 benches/paired.py "replicate droptail 20 400" "../before/target/release/examples/replicate droptail 20 400"

`replicate` alone is this tree's release build of that example. Each prints its exchanges and, in builds that count them, its
delivered packets. The answer is the first's time per exchange or packet in terms of the second's: the ratio of the least times of
each, the median of the ratios of neighbours, and their quartiles.
"""

import argparse
import os
import statistics
import subprocess
from pathlib import Path

BINARY = Path(__file__).resolve().parent.parent / "target" / "release" / "examples" / "replicate"


def cost_ns(command: list[str], per: str) -> float:
    """Processor time per exchange or delivered packet of one run."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    counts = process.stdout.read().split()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    if per == "packet" and len(counts) < 2:
        raise SystemExit(f"{command[0]} does not count delivered packets: use --per exchange")
    return 1e9 * (usage.ru_utime + usage.ru_stime) / int(counts[0 if per == "exchange" else 1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs=2, help="a command with its arguments")
    parser.add_argument("--per", choices=("exchange", "packet"), default="exchange")
    parser.add_argument("--pairs", type=int, default=40)
    asked = parser.parse_args()
    words = [run.split() for run in asked.runs]
    commands = [[str(BINARY) if run[0] == "replicate" else run[0], *run[1:]] for run in words]
    # The order is swapped in every second pair, so that a drift of the machine's speed favours neither.
    pairs = []
    for number in range(asked.pairs):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        found = {index: cost_ns(commands[index], asked.per) for index in order}
        pairs.append((found[0], found[1]))
    least = [min(pair[index] for pair in pairs) for index in (0, 1)]
    ratios = [first / second for first, second in pairs]
    low, median, high = statistics.quantiles(ratios, n=4)
    print(f"{least[0] / least[1]:.3f} by the least times ({least[0]:.1f} and {least[1]:.1f} ns per {asked.per})")
    print(f"{median:.3f} the median of {asked.pairs} ratios (quartiles {low:.3f} and {high:.3f})")


if __name__ == "__main__":
    main()
