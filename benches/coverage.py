"""Writes what `make coverage` has measured into docs/coverage.md: `python benches/coverage.py docs/coverage.md`.

It reads `build/coverage/engine.json` (of cargo-llvm-cov) and `build/coverage/package.json` (of coverage.py). What was not
measured keeps its place on the page as it is.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wifair.markdown import Marks, table

MEASURED = Path(__file__).parents[1] / "build" / "coverage"
Summary = Mapping[str, Any]


def share(covered: int, count: int) -> str:
    """The share of what was run, in per cent, rounded down: 100 % is all of it."""
    return f"{int(1000 * covered / count) / 10:.1f} %" if count else "–"


def engine(found: Summary) -> str:
    """The crates, from the summaries of their files."""
    crates: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for file in found["data"][0]["files"]:
        if crate := re.search(r"crates/([\w-]+)/src/", file["filename"]):
            for kind, counts in file["summary"].items():
                crates[crate[1]][kind][0] += counts["covered"]
                crates[crate[1]][kind][1] += counts["count"]
    least = min(covered / count for covered, count in (kinds["lines"] for kinds in crates.values()))
    rows = [
        (
            f"`{crate}`",
            f"{share(*kinds['lines'])} ({kinds['lines'][0]:,} of {kinds['lines'][1]:,})",
            share(*kinds["regions"]),
            share(*kinds["functions"]),
        )
        for crate, kinds in sorted(crates.items())
    ]
    head = f"**At least {int(100 * least)} % of the lines of each crate.**"
    return f"{head}\n\n{table(('crate', 'lines', 'regions', 'functions'), rows)}\n"


def package(found: Summary) -> str:
    """The Python package, from its totals."""
    totals = found["totals"]
    counts = {
        "lines": (totals["covered_lines"], totals["num_statements"]),
        "branches": (totals["covered_branches"], totals["num_branches"]),
    }
    told = [f"{share(a, b)} of the {kind} ({a:,} of {b:,})" for kind, (a, b) in counts.items()]
    return f"**{' and '.join(told)}**, child processes included.\n"


PARTS = {"engine": engine, "package": package}


def write(page: Path, measured: Path) -> list[str]:
    """Writes each part that was measured; returns their names."""
    written = []
    for name, of in PARTS.items():
        source = measured / f"{name}.json"
        if source.exists():
            Marks(f"coverage of the {name}", "make coverage").write(page, of(json.loads(source.read_text("utf-8"))))
            written.append(name)
    return written


if __name__ == "__main__":
    names = write(Path(sys.argv[1]), MEASURED)
    sys.stdout.write(f"{sys.argv[1]}: wrote {', '.join(names) or 'nothing, since nothing was measured'}\n")
