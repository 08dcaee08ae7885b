"""Jobs: canonical plans with seeds."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from wifair.errors import WifairError
    from wifair.scheme.python import PythonScheme

# A plan in its canonical form, and a seed.
Job = tuple[str, int]

# Called with the completed share of the simulated time, 0 to 1.
Progress = Callable[[float], None]

# Shows the progress of a batch of runs under a title.
Bars = Callable[[str], AbstractContextManager[Progress | None]]


def no_bars(title: str) -> AbstractContextManager[Progress | None]:
    """Shows no progress."""
    return nullcontext()


class Runnable(Protocol):
    """The part of a scenario that a study needs."""

    @property
    def plan_json(self) -> str:
        """The canonical plan as the engine takes it."""
        ...

    @property
    def python_schemes(self) -> Mapping[str, PythonScheme]:
        """Its schemes written in Python, by their id in the plan."""
        ...

    def plan(self) -> dict[str, Any]:
        """The canonical plan."""
        ...

    def simulated_s(self) -> float:
        """Simulated seconds of one replication, warm-up included."""
        ...

    def override(self, settings: Mapping[str, Any]) -> Runnable:
        """A copy with some keys changed, each given by its path."""
        ...


@dataclass(frozen=True)
class Cell:
    """One scenario of a grid, with a unique name and its coordinates there."""

    name: str
    scenario: Runnable
    keys: Mapping[str, str | int | float] = field(default_factory=dict)


class Batch(Protocol):
    """Running replications, numbered from 0: on native threads (`_native.Batch`), in processes (`PythonBatch`), on a cluster."""

    def wait(self, timeout_ms: int) -> int:
        """Waits at most `timeout_ms` for another job to finish. Returns how many are finished."""
        ...

    def simulated_s(self) -> float:
        """Simulated seconds done so far."""
        ...

    def cancel(self) -> None:
        """Stops the unfinished jobs; results of finished ones stay available."""
        ...

    def take(self) -> Mapping[str, Any]:
        """The tables of jobs that have finished and were not taken before: of all by several calls, until there are no rows."""
        ...

    def failure(self) -> str | WifairError | None:
        """Why a job failed, if one did."""
        ...


def horizon_s(plan_json: str) -> float:
    """Simulated seconds of a replication of a canonical plan."""
    run = json.loads(plan_json)["run"]
    return float(run["warmup_s"] + run["duration_s"])
