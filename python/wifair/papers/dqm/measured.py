"""The quantities that claims and figures use: arrays with one entry per seed, for one reading of the paper."""

from __future__ import annotations

import numpy as np

from wifair.papers.dqm.study import (
    AFTER_CHANGE,
    BASE,
    DQM,
    FLOWS,
    FLOWS_IN_TIME,
    KNOWLEDGE,
    OTHER_INDEX,
    RATE_CHANGE,
    RUN_S,
    UNIFORM,
    UPLINKS_FIRST,
    Mix,
)
from wifair.papers.runs import CellRuns, Runs
from wifair.stats import Values, jain_rows, ratio

# Begin and end of a window, as shares of a run's length.
Window = tuple[float, float]

# The second half of each half of a run that changes in its middle; the first half is for settling.
BEFORE: Window = (0.25, 0.5)
AFTER: Window = (0.75, 1.0)


class Measured:
    """One reading's runs. Throughput is goodput in Mbps; time series are of runs with `flows` flows."""

    def __init__(self, runs: Runs, flows: int = FLOWS_IN_TIME, base: str = BASE) -> None:
        self._runs = runs
        self.flows = flows
        self.base = base

    def with_flows(self, flows: int) -> Measured:
        """The same runs, with another number of flows in time series."""
        return Measured(self._runs, flows, self.base)

    def with_base(self, base: str) -> Measured:
        """The same runs, with another buffer or window of BASE in `base_index`."""
        return Measured(self._runs, self.flows, base)

    # Averages of a run with uniform bit rates, Figs. 2 and 3.

    def cell(self, mix: Mix, scheme: str) -> CellRuns:
        """The runs of a case under a scheme."""
        return self._runs.cell(part=UNIFORM, case=mix.case, n=mix.n, scheme=scheme)

    def up(self, mix: Mix, scheme: str) -> Values:
        """R_up: mean throughput of an uplink flow."""
        return _mean(self.cell(mix, scheme).flows("goodput_mbps", direction="up"))

    def down(self, mix: Mix, scheme: str) -> Values:
        """R_dn: mean throughput of a downlink flow."""
        return _mean(self.cell(mix, scheme).flows("goodput_mbps", direction="down"))

    def total(self, mix: Mix, scheme: str) -> Values:
        """R_total."""
        total: Values = self.cell(mix, scheme).flows("goodput_mbps").sum(axis=1)
        return total

    def gamma(self, mix: Mix, scheme: str) -> Values:
        """γ = R_up / R_dn. Downlink flows without any packet count as one packet per run, so that it is finite."""
        one_packet = 1000 * 8e-6 / RUN_S / mix.down
        return ratio(self.up(mix, scheme), np.maximum(self.down(mix, scheme), one_packet))

    def index(self, mix: Mix, scheme: str) -> Values:
        """FI over all flows."""
        return jain_rows(self.cell(mix, scheme).flows("goodput_mbps"))

    def base_index(self, case: int) -> Values:
        """FI of BASE with the largest number of flows."""
        part = UNIFORM if self.base == BASE else OTHER_INDEX
        return jain_rows(self._runs.cell(part=part, case=case, n=FLOWS[-1], scheme=self.base).flows("goodput_mbps"))

    def never_started(self, scheme: str, part: str = UPLINKS_FIRST) -> Values:
        """Downlink flows of the largest number of flows that get no packet; by default those that start after the uplinks."""
        cell = self._runs.cell(part=part, case=1, n=FLOWS[-1], scheme=scheme)
        count: Values = (cell.flows("goodput_mbps", direction="down") == 0.0).sum(axis=1).astype(float)
        return count

    def lost(self, mix: Mix, scheme: str) -> Values:
        """Share of the data packets offered to the AP that were lost in its buffer."""
        return self.cell(mix, scheme).queue("loss_ratio", "data")

    def per_flow(self, mix: Mix, scheme: str, column: str) -> Values:
        """A count (timeouts, retransmissions) for each flow, mean over all."""
        return _mean(self.cell(mix, scheme).flows(column))

    def gamma_line_fit(self, case: int, scheme: str) -> Values:
        """r² of the straight line through γ against N_dn, with the sign of its slope."""
        mixes = [Mix(case, n) for n in FLOWS]
        gammas = np.stack([self.gamma(mix, scheme) for mix in mixes])
        x = np.array([float(mix.down) for mix in mixes])
        r = np.array([np.corrcoef(x, run)[0, 1] for run in gammas.T])
        signed: Values = r * np.abs(r)
        return signed

    def gamma_steps(self, case: int, scheme: str) -> Values:
        """Mean absolute change of the logarithm of γ from one N to the next: 0 if γ does not depend on N."""
        steps: Values = np.abs(np.diff(self._log_gamma(case, scheme), axis=0)).mean(axis=0)
        return steps

    def roughness(self, quantity: str, case: int, scheme: str) -> Values:
        """Mean absolute second difference along N of `index` or of the logarithm of `gamma`: 0 on a straight line."""
        indices = [self.index(Mix(case, n), scheme) for n in FLOWS]
        values = np.stack(indices) if quantity == "index" else self._log_gamma(case, scheme)
        rough: Values = np.abs(np.diff(values, n=2, axis=0)).mean(axis=0)
        return rough

    def _log_gamma(self, case: int, scheme: str) -> Values:
        logarithms: Values = np.log(np.stack([self.gamma(Mix(case, n), scheme) for n in FLOWS]))
        return logarithms

    def believed(self, mix: Mix, direction: str, under: str = DQM) -> Values:
        """DQM's estimate of a direction's channel time over the engine's true value; `under` may name a condition with more failures."""
        part = UNIFORM if under == DQM else KNOWLEDGE
        cell = self._runs.cell(part=part, case=mix.case, n=mix.n, scheme=under)
        return ratio(cell.run(f"channel_time_{direction}_believed_s"), cell.run(f"channel_time_{direction}_s"))

    # Evolution in time, Figs. 4 and 5.

    def course(self, part: str, scheme: str) -> CellRuns:
        """The runs that change in the middle."""
        return self._runs.cell(part=part, case=1, n=self.flows, scheme=scheme)

    def times(self, part: str, scheme: str) -> Values:
        """The times of the samples of a time series, in seconds: (samples,)."""
        return self.course(part, scheme).times("queue_packets")

    def series(self, part: str, scheme: str, metric: str) -> Values:
        """A series of the AP: (seeds, samples)."""
        return self.course(part, scheme).series(metric)

    def mean(self, part: str, scheme: str, metric: str, window: Window) -> Values:
        """The mean of a series of the AP over a window; seconds without a value, such as a wait of no packet, do not count."""
        low, high = (share * self.times(part, scheme)[-1] for share in window)
        times = self.course(part, scheme).times(metric)
        inside = self.series(part, scheme, metric)[:, (times > low) & (times <= high)]
        mean: Values = np.nanmean(inside, axis=1)
        return mean

    def throughput_series(self, part: str, scheme: str, direction: str) -> Values:
        """Mean throughput per flow of a direction, per second: (seeds, samples)."""
        return self._mean_of_flows(part, scheme, "goodput_mbps", direction)

    def throughput(self, part: str, scheme: str, direction: str, window: Window) -> Values:
        """Mean throughput of a flow of a direction over a window."""
        return self._over(part, scheme, self.throughput_series(part, scheme, direction), window)

    def total_in(self, part: str, scheme: str, window: Window) -> Values:
        """Throughput of all flows over a window."""
        both = [self.throughput(part, scheme, direction, window) for direction in ("up", "down")]
        total: Values = (both[0] + both[1]) * (self.flows // 2)
        return total

    def channel_time_ratio(self) -> Values:
        """True channel access time of the uplink flows over that of the downlink flows, after the rate change."""
        cell = self._runs.cell(part=AFTER_CHANGE, case=1, n=self.flows, scheme=DQM)
        return ratio(cell.run("channel_time_up_s"), cell.run("channel_time_down_s"))

    def airtime_ratio(self) -> Values:
        """Share of the air of the frames, both ways, of an uplink flow's station over a downlink flow's, after the rate change."""
        up, down = (
            self._over(RATE_CHANGE, DQM, self._mean_of_flows(RATE_CHANGE, DQM, "airtime_share", direction), AFTER)
            for direction in ("up", "down")
        )
        return ratio(up, down)

    def index_among(self, part: str, scheme: str, direction: str, window: Window) -> Values:
        """FI over a window among the flows of a direction."""
        cell = self.course(part, scheme)
        flows = [self._over(part, scheme, cell.series("goodput_mbps", one), window) for one in _labels(cell, direction)]
        return jain_rows(np.stack(flows, axis=1))

    def _mean_of_flows(self, part: str, scheme: str, metric: str, direction: str) -> Values:
        # A flow's station has the flow's label.
        cell = self.course(part, scheme)
        mean: Values = np.mean([cell.series(metric, label) for label in _labels(cell, direction)], axis=0)
        return mean

    def _over(self, part: str, scheme: str, series: Values, window: Window) -> Values:
        times = self.times(part, scheme)
        low, high = (share * times[-1] for share in window)
        return _mean(series[:, (times > low) & (times <= high)])


def _labels(cell: CellRuns, direction: str) -> list[str]:
    flows = cell.table("flows")
    labels: list[str] = flows.filter(flows["direction"] == direction)["label"].unique(maintain_order=True).to_list()
    return labels


def _mean(values: Values) -> Values:
    mean: Values = values.mean(axis=1)
    return mean
