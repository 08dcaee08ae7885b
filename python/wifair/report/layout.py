"""How a grid becomes panels: the coordinate along x, that of the lines, and those of the panels.

A panel has at most `MOST_LINES` lines; what has more is spread over further panels.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from wifair.errors import InputError
from wifair.keys import UNITS, unknown

if TYPE_CHECKING:
    from wifair.results.results import ResultCell

MOST_LINES = 6
SYMBOLS = {
    "_mbps": "Mbps",
    "_mhz": "MHz",
    "_ghz": "GHz",
    "_db": "dB",
    "_us": "µs",
    "_packets_per_s": "packets/s",
    "_m_per_s": "m/s",
}
# The keys that choose a scheme. In a figure, their values are lines.
SCHEMES = ("scheme", "ap.scheme", "ap.limit_controller")

Value: TypeAlias = str | int | float
Labels: TypeAlias = Mapping[str, str]


@dataclass(frozen=True)
class Panel:
    """Its title, and the scenarios of each line by their x."""

    title: str
    lines: Mapping[str, Mapping[float, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Layout:
    """The label of the x axis, its values, and the panels. `is_split`: the panels do not have the same lines."""

    x_label: str
    xs: Sequence[float]
    panels: Sequence[Panel]
    is_split: bool


def axes_of(cells: Sequence[ResultCell]) -> dict[str, list[Value]]:
    """The coordinates that vary, with their values, without those that follow from another one."""
    found: dict[str, list[Value]] = {}
    for cell in cells:
        for path, value in cell.keys.items():
            if value not in found.setdefault(path, []):
                found[path].append(value)
    varied = {path: values for path, values in found.items() if len(values) > 1}
    kept: dict[str, list[Value]] = {}
    for path in sorted(varied, key=lambda path: -len(varied[path])):
        if not any(_follows(cells, path, other) for other in kept):
            kept[path] = varied[path]
    return {path: values for path, values in varied.items() if path in kept}


def _follows(cells: Sequence[ResultCell], path: str, other: str) -> bool:
    """Whether the value of one coordinate determines that of `path`, as in a `[zip]`."""
    pairs = {(cell.keys.get(other), cell.keys.get(path)) for cell in cells}
    return len(pairs) == len({at for at, _ in pairs})


def numeric(axes: Mapping[str, Sequence[Value]]) -> list[str]:
    """The coordinates with numbers alone, the one with the most values first."""
    found = [path for path, values in axes.items() if not any(isinstance(value, str) for value in values)]
    return sorted(found, key=lambda path: -len(axes[path]))


def arranged(
    cells: Sequence[ResultCell], labels: Labels, x: str | None = None, lines: str | None = None
) -> Layout | None:
    """The panels of a grid; None if no coordinate is a number.

    By default x is the numeric coordinate with the most values (of several such, the first of the grid), and lines are the schemes, or the coordinate of the
    others with the most values up to `MOST_LINES`.
    """
    axes = axes_of(cells)
    in_numbers = numeric(axes)
    if not in_numbers and (x or lines):
        raise InputError("x and lines need a key with numbers that varies: these results have a row per scenario.")
    if x is not None and x not in in_numbers:
        raise unknown("numeric coordinate", x, in_numbers, "x: ")
    if not in_numbers:
        return None
    x = x or in_numbers[0]
    others = [path for path in axes if path != x]
    if lines is not None and lines not in others:
        raise unknown("coordinate", lines, others, "lines: ")
    lines = lines or _of_lines(axes, others)
    rest = [path for path in others if path != lines]
    facets = list(dict.fromkeys(tuple(cell.keys.get(path) for path in rest) for cell in cells))
    names = axes.get(lines, [""]) if lines else [""]
    groups = batched(names)
    panels = []
    for facet, group in itertools.product(facets, groups):
        title = ", ".join(_titled(path, value, labels) for path, value in zip(rest, facet, strict=True))
        mine = [cell for cell in cells if tuple(cell.keys.get(path) for path in rest) == facet and x in cell.keys]
        told = {
            named(name, lines, labels): {
                float(cell.keys[x]): cell.name for cell in mine if lines is None or cell.keys.get(lines) == name
            }
            for name in group
        }
        panels.append(Panel(title, {name: at for name, at in told.items() if at}))
    xs = sorted({float(value) for value in axes[x]})
    return Layout(key_label(x, labels), xs, [panel for panel in panels if panel.lines], len(groups) > 1)


def batched(names: Sequence[Any]) -> list[Sequence[Any]]:
    """Groups of at most `MOST_LINES`, of about the same size."""
    count = -(-len(names) // MOST_LINES)
    size = -(-len(names) // count)
    return [names[i : i + size] for i in range(0, len(names), size)]


def _of_lines(axes: Mapping[str, Sequence[Value]], others: Sequence[str]) -> str | None:
    schemes = [path for path in others if path in SCHEMES]
    fitting = sorted((path for path in others if len(axes[path]) <= MOST_LINES), key=lambda path: -len(axes[path]))
    return next(iter([*schemes, *fitting, *others]), None)


def named(value: Value, path: str | None, labels: Labels) -> str:
    """The name of a line."""
    if isinstance(value, str) or path is None:
        short = str(value).rpartition(".py:")[2]  # the class of a scheme from a file
        return labels.get(str(value)) or labels.get(short, short)
    return labels.get(f"{value}") or _titled(path, value, labels)


def _titled(path: str, value: Any, labels: Labels) -> str:
    """A coordinate with its value, as "buffer = 50 packets"."""
    if isinstance(value, str):
        return labels.get(value, value)
    told = labels.get(f"{value}") or f"{value:,.10g}"  # as ticks
    name, unit = re.fullmatch(r"(.*?)(?: \[(.*)\])?", key_label(path, labels)).groups()  # type: ignore[union-attr]
    return f"{name} = {told}{f' {unit}' if unit else ''}"


def key_label(path: str, labels: Labels) -> str:
    """A key in words, with its unit in brackets: "AP limit [packets]", "Channel of ap-3"."""
    if path in labels:
        return labels[path]
    above, _, head = path.rpartition(".")
    suffix = max((suffix for suffix in UNITS if head.endswith(suffix)), key=len, default="")
    words = head.removesuffix(suffix).replace("_", " ") or head
    if above == "ap":
        words = f"AP {words}"
    elif of := re.search(r"\[(.+?)\]", above):
        words = f"{above} {words}" if of[1].isdigit() else f"{words} of {of[1]}"
    unit = f" [{SYMBOLS.get(suffix, suffix[1:])}]" if suffix else ""
    return f"{words[0].upper()}{words[1:]}{unit}"


def check_labels(labels: Labels) -> None:
    """Raises `InputError` if a label is not a text."""
    for key, text in labels.items():
        if not isinstance(text, str):
            raise InputError(f"labels: {text!r} is no text (for {key!r}). Allowed: texts by key, value or metric.")
