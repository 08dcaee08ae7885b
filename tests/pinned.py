"""The pinned trajectories of the crates.

`python pinned.py FOLDER` compares the installed engine with those of a folder, and prints each hash that differs, to be pinned
where the trajectory is new or a rule of the model has changed.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


def pinned(folder: Path) -> dict[tuple[str, int], str]:
    """The hash of every pinned trajectory, by plan and seed."""
    courses = {}
    for path in sorted(folder.glob("*.json")):
        table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for scheme, expected in table["hashes"].items():
            table["plan"]["bss"]["ap"]["tx_queue"]["scheme"] = {"name": scheme}
            courses[json.dumps(table["plan"]), table["seed"]] = expected
    return courses


def labels(folder: Path) -> list[str]:
    """File and scheme of every pinned trajectory, in the order of `pinned`."""
    tables = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}
    return [f"{name}, {scheme}" for name, table in tables.items() for scheme in table["hashes"]]


def found(courses: dict[tuple[str, int], str], threads: int) -> list[str]:
    """The hashes that the engine finds for them, in their order."""
    from wifair import _native

    with ThreadPoolExecutor(threads) as pool:
        return [*pool.map(lambda job: f"{_native.fingerprint(job[0], job[1], {}):016x}", courses)]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    expected = pinned(folder)
    if not expected:
        sys.exit(f"no trajectories are pinned in {folder}")
    pairs = zip(labels(folder), found(expected, 2), expected.values(), strict=True)
    if moved := [f"{label}: found {now}, pinned {then}" for label, now, then in pairs if now != then]:
        sys.exit("\n".join([f"{len(moved)} of {len(expected)} trajectories differ from {folder}", *moved]))
    sys.stdout.write(f"{len(expected)} trajectories as pinned\n")
