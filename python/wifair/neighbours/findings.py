"""The papers' findings at one flat: its cells, and the size of each effect.

The resident's flat has endless flows in addition to its evening: three uploads and three downloads, or three downloads of which one is to a
station with MCS 1. Hosts are today's. Neighbours have their evening. An effect is at most 1: (up − down) / (up + down), a difference of
Jain's indexes, or 1 minus a ratio, as in the study `generations`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from wifair.everything.contenders import contenders
from wifair.neighbours.houses import ALONE, MINE, ONE, Size, house
from wifair.neighbours.measured import Measured
from wifair.papers.runs import CellRuns
from wifair.scenario.scenario import Scenario
from wifair.stats import Values, jain_rows, ratio

TAIL_DROP = "droptail"
# The flows of a mix: stations by direction. All others are part of the evening.
BOTH, DOWN, SLOW = "three up, three down", "three down", "three down, one slow"
UPLOADERS = ("laptop", "computer", "phone")
DOWNLOADERS = ("television", "laptop", "computer")
SLOW_STATION = "computer"
MIXES: Mapping[str, Mapping[str, Sequence[str]]] = {
    BOTH: {"up": UPLOADERS, "down": DOWNLOADERS},
    DOWN: {"down": DOWNLOADERS},
    SLOW: {"down": DOWNLOADERS},
}
SCHEMES: Mapping[str, Sequence[str]] = {
    BOTH: (TAIL_DROP, "ack-filtering", "adaptive-pushout", "dqm"),
    DOWN: (TAIL_DROP, "alt"),
    SLOW: ("fq-codel", "mac80211"),
}
# Where the findings are compared.
PLANS = (ALONE, ONE)


def cell(mix: str, scheme: str) -> str:
    """The name of a cell."""
    return f"{mix}/{scheme}"


CELLS = tuple(cell(mix, scheme) for mix, schemes in SCHEMES.items() for scheme in schemes)


def scenarios(number: int, plan: str, size: Size) -> dict[str, Scenario]:
    """By cell: a house with the flows of its mix at the resident's flat, and its scheme."""
    found: dict[str, Scenario] = {}
    for mix, schemes in SCHEMES.items():
        flows: list[dict[str, Any]] = [
            {"name": f"{station}-{way}load", "station": station, "direction": way, "start_spread_s": 1.0}
            for way, stations in MIXES[mix].items()
            for station in stations
        ]
        base = house(number, plan, size, flows=flows)
        if mix == SLOW:
            base = base.override({f"stations[{SLOW_STATION}].{key}": 1 for key in ("mcs", "mcs_down")})
        found |= {cell(mix, one.name): one.applied(base, "safe", MINE) for one in contenders(schemes)}
    return found


def _goodputs(runs: CellRuns, direction: str) -> Values:
    """Of the endless flows: (replications, flows)."""
    return runs.flows("goodput_mbps", application="bulk", direction=direction)


def bias(runs: CellRuns) -> Values:
    """(up − down) / (up + down): 0 if both get as much, 1 if downloads get nothing."""
    up, down = (_goodputs(runs, way).sum(axis=1) for way in ("up", "down"))
    return ratio(up - down, up + down)


def down_mbps(runs: CellRuns) -> Values:
    """Goodput of the endless downloads."""
    total: Values = _goodputs(runs, "down").sum(axis=1)
    return total


def index(runs: CellRuns) -> Values:
    """Jain's index of the endless flows' goodput."""
    return jain_rows(runs.flows("goodput_mbps", application="bulk"))


def airtime_index(runs: CellRuns) -> Values:
    """Jain's index of the downlink airtime of the stations that download."""
    stations = runs.table("stations").filter(direction="down").partition_by("station", as_dict=True)
    columns = [stations[station,]["airtime_s"].to_numpy() for station in DOWNLOADERS]
    return jain_rows(np.stack(columns, axis=1))


def power(runs: CellRuns) -> Values:
    """Goodput of the endless downloads over the mean sojourn time in the access point's buffer, in Mbps per ms."""
    return ratio(down_mbps(runs), runs.queue("sojourn_mean_ms"))


@dataclass(frozen=True)
class Finding:
    """A paper's finding: its sentence, and its size under a plan of channels."""

    id: str
    title: str
    source: str
    statement: str
    unit: str
    effect: Callable[[Measured, str], Values]
    # What there is to cure, of a cure.
    to_cure: Callable[[Measured, str], Values] | None = None


def _less(mix: str, cure: str, quantity: Callable[[CellRuns], Values]) -> Callable[[Measured, str], Values]:
    """What a cure adds to a quantity, as a share of what there is with it."""
    return lambda m, plan: (
        1.0 - ratio(m.paper(plan, cell(mix, TAIL_DROP), quantity), m.paper(plan, cell(mix, cure), quantity))
    )


def _gain(mix: str, cure: str, over: str, quantity: Callable[[CellRuns], Values]) -> Callable[[Measured, str], Values]:
    return lambda m, plan: m.paper(plan, cell(mix, cure), quantity) - m.paper(plan, cell(mix, over), quantity)


def _unfair(mix: str, scheme: str, quantity: Callable[[CellRuns], Values]) -> Callable[[Measured, str], Values]:
    return lambda m, plan: 1.0 - m.paper(plan, cell(mix, scheme), quantity)


FINDINGS = (
    Finding(
        "directions",
        "Tail drop: uploads starve downloads",
        "adaptive-pushout I; spm-af-las 5.1; dqm I",
        "Each individual downlink flow gets lower bandwidth than each individual uplink flow gets.",
        "(up − down) / (up + down)",
        lambda m, plan: m.paper(plan, cell(BOTH, TAIL_DROP), bias),
    ),
    Finding(
        "ack-filtering",
        "ACK filtering: more for downloads than tail drop",
        "ours, after adaptive-pushout IV-B",
        "Removing older ACKs at the access point gives downloads more.",
        "1 − ratio of the downloads' goodput",
        _less(BOTH, "ack-filtering", down_mbps),
    ),
    Finding(
        "adaptive-pushout",
        "Adaptive pushout: fairer than tail drop",
        "adaptive-pushout IV-B",
        "All of the buffer management schemes showed better fairness than the tail drop.",
        "gain in Jain's index",
        _gain(BOTH, "adaptive-pushout", TAIL_DROP, index),
        _unfair(BOTH, TAIL_DROP, index),
    ),
    Finding(
        "dqm",
        "DQM: fairer than tail drop",
        "dqm abstract, IV-A",
        "DQM can substantially improve fairness by regulating the channel access time of uplink/downlink flows.",
        "gain in Jain's index",
        _gain(BOTH, "dqm", TAIL_DROP, index),
        _unfair(BOTH, TAIL_DROP, index),
    ),
    Finding(
        "alt",
        "ALT: as much goodput at less delay",
        "alt abstract",
        "We propose an adaptive sizing algorithms which is demonstrated to be able to maintain high throughput efficiency whilst "
        "achieving low delay.",
        "1 − ratio of powers (goodput over delay)",
        _less(DOWN, "alt", power),
    ),
    Finding(
        "airtime",
        "Turns by airtime: fairer in airtime than turns by flow",
        "ours, after Linux's airtime scheduler",
        "Turns by airtime share the air equally among stations, whatever their rates.",
        "gain in Jain's index of airtime",
        _gain(SLOW, "mac80211", "fq-codel", airtime_index),
        _unfair(SLOW, "fq-codel", airtime_index),
    ),
)
