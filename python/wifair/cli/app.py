"""The typer application with all commands."""

from __future__ import annotations

import typer

from wifair.cli import (
    advise,
    check,
    check_prediction,
    cite,
    compare,
    emulate,
    explain,
    field,
    fit,
    imported,
    keys,
    lab,
    new,
    paper,
    population,
    report,
    results,
    run,
    schemes,
    sweep,
    tune,
)
from wifair.cli.elsewhere import Command, Commands

ABOUT = "Simulate Wi-Fi cells, and compare the buffer schemes of access points: which one gives every TCP flow its fair share at low delay?"

app = typer.Typer(
    name="wifair",
    cls=Commands,
    help=ABOUT,
    epilog="Example: wifair run cafe",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich's help takes a third of a second: it imports a Markdown parser and a syntax highlighter
)
app.command("new", cls=Command, epilog=new.EXAMPLE)(new.new)
app.command("check", cls=Command, epilog=check.EXAMPLE)(check.check)
app.command("run", cls=Command, epilog=run.EXAMPLE)(run.run)
app.command("compare", cls=Command, epilog=compare.EXAMPLE)(compare.compare)
app.command("import", cls=Command, epilog=imported.EXAMPLE)(imported.import_)
app.command("fit", cls=Command, epilog=fit.EXAMPLE)(fit.fit)
app.command("advise", cls=Command, epilog=advise.EXAMPLE)(advise.advise)
app.command("check-prediction", cls=Command, epilog=check_prediction.EXAMPLE)(check_prediction.check_prediction)
app.command("population", cls=Command, epilog=population.EXAMPLE)(population.population)
app.command("explain", cls=Command, epilog=explain.EXAMPLE)(explain.explain)
app.add_typer(field.app, name="field", epilog=field.EXAMPLE)
app.command("lab", cls=Command, epilog=lab.EXAMPLE)(lab.lab)
app.command("emulate", cls=Command, epilog=emulate.EXAMPLE)(emulate.emulate)
app.command("exec", cls=Command, epilog=emulate.EXEC_EXAMPLE)(emulate.enter)
app.command("sweep", cls=Command, epilog=sweep.EXAMPLE)(sweep.sweep)
app.command("tune", cls=Command, epilog=tune.EXAMPLE)(tune.tune)
app.add_typer(results.app, name="results", epilog=results.EXAMPLE)
app.command("paper", cls=Command, epilog=paper.EXAMPLE)(paper.paper)
app.command("report", cls=Command, epilog=report.EXAMPLE)(report.report)
app.command("cite", cls=Command, epilog=cite.EXAMPLE)(cite.cite)
app.command("schemes", cls=Command, epilog=schemes.EXAMPLE)(schemes.schemes)
app.command("keys", cls=Command, epilog=keys.EXAMPLE)(keys.keys)
