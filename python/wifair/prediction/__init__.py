"""What advice predicted of a change, and whether two measurements show it.

prediction.py   what an access point would show before and after the change, by runs; its form in JSON
measurement.py  a measurement: files of one network, or several in folders
comparison.py   the measured and the predicted change of each quantity
way.py          how far a measurement lies on the way from one prediction to another
assumptions.py  which assumptions the measured change speaks against
as_it_is.py, as_it_is_wording.py  a measurement next to runs of the scenario as it is
besides.py      what changed in addition to the change
checked.py      the check of a prediction
wording.py      the check in sentences, and as JSON
"""

from typing import TYPE_CHECKING

from wifair.names import face

if TYPE_CHECKING:
    from wifair.prediction.checked import *  # noqa: F403

__getattr__ = face(__name__, "checked")
