"""The example notebooks are kept without outputs: those would be of yesterday's engine.

That they run, and say what they promise, is tested where the site is built, which runs them (`test_docsite.py`).
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest
from conftest import ROOT

import docsite.notebooks

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def solutions_of_uploads_and_downloads(compared: Any, scenario: Any) -> list[list[str]]:
    """The numbers in the solutions of the first exercise, from its runs and those that its questions ask for."""

    def of(results: Any, name: str, *metrics: str) -> list[str]:
        return [f"{results.interval(name, metric).estimate:.2f}" for metric in metrics]

    tail, filtered = of(compared, "droptail", *SOLVED), of(compared, "ack-filtering", *SOLVED)
    found = []
    for limit in (500, 10):
        results = scenario.override({"ap.limit_packets": limit}).run(seeds=5)
        jain, lost = of(results, results.cells[0].name, "jain", "ap_loss_ratio")
        assert (lost == "0.00") == (limit == 500)
        wait = f"{results.interval(results.cells[0].name, 'ap_sojourn_mean_ms').estimate:.0f}"
        found += [str(limit), *([jain, wait] if limit == 500 else [wait, jain])]
    (down, up, jain, total), (down2, up2, jain2, total2) = tail, filtered
    flows = compared.flows.filter(scenario="droptail")

    def mean(way: str, column: str, digits: int = 0) -> str:
        return f"{flows.filter(direction=way)[column].mean():.{digits}f}"

    assert mean("up", "timeouts", 2) == "0.00"
    first = [mean("down", "timeouts", 1), mean("down", "fast_retransmits", 1)]
    first += [mean("down", "ap_lost_packets"), mean("up", "ap_lost_packets")]
    return [[down, total], first, [down2, down, up2, up, jain, jain2, total, total2], found]


SOLVED = ("down_mbps", "up_mbps", "jain", "total_mbps")


def solutions_of_one_slow_station(results: Any, slow: Any, airtimes: Any) -> list[list[str]]:
    """The same of the second exercise."""
    import polars as pl

    def share(scheme: str, station: str) -> float:
        own = airtimes.filter(scenario=scheme).group_by("station").agg(pl.col("airtime_share").mean())
        return float(own.filter(pl.col("station").str.starts_with(station))["airtime_share"].mean())

    def goodput(frame: Any, scheme: str, flow: str) -> str:
        own = frame.filter(pl.col("scenario") == scheme, pl.col("label").str.starts_with(flow))
        return f"{own['goodput_mbps'].mean():.1f}"

    def jain(values: list[float]) -> str:
        return f"{sum(values) ** 2 / len(values) / sum(value**2 for value in values):.2f}"

    turns, fair = "fq-codel", "mac80211"
    far, near = (f"{100 * share(turns, station):.0f}" for station in ("far", "near"))
    before = goodput(results.flows, "scheme=fq-codel, rate_mbps=54", "")
    equal = goodput(slow.flows, turns, "")
    assert {goodput(slow.flows, turns, flow) for flow in ("near", "far")} == {equal}
    totals = [f"{slow.interval(scheme, 'total_mbps').estimate:.1f}" for scheme in (turns, fair)]
    of_goodput = [f"{slow.interval(scheme, 'jain').estimate:.2f}" for scheme in (turns, fair)]
    of_airtime = [
        jain([share(scheme, "far"), share(scheme, "near"), share(scheme, "near")]) for scheme in (turns, fair)
    ]
    at = {
        rate: [results.interval(f"scheme={scheme}, rate_mbps={rate}", "total_mbps") for scheme in (turns, fair)]
        for rate in (24, 54)
    }
    assert at[24][0].high < at[24][1].low
    assert at[54][0].high > at[54][1].low
    second = [goodput(slow.flows, fair, "near"), equal, goodput(slow.flows, fair, "far"), equal]
    third = ["24", *(f"{found.estimate:.1f}" for found in at[24]), "54"]
    return [[before, equal], [far, near, "6", equal, before], [*second, *totals, *of_goodput, *of_airtime], third]


def solutions_of_delay_under_load(compared: Any, home: Any) -> list[list[str]]:
    """The same of the third exercise."""
    small = home.override({"ap.limit_packets": 100}).run(seeds=5)

    def of(scheme: str, metric: str, digits: int = 1) -> str:
        results, name = (compared, scheme) if scheme else (small, small.cells[0].name)
        return f"{results.interval(name, metric).estimate:.{digits}f}"

    schemes = ("droptail", "codel", "fq-codel")
    first = [of(scheme, "mos_least") for scheme in schemes] + [of(scheme, "ping_p95_ms", 0) for scheme in schemes]
    downloads, uploads = ([of("droptail", way), of("", way)] for way in ("down_mbps", "up_mbps"))
    third = ["100", of("", "mos_least"), of("", "total_mbps"), *downloads, *reversed(uploads)]
    packets, octets, mbps = 1000, 1500, 20
    bits = 8 * packets * octets
    before = [f"{packets:,}", f"{octets:,}", f"{bits / 1e6:.0f}", f"{bits / mbps / 1e3:.0f}", f"{mbps}", "5"]
    before.append(of("droptail", "ping_p95_ms", 0))
    settings = home.settings()
    settings["flows"] = [flow for flow in settings["flows"] if flow["name"] != "photographs"]
    alone = type(home).from_settings(settings).run(seeds=5)
    before += ["5", f"{alone.interval(alone.cells[0].name, 'ping_p95_ms').estimate:.0f}"]
    second = [of(scheme, "total_mbps") for scheme in (*schemes, "mac80211")]
    second += [of("mac80211", "down_mbps"), of("mac80211", "up_mbps")]
    second += [of("fq-codel", "down_mbps"), of("fq-codel", "up_mbps")]
    return [before, first, second, third]


SOLUTIONS: dict[str, Callable[..., list[list[str]]]] = {
    "lecture-1-uploads-and-downloads": solutions_of_uploads_and_downloads,
    "lecture-2-one-slow-station": solutions_of_one_slow_station,
    "lecture-3-delay-under-load": solutions_of_delay_under_load,
}


def numbers_in_solutions(notebook: Any) -> list[list[str]]:
    """The numbers in the answer to "before you run it" and in each numbered solution, but for names and years of papers."""
    text = notebook.cells[-1].source.partition("<summary>Solutions</summary>")[2]
    assert text
    solutions = re.split(r"^\d\. ", text, flags=re.MULTILINE)
    plain = [re.sub(r"`[^`]*`|et al\. \d{4}", "", solution) for solution in solutions]
    return [re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", solution) for solution in plain]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_every_lecture_has_its_solutions_derived() -> None:
    assert {path.stem for path in NOTEBOOKS if path.stem.startswith("lecture")} == set(SOLUTIONS)


@dataclass
class Ran:
    """A notebook with its outputs, and the numbers that its solutions must have, from its runs."""

    notebook: Any
    derived: list[list[str]] | None


def run_by_docsite(patch: pytest.MonkeyPatch) -> dict[str, Ran]:
    """The notebooks by name, once the site has run them. A last cell, which the site does not see, derives the solutions."""
    found: dict[str, Ran] = {}
    read, run = nbformat.read, docsite.notebooks._run

    def with_derivation(path: Path, as_version: int) -> Any:
        notebook: Any = read(path, as_version)  # type: ignore[no-untyped-call]
        if solve := SOLUTIONS.get(path.stem):
            source = f"import json\nfrom typing import Any\n\nSOLVED = {SOLVED}\n\n\n{inspect.getsource(solve)}"
            given = ", ".join(inspect.signature(solve).parameters)
            source += f"\nprint(json.dumps({solve.__name__}({given})))"
            notebook.cells.append(nbformat.v4.new_code_cell(source))  # type: ignore[no-untyped-call]
        return notebook

    async def kept(name: str) -> Any:
        notebook = await run(name)
        derived = json.loads(notebook.cells.pop().outputs[0].text) if name in SOLUTIONS else None
        found[name] = Ran(notebook, derived)
        return notebook

    patch.setattr(nbformat, "read", with_derivation)
    patch.setattr(docsite.notebooks, "_run", kept)
    return found


def check_run(ran: Ran) -> None:
    """That a run has said what the notebook promises."""
    if ran.derived is not None:
        assert numbers_in_solutions(ran.notebook) == ran.derived
    shown = [output for cell in ran.notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert all(output.output_type != "error" for output in shown)
    assert not [output for output in shown if output.get("name") == "stderr"]
    kinds = {kind for output in shown for kind in output.get("data", {})}
    assert {"text/html", "application/vnd.vegalite.v6+json", "image/png"} <= kinds
    assert any('class="wifair"' in output.get("data", {}).get("text/html", "") for output in shown)
