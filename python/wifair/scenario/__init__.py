"""Scenarios, which users write, and the plans that the engine runs.

scenario.py               the model: from TOML or Python to an explicit plan
components.py             the engine's schema, and the check of settings against it
keys.py                   the keys of tables and components, from that schema
reference.py              every key of a scenario, by section
places.py                 which station of a named group each flow of a group has
overrides.py              layered settings, and assignments to keys
dialects.py, profiles.py  named sets of settings
described.py              plans in one sentence
"""

from typing import TYPE_CHECKING

from wifair.names import face

if TYPE_CHECKING:
    from wifair.scenario.scenario import *  # noqa: F403

__getattr__ = face(__name__, "scenario")
