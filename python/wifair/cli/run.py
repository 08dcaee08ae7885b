"""`wifair run`: replications of one scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wifair.cli.options import Json, Out, ScenarioFile, Scheme, Seeds, Set, Store, Threads, Wishes

if TYPE_CHECKING:
    from wifair.results import Results
    from wifair.warmup import Check

EXAMPLE = "Example: wifair run scenarios/five-lines.toml --seeds 10 --set ap.scheme=droptail"

WarmupFigure = Annotated[
    Path | None,
    typer.Option(
        "--check-warmup", metavar="FIGURE", help="Check the warm-up; draw the running means there.", show_default=False
    ),
]

Pcap = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Capture the AP's interfaces: DIR/seed-1/ap-air.pcapng and so on.", show_default=False
    ),
]
PcapStations = Annotated[
    list[str],
    typer.Option(
        "--pcap-station",
        metavar="NAME",
        help="With --pcap: that station's radio and host, too; may be repeated.",
        show_default=False,
    ),
]
PcapServers = Annotated[bool, typer.Option("--pcap-servers", help="With --pcap: the servers' interface, too.")]
PcapFull = Annotated[bool, typer.Option("--pcap-full", help="With --pcap: payload (zeros) and FCS, not headers alone.")]
Events = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Log what happens to every packet: DIR/seed-1/events/*.parquet and so on.",
        show_default=False,
    ),
]


def run(
    scenario: ScenarioFile,
    scheme: Scheme = None,
    seeds: Seeds = 10,
    threads: Threads = None,
    out: Out = None,
    store: Store = None,
    precision: Wishes = [],  # noqa: B006 -- typer copies the default
    check_warmup: WarmupFigure = None,
    pcap: Pcap = None,
    pcap_station: PcapStations = [],  # noqa: B006
    pcap_servers: PcapServers = False,
    pcap_full: PcapFull = False,
    events: Events = None,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
) -> None:
    """Run a scenario and print what each flow and the access point got."""
    from wifair import warmup
    from wifair.cli.output import kept, print_json, print_needed, print_results, progress, say, say_of
    from wifair.cli.schemes_of_files import assignments
    from wifair.precision import Precision, needed
    from wifair.results import writable_folder
    from wifair.scenario import Scenario
    from wifair.store import opened
    from wifair.study import Cell, Study
    from wifair.traces import Traces

    loaded = Scenario.from_toml(scenario, assignments(set, scheme))
    title = loaded.title or scenario.stem
    wishes = [Precision.parse(text) for text in precision]
    if check_warmup:
        writable_folder(warmup.figure_path(check_warmup).parent)
        loaded = warmup.with_series(loaded)
    study = Study([Cell(title, loaded)], seeds, title)
    folder = opened(store)
    traces = None
    if pcap or events or pcap_station or pcap_servers or pcap_full:
        traces = Traces(pcap, events, pcap_station, pcap_servers, pcap_full)
    with kept(out, json, folder), progress("simulating") as report:
        results = study.run(threads, report, folder, traces)
    seeds_needed = needed(results, wishes).to_dicts()
    checks = warmup.check(results) if check_warmup else []
    if json:
        more = {"seeds_needed": seeds_needed} if wishes else {}
        more |= {"warmup": [found.to_dict() for found in checks]} if checks else {}
        print_json(results.to_dict() | more)
    else:
        print_results(results)
        print_flows(results)
        print_datagrams(results)
        print_transfers(results)
        print_needed(seeds_needed)
        print_checks(checks)
    if check_warmup:
        say(f"running means are drawn in {warmup.draw(checks, check_warmup)}")
    say_of(folder)
    if traces:
        say(traces.remark())
    if out:
        say(f"results are in {results.save(out)}")


def print_flows(results: Results) -> None:
    """One line a flow."""
    from rich.table import Table

    from wifair.cli.output import stdout
    from wifair.stats import t_interval

    table = Table(title=r"Goodput of each flow \[Mbps of payload]", title_justify="left")
    for heading in ("flow", "direction", "goodput", r"RTT mean \[ms]", "timeouts a run"):
        table.add_column(heading, justify="right" if heading not in ("flow", "direction") else "left")
    for (label, direction), group in results.flows.group_by("label", "direction", maintain_order=True):
        columns = ("goodput_mbps", "rtt_mean_ms", "timeouts")
        found = [t_interval(group[column].drop_nulls().to_numpy()) for column in columns]
        table.add_row(str(label), str(direction), *(interval.short() for interval in found))
    stdout().print(table)


def print_datagrams(results: Results) -> None:
    """One line a flow without TCP and direction, where there are any; columns without a number are left out."""
    from rich.table import Table

    from wifair.cli.output import stdout
    from wifair.delays import STREAM_UNITS
    from wifair.stats import t_interval

    if "datagrams" not in results.frames:
        return
    rows = results.datagrams
    shown = {metric: unit for metric, unit in STREAM_UNITS.items() if rows[metric].count()}
    table = Table(title="Datagrams: means over the runs", title_justify="left")
    for heading in ("flow", "carries", "direction"):
        table.add_column(heading)
    for metric, unit in shown.items():
        table.add_column(f"{metric.removesuffix('_ms').replace('_', ' ')}\n\\[{unit}]", justify="right")
    for key, part in rows.group_by("label", "application", "direction", maintain_order=True):
        found = [t_interval(part[metric].drop_nulls().to_numpy()) for metric in shown]
        table.add_row(*map(str, key), *(interval.short() for interval in found))
    stdout().print(table)


def print_transfers(results: Results) -> None:
    """One line a group of transfers, where there are any."""
    import polars as pl
    from rich.table import Table

    from wifair.cli.output import stdout
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
        table.add_row(str(group), *(interval.short() for interval in found))
    stdout().print(table)


def print_checks(checks: list[Check]) -> None:
    """One line a quantity whose warm-up was checked."""
    from rich.table import Table

    from wifair.cli.output import stdout
    from wifair.warmup import QUANTITIES

    if not checks:
        return
    table = Table(title="Warm-up: first tenth of the measurement minus its second half", title_justify="left")
    for heading in ("quantity", "mean", "difference [95 % interval]", "p (Holm)", "settled at [s]", "verdict"):
        table.add_column(heading.replace("[", r"\["))
    for found in checks:
        quantity = f"{found.course.quantity} [{QUANTITIES[found.course.quantity]}]"
        settled = "–" if found.settled_s is None else f"{found.settled_s:g}"
        columns = (quantity, f"{found.mean:.4g}", str(found.drift), f"{found.p:.2g}", settled, found.verdict)
        table.add_row(*(column.replace("[", r"\[") for column in columns))
    stdout().print(table)
