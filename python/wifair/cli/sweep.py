"""`wifair sweep`: runs the replications of a study file that are not yet in its store."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wifair.cli.options import DEFAULT_STORE, Bss, Dask, Json, Out, Set, StoreFolder, Threads

if TYPE_CHECKING:
    from wifair.analysis.sweep import Sweep
    from wifair.results.results import Results

EXAMPLE = "Example: wifair sweep buffer-sizes.toml --threads 1 --out results/buffer-sizes"

StudyFile = Annotated[Path, typer.Argument(metavar="STUDY.toml", help="The study file.", show_default=False)]
Schemes = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        help="Run the study with each of these schemes in place of `ap.scheme`: names, or FILE.py:CLASS.",
        show_default=False,
    ),
]


Figure = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Draw the metrics over the grid for a paper: FILE.pdf, .svg or .png; at most six lines per panel.",
        show_default=False,
    ),
]
Width = Annotated[
    float | None,
    typer.Option(
        metavar="INCHES",
        help="With --figure: its width; 3.5, a column's, by default. A page has 7.",
        show_default=False,
    ),
]
X = Annotated[
    str | None,
    typer.Option(
        "--x",
        metavar="KEY",
        help="With --figure: the key along the x axis; by default the numeric one with the most values.",
        show_default=False,
    ),
]
Lines = Annotated[
    str | None,
    typer.Option(
        metavar="KEY", help="With --figure: the key whose values are lines; by default the schemes.", show_default=False
    ),
]


def sweep(
    study: StudyFile,
    schemes: Schemes = None,
    store: StoreFolder = DEFAULT_STORE,
    threads: Threads = None,
    dask: Dask = None,
    out: Out = None,
    figure: Figure = None,
    width_in: Width = None,
    x: X = None,
    lines: Lines = None,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
    bss: Bss = "",
) -> None:
    """Run a study: a grid over keys of a scenario. After an interruption the same command continues."""
    from wifair.analysis.check import check_study
    from wifair.analysis.sweep import Sweep
    from wifair.cli.output import print_json, progress, say, say_of
    from wifair.cli.printed import kept, print_differences, print_needed
    from wifair.cli.printed_bsss import say_judged
    from wifair.cli.schemes_of_files import assignments
    from wifair.cli.schemes_of_files import schemes as named
    from wifair.errors import InputError
    from wifair.study.store import Store

    of_figure = {"--width-in": width_in, "--x": x, "--lines": lines}
    for option, value in of_figure.items():
        if value is not None and not figure:
            raise InputError(f"{option}: has no effect without --figure.")
    width_in = 3.5 if width_in is None else width_in
    chosen = {key: path for key, path in {"x": x, "lines": lines}.items() if path is not None}
    loaded = Sweep.from_toml(study, assignments(set), named(schemes) or None, chosen, bss)
    if figure:
        from wifair.report.layout import arranged
        from wifair.report.on_paper import check

        check(figure, width_in)
        arranged(loaded.cells, loaded.labels, **loaded.figure)
    folder = Store(store)
    if number := len(check_study(loaded.cells)):
        options = [*(["--schemes", schemes] if schemes else []), *(part for text in set for part in ("--set", text))]
        say(
            f"likely mistakes in this study: {number}; shown by: {shlex.join(['wifair', 'check', str(study), *options])}"
        )
    with kept(out, json, folder), progress(loaded.title) as report:
        results = loaded.run(threads, report, folder, dask)
    saved = results.save(out) if out else None  # before printing, which may fail
    with warnings.catch_warnings(record=True) as cautions:
        warnings.simplefilter("always", UserWarning)
        drawn = loaded.plot(results).save(figure, width_in) if figure else None
    differences, seeds_needed = loaded.differences(results), loaded.seeds_needed(results)
    if json:
        more: dict[str, Any] = {"differences": differences} if loaded.compare else {}
        more |= {"seeds_needed": seeds_needed} if loaded.precision else {}
        more |= {"bss": loaded.bss, "others": others_of(loaded, results)} if loaded.bss else {}
        print_json(loaded.judged(results).to_dict() | more)
    else:
        print_grid(loaded, results)
        print_differences(differences, loaded.judged(results))
        print_needed(seeds_needed, loaded.judged(results))
    say_judged(loaded.cells[0].scenario.plan(), loaded.bss)
    say_of(folder)
    for caution in cautions:
        say(f"warning: {caution.message}")
    if drawn:
        say(f"the figure is in {drawn}")
    if saved:
        say(f"results are in {saved}")


def print_grid(sweep: Sweep, results: Results) -> None:
    """Prints one line per cell: its coordinates, then the metrics' means with half-widths of their 95 % intervals.

    If one BSS is judged, what the others get follows.
    """
    from wifair.cli.output import print_table
    from wifair.cli.printed import heading, means, print_run, text_of
    from wifair.cli.tables import columns
    from wifair.everything.side_effects import present

    judged = sweep.judged(results)
    print_run(judged, sweep.title)
    paths = list(dict.fromkeys(path for cell in results.cells for path in cell.keys))
    others = results.of_others(sweep.bss) if sweep.bss else results
    shown = present(results, sweep.bss) if sweep.bss else []
    headings = [*(paths or ["scenario"]), *(heading(metric, judged.units) for metric in sweep.metrics)]
    headings += [f"the others: {heading(metric)}" for metric in shown]
    rows = []
    for cell in results.cells:
        point = [str(cell.keys.get(path, "–")) for path in paths] or [cell.name]
        row = [*point, *(text_of(judged.interval(cell.name, metric), results) for metric in sweep.metrics)]
        rows.append([*row, *(text_of(others.interval(cell.name, metric), results) for metric in shown)])
    keys = len(paths) or 1
    print_table(
        means((told for row in rows for told in row[keys:]), results), columns(headings, rows, left=keys), keys=keys
    )


def others_of(sweep: Sweep, results: Results) -> list[dict[str, Any]]:
    """The means of the BSSs that are not judged, by scenario and metric."""
    from wifair.everything.side_effects import METRICS

    rows = results.of_others(sweep.bss).summary()
    return [row for row in rows.to_dicts() if row["metric"] in METRICS]
