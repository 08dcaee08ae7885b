from __future__ import annotations

from typing import Any

import pytest
from wifair.errors import InputError, ScenarioError
from wifair.scenario.overrides import assign, layered, parse_assignments


@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        ({"a": 1, "b": 2}, {"b": 3}, {"a": 1, "b": 3}),
        ({"t": {"a": 1, "b": 2}}, {"t": {"b": 3}}, {"t": {"a": 1, "b": 3}}),
        # Another component brings its own parameters; the same one keeps those below.
        ({"s": {"name": "x", "p": 1}}, {"s": {"name": "y"}}, {"s": {"name": "y"}}),
        ({"s": {"name": "x", "p": 1}}, {"s": {"name": "x", "q": 2}}, {"s": {"name": "x", "p": 1, "q": 2}}),
        ({"s": {"name": "x", "p": 1}}, {"s": "x"}, {"s": {"name": "x", "p": 1}}),
        ({"s": {"name": "x", "p": 1}}, {"s": "y"}, {"s": "y"}),
        # A table that has a name of its own is no choice between components.
        ({"phy": {"slot_us": 9}}, {"phy": {"name": "802.11g"}}, {"phy": {"slot_us": 9, "name": "802.11g"}}),
    ],
)
def test_layers(below: dict[str, Any], above: dict[str, Any], expected: dict[str, Any]) -> None:
    kept = repr(below)
    assert layered(below, above) == expected
    assert repr(below) == kept


def test_values_are_toml_and_else_text() -> None:
    parsed = parse_assignments(["a.b=5", "c = 1.5", "d=true", 'e="5"', "f=droptail", "g=[1, 2]", "h=x=y"])
    assert parsed == [("a.b", 5), ("c", 1.5), ("d", True), ("e", "5"), ("f", "droptail"), ("g", [1, 2]), ("h", "x=y")]


@pytest.mark.parametrize("text", ["a", "=5", ""])
def test_what_is_no_assignment_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"key\.path=value"):
        parse_assignments([text])


def test_assignments_reach_into_lists_and_components() -> None:
    tree: dict[str, Any] = {"flows": [{"count": 1}], "ap": {"scheme": "red"}}
    assign(tree, "flows[0].count", 3)
    assign(tree, "flows.0.tcp.mss_bytes", 500)
    assign(tree, "ap.scheme.weight", 0.1)
    assert tree == {
        "flows": [{"count": 3, "tcp": {"mss_bytes": 500}}],
        "ap": {"scheme": {"name": "red", "weight": 0.1}},
    }


@pytest.mark.parametrize("path", ["flows[1].count", "flows.x.count", "run.warmup_s.x"])
def test_paths_that_lead_nowhere_are_refused(path: str) -> None:
    with pytest.raises(ScenarioError):
        assign({"flows": [{"count": 1}], "run": {"warmup_s": 1}}, path, 3)
