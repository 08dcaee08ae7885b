"""The quantities that claims and figures use: arrays with one entry per seed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wifair.papers.generations.air import Generation
from wifair.papers.generations.causes import CAUSES
from wifair.papers.generations.study import Setting
from wifair.papers.runs import CellRuns, Runs
from wifair.stats import Values, jain_rows, ratio

PLACES = {cause.id: frozenset(cause.places()) for cause in CAUSES}


@dataclass(frozen=True)
class Air:
    """The cells of one generation in one scaling. With `off`, cells with that cause switched off replace the baseline's where they exist."""

    runs: Runs
    generation: Generation
    scaling: str
    off: str = ""

    def without(self, cause: str) -> Air:
        """The same cells with a cause switched off."""
        return replace(self, off=cause)

    def is_changed(self, part: str, scheme: str) -> bool:
        """Whether the cause is switched off in this cell; true without a cause."""
        return not self.off or Setting(part, scheme, self.generation, self.scaling) in PLACES[self.off]

    def cell(self, part: str, scheme: str) -> CellRuns:
        """The runs of one simulation."""
        setting = Setting(part, scheme, self.generation, self.scaling)
        cause = {"cause": self.off} if setting in PLACES.get(self.off, ()) else {}
        return self.runs.cell(**setting.keys, **cause)

    def index(self, part: str, scheme: str) -> Values:
        """Jain's index over all flows."""
        return jain_rows(self.cell(part, scheme).flows("goodput_mbps"))

    def total_mbps(self, part: str, scheme: str) -> Values:
        """Goodput of all flows."""
        total: Values = self.cell(part, scheme).flows("goodput_mbps").sum(axis=1)
        return total

    def bias(self, part: str, scheme: str) -> Values:
        """(up − down) / (up + down) of the directions' goodputs: 0 if equal, 1 if downloads get nothing."""
        cell = self.cell(part, scheme)
        up, down = (cell.flows("goodput_mbps", direction=way).sum(axis=1) for way in ("up", "down"))
        return ratio(up - down, up + down)

    def transfers(self, part: str, scheme: str, column: str) -> Values:
        """A quantity of the transfers of small files."""
        return self.cell(part, scheme).transfers(column, "small")

    def wait_ms(self, part: str, scheme: str) -> Values:
        """The mean sojourn time in the AP's buffer, in ms."""
        return self.cell(part, scheme).queue("sojourn_mean_ms")

    def power(self, part: str, scheme: str) -> Values:
        """Goodput over the mean sojourn time of data in the AP's buffer, in Mbps per ms."""
        return ratio(self.total_mbps(part, scheme), self.wait_ms(part, scheme))

    def index_in_time(self, part: str, scheme: str) -> Values:
        """Jain's index of goodput over link rate (`arf-aware-tcp`, equations 1 to 3)."""
        rates = (self.generation.rate_mbps, self.generation.slow_rate_mbps)
        return jain_rows(self.cell(part, scheme).flows("goodput_mbps") / rates)

    def fast_mbps(self, part: str, scheme: str) -> Values:
        """Goodput of the fast station of a pair."""
        fast: Values = self.cell(part, scheme).flows("goodput_mbps", label="fast").ravel()
        return fast

    def mpdus_per_ppdu(self, part: str, scheme: str, direction: str) -> Values:
        """MPDUs sent for each PPDU, in one direction."""
        cell = self.cell(part, scheme)
        sent = cell.stations("mpdus", direction=direction).sum(axis=1)
        return ratio(sent, cell.stations("ppdus", direction=direction).sum(axis=1))


class Measured:
    """All runs, by generation and scaling."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs

    def at(self, generation: Generation, scaling: str) -> Air:
        """One generation in one scaling."""
        return Air(self.runs, generation, scaling)
