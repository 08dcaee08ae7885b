"""The pinned trajectories of the crates. `python pinned.py FOLDER` holds the engine that is installed against those of a folder."""

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
            table["plan"]["bss"]["ap"]["port"]["scheme"] = {"name": scheme}
            courses[json.dumps(table["plan"]), table["seed"]] = expected
    return courses


def found(courses: dict[tuple[str, int], str], threads: int) -> list[str]:
    """The hashes that the engine finds for them, in their order."""
    from wifair import _native

    with ThreadPoolExecutor(threads) as pool:
        return [*pool.map(lambda job: f"{_native.fingerprint(job[0], job[1], {}):016x}", courses)]


if __name__ == "__main__":
    expected = pinned(Path(sys.argv[1]))
    if not expected or found(expected, 2) != [*expected.values()]:
        sys.exit(f"the engine does not take the trajectories pinned in {sys.argv[1]}")
    sys.stdout.write(f"{len(expected)} trajectories as pinned\n")
