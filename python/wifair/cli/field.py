"""`wifair field`: the floor plan of a scenario with several BSSs, and who hears whom."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wifair.cli.options import Formats, Json, ScenarioFile, Set, formats
from wifair.keys import some_of

if TYPE_CHECKING:
    from wifair.floor_plan import FloorPlan

EXAMPLE = "Example: wifair field show neighbours --figure plan.svg"
EXAMPLE_IMPORT = "Example: wifair field import laptop=examples/scan.txt --out results/street.toml"

app = typer.Typer(help="Show who hears whom, and draw the floor plan.", no_args_is_help=True, rich_markup_mode=None)

Figure = Annotated[
    Path | None, typer.Option(metavar="FIGURE", help="Draw the floor plan in FIGURE.", show_default=False)
]
Toml = Annotated[
    bool, typer.Option("--toml", help="Print the scenario as TOML, with what a table [building] draws in its place.")
]
# Access points of others, or hidden stations, that a line names.
NAMED = 3
# Stations that are listed with those hidden from them; of more `--json` has the pairs.
MOST_STATIONS = 40


@app.command("show", epilog=EXAMPLE)
def show(
    scenario: ScenarioFile,
    figure: Figure = None,
    format: Formats = "",
    toml: Toml = False,
    json: Json = False,
    set: Set = [],  # noqa: B006 -- the option's name; typer copies the default
) -> None:
    """Show the BSSs of a scenario: channels, places, who hears whom.

    Access points hear each other if they detect preambles. A hidden pair are two stations of which one does not sense the other; up to 40
    stations that belong to one are listed.
    """
    from wifair import floor_plan
    from wifair.analysis import warmup
    from wifair.cli.output import print_json, print_lines, print_table, say
    from wifair.cli.tables import columns
    from wifair.errors import InputError
    from wifair.results.results import writable_folder
    from wifair.scenario.overrides import parse_assignments
    from wifair.scenario.scenario import Scenario
    from wifair.toml_text import document

    endings = formats(format)
    loaded = Scenario.from_toml(scenario, parse_assignments(set))
    if toml:
        print_lines(document(loaded.drawn_settings()).splitlines())
        return
    plan = floor_plan.of_scenario(loaded)
    drawn: list[Path] = []
    if figure:
        if not plan.has_places:
            raise InputError("--figure: nodes have no positions (position_m), so there is no floor plan to draw.")
        from wifair.floor_plan.drawing import draw

        writable_folder(warmup.figure_paths(figure, endings)[0].parent)
        drawn = [draw(plan, path) for path in warmup.figure_paths(figure, endings)]
    if json:
        print_json(to_dict(plan))
    else:
        title = loaded.title or scenario.stem
        print_table(f"{title}: {summary(plan)}", columns(*table(plan), left=1, prose=(len(table(plan)[0]) - 1,)))
        headings, rows = hidden(plan)
        if 0 < len(rows) <= MOST_STATIONS:
            print_table("Stations that do not sense each other", columns(headings, rows, left=2, prose=(4,)))
    for path in drawn:
        say(f"drawn in {path}")


def summary(plan: FloorPlan) -> str:
    """What the table is about."""
    bsss, stations = len(plan.channels), len(plan.nodes) - len(plan.channels)
    limit = plan.preamble_detection_dbm
    hidden = "1 hidden pair of stations" if len(plan.hidden) == 1 else f"{len(plan.hidden)} hidden pairs of stations"
    return f"{bsss} BSS{'' if bsss == 1 else 's'}, {stations} stations, {hidden}; access points that each one hears ({limit:g} dBm or more)"


def table(plan: FloorPlan) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """One row per BSS."""
    has_channels = any(channel is not None for channel in plan.channels.values())
    has_widths = len(set(plan.widths.values())) > 1
    has_punctured = any(plan.punctured.values())
    has_floors = any(node.floor for node in plan.nodes)
    rows = []
    for ap in plan.access_points:
        stations = sum(1 for node in plan.nodes if node.bss == ap.bss and not node.is_ap)
        heard = plan.heard(ap.name)
        named = some_of([f"{name} {dbm:.0f}" for name, dbm in heard], NAMED, ", ")
        place = f"{ap.place_m[0]:g}, {ap.place_m[1]:g}" if ap.place_m else ""
        rows.append(
            (
                ap.bss,
                *([str(plan.channels[ap.bss])] if has_channels else []),
                *([str(plan.widths[ap.bss])] if has_widths else []),
                *([", ".join(map(str, plan.punctured[ap.bss]))] if has_punctured else []),
                *([str(ap.floor)] if has_floors else []),
                place,
                str(stations),
                str(plan.hidden_of[ap.bss]),
                str(len(heard)),
                named,
            )
        )
    channel, width = ["channel"] if has_channels else [], ["MHz"] if has_widths else []
    punctured, floor = ["without"] if has_punctured else [], ["floor"] if has_floors else []
    headings = (
        "BSS",
        *channel,
        *width,
        *punctured,
        *floor,
        "x, y in m",
        "stations",
        "hidden pairs",
        "hears",
        "the strongest, dBm",
    )
    return headings, rows


def hidden(plan: FloorPlan) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """One row per station that belongs to a hidden pair, with those hidden from it, first those of its BSS."""
    bss = {node.name: node.bss for node in plan.nodes}
    rows: list[tuple[str, ...]] = []
    for node in plan.nodes:
        others = [other for pair in plan.hidden if node.name in pair for other in pair if other != node.name]
        others.sort(key=lambda name: bss[name] != node.bss)
        if others:
            of_own = sum(1 for name in others if bss[name] == node.bss)
            rows.append((node.name, node.bss, f"{of_own}", f"{len(others) - of_own}", some_of(others, NAMED, ", ")))
    return ("station", "BSS", "own BSS", "others", "hidden from it"), rows


def to_dict(plan: FloorPlan) -> dict[str, Any]:
    """The floor plan as JSON."""
    nodes = [
        {"name": node.name, "bss": node.bss, "is_ap": node.is_ap, "position_m": node.place_m, "floor": node.floor}
        for node in plan.nodes
    ]
    heard = {
        ap.bss: [{"bss": name, "dbm": round(dbm, 2)} for name, dbm in plan.heard(ap.name)] for ap in plan.access_points
    }
    walls = [{"from_m": a, "to_m": b, "loss_db": loss} for a, b, loss in plan.walls]
    channels = [
        {"bss": bss, "channel": channel, "width_mhz": plan.widths[bss], "punctured": plan.punctured[bss]}
        for bss, channel in plan.channels.items()
    ]
    pairs = [list(pair) for pair in plan.hidden]
    hidden = {"hidden_pairs": len(pairs), "hidden_pairs_of": dict(plan.hidden_of), "hidden": pairs}
    return {"bsss": channels, "nodes": nodes, "walls": walls, "hears": heard, **hidden}


Files = Annotated[
    list[str],
    typer.Argument(
        metavar="[NODE=]FILE",
        help="Scans: output of `iw dev DEVICE scan`, Kismet's CSV or netxml, a list of BSSs (CSV). NODE is the own node where it was made: "
        "`ap`, as by default, or the name of a station.",
        show_default=False,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml", help="Write the scenario to this file. Without it, print it.", show_default=False
    ),
]
Mine = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS", help="The own BSS; by default the one that a scan marks as associated.", show_default=False
    ),
]
Channel = Annotated[
    int | None, typer.Option(metavar="NUMBER", help="The own channel, if no file has it.", show_default=False)
]
Width = Annotated[
    int | None, typer.Option("--width", metavar="MHZ", help="The width of the own channel.", show_default=False)
]
KeepAddresses = Annotated[
    bool,
    typer.Option(
        "--keep-addresses", help="Write addresses as they are; by default their hashes with a key that is not kept."
    ),
]


@app.command("import", epilog=EXAMPLE_IMPORT)
def import_(
    files: Files,
    out: Out = None,
    mine: Mine = "",
    channel: Channel = None,
    width: Width = None,
    keep_addresses: KeepAddresses = False,
    json: Json = False,
) -> None:
    """Make a scenario of the own BSS and those that a scan shows.

    Each value has a comment: read or assumed. BSSs that are out of reach or overlap a channel by a part of 20 MHz are listed and left out.
    """
    from wifair.cli.document import report
    from wifair.files import check_folder
    from wifair.observed import Names
    from wifair.surveys import Options, heard_in, neighbourhood

    if out:
        check_folder(out, f"--out {out}")
    options = Options(mine=mine, channel=channel, width_mhz=width, names=Names(keep_addresses))
    title = Path(files[0].rpartition("=")[2]).name.partition(".")[0]
    made = neighbourhood(heard_in(files), title, options)
    report(made, out, json, "left_out", dict.fromkeys(("wifair field show", "wifair run"), ""))
