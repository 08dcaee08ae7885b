"""Buildings: the table `[building]` of a scenario, which draws BSSs, stations, walls and traffic (docs/neighbours.md).

`expanded` turns the settings of a scenario with the table into those of a scenario without it.
"""

from wifair.scenario.building.expand import expanded

__all__ = ["expanded"]
