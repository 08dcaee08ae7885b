"""`wifair run`: replications of one scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from wifair.cli.options import (
    Bss,
    Formats,
    Json,
    Out,
    Pcap,
    PcapAps,
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

if TYPE_CHECKING:
    from wifair.results.results import Results

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
        help="Write to DIR what the access point shows of each run, as iw prints it: a station dump per second, and a survey dump.",
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
    pcap_ap: PcapAps = [],  # noqa: B006
    pcap_station: PcapStations = [],  # noqa: B006
    pcap_servers: PcapServers = False,
    pcap_full: PcapFull = False,
    events: Events = None,
    flent: Flent = None,
    as_ap: AsAp = None,
    verbose: Verbose = False,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
    bss: Bss = "",
) -> None:
    """Run a scenario; print goodput, delay and losses of its flows.

    Of several BSSs, each has a line; the flows are those of the first, or of --bss, and with --verbose those of all.
    """
    from wifair.analysis import warmup
    from wifair.analysis.precision import Precision, needed
    from wifair.cli.output import print_json, progress, say_each, say_of
    from wifair.cli.printed import kept, print_needed
    from wifair.cli.printed_flows import print_checks
    from wifair.cli.schemes_of_files import assignments
    from wifair.observed import as_ap as of_ap
    from wifair.report import flent as of_flent
    from wifair.results.results import writable_folder
    from wifair.scenario.scenario import Scenario
    from wifair.study import Cell, Study
    from wifair.study.store import opened
    from wifair.study.traces import Traces

    loaded = Scenario.from_toml(scenario, assignments(set, scheme, bss))
    loaded.check_bss(bss)
    title = loaded.title or scenario.stem
    wishes, figures = [Precision.parse(text) for text in precision], list[Path]()
    if check_warmup:
        figures = warmup.figure_paths(check_warmup, formats(format))
        writable_folder(figures[0].parent)
        loaded = warmup.with_series(loaded)
    loaded = of_flent.sampled(loaded, flent) if flent else loaded
    loaded = of_ap.sampled(loaded, as_ap) if as_ap else loaded
    study = Study([Cell(title, loaded)], seeds, title)
    folder = opened(store)
    traced = pcap or events or pcap_station or pcap_ap or pcap_servers or pcap_full
    aps = [*pcap_ap, bss] if bss and pcap else pcap_ap
    traces = Traces(pcap, events, pcap_station, pcap_servers, pcap_full, aps) if traced else None
    with kept(out, json, folder), progress("simulating") as report:
        results = study.run(threads, report, folder, traces)
    # Written before anything is printed: printing may fail.
    remarks = [f"results are in {results.save(out)}"] if out else []
    remarks += [of_flent.write(results, flent)] if flent else []
    remarks += [of_ap.write(results, as_ap)] if as_ap else []
    remarks += [traces.remark()] if traces else []
    checks = warmup.check(results) if check_warmup else []
    remarks += [f"running means are drawn in {warmup.draw(checks, path)}" for path in figures]
    judged = results.of_bss(bss) if bss else results
    seeds_needed = needed(judged, wishes).to_dicts()
    if json:
        more = {"seeds_needed": seeds_needed} if wishes else {}
        more |= {"warmup": [found.to_dict() for found in checks]} if checks else {}
        print_json(judged.to_dict() | more | ({"bss": bss} if bss else {}))
    else:
        _print(results, title, bss, verbose)
        print_needed(seeds_needed, judged)
        print_checks(checks)
    say_of(folder)
    say_each(remarks)


def _print(results: Results, title: str, bss: str, verbose: bool) -> None:
    """Prints the means, a line per BSS, and the flows of one BSS, or with `verbose` of all."""
    from wifair.cli.printed import print_results
    from wifair.cli.printed_bsss import of_shown, print_bsss, say_shown
    from wifair.cli.printed_flows import print_datagrams, print_flows, print_transfers

    shown = of_shown(results, bss, verbose)
    print_results(shown if bss else results, title)
    print_bsss(results)
    print_flows(shown, verbose)
    print_datagrams(shown)
    print_transfers(shown)
    say_shown(results, shown, bss)
