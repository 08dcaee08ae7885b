"""Instructions per frame exchange and per delivered packet, counted by valgrind: independent of the machine's load.

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
TODAY_HORIZONS_S = (4, 8)


def count(scheme: str, flows: int, seconds: int, carried: str) -> tuple[int, int, int]:
    """(instructions, exchanges, delivered packets) of one replication."""
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
    exchanges, delivered = map(int, done.stdout.split())
    return int(collected.group(1)), exchanges, delivered


def main() -> None:
    if shutil.which("valgrind") is None:
        print("valgrind is not installed: instructions are not counted", file=sys.stderr)
        return
    build = ["cargo", "build", "--release", "-p", "wifair-sim", "--example", "replicate"]
    subprocess.run(build, cwd=ROOT, check=True)
    print(f"{'scheme':<18} {'flows':>7} {'carried':>10} {'instructions/exchange':>22} {'/packet':>8}")
    schemes = subprocess.run([BINARY, "schemes"], capture_output=True, text=True, check=True).stdout.split()
    cases = [(scheme, 10, "bulk") for scheme in schemes]
    cases += [("droptail", 100, "bulk"), ("droptail", 500, "bulk"), ("droptail", 20, "bulk"), ("droptail", 20, "short")]
    cases += [(scheme, 500, "bulk") for scheme in ("mac80211", "air-share")]
    cases += [("droptail", 10, "edca")]
    cases += [(scheme, 10, carried) for carried in ("he80", "he80-today") for scheme in ("droptail", "mac80211")]
    for scheme, flows, carried in cases:
        horizons_s = TODAY_HORIZONS_S if carried.startswith("he80") else HORIZONS_S
        short, long = (count(scheme, flows, seconds, carried) for seconds in horizons_s)
        instructions, exchanges, delivered = (after - before for before, after in zip(short, long, strict=True))
        slopes = f"{instructions / exchanges:>22.0f} {instructions / delivered:>8.0f}"
        print(f"{scheme:<18} {f'{flows}+{flows}':>7} {carried:>10} {slopes}", flush=True)


if __name__ == "__main__":
    main()
