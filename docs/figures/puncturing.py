"""Punctured PPDUs: an access point of 80 or 160 MHz, and one of 20 MHz on a secondary channel of it; into docs/neighbours.md.

`python docs/figures/puncturing.py`, half a minute on two cores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from wifair import Scenario
from wifair.markdown import Marks, table
from wifair.stats import plus_minus

PAGE = Path(__file__).resolve().parents[1] / "neighbours.md"
MARKS = Marks("punctured width", "docs/figures/puncturing.py")
SEEDS = 10
# Width and channel of `wide`, and channels of `narrow`: the secondary channel of 20 MHz, and the highest of 20 MHz.
PLACES = ((80, 42, (40, 48)), (160, 50, (40, 64)))
ELSEWHERE = {80: 106, 160: 114}
# Mbps that arrive for the station of `narrow`: more than it can carry, and a part of that.
LOADS = {"always busy": 200.0, "20 Mbps": 20.0}
HEADINGS = (
    "`wide` has",
    "`narrow` has",
    "load of `narrow`",
    "static",
    "dynamic",
    "punctured",
    "never there",
    "two channels",
    "left out",
)


def ways(width_mhz: int, other: int) -> dict[str, dict[str, Any]]:
    """What `mac.width` may be, a BSS that never uses the other's channel, and two BSSs that do not meet."""
    never = {"bss[wide].punctured": [other]}
    apart = {"bss[wide].channel": ELSEWHERE[width_mhz], "field.subchannels": True}
    uses = {use: {"mac.width": use} for use in ("static", "dynamic", "punctured")}
    return {**uses, "never there": never, "two channels": apart}


def scenario(width_mhz: int, channel: int, other: int, load_mbps: float) -> Scenario:
    """Two BSSs of 802.11be in range of each other, each with a download at MCS 7; that of `narrow` has this load."""
    loads = {"wide": 1000.0, "narrow": load_mbps}
    bsss: list[dict[str, Any]] = [
        {"name": "wide", "channel": channel},
        {"name": "narrow", "channel": other, "width_mhz": 20, "wire": {}},
    ]
    flows = [
        {
            "name": f"to-{name}",
            "station": f"of-{name}",
            "direction": "down",
            "application": {"name": "udp", "rate_mbps": rate_mbps},
        }
        for name, rate_mbps in loads.items()
    ]
    return Scenario(
        run={"warmup_s": 1, "duration_s": 5},
        phy={"name": "802.11be", "width_mhz": width_mhz},
        field={"gain_db": -60, "gains": [{"between": ["wide", "narrow"], "gain_db": -60}]},
        bss=bsss,
        station={"mcs": 7},
        stations=[{"name": f"of-{name}", "bss": name} for name in loads],
        flows=flows,
    )


def row(width_mhz: int, channel: int, other: int, load: str) -> tuple[str, ...]:
    """Goodputs of the two BSSs by use of width, and how many of the exchanges of `wide` have left out a channel."""
    cells = []
    share = 0.0
    for way, settings in ways(width_mhz, other).items():
        bsss = scenario(width_mhz, channel, other, LOADS[load]).override(settings).run(seeds=SEEDS).bsss
        wide, narrow = (bsss.filter(bsss["bss"] == name) for name in ("wide", "narrow"))
        cells.append(", ".join(plus_minus(part["goodput_down_mbps"].to_numpy(), 1) for part in (wide, narrow)))
        if way == "punctured":
            share = float(np.mean(wide["punctured"].to_numpy() / wide["exchanges"].to_numpy()))
    return (f"{width_mhz} MHz", f"channel {other}", load, *cells, f"{100 * share:.0f} %")


def main() -> None:
    """Writes the table."""
    places = [(width_mhz, channel, other) for width_mhz, channel, others in PLACES for other in others]
    rows = [row(*place, load) for place in places for load in LOADS]
    text = table(HEADINGS, rows)
    print(text)
    MARKS.write(PAGE, text)


if __name__ == "__main__":
    main()
