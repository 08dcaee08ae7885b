"""Margins of several claims, and values for the figures derived from the paper's tables.

The figures' curves are not part of the text, so "keeps" and "drops very seriously" are held to what Tables 1, 2 and 5 imply
for the same runs.
"""

from __future__ import annotations

from wifair.papers.arf_aware_tcp.measured import BEFORE, Measured, after
from wifair.papers.arf_aware_tcp.published import COLUMNS, NEWRENO
from wifair.papers.arf_aware_tcp.study import CHANGE_S, FAIR, START_S, Case
from wifair.papers.claims import Point
from wifair.stats import Values, ratio

ONE, TWO = "session-1", "session-2"
PRINTED = 4  # sessions in Table 5

# "Much", "very" and "suffers": at least a tenth of an index (0 to 1) or of the quantity compared with. The
# smallest differences that the paper itself calls "much higher" are Table 5's: 0.115 of the index, 15.8 % of the sum.
MUCH = 0.1
# The index for "fair" and "high fairness": section 5 has "higher than 0.9".
FAIRNESS = 0.9
# The tolerance of a gain: it is the ratio of two sums with 10 % each.
GAIN_TOLERANCE = 0.1


def implied_kept(case: Case, control: str, sessions: tuple[int, ...]) -> float:
    """The share of their rate that sessions keep after the change, from the printed throughput over the whole run.

    Their rate before is their share of Table 2's sum. A session that the table omits has the throughput of the last
    printed one, which has the same rate.
    """
    printed = {(column.case, column.control): column for column in COLUMNS}
    fair = printed[FAIR.id, NEWRENO].aggregate_kbps * FAIR.duration_s / (FAIR.duration_s - START_S)
    before = fair * len(sessions) / len(case.rates_mbps)
    column = printed[case.id, control].sessions_kbps
    whole = sum(column[min(i, len(column) - 1)] for i in sessions) * case.duration_s
    rest = whole - before * (CHANGE_S - START_S)
    return rest / (case.duration_s - CHANGE_S) / before


def apart(m: Measured, case: Case, control: str, span: tuple[float, float]) -> Values:
    """Ratio of Session 1's rate to Session 2's."""
    return ratio(m.rate(case, control, ONE, span), m.rate(case, control, TWO, span))


def lost(m: Measured, case: Case, control: str, session: str) -> Values:
    """A session's rate before the change less its rate after it, in packets/s."""
    fall: Values = m.rate(case, control, session, BEFORE) - m.rate(case, control, session, after(case))
    return fall


def anomaly(m: Measured, case: Case) -> list[Point]:
    """NewReno: Session 2 loses much of its rate, and both have the same rate after the change."""
    return [
        Point("Session 2's loss", 1.0 - m.kept(case, NEWRENO, TWO, after(case)) - MUCH),
        Point("equal rates", 0.1 - abs(apart(m, case, NEWRENO, after(case)) - 1.0)),
    ]
