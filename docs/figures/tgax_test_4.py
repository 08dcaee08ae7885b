"""Test 4 of the MAC calibration of TGax: a saturated BSS of 40 MHz, and one of 20 MHz on its secondary channel; into docs/neighbours.md.

`python docs/figures/tgax_test_4.py`, a minute on two cores. `tests/test_neighbours.py` holds the goodputs without RTS to 5 %.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
from wifair import Scenario
from wifair.markdown import Marks, table
from wifair.stats import plus_minus

PAGE = Path(__file__).resolve().parents[1] / "neighbours.md"
MARKS = Marks("TGax test 4", "docs/figures/tgax_test_4.py")
SEEDS = 10
# Bytes of an MSDU, and of its headers from LLC to UDP.
MSDU_BYTES, HEADER_BYTES = 2000, 36
PER_SECOND = 100
PAYLOAD_BYTES = MSDU_BYTES - HEADER_BYTES
# IEEE 802.11-14/1434r0: Mbps of applications, channel occupancy, and "MAC PER" in percent where there is one, of the BSS of 40 MHz and of that of
# 20 MHz; by whether there are RTS.
PUBLISHED: dict[bool, tuple[tuple[float, float, float | None], ...]] = {
    False: ((8.107, 0.6520, 4.12), (1.522, 0.2714, 8.17)),
    True: ((7.761, 0.7365, None), (1.304, 0.2348, None)),
}
BSSS = ("40 MHz", "20 MHz")
# Switches, each tried with RTS.
TRIED: dict[str, dict[str, Any]] = {
    "CWmax 15": {"phy.cw_max": 15},
    "no EIFS": {"mac.eifs": False},
    "DCF's countdown": {"mac.edca.countdown": "dcf"},
    "energy detection at −82 dBm": {"field.energy_detection_dbm": -82.0},
    "dynamic width": {"mac.width": "dynamic"},
}
MARKS_OF_TRIED = Marks("switches with RTS", "docs/figures/tgax_test_4.py")
PHYS = ("802.11ac", "802.11n")
HEADINGS = (
    *("PHY", "RTS", "BSS", "goodput, Mbps", "published", "deviation"),
    *("share of time", "published", "deviation", "failed attempts, %", "published"),
)


def scenario(with_rts: bool, phy: str = PHYS[0]) -> Scenario:
    """The two BSSs, all in range. Frames of one MPDU, MCS 0, a MAC header of 30 bytes, AIFSN 3 and CW 15 at first."""
    mbps = PER_SECOND * PAYLOAD_BYTES * 8 / 1e6

    def flow(station: str, rate_mbps: float, **keys: Any) -> dict[str, Any]:
        application = {"name": "udp", "payload_bytes": PAYLOAD_BYTES, "rate_mbps": rate_mbps, **keys}
        return {"name": f"to-{station}", "station": station, "direction": "down", "application": application}

    return Scenario(
        run={"warmup_s": 1, "duration_s": 10},
        phy={"name": phy, "width_mhz": 40, "mac_header_bytes": 30},
        mac={"aggregation": {"max_mpdus": 1}, **({"rts_threshold_bytes": 0} if with_rts else {})},
        field={"gain_db": -60, "gains": [{"between": ["wide", "narrow"], "gain_db": -60}]},
        bss=[{"name": "wide", "channel": 38}, {"name": "narrow", "channel": 40, "width_mhz": 20, "wire": {}}],
        station={"mcs": 0},
        stations=[{"name": "a"}, {"name": "b", "bss": "narrow"}],
        flows=[flow("a", 20.0), flow("b", mbps, arrivals={"name": "poisson"})],
    )


def rows(with_rts: bool, phy: str) -> list[tuple[str, ...]]:
    """Those of the two BSSs."""
    bsss = scenario(with_rts, phy).run(seeds=SEEDS).bsss
    found: list[tuple[str, ...]] = []
    for name, title, (mbps, share, failed) in zip(("wide", "narrow"), BSSS, PUBLISHED[with_rts], strict=True):
        own = bsss.filter(bsss["bss"] == name)
        goodputs, shares = own["goodput_down_mbps"].to_numpy(), own["airtime_down_share"].to_numpy()
        lost = own.select(pl.sum_horizontal("lost_same_start", "lost_hidden")).to_series().to_numpy()
        found.append(
            (
                phy,
                "yes" if with_rts else "no",
                title,
                plus_minus(goodputs, 3),
                f"{mbps:.3f}",
                f"{100 * (goodputs.mean() / mbps - 1):+.1f} %",
                plus_minus(shares, 4),
                f"{share:.4f}",
                f"{100 * (shares.mean() / share - 1):+.1f} %",
                plus_minus(100 * lost / own["attempts"].to_numpy(), 2),
                "" if failed is None else f"{failed:.2f}",
            )
        )
    return found


def tried(name: str) -> tuple[str, ...]:
    """The goodputs with a switch, and what they deviate by."""
    bsss = scenario(True).override(TRIED[name]).run(seeds=SEEDS).bsss
    cells = []
    for bss, (mbps, *_) in zip(("wide", "narrow"), PUBLISHED[True], strict=True):
        goodputs = bsss.filter(bsss["bss"] == bss)["goodput_down_mbps"].to_numpy()
        cells.append(f"{plus_minus(goodputs, 3)} ({100 * (goodputs.mean() / mbps - 1):+.1f} %)")
    return (name, *cells)


def main() -> None:
    """Writes the tables."""
    found = [row for with_rts in (False, True) for phy in PHYS for row in rows(with_rts, phy)]
    text = table(HEADINGS, found)
    print(text)
    MARKS.write(PAGE, text)
    switches = table(("switch, 802.11ac with RTS", *(f"{title}: goodput, Mbps" for title in BSSS)), map(tried, TRIED))
    print(switches)
    MARKS_OF_TRIED.write(PAGE, switches)


if __name__ == "__main__":
    main()
