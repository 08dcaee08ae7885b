"""What commands print: tables on standard output, progress and warnings on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from wifair import delays
from wifair.results import HEADINGS, SHOWN, UNITS, merged, writable_folder
from wifair.study import StudyInterrupted, seeds_text

if TYPE_CHECKING:
    from wifair.results import Results
    from wifair.store import Store
    from wifair.study import Progress as Report


def stdout() -> Console:
    """Where results go. Piped output is not cut to the width of a terminal that is not there."""
    return Console(soft_wrap=False, width=None if sys.stdout.isatty() else 140, highlight=False)


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


@contextmanager
def kept(out: Path | None, as_json: bool = False, store: Store | None = None) -> Iterator[None]:
    """Ctrl-C within keeps what was finished: in the store, written to `out`, or summed up on standard output."""
    if out:
        writable_folder(out)
    try:
        yield
    except StudyInterrupted as interruption:
        results = merged(interruption.results)
        if out:
            results.save(out)
        if store:
            interruption.args = (
                f"{interruption}; they are in {store.folder}, and the same command continues from there.",
            )
        elif out:
            interruption.args = (f"{interruption}; they are kept in {out}.",)
        else:
            interruption.args = (f"{interruption}; they are summed up on standard output.",)
            if as_json:
                print_json(results.to_dict())
            else:
                print_results(results)
        raise


def say_of(store: Store | None) -> None:
    """What was not run because the store had it, and what is amiss there."""
    if store:
        if store.taken:
            say(f"{store.taken} replications were in {store.folder} already")
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


def print_results(results: Results) -> None:
    """One line a scenario: means with half-widths of their 95 % intervals."""
    title = f"Mean ± half-width of the 95 % interval, seeds {seeds_text(results.seeds)}"
    print_metrics(results, SHOWN, title)
    if any_shown := [metric for metric in delays.SHOWN if results.metrics[metric].count()]:
        print_metrics(results, any_shown, "Delay of datagrams, voice, transfers")
    if len(results.seeds) == 1:
        say("a single run has no interval: take it as an example, not as a result; --seeds 10 gives one.")
    for warning in results.warnings():
        say(f"warning: {warning}")


def print_metrics(results: Results, metrics: Sequence[str], title: str) -> None:
    """One line a scenario."""
    table = Table(title=title, title_justify="left")
    table.add_column("scenario")
    for metric in metrics:
        table.add_column(f"{HEADINGS[metric]}\n\\[{UNITS[metric]}]", justify="right")
    for cell in results.cells:
        table.add_row(cell.name, *(results.interval(cell.name, metric).short() for metric in metrics))
    stdout().print(table)


def print_differences(rows: Sequence[dict[str, Any]]) -> None:
    """One line a pair and metric."""
    if not rows:
        return
    table = Table(title="Paired differences (same seeds)", title_justify="left")
    headings = ["scenario", "against", "metric", "difference [95 % interval]", "correlation", "p (Holm)"]
    wished = any("seeds_needed" in row for row in rows)
    for heading in [*headings, "seeds needed"] if wished else headings:
        table.add_column(heading.replace("[", r"\["))
    for row in rows:
        if row["identical"]:
            difference = "identical in every run"
        elif row["ci_low"] is None:
            difference = f"{row['difference']:+.4g} (one run: no interval)"
        else:
            difference = f"{row['difference']:+.4g} [{row['ci_low']:+.4g}, {row['ci_high']:+.4g}]"
        correlation = "–" if row["correlation"] is None else f"{row['correlation']:.2f}"
        metric = row["metric"]
        name = f"{HEADINGS.get(metric, metric)} [{UNITS[metric]}]".replace("[", r"\[")
        p = "n/a" if row["ci_low"] is None else f"{row['p_holm']:.2g}"
        columns = [row["scenario"], row["against"], name, difference.replace("[", r"\["), correlation, p]
        if wished:
            columns.append(seeds_text_of(row) if "seeds_needed" in row else "")
        table.add_row(*columns)
    stdout().print(table)


def print_needed(rows: Sequence[dict[str, Any]]) -> None:
    """One line a scenario and wish."""
    if not rows:
        return
    table = Table(title="Seeds needed for a 95 % interval of that half-width (Stein's rule)", title_justify="left")
    for heading in ("scenario", "metric", "half-width now", "seeds needed"):
        table.add_column(heading)
    for row in rows:
        now = "n/a" if row["half_width"] is None else f"± {row['half_width']:.2g} ({row['runs']} seeds)"
        metric = f"{HEADINGS.get(row['metric'], row['metric'])} [{row['unit']}]".replace("[", r"\[")
        table.add_row(row["scenario"], metric, now, seeds_text_of(row))
    stdout().print(table)


def seeds_text_of(row: dict[str, Any]) -> str:
    """How many seeds a wish takes."""
    if row["seeds_needed"] is None:
        return "one run cannot tell"
    return f"{row['seeds_needed']} for ± {row['half_width_wanted']:.2g}"
