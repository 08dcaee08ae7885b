"""Tuning: a search over keys of a scenario for the settings that are best by one or several goals.

ranges.py   what a key may be: numbers of a range, or choices
words.py    what a user's words measure
goals.py    the metrics that decide, with their better direction and bounds
probes.py   flows that are added to measure a goal
race.py     which points need no further replications; Pareto fronts
asked.py    the points that Optuna proposes
search.py   the search, its result, and the verification on fresh seeds
"""

from typing import TYPE_CHECKING

from wifair.names import face

if TYPE_CHECKING:
    from wifair.tuning.search import *  # noqa: F403

__getattr__ = face(__name__, "search")
