"""What the claims look at: per-run quantities of one reading of the paper, as arrays with one entry a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from wifair.papers.adaptive_pushout.study import Mix

if TYPE_CHECKING:
    from wifair.results import Results

Values: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class CellData:
    """The replications of one mix under one scheme, in the order of their seeds."""

    mix: Mix
    flows: Mapping[str, Values]  # column → (seeds, flows), uplink flows first
    ap: Mapping[tuple[str, str], Values]  # (class, column) → (seeds,)
    uplink_segments: Values  # data packets delivered from the stations to the AP
    duration_s: Values

    def first(self, count: int) -> CellData:
        """The first `count` replications."""
        return CellData(
            self.mix,
            {column: values[:count] for column, values in self.flows.items()},
            {column: values[:count] for column, values in self.ap.items()},
            self.uplink_segments[:count],
            self.duration_s[:count],
        )

    def up(self, column: str) -> Values:
        """A column of the uplink flows: (seeds, n_up)."""
        return self.flows[column][:, : self.mix.up]

    def down(self, column: str) -> Values:
        """A column of the downlink flows: (seeds, n_down)."""
        return self.flows[column][:, self.mix.up :]


class Measured:
    """One reading's runs. Throughput is `throughput`, a column of the flow table, in Mbps."""

    def __init__(self, cells: Mapping[tuple[Mix, str], CellData], throughput: str = "goodput_mbps") -> None:
        self._cells = cells
        self._throughput = throughput

    def cell(self, mix: Mix, scheme: str) -> CellData:
        """The runs of one mix under one scheme."""
        return self._cells[mix, scheme]

    def first(self, count: int) -> Measured:
        """The first `count` replications of every cell."""
        return Measured({key: cell.first(count) for key, cell in self._cells.items()}, self._throughput)

    def over(self, other: Measured) -> Measured:
        """These runs, and those of `other` where there are none here; both need the same seeds."""
        return Measured({**other._cells, **self._cells}, self._throughput)

    def counting(self, throughput: str) -> Measured:
        """The same runs with another notion of throughput."""
        return Measured(self._cells, throughput)

    def throughputs(self, mix: Mix, scheme: str) -> Values:
        """Throughput of each flow, uplinks first: (seeds, flows)."""
        return self.cell(mix, scheme).flows[self._throughput]

    def up(self, mix: Mix, scheme: str) -> Values:
        """Throughput of each uplink flow: (seeds, n_up)."""
        return self.cell(mix, scheme).up(self._throughput)

    def down(self, mix: Mix, scheme: str) -> Values:
        """Throughput of each downlink flow: (seeds, n_down)."""
        return self.cell(mix, scheme).down(self._throughput)

    def index(self, mix: Mix, scheme: str) -> Values:
        """The fairness index over all flows."""
        return jain_rows(self.throughputs(mix, scheme))

    def index_up(self, mix: Mix, scheme: str) -> Values:
        """The fairness index among the uplink flows."""
        return jain_rows(self.up(mix, scheme))

    def balance(self, mix: Mix, scheme: str) -> Values:
        """The index of the two directions' mean throughputs per flow: 1 if equal, ½ if one has all."""
        means = [self.up(mix, scheme).mean(axis=1), self.down(mix, scheme).mean(axis=1)]
        return jain_rows(np.stack(means, axis=1))

    def down_minus_up(self, mix: Mix, scheme: str) -> Values:
        """Mean throughput of a downlink flow − that of an uplink flow."""
        difference: Values = self.down(mix, scheme).mean(axis=1) - self.up(mix, scheme).mean(axis=1)
        return difference

    def lost(self, mix: Mix, scheme: str, kind: str) -> Values:
        """Share of the packets of a class that were offered to the AP and lost there; redundant ACKs do not count."""
        ap = self.cell(mix, scheme).ap
        gone = ap[kind, "tail_drop_packets"] + ap[kind, "evicted_packets"]
        return ratio(gone, ap[kind, "offered_packets"])

    def acks_removed(self, mix: Mix, scheme: str) -> Values:
        """Share of the ACKs offered to the AP that were removed there, for whatever reason."""
        ap = self.cell(mix, scheme).ap
        gone = ap["ack", "tail_drop_packets"] + ap["ack", "evicted_packets"] + ap["ack", "filtered_packets"]
        return ratio(gone, ap["ack", "offered_packets"])

    def redundant_found(self, mix: Mix, scheme: str) -> Values:
        """Of the arrivals at a full buffer, the share that found a redundant ACK to remove (ACK pushout)."""
        ap = self.cell(mix, scheme).ap
        found = ap["ack", "filtered_packets"]
        return ratio(found, found + ap["all", "tail_drop_packets"] + ap["all", "evicted_packets"])

    def acks_per_segment(self, mix: Mix, scheme: str) -> Values:
        """ACKs that reach the uplink senders for each data segment that the AP received."""
        cell = self.cell(mix, scheme)
        return ratio(cell.ap["ack", "delivered_packets"], cell.uplink_segments)

    def per_minute(self, mix: Mix, scheme: str, column: str, direction: str) -> Values:
        """Events of a flow a minute (timeouts, fast retransmits), mean over the flows of a direction."""
        cell = self.cell(mix, scheme)
        events = cell.up(column) if direction == "up" else cell.down(column)
        rate: Values = events.mean(axis=1) / cell.duration_s * 60.0
        return rate

    def total(self, mix: Mix, scheme: str, column: str, direction: str) -> Values:
        """A count summed over the flows of a direction."""
        cell = self.cell(mix, scheme)
        counted: Values = (cell.up(column) if direction == "up" else cell.down(column)).sum(axis=1)
        return counted


