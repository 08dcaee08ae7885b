"""How to repeat the runs: command, versions, seeds, plans."""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from wifair.report.parts import Code, Details, Facts, Part, Section, Table
from wifair.results.segment import plan_hash
from wifair.study.study import seeds_text

if TYPE_CHECKING:
    from wifair.results.results import Results

# The largest number of plans that are included in full; of further ones only the hash.
MOST_PLANS = 6


def command(arguments: Sequence[str]) -> str:
    """A command line equivalent to the one typed."""
    return shlex.join(["wifair", *arguments])


def made_by(results: Results) -> str:
    """The footer of a page."""
    told = results.made_by
    return (
        f"Made with wifair {told.get('wifair', '?')}, engine {told.get('engine', '?')}, on {date.today().isoformat()}."
    )


def again(arguments: Sequence[str], results: Results) -> Section:
    """The section on how to repeat the runs."""
    ran = dict(results.runs.group_by("scenario").len().iter_rows())
    seconds = sum(cell.scenario.simulated_s() * ran.get(cell.name, 0) for cell in results.cells)
    facts = {
        "seeds": seeds_text(results.seeds),
        "replications": f"{results.runs.height}",
        "simulated": f"{seconds:,.0f} s in all",
        **dict(results.made_by),
    }
    plans = [(cell.name, cell.scenario.plan()) for cell in results.cells]
    rows = [[name, plan_hash(cell.scenario.plan_json)] for (name, _), cell in zip(plans, results.cells, strict=True)]
    parts: list[Part] = [
        Code(command(arguments), "The command that wrote this page:"),
        Facts(facts),
        Details("Plans: what the engine was given", [Table.of(("scenario", "plan (BLAKE2b)"), rows)]),
    ]
    if len(plans) <= MOST_PLANS:
        parts += [Details(f"Plan: {name}", [Code(json.dumps(plan, indent=1))]) for name, plan in plans]
    return Section("How to run it again", [*parts, *_written_in_python(results)])


def _written_in_python(results: Results) -> list[Part]:
    """The sources of schemes that are not part of wifair, which repeating the runs needs."""
    named = (scheme for cell in results.cells for scheme in getattr(cell.scenario, "python_schemes", {}).values())
    parts: list[Part] = []
    for scheme in dict.fromkeys(named):
        file = inspect.getsourcefile(scheme.cls)
        if file and Path(file).is_file():
            parts.append(Details(f"The scheme {scheme}: its file", [Code(Path(file).read_text(encoding="utf-8"))]))
    return parts
