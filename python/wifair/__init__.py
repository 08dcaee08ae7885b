"""A simulator of 802.11 and TCP that compares buffer and transport schemes of an access point by how fairly they share the air.

from wifair import Scenario

scenario = Scenario(ap={"scheme": "adaptive-pushout"}, flows=[{"count": 10, "direction": "up"}])
print(scenario.run(seeds=10).summary())
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wifair.drawn import Drawn
from wifair.names import find_former_names

if TYPE_CHECKING:
    from wifair.analysis.sweep import Sweep
    from wifair.api import compare, differences, judge, load, paper, run, seeds_needed
    from wifair.errors import InputError, ScenarioError, SchemeError, WifairError
    from wifair.everything.side_effects import side_effects
    from wifair.population import Population
    from wifair.results.metric import Metric
    from wifair.results.results import Results
    from wifair.scenario.scenario import Scenario
    from wifair.scheme import Scheme
    from wifair.study.store import Store
    from wifair.study.traces import Traces
    from wifair.tuning import Tuned, Tuning, tune

__all__ = [
    "InputError",
    "Metric",
    "Population",
    "Results",
    "Scenario",
    "ScenarioError",
    "Scheme",
    "SchemeError",
    "Store",
    "Sweep",
    "Traces",
    "Tuned",
    "Tuning",
    "WifairError",
    "compare",
    "differences",
    "judge",
    "load",
    "paper",
    "run",
    "seeds_needed",
    "side_effects",
    "tune",
]

# The module of each public name. It is imported on first use, so `import wifair` and `wifair --help` stay fast.
_HOMES = {
    "InputError": "errors",
    "Metric": "results.metric",
    "Population": "population",
    "Results": "results.results",
    "Scenario": "scenario.scenario",
    "ScenarioError": "errors",
    "Scheme": "scheme",
    "SchemeError": "errors",
    "Store": "study.store",
    "Sweep": "analysis.sweep",
    "Traces": "study.traces",
    "Tuned": "tuning",
    "Tuning": "tuning",
    "WifairError": "errors",
    "compare": "api",
    "differences": "api",
    "judge": "api",
    "load": "api",
    "paper": "api",
    "run": "api",
    "seeds_needed": "api",
    "side_effects": "everything.side_effects",
    "tune": "tuning",
}

Drawn.drawing_module = "wifair.report.notebook"
find_former_names()


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'wifair' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"wifair.{_HOMES[name]}"), name)
