"""Former rules of claims, each with its verdict then, and as code, so that it is judged on the present runs."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from wifair.papers.claims import Formerly, Number, Point, Relation
from wifair.papers.evidence import above
from wifair.papers.spm_af_las.measured import Measured, told
from wifair.papers.spm_af_las.study import (
    BUFFERS,
    FILE_SCHEMES,
    LAS,
    SPM_AF,
    T_LAS,
    TAIL_DROP,
    UNFAIR_BUFFERS,
)
from wifair.stats import Values, jain_rows, ratio

THE_TWO, CURES = (SPM_AF, LAS), (SPM_AF, T_LAS)
ONE, TWO = "1 up, 1 down", "2 up, 2 down"


def _between(m: Measured, case: str, column: str, higher: str, lower: str) -> Relation:
    """The mean of a column over the flows of a direction minus that of the other direction."""
    of = {way: m.measured(case).flows(column, direction=way).mean(axis=1) for way in (higher, lower)}
    return Relation([Point(f"{higher} over {lower}", of[higher] - of[lower])])


def _lower(m: Measured, column: str, group: str, scheme: str) -> list[Point]:
    """A statistic of the transfer times under tail drop minus that under a scheme, for every number of hosts."""
    return [
        Point(
            f"{scheme}, {group}, {n} hosts",
            m.transfers(column, n, TAIL_DROP, group) - m.transfers(column, n, scheme, group),
        )
        for n in m.hosts
    ]


def _rising(m: Measured, scheme: str) -> Values:
    """Share of the steps from buffer to buffer at which the index rises, less one half."""
    rises = [m.index(b, scheme) > m.index(a, scheme) for a, b in pairwise(BUFFERS)]
    found: Values = np.mean(rises, axis=0) - 0.5
    return found


def _removed_less(m: Measured) -> list[Point]:
    steps = ((10, 80), (80, 150))
    return [Point(f"{a} to {b} packets", m.removed(a, TAIL_DROP) - m.removed(b, TAIL_DROP)) for a, b in steps]


def _seconds_over_tail_drop(m: Measured, hosts: int, scheme: str) -> Values:
    """Mean time of the large files that were finished, over tail drop's."""
    theirs, tail_drop = (m.files(hosts, name).transfers("mean_s", "large") for name in (scheme, TAIL_DROP))
    return ratio(theirs, tail_drop)


