"""Where commands print: results on standard output, progress and warnings on standard error."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from wifair.cli.tables import Column, lines, paragraph

if TYPE_CHECKING:
    from wifair.study.job import Progress as Report
    from wifair.study.store import Store


def stdout() -> Console:
    """Where results go: as wide as `COLUMNS` says, or the terminal, or 80 where the output is piped."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else int(os.environ.get("COLUMNS") or 80))


def print_lines(lines: Iterable[str]) -> None:
    """Lines that have their breaks already."""
    for line in lines:
        sys.stdout.write(f"{line}\n")


def print_text(text: str, indent: str = "", first: str | None = None) -> None:
    """Prose, in lines that fit."""
    print_lines(paragraph(text, stdout().width, indent, first))


def print_table(title: str, table: Sequence[Column], keys: int = 1, turn: bool = False) -> None:
    """A table below its title, in lines that fit."""
    width = stdout().width
    print_lines([*paragraph(title, width), *lines(table, width, keys, turn), ""])


def say(text: str) -> None:
    """A remark on standard error."""
    sys.stderr.write(f"{text}\n")


@contextmanager
def progress(what: str) -> Iterator[Report | None]:
    """A bar with an estimate of the time left, on standard error; nothing where that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=1.0)
        yield lambda share: bar.update(task, completed=share)


def say_of(store: Store | None) -> None:
    """What was not run because the store had it, and what is amiss there."""
    if store:
        if store.taken:
            say(f"{store.taken} replications were taken from {store.folder}")
        for remark in store.remarks():
            say(f"warning: {remark}")


def print_json(document: dict[str, Any], file: TextIO | None = None) -> None:
    """The one document; what is no number is null, as JSON wants it."""
    file = file or sys.stdout
    json.dump(_finite(document), file, ensure_ascii=False, allow_nan=False, indent=1)
    file.write("\n")


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
