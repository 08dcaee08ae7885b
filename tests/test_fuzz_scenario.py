"""Any scenario file gives either a scenario or one sentence that says what is wrong and where."""

from __future__ import annotations

import os
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, new_file
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wifair import Scenario, ScenarioError
from wifair.errors import InputError

LONG = os.environ.get("WIFAIR_VALIDATE") == "1"
EXAMPLES = 20_000 if LONG else 150

FILES = [
    path
    for folder in ("scenarios", "python/wifair/gallery")
    for path in sorted((ROOT / folder).glob("*.toml"))
    if "flows" in tomllib.loads(path.read_text(encoding="utf-8"))
]
DOCUMENTS: list[dict[str, Any]] = [tomllib.loads(path.read_text(encoding="utf-8")) for path in FILES]

# All TOML values, some of them often: numbers invalid for any quantity, words that are valid elsewhere.
SCALARS = st.one_of(
    st.none().map(lambda _: ""),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([0, -1, 1, 2**31, 2**32, 2**53, 10**6, 10**400]),
    st.floats(),
    st.sampled_from([0.0, -0.0, float("nan"), float("inf"), float("-inf"), 1e300, 5e-324]),
    st.text(max_size=8),
    st.sampled_from(["droptail", "up", "ap.scheme", "a:b", "./x.py:X", "\x00", "[]", "-1"]),
    st.dates(),
    st.times(),
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def keys_of(tree: Any) -> set[str]:
    """All keys at any level."""
    if isinstance(tree, dict):
        return set(tree).union(*map(keys_of, tree.values()))
    return set().union(*map(keys_of, tree)) if isinstance(tree, list) else set()


KEYS = sorted(set().union(*map(keys_of, DOCUMENTS)) | {"tcp", "mac", "edca", "channel", "events", "stations", "wire"})
# What stands somewhere in a document and may come to stand somewhere else.
PARTS: list[Any] = [part for document in DOCUMENTS for part in (*document.values(), *document.get("flows", []))]


def copied(tree: Any) -> Any:
    """A deep copy."""
    if isinstance(tree, dict):
        return {key: copied(value) for key, value in tree.items()}
    return [copied(entry) for entry in tree] if isinstance(tree, list) else tree


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    """A valid document with some places changed, removed, added or moved."""
    document: dict[str, Any] = copied(draw(st.sampled_from(DOCUMENTS)))
    for _ in range(draw(st.integers(1, 4))):
        node: Any = document
        # Down to some table or list.
        while True:
            inner = list(node.values()) if isinstance(node, dict) else node
            inner = [entry for entry in inner if isinstance(entry, dict | list) and entry]
            if not inner or draw(st.booleans()):
                break
            node = draw(st.sampled_from(inner))
        places = list(node) if isinstance(node, dict) else list(range(len(node)))
        action = draw(st.sampled_from(["change", "change", "remove", "add", "move", "misspell"]))
        new = copied(draw(st.sampled_from(PARTS))) if action == "move" and draw(st.booleans()) else draw(JUNK)
        if action == "add" or not places:
            if isinstance(node, dict):
                node[draw(st.sampled_from(KEYS) | st.text(max_size=6))] = new
            else:
                node.append(new)
            continue
        place = draw(st.sampled_from(places))
        if action == "remove":
            del node[place]
        elif action == "misspell" and isinstance(node, dict):
            node[place[1:] + place[:1]] = node.pop(place)
        else:
            node[place] = new
    return document


def read(document: dict[str, Any]) -> None:
    """A scenario whose plan the engine takes (it has, to be one), or a sentence that names a key."""
    refused = None
    try:
        flows = Scenario.from_settings(document).plan()["flows"]
    except ScenarioError as error:
        refused = error
    assert flows if refused is None else refused.key and str(refused).startswith(refused.key)


QUICK = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)


@pytest.mark.whole
@QUICK
@given(mutated())
def test_a_changed_scenario_is_one_or_is_refused_by_key(document: dict[str, Any]) -> None:
    read(document)


@QUICK
@given(st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=6), JUNK, max_size=5))
def test_junk_is_refused_by_key(document: dict[str, Any]) -> None:
    read(document)


@pytest.mark.parametrize("text", ["x = " + "1" * 5_000, "x = " + "[" * 20_000, "\ufeff", "x = 1\0", "[flows]\n"])
def test_an_odd_file_is_refused_in_one_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        Scenario.from_toml(path)


@QUICK
@given(
    text=st.sampled_from([path.read_bytes() for path in FILES]),
    cuts=st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 20), st.binary(max_size=6)), min_size=1, max_size=4),
)
def test_a_damaged_file_is_refused_in_one_sentence(
    text: bytes, cuts: list[tuple[int, int, bytes]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    for at, length, new in cuts:
        at %= len(text) + 1
        text = text[:at] + new + text[at + length :]
    path = new_file(tmp_path_factory.getbasetemp() / "damaged.toml", text)
    with suppress(InputError):
        Scenario.from_toml(path)
