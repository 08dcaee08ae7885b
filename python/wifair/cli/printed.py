"""Results as tables on standard output: conditions, means with their intervals, paired differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wifair.analysis.comparison import Differences, Ranking, rankings
from wifair.cli.output import print_json, print_lines, print_table, print_text, say
from wifair.cli.tables import Column, columns, marked
from wifair.planned import bsss_of
from wifair.results.results import HEADINGS, UNITS, merged, writable_folder
from wifair.scenario.described import described
from wifair.stats import NO_INTERVAL
from wifair.study.study import StudyInterrupted, seeds_text

if TYPE_CHECKING:
    from wifair.results.results import ResultCell, Results
    from wifair.stats import Interval
    from wifair.study.store import Store

# The largest number of pairs whose differences are printed without --verbose.
FEW_PAIRS = 3
STAR = "* best, or its paired difference from the best has p (Holm) of 0.05 or more"
SCOPE = "Scope: one BSS; no hidden stations, no other BSS. Other traffic or rates may give another order."
SCOPE_OF_FIELD = "Scope: this field. Other places, traffic or rates may give another order."


@contextmanager
def kept(out: Path | None, as_json: bool = False, store: Store | None = None) -> Iterator[None]:
    """Saves finished results on Ctrl-C: in the store, in `out`, or as a summary on standard output."""
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
        elif results.runs.is_empty():
            interruption.args = (f"{interruption}; there is nothing to keep.",)
        else:
            interruption.args = (f"{interruption}; they are summed up on standard output.",)
            if as_json:
                print_json(results.to_dict())
            else:
                print_results(results)
        raise


def heading(metric: str, units: Mapping[str, str] = UNITS) -> str:
    """A metric's name, with its unit if it has one."""
    unit = units.get(metric, "").removesuffix(" of payload")
    name = HEADINGS.get(metric, metric.replace("_", " "))
    return f"{name}, {unit}" if unit and unit not in ("index", "ratio", "share of time") else name


def varying(results: Results) -> str:
    """The heading of a table's first column: the cells' only coordinate, or "scenario"."""
    paths = {path for cell in results.cells for path in cell.keys}
    return paths.pop().removeprefix("ap.") if len(paths) == 1 else "scenario"


def name_of(cell: ResultCell) -> str:
    """A cell's name in a table: its coordinate if it has exactly one."""
    return f"{next(iter(cell.keys.values()))}" if len(cell.keys) == 1 else cell.name


def print_run(results: Results, title: str = "") -> None:
    """Prints the conditions: scenario, seeds; for results of one BSS of several, the scheme and buffer of its access point."""
    if title:
        print_text(title)
    bss = results.bss_names[0] if len(results.bss_names) == 1 else ""
    parts = described([cell.scenario.plan() for cell in results.cells], bss)
    seeds = f"seeds {seeds_text(results.seeds)}" if len(results.seeds) > 1 else f"seed {results.seeds[0]}"
    print_text("; ".join([*parts, seeds]))
    print_lines([""])


def print_results(results: Results, title: str = "", compared: Differences | None = None) -> None:
    """Prints the conditions and the means with half-widths of their 95 % intervals, one row per scenario.

    The stars follow the p values of `compared`, the differences of all pairs; they are computed if not given.
    """
    print_run(results, title)
    print_metrics(results, results.shown_metrics(), compared)
    if len(results.seeds) == 1:
        say("a single run has no interval: take it as an example, not as a result; --seeds 10 gives one.")
    for warning in results.warnings():
        say(f"warning: {warning}")


def print_metrics(results: Results, metrics: Sequence[str], compared: Differences | None = None) -> None:
    """Prints one row per scenario, or per metric if there is one scenario."""
    if len(results.cells) == 1:
        [cell] = results.cells
        rows = [(heading(metric), text_of(results.interval(cell.name, metric), results)) for metric in metrics]
        headings = ("metric", "mean" if len(results.seeds) > 1 else "value")
        print_table(means((told for _, told in rows), results), columns(headings, rows))
        return
    names = Column(varying(results), tuple(name_of(cell) for cell in results.cells))
    table, stars = [names], False
    orders = rankings(results, compared) if len(results.seeds) > 1 else {}
    for metric in metrics:
        found = tuple(text_of(results.interval(cell.name, metric), results) for cell in results.cells)
        column = Column(heading(metric), found, right=True)
        order = orders.get(metric)
        stars |= order is not None
        table.append(marked(column, [order is not None and cell.name in order.leaders for cell in results.cells]))
    legend = f"; {STAR}" if stars else ""
    print_table(means((told for column in table[1:] for told in column.cells), results) + legend, table, turn=True)


def text_of(found: Interval, results: Results) -> str:
    """A mean with its half-width; of a single run the value alone."""
    return found.short() if len(results.seeds) > 1 else found.short().removesuffix(NO_INTERVAL)


def means(cells: Iterable[str], results: Results) -> str:
    """The title of a table of means, which says what a cell with brackets has; of a single run there is no interval."""
    if len(results.seeds) == 1:
        return "One run"
    cut = any("[" in told for told in cells)
    return f"Mean ± half-width of the 95 % interval{', or [its ends] where an index reaches its bound' if cut else ''}"


def verdicts(results: Results, compared: Differences | None = None) -> list[str]:
    """One sentence per metric that ranks: the best scenario, and the others' distance."""
    if len(results.cells) < 2 or len(results.seeds) < 2:
        return []
    names = {cell.name: name_of(cell) for cell in results.cells}
    return [_verdict(order, names) for order in rankings(results, compared).values()]


