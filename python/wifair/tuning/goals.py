"""Goals of a search: metrics with their better direction, or words of a user, each with a bound if there is one.

A goal is `METRIC`, `METRIC=highest`, `METRIC=lowest`, or a word of `wifair.tuning.words`, each of which may have a bound: `calls below 100 ms`.
More than the bound is worth nothing more.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from wifair.errors import InputError
from wifair.keys import nearest
from wifair.results.metric import Better, Metric
from wifair.results.results import BETTER, UNITS
from wifair.stats import Values
from wifair.tuning.words import BOUNDS, WORDS, Word
from wifair.tuning.words import UNITS as UNITS_OF_BOUNDS

DIRECTIONS: tuple[Better, ...] = get_args(Better)
_BOUND = re.compile(
    rf"(?P<what>.*?)\s+(?P<how>{'|'.join(word for words in BOUNDS.values() for word in words)})\b\s*(?P<bound>.*)"
)
# A comma that is not a decimal one.
_SEVERAL = re.compile(r"[,;]\s*(?=[^\s\d])")
_NUMBER = re.compile(r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(?P<unit>.*)")


@dataclass(frozen=True)
class Goal:
    """A metric, and whether its highest or its lowest value is best.

    `own` is the metric if it is not one of results: a word's, or the user's. `bound` is the value beyond which more is worth nothing, in the
    metric's unit. `word` is the word of a user that names the metric.
    """

    metric: str
    better: Better
    own: Metric | None = None
    bound: float | None = None
    word: str = ""

    @property
    def sign(self) -> int:
        """The factor that makes more better: 1 or −1."""
        return 1 if self.better == "highest" else -1

    @property
    def is_user_defined(self) -> bool:
        """Whether its metric is the user's, so that nothing is known of its values."""
        return self.own is not None and not self.word

    @property
    def unit(self) -> str:
        """The unit of the metric."""
        return self.own.unit if self.own else UNITS[self.metric]

    def merit(self, values: Values) -> Values:
        """The values with the sign that makes more better, at most the bound's; NaN stays NaN."""
        signed = np.asarray(values, dtype=np.float64) * self.sign
        return signed if self.bound is None else np.minimum(signed, self.sign * self.bound)

    def __str__(self) -> str:
        if self.bound is None:
            return self.word or f"{self.better} {self.metric}"
        unit = next(iter(UNITS_OF_BOUNDS.get(self.unit, {"": 1})))
        return f"{self.word or self.metric} {BOUNDS[self.better][0]} {self.bound:g}{f' {unit}' if unit else ''}"


def parsed(told: str | Metric | Sequence[str | Metric], key: str = "goals") -> tuple[Goal, ...]:
    """The goals: names of metrics, `METRIC=highest` or `METRIC=lowest`, words, each with a bound or without, or user-defined metrics.

    `key` names the option or argument in errors.
    """
    listed = [told] if isinstance(told, (str, Metric)) else list(told)
    found = tuple(_of(one, key) if isinstance(one, Metric) else _parsed(one, key) for one in listed)
    if not found:
        raise InputError(f"{key}: a search needs a goal; allowed here: {_listed()}.")
    names = [goal.metric for goal in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{key}: {twice[0]} is named twice; allowed here: each once.")
    return found


def _of(metric: Metric, key: str) -> Goal:
    if metric.better is None:
        raise InputError(
            f"{key}: Metric {metric.name!r} has no better direction; allowed here: better='highest', 'lowest'."
        )
    if metric.name in UNITS:
        raise InputError(f"{key}: {metric.name!r} is a metric already; allowed here: a name that wifair does not use.")
    return Goal(metric.name, metric.better, metric)


def _parsed(text: str, key: str) -> Goal:
    if not isinstance(text, str):
        raise InputError(f"{key}: {text!r} is no goal; allowed here: {_listed()}.")
    told = " ".join(text.split())
    if not told:
        raise InputError(f"{key}: a goal is missing; allowed here: {_listed()}.")
    if _SEVERAL.search(told):
        each = f"{key} repeated for each" if key.startswith("--") else "a list with a text for each"
        raise InputError(f"{key}: {told!r} has several goals; allowed here: {each}.")
    bounded = _BOUND.fullmatch(told)
    goal = _unbounded(bounded["what"] if bounded else told, told, key)
    return _bounded(goal, bounded["how"], bounded["bound"], told, key) if bounded else goal


def _unbounded(told: str, text: str, key: str) -> Goal:
    name, separator, direction = (part.strip() for part in told.partition("="))
    if name in WORDS and not separator:
        word: Word = WORDS[name]
        return Goal(word.metric, word.better, word.own, word=name)
    if name in WORDS:
        raise InputError(
            f"{key}: {text}: {name} has a direction already, {WORDS[name].better}; allowed here: {name} alone or with a bound."
        )
    if name not in UNITS:
        hint = nearest(name, [*WORDS, *UNITS])
        asked = f"; did you mean {hint}?" if hint else "."
        kind = "goal" if " " in name else "metric"
        raise InputError(f"{key}: unknown {kind} {name!r}{asked} Allowed here: {_listed()}.")
    if not separator:
        if name not in BETTER:
            raise InputError(
                f"{key}: {name} has no direction that is better in every case; allowed here: {name}=highest, {name}=lowest."
            )
        return Goal(name, BETTER[name])
    for known in DIRECTIONS:
        if direction == known:
            return Goal(name, known)
    hint = nearest(direction, DIRECTIONS)
    asked = f"; did you mean {hint}?" if hint else "."
    raise InputError(f"{key}: {text}: unknown direction {direction!r}{asked} Allowed here: {', '.join(DIRECTIONS)}.")


def _bounded(goal: Goal, how: str, told: str, text: str, key: str) -> Goal:
    """The goal with a bound, in the unit of its metric."""
    if how not in BOUNDS[goal.better]:
        allowed = ", ".join(BOUNDS[goal.better])
        raise InputError(
            f"{key}: {text}: {how!r} bounds what should be {'low' if how in BOUNDS['lowest'] else 'high'}, and here more is "
            f"{'better' if goal.better == 'highest' else 'worse'}; allowed here: {allowed}."
        )
    units = UNITS_OF_BOUNDS.get(goal.unit, {"": 1.0})
    example = f"{goal.word or goal.metric} {how} {'0.9' if goal.unit == 'index' else '4' if '' in units else '100'}"
    example += f" {next(iter(units))}" if next(iter(units)) else ""
    number = _NUMBER.fullmatch(told)
    if number is None:
        raise InputError(f"{key}: {text}: {told!r} is no number; allowed here: a number with its unit, as {example!r}.")
    unit = number["unit"].strip()
    if unit not in units:
        hint = nearest(unit, [each for each in units if each]) if unit else ""
        asked = f"; did you mean {hint}?" if hint else "."
        allowed = ", ".join(units) if "" not in units else "no unit"
        problem = f"unknown unit {unit!r}{asked}" if unit else "a unit is missing."
        raise InputError(f"{key}: {text}: {problem} Allowed here: {allowed}, as {example!r}.")
    bound = float(number["number"]) * units[unit]
    if not math.isfinite(bound) or bound < 0:
        raise InputError(f"{key}: {text}: {number['number']} is not allowed; allowed here: 0 or more, as {example!r}.")
    return replace(goal, bound=bound)


def _listed() -> str:
    others = [name for name in UNITS if name not in BETTER]
    return f"{', '.join(WORDS)}; {', '.join(BETTER)}; with =highest or =lowest also {', '.join(others)}"
