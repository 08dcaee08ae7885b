"""Claims of Sections 5.2, 7.2 and 8, Figs. 7, 8 and 11 to 13: small files against large ones, and the Web.

Claims on the COV of large files use runs in which these finished; `11-runs-end` covers the others. A ratio or a
reduction of COVs is left out with 2 hosts (`contended`).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from wifair.papers.claims import Claim, Number, Point, Relation
from wifair.papers.spm_af_las.claims.margins import MUCH
from wifair.papers.spm_af_las.measured import Measured, told
from wifair.papers.spm_af_las.study import SPM_AF, T_LAS, TAIL_DROP
from wifair.stats import Values

CURES = (SPM_AF, T_LAS)


def contended(m: Measured) -> list[int]:
    """The numbers of hosts at which the AP's buffer can overflow at all.

    With 2 hosts it cannot: a window of 20 packets and a file of 10 fit into 50 packets. Then only backoffs vary, and a
    ratio of two such COVs does not depend on queue management.
    """
    return [hosts for hosts in m.hosts if hosts > 2]


def _affected(m: Measured, hosts: int) -> Values:
    """The COV of the small files minus that without large files."""
    return m.cov(hosts, TAIL_DROP, "small") - m.cov(hosts, TAIL_DROP, "small", "small only")


def _lower(m: Measured, group: str, scheme: str) -> list[Point]:
    """COV under tail drop minus that under a scheme, for every number of hosts with contention."""
    return [
        Point(f"{scheme}, {group}, {n} hosts", m.cov(n, TAIL_DROP, group) - m.cov(n, scheme, group))
        for n in contended(m)
    ]


def _factor(m: Measured, scheme: str) -> Values:
    return m.web_average(TAIL_DROP) / m.web_average(scheme)


CLAIMS: tuple[Claim[Measured], ...] = (
    Claim(
        "7a-small-files-suffer",
        "5.2",
        "7",
        "Compared to the baseline case, the COV values increase significantly.",
        "COV of the small files, next to large ones − 1.3 times that among themselves, with every number of hosts.",
        "COV",
        lambda m: Relation(
            [
                Point(
                    f"{n} hosts",
                    m.cov(n, TAIL_DROP, "small") - MUCH * m.cov(n, TAIL_DROP, "small", "small only"),
                )
                for n in m.hosts
            ]
        ),
    ),
    Claim(
        "7a-more-with-more-hosts",
        "5.2",
        "7",
        "The performance degradation is more pronounced when there are more hosts in the wireless LAN.",
        "That increase: its rise from 2 to 10, from 10 to 20 and from 20 to 40 hosts.",
        "COV",
        lambda m: Relation(
            [Point(f"{a} to {b} hosts", _affected(m, b) - _affected(m, a)) for a, b in pairwise((2, 10, 20, 40))]
        ),
    ),
    Claim(
        "7b-large-files-hardly",
        "5.2",
        "7",
        "On the other hand, Figure 7 (b) shows that adding short-lived flows to the network has little impact on the large "
        "file transfers.",
        "COV of the large files, next to small ones over among themselves, within 0.8 to 1.2 with every number of hosts. The "
        "text prints no number.",
        "ratio",
        lambda m: Number(
            [
                Point(f"{n} hosts", m.cov(n, TAIL_DROP, "large") / m.cov(n, TAIL_DROP, "large", "large only"))
                for n in m.hosts
            ],
            1.0,
            0.2,
        ),
    ),
    Claim(
        "7-two-to-ten-times",
        "5.2",
        "7",
        "Note that the COV values of the small file transfers 2 to 10 times larger than those of the large file transfers.",
        "COV of the small files over that of the large ones, mixed, within 2 to 10 with every number of hosts but 2.",
        "ratio",
        lambda m: Number([Point(f"{n} hosts", m.small_to_large(n, TAIL_DROP)) for n in contended(m)], 6.0, 4.0),
    ),
    Claim(
        "8-short-flows-lose-more",
        "5.2",
        "8",
        "The short-lived flows have higher packet loss ratio than the long-lived flows in all cases studied.",
        "Loss ratio at the AP under tail drop, short − long, with every number of hosts.",
        "loss ratio",
        lambda m: Relation(
            [Point(f"{n} hosts", m.lost(n, TAIL_DROP, "small") - m.lost(n, TAIL_DROP, "large")) for n in m.hosts]
        ),
    ),
    Claim(
        "11a-spm-af-reduces",
        "7.2",
        "11",
        "Figure 11 (a) shows that the proposed SPM-AF scheme reduces the COV for small file transfers.",
        "COV of the small files, tail drop − SPM-AF, with every number of hosts but 2.",
        "COV",
        lambda m: Relation(_lower(m, "small", SPM_AF)),
    ),
    Claim(
        "11a-10-hosts",
        "7.2",
        "11",
        "The COV values for SPM-AF are 52.3% (10 mobile hosts) lower than for the NewReno-DropTail combination.",
        "Reduction of the COV of the small files, 10 hosts, within a tenth of the number.",
        "%",
        lambda m: Number([Point("10 hosts", m.reduction(10, SPM_AF))], 52.3, 5.23),
        52.3,
    ),
    Claim(
        "11a-40-hosts",
        "7.2",
        "11",
        "To 84.8% (40 mobile hosts) lower than for the NewReno-DropTail combination.",
        "Reduction of the COV of the small files, 40 hosts, within a tenth of the number.",
        "%",
        lambda m: Number([Point("40 hosts", m.reduction(40, SPM_AF))], 84.8, 8.48),
        84.8,
    ),
    Claim(
        "11b-spm-af-improves-large",
        "7.2",
        "11",
        "SPM-AF also improves the performance of large file transfers as shown in Figure 11 (b), though the performance "
        "advantage is relatively small.",
        "COV of the large files, tail drop − SPM-AF, with every number of hosts but 2.",
        "COV",
        lambda m: Relation(told(_lower(m, "large", SPM_AF))),
    ),
    Claim(
        "11-spm-af-comparable",
        "7.2",
        "11",
        "More importantly, as expected, SPM-AF makes the COV values comparable for small and large transfers.",
        "COV of the small files over that of the large ones, within a factor of 2 either way, with every number of hosts but "
        "2. The text prints no number.",
        "log2 of the ratio",
        lambda m: Number(
            told(Point(f"{n} hosts", np.log2(m.small_to_large(n, SPM_AF))) for n in contended(m)), 0.0, 1.0
        ),
    ),
    Claim(
        "11-spm-af-outliers",
        "7.2",
        "11",
        "The outlier transfer times are reduced or eliminated with the loss priority mechanism employed by SPM-AF.",
        "99 % quantile of the small files' times, tail drop − SPM-AF, with every number of hosts but 2.",
        "s",
        lambda m: Relation(
            [
                Point(
                    f"{n} hosts",
                    m.files(n, TAIL_DROP).transfers("p99_s", "small") - m.files(n, SPM_AF).transfers("p99_s", "small"),
                )
                for n in contended(m)
            ]
        ),
    ),
    Claim(
        "11a-t-las-reduces",
        "7.2",
        "11",
        "All small file transfers experience comparable transfer time, achieving smaller COV values compared with the "
        "conventional NewReno-DropTail scheme.",
        "COV of the small files, tail drop − T-LAS, with every number of hosts but 2.",
        "COV",
        lambda m: Relation(_lower(m, "small", T_LAS)),
    ),
    Claim(
        "11-runs-end",
        "5.2",
        "11",
        "The small file transfers are repeated over and over until all large file transfers are finished.",
        "Pace of the large files − a tenth of their pace under tail drop, SPM-AF and T-LAS, with every number of hosts: ten "
        "times slower is taken for a run that does not end. Runs are cut at 8 s for each large file "
        "(tail drop takes 3 to 4); the pace of a run that was cut is that until the cut.",
        "share of the pace beyond a tenth",
        lambda m: Relation(
            [
                Point(f"{scheme}, {n} hosts", 1.0 / m.large_slowdown(n, scheme) - 0.1)
                for scheme in CURES
                for n in m.hosts
            ]
        ),
    ),
    Claim(
        "11-t-las-fair-to-both",
        "7.2",
        "11",
        "As shown in Figure 11, T-LAS achieves fairness for both small file transfers and large file transfers.",
        "COV of the small files over that of the large ones, within a factor of 2 either way, with every number of hosts but 2 "
        'at which the large ones were finished: "comparable COV values" are what Section 5.2 means by equal treatment.',
        "log2 of the ratio",
        lambda m: Number(
            told(Point(f"{n} hosts", np.log2(m.small_to_large(n, T_LAS))) for n in contended(m)), 0.0, 1.0
        ),
    ),
    Claim(
        "12-losses-transformed",
        "7.2",
        "12",
        "Figure 12 clearly indicates that SPM-AF and T-LAS queue management dramatically transform the relative packet loss "
        "rates for the short-lived flows and long-lived flows.",
        "Loss ratio at the AP, long − 1.3 times short, with every number of hosts but 2, both schemes: the order of Fig. 8 is "
        "turned round.",
        "loss ratio",
        lambda m: Relation(
            [
                Point(f"{scheme}, {n} hosts", m.lost(n, scheme, "large") - MUCH * m.lost(n, scheme, "small"))
                for scheme in CURES
                for n in contended(m)
            ]
        ),
    ),
    Claim(
        "12-t-las-near-zero",
        "7.2",
        "12",
        "When using T-LAS scheduling, the packet loss rate for small file transfers is near zero for most cases studied.",
        "Loss ratio of the short flows under T-LAS, median over the numbers of hosts, below 0.01.",
        "loss ratio",
        lambda m: Number([Point("median", np.median([m.lost(n, T_LAS, "small") for n in m.hosts], axis=0))], 0.0, 0.01),
    ),
    Claim(
        "13-spm-af-factor",
        "7.2",
        "13",
        "Compared to NewReno-DropTail, the SPM-AF scheme reduces the average COV value by a factor of 4.",
        "Mean over the sizes of the COV of the documents' times, tail drop over SPM-AF, within a tenth of 4.",
        "ratio",
        lambda m: Number([Point("factor", _factor(m, SPM_AF))], 4.0, 0.4),
        4.0,
    ),
    Claim(
        "13-t-las-factor",
        "7.2",
        "13",
        "While T-LAS scheduling reduces the COV by about a factor of 5.",
        'Mean over the sizes of the COV of the documents\' times, tail drop over T-LAS, within a fifth of 5 ("about").',
        "ratio",
        lambda m: Number([Point("factor", _factor(m, T_LAS))], 5.0, 1.0),
        5.0,
    ),
    Claim(
        "8-half-or-more",
        "8",
        "11",
        "SPM-AF and LAS reduce the variability of transfer times for small files by 50% or more.",
        "Reduction of the COV of the small files − 50 %, SPM-AF and T-LAS, with every number of hosts but 2.",
        "percentage points beyond 50",
        lambda m: Relation(
            [Point(f"{scheme}, {n} hosts", m.reduction(n, scheme) - 50.0) for scheme in CURES for n in contended(m)]
        ),
    ),
    Claim(
        "8-large-files-keep-their-throughput",
        "8",
        "11",
        "While maintaining the throughput of large file transfers.",
        "Mean time of a large file, SPM-AF and T-LAS over tail drop, within 0.9 to 1.1 with every number of hosts; in runs that "
        "were cut, at the pace until then.",
        "ratio",
        lambda m: Number(
            [Point(f"{scheme}, {n} hosts", m.large_slowdown(n, scheme)) for scheme in CURES for n in m.hosts], 1.0, 0.1
        ),
    ),
)
