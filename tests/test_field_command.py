"""`wifair field show`: floor plans, and who hears whom."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import Cli
from matplotlib.lines import Line2D
from wifair import Scenario, floor_plan, load
from wifair.cli.field import table
from wifair.errors import InputError
from wifair.floor_plan.drawing import figure
from wifair.toml_text import document

ROW = {"model": "flats-in-a-row", "channels": [42, 106], "assign": "in-turn", "stations": 2}


def test_the_plan_says_who_hears_whom() -> None:
    plan = floor_plan.of_scenario(load("neighbours"))
    assert [node.bss for node in plan.access_points] == ["mine", "left", "right"]
    assert [name for name, _ in plan.heard("mine")] == ["left", "right"]
    [(name, dbm)] = plan.heard("left")
    assert name == "mine"
    assert dbm == pytest.approx(-56.2, abs=0.1)
    assert {(a, b) for a, b, _ in plan.links} == {("mine", "left"), ("mine", "right")}
    assert plan.hidden == [("left-laptop", "right-laptop")]
    assert dict(plan.hidden_of) == {"left": 1, "right": 1}


def test_bsss_of_other_channels_do_not_hear_each_other() -> None:
    plan = floor_plan.of_scenario(Scenario(building=ROW))
    assert plan.channels == {"mine": 106, "flat-1": 42, "flat-3": 42}
    assert plan.heard("mine") == []
    assert [name for name, _ in plan.heard("flat-1")] == ["flat-3"]
    headings, rows = table(plan)
    assert [row[headings.index("channel")] for row in rows] == ["106", "42", "42"]


def test_a_figure_has_a_panel_per_floor_with_metres_and_all_channels() -> None:
    plan = floor_plan.of_scenario(Scenario(building={**ROW, "model": "tgax-residential", "floors": 2, "rooms": [2, 2]}))
    made = figure(plan)
    assert [axes.get_title(loc="left") for axes in made.axes] == ["floor 1", "floor 0"]
    assert made.axes[-1].get_xlabel() == "x, m"
    [legend] = made.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts[:2] == ["access point, channel 42", "access point, channel 106"]
    markers = {handle.get_marker() for handle in legend.legend_handles[:2]}  # type: ignore[union-attr]
    assert len(markers) == 2, "channels differ in grey, too"


def links_drawn(*places: tuple[float, float]) -> list[tuple[float, bool]]:
    """The links between access points in the order in which they are drawn: the width of each, and whether it is an arch."""
    own = [{"name": f"ap-{i}", "ap": {"position_m": [*place]}} for i, place in enumerate(places)]
    flows = [
        {"direction": "down", "station": {"bss": f"ap-{i}", "position_m": [x, y]}} for i, (x, y) in enumerate(places)
    ]
    channel = {"tx_power_dbm": 20, "path_loss_exponent": 3.5}
    made = figure(
        floor_plan.of_scenario(Scenario(phy={"name": "802.11ax"}, channel=channel, field={}, bss=own, flows=flows))
    )
    drawn = []
    artists: list[Any] = made.axes[0].get_children()
    for artist in artists:
        arrow = getattr(artist, "arrow_patch", None)
        if arrow or (isinstance(artist, Line2D) and artist.get_linestyle() == "-"):
            drawn.append(((arrow or artist).get_linewidth(), arrow is not None))
    return drawn


def test_weak_links_are_drawn_above_strong_ones_and_not_across_an_access_point() -> None:
    assert links_drawn((0, 0), (20, 3), (12, 0)) == [(1.6, False), (1.6, False), (0.7, False)]
    assert links_drawn((0, 0), (24, 0), (12, 0)) == [(1.6, False), (1.6, False), (0.7, True)]


@pytest.mark.whole
def test_the_command_draws_and_lists(here: Cli, tmp_path: Path) -> None:
    drawn = tmp_path / "plan.svg"
    result = here("field", "show", "neighbours", "--figure", str(drawn))
    assert result.returncode == 0, result.stderr
    assert "left -56, right -56" in result.stdout
    assert drawn.read_text(encoding="utf-8").startswith("<?xml")
    told = json.loads(here("field", "show", "neighbours", "--json").stdout)
    assert told["hidden_pairs"] == 1
    assert told["hidden"] == [["left-laptop", "right-laptop"]]
    assert told["hears"]["right"] == [{"bss": "mine", "dbm": pytest.approx(-56.17, abs=0.01)}]


@pytest.mark.whole
def test_a_drawn_scenario_is_printed_as_toml(here: Cli, tmp_path: Path) -> None:
    file = tmp_path / "row.toml"
    file.write_text(document({"building": ROW}), encoding="utf-8")
    printed = here("field", "show", str(file), "--toml").stdout
    assert Scenario(**tomllib.loads(printed)).plan_json == Scenario(building=ROW).plan_json


def test_settings_are_written_so_that_they_are_read_back() -> None:
    tree = {
        "title": 'a "b"\n',
        "run": {"duration_s": 0.1 + 0.2, "nothing": {}},
        "field": {"gains": [{"between": ["a", "b"], "gain_db": -1e-9}], "hidden": [["a", "c"]], "none": []},
        "flows": [{"name": "x", "count": 1_000_000, "application": {"name": "web", "deep": {"on": True}}}],
    }
    assert tomllib.loads(document(tree)) == tree


def test_what_has_no_plan_is_refused() -> None:
    with pytest.raises(InputError, match="no such table"):
        floor_plan.of_scenario(load("cafe"))


@pytest.mark.whole
def test_nodes_without_places_have_no_figure(here: Cli, tmp_path: Path) -> None:
    result = here("field", "show", "hidden", "--figure", str(tmp_path / "x.png"))
    assert result.returncode == 2
    assert "no positions" in result.stderr
    assert "1 BSS, 2 stations, 1 hidden pair" in here("field", "show", "hidden").stdout


def test_hidden_stations_are_listed(here: Cli) -> None:
    rows = [line.split() for line in here("field", "show", "hidden").stdout.splitlines()]
    assert ["left", "ap", "1", "0", "right"] in rows
    assert ["right", "ap", "1", "0", "left"] in rows
    rows = [line.split() for line in here("field", "show", "neighbours").stdout.splitlines()]
    assert ["left-laptop", "left", "0", "1", "right-laptop"] in rows
    assert not [row for row in rows if row[:1] == ["my-laptop"]]


def test_a_report_of_several_bsss_has_the_floor_plan_and_a_row_per_bss(tmp_path: Path) -> None:
    from wifair.report.parts import Picture, Table
    from wifair.report.scenario import of_scenario

    source = tmp_path / "row.toml"
    source.write_text(document({"building": ROW}), encoding="utf-8")
    row = Scenario.from_toml(source).override({"run.warmup_s": 0.5, "run.duration_s": 1})
    report = of_scenario("row", source, row, row.run(seeds=2), [])
    [section] = [section for section in report.sections if section.title == "BSSs"]
    picture, table = section.parts
    assert isinstance(picture, Picture)
    assert picture.data.startswith(b"\x89PNG")
    assert isinstance(table, Table)
    assert [cells[0].text for cells in table.rows] == ["mine", "flat-1", "flat-3"]
    assert [cells[1].text for cells in table.rows] == ["106", "42", "42"]
