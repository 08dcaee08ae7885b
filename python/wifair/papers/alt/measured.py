"""The quantities that claims and figures use: arrays with one entry per seed, for one reading of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wifair.papers.alt.study import ALT, BUFFERS, COUNTED_S, PAYLOAD_BYTES, Q_MAX, Buffer, Mix, coordinates
from wifair.papers.runs import CellRuns, Runs
from wifair.stats import Values, jain_rows, ratio

# The AP's data transmit queue in the names of series.
DATA_PORT = "ap/best-effort"


class Measured:
    """One reading's runs.

    `full` is the share of the greatest throughput that counts as the maximum; `delay_column` is the column of smoothed
    RTT used as delay.
    """

    def __init__(self, runs: Runs, full: float = 0.95, delay_column: str = "srtt_max_ms") -> None:
        self._runs = runs
        self.full = full
        self.delay_column = delay_column

    def with_full(self, full: float) -> Measured:
        """The same runs with another share of the greatest throughput as the maximum."""
        return Measured(self._runs, full, self.delay_column)

    def with_delay(self, column: str) -> Measured:
        """The same runs with another column as delay."""
        return Measured(self._runs, self.full, column)

    def cell(self, mix: Mix, buffer: Buffer) -> CellRuns:
        """The runs of a mix of flows with a buffer."""
        return self._runs.cell(**coordinates(mix, buffer))

    def throughput(self, mix: Mix, buffer: Buffer) -> Values:
        """Goodput of all downloads, in Mbps."""
        total: Values = self.cell(mix, buffer).flows("goodput_mbps", direction="down").sum(axis=1)
        return total

    def maximum(self, mix: Mix) -> Values:
        """The greatest throughput at any buffer."""
        most: Values = self._curve(mix).max(axis=0)
        return most

    def delay(self, mix: Mix, buffer: Buffer) -> Values:
        """Smoothed RTT of the downloads in ms: the maximum over time and flows."""
        columns = self.cell(mix, buffer).flows(self.delay_column, direction="down")
        over: Values = columns.max(axis=1) if self.delay_column == "srtt_max_ms" else columns.mean(axis=1)
        return over

    def timeouts(self, mix: Mix, buffer: Buffer) -> Values:
        """RTOs of all flows in 400 s."""
        cell = self.cell(mix, buffer)
        counted: Values = cell.flows("timeouts").sum(axis=1) * COUNTED_S / cell.run("duration_s")
        return counted

    def fewest_timeouts_from(self, mix: Mix) -> Values:
        """The smallest buffer from which on there are at most two RTOs in 400 s more than the fewest of any buffer, else the largest."""
        counts = np.stack([self.timeouts(mix, packets) for packets in BUFFERS])
        above = counts > counts.min(axis=0) + 2.0
        first = np.minimum([len(BUFFERS) - int(np.argmax([*run[::-1], True])) for run in above.T], len(BUFFERS) - 1)
        return np.array(BUFFERS, dtype=np.float64)[first]

    def threshold(self, mix: Mix, share: float | None = None) -> Values:
        """The smallest buffer with maximum throughput (or another share of the greatest), in packets.

        Linear interpolation between the buffers of the grid.
        """
        curve = self._curve(mix)
        wanted = (share or self.full) * curve.max(axis=0)
        return np.array([_first_at(BUFFERS, run, want) for run, want in zip(curve.T, wanted, strict=True)])

    def relative_throughput(self, mix: Mix, packets: float) -> Values:
        """Throughput at a buffer, also between those of the grid, over the greatest."""
        curve = self._curve(mix)
        at = np.array([np.interp(packets, BUFFERS, run) for run in curve.T])
        return ratio(at, curve.max(axis=0))

    def bdp(self, mix: Mix) -> Values:
        """The bandwidth-delay product of Fig. 2 in packets: the greatest throughput times the wired RTT."""
        packets: Values = self.maximum(mix) * 1e6 * mix.rtt_ms * 1e-3 / (8 * PAYLOAD_BYTES)
        return packets

    def bdp_packets(self, mix: Mix) -> float:
        """Its mean over the runs."""
        return float(self.bdp(mix).mean())

    def utilisation(self, mix: Mix, buffer: Buffer) -> Values:
        """Throughput in percent of the greatest at any fixed buffer."""
        return 100.0 * ratio(self.throughput(mix, buffer), self.maximum(mix))

    def throughput_percentage(self, mix: Mix, buffer: Buffer = ALT) -> Values:
        """Throughput in percent of that with a 400-packet buffer."""
        return 100.0 * ratio(self.throughput(mix, buffer), self.throughput(mix, Q_MAX))

    def delay_percentage(self, mix: Mix, buffer: Buffer = ALT) -> Values:
        """Delay in percent of that with a 400-packet buffer."""
        return 100.0 * ratio(self.delay(mix, buffer), self.delay(mix, Q_MAX))

    def limit_times(self, mix: Mix, buffer: Buffer = ALT) -> Values:
        """The times of the limit's samples, in seconds from the start of the run: (samples,)."""
        return self.cell(mix, buffer).times("limit_packets", DATA_PORT)

    def limit_course(self, mix: Mix, buffer: Buffer = ALT) -> Values:
        """The limit over time: (seeds, samples)."""
        return self.cell(mix, buffer).series("limit_packets", DATA_PORT)

    def limit(self, mix: Mix, buffer: Buffer = ALT) -> Values:
        """The mean limit in the measurement, in packets."""
        return self._mean_in_measurement(mix, buffer, "limit_packets")

    def busy_share(self, mix: Mix, buffer: Buffer = ALT) -> Values:
        """Share of the measurement in which a packet was queued."""
        return 1.0 - self._mean_in_measurement(mix, buffer, "buffer_idle_share")

    def upload_throughput(self, mix: Mix, buffer: Buffer) -> Values:
        """Goodput of all uploads, in Mbps."""
        total: Values = self.cell(mix, buffer).flows("goodput_mbps", direction="up").sum(axis=1)
        return total

    def upload_fairness(self, mix: Mix, buffer: Buffer) -> Values:
        """Jain's index of the uploads' goodput."""
        return jain_rows(self.cell(mix, buffer).flows("goodput_mbps", direction="up"))

    def ap_share(self, mix: Mix, buffer: Buffer) -> Values:
        """The AP's share of all transmission attempts."""
        cell = self.cell(mix, buffer)
        down: Values = cell.stations("attempts", direction="down").sum(axis=1)
        return ratio(down, cell.stations("attempts").sum(axis=1))

    def _mean_in_measurement(self, mix: Mix, buffer: Buffer, metric: str) -> Values:
        cell = self.cell(mix, buffer)
        times = cell.times(metric, DATA_PORT)
        measured = times > times[-1] - cell.run("duration_s")[0]
        mean: Values = cell.series(metric, DATA_PORT)[:, measured].mean(axis=1)
        return mean

    def _curve(self, mix: Mix) -> Values:
        """Throughput by buffer: (buffers, seeds)."""
        return np.stack([self.throughput(mix, packets) for packets in BUFFERS])


def _first_at(x: Sequence[float], y: Values, wanted: float) -> float:
    """The x at which the piecewise linear curve through (x, y) first reaches `wanted`."""
    reached = int(np.argmax(y >= wanted))
    if reached == 0:
        return float(x[0])
    below, above = y[reached - 1], y[reached]
    return float(x[reached - 1] + (x[reached] - x[reached - 1]) * (wanted - below) / (above - below))
