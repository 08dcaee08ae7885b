"""`wifair import` and `run --as-ap` with the queues of the access point: `tc`, and `aqm`, `aql` and `aql_txq_limit` of debugfs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Cli
from wifair import Scenario
from wifair.advising import commands
from wifair.errors import InputError
from wifair.observed import calibration, imported, observe, qdisc, ubus_clients
from wifair.observed.as_ap import write
from wifair.observed.network import Observed
from wifair.observed.tables import Document

DATA = ROOT / "tests" / "data" / "observed"
STATION = """Station 02:00:00:00:01:00 (on wlan0)
\trx bytes:\t2746783
\trx packets:\t27640
\ttx bytes:\t91239823
\ttx packets:\t60155
\ttx bitrate:\t65.0 MBit/s MCS 7
\trx bitrate:\t65.0 MBit/s MCS 7
\tconnected time:\t120 seconds
"""
# What tc of iproute2 6.1 showed on Linux 6.1, after `tc qdisc replace dev wlan0 root` with the first column.
SHOWN = {
    "pfifo limit 1000": (
        '{"kind":"pfifo","handle":"8001:","root":true,"refcnt":5,"options":{"limit":1000},"bytes":2084000,"packets":2000,"drops":0,"overlimits":0,"requeues":0,"backlog":0,"qlen":0}',
        {"name": "droptail"},
        1000,
    ),
    "codel": (
        '{"kind":"codel","handle":"8003:","root":true,"refcnt":257,"options":{"limit":1000,"target":4999,"interval":99999}}',
        {"name": "codel", "target_ms": 5, "interval_ms": 100, "signal": "drop"},
        1000,
    ),
    "codel limit 1000 target 5ms interval 100ms ecn": (
        '{"kind":"codel","handle":"8002:","root":true,"refcnt":5,"options":{"limit":1000,"target":4999,"interval":99999,"ecn":true},"bytes":2084000,"packets":2000,"drops":0,"overlimits":0,"requeues":0,"backlog":0,"qlen":0,"count":0,"lastcount":0,"ldelay":0,"drop_next":0,"maxpacket":0,"ecn_mark":0,"drop_overlimit":0}',
        {"name": "codel", "target_ms": 5, "interval_ms": 100, "signal": "mark"},
        1000,
    ),
    "fq_codel": (
        '{"kind":"fq_codel","handle":"8003:","root":true,"refcnt":5,"options":{"limit":10240,"flows":1024,"quantum":1514,"target":4999,"interval":99999,"memory_limit":33554432,"ecn":true,"drop_batch":64}}',
        {
            "name": "fq-codel",
            "queues": 1024,
            "quantum_bytes": 1514,
            "target_ms": 5,
            "interval_ms": 100,
            "limit_bytes": 33554432,
            "drop_batch_packets": 64,
            "signal": "mark",
        },
        10240,
    ),
    "pie": (
        '{"kind":"pie","handle":"8005:","root":true,"refcnt":257,"options":{"limit":1000,"target":15000,"tupdate":20000,"alpha":2,"beta":20}}',
        {
            "name": "pie",
            "target_ms": 15,
            "update_ms": 20,
            "alpha_per_s": 0.125,
            "beta_per_s": 1.25,
            "signal": "drop",
        },
        1000,
    ),
}
# µs as given to tc, and as it showed them for CoDel and for PIE.
TIMES = {
    1000: (999, 1000),
    1023: (1022, 1022),
    4999: (4998, 4998),
    5000: (4999, 5000),
    15000: (14999, 15000),
    20000: (19999, 20000),
    100000: (99999, 100000),
    123456: (123455, 123456),
}
COUNTERS = ["bytes", "packets", "drops", "overlimits"]


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs tell collisions from errors, which is not tested here."""
    for name, number in {"WARMUP_S": 0.2, "DURATION_S": 0.5, "SEEDS": 2}.items():
        monkeypatch.setattr(calibration, name, number)


