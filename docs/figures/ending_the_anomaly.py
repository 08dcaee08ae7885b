"""A measured network next to wifair, into docs/validation.md: `python docs/figures/ending_the_anomaly.py`, a minute.

Høiland-Jørgensen et al., "Ending the Anomaly" (USENIX ATC 2017), Table 1: two stations at 144.4 Mbps and one at 7.2 Mbps (802.11n, 20 MHz,
short guard interval) behind an ath9k radio, UDP from the AP beyond each station's share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from wifair import Scenario
from wifair.markdown import Marks, table
from wifair.results import Results
from wifair.stats import t_interval

PAGE = Path(__file__).resolve().parents[1] / "validation.md"
MARKS = Marks("ending the anomaly", "docs/figures/ending_the_anomaly.py")
FAST, SLOW = ("fast-1", "fast-2"), "slow"
STATIONS = (*FAST, SLOW)
SEEDS = 5
UDP = {"name": "udp", "rate_mbps": 100, "payload_bytes": 1472}
# Buffers before 2016: a FIFO, or FQ-CoDel, over the driver's queue of each station.
OF_THE_DRIVER = {"mac.aggregation.fill": "driver-queue"}
FIFO, FQ_CODEL, AIRTIME = (
    {"ap.scheme": "droptail", **OF_THE_DRIVER},
    {"ap.scheme": "fq-codel", **OF_THE_DRIVER},
    {"ap.scheme": "mac80211"},
)


@dataclass(frozen=True)
class Row:
    """A row of Table 1: throughput in Mbps by station, measured and by the paper's model, and the slow station's airtime by that model."""

    name: str
    settings: Mapping[str, Any]
    measured: tuple[float, float, float]
    model: tuple[float, float, float] | None
    slow_airtime: float


# With the paper's aggregates: 19 MPDUs (28.4 kB) for the fast stations; the slow one's 2 follow from ath9k's 4 ms.
FAIR = Row(
    "airtime fairness", {**AIRTIME, "mac.aggregation.max_mpdus": 19}, (38.8, 35.6, 2.0), (42.2, 42.3, 2.2), 1 / 3
)
QUEUED = Row("FIFO over the driver's queues", FIFO, (7.1, 6.3, 5.3), None, 0.79)


def network(flows: list[dict[str, Any]], settings: Mapping[str, Any], seeds: int = SEEDS) -> Results:
    """Runs of the paper's network."""
    fast = [{"name": name, "mcs": 15} for name in FAST]
    scenario = Scenario.from_settings(
        {
            "run": {"warmup_s": 3, "duration_s": 10},
            "phy": {"name": "802.11n", "band_ghz": 5, "width_mhz": 20, "guard_interval_ns": 400, "streams": 2},
            "mac": {"edca": {}},
            "ap": {"limit_packets": 1000, "hardware": "ath9k"},
            "wire": {"rate_mbps": 1000},
            "stations": [*fast, {"name": SLOW, "mcs": 0, "streams": 1}],
            "flows": flows,
        }
    )
    return scenario.override(settings).run(seeds=seeds)


def udp(settings: Mapping[str, Any], seeds: int = SEEDS) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Throughput in Mbps by station and seed, and the share of the airtime by station."""
    flows = [{"name": name, "station": name, "direction": "down", "application": UDP} for name in STATIONS]
    results = network(flows, settings, seeds)
    down = results.stations.filter(pl.col("direction") == "down")
    shares = dict(down.group_by("station").agg(pl.col("airtime_share").mean()).iter_rows())
    total = sum(shares.values())
    rates = {name: results.flows.filter(label=name).sort("seed")["throughput_ip_mbps"].to_list() for name in STATIONS}
    return rates, {name: share / total for name, share in shares.items()}


def difference(found: float, measured: float) -> float:
    """Relative to what was measured."""
    return found / measured - 1


def said(values: Sequence[float]) -> str:
    """The mean with half its 95 % interval."""
    found = t_interval(list(values))
    return f"{found.estimate:.2f} ± {(found.high or found.estimate) - found.estimate:.2f}"


def main() -> None:
    """Runs both rows and writes the table."""
    rows: list[list[str]] = []
    for row in (FAIR, QUEUED):
        rates, shares = udp(row.settings)
        sums = [sum(seed) for seed in zip(*rates.values(), strict=True)]
        model = [*row.model, sum(row.model)] if row.model else [None] * 4
        for name, found, measured, computed in zip(
            (*STATIONS, "all"), (*rates.values(), sums), (*row.measured, sum(row.measured)), model, strict=True
        ):
            percent = 100 * difference(sum(found) / len(found), measured)
            by_model = "–" if computed is None else f"{computed:.1f}"
            airtime = f"{100 * shares[name]:.0f} %" if name in shares else ""
            printed = f"{100 * row.slow_airtime:.0f} %" if name == SLOW else ""
            rows.append(
                [row.name, name, said(found), f"{measured:.1f}", f"{percent:+.0f} %", by_model, airtime, printed]
            )
            print(*rows[-1], sep=" | ", flush=True)
    head = [
        "queues",
        "station",
        "wifair, Mbps",
        "measured",
        "difference",
        "the paper's model",
        "airtime in wifair",
        "by the model",
    ]
    MARKS.write(PAGE, table(head, rows))


if __name__ == "__main__":
    main()
