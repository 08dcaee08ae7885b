"""The quantities that claims and figures use: arrays with one entry per seed, for one reading of the paper."""

from __future__ import annotations

import numpy as np

from wifair.papers.arf_aware_tcp.published import ARF_AWARE
from wifair.papers.arf_aware_tcp.study import CALIBRATED, CHANGE_S, RECOVERY_S, Case
from wifair.papers.runs import CellRuns, Runs
from wifair.stats import Values, jain_rows, ratio

# Seconds to settle after a start or a change of rate, which are evaluated separately.
SETTLED_S = 5.0
BEFORE = (SETTLED_S, CHANGE_S)
FIRST = (CHANGE_S, CHANGE_S + SETTLED_S)
LAST = (80.0, 100.0)
KBPS = 1e3


class Measured:
    """One reading's runs. Throughput in tables is `throughput`, a column of the flow table; in time, payload."""

    def __init__(self, runs: Runs, throughput: str = "goodput_mbps") -> None:
        self.runs = runs
        self._throughput = throughput

    def cell(self, case: Case, control: str) -> CellRuns:
        """The runs of a case under a congestion control."""
        return self.runs.cell(case=case.id, control=control)

    def counting(self, throughput: str) -> Measured:
        """The same runs with another column as throughput."""
        return Measured(self.runs, throughput)

    def sessions(self, case: Case, control: str) -> Values:
        """Throughput of each session over the whole run, in kbps: (seeds, sessions)."""
        kbps: Values = self.cell(case, control).flows(self._throughput) * KBPS
        return kbps

    def link_rates(self, case: Case, control: str) -> Values:
        """The time-weighted link rate of each session, T_i, as recorded, in Mbps: (seeds, sessions)."""
        cell = self.cell(case, control)
        direction = str(cell.table("flows")["direction"][0])
        return cell.stations("link_rate_mbps", direction=direction)

    def index(self, case: Case, control: str, sessions: int | None = None) -> Values:
        """The paper's index, equations 1 to 3: Jain's on R_i / T_i; of the first `sessions` if a number is given."""
        shares = self.sessions(case, control) / self.link_rates(case, control)
        return jain_rows(shares[:, :sessions])

    def index_in(self, case: Case, control: str, span: tuple[float, float], sessions: int | None = None) -> Values:
        """The same index over a span of time without scripted rate changes."""
        names = self.names(case, control)[:sessions]
        link_rates = [rate if case.slowed_in(span) else 11.0 for rate in case.rates_mbps]
        shares = [self.rate(case, control, name, span) / link_rates[case.sessions.index(name)] for name in names]
        return jain_rows(np.stack(shares, axis=1))

    def index_range(self, case: Case, control: str) -> Values:
        """Range of the index (greatest − least) before, during and after a fall of the rate that ends."""
        found = [self.index_in(case, control, span) for span in (BEFORE, after(case), recovered(case))]
        reach: Values = np.ptp(np.stack(found), axis=0)
        return reach

    def aggregate(self, case: Case, control: str, sessions: int | None = None) -> Values:
        """Sum of the sessions' throughputs in kbps."""
        total: Values = self.sessions(case, control)[:, :sessions].sum(axis=1)
        return total

    def gain(self, case: Case, sessions: int | None = None) -> Values:
        """How much greater the aggregate is than NewReno's, as a share."""
        gained: Values = self.aggregate(case, ARF_AWARE, sessions) / self.aggregate(case, "newreno", sessions) - 1.0
        return gained

    def course(self, case: Case, control: str, session: str) -> Values:
        """Throughput of a session per second, in packets/s of payload: (seeds, seconds)."""
        mbps = self.cell(case, control).series("goodput_mbps", session)
        packets: Values = mbps * 1e6 / (8 * CALIBRATED.packet_bytes)
        return packets

    def window(self, case: Case, control: str, session: str, until_s: float) -> Values:
        """The window of a session in the second that ends at `until_s`, in packets: cwnd, or arf_cwnd in its place."""
        window: Values = self.cell(case, control).series("cwnd_segments", session)[:, int(until_s) - 1]
        return window

    def total_course(self, case: Case, control: str) -> Values:
        """The same for all sessions together."""
        courses = [self.course(case, control, name) for name in self.names(case, control)]
        total: Values = np.sum(courses, axis=0)
        return total

    def names(self, case: Case, control: str) -> list[str]:
        """The sessions of a case in this reading."""
        there = set(self.cell(case, control).table("flows")["label"].unique())
        return [name for name in case.sessions if name in there]

    def rate(self, case: Case, control: str, session: str, span: tuple[float, float]) -> Values:
        """Mean throughput of a session from one second to another, in packets/s."""
        return _mean(self.course(case, control, session), span)

    def total_rate(self, case: Case, control: str, span: tuple[float, float]) -> Values:
        """The same for all sessions together."""
        return _mean(self.total_course(case, control), span)

    def kept(self, case: Case, control: str, session: str, span: tuple[float, float]) -> Values:
        """A session's rate in a span, as a share of its rate before the change."""
        return ratio(self.rate(case, control, session, span), self.rate(case, control, session, BEFORE))

    def total_kept(self, case: Case, control: str, span: tuple[float, float]) -> Values:
        """The same for all sessions together."""
        return ratio(self.total_rate(case, control, span), self.total_rate(case, control, BEFORE))

    def unevenness(self, case: Case, control: str) -> Values:
        """Coefficient of variation of the throughput per second after the change, mean over the sessions."""
        variations = []
        for name in self.names(case, control):
            after = self.course(case, control, name)[:, int(CHANGE_S + SETTLED_S) :]
            variations.append(ratio(after.std(axis=1), after.mean(axis=1)))
        mean: Values = np.mean(variations, axis=0)
        return mean

    def recovery_s(self, case: Case, control: str, session: str) -> Values:
        """Seconds from the return of the rate to the first second in which a session has nine tenths of its former throughput."""
        course = self.course(case, control, session)[:, int(RECOVERY_S) :]
        there = course >= 0.9 * self.rate(case, control, session, BEFORE)[:, None]
        first: Values = np.where(there.any(axis=1), there.argmax(axis=1) + 1.0, np.inf)
        return first


def after(case: Case) -> tuple[float, float]:
    """The span from shortly after the change to the end, or to the rate's return, in seconds."""
    return CHANGE_S + SETTLED_S, case.back_at_s or case.duration_s


def recovered(case: Case) -> tuple[float, float]:
    """The span from shortly after the rate's return to the end, in seconds."""
    return RECOVERY_S + SETTLED_S, case.duration_s


def _mean(course: Values, span: tuple[float, float]) -> Values:
    mean: Values = course[:, int(span[0]) : int(span[1])].mean(axis=1)
    return mean
