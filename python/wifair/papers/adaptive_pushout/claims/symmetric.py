"""Claims of Section IV-B, Figs. 3 and 4: as many uplink as downlink flows."""

from __future__ import annotations

from dataclasses import replace

from wifair.papers.adaptive_pushout.claims.evidence import MUCH
from wifair.papers.adaptive_pushout.measured import Measured
from wifair.papers.adaptive_pushout.study import (
    ACK_PUSHOUT,
    ADAPTIVE,
    AF,
    SCHEMES,
    SPM_AF,
    TAIL_DROP,
    THE_FOUR,
    TWENTY,
)
from wifair.papers.claims import Claim, Formerly, Number, Point, Relation
from wifair.papers.evidence import above
from wifair.stats import ratio

CLAIMS: tuple[Claim[Measured], ...] = (
    Claim(
        "3a-all-beat-tail-drop",
        "IV-B",
        "3a",
        "All of the buffer management schemes showed better fairness than the tail drop.",
        "Fairness index, each of the four over tail drop, at every n.",
        "index",
        lambda m: Relation([p for scheme in THE_FOUR for p in above(m.index, m.symmetric, scheme, [TAIL_DROP])]),
    ),
    Claim(
        "3a-adaptive-best",
        "IV-B",
        "3a",
        "The adaptive pushout showed the best performance.",
        "Fairness index, adaptive pushout over each of the other four curves, at every n.",
        "index",
        lambda m: Relation(above(m.index, m.symmetric, ADAPTIVE, SCHEMES)),
    ),
    Claim(
        "3a-spm-af-worst",
        "IV-B",
        "3a",
        "Among the four schemes, SPM-AF was the worst.",
        "Fairness index, each of the other three over SPM-AF, at every n.",
        "index",
        lambda m: Relation(
            [p for scheme in (AF, ACK_PUSHOUT, ADAPTIVE) for p in above(m.index, m.symmetric, scheme, [SPM_AF])]
        ),
    ),
    Claim(
        "3a-spm-af-lowers-uplinks",
        "IV-B",
        "3a",
        "Because SPM-AF assigned priority to data segments over ACK segments in the simulation, which largely lowered "
        "the throughputs of all uplink flows.",
        "The priority is all that differs from AF: even the greatest uplink throughput under SPM-AF stays below half of the "
        "mean one under AF, at every n.",
        "Mbps",
        lambda m: Relation(
            [Point(str(x), m.up(x, AF).mean(axis=1) / MUCH - m.up(x, SPM_AF).max(axis=1)) for x in m.symmetric]
        ),
        formerly=Formerly(
            "trend only",
            "The priority is all that differs from AF: even the greatest uplink throughput under SPM-AF stays below the mean "
            "one under AF, at every n.",
            lambda m: Relation(
                [Point(str(x), m.up(x, AF).mean(axis=1) - m.up(x, SPM_AF).max(axis=1)) for x in m.symmetric]
            ),
        ),
    ),
    Claim(
        "3a-af-beats-ack-pushout",
        "IV-B",
        "3a",
        "The AF outperformed the ACK pushout.",
        "Fairness index at every n.",
        "index",
        lambda m: Relation(above(m.index, m.symmetric, AF, [ACK_PUSHOUT])),
    ),
    Claim(
        "3a-af-triggers-timeouts",
        "IV-B",
        "3a",
        "The former drops all redundant ACKs, which sometimes triggers the timeouts of uplink flows.",
        "Timeouts of an uplink flow a minute, AF over ACK pushout, at every n.",
        "timeouts per flow and minute",
        lambda m: Relation(
            above(lambda x, scheme: m.per_minute(x, scheme, "timeouts", "up"), m.symmetric, AF, [ACK_PUSHOUT])
        ),
    ),
    Claim(
        "3a-af-mitigates-asymmetry",
        "IV-B",
        "3a",
        "It would mitigate the packet-drop asymmetry, which is a drawback of the ACK pushout.",
        "Loss ratio of data − that of ACKs at the AP (redundant ones aside), ACK pushout over AF, at every n.",
        "difference of loss ratios",
        lambda m: Relation(
            above(lambda x, s: m.lost(x, s, "data") - m.lost(x, s, "ack"), m.symmetric, ACK_PUSHOUT, [AF])
        ),
    ),
    Claim(
        "3b-uplinks-win",
        "IV-B",
        "3b",
        "Under the ACK pushout or the AF, uplink flows obtained larger throughput than downlink flows.",
        "Sum of the uplink throughputs − sum of the downlink throughputs, both schemes, at every n.",
        "Mbps",
        lambda m: Relation(
            [
                Point(f"{scheme} at {x}", -m.down_minus_up(x, scheme) * x.up)
                for scheme in (ACK_PUSHOUT, AF)
                for x in m.symmetric
            ]
        ),
    ),
    Claim(
        "3b-spm-af-downlinks-win",
        "IV-B",
        "3b",
        "While under the SPM-AF downlink flows obtained larger throughput than uplink flows.",
        "Sum of the downlink throughputs − sum of the uplink throughputs, at every n.",
        "Mbps",
        lambda m: Relation([Point(str(x), m.down_minus_up(x, SPM_AF) * x.up) for x in m.symmetric]),
    ),
    Claim(
        "3b-adaptive-almost-the-same",
        "IV-B",
        "3b",
        "Under the operation of the adaptive pushout, the uplink and downlink flows obtained almost the same "
        "throughputs.",
        "Ratio of the downlink sum to the uplink sum within 0.9 to 1.1, at every n. The text prints no number.",
        "ratio",
        lambda m: Number(
            [Point(str(x), ratio(m.down(x, ADAPTIVE).sum(axis=1), m.up(x, ADAPTIVE).sum(axis=1))) for x in m.symmetric],
            target=1.0,
            tolerance=0.1,
        ),
    ),
    Claim(
        "4-solves-both",
        "IV-B",
        "4",
        "These figures also confirm that the adaptive pushout solves the two types of unfairness problems (one among "
        "uplink flows and one between uplink and downlink flows) in the most satisfactory way.",
        "20 flows: adaptive pushout over each of the others in the index among uplinks and in the balance of the "
        "directions (Jain's index of the two mean throughputs).",
        "index",
        lambda m: Relation(
            [
                replace(point, label=f"{of}: {point.label}")
                for of, index in (("among uplinks", m.index_up), ("between directions", m.balance))
                for point in above(index, [TWENTY], ADAPTIVE, SCHEMES)
            ]
        ),
    ),
)
