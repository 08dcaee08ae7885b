"""Values of what a scenario assumes, so that its runs show what was measured.

objective.py   how far runs are from the measurement
search.py      the search for the values, with common random numbers
estimates.py   what the measurement tells of each parameter, and which pairs it cannot tell apart
held_back.py   flows that their application may hold back
held_out.py    the part of the measurement that decides whether it is a fit
fitting.py     the fit of a scenario
written.py     the scenario file with the values
wording.py     the fit in sentences, and as JSON
"""

from typing import TYPE_CHECKING

from wifair.names import face

if TYPE_CHECKING:
    from wifair.fitting.fitting import *  # noqa: F403

__getattr__ = face(__name__, "fitting")
