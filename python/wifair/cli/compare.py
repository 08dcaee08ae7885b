"""`wifair compare`: one scenario under several schemes, with the same seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from wifair.cli.options import Json, Out, ScenarioFile, Seeds, Set, Store, Threads

if TYPE_CHECKING:
    from wifair.results import Results

EXAMPLE = "Example: wifair compare scenarios/five-lines.toml --schemes droptail,ack-pushout,adaptive-pushout"

# What schemes are compared by, seed by seed.
COMPARED = ("jain", "up_mbps", "down_mbps", "total_mbps", "ap_sojourn_mean_ms")

Schemes = Annotated[
    str, typer.Option(metavar="A,B,C", help="The schemes, by name; `wifair schemes` lists them.", show_default=False)
]


def compare(
    scenario: ScenarioFile,
    schemes: Schemes,
    seeds: Seeds = 10,
    threads: Threads = None,
    out: Out = None,
    store: Store = None,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
) -> None:
    """Run a scenario under several schemes with common random numbers, and compare them pair by pair."""
    from wifair.api import comparison
    from wifair.cli.output import kept, print_json, print_results, progress, say, say_of
    from wifair.overrides import parse_assignments
    from wifair.scenario import Scenario
    from wifair.store import opened

    names = [name.strip() for name in schemes.split(",") if name.strip()]
    loaded = Scenario.from_toml(scenario, parse_assignments(set))
    study = comparison(loaded, names, seeds, f"{loaded.title or scenario.stem}: {', '.join(names)}")
    folder = opened(store)
    with kept(out, json, folder), progress("simulating") as report:
        results = study.run(threads, report, folder)
    differences = paired(results)
    if json:
        print_json({**results.to_dict(), "differences": differences})
    else:
        print_results(results)
        print_differences(differences)
    say_of(folder)
    if out:
        say(f"results are in {results.save(out)}")


def paired(results: Results) -> list[dict[str, Any]]:
    """Every scheme against the first one, metric by metric, with p values corrected by Holm over all of them."""
    import numpy as np
    import polars as pl

    from wifair.stats import holm, p_value, paired_difference

    columns = {
        cell.name: results.metrics.filter(pl.col("scenario") == cell.name).sort("seed") for cell in results.cells
    }
    first, *others = [cell.name for cell in results.cells]
    rows: list[dict[str, Any]] = []
    for other in others:
        for metric in COMPARED:
            a, b = (
                columns[name][metric].cast(pl.Float64).fill_null(float("nan")).to_numpy() for name in (other, first)
            )
            if np.isnan(a).all() or np.isnan(b).all():
                continue
            found = paired_difference(a, b)
            rows.append(
                {
                    "scheme": other,
                    "against": first,
                    "metric": metric,
                    "difference": found.difference.estimate,
                    "ci_low": found.difference.low,
                    "ci_high": found.difference.high,
                    "identical": found.difference.identical and found.difference.estimate == 0,
                    "correlation": found.correlation,
                    "p": p_value(a - b),
                }
            )
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = adjusted
    return rows


def print_differences(rows: list[dict[str, Any]]) -> None:
    """One line a pair and metric."""
    from rich.table import Table

    from wifair.cli.output import HEADINGS, stdout
    from wifair.results import UNITS

    if not rows:
        return
    table = Table(title="Paired differences (same seeds)", title_justify="left")
    for heading in ("scheme", "against", "metric", "difference [95 % interval]", "correlation", "p (Holm)"):
        table.add_column(heading)
    for row in rows:
        if row["identical"]:
            difference = "identical in every run"
        elif row["ci_low"] is None:
            difference = f"{row['difference']:+.4g} (one run: no interval)"
        else:
            difference = f"{row['difference']:+.4g} [{row['ci_low']:+.4g}, {row['ci_high']:+.4g}]"
        correlation = "–" if row["correlation"] is None else f"{row['correlation']:.2f}"
        name = f"{HEADINGS[row['metric']]} [{UNITS[row['metric']]}]".replace("[", r"\[")
        p = "n/a" if row["ci_low"] is None else f"{row['p_holm']:.2g}"
        table.add_row(row["scheme"], row["against"], name, difference.replace("[", r"\["), correlation, p)
    stdout().print(table)
