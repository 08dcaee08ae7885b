"""Scenarios from what an access point shows of its network, and what it would show of a run.

A reader per file format fills the model `Observed`, in which each value has its origin: read, given, assumed or unknown. `document` turns it into
a scenario. Readers know nothing of scenarios, the writer nothing of files.

network.py                the model: stations, counters, the channel, the survey
bitrate.py                bit rates as iw prints them
lines.py                  lines of a file with their place, for errors
readers.py                the list of readers
station_dump.py, survey_dump.py, interface.py  output of iw
queues.py                 mac80211's queues: their limits, and how they are shown
aql.py                    airtime queue limits, and how they are shown
qdisc.py                  the qdisc as a scheme, and a scheme as a qdisc
ubus_clients.py           stations of OpenWrt
hostapd.py, uci.py, configuration.py  PHY and channel from configurations
stations_csv.py           a list of stations
flent_file.py             a data file of flent
capture.py, radio_header.py, conversations.py  pcap and pcapng, with radiotap and 802.11 headers
links.py                  PHY, width, streams and MCS from the bit rates
loads.py                  flows from the counters
calibration.py            error rates and the load of others, by runs of the scenario
tables.py                 tables of a scenario, each value with its origin
flows.py                  those of flows
drafting.py               all of them, of an observed network
written.py                its file
as_ap.py                  a run as its access point shows it
shown.py                  what an access point shows, as numbers: of a measurement, and of runs in the same way
observed.py               the functions for users
"""

from typing import TYPE_CHECKING

from wifair.names import face

if TYPE_CHECKING:
    from wifair.observed.observed import *  # noqa: F403

__getattr__ = face(__name__, "observed")
