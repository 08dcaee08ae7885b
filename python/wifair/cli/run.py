"""`wifair run`: replications of one scenario."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wifair.cli.options import Json, Out, ScenarioFile, Seeds, Set, Store, Threads

if TYPE_CHECKING:
    from wifair.results import Results

EXAMPLE = "Example: wifair run scenarios/five-lines.toml --seeds 10 --set ap.scheme=droptail"


def run(
    scenario: ScenarioFile,
    seeds: Seeds = 10,
    threads: Threads = None,
    out: Out = None,
    store: Store = None,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
) -> None:
    """Run a scenario and print what each flow and the access point got."""
    from wifair.cli.output import kept, print_json, print_results, progress, say, say_of
    from wifair.overrides import parse_assignments
    from wifair.scenario import Scenario
    from wifair.store import opened
    from wifair.study import Cell, Study

    loaded = Scenario.from_toml(scenario, parse_assignments(set))
    title = loaded.title or scenario.stem
    study = Study([Cell(title, loaded)], seeds, title)
    folder = opened(store)
    with kept(out, json, folder), progress("simulating") as report:
        results = study.run(threads, report, folder)
    if json:
        print_json(results.to_dict())
    else:
        print_results(results)
        print_flows(results)
        print_transfers(results)
    say_of(folder)
    if out:
        say(f"results are in {results.save(out)}")


def print_flows(results: Results) -> None:
    """One line a flow."""
    from rich.table import Table

    from wifair.cli.output import cell_text, stdout
    from wifair.stats import t_interval

    table = Table(title=r"Goodput of each flow \[Mbps of payload]", title_justify="left")
    for heading in ("flow", "direction", "goodput", r"RTT mean \[ms]", "timeouts a run"):
        table.add_column(heading, justify="right" if heading not in ("flow", "direction") else "left")
    for (label, direction), group in results.flows.group_by("label", "direction", maintain_order=True):
        columns = ("goodput_mbps", "rtt_mean_ms", "timeouts")
        found = [t_interval(group[column].drop_nulls().to_numpy()) for column in columns]
        table.add_row(str(label), str(direction), *map(cell_text, found))
    stdout().print(table)


def print_transfers(results: Results) -> None:
    """One line a group of transfers, where there are any."""
    import polars as pl
    from rich.table import Table

    from wifair.cli.output import cell_text, stdout
    from wifair.results import TRANSFER_UNITS
    from wifair.stats import t_interval

    if "transfer_groups" not in results.frames:
        return
    table = Table(title="Transfers: means over the runs, of all sizes", title_justify="left")
    table.add_column("group")
    for metric, unit in TRANSFER_UNITS.items():
        table.add_column(f"{metric.removesuffix('_s')}\n\\[{unit}]", justify="right")
    of_all_sizes = results.transfer_groups.filter(pl.col("bytes").is_null())
    for (group,), part in of_all_sizes.group_by("group", maintain_order=True):
        found = [t_interval(part[metric].drop_nulls().cast(pl.Float64).to_numpy()) for metric in TRANSFER_UNITS]
        table.add_row(str(group), *map(cell_text, found))
    stdout().print(table)
