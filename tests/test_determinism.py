"""The native module reproduces the trajectories pinned for the tests of the crates, on one thread and on two."""

from __future__ import annotations

import json
import re

import pinned
import polars as pl
import pytest
from conftest import ROOT
from wifair import _native
from wifair.scenario.components import components

TRAJECTORIES = ROOT / "crates/wifair-sim/tests/trajectories"
PINNED = pinned.pinned(TRAJECTORIES)


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
    schemes = set(json.loads((TRAJECTORIES / "every-scheme.json").read_text(encoding="utf-8"))["hashes"])
    assert schemes == {scheme["name"] for scheme in components("schemes")}
    defaults = {"bulk", "newreno", "fixed"}  # what a plan has that says nothing else
    plans = "".join(plan for plan, _ in PINNED)
    for kind in ("congestion_controls", "limit_controllers", "rate_adaptations", "applications"):
        named = {component["name"] for component in components(kind) if f'"name": "{component["name"]}"' in plans}
        assert named | defaults >= {component["name"] for component in components(kind)}, kind


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
