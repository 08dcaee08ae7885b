"""Claims of Section IV-C, Figs. 5 and 6: 20 flows, 2 to 18 of them downlink flows (Table II)."""

from __future__ import annotations

import numpy as np

from wifair.papers.adaptive_pushout.claims.evidence import FEWEST_DOWN, steps, turning_point
from wifair.papers.adaptive_pushout.measured import Measured
from wifair.papers.adaptive_pushout.study import (
    ACK_PUSHOUT,
    ADAPTIVE,
    AF,
    FIG_6,
    FIG_6_AS_TEXT,
    SCHEMES,
    SPM_AF,
    TABLE_II,
    THE_FOUR,
    Mix,
)
from wifair.papers.claims import Claim, Dropped, Formerly, Number, Point, Relation
from wifair.papers.evidence import above, mean_above, peak
from wifair.stats import Values, ratio

# n_down of the paper's turning point and of the peak of the index.
TURNING = {AF: Mix(up=14, down=6), ACK_PUSHOUT: Mix(up=16, down=4)}


def _fewer_down(scheme: str) -> list[Mix]:
    return [mix for mix in TABLE_II if mix.down < TURNING[scheme].down]


def _more_down(scheme: str) -> list[Mix]:
    return [mix for mix in TABLE_II if mix.down > TURNING[scheme].down]


def _per_flow(m: Measured, direction: str, mix: Mix, scheme: str) -> Values:
    values = m.up(mix, scheme) if direction == "up" else m.down(mix, scheme)
    mean: Values = values.mean(axis=1)
    return mean


def _directions(m: Measured, scheme: str, sign: int, directions: tuple[str, ...]) -> list[Point]:
    """The steps of one or both curves of Fig. 5(b), along n_down."""
    points = []
    for direction in directions:
        for point in steps(lambda x, s, d=direction: _per_flow(m, d, x, s), TABLE_II, scheme, sign):  # type: ignore[misc]
            points.append(Point(f"{direction}links, {point.label}", point.values))
    return points


def _flatness(m: Measured) -> list[Point]:
    """Each point of adaptive pushout's two curves, relative to its curve's mean in the same run."""
    points = []
    for direction in ("up", "down"):
        curve = [_per_flow(m, direction, mix, ADAPTIVE) for mix in TABLE_II]
        mean = np.mean(curve, axis=0)
        points += [
            Point(f"{direction}links at {mix}", ratio(values, mean))
            for mix, values in zip(TABLE_II, curve, strict=True)
        ]
    return points


def _flatness_over_all(m: Measured) -> list[Point]:
    """The mean throughput over all twenty flows at each mix, relative to its mean over the mixes in the same run."""
    curve = [m.throughputs(mix, ADAPTIVE).mean(axis=1) for mix in TABLE_II]
    mean = np.mean(curve, axis=0)
    return [Point(str(mix), ratio(values, mean)) for mix, values in zip(TABLE_II, curve, strict=True)]


def _timeouts_per_lost_ack(m: Measured, scheme: str, mix: Mix) -> Values:
    """Timeouts of the uplink flows for each ACK lost at the AP, redundant ACKs aside."""
    return ratio(m.total(mix, scheme, "timeouts", "up"), m.lost_packets(mix, scheme, "ack"))


def _timeout_share(m: Measured, scheme: str, direction: str, mix: Mix) -> Values:
    """Timeouts as a share of the loss recoveries (timeouts and fast retransmits) of a direction."""
    timeouts = m.total(mix, scheme, "timeouts", direction)
    return ratio(timeouts, timeouts + m.total(mix, scheme, "fast_retransmits", direction))