def made(tmp_path: Path, *contents: str) -> Document:
    """The document of a station and of files with these contents."""
    (tmp_path / "station.txt").write_text(STATION)
    for number, content in enumerate(contents):
        (tmp_path / f"{number}").write_text(content)
    return imported([tmp_path / "station.txt", *(tmp_path / f"{number}" for number in range(len(contents)))])


def of_ap(document: Document) -> dict[str, Any]:
    """The keys of `[ap]` with their origin."""
    [table] = [table for table in document.tables if table.header == "[ap]"]
    return table.keys


def scheme_of(document: Document) -> dict[str, Any]:
    found: dict[str, Any] = document.scenario().plan()["bss"]["ap"]["tx_queue"]
    return found


@pytest.mark.parametrize("given", SHOWN)
def test_a_qdisc_of_the_kernel_is_its_scheme(given: str, tmp_path: Path) -> None:
    content, scheme, limit = SHOWN[given]
    document = made(tmp_path, f"[{content}]")
    found = scheme_of(document)
    assert found["limit_packets"] == limit
    assert found["scheme"] == found["scheme"] | scheme
    keys = of_ap(document)
    assert [keys[key].origin for key in ("scheme", "limit_packets")] == ["read", "read"]
    assert "counts as the queue of the access point" in document.remarks[1]
    assert "one queue for all categories" in document.remarks[0]


def test_the_qdiscs_below_mq_are_the_scheme_of_each_category() -> None:
    document = imported([DATA / "station.txt", DATA / "qdisc-mq.json"])
    assert scheme_of(document)["scheme"]["name"] == "fq-codel"
    assert scheme_of(document)["limit_packets"] == 10240
    assert not [remark for remark in document.remarks if "all categories" in remark]


@pytest.mark.parametrize("us", TIMES)
def test_a_time_is_the_one_that_the_kernel_was_given(us: int) -> None:
    for shown, (kind, name, key) in zip(
        TIMES[us], [("codel", "interval", "interval_ms"), ("pie", "target", "target_ms")], strict=True
    ):
        option = qdisc.KINDS[kind].options[name]
        assert option.key == key
        assert option.of_scheme(us / 1000) == shown
        assert option.of_tc(shown) == us / 1000


@pytest.mark.parametrize("clock_ns", [1024, 64])
def test_a_time_is_the_least_one_that_is_shown_so(clock_ns: int) -> None:
    option = qdisc.Option("", 1000, clock_ns)
    least: dict[int, int] = {}
    for us in range(1, 5000):
        least.setdefault(option.of_scheme(us / 1000), us)
    assert [option.of_tc(each) for each in least if each] == [us / 1000 for each, us in least.items() if each]


def test_a_device_without_a_qdisc_has_the_queues_of_its_driver(tmp_path: Path) -> None:
    document = imported([DATA / "hwsim-station.txt", DATA / "hwsim-qdisc.json"])
    assert of_ap(document)["scheme"].comment().startswith("assumed: noqueue")
    assert scheme_of(document)["scheme"]["name"] == "mac80211"
    for order in (("hwsim-qdisc.json", "hwsim-aqm.txt"), ("hwsim-aqm.txt", "hwsim-qdisc.json")):
        both = imported([DATA / name for name in ("hwsim-station.txt", *order)])
        assert of_ap(both)["scheme"].origin == "read"
        assert both.remarks == document.remarks


@pytest.mark.parametrize("order", [("qdisc-mq.json", "hwsim-aqm.txt"), ("hwsim-aqm.txt", "qdisc-mq.json")])
def test_a_qdisc_above_the_queues_of_mac80211_is_left_out(order: tuple[str, str]) -> None:
    document = imported([DATA / name for name in ("station.txt", *order)])
    assert (scheme_of(document)["scheme"]["name"], scheme_of(document)["limit_packets"]) == ("mac80211", 8192)
    assert "qdisc-mq.json: the qdisc is left out, since it stays empty above the queues of mac80211" in document.remarks


PFIFO_FAST = (
    '{"kind":"pfifo_fast","handle":"0:","parent":":1","options":{"bands":3,"priomap":[1,2],"multiqueue":false}}'
)


