"""Output of commands: results on standard output, progress and warnings on standard error."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from wifair.cli.streams import harmless, is_unicode, write
from wifair.cli.tables import Column, lines, paragraph

if TYPE_CHECKING:
    from wifair.study.job import Progress as Report
    from wifair.study.store import Store


# Control characters that JSON allows in a text; a terminal would obey them.
_ESCAPES = {code: f"\\u{code:04x}" for code in range(127, 160)}


def stdout() -> Console:
    """Standard output, as wide as `COLUMNS`, else as the terminal, else 80 columns."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else int(os.environ.get("COLUMNS") or 80))


def print_lines(lines: Iterable[str]) -> None:
    """Prints lines as they are, control characters apart."""
    for line in lines:
        write(f"{harmless(line)}\n")


def print_text(text: str, indent: str = "", first: str | None = None) -> None:
    """Prints prose, wrapped to the width."""
    print_lines(paragraph(text, stdout().width, indent, first))


def print_table(title: str, table: Sequence[Column], keys: int = 1, turn: bool = False) -> None:
    """Prints a title and a table that fits the width."""
    width = stdout().width
    print_lines([*paragraph(title, width), *lines(table, width, keys, turn), ""])


def say(text: str) -> None:
    """Prints a remark on standard error, if that can be written."""
    with suppress(OSError):
        sys.stderr.write(f"{harmless(text)}\n")


def say_each(texts: Iterable[str]) -> None:
    """Prints remarks on standard error."""
    for text in texts:
        say(text)


@contextmanager
def progress(what: str) -> Iterator[Report | None]:
    """A progress bar with the estimated time left, on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(harmless(what), total=1.0)
        yield lambda share: bar.update(task, completed=share)


def say_of(store: Store | None) -> None:
    """Prints how many replications came from the store, and the store's problems."""
    if store:
        if store.taken:
            taken = f"{store.taken} replications were" if store.taken > 1 else "1 replication was"
            say(f"{taken} taken from {store.folder}")
        for remark in store.remarks():
            say(f"warning: {remark}")


def print_json(document: dict[str, Any], file: TextIO | None = None) -> None:
    """Prints one JSON document, or writes it to a file. NaN and infinities become null."""
    escape = file is None and not is_unicode(sys.stdout)
    text = json.dumps(_finite(document), ensure_ascii=escape, allow_nan=False, indent=1).translate(_ESCAPES)
    if file is None:
        write(f"{text}\n")
    else:
        file.write(f"{text}\n")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
