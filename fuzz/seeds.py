"""Writes the fuzz targets' first inputs.

For `plan`: the plans of all scenarios and of the papers' studies, reduced to a few entries each, and a plan for each
registered component. For the others, which read structure from bytes: noise, always the same.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from corpora import pack, targets, unpacked
from wifair import Scenario
from wifair.papers import find, paper_ids
from wifair.scenario.components import components
from wifair.scenario.scenario import _PlanBuilder

ROOT = Path(__file__).parent.parent
# Different flows, and events, that are kept of a plan.
FLOWS, EVENTS = 3, 6
# Of the cells of a paper's study, each so manieth.
STEP = 9
NOISE = {"queue": 60, "tcp_receiver": 60, "tcp_sender": 60, "medium": 60, "packet": 60}


def scenarios() -> Iterator[Scenario]:
    """All that are in the repository."""
    for folder in ("scenarios", "python/wifair/gallery"):
        for path in sorted((ROOT / folder).glob("*.toml")):
            yield Scenario.from_toml(path)


def of_papers() -> Iterator[Scenario]:
    """Some of each paper's study."""
    for paper in paper_ids():
        study = find(paper).STUDY  # type: ignore[attr-defined]
        yield from (cell.scenario for cell in study.cells(study.forms["quick"], None)[::STEP])


def of_components() -> Iterator[Scenario]:
    """Each scheme, limit controller, congestion control, rate adaptation, application and PHY once."""
    both = [{"direction": "up"}, {"direction": "down"}]
    for scheme in components("schemes"):
        yield Scenario(flows=both, ap={"limit_packets": 10, "scheme": scheme["name"]})
    for limit in components("limit_controllers"):
        yield Scenario(flows=both, ap={"limit_controller": limit["name"]})
    for control in components("congestion_controls"):
        yield Scenario(flows=both, tcp={"congestion_control": control["name"], "sack": {}, "ecn": True})
    for adaptation in components("rate_adaptations"):
        yield Scenario(flows=both, mac={"rate_adaptation": adaptation["name"]})
    for application in components("applications"):
        yield Scenario(flows=[{**flow, "application": application["name"]} for flow in both])
    for phy in components("phys"):
        yield Scenario(flows=both, phy={"name": phy["name"]}, mac={"edca": {}})


def of_changes() -> Iterator[Scenario]:
    """Every kind of event, with flows in reserve."""
    events = [
        {"at_s": 0.1, "ap": {"limit_packets": 7, "scheme": "codel"}},
        {"at_s": 0.2, "wire": {"one_way_delay_ms": 5.0}},
        {"at_s": 0.3, "flows": {"name": "up", "count": 0, "tcp": {"congestion_control": "cubic", "ecn": True}}},
        {"at_s": 0.4, "flows": {"name": "up", "count": 2}},
        {"at_s": 0.5, "station": {"name": "up", "rate_mbps": 1.0}},
    ]
    run = {"warmup_s": 0.0, "duration_s": 1.0}
    yield Scenario(run=run, flows=[{"direction": "up", "count": 1, "reserve": 1}], events=events)


def plan(scenario: Scenario) -> dict[str, Any]:
    """Its plan without defaults, reduced to a few entries."""
    built = _PlanBuilder(scenario).build()
    kept: dict[str, dict[str, Any]] = {}
    for flow in built["flows"]:
        kept.setdefault(json.dumps({k: v for k, v in flow.items() if k not in ("label", "station")}), flow)
    built["flows"] = list(kept.values())[:FLOWS]
    used = {flow["station"] for flow in built["flows"]}
    groups = {flow.get("group") for flow in built["flows"]}
    for flow in built["flows"]:
        if flow.get("stop_after_group") not in groups:
            flow.pop("stop_after_group", None)
    built["bss"]["stations"] = [station for station in built["bss"]["stations"] if station["label"] in used]
    events = [event for event in built["events"] if event.get("station", {}).get("label", next(iter(used))) in used]
    built["events"] = events[:EVENTS]
    return built


def write(folder: Path, content: bytes) -> None:
    """Adds an input, under a name that is its content's."""
    (folder / hashlib.sha1(content, usedforsecurity=False).hexdigest()).write_bytes(content)


def main() -> None:
    """Adds them to the kept inputs."""
    folders = {target: unpacked(target) for target in targets()}
    for source in (scenarios, of_papers, of_components, of_changes):
        for scenario in source():
            content = json.dumps(plan(scenario), separators=(",", ":")).encode()
            write(folders["plan"], content)
            write(folders["run"], content)
    noise = random.Random(9)
    for target, count in NOISE.items():
        for _ in range(count):
            write(folders[target], noise.randbytes(noise.randrange(100, 2_000)))
    for target, folder in folders.items():
        pack(target, folder)


if __name__ == "__main__":
    main()
