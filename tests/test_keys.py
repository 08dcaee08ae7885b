"""`wifair keys` shows every key of a scenario and of its components, as the site's reference does."""

from __future__ import annotations

import json
import re

import pytest
from conftest import Cli
from wifair import Scenario
from wifair.cli.keys import Part, _components, _found, _sections
from wifair.scenario.keys import KINDS
from wifair.scenario.reference import sections

KNOWN = [*_sections(), *_components()]
SECTIONS = [part for part in KNOWN if not part.kind and part.name]


def paths(found: list[Part]) -> list[tuple[str, str]]:
    return [(part.name, key.path) for part in found for key in part.keys]


@pytest.mark.parametrize("columns", [80, 140])
def test_sections_are_listed_in_one_line_each(here: Cli, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", f"{columns}")
    done = here("keys")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert all(len(line) <= columns for line in lines)
    assert "…" not in done.stdout, "the first clause of what a section is fits a line"
    for name in ("title", "dialect", *(part.heading.replace("`", "") for part in SECTIONS)):
        assert [line for line in lines if line.startswith(f"  {name} ")], name
    words = set(done.stdout.replace(",", " ").split())
    assert {part.name for part in KNOWN if part.kind} <= words


def test_every_section_of_a_scenario_is_there() -> None:
    fields = {field.alias or name for name, field in Scenario.model_fields.items()}
    assert fields - {"stations"} | {"building"} == {
        *(part.name for part in SECTIONS),
        *(key.path for key in sections()[0].keys),
    }


def test_no_name_means_two_things() -> None:
    names = [part.name for part in KNOWN if part.name] + [key.path for key in sections()[0].keys]
    assert len(set(names)) == len(names)


def test_every_key_is_found_by_its_path() -> None:
    for part in SECTIONS:
        assert paths(_found(part.name, KNOWN)) == paths([part])
        for key in part.keys:
            told = f"{part.name}.{key.path}"
            if told not in ("flows.station", "flows.tcp", "bss.ap", "bss.wire"):
                assert (part.name, key.path) in paths(_found(told, KNOWN)), told
    for part in KNOWN:
        if part.kind:
            assert _found(part.name, KNOWN) == [part]


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("[phy]", "phy"),
        ("[[bss]]", "bss"),
        ("stations", "station"),
        ("[[stations]]", "station"),
        ("stations.rate_mbps", "station.rate_mbps"),
        ("flows[0].count", "flows.count"),
        ("flows[web].tcp.sack", "tcp.sack"),
        ("flows.station.rate_mbps", "station.rate_mbps"),
        ("bss[mine].ap.scheme", "ap.scheme"),
        ("bss.wire.rate_mbps", "wire.rate_mbps"),
        ("field.walls[].loss_db", "field.walls.loss_db"),
    ],
)
def test_a_path_may_be_written_as_in_a_file_or_for_set(path: str, meant: str) -> None:
    assert paths(_found(path, KNOWN)) == paths(_found(meant, KNOWN)) != []


def test_a_table_comes_with_the_keys_below_it_and_no_others() -> None:
    found = paths(_found("mac.edca", KNOWN))
    assert ("mac", "edca.ap.best_effort.aifsn") in found
    assert all(path == "edca" or path.startswith("edca.") for _, path in found)


def test_below_a_key_that_names_a_component_are_its_parameters() -> None:
    assert paths(_found("flows.application.interval_ms", KNOWN)) == [("ping", "interval_ms")]
    assert ("red", "max_p") not in paths(_found("ap.scheme", KNOWN))
    assert paths(_found("ap.scheme.signal", KNOWN)) == paths(_found("station.tx_queue.scheme.signal", KNOWN)) != []


@pytest.mark.parametrize("columns", [80, 140])
@pytest.mark.parametrize("part", KNOWN[1:], ids=[part.name for part in KNOWN[1:]])
def test_what_is_shown_fits_and_has_all_of_the_reference(
    part: Part, here: Cli, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", f"{columns}")
    done = here("keys", part.name)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if len(line) > columns] == []
    text = " ".join(done.stdout.split())
    assert part.keys or "It has no parameters." in text
    for key in part.keys:
        assert f"{key.path}{f' [{key.unit}]' if key.unit else ''}" in text
        assert " ".join(re.sub(r"\[(.+?)\]\(.+?\)", r"\1", key.about).split()) in text
        assert all(word in text for word in key.choices)
        assert key.allowed in text


def test_a_key_has_its_unit_default_allowed_values_and_meaning(here: Cli) -> None:
    lines = here("keys", "mac").stdout.splitlines()
    assert "    beacons.interval_tu = 100; a whole number" in lines
    assert '    aggregation.bar = "given-up"; one of given-up, missed, never' in lines
    assert "    capture_db [dB]; a number" in lines
    assert "    at_s [seconds] (needed); a number" in here("keys", "events").stdout.splitlines()
    assert 'application = "bulk"; one of bulk, transfers, web, udp' in here("keys", "flows").stdout


def test_json_has_the_whole_reference(here: Cli) -> None:
    document = json.loads(here("keys", "--json").stdout)
    assert [section["name"] for section in document["sections"]] == [section.name or None for section in sections()]
    assert {component["kind"] for component in document["components"]} == set(KINDS)
    for section, told in zip(sections(), document["sections"], strict=True):
        assert [key["name"] for key in told["keys"]] == [key.path for key in section.keys]
    one = json.loads(here("keys", "run.duration_s", "--json").stdout)
    assert one["components"] == []
    [key] = one["sections"][0]["keys"]
    assert (key["unit"], key["default"], key["needed"], key["choices"]) == ("seconds", 600.0, False, [])
    web = json.loads(here("keys", "web", "--json").stdout)["components"][0]
    assert (web["kind"], web["name"]) == ("applications", "web")
    assert "think_mean_s" in [key["name"] for key in web["keys"]]