@pytest.mark.parametrize(
    ("content", "remark", "scheme"),
    [
        ('[{"kind":"cake","root":true,"options":{"bandwidth":6250000}}]', "the qdisc cake is left out", "mac80211"),
        ('[{"kind":"bfifo","root":true,"options":{"limit":30000}}]', "the qdisc bfifo is left out", "mac80211"),
        (
            '[{"kind":"mq","root":true},{"kind":"pfifo","parent":":1","options":{"limit":1}},{"kind":"pfifo","parent":":2","options":{"limit":2}}]',
            "the qdisc mq is left out, since its queues are different ones",
            "mac80211",
        ),
        (
            '[{"kind":"mq","root":true,"options":{}}]',
            "the qdisc mq is left out, since no scheme is like it",
            "mac80211",
        ),
        (f'[{{"kind":"mq","root":true}},{PFIFO_FAST}]', "the three bands of pfifo_fast are one queue", "droptail"),
        (
            '[{"kind":"codel","root":true,"options":{"limit":9,"target":4999,"ce_threshold":1999}}]',
            "no scheme has these options of codel: ce_threshold 1999",
            "codel",
        ),
        (
            '[{"kind":"clsact","parent":"ffff:fff1"},{"kind":"pfifo","root":true,"options":{"limit":9}}]',
            "pfifo is one queue for all categories",
            "droptail",
        ),
    ],
)
def test_what_no_scheme_has_is_said(content: str, remark: str, scheme: str, tmp_path: Path) -> None:
    document = made(tmp_path, content)
    assert [each for each in document.remarks if remark in each]
    assert scheme_of(document)["scheme"]["name"] == scheme


