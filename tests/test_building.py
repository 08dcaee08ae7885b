"""Buildings: the table `[building]` and what it draws (docs/neighbours.md)."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import pytest
from wifair import Scenario
from wifair.errors import ScenarioError
from wifair.scenario.building import expanded
from wifair.scenario.building.expand import THRESHOLDS_DB, loads_mbps
from wifair.scenario.building.layout import MODELS
from wifair.scenario.building.traffic import KINDS

Table = dict[str, Any]

SMALL: Table = {"model": "tgax-residential", "floors": 2, "rooms": [3, 2], "stations": 5}


def scenario(building: Table, **keys: Any) -> Scenario:
    return Scenario(run={"warmup_s": 0.5, "duration_s": 1}, building=building, **keys)


def drawn(building: Table, **keys: Any) -> Table:
    return expanded({"building": building, **keys})


@pytest.mark.parametrize(
    ("model", "bsss", "stations", "walls"),
    [
        ("tgax-residential", 100, 1000, 10),
        ("flats-in-a-row", 3, 12, 2),
        ("cafe-below-flats", 7, 36, 2),
        ("enterprise", 32, 256, 4),
        ("hotel", 30, 120, 20),
    ],
)
def test_each_model_draws_what_it_says(model: str, bsss: int, stations: int, walls: int) -> None:
    tree = drawn({"model": model})
    assert (len(tree["bss"]), len(tree["stations"]), len(tree["field"]["walls"])) == (bsss, stations, walls)
    assert {bss["channel"] for bss in tree["bss"]} <= {42, 106, 155}
    assert tree["bss"][0]["name"] == ("cafe" if model == "cafe-below-flats" else "mine")
    assert all("wire" in bss for bss in tree["bss"][1:])


def test_stations_are_in_the_room_of_their_access_point() -> None:
    tree = drawn(SMALL)
    for bss in tree["bss"]:
        room = [math.floor(value / 10) for value in bss["ap"]["position_m"]]
        own = [station for station in tree["stations"] if station["bss"] == bss["name"]]
        assert len(own) == 5
        for station in own:
            assert [math.floor(value / 10) for value in station["position_m"]] == room
            assert station.get("floor", 0) == bss["ap"].get("floor", 0)


def test_each_room_of_a_hotel_has_its_guests_and_an_access_point_is_in_the_middle_of_its_rooms() -> None:
    tree = drawn({"model": "hotel", "floors": 1, "rooms": [7, 3], "rooms_per_ap": 3, "guests": 2, "corridor_m": 1.5})

    def room(node: Table) -> tuple[int, int]:
        x, y = node["position_m"]
        return math.floor(x / 4), [y < 7, y < 8.5, y < 15.5, y < 22.5].index(True)

    aps = sorted(room(bss["ap"]) for bss in tree["bss"])
    assert aps == sorted((x, row) for x in (1, 4, 6) for row in (0, 2, 3))  # row 1 is the corridor
    taken = [room(station) for station in tree["stations"]]
    assert all(taken.count((x, row)) == 2 for x in range(7) for row in (0, 2, 3))
    phones = [room(station) for station in tree["stations"] if "phone" in station["name"]]
    assert sorted(phones) == sorted(set(taken)), "each room has a phone and a tablet"
    by_name = {bss["name"]: room(bss["ap"]) for bss in tree["bss"]}
    assert all(by_name[station["bss"]][1] == room(station)[1] for station in tree["stations"])
    assert all(abs(by_name[station["bss"]][0] - room(station)[0]) <= 1 for station in tree["stations"])
    ends = [(wall["from_m"][1], wall["to_m"][1]) for wall in tree["field"]["walls"]]
    assert sorted(ends) == sorted([(0, 7), (8.5, 15.5), (15.5, 22.5)] * 6 + [(7, 7), (8.5, 8.5), (15.5, 15.5)])


def test_a_link_through_walls_has_an_mcs_that_its_ends_decode() -> None:
    """The engine refuses another, and a station out of reach; walls of 5 dB go through the café."""
    for seed in range(1, 31):
        assert scenario({"model": "cafe-below-flats", "seed": seed}).plan()
    walls = [{"from_m": [0.0, 5.0], "to_m": [30.0, 5.0], "loss_db": 20.0}]
    slow, fast = (drawn({"model": "flats-in-a-row"}, field={"walls": each}) for each in (walls, []))
    assert scenario({"model": "flats-in-a-row"}, field={"walls": walls}).plan()
    mcs = [[station["mcs"] for station in tree["stations"]] for tree in (slow, fast)]
    assert sum(mcs[0]) < sum(mcs[1])


def test_a_drawing_is_that_of_its_seed_and_a_room_does_not_depend_on_others() -> None:
    assert drawn(SMALL) == drawn(SMALL)
    assert drawn({**SMALL, "seed": 2})["bss"] != drawn(SMALL)["bss"]
    places = {bss["name"]: bss["ap"] for bss in drawn(SMALL)["bss"]}
    more = {bss["name"]: bss["ap"] for bss in drawn({**SMALL, "stations": 9, "floors": 3, "own": 8})["bss"]}
    assert all(more[name] == ap for name, ap in places.items() if name not in ("mine", "flat-8"))


def test_the_drawing_is_a_scenario_without_the_table() -> None:
    building = scenario(SMALL)
    plain = building.drawn_settings()
    assert "building" not in plain
    assert Scenario(**plain).plan_json == building.plan_json
    assert building.settings()["building"] == SMALL


def test_keys_of_the_building_and_of_what_it_draws_can_be_overridden() -> None:
    building = scenario({**SMALL, "assign": "in-turn"})
    own = building.plan()["bss_channel"]
    other = next(channel for channel in (42, 106, 155) if channel != own)
    moved = building.override({"bss[0].channel": other, "bss[0].ap.scheme": "codel", "building.load": 2.0})
    assert moved.plan()["bss_channel"] == other
    assert moved.plan()["bss"]["ap"]["tx_queue"]["scheme"]["name"] == "codel"
    assert {n["ap"]["tx_queue"]["scheme"]["name"] for n in moved.plan()["neighbours"]} == {"droptail"}
    [film] = [flow for flow in moved.plan()["flows"] if flow["label"] == "television-film"]
    assert film["application"]["think_mean_s"] == 3
    assert [n["channel"] for n in moved.plan()["neighbours"]] == [n["channel"] for n in building.plan()["neighbours"]]
    again = building.override({"building.stations": 3}).override({"ap.scheme": "mac80211"})
    assert len(again.plan()["bss"]["stations"]) == 3


def test_settings_of_the_scenario_hold_over_those_of_the_building() -> None:
    own = scenario(
        SMALL,
        phy={"name": "802.11be", "width_mhz": 80},
        flows=[{"name": "mine", "station": "laptop", "direction": "up"}],
    )
    plan = own.plan()
    assert plan["bss"]["phy"]["name"] == "802.11be"
    assert plan["flows"][-1]["label"] == "mine"
    walls = [{"from_m": [0, 0], "to_m": [5, 5], "loss_db": 3.0}]
    with_walls = scenario(SMALL, field={"walls": walls}).plan()["bss"]["field"]
    assert with_walls["walls"][-1]["loss_db"] == 3
    assert with_walls["breakpoint_m"] == 5


@pytest.mark.parametrize(
    ("building", "keys", "key", "told"),
    [
        ({"model": "tgax"}, {}, "building.model", "tgax-residential"),
        ({}, {}, "building.model", "enterprise"),
        ({**SMALL, "flor": 2}, {}, "building.flor", "floors"),
        ({**SMALL, "floors": 0}, {}, "building.floors", "1 to 200"),
        ({**SMALL, "rooms": [3]}, {}, "building.rooms", "[10, 2]"),
        ({**SMALL, "guests": 2}, {}, "building.guests", ""),
        ({**SMALL, "rooms_per_ap": 2}, {}, "building.rooms_per_ap", ""),
        ({"model": "hotel", "rooms_per_ap": 0}, {}, "building.rooms_per_ap", "1 to 100"),
        ({"model": "hotel", "guests": 20}, {}, "building.guests", "1000 stations in all"),
        ({**SMALL, "stations": 100}, {}, "building.stations", "1000 stations in all"),
        ({**SMALL, "own": 13}, {}, "building.own", "1 to 12"),
        ({**SMALL, "traffic": "evenings"}, {}, "building.traffic", "evening"),
        ({**SMALL, "channels": []}, {}, "building.channels", "one"),
        ({**SMALL, "channels": [42, 42]}, {}, "building.channels", "different"),
        ({**SMALL, "load": float("nan")}, {}, "building.load", "0.01 to 100"),
        ({**SMALL, "channels": [42, 43]}, {}, "channel", "42, 58, 106"),
        (SMALL, {"phy": {"name": "802.11ax", "width_mhz": 40}}, "building.channels", "one"),
        (SMALL, {"phy": {"name": "802.11g"}}, "phy.name", "802.11ax"),
        (SMALL, {"bss": [{"name": "a"}]}, "bss", "one of both"),
        (7, {}, "building", "a table"),
    ],
)
def test_what_cannot_be_is_refused_by_its_key(building: Any, keys: Table, key: str, told: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        Scenario(building=building, **keys)
    assert refused.value.key.endswith(key)
    assert told in str(refused.value)


def test_links_have_the_margin_that_the_engine_grants() -> None:
    """The engine takes an MCS at its threshold, and refuses the next."""

    def station(mcs: int, snr_db: float) -> Table:
        gain_db = snr_db - 93.6 + 10 * math.log10(80 / 22) - 20
        return {
            "phy": {"name": "802.11be", "width_mhz": 80},
            "channel": {"tx_power_dbm": 20.0, "noise_dbm": -93.6},
            "field": {"gains": [{"between": ["ap", "a"], "gain_db": gain_db}], "preamble_detection_dbm": -100.0},
            "stations": [{"name": "a", "mcs": mcs}],
            "flows": [{"station": "a", "direction": "up"}],
        }

    for mcs, (own, following) in enumerate(pairwise(THRESHOLDS_DB)):
        Scenario(**station(mcs, own + 0.05))
        with pytest.raises(ScenarioError, match="cannot decode"):
            Scenario(**station(mcs + 1, following - 0.05))


def test_the_load_is_that_of_the_applications() -> None:
    for traffic, kinds in KINDS.items():
        for kind, uses in kinds:
            for use in uses:
                own = use.at_load(1.0)
                if own["name"] == "web":
                    sizes = range(own["min_bytes"], own["max_bytes"] + 1, own["step_bytes"])
                    mean_bits = 8 * sum(sizes) / len(sizes)
                    assert use.mbps == pytest.approx(mean_bits / own["think_mean_s"] / 1e6), (traffic, kind)
    once, twice = (loads_mbps({**SMALL, "load": load})["evening"] for load in (1.0, 2.0))
    assert twice["down"] == pytest.approx(2 * once["down"] - 0.08)  # a call is a call
    assert once["up"] == pytest.approx(4.58)


def test_a_building_of_one_room_has_no_channel() -> None:
    assert scenario({**SMALL, "floors": 1, "rooms": [1, 1]}).plan().get("neighbours", []) == []


def test_walls_and_floors_weaken_neighbours() -> None:
    """Powers by the formula of IEEE 802.11-14/0980 between access points: one wall, one floor, a diagonal."""
    import json

    from wifair import _native

    building = scenario({"model": "enterprise", "rooms": [2, 1], "floors": 1, "channels": "one", "stations": 1})
    received = json.loads(_native.received_powers(building.plan_json, {}))
    names = received["nodes"]
    plan = building.plan()
    aps = {"ap": plan["bss"]["ap"]} | {n["label"]: n["ap"] for n in plan["neighbours"]}
    powers = {(names[i], names[j]): dbm for i, row in enumerate(received["received_dbm"]) for j, dbm in row}
    for a, first in aps.items():
        for b, second in aps.items():
            if a != b:
                distance = math.dist(first["position_m"], second["position_m"])
                walls = abs(first["position_m"][0] // 20 - second["position_m"][0] // 20)
                loss = 46.85 + 20 * math.log10(min(distance, 10)) + 35 * math.log10(max(distance / 10, 1)) + 7 * walls
                assert powers[a, b] == pytest.approx(20 - loss, abs=1e-3)


def test_every_model_runs() -> None:
    for model in MODELS:
        stations = {"guests": 20, "rooms_per_ap": 1} if model == "hotel" else {"stations": 4}
        small = {"model": model, "rooms": [2, 1], "floors": 1, **stations}
        results = scenario(small).run(seeds=1)
        assert results.bsss["attempts"].sum() > 100, model  # in 1.5 s not every BSS has begun


def test_the_table_is_among_the_keys_that_an_unknown_one_is_told() -> None:
    with pytest.raises(ScenarioError, match=r"buildin: unknown key .* did you mean building") as unknown:
        Scenario(buildin={"model": "enterprise"})
    known = str(unknown.value.allowed).split(", ")
    assert {"building", "bss", "flows", "run", "title"} <= set(known)
    for key in known:  # each exists: no table has the key "no", and no text is a number
        with pytest.raises(ScenarioError) as error:
            Scenario(**{"flows": [{"direction": "up"}], **{key: 1 if key in ("title", "dialect") else {"no": 1}}})
        assert not str(error.value).startswith(f"{key}: unknown key")
    with pytest.raises(ScenarioError, match=r"a scenario needs flows; .* or a table \[building\], which draws them"):
        Scenario(title="nothing")
