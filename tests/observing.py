"""What tests of `wifair import` share: the files of the folder, stations as iw prints them, and damaged files."""

from __future__ import annotations

import random
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from wifair import Scenario
from wifair.errors import InputError
from wifair.observed import calibration, imported
from wifair.observed.network import Counters, read
from wifair.observed.written import text

DATA = ROOT / "tests" / "data" / "observed"
FILES = sorted(path for path in DATA.iterdir() if path.suffix in (".txt", ".csv", ".gz", ".json"))
DAMAGED = 300
# Lengths of runs where nothing is tested that they show.
BRIEF = {"WARMUP_S": 0.2, "DURATION_S": 0.5, "SEEDS": 2}


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs tell collisions from errors."""
    for name, number in BRIEF.items():
        monkeypatch.setattr(calibration, name, number)


def scenario_of(*names: str, **options: Any) -> tuple[dict[str, Any], str]:
    """The settings and the text that files of the folder give."""
    made = text(imported([DATA / name for name in names], **options))
    return tomllib.loads(made), made


def station(number: int, **fields: str) -> str:
    """A station as iw prints it."""
    lines = [f"\t{name.replace('_', ' ')}:\t{told}" for name, told in fields.items()]
    return "\n".join([f"Station 02:00:00:00:{number:02x}:00 (on wlan0)", *lines, ""])


SURVEY = (
    "Survey data from wlan0\n\tfrequency:\t5180 MHz [in use]\n\tchannel active time:\tTIME000 ms\n"
    "\tchannel busy time:\tTIME00 ms\n"
)
BUSY = {
    "rx_bytes": "34120000",
    "rx_packets": "310000",
    "tx_bytes": "912000000",
    "tx_packets": "601000",
    "connected_time": "120 seconds",
}


def imported_text(tmp_path: Path, *contents: str) -> dict[str, Any]:
    """The settings from files with these contents."""
    paths = [tmp_path / f"{number}.txt" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content)
    return tomllib.loads(text(imported(paths)))


def counters(**values: float) -> Counters:
    return Counters(**{name: read(number, name, "") for name, number in values.items()})  # type: ignore[arg-type]


# Damaged input: bytes and lines changed, removed, repeated, moved; cut; values that no counter has.

JUNK = [
    b"",
    b"-1",
    b"99999999999999999999999",
    b"1e400",
    b"nan",
    b"\x00",
    b"\xff",
    b":",
    b",",
    b'"',
    b"MBit/s",
    b"\xc2\x85",
    b"a" * 5000,
]


def damaged(content: bytes, seed: int) -> bytes:
    rng = random.Random(seed)
    for _ in range(rng.randint(1, 4)):
        lines = content.split(b"\n")
        at, way = rng.randrange(len(lines)), rng.randrange(7)
        if way == 0:
            place = rng.randrange(len(content) + 1)
            content = content[:place] + rng.choice(JUNK) + content[place + rng.randint(0, 9) :]
        elif way == 1:
            content = content[: rng.randrange(len(content) + 1)]
        elif way == 2:
            content = b"\n".join(lines[:at] + lines[at + 1 :])
        elif way == 3:
            content = b"\n".join(lines[:at] + lines[at : at + 1] * rng.randint(2, 50) + lines[at:])
        elif way == 4:
            rng.shuffle(lines)
            content = b"\n".join(lines)
        elif way == 5:
            numbers = list(re.finditer(rb"\d+", content))
            if numbers:
                number = rng.choice(numbers)
                content = (
                    content[: number.start()]
                    + rng.choice([*JUNK, b"0", b"18446744073709551615"])
                    + content[number.end() :]
                )
        else:
            values = [line.partition(b":")[0] + b":" + rng.choice(JUNK) for line in lines[at : at + 1]]
            content = b"\n".join(lines[:at] + values + lines[at + 1 :])
    return content


def check_damaged(path: Path, *others: Path) -> bool:
    """Whether the file gives a scenario, with others; else it gives one sentence that names it."""
    try:
        made = imported([path, *others])
    except InputError as error:
        told = str(error)
    else:
        assert Scenario.from_settings(tomllib.loads(text(made))).plan() == made.scenario().plan()
        return True
    assert path.name in told
    assert "\n" not in told
    assert len(told) < 1000
    return False


def simulated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates each plan once, since many damaged files give the same one, and briefly: what it shows is tested elsewhere."""
    shorten(monkeypatch)
    found: dict[str, Any] = {}
    whole = calibration.shown

    def cached(scenario: Scenario, readings: Any, progress: Any = None) -> Any:
        key = scenario.plan_json + repr(readings)
        if key not in found:
            found[key] = whole(scenario, readings, progress)
        return found[key]

    monkeypatch.setattr(calibration, "shown", cached)
