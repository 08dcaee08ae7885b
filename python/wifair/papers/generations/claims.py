"""The headline findings of five papers, and their sizes by generation.

Rules:

- A finding is an effect of at most 1: a difference of Jain's indexes, a share, or 1 minus a ratio. Up to 0.05 it counts as none, as
  an index from 0.95 on counts as near 1 in the studies of `adaptive-pushout` and `dqm`.
- It is compared with its size on the generation of its paper, with the paper's numbers: 802.11b, for `alt` 802.11g. "Survives" and
  "fades" lie on either side of half of that.
- A cure whose gain is none has "nothing to cure" where the distance of tail drop's index from 1 counts as none too; else the cure
  fails, and is "gone". This distinction came after the first results. What a cure of transfer times or of delay could gain at most is not
  known, so there it is not made.
- The generation of the paper with the paper's numbers is what the others are compared with, and no claim.
- Schemes are compared under common random numbers, so an effect has one value per seed. Generations are independent.
- Every verdict is at 95 %, and there are findings × generations × scalings of them, so a few are wrong by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wifair.papers.claims import Claim, Effect, Point
from wifair.papers.generations.air import GENERATIONS, PACKETS, SCALINGS, Generation
from wifair.papers.generations.measured import Air, Measured
from wifair.papers.generations.study import (
    ADAPTIVE,
    AF,
    ALT,
    ARF_AWARE,
    DQM,
    FAST,
    FILES,
    FIVE_AND_FIVE,
    FIVE_AND_FIVE_ECN,
    LAS,
    MOSTLY_DOWN,
    PAIR_DOWN,
    PAIR_UP,
    SLOW,
    SPM_AF,
    T_LAS,
    TAIL_DROP,
    TEN_AND_TEN,
    TEN_DOWNLOADS,
    home,
)
from wifair.stats import Values, ratio

NEGLIGIBLE = 0.05
IN_WORDS = {PACKETS: "packets as printed", "time": "scaled in time"}


@dataclass(frozen=True)
class Finding:
    """A paper's headline: its sentence, and its size as `effect` in `unit`, measured in one part of the grid."""

    id: str
    title: str
    source: str
    statement: str
    unit: str
    part: str
    effect: Callable[[Air], Values]
    # What there is to cure, of a cure.
    to_cure: Callable[[Air], Values] | None = None


def _unfair(part: str, scheme: str = TAIL_DROP) -> Callable[[Air], Values]:
    return lambda air: 1.0 - air.index(part, scheme)


def _gain(part: str, scheme: str, over: str = TAIL_DROP) -> Callable[[Air], Values]:
    return lambda air: air.index(part, scheme) - air.index(part, over)


def _less(part: str, scheme: str, column: str) -> Callable[[Air], Values]:
    return lambda air: 1.0 - ratio(air.transfers(part, scheme, column), air.transfers(part, TAIL_DROP, column))


def _lost_to_a_slow_station(part: str) -> Callable[[Air], Values]:
    return lambda air: 1.0 - ratio(air.fast_mbps(part, SLOW), air.fast_mbps(part, FAST))


