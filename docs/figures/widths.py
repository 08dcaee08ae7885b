"""Static and dynamic width: an access point of 80 MHz, and two of 40 MHz in the two halves of its channel; into docs/neighbours.md.

`python docs/figures/widths.py`, two minutes on two cores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from wifair import Scenario
from wifair.markdown import Marks, table
from wifair.stats import plus_minus

PAGE = Path(__file__).resolve().parents[1] / "neighbours.md"
MARKS = Marks("static and dynamic width", "docs/figures/widths.py")
SEEDS = 10
NAMES = ("wide", "lower", "upper")
WITH_RTS = {"mac.rts_threshold_bytes": 0}
ROWS: dict[str, dict[str, Any]] = {
    "80 MHz, static": {},
    "80 MHz, static, RTS": WITH_RTS,
    "80 MHz, dynamic": {"mac.width": "dynamic"},
    "80 MHz, dynamic, RTS": {"mac.width": "dynamic", **WITH_RTS},
    "40 MHz, lower half": {"bss[wide].width_mhz": 40, "bss[wide].channel": 38, "field.subchannels": True},
}
# Mbps that arrive for the station of `upper`: more than it can carry, and less.
LOADS = {"always busy": 700.0, "50 Mbps": 50.0}
HEADINGS = ("load of `upper`", "`wide` has", *(f"`{name}`, Mbps" for name in NAMES), "Jain's index of airtime")


def scenario(load_mbps: float) -> Scenario:
    """Three BSSs of 802.11ax in range of each other, each with a download at MCS 7; that of `upper` has this load."""
    channels = {"wide": (42, 80), "lower": (38, 40), "upper": (46, 40)}
    bsss = [{"name": name, "channel": number, "width_mhz": width} for name, (number, width) in channels.items()]
    flows = [
        {
            "name": f"to-{name}",
            "station": f"of-{name}",
            "direction": "down",
            "application": {"name": "udp", "rate_mbps": load_mbps if name == "upper" else 700.0},
        }
        for name in NAMES
    ]
    pairs = (("wide", "lower"), ("wide", "upper"), ("lower", "upper"))
    return Scenario(
        run={"warmup_s": 1, "duration_s": 10},
        phy={"name": "802.11ax", "width_mhz": 80},
        field={"gain_db": -60, "gains": [{"between": list(pair), "gain_db": -60} for pair in pairs]},
        bss=[{**bss, **({"wire": {}} if bss["name"] != "wide" else {})} for bss in bsss],
        station={"mcs": 7},
        stations=[{"name": f"of-{name}", "bss": name} for name in NAMES],
        flows=flows,
    )


def row(load: str, title: str) -> tuple[str, ...]:
    """Goodputs of the BSSs, and how evenly they share the air."""
    bsss = scenario(LOADS[load]).override(ROWS[title]).run(seeds=SEEDS).bsss
    own = [bsss.filter(bsss["bss"] == name) for name in NAMES]
    airtimes = np.array([part["airtime_down_share"].to_numpy() for part in own])
    jain = airtimes.sum(axis=0) ** 2 / (len(NAMES) * (airtimes**2).sum(axis=0))
    return (load, title, *(plus_minus(part["goodput_down_mbps"].to_numpy(), 2) for part in own), plus_minus(jain, 3))


def main() -> None:
    """Writes the table."""
    text = table(HEADINGS, [row(load, title) for load in LOADS for title in ROWS])
    print(text)
    MARKS.write(PAGE, text)


if __name__ == "__main__":
    main()
