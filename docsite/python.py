"""The page of the Python package, from its signatures and docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from types import FunctionType
from typing import Any

import wifair
from wifair import plots, stats

# Classes whose methods are listed; schemes have a page.
CLASSES = ("Differences", "Metric", "Results", "Scenario", "Store", "Sweep", "Traces")
MODULES = {"wifair.plots": plots, "wifair.stats": stats}


def page() -> str:
    """Every public name with its signature and docstring."""
    parts = [
        "# Python reference",
        "All public functions and classes. [Use wifair from Python](python-api.md) shows how they go together; "
        "[Write a scheme](own-scheme-in-python.md) has the base class of schemes.",
        "## `wifair`",
    ]
    for name in wifair.__all__:
        parts += _told(name, getattr(wifair, name))
    for title, module in MODULES.items():
        parts += [f"## `{title}`", _text(module)]
        for name, found in vars(module).items():
            if inspect.isfunction(found) and found.__module__ == module.__name__ and not name.startswith("_"):
                parts += _told(name, found)
    return "\n\n".join(parts) + "\n"


def _told(name: str, found: Any) -> Iterator[str]:
    yield f"### `{name}`"
    if not (inspect.isclass(found) and issubclass(found, Exception)):
        yield _signature(name, found)
    yield _text(found)
    if name in CLASSES:
        yield "\n".join(_members(found))


def _members(found: Any) -> Iterator[str]:
    yield "| member | what it is |\n| --- | --- |"
    ours = [base for base in found.__mro__ if base.__module__.startswith("wifair")]
    members = {name: member for base in reversed(ours) for name, member in vars(base).items() if name[0] != "_"}
    for name, member in sorted(members.items()):
        is_method = isinstance(member, (FunctionType, classmethod, staticmethod))
        if is_method or isinstance(member, (property, cached_property)):
            first = " ".join((inspect.getdoc(member) or "").split("\n\n")[0].split()).replace("|", "\\|")
            yield f"| `{name}{'()' if is_method else ''}` | {first} |"


def _signature(name: str, found: Any) -> str:
    told = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(found)))  # annotations are texts
    return f"```python\n{name}{told}\n```"


def _text(found: Any) -> str:
    return inspect.getdoc(found) or ""