INDEX = "gain in Jain's index"
FINDINGS = (
    Finding(
        "directions",
        "Tail drop: uploads starve downloads",
        "adaptive-pushout I; spm-af-las 5.1; dqm I",
        "Each individual downlink flow gets lower bandwidth than each individual uplink flow gets.",
        "(up − down) / (up + down)",
        TEN_AND_TEN,
        lambda air: air.bias(TEN_AND_TEN, TAIL_DROP),
    ),
    Finding(
        "ack-filtering",
        "ACK filtering is fairer than tail drop",
        "adaptive-pushout IV-B",
        "All of the buffer management schemes showed better fairness than the tail drop.",
        INDEX,
        TEN_AND_TEN,
        _gain(TEN_AND_TEN, AF),
        _unfair(TEN_AND_TEN),
    ),
    Finding(
        "adaptive-pushout",
        "Adaptive pushout is fairer than tail drop",
        "adaptive-pushout IV-B",
        "All of the buffer management schemes showed better fairness than the tail drop, and the adaptive pushout showed the best "
        "performance.",
        INDEX,
        TEN_AND_TEN,
        _gain(TEN_AND_TEN, ADAPTIVE),
        _unfair(TEN_AND_TEN),
    ),
    Finding(
        "adaptive-over-filtering",
        "Adaptive pushout is fairer than ACK filtering",
        "adaptive-pushout abstract, IV-C",
        "The adaptive pushout greatly improves the fairness compared with existing proposals.",
        f"{INDEX}, 6 up and 14 down",
        MOSTLY_DOWN,
        _gain(MOSTLY_DOWN, ADAPTIVE, AF),
        _unfair(MOSTLY_DOWN, AF),
    ),
    Finding(
        "spm-af",
        "SPM-AF is fairer than tail drop",
        "spm-af-las 7.1",
        "The proposed approaches improve the fairness index significantly, especially when the buffer size is small.",
        INDEX,
        FIVE_AND_FIVE,
        _gain(FIVE_AND_FIVE, SPM_AF),
        _unfair(FIVE_AND_FIVE),
    ),
    Finding(
        "las",
        "LAS is fairer than tail drop",
        "spm-af-las 7.1",
        "LAS scheduling provides the best fairness.",
        INDEX,
        FIVE_AND_FIVE,
        _gain(FIVE_AND_FIVE, LAS),
        _unfair(FIVE_AND_FIVE),
    ),
    Finding(
        "spm-af-small",
        "SPM-AF: small files vary less",
        "spm-af-las 7.2, 8",
        "SPM-AF and LAS reduce the variability of transfer times for small files by 50% or more.",
        "1 − ratio of coefficients of variation",
        FILES,
        _less(FILES, SPM_AF, "cov"),
    ),
    Finding(
        "t-las-small",
        "T-LAS: small files vary less",
        "spm-af-las 7.2, 8",
        "SPM-AF and LAS reduce the variability of transfer times for small files by 50% or more.",
        "1 − ratio of coefficients of variation",
        FILES,
        _less(FILES, T_LAS, "cov"),
    ),
    Finding(
        "short-behind-long",
        "T-LAS: small files are faster",
        "spm-af-las 6.2",
        "LAS gives higher priority to flows that have received less service relative to other flows.",
        "1 − ratio of mean transfer times",
        FILES,
        _less(FILES, T_LAS, "mean_s"),
    ),
    Finding(
        "alt",
        "ALT: as much goodput at less delay",
        "alt abstract",
        "We propose an adaptive sizing algorithms which is demonstrated to be able to maintain high throughput efficiency whilst "
        "achieving low delay.",
        "1 − ratio of powers (goodput over delay)",
        TEN_DOWNLOADS,
        lambda air: 1.0 - ratio(air.power(TEN_DOWNLOADS, TAIL_DROP), air.power(TEN_DOWNLOADS, ALT)),
    ),
    Finding(
        "dqm",
        "DQM is fairer than tail drop",
        "dqm abstract, IV-A",
        "DQM can substantially improve fairness by regulating the channel access time of uplink/downlink flows.",
        INDEX,
        FIVE_AND_FIVE_ECN,
        _gain(FIVE_AND_FIVE_ECN, DQM),
        _unfair(FIVE_AND_FIVE_ECN),
    ),
    Finding(
        "arf-aware",
        "ARF-aware TCP: fair in time",
        "arf-aware-tcp abstract",
        "By adjusting the congestion window size during a RTT period, we can get high fairness.",
        "gain in Jain's index of goodput over link rate",
        PAIR_DOWN,
        lambda air: air.index_in_time(PAIR_DOWN, ARF_AWARE) - air.index_in_time(PAIR_DOWN, SLOW),
        lambda air: 1.0 - air.index_in_time(PAIR_DOWN, SLOW),
    ),
    Finding(
        "anomaly-down",
        "One slow station: what a fast one loses, downloads",
        "arf-aware-tcp 1; dqm IV-B",
        "The performance of a faster node is seriously degraded by the neighbor nodes that operate at slower rate.",
        "1 − goodput next to a slow / a fast station",
        PAIR_DOWN,
        _lost_to_a_slow_station(PAIR_DOWN),
    ),
    Finding(
        "anomaly-up",
        "One slow station: what a fast one loses, uploads",
        "arf-aware-tcp 1",
        "The performance of a faster node is seriously degraded by the neighbor nodes that operate at slower rate.",
        "1 − goodput next to a slow / a fast station",
        PAIR_UP,
        _lost_to_a_slow_station(PAIR_UP),
    ),
)


def effect(finding: Finding, air: Air) -> Effect:
    """The finding's size on this generation, and on its paper's."""
    origin = home(finding.part)
    there = Air(air.runs, origin, PACKETS)
    return Effect(
        Point(f"{air.generation}, {IN_WORDS[air.scaling]}", finding.effect(air)),
        Point(f"on {origin}", finding.effect(there)),
        NEGLIGIBLE,
        Point("to cure", finding.to_cure(air)) if finding.to_cure else None,
    )


def _claim(finding: Finding, generation: Generation, scaling: str) -> Claim[Measured]:
    return Claim(
        id=f"{finding.id}/{generation}/{scaling}",
        section=finding.source,
        figure="survival",
        statement=finding.statement,
        reading=f"{finding.title}; {generation}, {IN_WORDS[scaling]}: {finding.unit}.",
        unit=finding.unit,
        evidence=lambda m: effect(finding, m.at(generation, scaling)),
    )


CLAIMS: tuple[Claim[Measured], ...] = tuple(
    _claim(finding, generation, scaling)
    for finding in FINDINGS
    for scaling in SCALINGS
    for generation in GENERATIONS
    if generation is not home(finding.part)
)
