"""Reads `iw dev DEVICE info`: the channel and its width."""

from __future__ import annotations

import re

from wifair.errors import InputError
from wifair.observed.lines import lines
from wifair.observed.network import Observed, read

NAME = "iw info"
_CHANNEL = re.compile(r"\s*channel \d+ \((\d+) MHz\), width: (\d+) MHz(?: \(no HT\))?(?:,.*)?", re.ASCII)
WIDTHS_MHZ = (20, 40, 80, 160, 320)


def recognises(head: str) -> bool:
    """Whether a text begins like one."""
    return head.lstrip().startswith("Interface ")


def read_into(observed: Observed, file: str, content: str) -> None:
    """Adds the channel and its width."""
    for line in lines(file, content):
        if not line.text.strip().startswith("channel "):
            continue
        found = _CHANNEL.fullmatch(line.text)
        if not found:
            raise line.error(
                "channel", line.text.strip(), "such as channel 36 (5180 MHz), width: 80 MHz, center1: 5210 MHz"
            )
        if int(found[2]) not in WIDTHS_MHZ:
            raise line.error("width", found[2], ", ".join(map(str, WIDTHS_MHZ)))
        observed.frequency_mhz = read(int(found[1]), "channel", line.place)
        observed.width_mhz = read(int(found[2]), "width", line.place)
        return
    raise InputError(f"{file}: has no line `channel`; allowed here: the output of `iw dev DEVICE info` while it is up.")
