"""What runs warn of, over the replications of a scenario: each warning once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from wifair.keys import some_of

# BSSs that a warning names.
NAMED = 3

# A warning with this word is about the whole scenario only if every run has one.
NEVER = " never "
# A run with this warning has the cause of the other too: an empty buffer reaches no limit.
EMPTY = "never queued a packet"


@dataclass
class _Warning:
    """The first text of a warning, whose numbers differ from run to run, and the number of runs that have it."""

    text: str
    runs: int = 0


@dataclass
class _Told:
    """The warnings of one scenario, by BSS and by text without numbers."""

    of: dict[str, dict[str, _Warning]] = field(default_factory=dict)

    def add(self, bss: str, text: str) -> None:
        """Counts a warning of one run."""
        alike = re.sub(r"\d+(\.\d+)?", "#", text)
        self.of.setdefault(bss, {}).setdefault(alike, _Warning(text)).runs += 1


def warnings(
    texts: Iterable[tuple[str, str]], runs: Mapping[str, int], bsss: Mapping[str, Sequence[str]], chosen: Sequence[str]
) -> list[str]:
    """The warnings, each once per scenario, with the BSSs that it is about and the numbers of the first run.

    `texts` has the scenario and the text of each run that has one, `runs` the number of runs by scenario. `bsss` has the BSSs by scenario, of
    those that have several: the text then has warnings of each, with its name. The result has those of the `chosen` alone.
    """
    found: dict[str, _Told] = {}
    for scenario, text in texts:
        told = found.setdefault(scenario, _Told())
        for bss, part in _parts(text, bsss.get(scenario, ())):
            if not bss or bss in chosen:
                told.add(bss, part)
    lines = []
    for scenario, told in found.items():
        of: dict[str, tuple[str, list[str]]] = {}
        for bss, by_text in told.of.items():
            for alike, warning in _lasting(by_text, runs[scenario]).items():
                of.setdefault(alike, (warning.text, []))[1].append(bss)
        lines += [f"{scenario}: {_listed([bss for bss in about if bss])}{text}" for text, about in of.values()]
    return lines


def _parts(text: str, bsss: Sequence[str]) -> list[tuple[str, str]]:
    """The BSS and the text of each warning of a run. A run of one BSS names none."""
    if not bsss:
        return [("", part) for part in text.split("; ")]
    names = "|".join(re.escape(name) for name in sorted(bsss, key=len, reverse=True))
    _, *parts = re.split(f"(?:^|; )({names}): ", text)
    return list(zip(parts[::2], parts[1::2], strict=True))


def _lasting(by_text: Mapping[str, _Warning], runs: int) -> dict[str, _Warning]:
    """The warnings about one BSS that hold for all its runs: what some run had or did is no longer "never"."""
    never = {alike: warning for alike, warning in by_text.items() if NEVER in warning.text}
    others = {alike: warning for alike, warning in by_text.items() if alike not in never}
    if sum(warning.runs for warning in never.values()) < runs:
        return others
    if len(never) > 1:
        never = {alike: warning for alike, warning in never.items() if EMPTY not in warning.text}
    return {**never, **others}


def _listed(names: Sequence[str]) -> str:
    return f"{some_of(names, NAMED)}: " if names else ""
