"""The quantities that claims and figures use: arrays with one entry per seed, for one reading of the paper."""

from __future__ import annotations

import numpy as np

from wifair.papers.adaptive_pushout.study import SYMMETRIC, TABLE_II, Mix
from wifair.papers.runs import CellRuns, Runs
from wifair.stats import Values, jain_rows, ratio


class Measured:
    """One reading's runs. Throughput is `throughput`, a column of the flow table, in Mbps. `symmetric` are the mixes of Fig. 3."""

    def __init__(self, runs: Runs, throughput: str = "goodput_mbps", symmetric: tuple[Mix, ...] = SYMMETRIC) -> None:
        self._runs = runs
        self._throughput = throughput
        self.symmetric = symmetric

    @property
    def every_mix(self) -> tuple[Mix, ...]:
        """The mixes of Fig. 3 and of Table II."""
        return tuple(dict.fromkeys((*self.symmetric, *TABLE_II)))

    def cell(self, mix: Mix, scheme: str) -> CellRuns:
        """The runs of one mix under one scheme."""
        return self._runs.cell(scheme=scheme, n_up=mix.up, n_down=mix.down)

    def counting(self, throughput: str) -> Measured:
        """The same runs with another column as throughput."""
        return Measured(self._runs, throughput, self.symmetric)

    def plotting(self, symmetric: tuple[Mix, ...]) -> Measured:
        """The same runs with other mixes in Fig. 3."""
        return Measured(self._runs, self._throughput, symmetric)

    def throughputs(self, mix: Mix, scheme: str) -> Values:
        """Throughput of each flow, uplinks first: (seeds, flows)."""
        return self.cell(mix, scheme).flows(self._throughput)

    def up(self, mix: Mix, scheme: str) -> Values:
        """Throughput of each uplink flow: (seeds, n_up)."""
        return self.cell(mix, scheme).flows(self._throughput, direction="up")

    def down(self, mix: Mix, scheme: str) -> Values:
        """Throughput of each downlink flow: (seeds, n_down)."""
        return self.cell(mix, scheme).flows(self._throughput, direction="down")

    def index(self, mix: Mix, scheme: str) -> Values:
        """The fairness index over all flows."""
        return jain_rows(self.throughputs(mix, scheme))

    def index_up(self, mix: Mix, scheme: str) -> Values:
        """The fairness index among the uplink flows."""
        return jain_rows(self.up(mix, scheme))

    def balance(self, mix: Mix, scheme: str) -> Values:
        """Jain's index of the two directions' mean throughputs per flow: 1 if equal, ½ if one direction has everything."""
        means = [self.up(mix, scheme).mean(axis=1), self.down(mix, scheme).mean(axis=1)]
        return jain_rows(np.stack(means, axis=1))

    def down_minus_up(self, mix: Mix, scheme: str) -> Values:
        """Mean throughput of a downlink flow minus that of an uplink flow."""
        difference: Values = self.down(mix, scheme).mean(axis=1) - self.up(mix, scheme).mean(axis=1)
        return difference

    def lost(self, mix: Mix, scheme: str, kind: str) -> Values:
        """Share of the packets of a class that were offered to the AP and lost there; redundant ACKs do not count."""
        return ratio(self.lost_packets(mix, scheme, kind), self.cell(mix, scheme).queue("offered_packets", kind))

    def lost_packets(self, mix: Mix, scheme: str, kind: str) -> Values:
        """Packets of a class that were lost at the AP's buffer; redundant ACKs do not count."""
        cell = self.cell(mix, scheme)
        gone: Values = cell.queue("tail_drop_packets", kind) + cell.queue("evicted_packets", kind)
        return gone

    def acks_removed(self, mix: Mix, scheme: str) -> Values:
        """Share of the ACKs offered to the AP that were removed there, for any reason."""
        cell = self.cell(mix, scheme)
        gone = [cell.queue(f"{way}_packets", "ack") for way in ("tail_drop", "evicted", "filtered")]
        return ratio(np.sum(gone, axis=0), cell.queue("offered_packets", "ack"))

    def redundant_found(self, mix: Mix, scheme: str) -> Values:
        """Share of the arrivals at a full buffer that find a redundant ACK to remove (ACK pushout)."""
        cell = self.cell(mix, scheme)
        found = cell.queue("filtered_packets", "ack")
        return ratio(found, found + cell.queue("tail_drop_packets") + cell.queue("evicted_packets"))

    def acks_per_segment(self, mix: Mix, scheme: str) -> Values:
        """ACKs that reach the uplink senders for each data segment that the AP received."""
        cell = self.cell(mix, scheme)
        return ratio(cell.queue("delivered_packets", "ack"), cell.queue("delivered_packets", "data", node="stations"))

    def per_minute(self, mix: Mix, scheme: str, column: str, direction: str) -> Values:
        """Events per flow and minute (timeouts, fast retransmits), mean over the flows of a direction."""
        cell = self.cell(mix, scheme)
        rate: Values = cell.flows(column, direction=direction).mean(axis=1) / cell.run("duration_s") * 60.0
        return rate

    def total(self, mix: Mix, scheme: str, column: str, direction: str) -> Values:
        """A count summed over the flows of a direction."""
        counted: Values = self.cell(mix, scheme).flows(column, direction=direction).sum(axis=1)
        return counted
