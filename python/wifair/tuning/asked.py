"""The points that Optuna proposes (https://optuna.org), by tree-structured Parzen estimators.

Source of the sampler: J. Bergstra, R. Bardenet, Y. Bengio, B. Kégl, Algorithms for hyper-parameter optimization, NIPS 2011. Several points
are asked before the value of any is known, with the constant liar that keeps them apart. The sampler has a fixed seed, so the same values give the same
points.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wifair.errors import InputError
from wifair.tuning.ranges import Choices, Range

if TYPE_CHECKING:
    from optuna import Trial

# Points at random before the sampler begins to learn.
STARTUP_POINTS = 16
# How often the sampler, and after it random numbers, are asked for a point that is new.
TRIES = 20


class Asker:
    """Proposes points, and receives their merits."""

    def __init__(self, over: Mapping[str, Range], goals: int) -> None:
        optuna = _optuna()
        self._over = over
        self._distributions = {key: _distribution(found) for key, found in over.items()}
        self._goals = goals
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            self._samplers = (
                optuna.samplers.TPESampler(
                    seed=1, multivariate=True, constant_liar=True, n_startup_trials=STARTUP_POINTS
                ),
                optuna.samplers.RandomSampler(seed=2),
            )
            self._study = optuna.create_study(directions=["maximize"] * goals, sampler=self._samplers[0])

    def ask(self, is_new: Callable[[dict[str, Any]], bool | None]) -> tuple[Trial, dict[str, Any]] | None:
        """The next point that is new; None if none is found. `is_new` returns None for a point that cannot run."""
        for sampler in self._samplers:
            self._study.sampler = sampler
            for _ in range(TRIES):
                trial = self._study.ask(self._distributions)
                point = {key: found.of(trial.params[key]) for key, found in self._over.items()}
                new = is_new(point)
                if new:
                    return trial, point
                if new is None:
                    self.tell(trial, [-float("inf")] * self._goals)
                else:
                    self._fail(trial)
        return None

    def tell(self, trial: Trial, merits: Sequence[float]) -> None:
        """What a point is worth, by goal; −∞ by a goal for which it has no value."""
        self._study.tell(trial, list(merits))

    def _fail(self, trial: Trial) -> None:
        """Withdraws a point that has run before: its merit a second time would only draw the sampler to where it has been."""
        self._study.tell(trial, state=_optuna().trial.TrialState.FAIL)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise InputError("tuning needs Optuna, which is not installed: pip install 'wifair[tune]'.") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _distribution(found: Range) -> Any:
    distributions = _optuna().distributions
    if isinstance(found, Choices):
        count = len(found.listed)
        return (
            distributions.IntDistribution(0, count - 1)
            if found.ordered
            else distributions.CategoricalDistribution(range(count))
        )
    if found.whole:
        return distributions.IntDistribution(found.low, found.high, log=found.log, step=found.step or 1)
    return distributions.FloatDistribution(found.low, found.high, log=found.log, step=found.step)
