"""Results: the tables of replications, and their summary metrics.

results.py    one row per replication and entity; summaries with intervals
segment.py    the tables of some replications in one file
quantiles.py  the resolution of quantiles that come from histograms
fairness.py   Jain's indices of goodput and airtime
metric.py     user-defined metrics
delays.py     delay, jitter, loss and voice
"""

from typing import TYPE_CHECKING

from wifair.names import face

if TYPE_CHECKING:
    from wifair.results.results import *  # noqa: F403

__getattr__ = face(__name__, "results")
