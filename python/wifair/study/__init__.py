"""Studies: running replications and storing their results.

job.py                  a plan with a seed
study.py                scenarios × seeds as one batch
size.py                 the memory that results take, estimated before the run
store.py, prune.py      finished replications on disk; removing them
workers.py, cluster.py  replications in processes (for schemes written in Python) and on a Dask cluster
traces.py               captures and event logs
"""

from typing import TYPE_CHECKING

from wifair.names import face

if TYPE_CHECKING:
    from wifair.study.job import *  # noqa: F403
    from wifair.study.study import *  # noqa: F403

__getattr__ = face(__name__, "study")
