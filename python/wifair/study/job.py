"""What is run: plans with seeds. A scenario is one way to a plan; what is here knows plans alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from wifair.errors import WifairError
    from wifair.scheme.python import PythonScheme

# A plan in its canonical form, and a seed.
Job = tuple[str, int]

# Called with the share of the simulated time that is done, 0 to 1.
Progress = Callable[[float], None]


class Runnable(Protocol):
    """What a study needs of a scenario."""

    @property
    def plan_json(self) -> str:
        """The canonical plan as the engine takes it."""
        ...

    @property
    def python_schemes(self) -> Mapping[str, PythonScheme]:
        """The schemes written in Python that it names, by the id that the plan has for each."""
        ...

    def plan(self) -> dict[str, Any]:
        """The canonical plan."""
        ...

    def simulated_s(self) -> float:
        """Simulated seconds of one replication, warm-up included."""
        ...

    def override(self, settings: Mapping[str, Any]) -> Runnable:
        """The same with some keys changed, each given by its path."""
        ...


@dataclass(frozen=True)
class Cell:
    """One scenario of a grid, with a unique name and its coordinates there."""

    name: str
    scenario: Runnable
    keys: Mapping[str, str | int | float] = field(default_factory=dict)


class Batch(Protocol):
    """Replications under way, numbered from 0: on native threads (`_native.Batch`), in processes (`PythonBatch`), on a cluster."""

    def wait(self, timeout_ms: int) -> int:
        """Waits for a further job to finish, at most so long; returns how many are finished."""
        ...

    def simulated_s(self) -> float:
        """Simulated seconds done so far."""
        ...

    def cancel(self) -> None:
        """Stops the work. Finished jobs stay."""
        ...

    def take(self) -> Mapping[str, Any]:
        """The tables of the jobs that have finished since this was last called."""
        ...

    def failure(self) -> str | WifairError | None:
        """Why a job failed, if one did."""
        ...


def horizon_s(plan_json: str) -> float:
    """Simulated seconds of a replication of a canonical plan."""
    run = json.loads(plan_json)["run"]
    return float(run["warmup_s"] + run["duration_s"])
