"""Studies: how replications are run, where, and what is kept of them.

job.py           a plan with a seed
study.py         scenarios × seeds as one batch
store.py, prune.py     finished replications on the disk; what is removed from there
workers.py, cluster.py    replications in processes, for schemes written in Python; on a Dask cluster
traces.py        captures and logs of events
"""

from typing import TYPE_CHECKING

from wifair.names import face

if TYPE_CHECKING:
    from wifair.study.job import *  # noqa: F403
    from wifair.study.study import *  # noqa: F403

__getattr__ = face(__name__, "study")
