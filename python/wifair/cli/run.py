"""`wifair run`: replications of one scenario."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from wifair.cli.options import (
    Formats,
    Json,
    Out,
    Pcap,
    PcapServers,
    PcapStations,
    ScenarioFile,
    Scheme,
    Seeds,
    Set,
    Store,
    Threads,
    Verbose,
    Wishes,
    formats,
)

EXAMPLE = """Example: wifair run ten-and-ten --seeds 10 --set ap.scheme=droptail

Example: wifair run mostly-uploads --seeds 1 --as-ap results/ap

Example: wifair run mostly-uploads --seeds 1 --scheme fq-codel --as-ap results/after"""

WarmupFigure = Annotated[
    Path | None,
    typer.Option(
        "--check-warmup",
        metavar="FIGURE",
        help="Check whether the warm-up is long enough, and draw the running means in FIGURE.",
        show_default=False,
    ),
]

PcapFull = Annotated[
    bool, typer.Option("--pcap-full", help="With --pcap: capture payload (zeros) and FCS in addition to headers.")
]
Events = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Log every event of every packet in DIR/seed-1/events/*.parquet and so on.",
        show_default=False,
    ),
]

Flent = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Write each run to DIR as a data file that flent can plot.", show_default=False),
]
AsAp = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Write to DIR what the access point shows of each run, as iw prints it: station and survey dump.",
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
    format: Formats = "",
    pcap: Pcap = None,
    pcap_station: PcapStations = [],  # noqa: B006
    pcap_servers: PcapServers = False,
    pcap_full: PcapFull = False,
    events: Events = None,
    flent: Flent = None,
    as_ap: AsAp = None,
    verbose: Verbose = False,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
) -> None:
    """Run a scenario; print goodput, delay and losses of its flows."""
    from wifair.analysis import warmup
    from wifair.analysis.precision import Precision, needed
    from wifair.cli.output import print_json, progress, say_each, say_of
    from wifair.cli.printed import kept, print_needed, print_results
    from wifair.cli.printed_flows import print_checks, print_datagrams, print_flows, print_transfers
    from wifair.cli.schemes_of_files import assignments
    from wifair.observed import as_ap as of_ap
    from wifair.report import flent as of_flent
    from wifair.results.results import writable_folder
    from wifair.scenario.scenario import Scenario
    from wifair.study import Cell, Study
    from wifair.study.store import opened
    from wifair.study.traces import Traces

    loaded = Scenario.from_toml(scenario, assignments(set, scheme))
    title = loaded.title or scenario.stem
    wishes, figures = [Precision.parse(text) for text in precision], list[Path]()
    if check_warmup:
        figures = warmup.figure_paths(check_warmup, formats(format))
        writable_folder(figures[0].parent)
        loaded = warmup.with_series(loaded)
    loaded = of_flent.sampled(loaded, flent) if flent else loaded
    if as_ap:
        writable_folder(as_ap)
    study = Study([Cell(title, loaded)], seeds, title)
    folder = opened(store)
    traced = pcap or events or pcap_station or pcap_servers or pcap_full
    traces = Traces(pcap, events, pcap_station, pcap_servers, pcap_full) if traced else None
    with kept(out, json, folder), progress("simulating") as report:
        results = study.run(threads, report, folder, traces)
    # Written before anything is printed: printing may fail.
    remarks = [f"results are in {results.save(out)}"] if out else []
    remarks += [of_flent.write(results, flent)] if flent else []
    remarks += [of_ap.write(results, as_ap)] if as_ap else []
    remarks += [traces.remark()] if traces else []
    checks = warmup.check(results) if check_warmup else []
    remarks += [f"running means are drawn in {warmup.draw(checks, path)}" for path in figures]
    seeds_needed = needed(results, wishes).to_dicts()
    if json:
        more = {"seeds_needed": seeds_needed} if wishes else {}
        more |= {"warmup": [found.to_dict() for found in checks]} if checks else {}
        print_json(results.to_dict() | more)
    else:
        print_results(results, title)
        print_flows(results, verbose)
        print_datagrams(results)
        print_transfers(results)
        print_needed(seeds_needed)
        print_checks(checks)
    say_of(folder)
    say_each(remarks)