def jain_rows(x: Values) -> Values:
    """Jain's index of each row."""
    return ratio(np.square(x.sum(axis=1)), x.shape[1] * np.square(x).sum(axis=1))


def ratio(part: Values, whole: Values) -> Values:
    """`part` / `whole`, NaN where there is no whole."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(whole > 0, part / whole, np.nan)


def measured(results: Results, variant: str) -> Measured:
    """The runs of one variant, ready for the claims."""
    mine = [cell for cell in results.cells if cell.keys["variant"] == variant]
    names = [cell.name for cell in mine]
    parts = {
        name: _by_scenario(frame.filter(pl.col("scenario").is_in(names)))
        for name, frame in results.frames.items()
        if name in ("flows", "queues", "runs")
    }
    found = {}
    for cell in mine:
        mix = Mix(int(cell.keys["n_up"]), int(cell.keys["n_down"]))
        if cell.name in parts["runs"]:
            data = {name: by_scenario[cell.name] for name, by_scenario in parts.items()}
            found[mix, str(cell.keys["scheme"])] = _cell_data(mix, data["flows"], data["queues"], data["runs"])
    return Measured(found)


def _by_scenario(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {str(key[0]): part for key, part in frame.partition_by("scenario", as_dict=True).items()}


def _cell_data(mix: Mix, flows: pl.DataFrame, queues: pl.DataFrame, runs: pl.DataFrame) -> CellData:
    flows = flows.sort("seed", "flow")  # the plan lists uplink flows first
    shape = (-1, mix.up + mix.down)
    columns = [name for name, kind in flows.schema.items() if kind.is_numeric() and name not in ("seed", "flow")]
    ap = {}
    for kind in ("data", "ack", "all"):
        part = queues.filter((pl.col("node") == "ap") & (pl.col("class") == kind)).sort("seed")
        for name in part.columns:
            if name.endswith("_packets"):
                ap[kind, name] = part[name].cast(pl.Float64).to_numpy()
    stations = queues.filter((pl.col("node") == "stations") & (pl.col("class") == "data")).sort("seed")
    return CellData(
        mix,
        {name: flows[name].cast(pl.Float64).to_numpy().reshape(shape) for name in columns},
        ap,
        stations["delivered_packets"].cast(pl.Float64).to_numpy(),
        runs.sort("seed")["duration_s"].to_numpy(),
    )
