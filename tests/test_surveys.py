"""`wifair field import`: scans of the neighbourhood, as iw, Kismet and survey tools write them, with made-up addresses."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path

import pytest
from conftest import Cli, new_file
from wifair import Scenario
from wifair.errors import InputError
from wifair.observed import Names
from wifair.observed.written import text
from wifair.surveys import Options, heard_in, neighbourhood
from wifair.surveys.heard import Channel, containing

DAMAGED = 150


def bss(number: int, mhz: str, dbm: str, *more: str, own: bool = False) -> str:
    """A BSS as iw prints it."""
    head = f"BSS 02:00:00:00:00:{number:02x}(on wlan0){' -- associated' if own else ''}"
    lines = [
        head,
        "\tlast seen: 9.100s [boottime]",
        "\tTSF: 86400 usec (0d, 00:00:00)",
        f"\tfreq: {mhz}",
        "\tbeacon interval: 100 TUs",
    ]
    lines += ["\tcapability: ESS Privacy (0x1411)", f"\tsignal: {dbm} dBm", "\tSSID: made-up: \\x00", *more]
    return "\n".join(lines) + "\n"


def ht(primary: int, offset: str) -> str:
    return f"\tHT operation:\n\t\t * primary channel: {primary}\n\t\t * secondary channel offset: {offset}\n\t\t * STA channel width: any"


def vht(width: str, first: int, second: int = 0) -> str:
    return (
        f"\tVHT operation:\n\t\t * channel width: {width}\n\t\t * center freq segment 1: {first}\n"
        f"\t\t * center freq segment 2: {second}\n\t\t * VHT basic MCS set: 0x0000"
    )


WIDE = "1 (80 MHz)"
SCAN = (
    bss(1, "5180", "-43.00", ht(36, "above"), vht(WIDE, 42), own=True)
    + bss(2, "5200.0", "-61.00", ht(40, "below"), vht(WIDE, 42))
    + bss(3, "5745", "-70.50", ht(149, "above"), vht(WIDE, 155))
    + bss(4, "5220", "-66.00", ht(44, "no secondary"))
    + bss(5, "5260", "-80.00", ht(52, "above"), vht(WIDE, 58, 50))
    + bss(6, "2437", "-50.00", ht(6, "no secondary"))
    + bss(7, "5180", "-104.00", ht(36, "above"), vht(WIDE, 42))
)
KISMET_HEAD = (
    "Network;NetType;ESSID;BSSID;Info;Channel;Cloaked;Encryption;Decrypted;MaxRate;MaxSeenRate;Beacon;LLC;Data;Crypt;Weak;Total;Carrier;"
    "Encoding;FirstTime;LastTime;BestQuality;BestSignal;BestNoise;"
)
KISMET = "\r\n".join(
    [
        KISMET_HEAD,
        "1;infrastructure;made-up;02:00:00:00:00:01;;36;No;WPA2,AES-CCM;No;360.0;0;17;0;3;0;0;3;;;Mon;Tue;0;-48;0;",
        "2;infrastructure;made-up;02:00:00:00:00:02;;44;No;WPA2,AES-CCM;No;360.0;0;17;0;3;0;0;3;;;Mon;Tue;0;-71;0;",
        "3;infrastructure;made-up;02:00:00:00:00:03;;149;No;None;No;54.0;0;17;0;3;0;0;3;;;Mon;Tue;0;0;0;",
        "4;probe;made-up;02:00:00:00:00:04;;0;No;None;No;54.0;0;17;0;3;0;0;3;;;Mon;Tue;0;-50;0;",
        "",
    ]
)
NETXML = """<?xml version="1.0" encoding="ISO-8859-1"?>
<detection-run kismet-version="made-up" start-time="Mon">
\t<wireless-network number="1" type="infrastructure" first-time="Mon" last-time="Tue">
\t\t<SSID first-time="Mon" last-time="Tue">
\t\t\t<essid cloaked="false">made-up</essid>
\t\t</SSID>
\t\t<BSSID>02:00:00:00:00:01</BSSID>
\t\t<channel>36</channel>
\t\t<snr-info>
\t\t\t<last_signal_dbm>-60</last_signal_dbm>
\t\t\t<max_signal_dbm>-48</max_signal_dbm>
\t\t</snr-info>
\t\t<wireless-client number="1" type="established" first-time="Mon" last-time="Tue">
\t\t\t<client-mac>02:00:00:00:01:01</client-mac>
\t\t\t<channel>44</channel>
\t\t\t<snr-info>
\t\t\t\t<max_signal_dbm>-30</max_signal_dbm>
\t\t\t</snr-info>
\t\t</wireless-client>
\t</wireless-network>
\t<wireless-network number="2" type="infrastructure" first-time="Mon" last-time="Tue">
\t\t<BSSID>02:00:00:00:00:02</BSSID>
\t\t<channel>44</channel>
\t\t<snr-info>
\t\t\t<max_signal_dbm>-71</max_signal_dbm>
\t\t</snr-info>
\t</wireless-network>
</detection-run>
"""
CSV = """"SSID","BSSID","Channel","Channel Width (MHz)","RSSI (dBm)","Location"
made-up,02-00-00-00-00-01,36,80,-48 dBm,laptop
made-up,02-00-00-00-00-02,44,80 MHz,-71,laptop
made-up,02-00-00-00-00-02,44,80 MHz,-69,ap
made-up,02-00-00-00-00-03,149,80,-75.5,ap
"""


def written(folder: Path, name: str, content: str) -> str:
    path = folder / name
    path.write_text(content, encoding="utf-8")
    return str(path)


def test_a_scan_of_iw_becomes_bsss_with_their_channels_and_gains(tmp_path: Path) -> None:
    found = heard_in([f"laptop={written(tmp_path, 'scan.txt', SCAN)}"])
    channels = [str(heard.channel) for heard in found.values()]
    assert channels == [
        "channel 42 (80 MHz at 5 GHz)",
        "channel 42 (80 MHz at 5 GHz)",
        "channel 155 (80 MHz at 5 GHz)",
        "channel 44 (20 MHz at 5 GHz)",
        "channel 50 (160 MHz at 5 GHz)",
        "channel 6 (20 MHz at 2.4 GHz)",
        "channel 42 (80 MHz at 5 GHz)",
    ]
    made = neighbourhood(found, "street")
    settings = tomllib.loads(text(made))
    assert settings == made.settings()
    keys = [tuple(table.get(key) for key in ("name", "channel", "width_mhz", "primary")) for table in settings["bss"]]
    assert keys == [
        ("mine", 42, None, 36),
        ("bss-1", 42, None, 40),
        ("bss-2", 44, 20, None),
        ("bss-3", 155, None, 149),
        ("bss-4", 50, 160, 52),
    ]
    gains = {tuple(entry["between"]): entry["gain_db"] for entry in settings["field"]["gains"]}
    signals = {"ap": -63, "bss-1": -81, "bss-2": -86, "bss-3": -90.5, "bss-4": -100}
    assert gains == {(name, "laptop"): gain_db for name, gain_db in signals.items()}
    assert made.remarks == ()
    assert [(each.channel, each.dbm, each.is_missed) for each in made.left_out] == [
        ("channel 6 (20 MHz at 2.4 GHz)", -50, False),
        ("channel 42 (80 MHz at 5 GHz)", -104, False),
    ]
    assert "out of reach" in made.left_out[1].why
    plan = made.scenario().plan()
    assert plan["bss_channel"] == 42
    assert [(each["channel"], each.get("width_mhz"), each.get("primary")) for each in plan["neighbours"]] == [
        (42, None, 40),
        (44, 20, None),
        (155, None, 149),
        (50, 160, 52),
    ]


def test_a_channel_that_overlaps_by_a_part_of_20_mhz_is_left_out(tmp_path: Path) -> None:
    scan = (
        bss(1, "2437", "-43.00", ht(6, "no secondary"), own=True)
        + bss(2, "2422", "-66.00", ht(3, "no secondary"))
        + bss(3, "2457", "-70.00", ht(10, "below"))
        + bss(4, "2412", "-80.00", ht(1, "no secondary"))
    )
    made = neighbourhood(heard_in([f"laptop={written(tmp_path, 'scan.txt', scan)}"]), "street")
    assert [(table["channel"], table.get("width_mhz")) for table in made.settings()["bss"]] == [
        (6, None),
        (8, 40),
        (1, None),
    ]
    assert [(each.why, each.is_missed) for each in made.left_out] == [
        ("overlaps your channel 6 (20 MHz at 2.4 GHz) by a part of 20 MHz, which the medium does not have", True)
    ]
    written_out = text(made)
    assert (
        "\n# Not in this scenario: 1 BSS whose channel overlaps by a part of 20 MHz, the strongest with -66 dBm. In reality"
        in written_out
    )
    listed = written_out.partition("# Heard, and not in this scenario:\n")[2].splitlines()
    assert "the air here is freer than in reality" in listed[1]
    assert made.scenario().plan()["bss"]["phy"]["name"] == "802.11n"


def he(primary: int, width: str, first: int, second: int = 0) -> str:
    return (
        "\tHE Operation:\n\t\tHE Operation Parameters: (0x023ff4)\n\t\t\t6 GHz Operation Information Present\n\t\tBSS Color: 12\n"
        f"\t\t6 GHz Operation Information: 0x2502270006\n\t\t\tPrimary Channel: {primary}\n\t\t\tChannel Width: {width}\n"
        f"\t\t\tRegulatory Info: 0\n\t\t\tCenter Frequency Segment 0: {first}\n\t\t\tCenter Frequency Segment 1: {second}\n\t\t\tMinimum Rate: 6"
    )


def eht(width: str, first: int, second: int = 0) -> str:
    return (
        "\tEHT Operation:\n\t\tEHT Operation Parameters: (0x01)\n\t\tEHT Operation Info: 0x042f3f\n"
        f"\t\t\tChannel Width: {width}\n\t\t\tCenter Frequency Segment 0: {first}\n\t\t\tCenter Frequency Segment 1: {second}"
    )


@pytest.mark.parametrize(
    ("mhz", "elements", "channel"),
    [
        ("6135", [he(37, "80 MHz", 39)], "channel 39 (80 MHz at 6 GHz)"),
        ("6135", [he(37, "80+80 or 160 MHz", 39, 47)], "channel 47 (160 MHz at 6 GHz)"),
        ("6135", [he(37, "80+80 or 160 MHz", 39, 71)], "channel 39 (80 MHz at 6 GHz)"),
        ("6135", [he(37, "80+80 or 160 MHz", 39, 47), eht("320 MHz", 47, 63)], "channel 63 (320 MHz at 6 GHz)"),
        ("6135", [he(37, "40 MHz", 35), eht("20 MHz", 37)], "channel 37 (20 MHz at 6 GHz)"),
        ("5180", [ht(36, "above"), vht("0 (20 or 40 MHz)", 0), eht("80 MHz", 42)], "channel 42 (80 MHz at 5 GHz)"),
        ("5180", [ht(36, "above"), vht(WIDE, 42), he(1, "20 MHz", 1)], "channel 42 (80 MHz at 5 GHz)"),
    ],
)
def test_the_newest_operation_element_says_the_width(
    tmp_path: Path, mhz: str, elements: list[str], channel: str
) -> None:
    (heard,) = heard_in([written(tmp_path, "scan.txt", bss(1, mhz, "-43.00", *elements))]).values()
    assert str(heard.channel) == channel
    assert heard.primary == (37 if mhz == "6135" else 36)


def test_320_mhz_become_a_scenario_of_802_11be(tmp_path: Path) -> None:
    scan = bss(1, "6135", "-43.00", he(37, "80 MHz", 39), own=True) + bss(
        2, "6055", "-60.00", he(21, "80+80 or 160 MHz", 23, 15), eht("320 MHz", 15, 31)
    )
    made = neighbourhood(heard_in([f"laptop={written(tmp_path, 'scan.txt', scan)}"]), "street")
    assert made.settings()["phy"] == {"name": "802.11be", "band_ghz": 6.0, "width_mhz": 80}
    assert [(each["channel"], each["width_mhz"]) for each in made.scenario().plan()["neighbours"]] == [(31, 320)]


def test_a_scan_without_a_neighbour_that_is_heard_becomes_the_own_bss(tmp_path: Path) -> None:
    scan = bss(1, "5180", "-43.00", ht(36, "above"), vht(WIDE, 42), own=True) + bss(
        6, "2437", "-50.00", ht(6, "no secondary")
    )
    made = neighbourhood(heard_in([f"laptop={written(tmp_path, 'scan.txt', scan)}"]), "alone")
    assert made.settings()["bss"] == [{"name": "mine"}]
    assert len(made.left_out) == 1
    assert "Not in this scenario" not in text(made), "it is in another band"
    assert made.scenario().run(1).flows.height == 2


def test_addresses_are_hashed_unless_they_are_kept(tmp_path: Path) -> None:
    file = written(tmp_path, "scan.txt", SCAN)
    hashed = text(neighbourhood(heard_in([file]), "street"))
    assert "02:00:00" not in hashed
    assert "made-up" not in hashed
    kept = text(neighbourhood(heard_in([file]), "street", Options(names=Names(True))))
    assert "02:00:00:00:00:02" in kept


@pytest.mark.parametrize(("name", "content"), [("kismet.csv", KISMET), ("kismet.netxml", NETXML)])
def test_networks_of_kismet_have_the_width_of_the_own_bss(tmp_path: Path, name: str, content: str) -> None:
    found = heard_in([written(tmp_path, name, content)])
    assert {address: heard.signals_dbm["ap"][0] for address, heard in found.items()} == {
        "02:00:00:00:00:01": -48,
        "02:00:00:00:00:02": -71,
    }
    made = neighbourhood(found, "street", Options(mine="02:00:00:00:00:01", width_mhz=80))
    assert [table["channel"] for table in made.settings()["bss"]] == [42, 42]


def test_a_list_of_a_survey_tool_may_have_places(tmp_path: Path) -> None:
    found = heard_in([written(tmp_path, "survey.csv", CSV)])
    assert found["02:00:00:00:00:02"].signals_dbm["ap"][0] == -69
    made = neighbourhood(found, "street", Options(mine="02:00:00:00:00:01"))
    gains = {tuple(entry["between"]): entry["gain_db"] for entry in made.settings()["field"]["gains"]}
    assert gains == {("ap", "laptop"): -68, ("bss-1", "ap"): -89, ("bss-1", "laptop"): -91, ("bss-2", "ap"): -95.5}


def test_the_own_channel_can_be_told(tmp_path: Path) -> None:
    found = heard_in([written(tmp_path, "survey.csv", CSV)])
    made = neighbourhood(found, "street", Options(channel=36, width_mhz=80))
    assert [table["channel"] for table in made.settings()["bss"]] == [42, 42, 42, 155]
    with pytest.raises(InputError, match="--mine ADDRESS, or --channel"):
        neighbourhood(found, "street")
    with pytest.raises(InputError, match="no file has this BSS"):
        neighbourhood(found, "street", Options(mine="02:00:00:00:00:99"))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (bss(1, "5180", "-43.00").replace("5180", "518o"), "freq"),
        (bss(1, "3600", "-43.00"), "2.4, 5 or 6 GHz"),
        (bss(1, "5180", "43/100"), "signal"),
        ("BSS nothing\n" + bss(1, "5180", "-43.00"), "address"),
        (bss(1, "5180", "-43.00").replace("\tsignal", "\tsignals"), "`freq` and `signal`"),
        (bss(1, "6135", "-43.00", eht("30 MHz", 39)), "20, 40, 80, 160 or 320"),
        (bss(1, "6135", "-43.00", eht("320 MHz", 47, 95)), "31, 63, 95"),
        (KISMET.replace(";44;", ";20;"), "36 to 177"),
        (CSV.replace(",149,", ",14,"), "36 to 177"),
        (CSV.replace("36,80", "36,30"), "20, 40, 80"),
        (CSV.replace("-75.5", "strong"), "signal_dbm"),
        ("what,is,this\n1,2,3\n", "no known file"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(tmp_path: Path, content: str, told: str) -> None:
    with pytest.raises(InputError) as refused:
        heard_in([written(tmp_path, "x.txt", content)])
    assert "x.txt" in str(refused.value)
    assert told in str(refused.value)


def test_channels_contain_those_of_20_mhz() -> None:
    assert [containing(5.0, primary, 80) for primary in (36, 48, 52, 100, 144, 149, 165)] == [
        42,
        42,
        58,
        106,
        138,
        155,
        171,
    ]
    assert [
        containing(6.0, primary, width) for primary, width in ((1, 20), (5, 40), (37, 80), (37, 160), (37, 320))
    ] == [1, 3, 39, 47, 31]
    assert Channel(2.4, 1, 20).overlaps(Channel(2.4, 4, 20))
    assert not Channel(2.4, 1, 20).overlaps(Channel(2.4, 6, 20))
    assert not Channel(5.0, 6, 20).overlaps(Channel(2.4, 6, 20))


@pytest.mark.whole
@pytest.mark.parametrize("content", [SCAN, KISMET, NETXML, CSV], ids=["iw", "kismet", "netxml", "csv"])
def test_a_damaged_file_gives_a_scenario_or_an_error_that_names_it(tmp_path: Path, content: str) -> None:
    draw = random.Random(1)
    accepted = 0
    for _ in range(DAMAGED):
        letters = list(content)
        for _ in range(draw.randint(1, 4)):
            at = draw.randrange(len(letters))
            match draw.randrange(3):
                case 0:
                    letters[at] = draw.choice("0159:;,-.\n\t <>ab\u00e9")
                case 1:
                    del letters[at : at + draw.randint(1, 40)]
                case _:
                    letters[at:at] = letters[max(at - 30, 0) : at]
        file = str(new_file(tmp_path / "damaged.txt", "".join(letters).encode()))
        try:
            Scenario(**neighbourhood(heard_in([file]), "x", Options(channel=36, width_mhz=80)).settings())
            accepted += 1
        except InputError as error:
            assert "damaged.txt" in str(error)  # noqa: PT017 -- most damaged files are accepted
    assert accepted > DAMAGED / 10


@pytest.mark.whole
def test_the_command_writes_a_scenario_that_runs(tmp_path: Path, here: Cli) -> None:
    file = written(tmp_path, "scan.txt", SCAN)
    out = tmp_path / "street.toml"
    result = here("field", "import", f"laptop={file}", "--out", str(out))
    assert result.returncode == 0, result.stderr
    results = Scenario.from_toml(out).override({"run.warmup_s": 0.5, "run.duration_s": 1}).run(seeds=1)
    assert results.bsss["bss"].to_list() == ["mine", "bss-1", "bss-2", "bss-3", "bss-4"]
