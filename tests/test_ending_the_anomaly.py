"""A measured network: Høiland-Jørgensen et al., "Ending the Anomaly" (USENIX ATC 2017), Table 1 and its latencies.

The network, the measured numbers and the table on the page are in `docs/figures/ending_the_anomaly.py`.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from docs.figures.ending_the_anomaly import (
    AIRTIME,
    FAIR,
    FIFO,
    FQ_CODEL,
    MARKS,
    PAGE,
    QUEUED,
    SLOW,
    STATIONS,
    Row,
    difference,
    network,
    udp,
)


def means(row: Row) -> tuple[list[float], dict[str, float]]:
    rates, shares = udp(row.settings, seeds=3)
    return [sum(found) / len(found) for found in rates.values()], shares


def test_airtime_fairness_gives_what_the_papers_model_computes() -> None:
    rates, shares = means(FAIR)
    for name in STATIONS:
        assert shares[name] == pytest.approx(1 / 3, abs=0.005)
    assert FAIR.model is not None
    for found, printed in zip(rates, FAIR.model, strict=True):
        assert found == pytest.approx(printed, abs=0.02 * printed + 0.05)


def test_airtime_fairness_is_above_what_was_measured() -> None:
    """The model, and wifair with it, has no losses: each station gets 5 to 20 % more than was measured, the second fast one most."""
    rates, _ = means(FAIR)
    apart = [difference(found, measured) for found, measured in zip(rates, FAIR.measured, strict=True)]
    assert apart == pytest.approx([0.085, 0.18, 0.07], abs=0.05)


def test_behind_a_fifo_the_slow_station_has_most_of_the_airtime() -> None:
    rates, shares = means(QUEUED)
    assert shares[SLOW] == pytest.approx(QUEUED.slow_airtime, abs=0.06)
    for found, measured in zip(rates, QUEUED.measured, strict=True):
        assert abs(difference(found, measured)) < 0.25


def test_the_page_has_the_difference_to_each_measured_number() -> None:
    """The page's numbers are those of its command; here, that its columns agree with each other and with the paper."""
    text = MARKS.between(PAGE)
    assert text is not None
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()[2:]]
    assert len(rows) == 2 * (len(STATIONS) + 1)
    for (queues, station, found, measured, percent, *_), row in zip(rows, [FAIR] * 4 + [QUEUED] * 4, strict=True):
        wanted = dict(zip((*STATIONS, "all"), (*row.measured, sum(row.measured)), strict=True))[station]
        assert queues == row.name
        assert float(measured) == pytest.approx(wanted)
        assert float(percent.removesuffix(" %")) == pytest.approx(
            100 * difference(float(found.split()[0]), wanted), abs=0.7
        )


def test_the_order_of_latencies() -> None:
    """A ping to each station while each downloads: FIFO, then FQ-CoDel over the driver's queues, then a queue for each station."""
    # HyStart ends slow start before a FIFO is full: with it the slow station's ping takes 304 ms there, without it 491 ms.
    control = {"name": "cubic", "slow_start": "standard"}
    hosts = {"profile": "today", "ecn": False, "congestion_control": control}
    flows: list[dict[str, Any]] = [
        {"name": name, "station": name, "direction": "down", "tcp": hosts} for name in STATIONS
    ]
    flows += [
        {"name": f"ping {name}", "station": name, "direction": "down", "application": "ping"} for name in STATIONS
    ]
    fifo, fq_codel, airtime = (
        dict(network(flows, settings, seeds=3).datagrams.group_by("label").agg(pl.col("rtt_p50_ms").mean()).iter_rows())
        for settings in (FIFO, FQ_CODEL, AIRTIME)
    )
    assert all(fifo[label] > 1.3 * fq_codel[label] for label in fifo)
    assert fifo[f"ping {SLOW}"] > 1.3 * fq_codel[f"ping {SLOW}"] > 5 * airtime[f"ping {SLOW}"]
    assert sum(fifo.values()) > 1.5 * sum(fq_codel.values()) > 3 * sum(airtime.values())
