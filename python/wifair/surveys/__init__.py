"""Scenarios of several BSSs from what a scan or a survey of the neighbourhood shows (docs/neighbours.md).

heard.py           the model: BSSs with their channels and signals
iw_scan.py         output of `iw dev DEVICE scan`
kismet.py          Kismet's CSV and netxml, which airodump-ng writes too
survey_csv.py      lists of BSSs in CSV
readers.py         which of them reads a file
neighbourhood.py   the scenario, each value with its origin
"""

from wifair.surveys.neighbourhood import Options, neighbourhood
from wifair.surveys.readers import heard_in

__all__ = ["Options", "heard_in", "neighbourhood"]
