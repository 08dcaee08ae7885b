"""Channels of 20 MHz that a BSS never uses (docs/neighbours.md), through the user's keys."""

from __future__ import annotations

from typing import Any

import pytest
from wifair import Scenario
from wifair.cli import field as command
from wifair.errors import ScenarioError
from wifair.floor_plan import of_scenario
from wifair.lab import controls

Table = dict[str, Any]

# Data subcarriers of the two RUs of 60 MHz, of those of 80 MHz (36.3.2 of 802.11be).
SUBCARRIERS = (468 + 234) / 980


def scenario(wide: Table | None = None, narrow: Table | None = None, **keys: Any) -> Scenario:
    """An access point of 80 MHz and one of 20 MHz on a channel of it, which receive each other."""
    tables: Table = {
        "run": {"warmup_s": 0.5, "duration_s": 1},
        "phy": {"name": "802.11be", "width_mhz": 80},
        "field": {"gain_db": -60, "gains": [{"between": ["wide", "narrow"], "gain_db": -60}]},
        "bss": [
            {"name": "wide", "channel": 42, **(wide or {})},
            {"name": "narrow", "channel": 48, "width_mhz": 20, "wire": {}, **(narrow or {})},
        ],
        "station": {"mcs": 7},
        "stations": [{"name": f"of-{name}", "bss": name} for name in ("wide", "narrow")],
        "flows": [
            {
                "name": f"to-{name}",
                "station": f"of-{name}",
                "direction": "down",
                "application": {"name": "udp", "rate_mbps": rate_mbps},
            }
            for name, rate_mbps in (("wide", 600), ("narrow", 200))
        ],
    }
    return Scenario(**{**tables, **keys})


def goodputs(of: Scenario) -> dict[str, float]:
    return dict(of.run(1).bsss.select("bss", "goodput_down_mbps").iter_rows())


def test_a_channel_that_is_never_used_belongs_to_the_other() -> None:
    """Neither BSS then notices the other, and the first has the rate of 60 MHz."""
    apart = scenario({"punctured": [48]})
    results = apart.run(1)
    assert results.bsss["busy_others_share"].to_list() == [0, 0]
    assert results.bsss["lost_to_others"].to_list() == [0, 0]
    assert results.bsss["punctured"].to_list() == [0, 0]  # which counts what was busy
    there, whole = goodputs(apart), goodputs(scenario({"channel": 106}))
    assert there["narrow"] == whole["narrow"]
    assert there["wide"] / whole["wide"] == pytest.approx(SUBCARRIERS, rel=0.03)


def test_both_ways_of_puncturing_add_up_if_the_standard_allows_it() -> None:
    """Of 320 MHz, 80 MHz at an end and 40 elsewhere; of 80 MHz, one channel of 20 MHz only."""
    phy = {"name": "802.11be", "band_ghz": 6, "width_mhz": 320}
    ends = [1, 5, 9, 13]
    for busy, found in ((25, True), (1, False)):
        tables = scenario(
            {"channel": 31, "primary": 17, "punctured": ends}, {"channel": busy}, phy=phy, mac={"width": "punctured"}
        )
        punctured = tables.run(1).bsss["punctured"][0]
        assert (punctured > 0) == found
    narrow = scenario({"punctured": [40]}, mac={"width": "punctured"}).run(1).bsss
    assert narrow["punctured"][0] == 0


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (
            {"punctured": [40, 44]},
            r"bss\[0\].punctured: 40, 44 is not allowed; .* channel 42 without the primary channel: 40; 44; 48",
        ),
        ({"punctured": [36]}, r"bss\[0\].punctured: 36 is not allowed; .*: 40; 44; 48"),
        ({"punctured": [52]}, r"bss\[0\].punctured: 52 is not allowed"),
        ({"width_mhz": 40, "channel": 38, "punctured": [40]}, r"no such key with 40 MHz"),
    ],
)
def test_what_no_ppdu_leaves_out_is_refused(keys: Table, told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        scenario(keys)


def test_older_generations_and_single_bsss_refuse_the_key() -> None:
    with pytest.raises(ScenarioError, match=r"bss\[0\].punctured.*802.11ax: only PPDUs of 802.11be leave out channels"):
        scenario({"punctured": [48]}, phy={"name": "802.11ax", "width_mhz": 80})
    old = {"name": "old", "bss": "wide", "phy": {"name": "802.11ac"}}
    stations = [*scenario().settings()["stations"], old]
    flows = [*scenario().settings()["flows"], {"station": "old", "direction": "down"}]
    with pytest.raises(ScenarioError, match=r'bss\[0\].punctured.*"old", which is not of 802.11be'):
        scenario({"punctured": [48]}, stations=stations, flows=flows)
    with pytest.raises(ScenarioError, match=r"bss\[1\].punctured"):
        scenario({"channel": None, "punctured": None}, {"channel": None, "width_mhz": None, "punctured": [40]})


def test_field_show_and_lab_say_it() -> None:
    of = scenario({"punctured": [48]})
    headings, rows = command.table(of_scenario(of))
    assert rows[0][headings.index("without")] == "48"
    assert rows[1][headings.index("without")] == ""
    assert [bss["punctured"] for bss in command.to_dict(of_scenario(of))["bsss"]] == [[48], []]
    assert [bss["punctured"] for bss in controls.bsss(of.plan())] == [[48], []]
