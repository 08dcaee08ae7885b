"""Goals of a search: metrics and their better direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from wifair.errors import InputError
from wifair.keys import nearest
from wifair.results.metric import Better, Metric
from wifair.results.results import BETTER, UNITS

DIRECTIONS: tuple[Better, ...] = get_args(Better)


@dataclass(frozen=True)
class Goal:
    """A metric, and whether its highest or its lowest value is best. `own` is the metric if the user has defined it."""

    metric: str
    better: Better
    own: Metric | None = None

    @property
    def sign(self) -> int:
        """The factor that makes more better: 1 or −1."""
        return 1 if self.better == "highest" else -1

    def __str__(self) -> str:
        return f"{self.better} {self.metric}"


def parsed(told: str | Metric | Sequence[str | Metric]) -> tuple[Goal, ...]:
    """The goals: names of metrics, `METRIC=highest` or `METRIC=lowest`, or user-defined metrics."""
    listed = [told] if isinstance(told, (str, Metric)) else list(told)
    found = tuple(_of(one) if isinstance(one, Metric) else _parsed(one) for one in listed)
    if not found:
        raise InputError(f"goals: a search needs a goal; allowed here: {_listed()}.")
    names = [goal.metric for goal in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"goals: {twice[0]} is named twice; allowed here: each once.")
    return found


def _of(metric: Metric) -> Goal:
    if metric.better is None:
        raise InputError(
            f"goals: Metric {metric.name!r} has no better direction; allowed here: better='highest', 'lowest'."
        )
    if metric.name in UNITS:
        raise InputError(f"goals: {metric.name!r} is a metric already; allowed here: a name that wifair does not use.")
    return Goal(metric.name, metric.better, metric)


def _parsed(text: str) -> Goal:
    if not isinstance(text, str):
        raise InputError(f"goals: {text!r} is no metric; allowed here: {_listed()}.")
    name, separator, direction = (part.strip() for part in text.partition("="))
    if name not in UNITS:
        hint = nearest(name, UNITS)
        raise InputError(
            f"goals: unknown metric {name!r}{f'; did you mean {hint}?' if hint else '.'} Allowed here: {_listed()}."
        )
    if not separator:
        if name not in BETTER:
            raise InputError(
                f"goals: {name} has no direction that is better in every case; allowed here: {name}=highest, {name}=lowest."
            )
        return Goal(name, BETTER[name])
    for known in DIRECTIONS:
        if direction == known:
            return Goal(name, known)
    hint = nearest(direction, DIRECTIONS)
    asked = f"; did you mean {hint}?" if hint else "."
    raise InputError(f"goals: {text}: unknown direction {direction!r}{asked} Allowed here: {', '.join(DIRECTIONS)}.")


def _listed() -> str:
    others = [name for name in UNITS if name not in BETTER]
    return f"{', '.join(BETTER)}; with =highest or =lowest also {', '.join(others)}"
