"""The report of one scenario, under its own scheme or under several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wifair.analysis.comparison import Differences, against_first
from wifair.planned import stations_of
from wifair.report import measured, neighbourhood
from wifair.report.parts import Code, Facts, Part, Report, Section
from wifair.report.provenance import again, made_by
from wifair.scenario.described import scheme_name

if TYPE_CHECKING:
    from wifair.results.results import Results
    from wifair.scenario.scenario import Scenario


def of_scenario(
    title: str,
    source: Path,
    scenario: Scenario,
    results: Results,
    arguments: Sequence[str],
    tested: Differences | None = None,
) -> Report:
    """The report of a scenario file; `tested` are the paired differences between all schemes."""
    schemes = measured.names(results)
    several = f" under {len(schemes)} schemes" if len(schemes) > 1 else ""
    lead = f"{about(scenario)}{several}; {len(results.seeds)} replications, means with 95 % intervals."
    first, *rest = measured.sections(results, tested, against_first(results.cells))
    around = neighbourhood.of_scenario(scenario, results)
    bsss = [Section("BSSs", around)] if around else []
    sections = [first, Section("Scenario", described(scenario, source)), *bsss, *rest, again(arguments, results)]
    return Report(title, lead, sections, made_by(results))


def about(scenario: Scenario) -> str:
    """A short description of a scenario."""
    plan = scenario.plan()
    ways = [flow["direction"] for flow in plan["flows"]]
    counts = [f"{ways.count(way)} {way}link" for way in ("up", "down") if way in ways]
    return f"{' and '.join(counts)} {'flows' if len(ways) > 1 else 'flow'} in an {plan['bss']['phy']['name']} cell"


def described(scenario: Scenario, source: Path) -> list[Part]:
    """The scenario's main settings, and the text of its file."""
    plan = scenario.plan()
    tx_queue = plan["bss"]["ap"]["tx_queue"]
    limit, run = tx_queue.get("limit_packets"), plan["run"]
    controls = dict.fromkeys(flow["tcp"]["congestion_control"]["name"] for flow in plan["flows"] if "tcp" in flow)
    facts = {
        "stations": f"{len(stations_of(plan))}",
        "flows": f"{len(plan['flows'])}",
        "scheme": f"`{scheme_name(tx_queue['scheme'])}`",
        "buffer of the access point": f"{limit} packets" if limit is not None else "the scheme's own limit",
        "congestion control": ", ".join(f"`{name}`" for name in controls) or "–",
        "warm-up": f"{run['warmup_s']:g} s",
        "measured": f"{run['duration_s']:g} s",
    }
    return [Facts(facts), Code(source.read_text(encoding="utf-8"), f"{source.name}, as it was read:")]