FORMERLY: dict[str, Formerly[Measured]] = {
    "3-downstream-wins": Formerly(
        "reproduced",
        "Goodput, downlink − uplink.",
        lambda m: _between(m, ONE, "goodput_mbps", "down", "up"),
    ),
    "3-own-queue-delays": Formerly(
        "reproduced",
        "Mean round trip, uplink − downlink.",
        lambda m: _between(m, ONE, "rtt_mean_ms", "up", "down"),
    ),
    "4-upstream-wins": Formerly(
        "reproduced",
        "Mean goodput, uplink − downlink.",
        lambda m: _between(m, TWO, "goodput_mbps", "up", "down"),
    ),
    "7a-small-files-suffer": Formerly(
        "reproduced",
        "COV of the small files, next to large ones over among themselves, with every number of hosts.",
        lambda m: Relation(
            [
                Point(f"{n} hosts", m.cov(n, TAIL_DROP, "small") - m.cov(n, TAIL_DROP, "small", "small only"))
                for n in m.hosts
            ]
        ),
    ),
    "7-two-to-ten-times": Formerly(
        "not reproduced",
        "COV of the small files over that of the large ones, mixed, within 2 to 10 with every number of hosts.",
        lambda m: Number([Point(f"{n} hosts", m.small_to_large(n, TAIL_DROP)) for n in m.hosts], 6.0, 4.0),
    ),
    "11a-spm-af-reduces": Formerly(
        "trend only",
        "COV of the small files, tail drop − SPM-AF, with every number of hosts.",
        lambda m: Relation(_lower(m, "cov", "small", SPM_AF)),
    ),
    "11b-spm-af-improves-large": Formerly(
        "not reproduced",
        "COV of the large files, tail drop − SPM-AF, with every number of hosts.",
        lambda m: Relation(told(_lower(m, "cov", "large", SPM_AF))),
    ),
    "11-spm-af-comparable": Formerly(
        "not reproduced",
        "COV of the small files over that of the large ones, within a factor of 2 either way, with every "
        "number of hosts. The text prints no number.",
        lambda m: Number(told(Point(f"{n} hosts", np.log2(m.small_to_large(n, SPM_AF))) for n in m.hosts), 0.0, 1.0),
    ),
    "11-spm-af-outliers": Formerly(
        "trend only",
        "99 % quantile of the small files' times, tail drop − SPM-AF, with every number of hosts.",
        lambda m: Relation(_lower(m, "p99_s", "small", SPM_AF)),
    ),
    "11a-t-las-reduces": Formerly(
        "reproduced",
        "COV of the small files, tail drop − T-LAS, with every number of hosts.",
        lambda m: Relation(_lower(m, "cov", "small", T_LAS)),
    ),
    "11-runs-end": Formerly(
        "not reproduced",
        "Share of the hosts with large files that have not loaded all of them when the run is cut (8 s for "
        "each of their files), below 0.01 under each scheme with every number of hosts.",
        lambda m: Number(
            [Point(f"{scheme}, {n} hosts", m.unfinished(n, scheme)) for scheme in FILE_SCHEMES for n in m.hosts],
            0.0,
            0.01,
        ),
    ),
    "11-t-las-fair-to-both": Formerly(
        "trend only",
        "COV of the small and of the large files, tail drop − T-LAS, with every number of hosts.",
        lambda m: Relation(told(point for group in ("small", "large") for point in _lower(m, "cov", group, T_LAS))),
    ),
    "12-losses-transformed": Formerly(
        "trend only",
        "Loss ratio at the AP, long − short, with every number of hosts, both schemes: the order of Fig. 8 "
        "is turned round.",
        lambda m: Relation(
            [
                Point(f"{scheme}, {n} hosts", m.lost(n, scheme, "large") - m.lost(n, scheme, "small"))
                for scheme in CURES
                for n in m.hosts
            ]
        ),
    ),
    "8-half-or-more": Formerly(
        "trend only",
        "Reduction of the COV of the small files − 50 %, SPM-AF and T-LAS, with every number of hosts.",
        lambda m: Relation(
            [Point(f"{scheme}, {n} hosts", m.reduction(n, scheme) - 50.0) for scheme in CURES for n in m.hosts]
        ),
    ),
    "8-large-files-keep-their-throughput": Formerly(
        "not reproduced",
        "Mean time of a large file, SPM-AF and T-LAS over tail drop, within 0.9 to 1.1 with every number of hosts.",
        lambda m: Number(
            told(
                Point(f"{scheme}, {n} hosts", _seconds_over_tail_drop(m, n, scheme))
                for scheme in CURES
                for n in m.hosts
            ),
            1.0,
            0.1,
        ),
    ),
    "6-uplinks-win": Formerly(
        "reproduced",
        "Mean goodput of an uplink flow − twice that of a downlink flow, at every buffer up to 100 packets."
        " The text prints no number: twice is taken for much.",
        lambda m: Relation(
            [
                Point(f"{b} packets", m.mean(b, TAIL_DROP, "up") - 2.0 * m.mean(b, TAIL_DROP, "down"))
                for b in UNFAIR_BUFFERS
            ]
        ),
    ),
    "6-losses-fall": Formerly(
        "reproduced",
        "Loss ratio under tail drop: its fall from 10 to 80 and from 80 to 150 packets.",
        lambda m: Relation(_removed_less(m)),
    ),
    "las-unfair-to-long-flows": Formerly(
        "reproduced",
        "The same scenario: fairness index of the five flows, tail drop and T-LAS over LAS.",
        lambda m: Relation(
            [
                Point(f"{scheme} over {LAS}", jain_rows(m.newcomer(scheme)) - jain_rows(m.newcomer(LAS)))
                for scheme in (TAIL_DROP, T_LAS)
            ]
        ),
    ),
    "9b-rises-with-the-buffer": Formerly(
        "trend only",
        '"This result is consistent for most cases studied": share of the steps from buffer to buffer at '
        "which the index rises, above one half, for tail drop, SPM-AF and LAS.",
        lambda m: Relation([Point(scheme, _rising(m, scheme)) for scheme in (TAIL_DROP, *THE_TWO)]),
    ),
    "9b-both-improve": Formerly(
        "reproduced",
        "Fairness index, SPM-AF and LAS over tail drop, at every buffer up to 100 packets.",
        lambda m: Relation([p for scheme in THE_TWO for p in above(m.index, UNFAIR_BUFFERS, scheme, [TAIL_DROP])]),
    ),
    "9b-gains-as-concluded": Formerly(
        "not reproduced",
        "The same two gains, within 20 to 40 %. (Section 7.1 has 44 % for LAS.)",
        lambda m: Number([Point(scheme, m.average_gain(scheme, BUFFERS)) for scheme in THE_TWO], 30.0, 10.0),
    ),
    "9b-fewer-timeouts": Formerly(
        "reproduced",
        "Timeouts of the downlink flows for each 1000 segments, tail drop − SPM-AF, at every buffer up to 100 packets.",
        lambda m: Relation(
            [
                Point(f"{b} packets", m.timeouts_per_segment(b, TAIL_DROP) - m.timeouts_per_segment(b, SPM_AF))
                for b in UNFAIR_BUFFERS
            ]
        ),
    ),
}
