"""Options shared by several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ScenarioFile = Annotated[
    Path,
    typer.Argument(
        metavar="SCENARIO.toml", help="The scenario: a file, or a name that `wifair new` lists.", show_default=False
    ),
]
Seeds = Annotated[
    int, typer.Option(min=1, help="Number of replications, with seeds 1, 2, … A single replication has no interval.")
]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Number of threads; by default one per core.", show_default=False)
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Write the results to DIR: Parquet tables, plan.json, manifest.json.", show_default=False
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on standard output.")]
Set = Annotated[
    list[str],
    typer.Option(
        "--set", metavar="KEY.PATH=VALUE", help="Set a key of the scenario; may be repeated.", show_default=False
    ),
]
Scheme = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The access point's scheme: a name from `wifair schemes`, or FILE.py:CLASS for a scheme written in Python.",
        show_default=False,
    ),
]
Bss = Annotated[
    str,
    typer.Option(
        "--bss",
        metavar="NAME",
        help="Of several BSSs: judge the flows of this one, and say what the others get. What is changed is its access point.",
        show_default=False,
    ),
]
Measured = Annotated[
    list[Path],
    typer.Option(
        "--measured",
        metavar="MEASURED",
        help="Compare runs with what was measured: files that `wifair import` reads (repeat the option), a folder with such files, or a folder with such folders.",
        show_default=False,
    ),
]
Wishes = Annotated[
    list[str],
    typer.Option(
        "--precision",
        metavar="METRIC=±",
        help="Say how many seeds a 95 % interval of this half-width needs, such as jain=0.01 or total_mbps=2%; may be repeated.",
        show_default=False,
    ),
]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print every flow, pair or claim.")]
Formats = Annotated[
    str,
    typer.Option(
        "--format", metavar="FORMAT[,FORMAT]", help="File formats of figures: png, svg, pdf.", show_default=False
    ),
]

Pcap = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Capture the interfaces of the AP, of several BSSs that of the first: DIR/seed-1/ap-air.pcapng and so on.",
        show_default=False,
    ),
]
PcapAps = Annotated[
    list[str],
    typer.Option(
        "--pcap-ap",
        metavar="NAME",
        help="With --pcap: also capture the radio and the wire of the AP of this BSS; may be repeated.",
        show_default=False,
    ),
]
PcapStations = Annotated[
    list[str],
    typer.Option(
        "--pcap-station",
        metavar="NAME",
        help="With --pcap: also capture the radio and the host of this station; may be repeated.",
        show_default=False,
    ),
]
PcapServers = Annotated[
    bool, typer.Option("--pcap-servers", help="With --pcap: also capture the interface of the servers.")
]


def formats(text: str) -> tuple[str, ...]:
    """The formats of `--format` without duplicates; none if the option is not given."""
    from wifair.errors import InputError
    from wifair.keys import nearest

    known = ("png", "svg", "pdf")
    named = tuple(dict.fromkeys(name.strip().removeprefix(".").lower() for name in text.split(",") if name.strip()))
    for name in named:
        if name not in known:
            hint = nearest(name, known)
            asked = f"; did you mean {hint}?" if hint else "."
            raise InputError(f"--format: unknown format {name!r}{asked} Allowed here: {', '.join(known)}.")
    return named


# Default store of `wifair sweep` and `wifair results`.
DEFAULT_STORE = Path("results/store")
Store = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Keep finished replications in DIR, and do not run them again.", show_default=False
    ),
]
StoreFolder = Annotated[Path, typer.Option("--store", metavar="DIR", help="The store of finished replications.")]
Dask = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Run on the Dask cluster with this scheduler (tcp://HOST:8786), or with `local` in processes of this machine.",
        show_default=False,
    ),
]
