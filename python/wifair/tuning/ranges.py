"""What a key may be in a search: numbers of a range, or choices.

20..2000        whole numbers, since both ends are
1.0..20         real numbers
20..2000:20     20, 40, 60, …, 2000
20..2000:log    uniform in the logarithm: a tenth of the range counts as much as ten times
droptail,codel  choices; numbers among themselves keep their order
[[1, 2], [3]]   choices as a TOML list, where a value has a comma in it
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from wifair.analysis.sweep import label
from wifair.errors import ScenarioError
from wifair.keys import nearest
from wifair.scheme.python import named

ALLOWED = "LOW..HIGH, LOW..HIGH:STEP, LOW..HIGH:log, or two choices or more: A,B,C"

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"\s*({_NUMBER}?)\s*\.\.\s*({_NUMBER})\s*(?::\s*(\S*)\s*)?")


@dataclass(frozen=True)
class Numbers:
    """The numbers from `low` to `high`, both included; whole numbers if `low`, `high` and `step` are.

    `step` is the distance of two neighbours, from `low` on; without it, real numbers are continuous. With `log` the search is
    uniform in the logarithm.
    """

    low: float
    high: float
    step: float | None = None
    log: bool = False

    @property
    def whole(self) -> bool:
        """Whether all numbers of the range are whole."""
        return all(isinstance(number, int) for number in (self.low, self.high, self.step or 1))

    def values(self) -> list[Any]:
        """Some values that show whether the key takes the range: both ends and one in the middle."""
        middle = math.sqrt(self.low * self.high) if self.log else (self.low + self.high) / 2
        if self.step:
            middle = self.low + self.step * ((middle - self.low) // self.step)
        return [self.low, int(middle) if self.whole else middle, self.high]

    def of(self, parameter: Any) -> Any:
        """The value that a parameter of the optimiser means."""
        return parameter

    def __str__(self) -> str:
        suffix = ":log" if self.log else f":{self.step:g}" if self.step else ""
        return f"{label(self.low)}..{label(self.high)}{suffix}"


@dataclass(frozen=True)
class Choices:
    """Single values. If all are numbers, they are in ascending order, and the search knows that neighbours are alike."""

    listed: tuple[Any, ...]

    @property
    def ordered(self) -> bool:
        """Whether all are numbers."""
        return all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in self.listed)

    def values(self) -> list[Any]:
        """All values."""
        return list(self.listed)

    def of(self, parameter: Any) -> Any:
        """The value that a parameter of the optimiser means: its index."""
        return self.listed[parameter]

    def __str__(self) -> str:
        return ", ".join(map(label, self.listed))


Range: TypeAlias = Numbers | Choices


def ranges(over: Mapping[str, Any]) -> dict[str, Range]:
    """The ranges by key. A text is read as on the command line; a list has choices, tables and schemes among them."""
    if not isinstance(over, Mapping) or not over:
        raise ScenarioError("over", "a search needs a key to vary", value=over, allowed="KEY=RANGE, once per key")
    return {key: _range(key, value) for key, value in over.items()}


def parse(text: str) -> tuple[str, str]:
    """The key and the range of `KEY=RANGE`."""
    key, separator, told = text.partition("=")
    if not separator or not key.strip() or not told.strip():
        raise ScenarioError("over", f"{text!r} is not accepted", value=text, allowed=f"KEY=RANGE; as RANGE {ALLOWED}")
    return key.strip(), told.strip()


def is_range(text: str) -> bool:
    """Whether a text is a range of numbers, not a list of choices."""
    return _RANGE.fullmatch(text) is not None


def _range(key: str, told: Any) -> Range:
    if isinstance(told, (Numbers, Choices)):
        return told
    if isinstance(told, str):
        if found := _RANGE.fullmatch(told):
            return _numbers(key, told, *found.groups())
        told = _listed(told)
    if not isinstance(told, Sequence) or len(told) < 2:
        raise ScenarioError(f"over.{key}", f"{_shown(told)} is no range", value=told, allowed=ALLOWED)
    values = [named(value) for value in told]
    if len({label(value) for value in values}) < len(values):
        raise ScenarioError(f"over.{key}", f"{_shown(told)} has a value twice", value=told)
    choices = Choices(tuple(values))
    return Choices(tuple(sorted(values))) if choices.ordered else choices


def _shown(told: Any) -> str:
    return repr(told[0]) if isinstance(told, list) and len(told) == 1 else repr(told)


def _numbers(key: str, text: str, first: str, second: str, suffix: str | None) -> Numbers:
    if not first:
        raise ScenarioError(f"over.{key}", f"{text!r} has no lower end", value=text, allowed=ALLOWED)
    low, high = _number(first), _number(second)
    if not -math.inf < low < high < math.inf:
        problem = f"{text!r} is no range: the first number must be below the second"
        raise ScenarioError(f"over.{key}", problem, value=text, allowed=ALLOWED)
    if suffix is None:
        return Numbers(low, high)
    if suffix == "log":
        if low <= 0:
            raise ScenarioError(
                f"over.{key}", f"{text!r} has no logarithm at {first}", value=text, allowed="LOW above 0"
            )
        return Numbers(low, high, log=True)
    if not re.fullmatch(_NUMBER, suffix):
        problem = f"{suffix!r} is neither a step nor log"
        raise ScenarioError(f"over.{key}", problem, value=text, allowed=ALLOWED, hint=nearest(suffix, ["log"]))
    step = _number(suffix)
    if not 0 < step <= high - low:
        raise ScenarioError(
            f"over.{key}",
            f"{suffix} is no step of {first}..{second}",
            value=text,
            allowed=f"above 0, to {high - low:g}",
        )
    steps = math.floor((high - low) / step + 1e-9)
    return Numbers(low, low + steps * step, step)


def _number(text: str) -> float:
    return int(text) if re.fullmatch(r"[-+]?\d+", text) else float(text)


def _listed(text: str) -> list[Any]:
    """The choices of a text: a TOML list, or parts between commas, each TOML or else a text."""
    if text.lstrip().startswith("["):
        try:
            found = tomllib.loads(f"value = {text}")["value"]
            return found if isinstance(found, list) else [found]
        except tomllib.TOMLDecodeError:
            pass
    return [_value(part.strip()) for part in text.split(",") if part.strip()]


def _value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
