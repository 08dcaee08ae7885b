"""`wifair population`: plausible scenarios of homes, cafes, offices and classrooms, drawn from distributions with sources.

    distributions.toml   the distributions, with unit, source and what is assumed
    distribution.py      a distribution as its quantile function
    quantities.py        the distributions as read, and as a table
    draws.py             the random numbers: one per name, the same everywhere
    radio.py             path loss, received power, MCS
    traffic.py           what a station does, as flows
    drawn.py             one scenario
    written.py           its file, with comments
    population.py        many of them, and their folder
    properties.py        what any scenario is like, in numbers
    place.py             where a scenario lies in a population, and what is nearest
    look.py              what a population looks like: a table and a figure

The page is `docs/population.md`.
"""

from wifair.population.population import Population

__all__ = ["Population"]
