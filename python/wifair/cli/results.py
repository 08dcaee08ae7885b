"""`wifair results`: list, export and prune a store of finished replications."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from wifair.cli.options import DEFAULT_STORE, Json, StoreFolder

if TYPE_CHECKING:
    from wifair.study.store import EngineStore

EXAMPLE = "Example: wifair results list --store results/store"
EXAMPLE_EXPORT = 'Example: wifair results export "buffer sizes" --csv --out results/buffer-sizes'
EXAMPLE_PRUNE = "Example: wifair results prune --other-engines --dry-run"

app = typer.Typer(
    help="List, export or prune a store of finished replications.", no_args_is_help=True, rich_markup_mode=None
)

Title = Annotated[str, typer.Argument(metavar="STUDY", help="The study, by its title.", show_default=False)]
Engine = Annotated[
    str | None,
    typer.Option(metavar="ID", help="Use results of that engine, not of the present one.", show_default=False),
]
ExportFolder = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to write.", show_default=False)]
Flent = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Also write each run as a data file of flent; needs time series.", show_default=False
    ),
]
Csv = Annotated[bool, typer.Option("--csv", help="Write tables as CSV, not as Parquet.")]
OtherEngines = Annotated[bool, typer.Option("--other-engines", help="Remove the results of all other engines.")]
Forget = Annotated[
    str | None,
    typer.Option(
        "--study",
        metavar="STUDY",
        help="Remove that study, and its replications that are in no other.",
        show_default=False,
    ),
]
Unlisted = Annotated[bool, typer.Option("--unlisted", help="Remove replications that are in no study.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")]


@app.command("list", epilog=EXAMPLE)
def list_results(store: StoreFolder = DEFAULT_STORE, json: Json = False) -> None:
    """List the studies in a store and their replications."""
    from wifair import _native
    from wifair.cli.output import print_json, say
    from wifair.study.store import engines

    told = [about(engine, _native.engine()) for engine in engines(store)]
    if json:
        print_json({"store": str(store), "engines": told})
    else:
        print_list(told)
    for engine in told:
        for path, reason in engine["damaged"].items():
            say(f"warning: {path} is damaged ({reason}); `wifair results prune` removes it")


def about(engine: EngineStore, present: str) -> dict[str, Any]:
    """The contents of an engine's part of a store, for JSON."""
    studies = [
        {
            "title": study.title,
            "scenarios": len(study.cells),
            "seeds": len(study.seeds),
            "replications": study.replications,
            "finished": study.finished,
            "last_asked_for": datetime.fromtimestamp(study.last).isoformat(" ", "seconds"),
        }
        for study in engine.studies()
    ]
    return {
        "engine": engine.engine,
        "present": engine.engine == present,
        "wifair": engine.version,
        "replications": engine.replications().height,
        "bytes": engine.bytes(),
        "studies": studies,
        "damaged": {str(path): str(reason) for path, reason in engine.damaged.items()},
    }


def print_list(told: list[dict[str, Any]]) -> None:
    """Prints one table per engine, one line per study."""
    from wifair.cli.output import print_table, print_text
    from wifair.cli.tables import columns

    for engine in told:
        whose = "the present engine" if engine["present"] else "another engine: not used by any run"
        held = f"{engine['replications']} replications, {engine['bytes'] / 1e6:.1f} MB"
        rows = [
            (
                study["title"],
                str(study["scenarios"]),
                str(study["seeds"]),
                f"{study['finished']} of {study['replications']}",
                study["last_asked_for"],
            )
            for study in engine["studies"]
        ]
        title = f"Engine {engine['engine']} (wifair {engine['wifair']}), {whose}: {held}"
        headings = ("study", "scenarios", "seeds", "finished", "last asked for")
        print_table(title, columns(headings, rows, prose=(0,)))
    if not told:
        print_text("The store is empty.")


@app.command("export", epilog=EXAMPLE_EXPORT)
def export(
    study: Title,
    out: ExportFolder,
    store: StoreFolder = DEFAULT_STORE,
    engine: Engine = None,
    csv: Csv = False,
    flent: Flent = None,
) -> None:
    """Write the tables of a study, with plans and a manifest."""
    from wifair.cli.output import say
    from wifair.report import flent as of_flent
    from wifair.study.store import stored_results

    results = stored_results(store, study, engine)
    say(f"results are in {results.save(out, csv)}")
    if flent:
        say(of_flent.write(results, flent))
    if results.missing:
        say(f"{results.missing} of {results.missing + results.runs.height} replications are not there")


@app.command("prune", epilog=EXAMPLE_PRUNE)
def prune_results(
    store: StoreFolder = DEFAULT_STORE,
    other_engines: OtherEngines = False,
    study: Forget = None,
    unlisted: Unlisted = False,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Remove damaged or unfinished files, and named results."""
    from dataclasses import asdict

    from wifair.cli.output import print_json, print_text
    from wifair.study.prune import prune

    found = prune(store, other_engines=other_engines, study=study, unlisted=unlisted, dry=dry_run)
    if json:
        print_json({"store": str(store), "dry_run": dry_run, **asdict(found)})
        return
    verb = "would be removed" if dry_run else "are removed"
    print_text(f"{found.replications} replications {verb}: {found.files} files, {found.bytes / 1e6:.1f} MB")
