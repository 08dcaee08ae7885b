"""User-defined metrics: a function of a replication."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import polars as pl

from wifair.errors import InputError

Better: TypeAlias = Literal["highest", "lowest"]


@dataclass(frozen=True)
class Metric:
    """A user-defined metric: one number per replication.

    `of` gets the `Results` of one replication, with the tables `flows`, `stations`, `queues`, `runs` and so on, and
    returns a number, or None if the replication has no value. `better` ranks scenarios by it. With the unit "index" its
    intervals stay within 0 to 1.

        starved = Metric("starved", lambda run: (run.flows["goodput_mbps"] < 0.1).sum(), unit="flows", better="lowest")
    """

    name: str
    of: Callable[[Any], Any]
    unit: str = ""
    better: Better | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or "=" in self.name:
            raise InputError(f"Metric: {self.name!r} is not a name. Allowed: a text without an equals sign.")
        if not callable(self.of):
            raise InputError(f"Metric {self.name!r}: of: {self.of!r} is not a function of a replication.")
        if self.better not in (None, "highest", "lowest"):
            raise InputError(f"Metric {self.name!r}: better: {self.better!r}. Allowed: 'highest', 'lowest' or None.")

    def column(self, replications: Iterable[Any]) -> pl.Series:
        """Its value for each replication."""
        return pl.Series(self.name, [self._value(run) for run in replications], dtype=pl.Float64)

    def _value(self, run: Any) -> float | None:
        found = self.of(run)
        if found is None:
            return None
        try:
            value = float(found)
        except (TypeError, ValueError):
            kind = type(found).__name__
            raise InputError(f"Metric {self.name!r} returned a {kind}. Allowed: a number, or None.") from None
        return None if math.isnan(value) else value