CLAIMS: tuple[Claim[Measured], ...] = (
    Claim(
        "5a-adaptive-best",
        "IV-C",
        "5a",
        "The adaptive pushout showed the best performance for all combinations of n_down and n_up except when "
        "(n_down, n_up) = (2, 18), at which the ACK pushout shows the best performance.",
        "Fairness index, adaptive pushout over each of the other three, at every mix of Table II but (2, 18).",
        "index",
        lambda m: Relation(above(m.index, [x for x in TABLE_II if x != FEWEST_DOWN], ADAPTIVE, THE_FOUR)),
    ),
    Claim(
        "5a-ack-pushout-best-at-2-18",
        "IV-C",
        "5a",
        "Except when (n_down, n_up) = (2, 18), at which the ACK pushout shows the best performance.",
        "Fairness index, ACK pushout over each of the other three.",
        "index",
        lambda m: Relation(above(m.index, [FEWEST_DOWN], ACK_PUSHOUT, THE_FOUR)),
    ),
    Claim(
        "5a-af-peak",
        "IV-C",
        "5a",
        "Under the AF, the fairness index attains its maximum when (n_down, n_up) = (6, 14).",
        "Fairness index there over that at each other mix of Table II.",
        "index",
        lambda m: peak(m.index, TABLE_II, AF, TURNING[AF]),
    ),
    Claim(
        "5a-ack-pushout-peak",
        "IV-C",
        "5a",
        "Under the ACK pushout it attains its maximum when (n_down, n_up) = (4, 16).",
        "Fairness index there over that at each other mix of Table II.",
        "index",
        lambda m: peak(m.index, TABLE_II, ACK_PUSHOUT, TURNING[ACK_PUSHOUT]),
    ),
    Claim(
        "5a-redundant-acks-decrease",
        "IV-C",
        "5a",
        "Redundant ACKs in the buffer decreases as n_down increases when n_down + n_up is kept constant.",
        "ACK pushout: the share of the arrivals at a full buffer that find a redundant ACK falls from each mix of Table "
        "II to the next.",
        "share of arrivals at a full buffer",
        lambda m: Relation(steps(m.redundant_found, TABLE_II, ACK_PUSHOUT, -1)),
    ),
    Claim(
        "5a-full-without-redundant",
        "IV-C",
        "5a",
        "Thus, packets (data and ACK segments) more frequently encounter the full buffer with no redundant ACK as "
        "n_down increases.",
        "AF and ACK pushout: the share of all packets offered to the AP that is lost there (not as redundant) rises "
        "from each mix of Table II to the next.",
        "share of packets",
        lambda m: Relation(
            [p for s in (AF, ACK_PUSHOUT) for p in steps(lambda x, y: m.lost(x, y, "all"), TABLE_II, s, 1)]
        ),
    ),
    Claim(
        "5a-few-drops-fast-retransmit",
        "IV-C",
        "5a",
        "When data segments are less frequently dropped, the drop of a data segment triggers the three duplicate ACKs "
        "and the congestion window of a downlink flow becomes half.",
        "AF and ACK pushout, mixes with fewer downlink flows than the turning point: of the loss recoveries of the "
        "downlink flows, less than half are timeouts.",
        "share of recoveries below 0.5",
        lambda m: Relation(
            [
                Point(f"{s} at {x}", 0.5 - _timeout_share(m, s, "down", x))
                for s in (AF, ACK_PUSHOUT)
                for x in _fewer_down(s)
            ]
        ),
    ),
    Claim(
        "5a-ack-drops-time-out",
        "IV-C",
        "5a",
        "While the drop of ACKs triggers the time out, making the congestion window of an uplink flow one.",
        "AF and ACK pushout, same mixes: the uplink flows have more than one timeout for every two ACKs that the AP loses, "
        "redundant ACKs aside.",
        "timeouts per lost ACK beyond 0.5",
        lambda m: Relation(
            [
                Point(f"{s} at {x}", _timeouts_per_lost_ack(m, s, x) - 0.5)
                for s in (AF, ACK_PUSHOUT)
                for x in _fewer_down(s)
            ]
        ),
        formerly=Formerly(
            "reproduced",
            "AF and ACK pushout, same mixes: of the loss recoveries of the uplink flows, more than half are timeouts.",
            lambda m: Relation(
                [
                    Point(f"{s} at {x}", _timeout_share(m, s, "up", x) - 0.5)
                    for s in (AF, ACK_PUSHOUT)
                    for x in _fewer_down(s)
                ]
            ),
        ),
    ),
    Claim(
        "5a-few-drops-downlinks-win",
        "IV-C",
        "5a",
        "Thus, the downlink flows are likely to obtain larger throughput than the uplink flows.",
        "AF and ACK pushout, mixes with fewer downlink flows than the turning point: mean throughput of a downlink flow "
        "over that of an uplink flow.",
        "Mbps per flow",
        lambda m: Relation(
            [Point(f"{s} at {x}", m.down_minus_up(x, s)) for s in (AF, ACK_PUSHOUT) for x in _fewer_down(s)]
        ),
    ),
    Claim(
        "5a-many-drops-time-out",
        "IV-C",
        "5a",
        "However, when data segments are frequently dropped, the drop of a data segment would also trigger the time out "
        "as well as the ACK-segment drop.",
        "AF and ACK pushout: the share of timeouts in the loss recoveries of the downlink flows is greater at each mix "
        "with more downlink flows than the turning point than at the mix with the fewest.",
        "share of recoveries",
        lambda m: Relation(
            [
                Point(f"{s} at {x}", _timeout_share(m, s, "down", x) - _timeout_share(m, s, "down", FEWEST_DOWN))
                for s in (AF, ACK_PUSHOUT)
                for x in _more_down(s)
            ]
        ),
    ),
    Claim(
        "5a-many-drops-as-printed",
        "IV-C",
        "5a",
        "And the downlink flows would obtain larger throughput than the uplink flow because of the packet-drop "
        "asymmetry.",
        "As printed, which contradicts Fig. 3(b): AF and ACK pushout, mixes with more downlink flows than the turning "
        "point: mean throughput of a downlink flow over that of an uplink flow.",
        "Mbps per flow",
        lambda m: Relation(
            [Point(f"{s} at {x}", m.down_minus_up(x, s)) for s in (AF, ACK_PUSHOUT) for x in _more_down(s)]
        ),
    ),
    Claim(
        "5a-many-drops-as-meant",
        "IV-C",
        "5a",
        "And the downlink flows would obtain larger throughput than the uplink flow because of the packet-drop "
        "asymmetry.",
        "With uplink and downlink exchanged, as the argument and Fig. 3(b) have it: same mixes, mean throughput of an "
        "uplink flow over that of a downlink flow.",
        "Mbps per flow",
        lambda m: Relation(
            [Point(f"{s} at {x}", -m.down_minus_up(x, s)) for s in (AF, ACK_PUSHOUT) for x in _more_down(s)]
        ),
    ),
    Claim(
        "5a-af-turning-point",
        "IV-C",
        "5a",
        "This turning point is (n_down, n_up) = (6, 14) under the AF.",
        "The n_down at which a downlink flow stops obtaining more than an uplink flow, interpolated, within 1: half the "
        "distance between two mixes, finer than which Table II cannot tell.",
        "downlink flows",
        lambda m: Number([Point("AF", turning_point(m, TABLE_II, AF))], target=6.0, tolerance=1.0),
        published=6.0,
    ),
    Claim(
        "5a-ack-pushout-turning-point",
        "IV-C",
        "5a",
        "And (n_down, n_up) = (4, 16) under the ACK pushout.",
        "As for AF, within 1.",
        "downlink flows",
        lambda m: Number([Point("ACK pushout", turning_point(m, TABLE_II, ACK_PUSHOUT))], target=4.0, tolerance=1.0),
        published=4.0,
    ),
    Claim(
        "5a-achieves-best-fairness",
        "IV-C",
        "5a",
        "The adaptive pushout monitors the throughput balance between uplink and downlink flows through the "
        "observation of nb_down and nb_up, which allows the adaptive pushout to achieve the best fairness.",
        "Balance of the directions (Jain's index of the two mean throughputs), adaptive pushout over each of the other "
        "three, at every mix of Table II but (2, 18).",
        "index",
        lambda m: Relation(above(m.balance, [x for x in TABLE_II if x != FEWEST_DOWN], ADAPTIVE, THE_FOUR)),
        formerly=Formerly(
            "reproduced",
            "Balance of the directions (Jain's index of the two mean throughputs), adaptive pushout over each of the other "
            "three, mean over Table II.",
            lambda m: Relation(
                mean_above(m.balance, TABLE_II, ADAPTIVE, THE_FOUR), over=f"the mean of {len(TABLE_II)} mixes"
            ),
        ),
    ),
    Claim(
        "5b-spm-af-each-downlink-wins",
        "IV-C",
        "5b",
        "Under the operation of the SPM-AF, each downlink flow always obtains larger throughput than each uplink flow.",
        "The smallest downlink throughput of a run over the greatest uplink throughput, at every mix of Table II.",
        "Mbps",
        lambda m: Relation(
            [Point(str(x), m.down(x, SPM_AF).min(axis=1) - m.up(x, SPM_AF).max(axis=1)) for x in TABLE_II]
        ),
    ),
    Claim(
        "5b-spm-af-difference-falls",
        "IV-C",
        "5b",
        "But the difference in the throughput between uplink and downlink flows constantly decreases as n_down "
        "increases (see Fig. 5(b)).",
        "Mean throughput of a downlink flow − that of an uplink flow falls from each mix of Table II to the next.",
        "Mbps per flow",
        lambda m: Relation(steps(m.down_minus_up, TABLE_II, SPM_AF, -1)),
    ),
    Claim(
        "5a-spm-af-improves",
        "IV-C",
        "5a",
        "Thus the fairness is improved as n_down increases.",
        "SPM-AF: the fairness index rises from each mix of Table II to the next.",
        "index",
        lambda m: Relation(steps(m.index, TABLE_II, SPM_AF, 1)),
    ),
    Claim(
        "5b-uplinks-gain",
        "IV-C",
        "5b",
        "Under the ACK pushout and AF, an uplink (downlink) flow got larger (smaller) throughput as n_down increased.",
        "Mean throughput of an uplink flow rises from each mix of Table II to the next, both schemes.",
        "Mbps per flow",
        lambda m: Relation([p for s in (ACK_PUSHOUT, AF) for p in _directions(m, s, 1, ("up",))]),
    ),
    Claim(
        "5b-downlinks-lose",
        "IV-C",
        "5b",
        "Under the ACK pushout and AF, an uplink (downlink) flow got larger (smaller) throughput as n_down increased.",
        "Mean throughput of a downlink flow falls from each mix of Table II to the next, both schemes.",
        "Mbps per flow",
        lambda m: Relation([p for s in (ACK_PUSHOUT, AF) for p in _directions(m, s, -1, ("down",))]),
    ),
    Claim(
        "5b-downlinks-time-out-more",
        "IV-C",
        "5b",
        "As we have explained, each downlink flow more frequently experiences the timeout.",
        "ACK pushout and AF: timeouts of a downlink flow a minute rise from each mix of Table II to the next.",
        "timeouts per flow and minute",
        lambda m: Relation(
            [
                p
                for s in (ACK_PUSHOUT, AF)
                for p in steps(lambda x, y: m.per_minute(x, y, "timeouts", "down"), TABLE_II, s, 1)
            ]
        ),
    ),
    Claim(
        "5b-spm-af-falls",
        "IV-C",
        "5b",
        "Under the SPM-AF, the average throughput per flow constantly decreases as n_down increases.",
        "Both curves of Fig. 5(b), that of the downlink and that of the uplink flows, fall from each mix to the next.",
        "Mbps per flow",
        lambda m: Relation(_directions(m, SPM_AF, -1, ("down", "up"))),
    ),
    Claim(
        "5b-adaptive-flat",
        "IV-C",
        "5b",
        "Under the adaptive pushout, the average throughput per flow is fairly constant independently of n_down when "
        "the total number of flows is fixed.",
        "Each point of both curves of Fig. 5(b) within 0.9 to 1.1 of the mean of its curve. The text prints no number.",
        "ratio",
        lambda m: Number(_flatness(m), target=1.0, tolerance=0.1),
    ),
    Claim(
        "5b-adaptive-flat-over-all",
        "IV-C",
        "5b",
        "Under the adaptive pushout, the average throughput per flow is fairly constant independently of n_down when "
        "the total number of flows is fixed.",
        "Read of all twenty flows together: their mean throughput at each mix within 0.9 to 1.1 of its mean over Table II.",
        "ratio",
        lambda m: Number(_flatness_over_all(m), target=1.0, tolerance=0.1),
    ),
    Claim(
        "6-adaptive-best",
        "IV-C",
        "6",
        "These figures also confirm that the adaptive pushout is the best buffer management scheme in terms of the "
        "fairness between competing TCP flows.",
        "Fairness index at (n_down, n_up) = (6, 14), adaptive pushout over each of the others.",
        "index",
        lambda m: Relation(above(m.index, [FIG_6], ADAPTIVE, SCHEMES)),
    ),
    Claim(
        "6-adaptive-best-as-listed",
        "IV-C",
        "6",
        "These figures also confirm that the adaptive pushout is the best buffer management scheme in terms of the "
        "fairness between competing TCP flows.",
        'The same at the mix that the list of flows means ("flows 1 to 6 were uplink flows and flows 7 to 20 were '
        'downlink flows"), (n_down, n_up) = (14, 6), which contradicts the mix that the text names.',
        "index",
        lambda m: Relation(above(m.index, [FIG_6_AS_TEXT], ADAPTIVE, SCHEMES)),
    ),
)

DROPPED = (
    Dropped(
        "5b-spm-af-downlinks-fall",
        "Under the SPM-AF, the average throughput per flow constantly decreases as n_down increases.",
        "Read of the downlink flows alone, which SPM-AF favours: their mean throughput falls from each mix to the next.",
        "reproduced",
        "It is half of `5b-spm-af-falls`, so that it cannot fail where that claim holds, and would be counted twice.",
    ),
)
