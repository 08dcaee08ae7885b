"""Scenarios: what a user writes, and the plan that the engine runs.

scenario.py      the model: TOML or Python in, an explicit plan out
components.py    what the engine says of its parameters, and the check of settings against it
overrides.py     layers of settings, and assignments into them
dialects.py, profiles.py    settings that have a name
described.py     a plan in one sentence
"""

from typing import TYPE_CHECKING

from wifair.names import face

if TYPE_CHECKING:
    from wifair.scenario.scenario import *  # noqa: F403

__getattr__ = face(__name__, "scenario")
