"""Finished runs of a long series of emulations, kept in a file."""

from __future__ import annotations

import json
from pathlib import Path
from threading import Lock
from typing import Any


class Kept:
    """Runs by the name of their cell. The file is written after each run, so that an interrupted series continues with the next one."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        self._runs: dict[str, list[dict[str, Any]]] = (
            json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        )

    def of(self, name: str) -> list[dict[str, Any]]:
        """The runs of a cell so far."""
        return self._runs.get(name, [])

    def valid(self, name: str) -> list[dict[str, Any]]:
        """Those that were not late."""
        return [run for run in self.of(name) if run["valid"]]

    def add(self, name: str, run: dict[str, Any]) -> None:
        """Adds a run and writes the file."""
        with self._lock:
            self._runs.setdefault(name, []).append(run)
            self._path.write_text(json.dumps(self._runs), encoding="utf-8")
