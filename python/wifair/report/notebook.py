"""Results, differences and verdicts as a notebook shows them: the report's own tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wifair.report import measured
from wifair.report.parts import Facts, Text, Verdicts
from wifair.report.rendering import fragment
from wifair.study import seeds_text

if TYPE_CHECKING:
    from wifair.claims import Judgement
    from wifair.comparison import Differences
    from wifair.papers import Reproduction
    from wifair.results import Results


def results(of: Results) -> str:
    """A row a scenario: means with their intervals."""
    told = {"seeds": seeds_text(of.seeds), "replications": f"{of.runs.height}", "engine": of.made_by.get("engine", "?")}
    return fragment(*measured.cautions(of), *measured.summary(of), Facts(told))


def differences(of: Differences) -> str:
    """A row a pair and metric."""
    return fragment(measured.difference_table(of))


def reproduction(of: Reproduction) -> str:
    """A paper's verdicts, and under which conditions they were found."""
    conditions = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in of.conditions.items())
    return fragment(Verdicts([found.to_dict() for found in of.judgements]), Text([conditions]))


def judgement(of: Judgement) -> str:
    """One claim with its verdict."""
    return fragment(Verdicts([of.to_dict()]).table)
