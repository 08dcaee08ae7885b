"""Instructions per frame exchange, counted by valgrind: independent of the machine's load.

The slope between two run lengths, which excludes start-up. Needs valgrind.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BINARY = ROOT / "target" / "release" / "examples" / "replicate"
HORIZONS_S = (20, 60)


def count(scheme: str, flows: int, seconds: int, carried: str) -> tuple[int, int]:
    """(instructions, exchanges) of one replication."""
    command = [
        "valgrind",
        "--tool=callgrind",
        "--callgrind-out-file=/dev/null",
        str(BINARY),
        scheme,
        str(flows),
        str(seconds),
        *([carried] if carried != "bulk" else []),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    collected = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
    if collected is None:
        raise SystemExit(f"valgrind said nothing of instructions:\n{done.stderr}")
    return int(collected.group(1)), int(done.stdout)


def main() -> None:
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: instructions are not counted", file=sys.stderr)
        return
    build = ["cargo", "build", "--release", "-p", "wifair-sim", "--example", "replicate"]
    subprocess.run(build, cwd=ROOT, check=True)
    print(f"{'scheme':<18} {'flows':>7} {'carried':>8} {'instructions/exchange':>22}")
    schemes = subprocess.run([BINARY, "schemes"], capture_output=True, text=True, check=True).stdout.split()
    cases = [(scheme, 10, "bulk") for scheme in schemes]
    cases += [("droptail", 100, "bulk"), ("droptail", 500, "bulk"), ("droptail", 20, "bulk"), ("droptail", 20, "short")]
    cases += [("droptail", 10, "edca")]
    for scheme, flows, carried in cases:
        short, long = (count(scheme, flows, seconds, carried) for seconds in HORIZONS_S)
        slope = (long[0] - short[0]) / (long[1] - short[1])
        print(f"{scheme:<18} {f'{flows}+{flows}':>7} {carried:>8} {slope:>22.0f}", flush=True)


if __name__ == "__main__":
    main()
