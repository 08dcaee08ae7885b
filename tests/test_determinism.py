"""The native module reproduces the trajectories pinned for the tests of the crates, on one thread and on two."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pinned
import polars as pl
import pytest
from conftest import ROOT
from wifair import _native
from wifair.scenario.components import components

TRAJECTORIES = ROOT / "crates/wifair-sim/tests/trajectories"
PINNED = pinned.pinned(TRAJECTORIES)
KINDS = ("schemes", "congestion_controls", "limit_controllers", "rate_adaptations", "applications")


@pytest.mark.parametrize("threads", [1, 2])
def test_the_native_module_takes_the_pinned_courses(threads: int) -> None:
    """`make package` holds the optimised module of the wheel against them."""
    assert len(PINNED) > 10
    assert pinned.found(PINNED, threads) == [*PINNED.values()]


def test_what_is_recorded_of_them_does_not_depend_on_the_threads() -> None:
    def tables(threads: int) -> dict[str, pl.DataFrame]:
        batch = _native.Batch(list(PINNED), threads)
        while batch.wait(1000) < batch.total:
            pass
        return {name: pl.DataFrame(table) for name, table in batch.take().items()}

    one, two = tables(1), tables(2)
    assert one["flows"].height > len(PINNED)
    assert one.keys() == two.keys()
    assert all(one[name].equals(two[name]) for name in one)


def test_every_registered_component_is_in_a_pinned_course() -> None:
    """Every new component needs a pinned trajectory: a key of `hashes` for a scheme, a name in a plan for the rest."""
    schemes = json.loads((TRAJECTORIES / "every-scheme.json").read_text(encoding="utf-8"))["hashes"]
    defaults = {"bulk", "newreno", "fixed"}  # what a plan has that says nothing else
    plans = "".join(plan for plan, _ in PINNED)
    absent = {kind: {component["name"] for component in components(kind)} for kind in KINDS}
    absent["schemes"] -= schemes.keys()
    for kind in absent.keys() - {"schemes"}:
        absent[kind] -= defaults | {name for name in absent[kind] if f'"name": "{name}"' in plans}
    assert {kind: names for kind, names in absent.items() if names} == {}, "docs/adding.md, A pinned trajectory"


def test_a_trajectory_that_differs_is_named_with_its_hash(tmp_path: Path) -> None:
    shutil.copytree(TRAJECTORIES, tmp_path / "pinned")
    path = tmp_path / "pinned" / "every-scheme.json"
    was = json.loads(path.read_text(encoding="utf-8"))["hashes"]["red"]
    path.write_text(path.read_text(encoding="utf-8").replace(was, "0" * 16), encoding="utf-8")
    command = [sys.executable, str(ROOT / "tests" / "pinned.py"), str(path.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == [f"every-scheme.json, red: found {was}, pinned {'0' * 16}"]


def test_no_crate_of_the_engine_leaves_the_contract() -> None:
    """`clippy.toml` forbids clocks, hash order and the platform's functions; here is that no crate or file lets itself off."""
    engine = sorted(set((ROOT / "crates").iterdir()) - {ROOT / "crates/wifair-py"})
    assert len(engine) >= 5
    for crate in engine:
        head = (crate / "src/lib.rs").read_text(encoding="utf-8")
        assert "#![forbid(unsafe_code)]" in head, crate
        assert "#![cfg_attr(not(test), deny(clippy::disallowed_methods))]" in head, crate
        for path in (crate / "src").rglob("*.rs"):
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"(allow|expect)\(clippy::(disallowed_|all)", text), path