def test_the_length_of_pfifo_fast_is_assumed(tmp_path: Path) -> None:
    keys = of_ap(made(tmp_path, f'[{{"kind":"mq","root":true}},{PFIFO_FAST}]'))
    assert (keys["limit_packets"].value, keys["limit_packets"].origin) == (1000, "assumed")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[{"kind":"pfifo","root":true,"options":{"limit":-1}}]', r"0:1: options.limit: '-1' is not allowed; allowed here: a whole number from 0 to 4294967295\."),
        ('[{"kind":"pfifo","root":true,"options":{"limit":true}}]', "0:1: options.limit: 'True' is not allowed"),
        ('[{"kind":"pfifo","root":true,"options":{}}]', "0:1: options: '{}' is not allowed; allowed here: options with limit"),
        ('[{"kind":"codel","root":true,"options":{"limit":9,"ecn":1}}]', "0:1: options.ecn: '1' is not allowed; allowed here: true or false"),
        ('[{"kind":"codel","root":true,"options":[]}]', r"0:1: options: '\[\]' is not allowed; allowed here: a table"),
        ('[{"kind":5,"root":true}]', "0:1: kind: '5' is not allowed; allowed here: the name of a qdisc, such as fq_codel"),
        ('[{"kind":"pfifo"}]', "0: root: has 0 qdiscs of 1 devices; allowed here: one root, the output of tc"),
        (
            '[{"kind":"noqueue","dev":"lo","root":true},{"kind":"pfifo","dev":"wlan0","root":true}]',
            "0: root: has 2 qdiscs of 2 devices; allowed here: one root, the output of tc -s -j qdisc show dev DEVICE",
        ),
        ('[{"kind":"pfifo"},5]', "0: is no list of qdiscs; allowed here"),
        ('[{"kind":', "0: is no JSON"),
        ('[{"kind":' + "[" * 100_000, "0: is no JSON"),
        ('[{"kind":"pfifo","root":true,"options":{"limit":' + "9" * 5000 + "}}]", "0: is no JSON"),
        ("AC\tAQL limit low\tAQL limit high\nVO\t5000\t\t12000\n", "0: has no limit of VI, BE, BK; allowed here: a low and a high one of VO, VI, BE, BK"),
        ("AC\tAQL limit low\tAQL limit high\nVO\t50\t\t12000\n", "0:2: VO low: '50' is not allowed; allowed here: 100 to 1000000 us"),
        ("AC\tAQL limit low\tAQL limit high\nVO\t5000\t\t4000\n", "0:2: VO high: '4000' is not allowed; allowed here: 5000 to 1000000 us"),
        ("Q depth: VO: 0 us\nQ limit[low/high]: VO: x/12000\n", "0:2: VO low: 'x' is not allowed; allowed here: a whole number"),
        ("access name value\nRW fq_limit 8192\nRW fq_quantum 0\n", "0:3: fq_quantum: '0' is not allowed; allowed here: 1 to 4294967295"),
    ],
)  # fmt: skip
def test_an_error_names_the_field(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        made(tmp_path, content)


@pytest.mark.parametrize("depth", [10, 300, 900, 990, 3000])
def test_a_deep_list_is_refused(depth: int) -> None:
    for at in ('[{"kind":%s,"root":true}]', '[{"kind":"pfifo","root":true,"options":{"limit":%s}}]'):
        with pytest.raises(InputError, match=r"x: is no JSON|x:1: kind: |x:1: options\.limit: "):
            qdisc.read_into(Observed(), "x", at % ("[" * depth + "]" * depth))


def test_a_list_of_qdiscs_and_a_list_of_clients_are_told_apart() -> None:
    ubus = (DATA / "ubus.txt").read_text()
    shown = (DATA / "qdisc-mq.json").read_text()
    assert not qdisc.recognises(ubus)
    assert not ubus_clients.recognises(shown)
    assert qdisc.recognises(shown)
    assert qdisc.recognises('[ {\n        "kind": "pie"')  # with -p


# Airtime queue limits, and the parameters of mac80211's queues.


def hardware(document: Document) -> dict[str, Any]:
    found: dict[str, Any] = document.scenario().plan()["bss"]["ap"]["hardware"]
    return found


def test_the_limits_of_a_station_show_that_the_driver_has_them() -> None:
    names = ("hwsim-aql.txt", "hwsim-aql-txq-limit.txt")
    origins = {names[:1]: "read", names[1:]: "assumed", names: "read", names[::-1]: "read"}
    for files, origin in origins.items():
        document = imported([DATA / name for name in ("hwsim-station.txt", *files)])
        assert of_ap(document)["hardware"].origin == origin
        assert hardware(document)["name"] == "firmware"
        assert (hardware(document)["aql_low_us"], hardware(document)["aql_high_us"]) == (5000, 12000)
        assert not [remark for remark in document.remarks if "airtime queue" in remark]


def test_of_limits_by_category_those_of_best_effort_count(tmp_path: Path) -> None:
    content = (DATA / "hwsim-aql-txq-limit.txt").read_text().replace("BE\t5000\t\t12000", "BE\t2500\t\t6000")
    document = made(tmp_path, content, (DATA / "hwsim-aql-txq-limit.txt").read_text())
    assert document.remarks[:2] == (
        "0:4: airtime queue limits differ by category, and here all have those of best effort",
        "1:4: airtime queue limits differ from those of another file",
    )
    assert hardware(made(tmp_path, content))["aql_high_us"] == 6000


@pytest.mark.parametrize(
    "content",
    [
        "access name value\nR fq_flows_cnt 4096\nRW fq_memory_limit 4194304\nRW fq_limit 1024\nRW fq_quantum 1514\n",
        "Packet limit:\t\t1024 pkts\nMemory limit:\t\t4194304 bytes\nQuantum:\t\t1514 bytes\nNumber of queues:\t4096\n",
    ],
)
def test_the_parameters_of_the_queues_of_mac80211_are_read(content: str, tmp_path: Path) -> None:
    document = made(tmp_path, content)
    found = scheme_of(document)
    assert (found["limit_packets"], found["scheme"]["limit_bytes"], found["scheme"]["quantum_bytes"]) == (
        1024,
        4194304,
        1514,
    )
    assert of_ap(document)["scheme"].value == {"name": "mac80211", "limit_bytes": 4194304, "quantum_bytes": 1514}


# What `run --as-ap` writes.

CELL = {
    "run": {"warmup_s": 1, "duration_s": 2},
    "phy": {"name": "802.11ax"},
    "stations": [{"name": "a", "mcs": 7}, {"name": "b", "mcs": 3}],
    "flows": [{"station": "a", "direction": "down", "count": 2}, {"station": "b", "direction": "down"}],
}
AQL_TIGHT = {"name": "firmware", "aql_low_us": 2500, "aql_high_us": 6000}


def shown(folder: Path, ap: dict[str, Any], **tables: Any) -> tuple[Scenario, Path]:
    """A run, and the folder of what its access point shows."""
    scenario = Scenario.from_settings({"title": "cell", "ap": ap, **CELL, **tables})
    write(scenario.run(seeds=1), folder)
    return scenario, folder / "seed-1"


QUEUES: list[dict[str, Any]] = [
    {"scheme": "mac80211", "hardware": AQL_TIGHT},
    {"scheme": {"name": "mac80211", "quantum_bytes": 1514, "limit_bytes": 4194304}, "limit_packets": 1024},
    {"scheme": "droptail", "limit_packets": 1000, "hardware": AQL_TIGHT},
    {"scheme": {"name": "codel", "target_ms": 10, "signal": "drop"}, "limit_packets": 1000},
    {"scheme": "fq-codel"},
    {"scheme": {"name": "pie", "alpha_per_s": 0.25}, "limit_packets": 1000},
]


@pytest.mark.parametrize("classify", ["best-effort", "dscp"])
@pytest.mark.parametrize("ap", QUEUES, ids=lambda ap: str(ap["scheme"]))
def test_queues_of_a_run_are_read_again(ap: dict[str, Any], classify: str, tmp_path: Path) -> None:
    before, folder = shown(tmp_path, ap, mac={"edca": {"classify": classify}})
    after = imported([folder])
    one, two = (scenario.plan()["bss"]["ap"] for scenario in (before, after.scenario()))
    assert one["tx_queue"] == two["tx_queue"]
    keys = of_ap(after)
    assert [keys[key].origin for key in ("scheme", "limit_packets")] == ["read", "read"]
    if "hardware" in ap:
        assert one["hardware"] == two["hardware"]
        assert keys["hardware"].origin == "read"
        assert {found.origin for found in keys.values()} == {"read"}
    names = {path.name for path in folder.iterdir()}
    is_mac80211 = one["tx_queue"]["scheme"]["name"] == "mac80211"
    assert ("aqm.txt" in names) == is_mac80211
    assert ({"aql.txt", "aql_txq_limit.txt"} <= names) == ("hardware" in ap)
    root, *below = json.loads((folder / "qdisc.json").read_text())
    assert [each["parent"] for each in below] == (
        ["1:4", "1:3", "1:2", "1:1"] if classify == "dscp" and not is_mac80211 else []
    )
    assert (root["kind"] == "noqueue") == is_mac80211


def test_a_qdisc_has_the_counters_of_the_run(tmp_path: Path) -> None:
    """Those of a category below mq are its own."""
    flows = [
        {"station": "a", "direction": "down", "count": 3},
        {"station": "b", "direction": "down", "tcp": {"dscp": 40}},
    ]
    tcp = {"profile": "today", "ecn": True}
    slow = [{"name": "a", "mcs": 0}, {"name": "b", "mcs": 0}]
    ap = {"scheme": "fq-codel", "limit_packets": 40}
    scenario, folder = shown(tmp_path, ap, mac={"edca": {"classify": "dscp"}}, flows=flows, tcp=tcp, stations=slow)
    results = scenario.run(seeds=1)
    rows = {row["node"]: row for row in results.queues.filter(**{"class": "all"}).to_dicts()}
    root, *below = json.loads((folder / "qdisc.json").read_text())
    at = {each["parent"]: each for each in below}
    for found, node in ((root, "ap"), (at["1:2"], "ap/video"), (at["1:3"], "ap/best-effort")):
        row = rows[node]
        assert row["dequeued_packets"] > 100
        assert found["packets"] == row["dequeued_packets"]
        assert found["bytes"] == row["dequeued_bytes"] + 14 * row["dequeued_packets"]
        assert found["drops"] == row["evicted_packets"] + row["aqm_drop_packets"] + row["tail_drop_packets"]
    assert root["drops"] > 0
    assert at["1:3"]["ecn_mark"] == rows["ap/best-effort"]["ce_marked_packets"] > 0
    assert [at["1:4"][key] for key in COUNTERS] == [0, 0, 0, 0]
    assert [root[key] for key in COUNTERS] == [sum(each[key] for each in below) for key in COUNTERS]


@pytest.mark.parametrize(
    "ap",
    [
        {"scheme": "ack-filtering"},
        {"scheme": "air-share"},
        {"scheme": "droptail", "limit_controller": "alt"},
        {"scheme": {"name": "fq-codel", "ack_filter": "conservative"}},
        {"scheme": {"name": "mac80211", "target_ms": 10}},
        {"scheme": {"name": "pie", "cap_steps": False}},
        {"scheme": "mac80211", "categories": {"voice": {"limit_packets": 10}}},
        {"scheme": "droptail", "categories": {"voice": {"scheme": "las"}}},
    ],
    ids=str,
)
def test_what_linux_does_not_have_shows_no_queue(ap: dict[str, Any], tmp_path: Path) -> None:
    _, folder = shown(tmp_path, ap, mac={"edca": {"classify": "dscp"}})
    assert sorted(path.name for path in folder.iterdir()) == ["info.txt", "station.txt", "survey.txt"]


def test_categories_with_different_queues_are_different_qdiscs(tmp_path: Path) -> None:
    ap = {"scheme": "droptail", "limit_packets": 1000, "categories": {"voice": {"limit_packets": 10}}}
    _, folder = shown(tmp_path, ap, mac={"edca": {"classify": "dscp"}})
    found = {
        each.get("parent"): each["options"].get("limit") for each in json.loads((folder / "qdisc.json").read_text())
    }
    assert found == {None: None, "1:4": 1000, "1:3": 1000, "1:2": 1000, "1:1": 10}
    assert "its queues are different ones" in observe([folder]).remarks[0]


@pytest.mark.parametrize(
    "ap", [ap for ap in QUEUES if "mac80211" not in str(ap["scheme"])], ids=lambda ap: str(ap["scheme"])
)
def test_a_qdisc_is_the_one_that_advice_sets(ap: dict[str, Any]) -> None:
    """Either says what the other one does not have: that which cannot be read again has no command, or is not written."""
    tx_queue = Scenario.from_settings({"title": "cell", "ap": ap, **CELL}).plan()["bss"]["ap"]["tx_queue"]
    found = qdisc.options(tx_queue)
    command = commands.qdisc(tx_queue)
    assert found
    assert command
    kind, *words = command.split()
    assert kind == found[0]
    given = dict(zip(words[::2], words[1::2], strict=False))
    assert int(given["limit"]) == found[1]["limit"]
    assert (words[-1] == "ecn") == ("ecn" in found[1])


def test_an_old_network_is_imported_without_airtime_queue_limits(here: Cli, tmp_path: Path) -> None:
    (tmp_path / "station.txt").write_text(STATION.replace("65.0 MBit/s MCS 7", "54.0 MBit/s"))
    files = [tmp_path / "station.txt", DATA / "hwsim-aql-txq-limit.txt"]
    done = here("import", *files)
    assert (done.returncode, done.stdout.count('hardware = "ideal"')) == (0, 1)
    assert "airtime queue limits are left out: a station is older than 802.11n" in " ".join(done.stderr.split())
    failed = here("import", *files, "--set", "ap.hardware=firmware")
    assert (failed.returncode, failed.stderr.count("\n")) == (2, 1)
    assert "no scenario has what was read: ap.hardware: " in failed.stderr
