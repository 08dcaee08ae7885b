"""A field: one BSS whose nodes do not all hear each other (docs/medium.md, section 16), through the user's keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm
from wifair import Scenario
from wifair.analysis import explain, explain_groups
from wifair.errors import ScenarioError
from wifair.study.traces import Traces

Table = dict[str, Any]


SLOW: list[Table] = [{"name": name, "rate_mbps": 11.0} for name in ("left", "right")]
G: Table = {"phy": {"name": "802.11g"}}
WEAK: Table = {"field": {"gains": [{"between": ["left", "ap"], "gain_db": -94.0}]}}
MODERN: Table = {"field": {}, "phy": {"name": "802.11ax"}, "stations": [{"name": name} for name in ("left", "right")]}


def scenario(**keys: Any) -> Scenario:
    """Two stations at 24 Mbps with uploads, downloads and a call each."""
    tables: Table = {
        "run": {"warmup_s": 1, "duration_s": 3},
        "phy": {"name": "802.11a"},
        "stations": [{"name": name, "rate_mbps": 24.0} for name in ("left", "right")],
        "flows": [
            {"name": f"{station}-{direction}", "station": station, "direction": direction}
            for station in ("left", "right")
            for direction in ("up", "down")
        ]
        + [{"name": "call", "station": "left", "direction": "up", "application": "voip"}],
    }
    return Scenario(**{**tables, **keys})


def uploads(**keys: Any) -> Scenario:
    """One saturated upload over UDP per station, in packets of 1,500 bytes."""
    flows = [
        {"station": name, "direction": "up", "application": {"name": "udp", "rate_mbps": 20.0}}
        for name in ("left", "right")
    ]
    return scenario(flows=flows, **keys)


@pytest.mark.parametrize("rts", [{}, {"rts_threshold_bytes": 500}], ids=["basic", "rts"])
@pytest.mark.parametrize("scheme", ["droptail", "adaptive-pushout", "las", "dqm", "pie", "fq-codel", "mac80211"])
def test_a_field_of_equals_is_the_shared_medium(scheme: str, rts: Table) -> None:
    keys: Table = {"mac": rts, "ap": {"scheme": scheme}}
    shared, field = scenario(**keys), scenario(**keys, field={"eifs_after": "energy"})
    assert field.fingerprint() == shared.fingerprint()


@pytest.mark.parametrize("countdown", ["edca", "dcf"])
@pytest.mark.parametrize("scheme", ["droptail", "las", "dqm", "codel"])
def test_a_field_of_equals_has_the_shared_mediums_categories(scheme: str, countdown: str) -> None:
    edca: Table = {"classify": "rfc-8325", "countdown": countdown, "parameter_set": "openwrt"}
    keys: Table = {"mac": {"edca": edca, "rts_threshold_bytes": 1000}, "ap": {"scheme": scheme}}
    shared, field = scenario(**keys), scenario(**keys, field={"eifs_after": "energy"})
    assert field.fingerprint() == shared.fingerprint()


@pytest.mark.parametrize("phy", ["802.11n", "802.11ax"])
@pytest.mark.parametrize("scheme", ["droptail", "mac80211", "dqm"])
def test_a_field_of_equals_has_the_shared_mediums_ppdus(scheme: str, phy: str) -> None:
    stations = [{"name": name, "mcs": 4} for name in ("left", "right")]
    keys: Table = {"phy": {"name": phy, "width_mhz": 20}, "stations": stations, "ap": {"scheme": scheme}}
    shared, field = scenario(**keys), scenario(**keys, field={"eifs_after": "energy"})
    assert field.fingerprint() == shared.fingerprint()


def test_hidden_stations_are_another_run() -> None:
    assert uploads(field={"hidden": [["left", "right"]]}).fingerprint() != uploads().fingerprint()


def test_rts_mends_what_hidden_stations_break() -> None:
    """A frame of 1,500 bytes at 6 Mbps lasts longer than 200 slots: hidden backoffs are hardly ever that far apart."""
    slow = [{"name": name, "rate_mbps": 6.0} for name in ("left", "right")]

    def goodput_mbps(**keys: Any) -> float:
        given = uploads(stations=slow, run={"warmup_s": 1, "duration_s": 20}, **keys)
        return float(given.run(seeds=1).flows["goodput_mbps"].sum())

    hidden, rts = {"hidden": [["left", "right"]]}, {"rts_threshold_bytes": 500}
    together = goodput_mbps(mac=rts)
    assert 0 < goodput_mbps(field=hidden) < 0.25 * together
    assert 0.9 * together < goodput_mbps(field=hidden, mac=rts) < together


@pytest.mark.parametrize(
    ("field", "senses"),
    [
        ({}, None),
        ({"hidden": [["left", "right"]]}, (False, False)),
        # 20 dBm in all: 0.1 dB above the detection of a preamble, and 0.1 dB below it.
        ({"gains": [{"between": ["left", "right"], "gain_db": -101.9}]}, None),
        ({"gains": [{"between": ["left", "right"], "gain_db": -102.1}]}, (False, False)),
        # Too weak a preamble, but not too little energy.
        ({"gains": [{"between": ["left", "right"], "gain_db": -90}], "preamble_detection_dbm": -60}, (False, False)),
        (
            {
                "gains": [{"between": ["left", "right"], "gain_db": -90}],
                "preamble_detection_dbm": -60,
                "energy_detection_dbm": -75,
            },
            None,
        ),
    ],
)
def test_stations_are_hidden_that_do_not_sense_each_other(field: Table, senses: tuple[bool, bool] | None) -> None:
    stations = [{"name": name, "rate_mbps": 24.0, "tx_power_dbm": 20.0} for name in ("left", "right")]
    expected = {} if senses is None else {("left", "right"): senses}
    assert scenario(field=field, stations=stations).hidden_pairs() == expected


def test_a_station_of_less_power_is_hidden_one_way() -> None:
    stations = [
        {"name": "loud", "rate_mbps": 24.0, "tx_power_dbm": 20.0},
        {"name": "soft", "rate_mbps": 24.0, "tx_power_dbm": 10.0},
    ]
    gains = [{"between": ["loud", "soft"], "gain_db": -95.0}]
    flows = [{"name": name, "station": name, "direction": "up"} for name in ("loud", "soft")]
    run = {"warmup_s": 0.1, "duration_s": 0.5}
    given = scenario(run=run, field={"gains": gains}, stations=stations, flows=flows)
    assert given.hidden_pairs() == {("loud", "soft"): (False, True)}
    results = explain.results_of(given, 1, None, None, None)
    told = [sentence.text for sentence in explain_groups.lead(results, explain_groups.groups(results))]
    assert "loud does not sense the frames of soft." in told
    assert not scenario().hidden_pairs()


def test_shadowing_hides_a_pair_as_often_as_a_normal_offset_does() -> None:
    """Two stations at 80 m from each other sense each other until their loss grows by what they have to spare."""

    def apart(distance_m: float, deviation_db: float = 0.0) -> Scenario:
        stations = [
            {"name": name, "rate_mbps": 24.0, "tx_power_dbm": 20.0, "position_m": [x, 0.0]}
            for name, x in (("left", -distance_m / 2), ("right", distance_m / 2))
        ]
        field = {"shadowing_db": deviation_db}
        return uploads(
            stations=stations, run={"warmup_s": 0.1, "duration_s": 1}, field=field, channel={"path_loss_exponent": 3.0}
        )

    farthest_m = max(distance for distance in np.arange(80, 130, 0.5) if not apart(float(distance)).hidden_pairs())
    spare_db = 30 * np.log10(farthest_m / 80)
    plain, shadowed = (
        np.array(
            [rows["goodput_mbps"].sum() for rows in apart(80, deviation).run(seeds=200).flows.partition_by("seed")]
        )
        for deviation in (0.0, 8.0)
    )
    are_hidden = shadowed < 0.8 * plain.min()
    assert np.all(are_hidden | (shadowed > 0.95 * plain.min()))  # a pair senses each other or does not
    share = norm.cdf(-spare_db / 8.0)
    assert abs(are_hidden.mean() - share) < 3 * (share * (1 - share) / 200) ** 0.5


def test_explain_counts_many_hidden_pairs() -> None:
    stations = [{"name": name, "rate_mbps": 24.0} for name in ("a", "b", "c", "d", "e")]
    flows = [{"name": name, "station": name, "direction": "up"} for name in ("a", "b", "c", "d", "e")]
    hidden = [["a", "b"], ["a", "c"], ["a", "d"], ["d", "e"]]
    run = {"warmup_s": 0.1, "duration_s": 0.5}
    results = explain.results_of(
        scenario(run=run, field={"hidden": hidden}, stations=stations, flows=flows), 1, None, None, None
    )
    [told] = explain.of_hidden_stations(results)
    assert told.text == "4 of 10 pairs of stations do not sense each other's frames; 3 of these pairs contain a."


def test_a_groups_name_stands_for_its_stations() -> None:
    stations = [{"name": "left", "count": 2, "rate_mbps": 24.0}, {"name": "right", "rate_mbps": 24.0}]
    plan = scenario(stations=stations, field={"hidden": [["left", "right"], ["left", "left"]]}).plan()
    assert plan["bss"]["field"]["hidden"] == [["left-1", "right"], ["left-2", "right"], ["left-1", "left-2"]]


@pytest.mark.parametrize(
    ("keys", "key", "told"),
    [
        ({"field": {"hiden": []}}, "field.hiden", "hidden"),
        ({"field": {"hidden": [["left", "rigth"]]}}, "field.hidden[0]", "right"),
        ({"field": {"hidden": [["left", "ap"]]}}, "field.hidden[0]", "access point"),
        ({"field": {"hidden": [["left", "left"]]}}, "field.hidden[0]", "two different nodes"),
        ({"field": {"hidden": [["left"]]}}, "field.hidden[0]", "two names"),
        ({"field": {"hidden": [["left", "right"], ["right", "left"]]}}, "field.hidden[1]", "each pair once"),
        ({"field": {"gains": [{"between": ["left", "ap"], "gain_db": -120}]}}, "stations[0]", "ap"),
        ({"field": {"gains": [{"between": ["left", "ap"], "gain_db": float("nan")}]}}, "field.gains[0].gain_db", "dB"),
        ({"field": {"gain_db": 0.0}}, "field", "-10 dBm"),
        ({"field": {"eifs_after": "eror"}}, "field.eifs_after", "error"),
        ({"field": {}, "phy": {"name": "802.11b"}, "stations": SLOW}, "phy.name", "802.11a"),
        ({**MODERN, "mac": {"aggregation": {"delivery": "mpdu"}}}, "mac.aggregation.delivery", "ppdu"),
        ({**MODERN, "mac": {"aggregation": {"fill": "driver-queue"}}}, "mac.aggregation.fill", "gather"),
        ({"field": {}, "mac": {"capture_db": 10.0}}, "mac.capture_db", "SINR"),
        ({**G, "field": {}, "mac": {"beacons": {"rate_mbps": 1.0}}}, "mac.beacons.rate_mbps", "6, 9, 12"),
        ({**WEAK, "mac": {"beacons": {"rate_mbps": 54.0}}}, "mac.beacons.rate_mbps", "every station receives"),
        ({"field": {}, "mac": {"rate_adaptation": "ideal"}}, "mac.rate_adaptation", "minstrel-ht"),
        ({"field": {}, "mac": {"ack_timeout_us": 10.0}}, "mac.ack_timeout_us", "SIFS"),
        ({"field": {}, "channel": {"fading": {"sigma_db": 4.0, "coherence_time_s": 1.0}}}, "channel.fading", "powers"),
        ({"ap": {"tx_power_dbm": 20.0}}, "ap.tx_power_dbm", "field"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_field_does_not_have_is_refused(keys: Table, key: str, told: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        scenario(**keys)
    assert refused.value.key == key
    assert told in str(refused.value)


def test_emulation_refuses_a_capture_of_a_field_before_it_runs(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"traces.pcap: there is no capture of real packets in a field"):
        Traces(pcap=tmp_path).of(scenario(field={}).plan_json, seed=1)
    assert not list(tmp_path.iterdir())
