"""The typer application with all commands."""

from __future__ import annotations

import typer

from wifair.cli import check, cite, compare, emulate, explain, lab, new, paper, report, results, run, schemes, sweep

ABOUT = "Simulate Wi-Fi cells, and compare the buffer schemes of access points: which one gives every TCP flow its fair share at low delay?"

app = typer.Typer(
    name="wifair",
    help=ABOUT,
    epilog="Example: wifair run scenarios/five-lines.toml",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich's help takes a third of a second: it imports a Markdown parser and a syntax highlighter
)
app.command("new", epilog=new.EXAMPLE)(new.new)
app.command("check", epilog=check.EXAMPLE)(check.check)
app.command("run", epilog=run.EXAMPLE)(run.run)
app.command("compare", epilog=compare.EXAMPLE)(compare.compare)
app.command("explain", epilog=explain.EXAMPLE)(explain.explain)
app.command("lab", epilog=lab.EXAMPLE)(lab.lab)
app.command("emulate", epilog=emulate.EXAMPLE)(emulate.emulate)
app.command("exec", epilog=emulate.EXEC_EXAMPLE)(emulate.enter)
app.command("sweep", epilog=sweep.EXAMPLE)(sweep.sweep)
app.add_typer(results.app, name="results", epilog=results.EXAMPLE)
app.command("paper", epilog=paper.EXAMPLE)(paper.paper)
app.command("report", epilog=report.EXAMPLE)(report.report)
app.command("cite", epilog=cite.EXAMPLE)(cite.cite)
app.command("schemes", epilog=schemes.EXAMPLE)(schemes.schemes)
