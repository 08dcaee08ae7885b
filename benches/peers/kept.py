"""The results of an interrupted run, from which the next one continues."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Kept:
    """JSON values by a key of everything they depend on. Results of other programs or another engine (`of`) are not used."""

    def __init__(self, folder: Path, programs: Path, of: str) -> None:
        digest = hashlib.sha256(of.encode())
        for path in sorted(path for path in programs.iterdir() if path.is_file()):
            digest.update(path.read_bytes())
        self.path = folder / f"kept-{digest.hexdigest()[:12]}.jsonl"
        self.found: dict[str, Any] = {}
        if self.path.exists():
            text = self.path.read_text()
            whole = text[: text.rfind("\n") + 1]  # the last line may have been cut off
            if whole != text:
                self.path.write_text(whole)
            self.found = dict(map(json.loads, whole.splitlines()))

    def once(self, key: object, find: Callable[[], Any]) -> Any:
        """The stored value of this key, or that of `find`, which is then stored."""
        name = json.dumps(key)
        if name not in self.found:
            self.found[name] = find()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as file:
                file.write(json.dumps([name, self.found[name]]) + "\n")
        return self.found[name]

    def forget(self) -> None:
        """Deletes the results of a complete run, so that the next one measures again."""
        self.path.unlink(missing_ok=True)
