"""A component is one file and one line: proved by adding one of each kind to a copy of the crates."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from wifair import Scenario, _native
from wifair.scenario import components
from wifair.scenario.scenario import _PlanBuilder, ap_rule, event_rule, flow_rule, station_rule

import docsite.components as pages
from docsite.keys import KINDS

# By kind: the component that is copied, and the file with the registry.
COPIED = {
    "schemes": ("droptail", "registry.rs"),
    "limit_controllers": ("alt", "registry.rs"),
    "congestion_controls": ("cubic", "mod.rs"),
    "rate_adaptations": ("arf", "mod.rs"),
    "applications": ("bulk", "mod.rs"),
    "phys": ("802.11a", "mod.rs"),
}

# Prints the schema, or the trajectory of the plan that it is given.
PROGRAM = """//! Added by a test.
fn main() {
    match std::env::args().nth(1) {
        None => println!("{}", wifair_sim::schema()),
        Some(plan) => {
            let plan = wifair_sim::Plan::from_json(&plan).unwrap_or_else(|error| panic!("{error}"));
            println!("{:?}", wifair_sim::fingerprint(&plan, 1).unwrap());
        }
    }
}
"""


@pytest.fixture(scope="module")
def grown() -> tuple[Path, Path]:
    """A copy of the crates with a component `scratch` of each kind, and a program that links against it."""
    copy = ROOT / "target" / "adding"  # always the same place, so that cargo replaces what it built there
    shutil.rmtree(copy / "crates", ignore_errors=True)
    shutil.copytree(ROOT / "crates", copy / "crates", ignore=shutil.ignore_patterns("tests", "examples"))
    shutil.copytree(ROOT / "benches/engine", copy / "benches/engine", dirs_exist_ok=True)
    shutil.copy2(ROOT / "Cargo.lock", copy)
    manifest = re.sub(r"\[profile\.dev\.package\.\S+\]\nopt-level = \d\n", "", (ROOT / "Cargo.toml").read_text())
    unoptimised = (f'[profile.dev.package."{crate.name}"]\nopt-level = 0\n' for crate in (copy / "crates").iterdir())
    (copy / "Cargo.toml").write_text(manifest + "".join(unoptimised))
    for kind, (copied, registry) in COPIED.items():
        folder = copy / KINDS[kind][1]
        text = pages.source(kind, copied).read_text().replace(f'name: "{copied}"', 'name: "scratch"')
        (folder / "scratch.rs").write_text(text.replace(copied.capitalize(), "Scratch"))
        text = (folder / registry).read_text()
        head, start, lines = text.partition("wifair_core::registry! {\n")
        lines, end, tail = lines.partition("\n}\n")
        (folder / registry).write_text(f"{head}{start}{lines}\n    Scratch => scratch,{end}{tail}")
    (copy / "crates/wifair-sim/examples").mkdir()
    (copy / "crates/wifair-sim/examples/grown.rs").write_text(PROGRAM)
    # An example among the packages that `make test` builds, in its profile: so what comes from elsewhere is there already.
    build = ["cargo", "build", "--quiet", "--offline", "--locked", "--example", "grown"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(ROOT / "target")}
    subprocess.run([*build, "--workspace", "--exclude", "wifair-bench"], cwd=copy, env=environment, check=True)
    return copy, ROOT / "target" / "debug" / "examples" / "grown"


def forget_the_schema() -> None:
    """Clears what was read from the engine's schema."""
    for kept in (components.plan_node, components.plan_rule, flow_rule, station_rule, ap_rule, event_rule):
        kept.cache_clear()


def test_the_page_has_a_row_for_each_kind() -> None:
    page = (ROOT / "docs/adding.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| [^|]+ \| \[?`(crates/[^`]+)/<name>\.rs`\S* \| one line of `([^`]+)` there \|$", page, re.MULTILINE
    )
    assert dict(rows) == {KINDS[kind][1]: registry for kind, (_, registry) in COPIED.items()}
    assert COPIED.keys() == KINDS.keys()


@pytest.mark.skipif(shutil.which("cargo") is None, reason="wants cargo")
def test_a_component_of_each_kind_is_one_file_and_one_line(
    grown: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    copy, program = grown
    request.addfinalizer(forget_the_schema)

    def told(*arguments: str) -> Any:
        return json.loads(subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout)

    def names(kind: str) -> list[str]:
        return [component["name"] for component in components.components(kind)]

    known = {kind: names(kind) for kind in COPIED}
    schema = told()
    for module in (components, pages):
        monkeypatch.setattr(module, "engine_schema", lambda: schema)
    monkeypatch.setattr("wifair.scenario.scenario.engine_schema", lambda: schema)
    forget_the_schema()
    monkeypatch.setattr(pages, "ROOT", copy)
    # The engine that is installed does not know them; the program refuses what is wrong.
    monkeypatch.setattr(_native, "canonical", lambda plan, _: plan)
    for kind, (copied, _) in COPIED.items():
        assert names(kind) == [*known[kind], "scratch"]
        assert pages.page(kind, "scratch").startswith("# `scratch`"), kind
        before = next(component for component in schema[kind] if component["name"] == copied)
        after = next(component for component in schema[kind] if component["name"] == "scratch")
        assert {**after, "name": copied, "parameters": after["parameters"].get("properties")} == {
            **before,
            "parameters": before["parameters"].get("properties"),
        }

    def trajectory(named: dict[str, str]) -> Any:
        scenario = Scenario(
            run={"warmup_s": 0, "duration_s": 5},
            phy={"name": named["phys"]},
            flows=[{"direction": way, "count": 2, "application": named["applications"]} for way in ("up", "down")],
            ap={"scheme": named["schemes"], "limit_controller": named["limit_controllers"]},
            mac={"rate_adaptation": named["rate_adaptations"]},
            tcp={"congestion_control": named["congestion_controls"]},
        )
        return told(json.dumps(_PlanBuilder(scenario).build()))

    assert trajectory(dict.fromkeys(COPIED, "scratch")) == trajectory(
        {kind: copied for kind, (copied, _) in COPIED.items()}
    )
