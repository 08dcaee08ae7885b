"""Study: is `air-share` the scheme to ship? Our own, in the form of a paper's.

    parts.py     the settings: those of `wifair compare --all`, with other parameters, hardware and hosts, and two populations
    access.py    the access to the air, as hostapd sets it, with and without the scheme
    counts.py    claims on the number of settings with a standing against `mac80211`, and how they are judged
    claims.py    the claims
    figures.py   the figure and the tables
    frozen.py    the version of the scheme that the last population belongs to
    study.py     runs the parts, and judges the claims

The page is `docs/shipping.md`.
"""

from __future__ import annotations

from wifair.shipping.figures import FIGURES
from wifair.shipping.study import reproduce

__all__ = ["FIGURES", "PROPOSES", "TITLE", "reproduce"]

TITLE = "Is air-share the scheme to ship?"
PROPOSES = "a study of ours"
