"""The quantities that claims and figures use: arrays with one entry per seed, for one reading of the paper."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from wifair.papers.adaptive_pushout.study import SYMMETRIC, TABLE_II, Mix
from wifair.papers.runs import CellRuns, Runs
from wifair.stats import Values, jain_rows, ratio


class Growth(Enum):
    """What the growth of the senders' windows is measured by; the value is its unit."""

    # In congestion avoidance an ACK opens the window by one segment over the window, so this is the growth per round trip.
    PER_SEGMENT = "ACKs per segment"
    # Divided by the segments outstanding: in congestion avoidance the growth in segments per second.
    PER_SECOND = "segments per second"
    # The frequency of ACKs, as in the paper `spm-af-las`.
    ACKS_PER_SECOND = "ACKs per second"


@dataclass(frozen=True)
class Notions:
    """What the paper's words for measured quantities mean."""

    # Throughput, as a column of the flow table in Mbps.
    throughput: str = "goodput_mbps"
    # The mixes of Fig. 3.
    symmetric: tuple[Mix, ...] = SYMMETRIC
    growth: Growth = Growth.PER_SEGMENT


class Measured:
    """One reading's runs, evaluated by `notions`."""

    def __init__(self, runs: Runs, notions: Notions | None = None) -> None:
        self._runs = runs
        self._notions = notions or Notions()
        self._throughput = self._notions.throughput
        self.symmetric = self._notions.symmetric

    @property
    def every_mix(self) -> tuple[Mix, ...]:
        """The mixes of Fig. 3 and of Table II."""
        return tuple(dict.fromkeys((*self.symmetric, *TABLE_II)))

    def cell(self, mix: Mix, scheme: str) -> CellRuns:
        """The runs of one mix under one scheme."""
        return self._runs.cell(scheme=scheme, n_up=mix.up, n_down=mix.down)

    def with_notions(self, **others: object) -> Measured:
        """The same runs with other notions."""
        return Measured(self._runs, replace(self._notions, **others))  # type: ignore[arg-type]

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

    def growth(self, mix: Mix, scheme: str, by: Growth | None = None) -> Values:
        """The growth of the uplink senders' windows, from the ACKs that reach them; by default as `notions` has it."""
        cell, by = self.cell(mix, scheme), by or self._notions.growth
        acks = cell.queue("delivered_packets", "ack")
        if by is Growth.PER_SEGMENT:
            per = cell.queue("delivered_packets", "data", node="stations")
        elif by is Growth.PER_SECOND:
            per = self.segment_seconds(mix, scheme)
        else:
            per = cell.run("duration_s")
        return ratio(acks, per)

    def segment_seconds(self, mix: Mix, scheme: str) -> Values:
        """Segments that the uplink flows together have outstanding, times the duration, from their segments and mean RTTs."""
        cell = self.cell(mix, scheme)
        sent, rtt_ms = (cell.flows(column, direction="up") for column in ("segments_sent", "rtt_mean_ms"))
        found: Values = np.nansum(sent * rtt_ms, axis=1) * 1e-3
        return found

    def per_minute(self, mix: Mix, scheme: str, column: str, direction: str) -> Values:
        """Events per flow and minute (timeouts, fast retransmits), mean over the flows of a direction."""
        cell = self.cell(mix, scheme)
        rate: Values = cell.flows(column, direction=direction).mean(axis=1) / cell.run("duration_s") * 60.0
        return rate

    def total(self, mix: Mix, scheme: str, column: str, direction: str) -> Values:
        """A count summed over the flows of a direction."""
        counted: Values = self.cell(mix, scheme).flows(column, direction=direction).sum(axis=1)
        return counted
