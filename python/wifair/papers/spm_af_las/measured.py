"""The quantities that claims and figures use: arrays with one entry per seed, for one reading of the paper."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wifair.papers.claims import Point
from wifair.papers.runs import CellRuns, Runs
from wifair.papers.spm_af_las.study import LARGE_PACKETS, MSS_BYTES, TAIL_DROP
from wifair.stats import Values, jain_rows, ratio


@dataclass(frozen=True)
class Notions:
    """What the paper's words for measured quantities mean."""

    # The average gain in the fairness index is the gain of the mean over the buffers, not the mean of the gains.
    gain_of_means: bool = False
    # A transfer ends when its sender has the last ACK, not when its receiver has the last byte.
    to_last_ack: bool = False
    # The frequency of ACKs is per segment that they acknowledge, not per second.
    acks_per_segment: bool = False


class Measured:
    """One reading's runs, evaluated by `notions`."""

    def __init__(self, runs: Runs, notions: Notions | None = None) -> None:
        self._runs = runs
        self._notions = notions or Notions()
        self.buffers: list[int] = runs.places("buffer", part="up-down")
        self.hosts: list[int] = runs.places("hosts", part="files")

    def with_notions(self, **others: bool) -> Measured:
        """The same runs with other notions."""
        return Measured(self._runs, replace(self._notions, **others))

    # Sections 5.1 and 7.1: five uplink and five downlink flows.

    def up_down(self, buffer: int, scheme: str) -> CellRuns:
        """The runs with one buffer under one scheme."""
        return self._runs.cell(part="up-down", scheme=scheme, buffer=buffer)

    def throughput(self, buffer: int, scheme: str, direction: str) -> Values:
        """Throughput of each flow of a direction: (seeds, flows)."""
        return self.up_down(buffer, scheme).flows("goodput_mbps", direction=direction)

    def mean(self, buffer: int, scheme: str, direction: str) -> Values:
        """Mean throughput of the flows of a direction."""
        found: Values = self.throughput(buffer, scheme, direction).mean(axis=1)
        return found

    def up_minus_down(self, buffer: int, scheme: str) -> Values:
        """Mean throughput of an uplink flow minus that of a downlink flow."""
        return self.mean(buffer, scheme, "up") - self.mean(buffer, scheme, "down")

    def total(self, buffer: int, scheme: str) -> Values:
        """Throughput of all flows together."""
        found: Values = self.up_down(buffer, scheme).flows("goodput_mbps").sum(axis=1)
        return found

    def index(self, buffer: int, scheme: str) -> Values:
        """The fairness index over all flows."""
        return jain_rows(self.up_down(buffer, scheme).flows("goodput_mbps"))

    def gain(self, buffer: int, scheme: str) -> Values:
        """The gain of the index over tail drop's, in percent."""
        return 100.0 * (self.index(buffer, scheme) / self.index(buffer, TAIL_DROP) - 1.0)

    def average_gain(self, scheme: str, buffers: Sequence[int]) -> Values:
        """The gain over several buffers, in percent."""
        if self._notions.gain_of_means:
            means = [np.mean([self.index(b, name) for b in buffers], axis=0) for name in (scheme, TAIL_DROP)]
            found: Values = 100.0 * (means[0] / means[1] - 1.0)
        else:
            found = np.mean([self.gain(b, scheme) for b in buffers], axis=0)
        return found

    def removed(self, buffer: int, scheme: str) -> Values:
        """Share of the packets offered to the AP's buffer that it removed: refused, pushed out, or filtered."""
        cell = self.up_down(buffer, scheme)
        gone = [cell.queue(f"{way}_packets") for way in ("tail_drop", "evicted", "filtered")]
        return ratio(np.sum(gone, axis=0), cell.queue("offered_packets"))

    def timeouts_per_segment(self, buffer: int, scheme: str) -> Values:
        """Timeouts of the downlink flows for each 1000 data segments that they sent."""
        cell = self.up_down(buffer, scheme)
        timeouts = cell.flows("timeouts", direction="down").sum(axis=1)
        return 1000.0 * ratio(timeouts, cell.flows("segments_sent", direction="down").sum(axis=1))

    def ack_frequency(self, buffer: int, scheme: str) -> Values:
        """ACKs that reach the uplink senders, per second, or per segment that these sent."""
        cell = self.up_down(buffer, scheme)
        acks = cell.queue("delivered_packets", "ack")
        segments = cell.flows("segments_sent", direction="up").sum(axis=1)
        return ratio(acks, segments if self._notions.acks_per_segment else cell.run("duration_s"))

    def mean_window(self, buffer: int, scheme: str) -> Values:
        """Segments that an uplink flow has outstanding, mean over time and flows, by Little's law from rate and mean round trip."""
        cell = self.up_down(buffer, scheme)
        sent, rtt_ms = (cell.flows(column, direction="up") for column in ("segments_sent", "rtt_mean_ms"))
        found: Values = (sent * rtt_ms * 1e-3).mean(axis=1) / cell.run("duration_s")
        return found

    def loss_free(self, window: int) -> CellRuns:
        """The runs of tail drop at `LOSS_FREE_BUFFER` with a window in packets."""
        return self._runs.cell(part="loss-free", window=window)

    def most_queued(self) -> Values:
        """The most packets seen in a buffer that has room for more than all windows."""
        found: Values = self._runs.cell(part="queued").series("queue_packets").max(axis=1)
        return found

    # Section 3: two downlink flows and an uplink flow; hosts with a flow in each direction; losses of ACKs or data alone.

    def shares(self, transport: str, direction: str) -> Values:
        """Mean throughput of the flows of a direction."""
        cell = self._runs.cell(part="shares", transport=transport)
        found: Values = cell.flows("goodput_mbps", direction=direction).mean(axis=1)
        return found

    def opportunities(self, transport: str, buffer: int) -> Values:
        """The AP's share of the frames sent (attempts)."""
        stations = self._both_ways(transport, buffer).stations
        down = stations("attempts", direction="down").sum(axis=1)
        return ratio(down, down + stations("attempts", direction="up").sum(axis=1))

    def share_to_send(self, transport: str, buffer: int) -> Values:
        """The AP's share of the packets that AP and hosts are given to send."""
        cell = self._both_ways(transport, buffer)
        at_ap = cell.queue("offered_packets")
        return ratio(at_ap, at_ap + cell.queue("offered_packets", node="stations"))

    def mean_queue(self, transport: str, buffer: int) -> Values:
        """Mean number of packets in the AP's buffer."""
        return self._both_ways(transport, buffer).queue("length_mean_packets")

    def _both_ways(self, transport: str, buffer: int) -> CellRuns:
        return self._runs.cell(part="both-ways", transport=transport, buffer=buffer)

    def uplinks(self, buffer: int) -> Values:
        """Throughput of five uplink flows without others, together."""
        found: Values = self._runs.cell(part="uplinks", buffer=buffer).flows("goodput_mbps").sum(axis=1)
        return found

    def downlink(self, lost: float) -> Values:
        """Throughput of a downlink flow without others, of whose packets the wire loses a share."""
        found: Values = self._runs.cell(part="downlink", lost=lost).flows("goodput_mbps").ravel()
        return found

    # Section 6.2: a new long flow among old ones.

    def newcomer(self, scheme: str, group: str | None = None) -> Values:
        """Throughput of each long flow after the start of the new one: (seeds, flows)."""
        cell = self._runs.cell(part="newcomer", scheme=scheme)
        return cell.flows("goodput_mbps", **({"group": group} if group else {}))

    # Sections 5.2 and 7.2: small and large files.

    def files(self, hosts: int, scheme: str, mix: str = "mixed") -> CellRuns:
        """The runs with a number of hosts under one scheme."""
        return self._runs.cell(part="files", scheme=scheme, mix=mix, hosts=hosts)

    def transfers(self, column: str, hosts: int, scheme: str, group: str, mix: str = "mixed") -> Values:
        """A statistic of the transfer times of the small or the large files.

        Runs that were cut have NaN for the large files, because those that finished are a biased sample.
        """
        cell = self.files(hosts, scheme, mix)
        found = cell.transfers(self._timed(column), group)
        return np.where(cell.transfers("unfinished", group) > 0, np.nan, found) if group == "large" else found

    def _timed(self, column: str) -> str:
        """The column of the transfer times' statistic by the notion of when a transfer ends."""
        return f"closed_{column}" if self._notions.to_last_ack else column

    def cov(self, hosts: int, scheme: str, group: str, mix: str = "mixed") -> Values:
        """Coefficient of variation of the transfer times of the small or the large files."""
        return self.transfers("cov", hosts, scheme, group, mix)

    def small_to_large(self, hosts: int, scheme: str) -> Values:
        """COV of the small files over that of the large ones."""
        return self.cov(hosts, scheme, "small") / self.cov(hosts, scheme, "large")

    def reduction(self, hosts: int, scheme: str) -> Values:
        """The reduction of the small files' COV against tail drop's, in percent."""
        return 100.0 * (1.0 - self.cov(hosts, scheme, "small") / self.cov(hosts, TAIL_DROP, "small"))

    def lost(self, hosts: int, scheme: str, group: str | None = None) -> Values:
        """Share of the packets of the short or the long flows (or of all) that were lost at the AP."""
        cell = self.files(hosts, scheme)
        only = {"group": group} if group else {}
        lost = cell.flows("ap_lost_packets", **only).sum(axis=1)
        return ratio(lost, cell.flows("ap_offered_packets", **only).sum(axis=1))

    def seconds_per_large_file(self, hosts: int, scheme: str) -> Values:
        """Mean time of a large file: over all of them, or, in a run that was cut, from its rate until then."""
        cell = self.files(hosts, scheme)
        seconds = LARGE_PACKETS * MSS_BYTES * 8e-6 / cell.flows("goodput_mbps", group="large").mean(axis=1)
        return np.where(
            cell.transfers("unfinished", "large") > 0, seconds, cell.transfers(self._timed("mean_s"), "large")
        )

    def large_slowdown(self, hosts: int, scheme: str) -> Values:
        """The ratio of that time to tail drop's."""
        return self.seconds_per_large_file(hosts, scheme) / self.seconds_per_large_file(hosts, TAIL_DROP)

    def unfinished(self, hosts: int, scheme: str) -> Values:
        """Share of the hosts with large files that had not loaded all of them when the run was cut."""
        cell = self.files(hosts, scheme)
        found: Values = cell.transfers("unfinished", "large") / cell.flows("flow", group="large").shape[1]
        return found

    # Section 7.2: Web documents.

    def web(self, scheme: str, background: str = "ftp") -> Values:
        """COV of the documents' transfer times, by size: (sizes, seeds)."""
        cell = self._runs.cell(part="web", scheme=scheme, background=background)
        found = cell.table("transfer_groups").filter(group="http")["bytes"].drop_nulls().unique().sort()
        return np.stack([cell.transfers(self._timed("cov"), "http", size) for size in found])

    def web_average(self, scheme: str, background: str = "ftp") -> Values:
        """The mean over the sizes."""
        found: Values = self.web(scheme, background).mean(axis=0)
        return found

    # Section 4: the measured network.

    def measured(self, case: str) -> CellRuns:
        """The runs of one experiment."""
        return self._runs.cell(part="measured", case=case)

    def seconds(self, case: str, metric: str, entity: str) -> Values:
        """A series of an experiment in the measured time, one value per second: (seeds, seconds)."""
        cell = self.measured(case)
        settled = cell.times(metric, entity) > cell.times("queue_packets")[-1] - cell.run("duration_s")[0]
        return cell.series(metric, entity)[:, settled]


def correlation(a: Values, b: Values) -> Values:
    """The correlation of two series, replication by replication."""
    x, y = (v - v.mean(axis=1, keepdims=True) for v in (a, b))
    return ratio((x * y).sum(axis=1), np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1)))


def told(points: Iterable[Point]) -> list[Point]:
    """The points with values: those whose runs were not all cut."""
    return [point for point in points if np.isfinite(np.asarray(point.values)).any()]
