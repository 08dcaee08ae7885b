"""A study's runs by cell, as arrays with one row per replication, for claims and figures."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from wifair.stats import Values

if TYPE_CHECKING:
    from wifair.results.results import ResultCell, Results
    from wifair.study.job import Cell

Frames: TypeAlias = Mapping[str, pl.DataFrame]

# The key that names the reading of a cell.
VARIANT = "variant"


class CellRuns:
    """The replications of one scenario.

    `frames` are the result tables of `wifair.results.Results` for this scenario. All arrays have one row per
    replication, in the order of the seeds.
    """

    def __init__(self, frames: Frames) -> None:
        self._frames = {name: frame.sort("seed", maintain_order=True) for name, frame in frames.items()}
        self._arrays: dict[Hashable, Values] = {}
        self._groups: dict[Hashable, dict[str, Values]] = {}

    @property
    def seeds(self) -> list[int]:
        """The seeds, in order."""
        return self.table("runs")["seed"].to_list()

    @property
    def names(self) -> list[str]:
        """The names of the result tables."""
        return list(self._frames)

    def table(self, name: str) -> pl.DataFrame:
        """The result table of that name."""
        return self._frames[name]

    def first(self, count: int) -> CellRuns:
        """The first `count` replications."""
        last = self.seeds[:count][-1]
        return CellRuns({name: frame.head(int((frame["seed"] <= last).sum())) for name, frame in self._frames.items()})

    def sets(self, count: int) -> list[CellRuns]:
        """Disjoint sets of `count` replications, in order; those that do not fill a set are left out."""
        ends = range(count, len(self.seeds) + 1, count)
        chosen = [pl.col("seed").is_in(self.seeds[end - count : end]) for end in ends]
        return [CellRuns({name: frame.filter(some) for name, frame in self._frames.items()}) for some in chosen]

    def extended(self, more: CellRuns) -> CellRuns:
        """These replications and those of `more`."""
        return CellRuns({name: pl.concat([frame, more._frames[name]]) for name, frame in self._frames.items()})

    def flows(self, column: str, **only: str) -> Values:
        """A column of the flow table: (seeds, flows), in the order of the plan.

        `only` selects flows by other columns, such as `direction="up"`.
        """
        return self._rows("flows", column, only)

    def stations(self, column: str, **only: str) -> Values:
        """A column of the station table: (seeds, stations)."""
        return self._rows("stations", column, only)

    def queue(self, column: str, kind: str = "all", node: str = "ap") -> Values:
        """A column of the queue table for a class of packets (`data`, `ack`, `control` or `all`): (seeds,)."""
        return self._rows("queues", column, {"node": node, "class": kind}).ravel()

    def run(self, column: str) -> Values:
        """A column of the run table: (seeds,)."""
        return self._rows("runs", column, {}).ravel()

    def transfers(self, column: str, group: str, size_bytes: float | None = None) -> Values:
        """A column of `transfer_groups`, for one file size or all: (seeds,), NaN for runs without transfers."""
        of_size = self._transfers(column, size_bytes)
        return of_size[group].copy() if group in of_size else np.full(len(self.seeds), np.nan)

    def _transfers(self, column: str, size_bytes: float | None) -> dict[str, Values]:
        """By group: one pass over the table, not a query per group, of which an imported network has dozens."""
        key = column, size_bytes
        if key not in self._groups:
            of_size = pl.col("bytes").is_null() if size_bytes is None else pl.col("bytes") == size_bytes
            frame = self._frames["transfer_groups"].filter(of_size)
            values = frame[column].cast(pl.Float64).fill_null(float("nan")).to_list()
            at = {seed: i for i, seed in enumerate(self.seeds)}
            found: dict[str, Values] = {}
            for group, seed, value in zip(frame["group"].to_list(), frame["seed"].to_list(), values, strict=True):
                found.setdefault(group, np.full(len(at), np.nan))[at[seed]] = value
            self._groups[key] = found
        return self._groups[key]

    def series(self, metric: str, entity: str = "ap") -> Values:
        """A time series: (seeds, samples), NaN where only other replications have a value. See `times`."""
        only, times = {"metric": metric, "entity": entity}, self.times(metric, entity)
        values, at, seeds = (self._column("series", column, only) for column in ("value", "time_s", "seed"))
        found = np.full((len(self.seeds), times.size), np.nan)
        found[np.searchsorted(self.seeds, seeds), np.searchsorted(times, at)] = values
        return found

    def times(self, metric: str, entity: str = "ap") -> Values:
        """The times of the samples of a series, in seconds from the start of the run: (samples,)."""
        times: Values = np.unique(self._column("series", "time_s", {"metric": metric, "entity": entity}))
        return times

    def _rows(self, table: str, column: str, only: Mapping[str, str]) -> Values:
        return self._column(table, column, only).reshape(len(self.seeds), -1)

    def _column(self, table: str, column: str, only: Mapping[str, str]) -> Values:
        key = (table, column, *only.items())
        if key not in self._arrays:
            frame = self._frames[table]
            found = frame[column]
            if only:  # filtering a column is ten times as fast as a query on each small table
                found = found.filter(reduce(and_, (frame[name] == value for name, value in only.items())))
            self._arrays[key] = found.cast(pl.Float64).to_numpy()
        return self._arrays[key]


# A cell's coordinates.
Place: TypeAlias = frozenset[tuple[str, object]]


class Missing(KeyError):
    """A requested cell has too few replications; `place` has its coordinates."""

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.place = place


class Runs:
    """The cells of one reading of a paper, found by their coordinates in the grid.

    `asked` collects the coordinates of the cells that `cell` returns. Requesting one of `withheld` raises `Missing`.
    """

    def __init__(
        self, cells: Mapping[Place, CellRuns], asked: set[Place] | None = None, withheld: Collection[Place] = ()
    ) -> None:
        self._cells = dict(cells)
        self._asked = asked
        self._withheld = withheld

    @classmethod
    def of(cls, results: Results) -> Runs:
        """Every finished cell of a study."""
        parts: dict[str, dict[str, pl.DataFrame]] = {}
        for name, frame in results.frames.items():
            for key, part in frame.partition_by("scenario", as_dict=True).items():
                parts.setdefault(str(key[0]), {})[name] = part
        return cls({place_of(cell): CellRuns(parts[cell.name]) for cell in results.cells if cell.name in parts})

    def cell(self, **keys: object) -> CellRuns:
        """The runs of the cell with exactly these coordinates."""
        place = _place(keys)
        if place in self._withheld:
            raise Missing(place)
        if self._asked is not None:
            self._asked.add(place)
        return self._cells[place]

    def watched(self, asked: set[Place], withheld: Collection[Place] = ()) -> Runs:
        """These runs, with requested cells recorded in `asked`; those of `withheld` raise `Missing`."""
        return Runs(self._cells, asked, withheld)

    @property
    def every_place(self) -> frozenset[Place]:
        """The coordinates of every cell."""
        return frozenset(self._cells)

    @property
    def replications(self) -> int:
        """The least number of replications of a cell; 0 without cells."""
        return min((len(cell.seeds) for cell in self._cells.values()), default=0)

    def places(self, key: str, **keys: object) -> list[Any]:
        """The sorted values of the coordinate `key` among the cells with the other coordinates `keys`."""
        wanted = set(keys.items())
        return sorted({dict(place)[key] for place in self._cells if wanted <= place and key in dict(place)})

    def first(self, count: int) -> Runs:
        """The first `count` replications of every cell."""
        return Runs({place: cell.first(count) for place, cell in self._cells.items()})

    def sets(self, count: int) -> list[Runs]:
        """Disjoint sets of `count` replications of every cell; those that do not fill a set are left out."""
        parts = {place: cell.sets(count) for place, cell in self._cells.items()}
        return [Runs({place: each[i] for place, each in parts.items()}) for i in range(self.replications // count)]

    def over(self, other: Runs) -> Runs:
        """These runs, completed by the cells of `other`; both need the same seeds."""
        return Runs({**other._cells, **self._cells})

    def extended(self, more: Runs) -> Runs:
        """These runs with further replications of the cells of `more`."""
        longer = {place: self._cells[place].extended(cell) for place, cell in more._cells.items()}
        return Runs({**self._cells, **longer})


def place_of(cell: Cell | ResultCell) -> Place:
    """A cell's coordinates, without its variant."""
    return _place({name: value for name, value in cell.keys.items() if name != VARIANT})


def _place(keys: Mapping[str, object]) -> Place:
    return frozenset(keys.items())