def _verdict(order: Ranking, names: Mapping[str, str]) -> str:
    told = f"{heading(order.metric)}: {names[order.leader]} is best ({order.mean.short()})"
    if order.equals:
        told += f", not distinguishable from {', '.join(names[name] for name in order.equals)}"
    if order.behind:
        name, margin = order.behind[0]
        nearest = "" if len(order.behind) == 1 else ", nearest first"
        told += f"; behind{nearest}: {', '.join(names[name] for name, _ in order.behind)}"
        told += f" (by {margin.short()})" if len(order.behind) == 1 else f" ({names[name]} by {margin.short()})"
    return f"{told}."


def print_verdicts(results: Results, compared: Differences, bss: str = "") -> None:
    """Prints the verdicts and their scope. `bss` has the scheme; without a name it is the first."""
    found = verdicts(results, compared)
    for told in found:
        print_text(told, indent="  ", first="")
    if found:
        plans = [cell.scenario.plan() for cell in results.cells]
        for name in dict.fromkeys(bss or next(iter(bsss_of(plan))) for plan in plans if plan.get("neighbours")):
            print_text(f"The scheme is that of {name}; its neighbours keep theirs.", indent="  ", first="")
        is_field = any(plan["bss"]["field"] is not None for plan in plans)
        print_text(SCOPE_OF_FIELD if is_field else SCOPE, indent="  ", first="")
        print_lines([""])


def print_differences(rows: Sequence[Mapping[str, Any]], results: Results, verbose: bool = True) -> None:
    """Prints the paired differences: a table per pair of values, with a line per place of the grid and metric."""
    cells = {cell.name: cell for cell in results.cells}
    pairs = list(dict.fromkeys((row["scenario"], row["against"]) for row in rows))
    if len(pairs) > FEW_PAIRS and not verbose:
        print_text(f"--verbose shows the paired differences of all {len(pairs)} pairs.")
        return
    tables: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for row in rows:
        title, place = _pair(cells[row["scenario"]], cells[row["against"]])
        tables.setdefault(title, []).append((place, row))
    for title, told in tables.items():
        places = any(place for place, _ in told)
        seeds = _seeds([row for _, row in told])
        headings = [*(["at"] if places else []), "metric", "difference", "95 % interval", "p (Holm)"]
        lines = [
            [
                *([place] if places else []),
                heading(row["metric"]),
                *_difference(row),
                p_text(row),
            ]
            for place, row in told
        ]
        keys = 1 + places
        print_table(title, [*columns(headings, lines, left=keys, prose=(places,)), *seeds], keys=keys)


def _pair(one: ResultCell, other: ResultCell) -> tuple[str, str]:
    """A title for a pair: the coordinates that differ, and the keys of the common ones. Then the values of these."""
    if one.keys.keys() != other.keys.keys() or one.keys == other.keys:
        return f"{name_of(one)} minus {name_of(other)}, paired by seed", ""
    mine, theirs = (
        ", ".join(f"{value}" for key, value in cell.keys.items() if one.keys[key] != other.keys[key])
        for cell in (one, other)
    )
    shared = {key: value for key, value in one.keys.items() if other.keys[key] == value}
    at = f", at each {', '.join(shared)}" if shared else ""
    return f"{mine} minus {theirs}, paired by seed{at}", ", ".join(map(str, shared.values()))


def _difference(row: Mapping[str, Any]) -> tuple[str, str]:
    if row["identical"]:
        return "0", "equal in every run"
    if row["ci_low"] is None:
        return f"{row['difference']:+.4g}", "one run: none"
    return f"{row['difference']:+.4g}", f"{row['ci_low']:+.4g} to {row['ci_high']:+.4g}"


def p_text(row: Mapping[str, Any]) -> str:
    """The p value as text, with "< 0.0001" as the smallest."""
    if row["ci_low"] is None:
        return "n/a"
    return "< 0.0001" if row["p_holm"] < 1e-4 else f"{row['p_holm']:.2g}"


def print_needed(rows: Sequence[Mapping[str, Any]], results: Results) -> None:
    """Prints one line per scenario and wanted precision."""
    if not rows:
        return
    paths = list(dict.fromkeys(path for cell in results.cells for path in cell.keys))
    is_grid = bool(paths) and all(list(cell.keys) == paths for cell in results.cells)
    names = {cell.name: ", ".join(map(str, cell.keys.values())) if is_grid else cell.name for cell in results.cells}
    told = []
    for row in rows:
        now = "n/a" if row["half_width"] is None else f"± {row['half_width']:.2g} ({row['runs']} seeds)"
        told.append((names[row["scenario"]], heading(row["metric"]), now))
    headings = (", ".join(paths) if is_grid else "scenario", "metric", "half-width now")
    title = "Seeds needed for a 95 % interval of that half-width (Stein's rule)"
    print_table(title, [*columns(headings, told, left=2), *_seeds(rows)], keys=2)


def _seeds(rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """The column of the seeds for a wanted precision, which is part of its heading if all rows have the same; none without a wish."""
    wanted = {f"± {row['half_width_wanted']:.2g}" for row in rows if "seeds_needed" in row}
    if not wanted:
        return []
    shared = wanted.pop() if len(wanted) == 1 else ""
    cells = []
    for row in rows:
        if "seeds_needed" not in row:
            cells.append("")
        elif row["seeds_needed"] is None:
            cells.append("one run cannot tell")
        else:
            cells.append(f"{row['seeds_needed']}" + ("" if shared else f" for ± {row['half_width_wanted']:.2g}"))
    return [Column(f"seeds for {shared}" if shared else "seeds needed", tuple(cells), right=True)]
