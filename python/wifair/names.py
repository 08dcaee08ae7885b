"""Lazy names of packages, and the former names of moved modules.

A package such as `wifair.study` imports its main module on first access to a name, so `wifair --help` stays fast. A
former name (`wifair.store`) still works, with a warning.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

# Modules formerly at the top level of the package, by their present folder.
_MOVED = {
    "analysis": ("check", "comparison", "explain", "explain_groups", "precision", "sweep", "warmup"),
    "papers": ("claims",),
    "report": ("flent",),
    "results": ("delays", "quantiles", "segment"),
    "scenario": ("components", "described", "dialects", "overrides", "profiles"),
    "study": ("cluster", "prune", "store", "traces", "workers"),
}
FORMER = {
    **{f"wifair.{name}": f"wifair.{folder}.{name}" for folder, names in _MOVED.items() for name in names},
    "wifair.python_scheme": "wifair.scheme.python",
}


def face(package: str, main: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package that re-exports the names of its module `main`.

    A module of the package comes before a name of `main`: `main` may import the module that asks, and is not complete then.
    """

    def found(name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if find_spec(f"{package}.{name}"):
            return import_module(f"{package}.{name}")
        return getattr(import_module(f"{package}.{main}"), name)

    return found


class _Former:
    """Finds a module under its former name, with a `DeprecationWarning`. Not derived from `importlib.abc`, which is slow to import."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in FORMER else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """None, for an ordinary module, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        warnings.warn(f"{name} has moved: import {FORMER[name]}", DeprecationWarning, stacklevel=2)
        sys.modules[name] = import_module(FORMER[name])


def find_former_names() -> None:
    """Makes the former names importable, after all other finders."""
    if not any(isinstance(finder, _Former) for finder in sys.meta_path):
        sys.meta_path.append(_Former())
